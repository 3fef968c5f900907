# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks of what people pass: numbers of calls (`integer`, `real`), which may be
Python's, NumPy's, or arrays without dimensions, and options (`count`, `number`,
`choice`, `member`)."""

from __future__ import annotations

import enum
import operator
from typing import Any, Iterable, Optional, TypeVar

import numpy as np

from .errors import ArgumentError

_Member = TypeVar("_Member", bound=enum.IntEnum)


# Arguments of calls ---------------------------------------------------------------


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
    """An integer from `least` to `most`; numbers like 2.0 count, a text or a truth value
    does not. Raises ArgumentError."""
    if _is_none(value):
        _refuse(name, value, "an integer")
    try:
        number = operator.index(value)
    except TypeError:
        try:
            number = int(value)
            is_whole = bool(number == value)
        except (TypeError, ValueError, OverflowError):
            _refuse(name, value, "an integer")
        if not is_whole:
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


# Options --------------------------------------------------------------------------


def count(name: str, value: Any, least: Optional[int] = 1) -> int:
    """An integer of 64 bits, of at least `least`, or ValueError."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or \
            (least is not None and value < least):
        bound = "" if least is None else f" of at least {least}"
        raise ValueError(f"expected {name} to be an integer{bound}, got {value!r}")
    if not -2**63 <= value < 2**63:
        raise ValueError(f"expected {name} to be an integer of 64 bits, got {value}")
    return int(value)


def number(name: str, value: Any) -> float:
    """A real number, or ValueError with the option's name."""
    try:
        return real(name, value)
    except ArgumentError:
        raise ValueError(f"expected {name} to be a number, got {value!r}") from None


def choice(name: str, value: Any, known: Iterable[str]) -> str:
    """One of the texts that are known, or ValueError."""
    known = tuple(known)
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"expected {name} to be one of {', '.join(known)}, got {value!r}")
    return value


def member(name: str, kind: type[_Member], value: Any) -> _Member:
    """The member of an enumeration that a member, its number or its name says, or
    ValueError."""
    known = {str(one): one for one in kind}
    if isinstance(value, str):
        found = known.get(value)
    elif isinstance(value, (bool, enum.Enum)) or not isinstance(value, (int, np.integer)):
        found = value if isinstance(value, kind) else None
    else:
        found = next((one for one in kind if one == value), None)
    if found is None:
        shown = ", ".join([f"{text} ({int(one)})" for text, one in known.items()]
                          if isinstance(value, int) else known)
        raise ValueError(f"expected {name} to be one of {shown}, got {value!r}")
    return found
