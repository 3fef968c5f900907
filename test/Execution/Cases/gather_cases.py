# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of what a gather can be told: sequences, ragged rows, strided tensors."""
import numpy as np

from case_builder import CaseBuilder
from pool_layout import PoolLayout
from reference_numbers import write

SCALED = {"dtype": "f8E4M3FN", "scale_dtype": "f32", "g": 16}
TAIL = SCALED | {"placement": "inline", "rope": 8, "rope_dtype": "bf16"}


def _layout(fields):
    return PoolLayout.from_json(dict(dtype="bf16", H=2, D=40, P=4, L=2) | fields)


def _builder(rng, fields, lengths):
    b = CaseBuilder(rng, _layout(fields), 24, 25, own_table=True)
    b.sequences(lengths, [0] * len(lengths))
    b.fill()
    return b


def gather_cases(rng):
    kinds = {"bf16": {}, "scaled": SCALED, "tail": TAIL,
             "one": {"P": 1, "H": 1, "D": 1, "dtype": "f32"},
             "wide": SCALED | {"H": 130, "D": 64, "g": 64, "P": 3}}
    for kind, fields in kinds.items():
        common = {"c": 1, "l": 1, "out_dtype": "bf16",
                  "scales": "scale_dtype" in fields}
        # Some sequences, one twice, one that there is not.
        b = _builder(rng, fields, [9, 0, 4, 1])
        b.set("sequences", [2, 0, 3, 0, 7], "i32")
        yield b.case(f"listed_{kind}_gather", "gather", rows=11, **common)

        # Ragged: fewer rows than tokens, more, none; rows that are nobody's,
        # and offsets that go on behind the tensor.
        for what, offsets, rows in (("", [0, 3, 3, 9, 9, 13], 13),
                                    ("spare", [0, 9, 9, 13, 14, 14], 31),
                                    ("cut", [0, 9, 9, 13, 14, 14], 10),
                                    ("empty", [0, 0, 0, 0, 0, 0], 0)):
            b = _builder(rng, fields, [9, 0, 4, 1, 6])
            b.set("row_offsets", offsets, "i32")
            yield b.case(f"ragged_{what}_{kind}_gather", "gather", rows=rows,
                         **common)
        b = _builder(rng, fields, [9, 0, 4, 1])
        b.set("sequences", [3, 0, 0], "i32")
        b.set("row_offsets", [0, 2, 8, 17], "i32")
        yield b.case(f"ragged_listed_{kind}_gather", "gather", rows=17, **common)

        # Parts of larger tensors, whose other bytes stay.
        for pad in ([0, 0, 8], [2, 1, 0], [1, 0, 3]):
            b = _builder(rng, fields, [9, 0, 4, 1])
            yield b.case(f"strided_{'_'.join(map(str, pad))}_{kind}_gather",
                         "gather", rows=10, pad=pad, **common)
            b = _builder(rng, fields, [9, 0, 4, 1])
            b.set("row_offsets", [0, 2, 4, 8, 9], "i32")
            yield b.case(f"strided_ragged_{'_'.join(map(str, pad))}_{kind}_gather",
                         "gather", rows=12, pad=pad, **common)

    # Two numbers of a byte go where heads or rows start at odd numbers, and where
    # they start at even ones.
    for D, g in ((46, 46), (64, 16), (6, 3), (64, 15)):
        for pad in ([0, 0, 1], [0, 1, 0], [1, 0, 2], [2, 0, 4]):
            for out_dtype in ("bf16", "f32"):
                b = _builder(rng, {"dtype": "f4E2M1FN", "scale_dtype": "f32", "g": g,
                                   "D": D}, [9, 0, 4, 1])
                yield b.case(
                    f"pairs_D{D}_g{g}_{'_'.join(map(str, pad))}_{out_dtype}_gather",
                    "gather", c=1, l=0, rows=10, pad=pad, out_dtype=out_dtype,
                    scales=True)

    # Rows of one scale whose vectors fill no whole number of warps, in steps of many
    # rows.
    for D in (176, 208, 304, 576):
        for dtype, out_dtype in (("f8E4M3FN", "bf16"), ("i8", "f32")):
            b = CaseBuilder(rng, _layout({
                "dtype": dtype, "scale_dtype": "f32", "g": D, "D": D, "H": 1,
                "P": 64, "L": 1, "is_mla": True}), 8)
            b.sequences([200, 64, 37], [0] * 3)
            b.fill()
            yield b.case(f"latent_{D}_{dtype}_{out_dtype}_gather", "gather", c=0, l=0,
                         rows=201, out_dtype=out_dtype, scales=False)

    # All codes with scales from end to end of their range: products that overflow,
    # denormal ones, and scales that chips without conversions must not multiply.
    extremes = np.array([1, -1, 0, 2.0**119, -2.0**120, 2.0**121, 2.0**127,
                         np.finfo(np.float32).max, 2.0**-126, 2.0**-149, 1.5e-44,
                         np.inf, np.nan, 3.3e38, 7e-39, 2.0**120], np.float32)
    for dtype in ("f8E4M3FN", "f8E5M2"):
        for scale_dtype in ("f32", "bf16"):
            for out_dtype in ("f32", "bf16"):
                b = CaseBuilder(rng, _layout(dict(
                    dtype=dtype, scale_dtype=scale_dtype, g=256, D=256, P=8, L=1)), 2)
                b.sequences([8], [0])
                b.everything()
                codes = np.arange(b.inputs["blocks"].size).astype(np.uint8)
                b.set("blocks", codes, "u8")
                scales = write(np.resize(extremes, 2 * 2 * 8 * 2), scale_dtype)
                b.set("scales", scales.view(np.uint8), "u8")
                yield b.case(f"extreme_{dtype}_{scale_dtype}_{out_dtype}_gather",
                             "gather", how={"rtol": 0.0, "atol": 0.0}, c=0, l=0,
                             rows=8, out_dtype=out_dtype, scales=False)

    # No sequence at all, but rows.
    b = _builder(rng, SCALED, [3])
    b.set("row_offsets", [0], "i32")
    b.set("sequences", np.zeros(0), "i32")
    yield b.case("ragged_nobody_gather", "gather", c=0, l=0, rows=5,
                 out_dtype="f32", scales=True)
