# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the benchmark's rows of times on a GPU with what the mock driver's clock
says: so many milliseconds a launch, 1 ns a byte of a copy.
usage: check_gpu_rows.py FILE.json MILLISECONDS"""
import json
import math
import sys

with open(sys.argv[1]) as file:
    rows = [row for row in json.load(file)["rows"] if row["kind"] == "gpu"]
each = float(sys.argv[2])
for row in rows:
    copy = row["bytes"] // 2 * 1e-6
    launches = row["figure"] * copy / each
    near = lambda a, b: math.isclose(a, b, rel_tol=1e-3)
    assert near(row["copy_ms"], copy), row
    # Attention with a workspace launches twice.
    assert near(launches, 1) or near(launches, 2), row
    assert near(row["ms"], launches * each), row
    assert row["nvcc"] is None or near(row["nvcc"], each / copy), row
print(len(rows), "rows")
