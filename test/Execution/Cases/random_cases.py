# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of random layouts, in which every field has any value that it may have
beside the others: what the grid leaves out."""

import numpy as np

import grid_cases
from case_builder import CaseBuilder, poisoned_pools
from pool_layout import PoolLayout
from verdicts import Malformed

CODES = ("f8E4M3FN", "f8E5M2", "i8", "f4E2M1FN")
FLOORS = [(0.0, "scale"), (1e-4, "amax"), (1e-4, "scale"), (2.0**-8, "scale"),
          (0.25, "amax")]
# What a conversion of layouts keeps.
KEPT = ("dtype", "H", "D", "P", "L", "is_mla", "scale_dtype", "g", "rope",
        "rope_dtype", "global_scale")


def _fields(rng, pick):
    dtype = pick("f32", "bf16", "f16", *CODES, "f8E4M3FN", "f4E2M1FN")
    fields = {
        "dtype": dtype, "placement": pick("pool", "inline", "page_split"),
        "order": pick("NHD", "HND"), "is_mla": pick(False, True),
        "H": pick(1, 1, 2, 3, 4, 5, 8, 16), "L": pick(1, 1, 2, 3),
        "D": pick(2, 6, 16, 24, 40, 46, 64, 72, 96, 128, 160, 192, 512, 576),
        "P": pick(1, 2, 3, 4, 5, 8, 12, 16, 32, 64),
        "rope_dtype": pick("bf16", "f16", "f32")}
    apart = fields["placement"] == "pool"
    if dtype in CODES and (dtype in ("i8", "f4E2M1FN") or rng.integers(4)):
        if not apart:
            fields["rope"] = pick(0, 0, 1, 2, 5, 8, 16, 64)
        coded = fields["D"] - fields.get("rope", 0)
        fields |= {"scale_dtype": pick("f32", "bf16", "f16", "f8E8M0FNU", "f8E4M3FN"),
                   "g": pick(1, 2, 3, 7, 12, 16, 32, 64, 128, 200, max(coded, 1)),
                   "global_scale": pick(1.0, 1.0, 0.5, 3.0, 0.037)}
        if fields["P"] % 4 == 0 and rng.integers(4) == 0:
            fields["swizzle"] = "kv" if fields["is_mla"] else pick("v", "kv")
    if fields["placement"] == "inline" and not fields["is_mla"]:
        fields["kv_inner"] = pick(False, True)
    return fields


def _padded(rng, pick, fields):
    """The same with footers and pitches."""
    layout = PoolLayout.from_json(fields)
    if layout.placement == "pool":
        derived = layout.derived()
        if pick(False, True):
            fields["value_pitch"] = (derived["page_pitch"]
                                     + pick(1, 2, 5) * layout.H * layout.D)
        if layout.G and pick(False, True):
            fields["scale_pitch"] = (derived["scales_pitch"]
                                     + pick(1, 3) * layout.H * layout.G)
        return fields
    if layout.placement == "page_split" and layout.G and pick(False, True):
        fields["footer"] = layout.scale_row_bytes + pick(0, 1, 3, 4, 8, 9)
    fields["page_align"] = pick(1, 1, 2, 16, 64, 100, 576)
    if rng.integers(3) == 0:
        fields["value_pitch"] = PoolLayout.from_json(fields).page_bytes + pick(
            0, 16, 48, 576, layout.row_bytes)
    return fields


def _layout(rng, pick, room):
    while True:
        try:
            layout = PoolLayout.from_json(_padded(rng, pick, _fields(rng, pick)))
        except Malformed:
            continue
        if layout.coded > 0 and 2 * grid_cases.page_bytes(layout) <= room:
            return layout


def _target(rng, pick, layout, room):
    """Another layout of the same numbers."""
    kept = {name: getattr(layout, name) for name in KEPT}
    while True:
        fields = _layout(rng, pick, room).to_json() | kept | {
            "value_pitch": None, "scale_pitch": None, "footer": None}
        if fields["placement"] == "pool":
            fields["page_align"] = 1
        if fields["placement"] != "inline" or layout.is_mla:
            fields["kv_inner"] = False
        if not layout.G or layout.P % 4:
            fields["swizzle"] = "none"
        elif layout.is_mla and fields["swizzle"] == "v":
            fields["swizzle"] = "kv"
        if layout.rope and fields["placement"] == "pool":
            continue
        return PoolLayout.from_json(fields)


def _vary_lists(rng, case):
    """Ids of blocks and slots of any integer type, all layers or some."""
    kind = {}
    for name, array in case.inputs.items():
        base = name.removeprefix("scale_")
        if base not in ("pairs", "pages", "src", "dst", "slots"):
            continue
        # Sources and destinations have one type.
        pool = name.startswith("scale_"), base in ("src", "dst")
        dtype = kind.setdefault((*pool, base if not pool[1] else ""),
                                ("i32", "i64")[int(rng.integers(2))])
        array = array.astype(np.int64)
        if base == "slots" and dtype == "i64":
            # Only the low half would be a slot.
            array = np.where(array < 0, (1 << 33) + 3, array)
        case.inputs[name] = array.astype(f"{dtype[0]}{int(dtype[1:]) // 8}")
        case.dtypes[name] = dtype
    return case


def _repeat_rows(rng, builder):
    """Rows of which several go to one slot, of values and of scales others."""
    inputs = builder.inputs
    for names in (("slots",), ("scale_slots",), ("sequences", "positions")):
        if names[0] in inputs and len(inputs[names[0]]):
            count = len(inputs[names[0]])
            chosen = rng.integers(0, count, count)
            for name in names:
                inputs[name] = inputs[name][chosen]


def random_cases(count, seed, room, ops=None):
    """Yields `count` cases whose pools of two blocks stay within `room` bytes."""
    rng = np.random.default_rng(seed)
    pick = lambda *choices: choices[int(rng.integers(len(choices)))]
    ops = ops or list(grid_cases.MAKERS)
    number = 0
    while number < count:
        op, layout = ops[number % len(ops)], _layout(rng, pick, room)
        if (op == "append" and layout.rope or not layout.G and op in (
                "quantize_append", "append_scales")
                or op == "rope_quantize_append" and layout.D < 2):
            continue
        appends = op in ("append", "append_scales", *grid_cases.QUANTISING)
        point = {"op": op, "contract": pick("arbitrary", "power_of_two"),
                 "form": (pick("ragged", "padded", "slots", "positions")
                          if appends else ""),
                 "wide": pick("f32", "bf16", "f16"), "floor": pick(*FLOORS),
                 "apply": pick("inverse", "divide"),
                 "style": pick("interleaved", "half"), "norm": pick("", 0.0, 1.0),
                 "explicit": pick(False, True), "one_layer": pick(False, True),
                 "table": pick("shared", "own")}
        if op == "append" and layout.scale_dtype:
            point["wide"] = ""
        nb = int(np.clip(room // max(grid_cases.page_bytes(layout), 1), 2, 7))
        own = point["table"] == "own" and op != "convert_layout"
        builder = CaseBuilder(rng, layout, nb, nb + pick(0, 1, 3), own)
        if op == "convert_layout":
            to = _target(rng, pick, layout, room)
            grid_cases._lengths(rng, builder, 1 << 12)
            for name, pool in poisoned_pools(to, nb, nb).items():
                builder.set(f"to_{name}", pool, "u8")
            args = {"to": to}
        else:
            args = grid_cases.MAKERS[op](rng, builder, point, min(room, 1 << 15))
            _vary_lists(rng, builder)
            if op == "gather" and pick(False, True):
                args["pad"] = [pick(0, 1, 3), pick(0, 1), pick(0, 1, 2, 8)]
            if appends and pick(False, True, True):
                _repeat_rows(rng, builder)
            if appends and pick(False, True):
                # A slice of a larger tensor.
                args |= {"x_pad": [pick(0, 1, 3), pick(0, 1, 5), pick(0, 1, 2, 8)],
                         "x_dynamic": pick(False, True)}
        name = (f"random{number:03}_{op}_{point['form']}_{layout.dtype}_"
                f"{layout.scale_dtype}_{layout.placement}_{layout.order}")
        yield builder.case(name, op, f"random layout; seed {seed}", **args)
        number += 1
