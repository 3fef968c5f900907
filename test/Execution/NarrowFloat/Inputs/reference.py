# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What conversions of narrow floats must give, from ml_dtypes and NumPy."""

import ml_dtypes
import numpy as np

NARROW = {
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "f8E8M0FNU": ml_dtypes.float8_e8m0fnu,
    "f4E2M1FN": ml_dtypes.float4_e2m1fn,
}
WIDE = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
}
LARGEST = {"f8E4M3FN": 448.0, "f8E5M2": 57344.0, "f4E2M1FN": 6.0}
NAN_CODE = {"f8E4M3FN": 0x7F, "f8E5M2": 0x7F, "f8E8M0FNU": 0xFF, "f4E2M1FN": 7}


def code_count(narrow):
    return 16 if narrow == "f4E2M1FN" else 256


def all_codes(narrow):
    return np.arange(code_count(narrow), dtype=np.uint8)


def decode(narrow, codes, wide="f64"):
    """The values of codes; exact but for f8E8M0FNU in f16."""
    values = codes.astype(np.uint8).view(NARROW[narrow]).astype(np.float32)
    with np.errstate(over="ignore"):
        return values.astype(WIDE[wide])


def encode(narrow, values, rounding=""):
    """Codes of values of any wide type, each rounded once: to nearest even, but
    magnitudes upward (or `toward_zero`) for f8E8M0FNU."""
    values = np.asarray(values)
    with np.errstate(invalid="ignore"):
        exact = values.astype(np.float64)
    is_nan = np.isnan(exact)
    magnitude = np.where(is_nan, 0.0, np.abs(exact))
    if narrow == "f8E8M0FNU":
        powers = decode(narrow, np.arange(255))
        if rounding == "toward_zero":
            codes = np.searchsorted(powers, magnitude, side="right") - 1
        else:
            codes = np.searchsorted(powers, magnitude, side="left")
        codes = np.clip(codes, 0, 254)
    else:
        magnitude = np.minimum(magnitude, LARGEST[narrow])
        positive = decode(narrow, np.arange(code_count(narrow) // 2))
        positive = positive[: np.searchsorted(positive, LARGEST[narrow]) + 1]
        midpoints = (positive[1:] + positive[:-1]) / 2
        codes = np.searchsorted(midpoints, magnitude, side="left")
        is_tie = midpoints[np.minimum(codes, len(midpoints) - 1)] == magnitude
        codes = codes + (is_tie & (codes % 2 == 1))
        if values.dtype != np.float64:
            # ml_dtypes goes through f32 from f64, so rounds twice.
            theirs = magnitude.astype(values.dtype).astype(NARROW[narrow])
            np.testing.assert_array_equal(codes, theirs.view(np.uint8))
        codes = codes + np.signbit(exact) * (code_count(narrow) // 2)
    return np.where(is_nan, NAN_CODE[narrow], codes).astype(np.uint8)


def inputs_to_encode(narrow, wide, seed=0):
    """Values of `wide` that try an encoder: all of a 16-bit type; of f32 and
    f64 the codes' values and midpoints with their neighbours, all bf16, the
    edges and random bits."""
    dtype = WIDE[wide]
    if wide in ("f16", "bf16"):
        return np.arange(1 << 16, dtype=np.uint16).view(dtype)
    rng = np.random.default_rng(seed)
    with np.errstate(invalid="ignore", over="ignore"):
        codes = decode(narrow, all_codes(narrow)).astype(np.float64)
        codes = np.unique(codes[np.isfinite(codes)])
        points = np.concatenate([codes, (codes[1:] + codes[:-1]) / 2]).astype(dtype)
        points = np.concatenate([points, -points])
        points = np.concatenate(
            [points] + [np.nextafter(points, dtype(way)) for way in (np.inf, -np.inf)]
        )
        tiny = np.finfo(dtype).smallest_subnormal
        large = LARGEST.get(narrow, 2.0**127)
        edges = [0.0, tiny, np.finfo(dtype).tiny, 2.0**-127, 2.0**-126, 465.0]
        edges += [large * f for f in (1.0, 1.01, 1.04, 1.07, 1.2, 1.5)]
        edges += [np.finfo(np.float32).max, np.finfo(dtype).max, np.inf, np.nan]
        edges = np.array(edges, dtype=np.float64).astype(dtype)
        bits = {"f32": np.uint32, "f64": np.uint64}[wide]
        nans = np.array([1, 0x7FFFF, 1 << 22], dtype=bits)
        nans = (nans | np.array([np.inf], dtype=dtype).view(bits)).view(dtype)
        bf16 = np.arange(1 << 16, dtype=np.uint16).view(ml_dtypes.bfloat16)
        log_uniform = np.exp2(rng.uniform(-20, 17, 40000)) * rng.choice([-1, 1], 40000)
        anything = rng.integers(0, np.iinfo(bits).max, 20000, dtype=bits).view(dtype)
        parts = [points, edges, -edges, nans, -nans]
        parts += [bf16.astype(dtype), log_uniform.astype(dtype), anything]
        if wide == "f64":
            # Just off an f32 midpoint: an encoder that goes through f32 rounds
            # these twice.
            near = np.concatenate([points * (1 + s * 2.0**-40) for s in (1, -1)])
            parts.append(near)
        return np.concatenate(parts)
