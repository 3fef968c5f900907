# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention to a layer of a cache."""

from __future__ import annotations

from typing import Optional

from ..checks import choice, count, number
from ..layout import Layout
from .function import Function, policy_of
from .program import Program, check_tables, size


def _queries(f: Function, layout: Layout, query_heads: int, queries: Optional[str]):
    """Argument `queries`, and its dtype."""
    count("query_heads", query_heads)
    dtype = queries or (layout.dtype if layout.dtype in ("bf16", "f16") else "bf16")
    return f.array("queries", [None, query_heads, layout.head_size], dtype), dtype


def _outputs(f: Function, query_heads: int, value_size: int, out: str, lse: bool,
             parts: Optional[int]):
    """Arguments `out` and, where they are asked for, `lse` and `workspace`."""
    options = {}
    result = f.array("out", [None, query_heads, value_size], out, result=True,
                     shape=lambda given: (size(given, "queries"), query_heads, value_size))
    if lse:
        options["lse"] = f.array("lse", [None, query_heads], "f32", result=True,
                                 shape=lambda given: (size(given, "queries"), query_heads))
    if parts is not None:
        one = query_heads * (value_size + 2) * count("parts", parts)
        options["workspace"] = f.array("scratch", [None], "f32",
                                       shape=lambda given: (one * size(given, "queries"),))
    return result, options


def _number(f: Function, kind: str, name: str, value):
    from .. import ir

    if value is None:
        return None
    return ir.FloatAttr.get(f.type(kind), number(name, value)) if kind == "f32" else \
        ir.IntegerAttr.get(f.type(kind), count(name, value))


def paged_attention(layout: Layout, *, query_heads: int, queries: Optional[str] = None,
                    out: Optional[str] = None, scale: Optional[float] = None,
                    softcap: Optional[float] = None, window: Optional[int] = None,
                    sinks: bool = False, lse: bool = False, parts: Optional[int] = None,
                    global_scale: bool = False, policy: str = "assume") -> Program:
    """Attention of new tokens, which are in the cache already, to all tokens.

    `queries` is the queries' dtype (by default the cache's, bf16 for a quantised one),
    `out` that of the result (by default the queries'). `parts` is how many blocks may
    share the keys of a row. Raises ArgumentError at a call whose tables have fewer
    positions than `window`.

    Call: `k(pool, lengths=, table=, [scales_table=], layer=0, queries=, offsets=,
    [sinks=], [out=], [lse=], [scratch=], [global_scale=])` with queries
    `[T, query_heads, D]`, of which `offsets` `[B + 1]` says whose they are, and lengths
    `[B]`, in tokens, without the new ones. Gives `out`, like the queries, with `lse` also the
    natural logarithm of the sum of exponentials, `[T, query_heads]` of f32. `scratch` is
    `query_heads * (D + 2) * parts` f32 a query.

    Raises ValueError for options that are none and layouts that it does not take. The call
    raises ArgumentError for arrays of another dtype or shape, offsets that descend and
    more tokens than the table has or pages that the pool lacks; LaunchError where
    `policy` is "trap" and a page does not exist. Source: `kvcache.paged_attention` of
    the dialect."""
    from ..dialects import kvcache as kv

    f = Function("paged_attention", layout)
    with f.building():
        q, dtype = _queries(f, layout, query_heads, queries)
        keys, values = f.caches("key", "value")
        offsets = f.array("offsets", [None], "i32")
        result, options = _outputs(f, query_heads, layout.head_size, out or dtype, lse, parts)
        if sinks:
            options["sinks"] = f.array("sinks", [query_heads], "f32")
        if global_scale:
            options["global_scale"] = f.array("global_scale", [], "f32")
        kv.paged_attention(q, keys, values, result, offsets, policy=policy_of(policy),
                           scale=_number(f, "f32", "scale", scale),
                           softcap=_number(f, "f32", "softcap", softcap),
                           window=_number(f, "i64", "window", window), **options)
    return f.program(new="offsets", check=check_tables(layout, policy, "offsets", ["queries"],
                                                       window, None if window else "all"))


def mla_decode(layout: Layout, *, query_heads: int, value_size: int,
               queries: Optional[str] = None, out: Optional[str] = None,
               scale: Optional[float] = None, slots: Optional[str] = None,
               q_scales: bool = False, lse: bool = False, parts: Optional[int] = None,
               global_scale: bool = False, policy: str = "assume") -> Program:
    """Attention to a cache of latents, whose values are the first `value_size` elements
    of the keys. `slots` ("i32" or "i64") is the type of a list of keys for each row.

    Call: `k(pool, lengths=, table=, [scales_table=], layer=0, queries=, offsets=,
    [slots=, [scale_slots=]], [q_scales=], [out=], [lse=], [scratch=],
    [global_scale=])` with queries `[T, query_heads, D]`, slots `[T, K]`, `q_scales`
    `[T, query_heads]`. Gives `out`
    `[T, query_heads, value_size]`, with `lse` also that, `[T, query_heads]` of f32.
    `scratch` is `query_heads * (value_size + 2) * parts` f32 a query.

    Raises as `paged_attention` does, as does the call. Source: `kvcache.mla_decode` of
    the dialect."""
    from ..dialects import kvcache as kv

    f = Function("mla_decode", layout)
    with f.building():
        q, dtype = _queries(f, layout, query_heads, queries)
        (keys,) = f.caches("key")
        offsets = f.array("offsets", [None], "i32")
        result, options = _outputs(f, query_heads, count("value_size", value_size), out or dtype,
                                   lse, parts)
        lists = []
        if slots is not None:
            choice("slots", slots, ("i32", "i64"))
            names = ["slots", "scale_slots"] if f.own_scales_table else ["slots"]
            lists = [f.array(name, [None, None], slots) for name in names]
        if q_scales:
            options["q_scales"] = f.array("q_scales", [None, query_heads], "f32")
        if global_scale:
            options["global_scale"] = f.array("global_scale", [], "f32")
        kv.mla_decode(q, keys, result, offsets, lists, policy=policy_of(policy),
                      scale=_number(f, "f32", "scale", scale), **options)
    # Where slots are given, pages are not looked up.
    return f.program(new="offsets", check=check_tables(layout, "skip" if slots else policy,
                                                       "offsets", ["queries"], looks_up="all"))
