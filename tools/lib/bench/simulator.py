# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How fast the simulator runs, in CPU seconds of its own process.

Each of the kernels runs for two lengths, whose difference leaves the start out.
"""
import array
import json
import os
import random
import resource
import subprocess
import time

import simulator_kernels
import tools

def save(path, kind, values):
    """A .npy file of one dimension; NumPy need not be there."""
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': ({len(values)},), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") +
                     header.encode() + values.tobytes())


class Simulator:
    """Measures `ptxsim` of a build tree."""

    BLOCKS, THREADS = 128, 256

    def __init__(self, build, scratch):
        self.command, self.scratch = build / "bin/ptxsim", scratch
        source = random.Random(1)
        pages = list(range(1024))
        source.shuffle(pages)
        save(scratch / "pool.npy", "|u1",
             array.array("B", bytes(k & 0x7e for k in source.randbytes(1024 * 16 * 128))))
        save(scratch / "table.npy", "<u4", array.array("I", pages))
        save(scratch / "scales.npy", "<f4",
             array.array("f", [source.gauss(0, 1) for _ in range(1024 * 16)]))
        save(scratch / "counters.npy", "<u4",
             array.array("I", bytes(4 * simulator_kernels.COUNTERS)))
        side = simulator_kernels.SIDE
        save(scratch / "matrix.npy", "<f4",
             array.array("f", [source.gauss(0, 1) for _ in range(side * side)]))
        for kernel in ("straight", "gather", "atomics", "matmul", "sums"):
            text = getattr(simulator_kernels, kernel)()
            (scratch / f"{kernel}.ptx").write_text(text)
        threads = self.BLOCKS * self.THREADS
        self.arguments = {
            "straight": [f"buf:f32[{threads}]"],
            "gather": [scratch / "pool.npy", scratch / "table.npy",
                       scratch / "scales.npy", "buf:u16[2097152]"],
            "atomics": [scratch / "counters.npy"],
            "matmul": [f"buf:f32[{threads}]", scratch / "matrix.npy"],
            "sums": [f"buf:f32[{threads}]", scratch / "matrix.npy"]}

    def command_line(self, kernel, turns, *options):
        command = [self.command, self.scratch / f"{kernel}.ptx", "--kernel", kernel,
                   "--grid", self.BLOCKS, "--block", self.THREADS, *options]
        for argument in [*self.arguments[kernel], f"u32:{turns}"]:
            command += ["--arg", argument]
        return [str(c) for c in command]

    def run(self, kernel, turns, *options):
        """Output, CPU seconds and wall-clock seconds of one process."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        begin = time.perf_counter()
        done = subprocess.run(self.command_line(kernel, turns, *options),
                              capture_output=True, text=True)
        wall = time.perf_counter() - begin
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            raise tools.Failed(f"ptxsim: {done.stderr[:500]}")
        cpu = sum(getattr(after, f) - getattr(before, f) for f in ("ru_utime", "ru_stime"))
        return done.stdout, cpu, wall

    def instructions(self, kernel, turns):
        """Thread instructions."""
        text = self.run(kernel, turns, "--count", "--json")[0]
        counters = json.loads(text[text.index('{"outcome"'):])["counters"]
        return counters["thread_instructions"]

    def seconds(self, kernel, turns, repeats, *options):
        """Of `turns` turns of the loop: three times as many, less one time."""
        # Alternating, so that both meet the same neighbours.
        samples = [(self.run(kernel, 3 * turns, *options)[1],
                    self.run(kernel, turns, *options)[1])
                   for _ in range(repeats)]
        return (min(s[0] for s in samples) - min(s[1] for s in samples)) / 2

    def together(self, kernel, turns):
        """Wall-clock seconds of two processes of one thread, side by side."""
        command = self.command_line(kernel, turns, "--threads", 1)
        begin = time.perf_counter()
        pair = [subprocess.Popen(command, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL) for _ in range(2)]
        if any([process.wait() for process in pair]):
            raise tools.Failed("ptxsim: one of two processes failed")
        return time.perf_counter() - begin

    def scaling(self, kernel, turns, repeats):
        """Wall-clock seconds of the loop: on one core, on two, and in two
        processes that each do all of it on a core of their own."""
        ways = (lambda n: self.run(kernel, n, "--threads", 1)[2],
                lambda n: self.run(kernel, n, "--threads", 2)[2],
                lambda n: self.together(kernel, n))
        samples = [[(way(3 * turns), way(turns)) for way in ways]
                   for _ in range(repeats)]
        return [(min(long for long, _ in of) - min(short for _, short in of)) / 2
                for of in zip(*samples)]


def measure(row, build, scratch, progress, quick):
    """Adds the simulator's rows by `row(subject, figure, unit, goal=most)`."""
    simulator = Simulator(build, scratch)
    repeats = 1 if quick else 5
    # About half a second each, which no interruption of a process can spoil.
    for kernel, turns, words in (("straight", 800, "straight-line f32"),
                                 ("gather", 200, "gather of e4m3"),
                                 ("atomics", 60, "global atomics"),
                                 ("matmul", 200, "tiles in shared memory"),
                                 ("sums", 400, "an array that all blocks read")):
        turns = turns // 10 if quick else turns
        progress(f"simulator: {words}")
        count = (simulator.instructions(kernel, 3 * turns) -
                 simulator.instructions(kernel, turns)) / 2
        plain = simulator.seconds(kernel, turns, repeats, "--threads", 1)
        row(f"simulator, {words}", count / plain / 1e6,
            "million thread instructions a CPU second")
        checked = simulator.seconds(kernel, turns, repeats, "--threads", 1,
                                    "--tool", "all")
        row(f"simulator, {words}: time with all checks", checked / plain, "times",
            goal=2.5)
        if len(os.sched_getaffinity(0)) > 1:
            one, two, pair = simulator.scaling(kernel, 2 * turns, repeats)
            row(f"simulator, {words}: time on two cores", two / one, "times", goal=0.55)
            # What the machine's two cores give: hardware threads share one.
            row(f"simulator, {words}: time on two cores to two processes for half "
                "the work", 2 * two / pair, "times", goal=1.1)
