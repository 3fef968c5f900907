# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""W1 to W7: the kernels and their peers, instructions, traffic."""
import collections
import json
import re

import program
import regions
import sass
import sizes
import tools

HERE = tools.ROOT / "tools/lib/bench"
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


def with_partial_pages(work, kernel, record):
    """Instructions for 16 bytes of all rows of the work's sequences, most of whose
    last pages are partial; None where a partial page is no different."""
    rest = regions.remainder(kernel)
    if not rest:
        return None
    loop = regions.hot(kernel)
    page, heads, elements = record["arguments"][0]["sizes"][3:]
    row = heads * elements
    loads = regions.loads(loop.opcodes)
    threads = record["kernels"][0]["compiled_for_block"][0]
    rows = loads[max(loads)] * max(loads) * threads // row
    _, tokens = sizes.size(work.name.lower(), full=True)
    full, last = divmod(tokens, page)
    turns = full * (page // rows) + last // rows
    executed = turns * len(loop.opcodes) + (last % rows > 0) * len(rest.opcodes)
    return executed * threads * 16 / (tokens * row)


class KernelRows:
    def __init__(self, bench, may_fetch):
        self.bench, self.scratch = bench, bench.scratch / "kernels"
        self.scratch.mkdir(exist_ok=True)
        self.may_fetch = may_fetch
        self.triton_by_chip = {}

    def cubin_kernel(self, chip, ptx):
        cubin = ptx.with_suffix(".cubin")
        sass.assemble(self.bench.ptxas, chip, ptx, cubin)
        return regions.kernels(self.bench.nvdisasm, cubin)[0]

    def nvcc_source(self, work, chip):
        """A file with the CUDA kernel alone."""
        converts = int(re.search(r"\d+", chip)[0]) >= 89
        bits = "false" if converts else "true"
        wanted = f"template __global__ void {work.peer.format(bits)}"
        lines = [line for line in CUDA.read_text().split("\n")
                 if not line.startswith("template __global__")
                 or line.startswith(wanted)]
        source = self.scratch / f"{work.name}.{chip}.cu"
        source.write_text("\n".join(lines))
        return source

    def nvcc_command(self, chip):
        return (self.bench.nvcc, "-std=c++17", "-O3", f"-arch={chip}",
                "--expt-relaxed-constexpr")

    def nvcc_cubin(self, work, chip):
        """The cubin of the CUDA kernel, and the seconds that nvcc took."""
        source = self.nvcc_source(work, chip)
        cubin = source.with_suffix(".nvcc.cubin")
        seconds = tools.run(*self.nvcc_command(chip), "-cubin", "-o", cubin,
                            source)[2]
        return cubin, seconds

    def triton_jobs(self, chip):
        """Triton's kernels for a chip: what triton_kernels.py says of each."""
        if chip not in self.triton_by_chip:
            self.triton_by_chip[chip] = self.compile_triton(chip)
        return self.triton_by_chip[chip]

    def compile_triton(self, chip, *works, folder="triton"):
        """The same, of all works or of some, by a process of its own."""
        if any(text.startswith("Triton's figures") for text in self.bench.skipped):
            return []
        self.bench.progress("Triton (fetched once)")
        python, why = tools.python_with(self.bench.build, self.may_fetch, "triton",
                                        "numpy")
        if not python:
            self.bench.skipped.append(f"Triton's figures: {why}")
            return []
        try:
            text, _, _ = tools.run(python, TRITON, self.scratch / folder, chip, *works)
        except tools.Failed as error:
            self.bench.skipped.append(f"Triton's figures: {error}")
            return []
        return json.loads(text)

    def triton_best(self, work, chip):
        """The figure of the best of Triton's kernels for a work, and its job; else
        twice None."""
        return min(((figure(work, regions.kernels(self.bench.nvdisasm,
                                                  job["cubin"])[0]), job)
                    for job in self.triton_jobs(chip) if job["work"] == work.name),
                   key=lambda pair: pair[0], default=(None, None))

    def instructions(self):
        self.bench.progress("W1 to W7 to PTX")
        self.bench.compile(program.FILE, chips=CHIPS, out=self.scratch)
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
                peer = triton = None
                if chip != "sm_100a":
                    triton = self.triton_best(work, chip)[0]
                    if self.bench.nvcc and work.peer:
                        peer = figure(work, regions.kernels(
                            self.bench.nvdisasm, self.nvcc_cubin(work, chip)[0])[0])
                unit = ("instructions / 8 quantised" if work.name == "W5"
                        else "instructions / 16 B")
                self.bench.row(
                    f"{work.name} {work.shape} {chip}", figure(work, kernel),
                    unit, peer, work.goals.get(chip),
                    triton=triton, kind="instructions")
                if work.name in ("W1", "W2", "W2b"):
                    record = json.loads(
                        (self.scratch / f"{work.name.lower()}.json").read_text())
                    self.bench.row(
                        f"{work.name} {chip}, with partial pages",
                        with_partial_pages(work, kernel, record), unit,
                        goal=61 if chip == "sm_90a" else None)

    def traffic(self):
        """Bytes moved to bytes needed, and bank conflicts, of small instances."""
        python, why = tools.python_with(self.bench.build, self.may_fetch,
                                        "numpy")
        if not python:
            self.bench.skipped.append(f"bytes moved: {why}")
            return
        for work in WORKS:
            self.bench.progress(f"bytes that {work.name} moves")
            text, _, _ = tools.run(
                python, HERE / "traffic.py", self.scratch / "traffic",
                self.bench.build / "bin/kvcache-run", program.FILE,
                work.name.lower())
            counted = json.loads(text)
            self.bench.row(f"{work.name} bytes moved / needed",
                           counted["moved"] / counted["needed"], "times",
                           goal=1.02, kind="traffic")
            if not work.module:
                self.bench.row(f"{work.name} {work.shape}",
                               counted["executed"] * 32 * 16 / counted["needed"],
                               "instructions executed / 16 B")
            if counted["conflicts"]:
                # Of a selection's histograms there are as many as keys want.
                self.bench.row(f"{work.name} bank conflicts",
                               counted["conflicts"], "passes",
                               goal=0 if work.module else None)
