# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints whether `kvcache.indexer_topk` executes no more instructions for 64 to 88
heads than for 96, the best 2048 of 6000 being asked for: shared memory that heads
take must not make candidates short of room. usage: check_heads.py SOURCE_TREE
KVCACHE_RUN SCRATCH"""
import pathlib
import sys

BENCH = pathlib.Path(sys.argv[1]) / "tools/lib/bench"
sys.path.insert(0, str(BENCH))
import instances  # noqa: E402
import sizes  # noqa: E402
import traffic  # noqa: E402

program = (BENCH / "kernels.mlir").read_text()


def executed(heads, chip):
    text = program.replace("?x64x128xf8E4M3FN>", f"?x{heads}x128xf8E4M3FN>")
    text = text.replace("memref<?x64xf32>", f"memref<?x{heads}xf32>")
    arrays, _ = instances.indexer(
        "w7k", *sizes.size("w7k", full=False), heads)
    return traffic.count(sys.argv[3], sys.argv[2], text, "w7k", arrays,
                         chip)["executed"]


for chip in ("sm_80", "sm_90a"):
    most = executed(96, chip)
    for heads in (64, 72, 80, 88):
        less = executed(heads, chip)
        said = "no more" if less <= most else f"{less} instructions, not {most}"
        print(f"{heads} heads on {chip}: {said}")
