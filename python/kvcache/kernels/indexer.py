# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The indexer of sparse attention: scores, the best of them, and where these lie."""

from __future__ import annotations

from typing import Optional

from ..checks import choice, count
from ..layout import Layout
from .function import Function, policy_of
from .program import Program, check_tables, longest, size


def _indexer(f: Function, layout: Layout, query_heads: int, global_scale: bool):
    count("query_heads", query_heads)
    queries = f.array("queries", [None, query_heads, layout.head_size], "f8E4M3FN")
    weights = f.array("weights", [None, query_heads], "f32")
    (keys,) = f.caches("key")
    offsets = f.array("offsets", [None], "i32")
    number = f.array("global_scale", [], "f32") if global_scale else None
    return queries, weights, keys, offsets, number


def _scores(f: Function):
    return f.array("scores", [None, None], "f32", result=True,
                   shape=lambda given: (size(given, "queries"), given["columns"]))


def _columns(given):
    return longest(given, "columns")


def indexer_scores(layout: Layout, *, query_heads: int, causal: bool = True,
                   global_scale: bool = False, policy: str = "assume") -> Program:
    """Scores of all keys for the queries of new tokens, which are in the cache already.

    Call: `k(pool, lengths=, table=, [scales_table=], layer=0, queries=, weights=,
    offsets=, [columns=], [scores=], [global_scale=])` with queries `[T, query_heads, D]`
    of f8E4M3FN, weights `[T, query_heads]` of f32. Gives `scores` `[T, columns]`; `columns` is the greatest
    number of keys of a sequence unless said otherwise.

    Raises ValueError for options that are none and layouts that it does not take. The call
    raises ArgumentError for arrays of another dtype or shape, offsets that descend and
    more tokens than the table has or pages that the pool lacks; LaunchError where
    `policy` is "trap" and a page does not exist. Source: `kvcache.indexer_scores` of
    the dialect."""
    from ..dialects import kvcache as kv

    f = Function("indexer_scores", layout)
    with f.building():
        queries, weights, keys, offsets, number = _indexer(f, layout, query_heads,
                                                           global_scale)
        kv.indexer_scores(queries, weights, keys, offsets, _scores(f), causal=causal,
                          global_scale=number, policy=policy_of(policy))
    return f.program(sizes={"columns": _columns},
                     new="offsets",
                     check=check_tables(layout, policy, "offsets", ["queries"],
                                        looks_up="all"))


def indexer_topk(layout: Layout, *, query_heads: int, k: int, causal: bool = True,
                 values: bool = False, scores: bool = False, parts: Optional[int] = None,
                 global_scale: bool = False, policy: str = "assume") -> Program:
    """The `k` best keys for the queries of new tokens. `parts` is how many blocks share
    the keys of a row.

    Call: as that of `indexer_scores`, with `[indices=]`, `[values=]`, `[scores=]`,
    `[scratch=]` `[T, parts, 2 k]`, `[global_scale=]`. Gives `indices` `[T, k]`, with
    `values` also their scores, `[T, k]`, with `scores` also all scores, `[T, columns]`.

    Raises as `indexer_scores` does, as does the call. Source: `kvcache.indexer_topk` of
    the dialect."""
    from ..dialects import kvcache as kv

    f = Function("indexer_topk", layout)
    count("k", k)
    options = {}

    def best(given):
        return (size(given, "queries"), k)

    with f.building():
        queries, weights, keys, offsets, number = _indexer(f, layout, query_heads,
                                                           global_scale)
        indices = f.array("indices", [None, k], "i32", shape=best, result=True)
        if values:
            options["values"] = f.array("values", [None, k], "f32", shape=best, result=True)
        if scores:
            options["scores"] = _scores(f)
        if parts is not None:
            count("parts", parts)
            options["workspace"] = f.array(
                "scratch", [None, None, 2 * k], "i32",
                shape=lambda given: (size(given, "queries"), parts, 2 * k))
        kv.indexer_topk(queries, weights, keys, offsets, indices, causal=causal,
                        global_scale=number, policy=policy_of(policy), **options)
    return f.program(sizes={"columns": _columns} if scores else {},
                     new="offsets",
                     check=check_tables(layout, policy, "offsets", ["queries"],
                                        looks_up="all"))


def topk(*, k: int, values: bool = False) -> Program:
    """The `k` best of each row of scores.

    Call: `kernel(scores=, live=, [indices=], [values=])` with scores `[T, N]` of f32 and
    `live` `[T]`, how many of a row count. Gives `indices` `[T, k]`, with `values` also
    the scores, `[T, k]`.

    Raises ValueError for a `k` that is no positive integer; the call ArgumentError for
    arrays of another dtype or shape. Source: `kvcache.topk` of the dialect."""
    from ..dialects import kvcache as kv

    f = Function("topk")
    count("k", k)

    def best(given):
        return (size(given, "scores"), k)

    with f.building():
        scores = f.array("scores", [None, None], "f32")
        live = f.array("live", [None], "i32")
        indices = f.array("indices", [None, k], "i32", shape=best, result=True)
        kept = f.array("values", [None, k], "f32", shape=best, result=True) if values else None
        kv.topk(scores, live, indices, values=kept)
    return f.program()


def remap_indices(layout: Layout, *, k: int, slots: str = "i64", ragged: bool = False,
                  scale_slots: bool = False, policy: str = "assume") -> Program:
    """Slots of the pool, of type `slots`, from tokens of sequences.

    Call: `kernel(pool, lengths=, table=, [scales_table=], indices=, [offsets=],
    [slots=], [scale_slots=])` with indices `[B, k]`, with `ragged` `[T, k]`. Gives
    `slots`, with `scale_slots` also those of the scales' pool, both like the indices; a
    slot is block times page size plus place in the page.

    Raises ValueError for options that are none or need another layout. The call raises
    ArgumentError for arrays of another dtype or shape; LaunchError where `policy` is
    "trap" and a page does not exist. Source: `kvcache.remap_indices` of the dialect."""
    from ..dialects import kvcache as kv

    choice("slots", slots, ("i32", "i64"))
    count("k", k)
    f = Function("remap_indices", layout)
    options = {}

    def like(given):
        return (size(given, "indices"), k)

    with f.building():
        (keys,) = f.caches("key")
        indices = f.array("indices", [None, k], "i32")
        if ragged:
            options["offsets"] = f.array("offsets", [None], "i32")
        found = f.array("slots", [None, k], slots, shape=like, result=True)
        if scale_slots:
            options["scale_slots"] = f.array("scale_slots", [None, k], slots, shape=like,
                                             result=True)
        kv.remap_indices(indices, keys, found, policy=policy_of(policy), **options)
    new = "offsets" if ragged else None
    return f.program(new=new, check=check_tables(layout, policy, new, ["indices"]))
