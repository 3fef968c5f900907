# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Element types of caches and scales: their bits and values, by NumPy alone."""
import dataclasses
from typing import Callable

import numpy as np


def _small_float(exponent_bits, mantissa_bits, bias, has_infinity):
    """The values (f64) of all codes of an 8-bit float with a sign."""
    codes = np.arange(256)
    sign = np.where(codes >> 7, -1.0, 1.0)
    exponent = (codes >> mantissa_bits) & ((1 << exponent_bits) - 1)
    mantissa = (codes & ((1 << mantissa_bits) - 1)) / (1 << mantissa_bits)
    values = np.where(
        exponent == 0,
        mantissa * 2.0 ** (1 - bias),
        (1 + mantissa) * 2.0 ** (exponent - float(bias)),
    )
    top = (1 << exponent_bits) - 1
    if has_infinity:
        values[(exponent == top) & (mantissa == 0)] = np.inf
        values[(exponent == top) & (mantissa != 0)] = np.nan
    else:
        values[(codes & 0x7F) == 0x7F] = np.nan
    return sign * values


def _nearest_code(values, table):
    """Codes of `values` in an 8-bit float: nearest, ties to even, saturating."""
    positive = table[:128][np.isfinite(table[:128])]
    size = np.abs(np.asarray(values, np.float64))
    upper = np.clip(np.searchsorted(positive, size), 0, len(positive) - 1)
    lower = np.maximum(upper - 1, 0)
    to_upper = np.abs(positive[upper] - size)
    to_lower = np.abs(size - positive[lower])
    go_down = (to_lower < to_upper) | ((to_lower == to_upper) & (lower % 2 == 0))
    codes = np.where(go_down, lower, upper)
    codes = np.where(np.isnan(values), 127, codes)
    return (codes | np.where(np.signbit(values), 128, 0)).astype(np.uint8)


def _encode_bf16(values):
    with np.errstate(over="ignore"):
        bits = np.asarray(values, np.float32).view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(values), 0x7FC0, rounded).astype(np.uint16)


def _decode_bf16(codes):
    return (codes.astype(np.uint32) << 16).view(np.float32)


_E8M0 = np.append(2.0 ** (np.arange(255) - 127.0), np.nan)


def _encode_e8m0(values):
    """Up to the next power of two."""
    values = np.asarray(values, np.float64)
    codes = np.minimum(np.searchsorted(_E8M0[:255], values), 254)
    return np.where(np.isnan(values), 255, codes).astype(np.uint8)


_E4M3 = _small_float(4, 3, 7, False)
_E5M2 = _small_float(5, 2, 15, True)


@dataclasses.dataclass(frozen=True)
class DType:
    """An element type: what MLIR calls it, how a .npy file holds it, and its
    codes' values (f32)."""

    mlir: str
    storage: type
    encode: Callable[[np.ndarray], np.ndarray]
    decode: Callable[[np.ndarray], np.ndarray]

    @property
    def bytes(self):
        return np.dtype(self.storage).itemsize

    def round(self, values):
        """`values` as this type holds them, as f32."""
        return self.decode(self.encode(values))


def _table_dtype(mlir, encode, table):
    with np.errstate(over="ignore"):
        table32 = table.astype(np.float32)
    return DType(mlir, np.uint8, encode, lambda codes: table32[codes])


def _float32(values):
    with np.errstate(over="ignore"):
        return np.asarray(values, np.float32)


def _float16(values):
    with np.errstate(over="ignore"):
        return np.asarray(values, np.float16)


VALUE_DTYPES = {
    "float32": DType("f32", np.float32, _float32, _float32),
    "float16": DType("f16", np.float16, _float16, _float32),
    "bfloat16": DType("bf16", np.uint16, _encode_bf16, _decode_bf16),
    "float8_e4m3fn": _table_dtype(
        "f8E4M3FN", lambda x: _nearest_code(x, _E4M3), _E4M3),
    "float8_e5m2": _table_dtype(
        "f8E5M2", lambda x: _nearest_code(x, _E5M2), _E5M2),
    "int8": DType(
        "i8", np.int8,
        lambda x: np.clip(np.rint(x), -128, 127).astype(np.int8), _float32),
}

SCALE_DTYPES = {
    name: VALUE_DTYPES[name]
    for name in ("float32", "float16", "bfloat16", "float8_e4m3fn")
} | {"float8_e8m0fnu": _table_dtype("f8E8M0FNU", _encode_e8m0, _E8M0)}
