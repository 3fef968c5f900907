# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers that people pass: Python's, NumPy's, and arrays without dimensions. A text
or a truth value is none."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from .errors import ArgumentError


def _refuse(name: str, value: Any, wanted: str):
    shown = repr(value) if isinstance(value, (str, bytes, bool, np.generic, int, float)) else \
        type(value).__name__
    raise ArgumentError(f"'{name}': expected {wanted}, got {shown:.80}") from None


def _is_none(value: Any) -> bool:
    dtype = getattr(value, "dtype", None)
    return isinstance(value, (str, bytes, bytearray, bool)) or (
        dtype is not None and str(dtype).rsplit(".", 1)[-1] == "bool") or bool(
            getattr(value, "shape", ()))


def integer(name: str, value: Any, least: int = -2**63, most: int = 2**64 - 1) -> int:
    """An integer from `least` to `most`; numbers like 2.0 count. Raises ArgumentError."""
    if _is_none(value):
        _refuse(name, value, "an integer")
    try:
        number = operator.index(value)
    except TypeError:
        try:
            real_ = float(value)
            number = int(real_)
        except (TypeError, ValueError, OverflowError):
            _refuse(name, value, "an integer")
        if number != real_:
            _refuse(name, value, "an integer")
    if not least <= number <= most:
        raise ArgumentError(f"'{name}': expected an integer from {least} to {most}, got {number}")
    return number


def real(name: str, value: Any) -> float:
    """A real number. Raises ArgumentError."""
    if _is_none(value):
        _refuse(name, value, "a number")
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return _refuse(name, value, "a number")
