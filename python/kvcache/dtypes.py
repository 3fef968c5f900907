# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Element types by the names that MLIR gives them."""

from __future__ import annotations

import functools

import ml_dtypes
import numpy as np

_NUMPY = {
    "f64": np.float64,
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "f8E8M0FNU": getattr(ml_dtypes, "float8_e8m0fnu", None),
    "i64": np.int64,
    "i32": np.int32,
    "i16": np.int16,
    "i8": np.int8,
    "ui64": np.uint64,
    "ui32": np.uint32,
    "ui16": np.uint16,
    "ui8": np.uint8,
    "index": np.int64,
}
_NAMES = {np.dtype(kind).name: name for name, kind in _NUMPY.items() if kind and name != "index"}
# As other libraries call them: torch.float8_e4m3fn, jax's dtypes.
_NAMES.update({
    "uint8": "ui8", "uint16": "ui16", "uint32": "ui32", "uint64": "ui64",
    "half": "f16", "float": "f32", "double": "f64", "int": "i32", "long": "i64",
    "bool": "i1",
})
BITS = {name: np.dtype(kind).itemsize * 8 for name, kind in _NUMPY.items() if kind}


def to_numpy(name: str) -> np.dtype:
    """The NumPy dtype (of ml_dtypes where NumPy has none) of an MLIR type."""
    kind = _NUMPY.get(name)
    if kind is None:
        raise ValueError(f"expected one of {', '.join(_NUMPY)}, got '{name}'")
    return np.dtype(kind)


@functools.lru_cache(maxsize=256)
def name_of(dtype) -> str:
    """MLIR's name of a dtype of NumPy, ml_dtypes, torch, jax, …; `ui8` and the
    like for unsigned integers, which MLIR's signless types take, too."""
    text = str(getattr(dtype, "name", dtype)).rsplit(".", 1)[-1]
    if text in _NAMES:
        return _NAMES[text]
    if text in _NUMPY:
        return text
    raise ValueError(f"expected a numeric dtype, got {dtype}")


def fits(given: str, wanted: str) -> bool:
    """Whether an array of `given` may be passed for elements of `wanted`: the same
    type, integers of either sign, or the bytes of an 8-bit float."""
    if given == wanted:
        return True
    bits = {"index": "64"}.get(wanted, wanted.lstrip("i"))
    if wanted == "index" or wanted.startswith("i"):
        return given in (f"i{bits}", f"ui{bits}")
    return wanted.startswith("f8") and given in ("i8", "ui8")
