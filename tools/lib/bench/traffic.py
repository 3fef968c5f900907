# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bytes that W1 to W7 move, by the simulator's counters.

usage: traffic.py FOLDER KVCACHE_RUN PROGRAM WORK [CHIP]
Prints JSON: bytes that the sectors moved hold, bytes that the work needs, bank
conflicts, and instructions that warps execute.
"""
import json
import pathlib
import re
import subprocess
import sys

import numpy as np

import instances
import program
import sizes


def with_main(text, work):
    """The program with an entry that registers its memory and calls the work."""
    arguments = program.arguments(text, work)
    aliases = dict(re.findall(r"^(!\w+) = (.*)$", text, re.M))
    lines = []
    for name, kind in arguments:
        element = re.search(r"x([a-z]\w*)[,>]", aliases.get(kind, kind))
        if element:
            lines += [f"  %{name}_any = memref.cast %{name} : {kind} to "
                      f"memref<*x{element[1]}>",
                      f"  gpu.host_register %{name}_any : memref<*x{element[1]}>"]
    names = ", ".join(f"%{name}" for name, _ in arguments)
    types = ", ".join(kind for _, kind in arguments)
    typed = ", ".join(f"%{name}: {kind}" for name, kind in arguments)
    return [name for name, _ in arguments], "\n".join([
        text, f"func.func @main({typed}) {{", *lines,
        f"  call @{work}({names}) : ({types}) -> ()", "  return", "}", ""])


def count(folder, run, text, work, arrays, chip):
    """The counters of a work of the program `text`."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    names, text = with_main(text, work)
    source = folder / f"{work}.mlir"
    source.write_text(text)
    command = [run, source, "--device=sim", f"--chip={chip}", "--count"]
    for name in names:
        if name == "layer":
            command.append("--arg=index:1")
        else:
            np.save(folder / f"{name}.npy", arrays[name])
            command.append(f"--arg={folder / name}.npy")
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr[:2000])
    # Totals of the kernel come before those of its lines.
    total = done.stderr.split("\nmemory\n", 1)[1].split(" barriers", 1)[0]
    sectors = sum(map(int, re.findall(r"global (?:load|store).*?(\d+) sectors",
                                      total)))
    # Kernels that do not use shared memory have no such line.
    shared = re.search(r"shared .*", total)
    conflicts = 0
    if shared:
        conflicts = int(re.search(r"(\d+) of them bank conflicts", shared[0])[1])
    executed = int(re.search(r"^(\d+) warp instructions", done.stderr, re.M)[1])
    return {"moved": 32 * sectors, "conflicts": conflicts, "executed": executed}


def main(folder, run, file, work, chip="sm_90a"):
    arrays, needed = instances.instance(work, *sizes.size(work, full=False))
    text = pathlib.Path(file).read_text()
    return count(folder, run, text, work, arrays, chip) | {"needed": needed}


if __name__ == "__main__":
    json.dump(main(*sys.argv[1:]), sys.stdout)
