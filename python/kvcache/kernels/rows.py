# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels on rows of heads, without a cache."""

from __future__ import annotations

from typing import Optional

from ..checks import count
from .function import Function, norm, policy_of, rotation
from .program import Program, size


def _rows(f: Function, heads: int, head_size: int, dtype: str, out: Optional[str]):
    shape = [None, count("heads", heads), count("head_size", head_size)]
    return (f.array("x", shape, dtype),
            f.array("out", shape, out or dtype, result=True,
                    shape=lambda given: (size(given, "x"), heads, head_size)))


def rope(*, heads: int, head_size: int, dtype: str = "bf16", out: Optional[str] = None,
         columns: Optional[int] = None, start: int = 0, style: str = "interleaved",
         tables: str = "f32", policy: str = "assume") -> Program:
    """Rotary embedding of rows `[T, heads, head_size]`.

    Call: `k(x=, positions=, cos=, sin=, [out=])` with tables `[N, columns]`, by
    default of half a head, and positions `[T]`. Gives `out`, like `x`.

    Raises ValueError for options that are none; the call ArgumentError for arrays of
    another dtype or shape, and LaunchError where `policy` is "trap" and a position is
    past the tables. Source: `kvcache.rope` of the dialect."""
    from ..dialects import kvcache as kv

    columns = count("head_size", head_size) // 2 if columns is None else columns
    f = Function("rope")
    with f.building():
        x, result = _rows(f, heads, head_size, dtype, out)
        positions = f.array("positions", [None], "i32")
        cos, sin = (f.array(name, [None, columns], tables) for name in ("cos", "sin"))
        kv.rope(x, result, positions, cos, sin,
                rotation(style, start),
                policy=policy_of(policy))
    return f.program()


def rms_norm(*, heads: int, head_size: int, dtype: str = "bf16", out: Optional[str] = None,
             norm_size: Optional[int] = None, eps: float = 1e-6, weight_offset: float = 0.0,
             weights: str = "f32") -> Program:
    """RMS norm of the first `norm_size` elements (all by default) of each head of rows
    `[T, heads, head_size]`.

    Call: `k(x=, weight=, [out=])` with weight `[norm_size]`. Gives `out`, like `x`.

    Raises ValueError for options that are none; the call ArgumentError for arrays of
    another dtype or shape. Source: `kvcache.rms_norm` of the dialect."""
    from ..dialects import kvcache as kv

    f = Function("rms_norm")
    with f.building():
        x, result = _rows(f, heads, head_size, dtype, out)
        weight = f.array("weight", [head_size if norm_size is None else
                                    count("norm_size", norm_size)], weights)
        kv.rms_norm(x, result, weight,
                    norm(eps, weight_offset))
    return f.program()
