# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole pages, or tokens, of all sides and layers."""

from __future__ import annotations

from typing import Optional, Sequence

from ..checks import count
from ..layout import Layout
from .function import Function, policy_of
from .program import Program, check_tables, size


def _chosen(layers: Optional[Sequence[int]]) -> Optional[list[int]]:
    if layers is None:
        return None
    if not isinstance(layers, Sequence) or isinstance(layers, str):
        raise ValueError(f"expected layers to be a list of integers, got {layers!r}")
    return [count("a layer", layer, 0) for layer in layers]


def _lists(f: Function, name: str, tail: Sequence[int] = ()) -> list:
    """A list of numbers, and one of the scales' where they have block ids of their own."""
    names = [name, f"scales_{name}"] if f.own_scales_table else [name]
    return [f.array(one, [None, *tail], "i64") for one in names]


def _scratch(f: Function, name: str, disjoint: bool) -> dict:
    """What orders copies: four `i32` for each pair of the longer list `name`."""
    if disjoint:
        return {"disjoint": True}
    names = [name, f"scales_{name}"] if f.own_scales_table else [name]
    return {"workspace": f.array("scratch", [None], "i32", shape=lambda given: (
        max(1, 4 * max(size(given, one) for one in names)),))}


def copy_pages(layout: Layout, *, disjoint: bool = False,
               layers: Optional[Sequence[int]] = None, policy: str = "assume") -> Program:
    """Pages to pages of the same pools, all at once, in all layers or in `layers`.

    Call: `k(pool, pairs=[(from, to), …], [scales_pairs=], [scratch=])`; pairs are
    `[N, 2]` block ids, `scratch` is four `i32` a pair. With `disjoint`, a promise, it is
    not needed. Nothing is given back.

    Raises ValueError for layers that are none. The call raises ArgumentError for arrays
    of another dtype or shape; LaunchError where `policy` is "trap" and a block does not
    exist. Source: `kvcache.copy_pages` of the dialect."""
    from ..dialects import kvcache as kv

    f = Function("copy_pages", layout)
    with f.building():
        kv.copy_pages(f.page_pools(), _lists(f, "pairs", [2]), layers=_chosen(layers),
                      policy=policy_of(policy), **_scratch(f, "pairs", disjoint))
    return f.program(layers=layers)


def move_tokens(layout: Layout, *, disjoint: bool = False,
                layers: Optional[Sequence[int]] = None, policy: str = "assume") -> Program:
    """Tokens from slots to slots of the same pools, all at once; a slot is block times
    page size plus place in the page.

    Call: `k(pool, sources=[…], destinations=[…], [scales_sources=,
    scales_destinations=], [scratch=])`; sources and destinations are `[N]`, `scratch` as
    that of `copy_pages`. Nothing is given back.

    Raises as `copy_pages` does, as does the call. Source: `kvcache.move_tokens` of the
    dialect."""
    from ..dialects import kvcache as kv

    f = Function("move_tokens", layout)
    with f.building():
        kv.move_tokens(f.page_pools(), _lists(f, "sources"), _lists(f, "destinations"),
                       layers=_chosen(layers), policy=policy_of(policy),
                       **_scratch(f, "sources", disjoint))
    return f.program(layers=layers)


def clear_pages(layout: Layout, *, layers: Optional[Sequence[int]] = None,
                policy: str = "assume") -> Program:
    """Zeros into pages, in all layers or in `layers`.

    Call: `k(pool, pages=[…], [scales_pages=])`; pages are `[N]` block ids. Nothing is
    given back.

    Raises as `copy_pages` does, as does the call. Source: `kvcache.clear_pages` of the
    dialect."""
    from ..dialects import kvcache as kv

    f = Function("clear_pages", layout)
    with f.building():
        kv.clear_pages(f.page_pools(), _lists(f, "pages"), layers=_chosen(layers),
                       policy=policy_of(policy))
    return f.program(layers=layers)


def compact(layout: Layout, *, policy: str = "assume") -> Program:
    """Live pages to the front of the pools.

    Call: `k(pool, lengths=, table=, [scales_table=], [new_table=], [new_scales_table=],
    [scratch=])`; `scratch` is 6 `i32` for each block of the larger pool, and 64 more.
    Gives the new table, like the old one, `[B, M]`, and that of scales where they have
    one.

    Raises ValueError for a policy that is none. The call raises ArgumentError for arrays of
    another dtype or shape, and for more tokens than the table has or pages that the
    pool lacks; LaunchError where `policy` is "trap" and a page does not exist.
    Source: `kvcache.compact` of the dialect."""
    from ..dialects import kvcache as kv

    f = Function("compact", layout)

    def scratch(given):
        pools = [name for name in ("blocks", "scales") if name in given]
        return (6 * max(size(given, name) for name in pools) + 64,)

    with f.building():
        collection = f.collection()
        names = ["table", "scales_table"] if f.own_scales_table else ["table"]
        tables = [f.array(f"new_{name}", [None, None], "i32", result=True,
                          shape=lambda given, name=name: (size(given, name), size(given, name, 1)))
                  for name in names]
        kv.compact(collection, tables, f.array("scratch", [None], "i32", shape=scratch),
                   policy=policy_of(policy))
    return f.program(check=check_tables(layout, policy, looks_up="all"))


def convert_layout(layout: Layout, *, target: Layout, layers: Optional[Sequence[int]] = None,
                   policy: str = "assume") -> Program:
    """Pages into the blocks of the same numbers of a pool of another layout, `target`.

    Call: `k(pool, target=)` with that pool; its `blocks` are `[NB, sides, L, …]` of as
    many pages and layers as those of `pool`. Nothing is given back.

    Raises ValueError for a target that is no layout of the same elements. The call raises
    ArgumentError for a pool of another layout and, unless `policy` is "skip", for a
    target of fewer pages. Source: `kvcache.convert_layout` of the dialect."""
    from ..dialects import kvcache as kv

    if not isinstance(target, Layout):
        raise ValueError(f"expected target to be a layout, got {target!r}")
    f = Function("convert_layout", layout)
    with f.building():
        kv.convert_layout(f.page_pools(), f.page_pools(target, "target_"), layers=_chosen(layers),
                          policy=policy_of(policy))
    return f.program(target=target, layers=layers)
