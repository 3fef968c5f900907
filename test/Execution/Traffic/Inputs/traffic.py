# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints whether the works of the benchmark move at most 1.02 times what they
need. usage: traffic.py SOURCE_TREE KVCACHE_RUN SCRATCH"""
import pathlib
import sys

BENCH = pathlib.Path(sys.argv[1]) / "tools/lib/bench"
sys.path.insert(0, str(BENCH))
import traffic  # noqa: E402

for work in ("w1", "w2", "w2b", "w3", "w4", "w5", "w6", "w6b", "w6m", "w7",
             "w7k"):
    for chip in ("sm_80", "sm_90a"):
        counted = traffic.main(f"{sys.argv[3]}/{work}", sys.argv[2],
                               BENCH / "kernels.mlir", work, chip)
        ratio = counted["moved"] / counted["needed"]
        within = "at most 1.02" if ratio <= 1.02 else f"{ratio:.4f}"
        print(f"{work} {chip}: {within} times, {counted['conflicts']} conflicts")
