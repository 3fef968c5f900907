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

    def total_ms(self, source, form):
        """Parsing, passes, LLVM, ptxas and printing, as the process itself counts:
        what a compiler that stays in memory takes."""
        _, errors, _ = self.bench.compile(
            source, "--mlir-timing", "--mlir-timing-display=list", chips=[CHIP],
            form=form)
        total = re.search(r"Total Execution Time:\s*([\d.]+) seconds", errors)
        return float(total[1]) * 1e3

    def ours(self, source, form, repeats):
        """Milliseconds in process, and of the whole command."""
        return (tools.best_of(repeats, lambda: self.total_ms(source, form)),
                tools.best_of(repeats, lambda: self.bench.compile(
                    source, chips=[CHIP], form=form)[2] * 1e3))

    def lookup(self, example, cuda):
        """W0's first kernel to PTX. `cuda`: the same
        by hand."""
        one = self.scratch / "one.mlir"
        text = example.read_text()
        layout = text[text.index("#gqa"):text.index("#mla")]
        kernel = text[text.index("    gpu.func @gqa"):
                      text.index("    gpu.func @mla")]
        one.write_text(f"{layout}gpu.module @one {{\n{kernel}}}\n")
        self.bench.progress("compile time of W0")
        inside, whole = self.ours(one, "isa", 1 if self.quick else 7)
        theirs = None
        if self.bench.nvcc:
            self.bench.progress("nvcc's compile time of W0")
            single = self.scratch / "one.cu"
            single.write_text(re.sub(r"^KERNEL\(mla.*$", "", cuda.read_text(),
                                     flags=re.M))
            theirs = tools.best_of(1 if self.quick else 3, lambda: tools.run(
                self.bench.nvcc, "-O3", "-std=c++17", f"-arch={CHIP}", "-ptx", "-o",
                self.scratch / "one.ptx", single)[2]) * 1e3
        for milliseconds, what, goal in ((inside, "in process", 50),
                                         (whole, "whole command", 250)):
            self.bench.row(f"W0 to PTX, {what}", milliseconds, "ms", theirs, goal,
                           kind="compile")

    def works(self):
        """IR or source to a cubin, a kernel at a time."""
        if not self.bench.ptxas:
            return
        repeats = 1 if self.quick else 3
        for work in kernel_rows.WORKS:
            self.bench.progress(f"compile time of {work.name}")
            source = self.scratch / f"{work.name}.mlir"
            source.write_text(program.one_function(work.name.lower()))
            inside, whole = self.ours(source, "bin", repeats)
            theirs = None
            if self.bench.nvcc and work.peer:
                self.bench.progress(f"nvcc's compile time of {work.name}")
                theirs = tools.best_of(repeats, lambda: self.kernels.nvcc_cubin(
                    work, CHIP)[1]) * 1e3
            # The first that a process compiles, which has Triton loaded by then.
            self.bench.progress(f"Triton's compile time of {work.name}")
            first = self.kernels.compile_triton(
                CHIP, work.name, folder=f"triton-{work.name}")[:1]
            triton = first[0]["seconds"] * 1e3 if first else None
            for milliseconds, what in ((inside, "in process"),
                                       (whole, "whole command")):
                self.bench.row(f"{work.name} to a cubin, {what}", milliseconds, "ms",
                               theirs, theirs and theirs / 10, triton=triton,
                               kind="compile")

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
