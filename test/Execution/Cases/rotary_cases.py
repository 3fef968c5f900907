# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of the rotary embedding and of the RMS norm; they have no pool."""
import numpy as np

from case_builder import random_numbers, with_outputs
from case_folder import Case
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
