# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversions and scale rules of the reference, by NumPy and ml_dtypes.

`read` gives f32 numbers of stored codes, `write` the codes of f32 numbers:
rounded to nearest even and saturating in floats below 16 bits.
"""
import ml_dtypes
import numpy as np

_ML = {
    "bf16": ml_dtypes.bfloat16,
    "f16": np.float16,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "f8E8M0FNU": ml_dtypes.float8_e8m0fnu,
}
LARGEST = {"f8E4M3FN": 448.0, "f8E5M2": 57344.0, "f4E2M1FN": 6.0, "i8": 127.0}
_LARGEST_SCALE = {"f32": np.finfo(np.float32).max, "f16": np.float32(65504),
                  "bf16": np.float32(ml_dtypes.finfo(ml_dtypes.bfloat16).max),
                  "f8E4M3FN": np.float32(448), "f8E8M0FNU": np.float32(2.0**127)}


def read(codes, dtype):
    """f32 of codes; f4 pairs become twice as many along the last axis."""
    if dtype == "f32":
        return np.asarray(codes, np.float32)
    if dtype == "i8":
        return codes.view(np.int8).astype(np.float32)
    if dtype == "f4E2M1FN":
        nibbles = np.stack([codes & 15, codes >> 4], axis=-1)
        nibbles = nibbles.reshape(*codes.shape[:-1], -1)
        return nibbles.view(ml_dtypes.float4_e2m1fn).astype(np.float32)
    return codes.view(_ML[dtype]).astype(np.float32)


def write(numbers, dtype):
    numbers = np.asarray(numbers, np.float32)
    with np.errstate(all="ignore"):
        if dtype == "f32":
            return numbers
        if dtype == "i8":
            numbers = np.where(np.isnan(numbers), np.float32(0), numbers)
            return np.clip(np.rint(numbers), -128, 127).astype(np.int8).view(np.uint8)
        if dtype == "f4E2M1FN":
            numbers = np.where(np.isnan(numbers), np.float32(6), numbers)
            codes = np.clip(numbers, -6, 6).astype(ml_dtypes.float4_e2m1fn)
            codes = codes.view(np.uint8) & 15
            return codes[..., 0::2] | codes[..., 1::2] << 4
        if dtype == "f8E8M0FNU":
            return power_of_two_code(numbers)
        if dtype in LARGEST:
            codes = np.clip(numbers, -LARGEST[dtype], LARGEST[dtype])
            codes = codes.astype(_ML[dtype]).view(np.uint8)
            return np.where(np.isnan(numbers), np.uint8(0x7F), codes)
        return numbers.astype(_ML[dtype]).view(np.uint16)


def power_of_two_code(numbers):
    """f8E8M0 codes, rounded up; 0 gives the least, 2^-127."""
    mantissa, exponent = np.frexp(np.fmin(numbers, 2.0**127))
    exponent = exponent - (mantissa == 0.5)  # numbers <= 2^exponent
    codes = np.clip(exponent + 127, 0, 254)
    codes = np.where(numbers > 0, codes, 0)
    return np.where(np.isnan(numbers), 255, codes).astype(np.uint8)


def round_up_to_power_of_two(numbers):
    """f32; 0, infinity and NaN stay."""
    mantissa, exponent = np.frexp(numbers)
    with np.errstate(over="ignore"):
        up = np.ldexp(np.float32(1), exponent - (mantissa == 0.5))
    return np.where((numbers > 0) & np.isfinite(numbers), up, numbers)


def quantise(x, layout, rule):
    """Codes and stored scales of f32 `x` [..., coded], whose last axis is in
    granules of layout.g. `rule` is `args.quant` of a case."""
    # Infinity counts as the largest number; NaN where there is nothing else.
    size = np.minimum(np.abs(x), np.finfo(np.float32).max)
    granules = [size[..., first:first + layout.g]
                for first in range(0, layout.coded, layout.g)]
    amax = np.stack([np.fmax.reduce(part, axis=-1) for part in granules], axis=-1)
    floor = np.float32(rule["floor"])
    if floor and rule["floor_on"] == "amax":
        amax = np.fmax(amax, floor)
    scale = amax / np.float32(LARGEST[layout.dtype])
    with np.errstate(over="ignore"):
        scale = scale / np.float32(layout.global_scale)
    if floor and rule["floor_on"] == "scale":
        scale = np.fmax(scale, floor)
    largest = _LARGEST_SCALE[layout.scale_dtype]
    if rule["contract"] == "power_of_two":
        scale = round_up_to_power_of_two(scale)
        largest = np.ldexp(np.float32(1), np.frexp(largest)[1] - 1)
    scale = np.minimum(scale, largest)  # NaN stays.
    scales = write(scale, layout.scale_dtype)
    stored = read(scales, layout.scale_dtype) * np.float32(layout.global_scale)
    each = np.repeat(stored, layout.g, axis=-1)[..., :layout.coded]
    with np.errstate(all="ignore"):
        if rule["apply"] == "divide":
            numbers = np.where(each == 0, np.float32(0), x / each)
        else:
            # No inverse counts as 0, which keeps the sign of what it multiplies.
            inverse = np.float32(1) / each
            numbers = x * np.where(np.isinf(inverse), np.float32(0), inverse)
    return write(numbers, layout.dtype), scales
