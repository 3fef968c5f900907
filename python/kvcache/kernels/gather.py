# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Keys or values of sequences as a tensor."""

from __future__ import annotations

from ..checks import choice
from ..errors import ArgumentError
from ..layout import Layout
from .function import Function, policy_of
from .program import Program, check_tables, known, size


def gather(layout: Layout, *, side: str = "key", out: str = "f32", ragged: bool = False,
           sequences: bool = False, out_scales: bool = False, global_scale: bool = False,
           policy: str = "assume") -> Program:
    """Keys or values of sequences as one tensor of `out`, dequantised.

    Call: `k(pool, lengths=, table=, [scales_table=], layer=0, [sequences=],
    [offsets=], [rows=], [out=], [out_scales=], [global_scale=])`. Gives `out`, `[B,
    rows, H, D]` (`[rows, H, D]` with `ragged`); `rows` is the longest length (the last
    offset) unless said otherwise. With `out_scales` also the scales, `[…, H, G]` of f32.
    `lengths` is `[B]`, in tokens, `table` `[B, M]`, `sequences` `[S]`, whose number is
    then B of `out`, and `offsets` `[B + 1]`.

    Raises ValueError for options that are none or need another layout. The call raises
    ArgumentError for arrays of another dtype or shape, and for more tokens than the
    table has or pages that the pool lacks; LaunchError where `policy` is "trap" and
    something is out of range. Source: `kvcache.gather` of the dialect."""
    choice("side", side, ("key", "value"))
    if out_scales and not layout.scales:
        raise ValueError("expected a layout with scales for out_scales, got one without")
    f = Function("gather", layout)
    lead = [None] if ragged else [None, None]

    def shape(last):
        def of(given):
            batch = [] if ragged else [size(given, "sequences" if sequences else "lengths")]
            return (*batch, given["rows"], layout.heads, last)
        return of

    def rows(given):
        if ragged:
            offsets = known(given, "offsets", "rows")
            if offsets.ndim != 1 or not offsets.size:
                raise ArgumentError("'offsets': expected one more entry than sequences, got shape "
                                    f"{offsets.shape}")
            return offsets[-1]
        lengths = known(given, "lengths", "rows")
        if sequences:
            chosen = known(given, "sequences", "rows")
            if chosen.size and chosen.max() >= lengths.size:
                if policy == "assume":
                    raise ArgumentError(f"'sequences': expected 0 to {lengths.size - 1}, the "
                                        f"lengths, got {chosen.max()}")
                chosen = chosen[chosen < lengths.size]
            lengths = lengths[chosen]
        return lengths.max(initial=0)

    from ..dialects import kvcache as kv
    with f.building():
        (cache,) = f.caches(side)
        result = f.array("out", [*lead, layout.heads, layout.head_size], out,
                         shape=shape(layout.head_size), result=True)
        options = {}
        if sequences:
            options["sequences"] = f.array("sequences", [None], "i32")
        if ragged:
            options["offsets"] = f.array("offsets", [None], "i32")
        if out_scales:
            options["scales"] = f.array("out_scales", [*lead, layout.heads, layout.scale_slots],
                                        "f32", shape=shape(layout.scale_slots), result=True)
        if global_scale:
            options["global_scale"] = f.array("global_scale", [], "f32")
        kv.gather(cache, result, policy=policy_of(policy), **options)
    return f.program(sizes={"rows": rows}, check=check_tables(
        layout, policy, looks_up=None if sequences else "all"))
