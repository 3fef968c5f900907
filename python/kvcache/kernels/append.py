# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows into a layer of a cache."""

from __future__ import annotations

from typing import Optional

import numpy as np

from .. import arrays
from ..checks import choice, count, member, number
from ..errors import ArgumentError
from ..layout import Layout
from .function import Function, norm, policy_of, rotation, sides_of
from .program import Given, Program, check_tables, size

_FORMS = {"ragged": ["offsets"], "padded": ["new_lengths"],
          "positions": ["sequences", "positions"], "slots": ["slots"]}


class _Append:
    """What all kernels that append have in common: caches, and where rows go."""

    def __init__(self, name: str, layout: Layout, side: str, form: str, policy: str,
                 scale_slots: bool):
        from ..dialects import kvcache as kv

        choice("form", form, _FORMS)
        self.layout, self.form, self.policy = layout, form, policy
        self.function = Function(name, layout)
        self.sides = sides_of(layout, side)
        self.sources: list[str] = []
        self.repeated = self.turns = False
        self.writes_values = True
        self.lead = [None, None] if form == "padded" else [None]
        with self.function.building():
            self.caches = self.function.caches(*self.sides)
            names = list(_FORMS[form])
            if form == "slots" and scale_slots and self.function.own_scales_table:
                names.append("scale_slots")
            integer = "i64" if form == "slots" else "i32"
            self.rows = [self.function.array(name, [None], integer) for name in names]
        self.row_form, self.row_policy = kv.RowForm[form], policy_of(policy)

    def arrays(self, suffix: str, last: int, dtype: str) -> list:
        """An array `[…, H, last]` for each side."""
        shape = [*self.lead, self.layout.heads, last]
        names = [f"{side}_{suffix}" for side in self.sides]
        self.sources += names
        return [self.function.array(name, shape, dtype) for name in names]

    def global_scale(self, given: bool):
        return self.function.array("global_scale", [], "f32") if given else None

    def last_rows(self, repeated: bool, values: bool = True, scales: bool = True) -> dict:
        """Where the last of the rows for each slot are found, if they may be repeated:
        an `i32` a slot of the pools that are written."""
        self.repeated, self.writes_values = repeated, values
        if not repeated:
            return {}
        pools = ["blocks"] if values else []
        if scales and self.function.own_scales_table:
            pools.append("scales")
        return {"workspace": self.function.array("scratch", [None], "i32", shape=lambda given: (
            max(1, self.layout.page_size * sum(size(given, pool) for pool in pools or ["blocks"])),
        ))}

    def program(self) -> Program:
        new = {"ragged": "offsets", "padded": "new_lengths"}.get(self.form)
        check = check_tables(self.layout, self.policy, new, self.sources,
                             looks_up="new") if new else None
        # `skip` leaves out rows for their rotary positions, too.
        if not new and not self.repeated and not (self.policy == "skip" and self.turns):
            check = self._check_places
        return self.function.program(new=new, check=check)

    def _check_places(self, given: Given) -> None:
        """No two rows go to one slot, where the lists that say so are in host memory."""
        lists = [["sequences", "positions"]]
        if self.form == "slots":
            lists = [["slots"], ["scale_slots"]]
        for names in lists:
            views = [given.get(name) for name in names]
            if any(view is None or view.device != "cpu" or len(view.shape) != 1
                   or view.shape != views[0].shape for view in views):
                continue  # Refused later, where they do not fit.
            places = np.stack([arrays.as_numpy(view, name).astype(np.int64)
                               for view, name in zip(views, names)], axis=-1)
            if self.sources[0] in given:
                places = places[:size(given, self.sources[0])]
            # Others are left out, or refused by the kernel.
            of_scales = names[0] == "scale_slots" or not self.writes_values
            bounds = [size(given, "scales" if of_scales and "scales" in given else "blocks")
                      * self.layout.page_size]
            if self.form == "positions":
                if "table" not in given or len(given["table"].shape) != 2:
                    continue
                bounds = [size(given, "table"), size(given, "table", 1) * self.layout.page_size]
            rows = np.flatnonzero(((places >= 0) & (places < bounds)).all(axis=-1))
            _, first, which = np.unique(places[rows], axis=0, return_index=True,
                                        return_inverse=True)
            earlier = rows[first[which.reshape(-1)]]
            if (earlier != rows).any():
                second = int(np.argmax(earlier != rows))
                raise ArgumentError(
                    f"'{names[-1]}': expected a slot for each row, got "
                    f"{places[rows[second]].tolist()} for rows {earlier[second]} and "
                    f"{rows[second]}; compile with repeated=True to let the last one stand")


