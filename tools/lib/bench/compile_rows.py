# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compile times: of the kernels beside nvcc's and Triton's, and by lookups."""
import re

import kernel_rows
import many_lookups
import program
import tools

CHIP = "sm_90a"


class CompileRows:
    def __init__(self, bench, kernels, quick):
        self.bench, self.kernels, self.quick = bench, kernels, quick
        self.scratch = bench.scratch

    def measure(self, subject, source, form, nvcc=None, goals=None, **more):
        """Rows for one program: in a process that has started, and of the whole
        command. `nvcc` runs the peer; `goals` are milliseconds, and else a tenth of
        the peer's. All in CPU time, in turns, so that all meet the same machine."""
        empty = self.scratch / "empty.mlir"
        empty.write_text("")
        compile_ = lambda program: self.bench.compile(program, chips=[CHIP], form=form)
        ways = [lambda: compile_(empty), lambda: compile_(source)]
        if nvcc:
            ways.append(nvcc)
        turns = [[tools.cpu_seconds(way) * 1e3 for way in ways]
                 for _ in range(1 if self.quick else 5)]
        start, whole, *theirs = [min(times) for times in zip(*turns)]
        theirs = theirs[0] if theirs else None
        for place, (figure, what) in enumerate(((whole - start, "in process"),
                                                (whole, "whole command"))):
            goal = goals[place] if goals else theirs and theirs / 10
            self.bench.row(f"{subject}, {what}", figure, "CPU ms", theirs, goal,
                           kind="compile", **more)

    def lookup(self, example, cuda):
        """W0's first kernel to PTX. `cuda`: the same by hand."""
        one, single = self.scratch / "one.mlir", self.scratch / "one.cu"
        text = example.read_text()
        layout = text[text.index("#gqa"):text.index("#mla")]
        kernel = text[text.index("    gpu.func @gqa"):
                      text.index("    gpu.func @mla")]
        one.write_text(f"{layout}gpu.module @one {{\n{kernel}}}\n")
        single.write_text(re.sub(r"^KERNEL\(mla.*$", "", cuda.read_text(), flags=re.M))
        self.bench.progress("compile time of W0")
        self.measure("W0 to PTX", one, "isa", self.bench.nvcc and (
            lambda: tools.run(self.bench.nvcc, "-O3", "-std=c++17", f"-arch={CHIP}",
                              "-ptx", "-o", self.scratch / "one.ptx", single)),
            goals=(50, 250))

    def works(self):
        """IR or source to a cubin, a kernel at a time."""
        if not self.bench.ptxas:
            return
        for work in kernel_rows.WORKS:
            # The first that a process compiles, which has Triton loaded by then.
            self.bench.progress(f"Triton's compile time of {work.name}")
            first = self.kernels.compile_triton(
                CHIP, work.name, folder=f"triton-{work.name}")[:1]
            self.bench.progress(f"compile time of {work.name}")
            source = self.scratch / f"{work.name}.mlir"
            source.write_text(program.one_function(work.name.lower()))
            nvcc = self.bench.nvcc and work.peer and (
                lambda: self.kernels.nvcc_cubin(work, CHIP))
            self.measure(f"{work.name} to a cubin", source, "bin", nvcc,
                         triton=first[0]["seconds"] * 1e3 if first else None)

    def many(self, most):
        """Our passes, per lookup; and the whole way for a thousand."""
        first = None
        for count in [n for n in (100, 1000, 2000, 5000, 10000) if n <= most]:
            self.bench.progress(f"{count} lookups in one function")
            source = self.scratch / f"many{count}.mlir"
            source.write_text(many_lookups.module(count))

            def measure():
                _, errors, _ = tools.run(
                    self.bench.opt, source, "-o", "/dev/null",
                    "--convert-kvcache-to-memref", "--mlir-timing",
                    "--mlir-timing-display=list")
                times = re.findall(
                    r"^\s*([\d.]+) \(.*\)\s+ConvertKVCacheToMemRef\w*$", errors,
                    re.M)
                return sum(map(float, times)) * 1e3
            each = tools.best_of(3, measure) / count * 1e3
            if count == 1000:
                first = each
            self.bench.row(f"convert-kvcache-to-memref, {count} lookups", each,
                           "us a lookup")
        if most >= 10000:
            self.bench.row("the same, 10000 to 1000", each / first, "times", goal=1.5)
        count = min(most, 1000)
        self.bench.progress(f"{count} lookups to PTX")
        seconds = self.bench.compile(self.scratch / f"many{count}.mlir",
                                     chips=[CHIP])[2]
        self.bench.row(f"{count} lookups to PTX, whole command", seconds, "s",
                       goal=3 * count / 1000)
