# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two sequences, of 32 and 21 tokens; the scale of token t is t / 8.

arrays.py FOLDER        writes the arguments of scale-sums.mlir
arrays.py FOLDER check  prints the sums that came out, and those wanted
"""
import sys
import numpy as np

folder = sys.argv[1]
blocks = np.zeros((6, 1, 1, 16, 1, 128), np.uint8)
lengths = np.array([32, 21], np.uint32)
table = np.array([[0, 1], [2, 3]], np.uint32)
scales_table = np.array([[4, 1], [0, 3]], np.uint32)
scales = np.full((5, 1, 1, 16, 1, 1), np.nan, np.float32)
for b in range(2):
    for t in range(lengths[b]):
        scales[scales_table[b, t // 16], 0, 0, t % 16] = t / 8

if sys.argv[2:] == ["check"]:
    wanted = [sum(t / 8 for t in range(length)) for length in lengths]
    print("sums", *np.load(f"{folder}/got.npy"), "wanted", *wanted)
    sys.exit()

arrays = {"blocks": blocks, "lengths": lengths, "table": table,
          "max": np.array([32], np.uint32), "scales": scales,
          "scales_table": scales_table, "out": np.zeros(2, np.float32)}
for name, array in arrays.items():
    np.save(f"{folder}/{name}.npy", array)
