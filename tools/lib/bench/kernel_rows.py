# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""W1 to W7: instructions beside nvcc's and Triton's, traffic, compile times."""
import collections
import json
import re

import regions
import sass
import tools

HERE = tools.ROOT / "tools/lib/bench"
PROGRAM = HERE / "kernels.mlir"
CUDA = HERE / "nvcc_kernels.cu"
TRITON = HERE / "triton_kernels.py"
CHIPS = ("sm_80", "sm_90a", "sm_100a")

# `peer` begins the instantiation in the CUDA file, if there is one; {} is whether
# codes are decoded by bits, for chips without the instruction. `payload`: loads of
# 16 bytes of KV in the hot loop, where there are others of that width. Where
# `module` is None, instructions are counted as they are executed.
Work = collections.namedtuple("Work", "name shape module peer goals payload",
                              defaults=(None,))
WORKS = (
    Work("W1", "gather P64 H1 D576 g576", "w1_gather",
         "gather_dequant<64, 1, 576, 576, 256, {}>", {"sm_80": 90, "sm_90a": 57}),
    Work("W2", "gather P16 H8 D128 g128", "w2_gather",
         "gather_dequant<16, 8, 128, 128, 256, {}>", {"sm_80": 90, "sm_90a": 57}),
    Work("W2b", "gather P16 H8 D128 g32", "w2b_gather",
         "gather_dequant<16, 8, 128, 32, 256, {}>", {"sm_90a": 57}),
    Work("W3", "append P16 H8 D128", "w3_append", "append_bf16<16, 8, 128>",
         {"sm_90a": 21}),
    Work("W4", "quantize_append P16 H8 D128 g128", "w4_quantize_append",
         "append_quant<16, 8, 128, 128>", {"sm_80": 160, "sm_90a": 100}),
    Work("W5", "quantize_append 656-byte rows", "w5_quantize_append",
         "append_quant<64, 1, 512, 128>", {"sm_90a": 100}),
    Work("W6", "decode P16 H8 D128, 32 query heads, bf16", "w6_paged_attention",
         None, {"sm_80": 15, "sm_90a": 16}),
    Work("W6b", "decode P16 H8 D128 g128, 32 query heads, e4m3",
         "w6b_paged_attention", None, {"sm_80": 62, "sm_90a": 38}, payload=8),
    Work("W6m", "MLA decode P64 D576, 16 query heads, e4m3", "w6m_mla_decode",
         None, {"sm_90a": 62}),
    # Nobody else publishes such a kernel for paged pools.
    Work("W7", "indexer_scores P64 H64 D128", "w7_indexer_scores", None,
         {"sm_80": 82, "sm_90a": 40, "sm_100a": 53}),
    # The selection is a part of the loop that few turns come to.
    Work("W7k", "indexer_topk P64 H64 D128, the best 2048 of 6000", None, None, {}),
)


def figure(work, kernel):
    """Instructions for 16 bytes of payload; W5, whose tail is payload of
    another kind, for 8 elements that are quantised."""
    region = regions.hot(kernel)
    if work.payload:
        return len(region.opcodes) / work.payload
    if work.name == "W5":
        return regions.per_8_quantised(region) or regions.per_16_bytes(region)
    return regions.per_16_bytes(region)


