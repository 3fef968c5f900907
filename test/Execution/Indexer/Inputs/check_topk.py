# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks kvcache.topk against a stable sort by NumPy.

usage: check_topk.py SOURCE_TREE BUILD_TREE CHIP SEED COUNT [LONGEST]

Rows of kinds that are hard for a selection (equal scores, few different ones,
rising and falling ones, signed zeros, NaN, infinities), of lengths around those
that matter, in tensors whose rows are aligned or not. What lies past the live
scores is poison. Each program runs twice and must give the same bytes.
"""
import pathlib
import sys

import numpy as np

source, build, chip, seed, count = sys.argv[1:6]
sys.path.insert(0, str(pathlib.Path(source) / "test" / "Execution" / "Cases"))
from program_text import ProgramText, padded_with_poison
from runner import Runner

LONGEST = int(sys.argv[6]) if len(sys.argv) > 6 else 5000


def row_of(rng, kind, n):
    if kind == "random":
        return rng.standard_normal(n)
    if kind == "equal":
        return np.full(n, 0.5)
    if kind == "few":
        return rng.integers(-2, 3, n) / 4
    if kind == "rising":
        return np.sort(rng.standard_normal(n))
    if kind == "falling":
        return np.sort(rng.standard_normal(n))[::-1]
    if kind == "zeros":
        return np.where(rng.random(n) < 0.5, -0.0, 0.0)
    if kind == "close":
        return 1 + rng.integers(0, 50, n) * 2.0**-23
    # Everything that there is.
    bits = rng.integers(0, 2**32, n).astype(np.uint32)
    special = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45],
                       np.float32)
    numbers = bits.view(np.float32).copy()
    at = rng.random(n) < 0.4
    numbers[at] = rng.choice(special, int(at.sum()))
    return numbers


KINDS = ["random", "equal", "few", "rising", "falling", "zeros", "close", "any"]


def expected(scores, live, k):
    indices = np.full((len(scores), k), -1, np.int32)
    values = np.full((len(scores), k), -np.inf, np.float32)
    for row, n in enumerate(live):
        n = min(int(n), scores.shape[1])
        # NaN is the least; a stable sort leaves equal ones as they are.
        numbers = scores[row, :n].astype(np.float64)
        order = np.lexsort((np.where(np.isnan(numbers), 0, -numbers),
                            np.isnan(numbers)))[:k]
        indices[row, :len(order)] = order
        values[row, :len(order)] = scores[row, order] + 0.0
    return indices, values


def check(rng, number, runner):
    k = int(rng.choice([1, 2, 8, 31, 33, 64, 100, 256, 257, 1000, 2048]))
    lengths = [0, 1, k - 1, k, k + 1, 2 * k, int(rng.integers(1, LONGEST)), LONGEST]
    rows = int(rng.integers(1, 4))
    columns = int(rng.choice(lengths + [LONGEST])) + int(rng.integers(0, 3))
    columns = max(columns, 1)
    pad = int(rng.choice([0, 1, 2, 4]))
    whole = rng.integers(0, 2**32, (rows, columns + pad)).astype(np.uint32).view(
        np.float32).copy()
    live = np.array([min(rng.choice(lengths), columns) for _ in range(rows)],
                    np.uint32)
    kinds = rng.choice(KINDS, rows)
    for row in range(rows):
        whole[row, :live[row]] = row_of(rng, kinds[row], int(live[row]))
    if rng.random() < 0.3:
        # More than there are.
        row = int(rng.integers(rows))
        live[row] = int(rng.choice([columns + 1, 2**31, 2**32 - 1]))
        whole[row, :columns] = row_of(rng, kinds[row], columns)
    threads = int(rng.choice([64, 128, 256, 512]))

    text = ProgramText()
    text.argument("scores", whole, "f32", static_dims=1)
    text.argument("live", live, "u32", static_dims=0)
    text.argument("best", padded_with_poison([rows, k], "i32"), "i32",
                  is_output=True, static_dims=1)
    text.argument("values", padded_with_poison([rows, k], "f32"), "f32",
                  is_output=True, static_dims=1)
    part = f"memref<{rows}x{columns}xf32, strided<[{columns + pad}, 1]>>"
    text.line("%zero = arith.constant 0 : index")
    text.line(f"%whole = memref.cast %scores : {text.types['scores']} to "
              f"memref<{rows}x{columns + pad}xf32>")
    text.line(f"%part = memref.subview %whole[0, 0] [{rows}, {columns}] [1, 1] : "
              f"memref<{rows}x{columns + pad}xf32> to {part}")
    # Known strides, or those of run time.
    type_ = part
    if rng.random() < 0.5:
        type_ = "memref<?x?xf32, strided<[?, 1]>>"
        text.line(f"%dynamic = memref.cast %part : {part} to {type_}")
    name = "%part" if type_ == part else "%dynamic"
    text.line(f"kvcache.topk scores({name} : {type_}) live({text.typed('live')}) "
              f"into({text.typed('best')}) values({text.typed('values')}) "
              f"tuning(<threads = {threads}>)")
    what = (f"k {k}, {list(kinds)}, live {live.tolist()} of {columns} + {pad}, "
            f"{threads} threads")
    program = text.program()
    results = [runner.run(f"topk{number}", program) for _ in range(2)]
    indices, values = expected(whole[:, :columns], live, k)
    got = results[0]
    if not np.array_equal(got["best"], indices):
        at = tuple(np.argwhere(got["best"] != indices)[0])
        sys.exit(f"{what}: index {at} is {got['best'][at]}, want {indices[at]}")
    same = (got["values"].view(np.uint32) == values.view(np.uint32)) | (
        np.isnan(got["values"]) & np.isnan(values))
    if not same.all():
        at = tuple(np.argwhere(~same)[0])
        sys.exit(f"{what}: value {at} is {got['values'][at]}, want {values[at]}")
    if any(got[name].tobytes() != results[1][name].tobytes()
           for name in ("best", "values")):
        sys.exit(f"{what}: two runs differ")


runner = Runner(build, chip, "all")
rng = np.random.default_rng(int(seed))
for number in range(int(count)):
    check(rng, number, runner)
print(f"{count} programs, all right")
