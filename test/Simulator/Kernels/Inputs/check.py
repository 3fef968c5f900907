# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check.py SOURCE.cu KERNELS.ptx DIRECTORY [ORDERS]

Runs the kernels of a source file with every check, in two orders of warps or as
many as told. Those that launches.py has must give NumPy's results and no
finding; those whose names carry a fault must give findings, all of them on the
lines that say so:

    //! kernel: tools, block, thread

Tools are separated by blanks; block and thread are x indices, or - for any.
With the word "only" no other tools run. The other access of a race is on a line
that says so, if any does, for each kernel:

    //~ kernel: block, thread"""
import json
import os
import re
import subprocess
import sys

import numpy as np

from launches import LAUNCHES, Out

source, ptx, directory = sys.argv[1:4]
seeds = range(int(sys.argv[4])) if len(sys.argv) > 4 else (0, 7)
os.makedirs(directory, exist_ok=True)
failures = []

marks = {}
for number, text in enumerate(open(source), 1):
    for match in re.finditer(r"//! (\w+): ([\w ]+), (\d+|-), (\d+|-)", text):
        name, tools, block, thread = match.groups()
        marks.setdefault(name, []).append((number, tools.split(), block, thread))

others = {}
for number, text in enumerate(open(source), 1):
    for match in re.finditer(r"//~ (\w+): (\d+|-), (\d+|-)", text):
        name, block, thread = match.groups()
        others.setdefault(name, []).append((number, block, thread))

listing = subprocess.run(["ptxsim", ptx, "--list"], capture_output=True, text=True)
kernels = re.findall(r"^(\w+)$", listing.stdout, re.M)
assert kernels, listing.stdout + listing.stderr
ran = {"right": 0, "faulty": 0}


def launch_of(kernel):
    names = [n for n in LAUNCHES if kernel == n or kernel.startswith(n + "_")]
    return LAUNCHES[max(names, key=len)]


def run(kernel, seed):
    """Gives the process, its findings and its outputs."""
    launch = launch_of(kernel)
    named = {t for _, tools, _, _ in marks.get(kernel, []) for t in tools}
    tools = ",".join(sorted(named - {"only"})) if "only" in named else "all"
    command = ["ptxsim", ptx, "--kernel", kernel, "--grid", launch.grid, "--block",
               launch.block, "--tool", tools, "--json", "--seed", str(seed),
               "--limit", "20000000", "--cluster", launch.cluster]
    outputs = []
    for k, argument in enumerate(launch.arguments):
        path = os.path.join(directory, f"{k}.npy")
        if isinstance(argument, str):
            command += ["--arg", argument]
            continue
        if isinstance(argument, Out):
            zero = argument.zero and kernel not in launch.uninitialised
            command += ["--arg", f"{'zero' if zero else 'out'}:{path}={argument.type}"]
            outputs.append(path)
        else:
            np.save(path, argument)
            command += ["--arg", path]
    done = subprocess.run(command, capture_output=True, text=True)
    findings = json.loads(done.stdout)["reports"] if done.stdout else None
    return done, findings, outputs


def is_at(access, line, block, thread, seed):
    """Whether an access is on a line, itself or the call it was inlined at."""
    places = [(os.path.basename(access.get(prefix + "file", "")),
               access.get(prefix + "line")) for prefix in ("", "caller_")]
    # Another order of warps may meet the fault elsewhere first.
    return ((os.path.basename(source), line) in places
            and (seed or block in ("-", str(access["block"][0])))
            and (seed or thread in ("-", str(access["thread"][0]))))


for kernel in kernels:
    faulty = kernel not in LAUNCHES
    for seed in seeds:
        done, findings, outputs = run(kernel, seed)
        where = f"{kernel}, seed {seed}"
        if findings is None:
            failures.append(f"{where}: {done.stdout[-800:]}{done.stderr[-800:]}")
            continue
        if not faulty:
            if findings or done.returncode:
                failures.append(f"{where}: {done.stderr} "
                                f"{json.dumps(findings, indent=1)[:1500]}")
                continue
            results = [np.load(path) for path in outputs]
            try:
                # What the kernel prints is not on the standard output.
                LAUNCHES[kernel].check(done.stderr, *results)
            except AssertionError as error:
                failures.append(f"{where}: {error}")
            ran["right"] += 1
            continue
        expected = marks.get(kernel)
        if not expected:
            failures.append(f"{kernel}: no line of {source} is marked")
            continue
        ran["faulty"] += 1
        # 70: the kernel has also failed.
        if not findings or done.returncode not in (1, 70):
            failures.append(f"{where}: nothing found, exit status {done.returncode}")
        for finding in findings:
            ok = any(finding["tool"] in tools and is_at(finding, line, block, thread, seed)
                     for line, tools, block, thread in expected)
            if kernel in others:
                ok &= any(is_at(finding["other"], line, block, thread, seed)
                          for line, block, thread in others[kernel])
            if not ok or finding["kernel"] != kernel:
                failures.append(f"{where}: unexpected {json.dumps(finding)}")
        if expected[0][1] and findings:
            tools = {t for _, ts, _, _ in expected for t in ts[:1]}
            if not tools & {f["tool"] for f in findings}:
                failures.append(f"{where}: nothing by {sorted(tools)}")

for name in {**marks, **others}:
    if name not in kernels:
        failures.append(f"{source}: marks {name}, which is no kernel")
print(*failures, sep="\n")
print(f"{len(kernels)} kernels, {ran['right']} right runs, {ran['faulty']} faulty "
      f"runs, {len(failures)} failures")
sys.exit(1 if failures or not ran["right"] else 0)