def append(layout: Layout, *, side: str = "both", form: str = "ragged",
           rows: Optional[str] = None, scales: bool = False, repeated: bool = False,
           policy: str = "assume") -> Program:
    """Rows that are ready to be stored, into a layer of keys, values or both. `rows` is
    the rows' dtype, by default the cache's. Of several rows for one slot the last one
    stands where `repeated` allows them; else there are none, a promise, which is checked
    where slots or positions lie in host memory.

    Call: `k(pool, lengths=, table=, [scales_table=], layer=0, key_rows=, value_rows=,
    [key_scales=, value_scales=], offsets= | new_lengths= | sequences=, positions= |
    slots=, [scale_slots=], [scratch=])`. Rows are `[T, H, D]`, `[B, S, H, D]` in the padded form,
    scales `[…, H, G]`; `lengths` `[B]` are those before, in tokens, `table` `[B, M]` has
    block ids, `offsets` is `[B + 1]`, `new_lengths` `[B]`, `sequences`, `positions` and
    `slots` (block times page size plus place in the page) `[T]`; `scratch`, where rows
    may be repeated, is an `i32` for each slot of the pool, then for each of the scales
    that have block ids of their own. Nothing is given back.

    Raises ValueError for options that are none or need another layout. The call raises
    ArgumentError for arrays of another dtype or shape, and for more tokens than the
    table or the rows have, or pages that the pool lacks; LaunchError where `policy` is
    "trap" and a row has no place. Source: `kvcache.append` of the dialect."""
    from ..dialects import kvcache as kv

    if scales and not layout.scales:
        raise ValueError("expected a layout with scales for scales=True, got one without")
    a = _Append("append", layout, side, form, policy, scales)
    packed = layout.dtype == "f4E2M1FN"
    with a.function.building():
        sources = a.arrays("rows", layout.head_size // (2 if packed else 1),
                           rows or ("i8" if packed else layout.dtype))
        given = a.arrays("scales", layout.scale_slots, layout.scales) if scales else []
        kv.append(sources, a.caches, a.row_form, a.rows, given, policy=a.row_policy,
                  **a.last_rows(repeated, scales=scales))
    return a.program()


def append_scales(layout: Layout, *, side: str = "both", form: str = "ragged",
                  repeated: bool = False, policy: str = "assume") -> Program:
    """Scales that were computed elsewhere, into a layer of keys, values or both.

    Call: as that of `append`, with `key_scales=` and `value_scales=` `[T, H, G]`,
    `[B, S, H, G]` in the padded form, of the layout's scales, and no rows; `scratch` is
    an `i32` for each slot of scales. Nothing is given back.

    Raises ValueError for a layout without scales, else as `append`, as does the call.
    Source: `kvcache.append_scales` of the dialect."""
    from ..dialects import kvcache as kv

    if not layout.scales:
        raise ValueError("expected a layout with scales, got one without")
    a = _Append("append_scales", layout, side, form, policy, False)
    with a.function.building():
        kv.append_scales(a.arrays("scales", layout.scale_slots, layout.scales), a.caches,
                         a.row_form, a.rows, policy=a.row_policy,
                         **a.last_rows(repeated, values=False))
    return a.program()


def _quantization(contract, floor, floor_on, apply):
    from ..dialects import kvcache as kv

    return kv.QuantizationAttr.get(member("contract", kv.ScaleContract, contract),
                                   number("floor", floor),
                                   member("floor_on", kv.FloorOn, floor_on),
                                   member("apply", kv.ApplyScale, apply))


