# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of the rotary embedding and of the RMS norm, without a pool and on the
way into one."""
import numpy as np

from case_builder import CaseBuilder, random_numbers, with_outputs
from case_folder import Case
from grid_cases import add_other_side, add_rotation, rows_to_append
from pool_layout import PoolLayout
from reference_numbers import write

TOLERANCE = {"rtol": 1e-5, "atol": 1e-5}


def _case(name, op, args, arrays):
    """`arrays`: name to (numbers, element type)."""
    inputs, dtypes = {}, {}
    for key, (numbers, dtype) in arrays.items():
        inputs[key] = numbers if dtype == "i32" else write(numbers, dtype)
        dtypes[key] = dtype
    return with_outputs(Case(name, op, None, 0, 0, args, inputs, dtypes, {}),
                        TOLERANCE)


def rotary_cases(rng):
    positions = 50
    # The whole head, its first part, its last part, a part in the middle.
    for style in ("interleaved", "half"):
        for D, n, start, H, dtype in ((64, 32, 0, 3, "bf16"), (96, 16, 0, 2, "f16"),
                                      (192, 32, 128, 1, "bf16"),
                                      (46, 5, 12, 2, "f32"), (2, 1, 0, 1, "f32")):
            angles = rng.uniform(0, 6.28, (positions, n))
            yield _case(
                f"rope_{style}_D{D}_n{n}_from_{start}_{dtype}", "rope",
                {"style": style, "start": start},
                {"x": (random_numbers(rng, (7, H, D)), dtype),
                 "cos": (np.cos(angles), "f32"), "sin": (np.sin(angles), "f32"),
                 "positions": (rng.integers(0, positions, 7).astype(np.int32),
                               "i32")})
    for D, H, dtype, offset, spread in (
            (128, 2, "bf16", 0.0, 1), (64, 3, "f16", 1.0, 1), (46, 1, "f32", 0.0, 1),
            (1, 2, "f32", 0.0, 1), (576, 1, "bf16", 1.0, 100), (32, 1, "f32", 0.0, 0)):
        yield _case(
            f"rms_norm_D{D}_{dtype}_offset_{offset:g}_spread_{spread}", "rms_norm",
            {"eps": 1e-6, "weight_offset": offset},
            {"x": (random_numbers(rng, (5, H, D), spread), dtype),
             "weight": (random_numbers(rng, D), dtype)})


# Layout, form, x, rotation (style, start, n), norm (elements, offset), explicit
# positions, rule.
_PLAIN = {"H": 2, "P": 4, "L": 2, "is_mla": False}
_ROW_656 = {"dtype": "f8E4M3FN", "H": 1, "D": 576, "P": 4, "L": 1, "is_mla": True,
            "scale_dtype": "f32", "g": 128, "placement": "inline", "rope": 64,
            "rope_dtype": "bf16"}
_INTO_POOLS = {
    "mla": (_ROW_656, "ragged", "bf16", ("interleaved", 512, 32), (512, 0.0), False),
    "mla_no_norm": (_ROW_656, "positions", "bf16", ("half", 512, 32), None, False),
    "half": (_PLAIN | {"dtype": "f8E4M3FN", "D": 96, "scale_dtype": "bf16", "g": 32},
             "padded", "f16", ("half", 0, 16), (96, 1.0), True),
    "whole_head": (_PLAIN | {"dtype": "i8", "D": 64, "scale_dtype": "f32", "g": 64},
                   "slots", "f32", ("interleaved", 0, 32), (64, 0.0), True),
    "odd": (_PLAIN | {"dtype": "f4E2M1FN", "D": 64, "scale_dtype": "f8E4M3FN",
                      "g": 16}, "ragged", "bf16", ("half", 3, 5), (23, 0.0), False),
    "odd_neighbours": (_PLAIN | {"dtype": "f8E5M2", "D": 46, "scale_dtype": "f32",
                                 "g": 12}, "positions", "bf16",
                       ("interleaved", 7, 9), (46, 0.5), True),
    "norm_into_tail": (_ROW_656 | {"D": 80, "g": 64, "rope": 16, "H": 3}, "ragged",
                       "bf16", ("half", 60, 8), (72, 0.0), False),
    # Of two that turn together one is in the tail, and the other normalised.
    "pair_at_tail": (_ROW_656 | {"D": 80, "g": 12, "rope": 16, "H": 2,
                                 "placement": "page_split"}, "ragged", "f16",
                     ("interleaved", 25, 20), (64, 0.0), False),
    "pair_at_odd_tail": (_ROW_656 | {"D": 79, "g": 12, "rope": 16, "H": 1},
                         "slots", "f32", ("interleaved", 60, 3), (63, 1.0), True),
    "halves_at_tail": (_ROW_656 | {"D": 80, "g": 64, "rope": 16, "H": 3}, "ragged",
                       "bf16", ("half", 48, 16), (40, 0.0), False),
    "halves_over_tail": (_ROW_656 | {"D": 80, "g": 64, "rope": 16, "H": 1},
                         "padded", "bf16", ("half", 48, 16), (64, 0.5), False),
    "unquantised": (_PLAIN | {"dtype": "bf16", "D": 128}, "ragged", "bf16",
                    ("half", 0, 64), (128, 0.0), False),
    "unquantised_large": (_PLAIN | {"dtype": "f16", "D": 4096, "H": 1}, "padded",
                          "bf16", ("interleaved", 64, 32), None, False),
    "large_granule": (_PLAIN | {"dtype": "f8E4M3FN", "D": 4096, "H": 1,
                                "scale_dtype": "f32", "g": 4096}, "ragged", "bf16",
                      ("half", 1024, 512), (4096, 0.0), False),
    "float8": (_PLAIN | {"dtype": "f8E4M3FN", "D": 2}, "ragged", "f32",
               ("half", 0, 1), (1, 0.0), False),
}


def rotary_append_cases(rng):
    for name, (fields, form, wide, rotation, norm, explicit) in _INTO_POOLS.items():
        layout = PoolLayout.from_json(fields)
        builder = CaseBuilder(rng, layout, 5, 7, form == "slots")
        rows = rows_to_append(rng, builder, form, 5)
        builder.fill()
        # Whole numbers: their squares add up exactly in whatever order.
        x = rng.integers(-15, 16, np.atleast_1d(rows).tolist() + [
            layout.H, layout.D]).astype(np.float32)
        builder.set("x", write(x, wide), wide)
        add_other_side(rng, builder)
        args = {"c": 0, "l": layout.L - 1, "form": form}
        add_rotation(rng, builder, args, rotation, norm, wide,
                     x.shape[:-2] if explicit else None)
        if layout.G:
            args["quant"] = {"contract": "arbitrary", "floor": 0.0,
                             "floor_on": "scale", "apply": "inverse"}
        yield builder.case(f"rope_append_{name}", "rope_quantize_append", **args)
