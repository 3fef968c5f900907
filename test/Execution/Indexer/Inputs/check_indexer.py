# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks kvcache.indexer_scores and kvcache.indexer_topk against NumPy in f64.

usage: check_indexer.py SOURCE_TREE BUILD_TREE CHIP SEED COUNT [LENGTH,… [HEADS TOP_K]]
                        [--cancelling]

Layouts at random: page and head sizes, placements, tables, dtypes of scales, page
pitches. Unwritten slots hold NaN, unused table columns 0xFFFFFFFF and the like.
A score must be within 1e-5 of the reference, relative to it and, in rows with weights
of both signs, to a tenth of the magnitudes that are added up; indices must be the best
of the scores, exactly, and so within that of the reference's. Each program runs twice
and must give the same bytes. With `--cancelling` little is left of the sums: by turns
every head has its opposite, and the second half of a head all but takes back what the
first one gives.
"""
import pathlib
import sys

import numpy as np

CANCELLING = "--cancelling" in sys.argv
arguments = [word for word in sys.argv[1:] if word != "--cancelling"]
source, build, chip, seed, count = arguments[:5]
sys.path.insert(0, str(pathlib.Path(source) / "test" / "Execution" / "Cases"))
import programs
from case_builder import CaseBuilder
from case_folder import Case, Expected
from pool_layout import PoolLayout
from reference import Pools, best_of, key_scores
from reference_numbers import write
from runner import Runner
from verdicts import Differs, RunFailed

LONG = [int(n) for n in arguments[5].split(",")] if len(arguments) > 5 else [300]
# Of all programs, whose sequences then are all of these lengths, heads of 128.
SIZES = [int(n) for n in arguments[6:8]]


def layout_of(rng):
    D = 128 if SIZES else int(rng.choice([128, 128, 128, 64, 96, 16, 48, 112]))
    fields = {"dtype": "f8E4M3FN", "H": 1, "D": D, "L": int(rng.integers(1, 3)),
              "P": int(rng.choice([64, 192, 1, 3, 8, 16, 32, 61, 128, 40])),
              "is_mla": bool(rng.random() < 0.7),
              "scale_dtype": str(rng.choice(["f32", "f32", "bf16", "f16"])), "g": D,
              "placement": str(rng.choice(["pool", "pool", "page_split", "inline"])),
              "global_scale": float(rng.choice([1, 1, 0.3, -1.5]))}
    layout = PoolLayout.from_json(fields)
    if fields["placement"] == "pool" and rng.random() < 0.3:
        fields["value_pitch"] = layout.packed_page_bytes + 16 * D
        fields["scale_pitch"] = (layout.packed_scales_page_bytes
                                 // {"f32": 4}.get(fields["scale_dtype"], 2) + 8)
    return PoolLayout.from_json(fields)


def case_of(rng, number):
    layout = layout_of(rng)
    P = layout.P
    batch = int(rng.integers(1, 4))
    lengths = [int(n) for n in rng.choice(
        LONG if SIZES else [0, 1, P - 1, P, P + 1, *LONG], batch)]
    new = [int(n) for n in rng.choice([1, 2] if SIZES else [0, 1, 1, 2, 5], batch)]
    pages = sum(-(-(a + c) // P) for a, c in zip(lengths, new)) + 3
    b = CaseBuilder(rng, layout, pages, pages + 2, own_table=rng.random() < 0.5)
    b.sequences([a + c for a, c in zip(lengths, new)], [0] * batch)
    b.fill()
    rows = sum(new) + int(rng.choice([0, 0, 3]))
    heads = SIZES[0] if SIZES else int(rng.choice([64, 64, 1, 4, 16, 33, 128]))
    numbers = lambda *shape: rng.standard_normal(shape).astype(np.float32)
    b.set("q", write(2 * numbers(rows, heads, layout.D), "f8E4M3FN"), "f8E4M3FN")
    weights = numbers(rows, heads)
    b.set("q_scale", np.abs(weights) if rng.random() < 0.5 else weights, "f32")
    if CANCELLING:
        cancel(b, number, layout)
    b.set("old_lengths", lengths, "u32")
    b.set("row_offsets", np.cumsum([0] + new), "u32")
    args = {"l": int(rng.integers(layout.L)), "causal": bool(rng.random() < 0.6),
            "top_k": SIZES[1] if SIZES else int(rng.choice([1, 8, 64, 100, 512]))}
    longest = max(a + c for a, c in zip(lengths, new))
    columns = max(longest + int(rng.choice([0, 1, 5, 40])), 1)
    scores = Expected(np.zeros((rows, columns)), "f64", "bytes")
    return Case(f"indexer{number}", "indexer_topk", layout, b.nb, b.nbs, args,
                b.inputs, b.dtypes, {"scores": scores})


def cancel(b, number, layout):
    """Every second head, or every second half of a head, becomes the opposite of the
    one before, but for an element."""
    q, weights = b.inputs["q"], b.inputs["q_scale"]
    if number % 2:
        count = q.shape[1] // 2 * 2
        q[:, 1:count:2] = q[:, 0:count:2]
        q[:, 1:count:2, 0] ^= 1
        weights[:, 1:count:2] = -weights[:, 0:count:2]
        return
    half = layout.D // 2
    q[..., half:] = q[..., :half] ^ 0x80
    q[..., half] ^= 1
    pools = Pools(layout, b.nb, b.nbs, b.inputs["blocks"], b.inputs.get("scales"))
    everywhere = np.stack([rows.ravel() for rows in np.indices((b.nb, layout.P))], axis=1)
    for side in range(layout.KD):
        for layer in range(layout.L):
            codes = pools.get("codes", everywhere, side, layer)
            codes[..., half:] = codes[..., :half]
            pools.put("codes", everywhere, side, layer, codes)
    b.inputs |= pools.outputs()


def check(case, runner):
    inputs, args = case.inputs, case.args
    columns = case.outputs["scores"].array.shape[1]
    pools = Pools(case.layout, case.nb, case.nbs, inputs["blocks"],
                  inputs.get("scales"))
    want, magnitudes, live = key_scores(pools, args, inputs, case.dtypes, columns)
    layout = case.layout
    what = (f"{case.name}: P {layout.P}, D {layout.D}, {layout.scale_dtype}, "
            f"{layout.placement}, {inputs['q'].shape[1]} heads, {args}, lengths "
            f"{inputs['old_lengths'].tolist()}, offsets "
            f"{inputs['row_offsets'].tolist()}, {columns} columns")
    try:
        # All forms agree byte for byte, or this fails.
        first, second = (programs.run_case(case, runner) for _ in range(2))
    except (Differs, RunFailed) as error:
        sys.exit(f"{what}: {error}")
    got = first["scores"]
    some = np.isfinite(want)
    if not np.array_equal(np.isneginf(got), ~some):
        at = tuple(np.argwhere(np.isneginf(got) == some)[0])
        sys.exit(f"{what}: score {at} is {got[at]}, want {want[at]}")
    with np.errstate(invalid="ignore"):
        # Where all weights of a row are positive nothing cancels in its sum.
        mixed = CANCELLING | (inputs["q_scale"] < 0).any(axis=1, keepdims=True)
        bound = 1e-5 * np.abs(want) + np.where(mixed, 1e-6 * magnitudes, 0)
        wrong = some & ~(np.abs(got - want) <= bound)
    if wrong.any():
        at = tuple(np.argwhere(wrong)[0])
        sys.exit(f"{what}: score {at} is {got[at]}, want {want[at]}")
    best = best_of(got, np.minimum(live, columns), args["top_k"])
    if not np.array_equal(first["topk"], best):
        at = tuple(np.argwhere(first["topk"] != best)[0])
        sys.exit(f"{what}: index {at} is {first['topk'][at]}, want {best[at]}")
    for name, array in first.items():
        if name != "workspace" and array.tobytes() != second[name].tobytes():
            sys.exit(f"{what}: two runs differ in {name}")
    errors = np.abs(got[some] - want[some]) / np.maximum(magnitudes[some], 1e-30)
    return float(errors.max(initial=0))


runner = Runner(build, chip, "all")
rng = np.random.default_rng(int(seed))
worst = max((check(case_of(rng, number), runner) for number in range(int(count))),
            default=0)
print(f"{count} programs, all right; at most {worst:.1e} of the magnitudes off")