class KernelRows:
    def __init__(self, bench, may_fetch):
        self.bench, self.scratch = bench, bench.scratch / "kernels"
        self.scratch.mkdir()
        self.may_fetch = may_fetch
        self.triton = {}
        if bench.nvdisasm and may_fetch:
            self.compile_triton()

    def cubin_kernel(self, chip, ptx):
        cubin = ptx.with_suffix(".cubin")
        sass.assemble(self.bench.ptxas, chip, ptx, cubin)
        return regions.kernels(self.bench.nvdisasm, cubin)[0]

    def nvcc(self, work, chip):
        """The figure of the CUDA kernel, and the seconds to its cubin."""
        bits = "true" if chip == "sm_80" else "false"
        wanted = f"template __global__ void {work.peer.format(bits)}"
        lines = [line for line in CUDA.read_text().split("\n")
                 if not line.startswith("template __global__")
                 or line.startswith(wanted)]
        source = self.scratch / f"{work.name}.{chip}.cu"
        source.write_text("\n".join(lines))
        cubin = source.with_suffix(".nvcc.cubin")
        seconds = tools.run(self.bench.nvcc, "-std=c++17", "-O3",
                            f"-arch={chip}", "--expt-relaxed-constexpr",
                            "-cubin", "-o", cubin, source)[2]
        kernel = regions.kernels(self.bench.nvdisasm, cubin)[0]
        return figure(work, kernel), seconds

    def compile_triton(self):
        """Figures of Triton's kernels by work and chip, and compile seconds."""
        self.bench.progress("Triton (fetched once)")
        python, why = tools.venv_python(self.bench.build, "triton", "numpy")
        if not python:
            self.bench.skipped.append(f"Triton's figures: {why}")
            return
        try:
            text, _, _ = tools.run(python, TRITON, self.scratch / "triton")
        except tools.Failed as error:
            self.bench.skipped.append(f"Triton's figures: {error}")
            return
        for job in json.loads(text):
            work = next(w for w in WORKS if w.name == job["work"])
            kernels = regions.kernels(self.bench.nvdisasm, job["cubin"])
            value = figure(work, kernels[0])
            best = self.triton.get((work.name, job["chip"]))
            if best is None or value < best[0]:
                self.triton[work.name, job["chip"]] = value, job["seconds"]

    def instructions(self):
        self.bench.progress("W1 to W7 to PTX")
        self.bench.compile(PROGRAM, chips=CHIPS, out=self.scratch)
        if not self.bench.nvdisasm:
            return
        for chip in CHIPS:
            for work in WORKS:
                if not work.module:
                    continue
                self.bench.progress(f"{work.name} for {chip}")
                kernel = self.cubin_kernel(
                    chip, self.scratch / f"{work.module}.{chip}.ptx")
                everything = regions.whole(kernel).opcodes
                spilled = regions.spills(everything)
                if spilled:
                    self.bench.row(f"{work.name} {chip}", spilled,
                                   "accesses to spilled registers", goal=0)
                peer = (self.nvcc(work, chip)[0]
                        if self.bench.nvcc and work.peer and chip != "sm_100a"
                        else None)
                unit = ("instructions / 8 quantised" if work.name == "W5"
                        else "instructions / 16 B")
                self.bench.row(
                    f"{work.name} {work.shape} {chip}", figure(work, kernel),
                    unit, peer, work.goals.get(chip),
                    triton=self.triton.get((work.name, chip), (None,))[0])

    def traffic(self):
        """Bytes moved to bytes needed, and bank conflicts, of small instances."""
        python, why = tools.numpy_python(self.bench.build, self.may_fetch)
        if not python:
            self.bench.skipped.append(f"bytes moved: {why}")
            return
        for work in WORKS:
            self.bench.progress(f"bytes that {work.name} moves")
            text, _, _ = tools.run(
                python, HERE / "traffic.py", self.scratch / "traffic",
                self.bench.build / "bin/kvcache-run", PROGRAM,
                work.name.lower())
            counted = json.loads(text)
            self.bench.row(f"{work.name} bytes moved / needed",
                           counted["moved"] / counted["needed"], "times",
                           goal=1.02)
            if not work.module:
                self.bench.row(f"{work.name} {work.shape}",
                               counted["executed"] * 32 * 16 / counted["needed"],
                               "instructions executed / 16 B")
            if counted["conflicts"]:
                # Of a selection's histograms there are as many as keys want.
                self.bench.row(f"{work.name} bank conflicts",
                               counted["conflicts"], "passes",
                               goal=0 if work.module else None)

    def compile_times(self):
        """IR to cubin of one kernel, beside the peers."""
        if not self.bench.nvdisasm:
            return
        chip = "sm_90a"
        for work in WORKS:
            if work.name not in ("W1", "W4", "W7"):
                continue
            self.bench.progress(f"compile time of {work.name}")
            program = self.scratch / f"{work.name}.mlir"
            program.write_text(one_function(work.name.lower()))
            whole = tools.best_of(3, lambda: self.bench.compile(
                program, chips=[chip], form="bin")[2]) * 1e3
            inside = tools.best_of(3, lambda: self.bench.total_ms(
                program, [chip], form="bin"))
            theirs = (self.nvcc(work, chip)[1] * 1e3
                      if self.bench.nvcc and work.peer else None)
            triton = self.triton.get((work.name, chip), (None, None))[1]
            for ours, what in ((whole, "whole command"), (inside, "in process")):
                self.bench.row(f"{work.name} to a cubin, {what}", ours, "ms",
                               theirs, theirs and theirs / 10,
                               triton=triton and triton * 1e3)


def one_function(name):
    """The program with one of its functions."""
    text = PROGRAM.read_text()
    head, *functions = re.split(r"^(?=func\.func )", text, flags=re.M)
    return head + next(f for f in functions if f.startswith(f"func.func @{name}("))