def quantize_append(layout: Layout, *, side: str = "both", form: str = "ragged",
                    rows: str = "bf16", contract: str = "arbitrary", floor: float = 0.0,
                    floor_on: str = "scale", apply: str = "inverse",
                    global_scale: bool = False, repeated: bool = False,
                    policy: str = "assume") -> Program:
    """Rows of `rows` (f32, f16, bf16), quantised into a layer. `contract`, `floor`,
    `floor_on`, `apply` are those of `#kvcache.quantization`.

    Call: as that of `append`, with `key_rows=`, `value_rows=` `[T, H, D]`, `[B, S, H, D]`
    in the padded form, and, with `global_scale`, a number of that name, `[]` of f32.
    Nothing is given back.

    Raises ValueError for a layout without scales and options that are none, else as
    `append`, as does the call. Source: `kvcache.quantize_append` of the dialect, and
    `#kvcache.quantization` for how scales follow from rows."""
    from ..dialects import kvcache as kv

    a = _Append("quantize_append", layout, side, form, policy, True)
    with a.function.building():
        sources = a.arrays("rows", layout.head_size, rows)
        kv.quantize_append(sources, a.caches, a.row_form, a.rows,
                           _quantization(contract, floor, floor_on, apply),
                           global_scale=a.global_scale(global_scale), policy=a.row_policy,
                           **a.last_rows(repeated))
    return a.program()


def rope_quantize_append(layout: Layout, *, side: str = "key", form: str = "ragged",
                         rows: str = "bf16", columns: Optional[int] = None,
                         start: Optional[int] = None, style: str = "interleaved",
                         tables: str = "f32", positions: bool = False,
                         norm_size: Optional[int] = None, eps: float = 1e-6,
                         weight_offset: float = 0.0, weights: str = "f32",
                         contract: str = "arbitrary", floor: float = 0.0,
                         floor_on: str = "scale", apply: str = "inverse",
                         global_scale: bool = False, repeated: bool = False,
                         policy: str = "assume") -> Program:
    """Rows that are normalised (where there is a `norm_size`), turned, quantised
    (where the layout has scales) and appended.

    Tables have `columns` of `tables`; `2 * columns` elements from `start` on turn, by
    default the layout's rope, or all of a head. The first `norm_size` elements are
    normalised with `weight`. Rows turn by the position where they go or, with
    `positions` and in the slots form, by `rope_positions`.

    Call: as that of `append`, with `key_rows=` `[T, H, D]`, `[B, S, H, D]` in the padded
    form, `cos=`, `sin=` `[N, columns]` for positions 0 to N - 1, `[weight=]`
    `[norm_size]`, `[rope_positions=]` `[T]` (`[B, S]`), `[global_scale=]` `[]`. Nothing
    is given back.

    Raises as `append` does, as does the call. Source: `kvcache.rope_quantize_append` of
    the dialect."""
    from ..dialects import kvcache as kv

    tail = layout.rope[1] if layout.rope else 0
    if columns is None:
        columns = (tail or layout.head_size) // 2
    if start is None:
        start = layout.head_size - tail if tail else 0
    a = _Append("rope_quantize_append", layout, side, form, policy, True)
    a.turns, f = True, a.function
    options = {}
    with f.building():
        sources = a.arrays("rows", layout.head_size, rows)
        cos, sin = (f.array(name, [None, columns], tables) for name in ("cos", "sin"))
        if positions or form == "slots":
            options["rope_positions"] = f.array("rope_positions", a.lead, "i32")
            a.sources.append("rope_positions")
        if norm_size is not None:
            options["weight"] = f.array("weight", [count("norm_size", norm_size)], weights)
            options["norm"] = norm(eps, weight_offset)
        if layout.scales:
            options["quantization"] = _quantization(contract, floor, floor_on, apply)
            options["global_scale"] = a.global_scale(global_scale)
        kv.rope_quantize_append(sources, a.caches, a.row_form, a.rows, cos, sin,
                                rotation(style, start),
                                policy=a.row_policy, **options,
                                **a.last_rows(repeated, scales=bool(layout.scales)))
    return a.program()
