# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases over the grid of layouts, dtypes and operations, sampled by pairs."""
import itertools

import numpy as np

from case_builder import (CaseBuilder, poisoned_pools, random_codes,
                          random_numbers, random_scales)
from pairwise import Pairwise
from pool_layout import PoolLayout, ceildiv
from reference_numbers import LARGEST, write

FACTORS = {
    "P": [1, 2, 3, 16, 61, 64, 128, 528],
    "D": [1, 46, 64, 80, 96, 128, 576],
    "g": [1, 12, 16, 32, 64, 128, "D"],
    "H": [1, 3, 8, 64, 130],
    "kv_dim": [1, 2],
    "L": [1, 3],
    "dtype": ["f32", "bf16", "f16", "f8E4M3FN", "f8E5M2", "i8", "f4E2M1FN"],
    "scale_dtype": [None, "f32", "bf16", "f16", "f8E8M0FNU", "f8E4M3FN"],
    "table": ["shared", "own"],
    "pitch": ["packed", "padded"],
    "placement": ["pool", "pool", "pool", "hnd", "inline", "kv_inner",
                  "page_split", "footer", "swizzle"],
    "rope": [0, 0, 16],
    "form": ["ragged", "padded", "slots", "positions"],
    "wide": ["f32", "bf16", "f16"],
    "contract": ["arbitrary", "power_of_two"],
    "floor": [(0.0, "scale"), (1e-4, "amax"), (2.0**-8, "scale")],
    "apply": ["inverse", "divide"],
    "one_layer": [False, True],
    "global_scale": [1.0, 0.5],
    "style": ["interleaved", "half"],
    "norm": ["", 0.0, 1.0],
    "explicit": [False, True],
}
QUANTISED = tuple(LARGEST)
QUANTISING = ("quantize_append", "rope_quantize_append")


def mend(point):
    point = dict(point)
    if point["op"] == "quantize_append" and (
            point["dtype"] not in QUANTISED or not point["scale_dtype"]):
        return None
    if point["op"] != "rope_quantize_append":
        point |= {"style": "", "norm": "", "explicit": ""}
    elif point["D"] < 2:
        return None
    if point["dtype"] in ("i8", "f4E2M1FN") and not point["scale_dtype"]:
        return None
    if point["dtype"] in ("f32", "bf16", "f16"):
        point["scale_dtype"] = None
    if point["op"] == "append_scales" and not point["scale_dtype"]:
        return None
    if point["placement"] == "pool" or not point["scale_dtype"] or (
            point["D"] <= point["rope"]):
        point["rope"] = 0
    if point["placement"] in ("hnd", "swizzle") or point["op"] == "append":
        point["rope"] = 0  # Ready codes beside a tail are not one tensor.
    if point["dtype"] == "f4E2M1FN" and (point["D"] - point["rope"]) % 2:
        return None
    if not point["scale_dtype"]:
        point |= {"g": None, "table": "shared"}
        if point["placement"] in ("footer", "swizzle"):
            return None
    if point["g"] == "D":
        point["g"] = point["D"] - point["rope"]
    if point["placement"] not in ("pool", "hnd", "swizzle"):
        point["table"] = "shared"
    if point["placement"] == "kv_inner" and point["kv_dim"] == 1:
        return None
    if point["placement"] == "swizzle" and point["P"] % 4:
        return None
    if point["scale_dtype"] != "f8E4M3FN" or point["dtype"] != "f4E2M1FN":
        point["global_scale"] = 1.0
    if point["op"] not in QUANTISING or not point["scale_dtype"]:
        point |= {"contract": "", "floor": None, "apply": ""}
    if point["op"] not in ("append", "append_scales", *QUANTISING):
        point["form"] = ""
    if point["op"] not in ("gather", *QUANTISING) and (
            point["op"] != "append" or point["scale_dtype"]):
        point["wide"] = ""
    if point["op"] not in ("copy_pages", "move_tokens", "clear_pages"):
        point["one_layer"] = ""
    return point


def fit(point, room):
    """H and L give way where a pool of two blocks would pass `room` bytes."""
    while point and 2 * page_bytes(layout_of(point)) > room:
        if point["L"] > 1:
            point["L"] = 1
        elif point["H"] > 1:
            point["H"] = max(h for h in FACTORS["H"] if h < point["H"])
        else:
            break
    return point


def page_bytes(layout):
    return max(layout.page_bytes, layout.scales_page_bytes)


def blocks_of(point, room):
    return int(np.clip(room // max(page_bytes(layout_of(point)), 1), 2, 9))


def layout_of(point):
    placement = point["placement"]
    fields = {
        "dtype": point["dtype"], "H": point["H"], "D": point["D"],
        "P": point["P"], "L": point["L"], "is_mla": point["kv_dim"] == 1,
        "scale_dtype": point["scale_dtype"], "g": point["g"],
        "rope": point["rope"], "global_scale": point["global_scale"],
    }
    if placement in ("inline", "kv_inner"):
        fields |= {"placement": "inline", "kv_inner": placement == "kv_inner"}
    elif placement in ("page_split", "footer"):
        fields |= {"placement": "page_split"}
    elif placement == "hnd":
        fields |= {"order": "HND"}
    elif placement == "swizzle":
        fields |= {"swizzle": "kv" if point["kv_dim"] == 1 else "v"}
    layout = PoolLayout.from_json(fields)
    if placement == "footer":
        fields["footer"] = ceildiv(layout.scale_row_bytes, 8) * 8 + 8
    if placement == "inline" and point["pitch"] == "packed":
        fields["order"] = "HND" if point["H"] % 2 else "NHD"
    if point["pitch"] == "padded":
        if layout.placement == "pool":
            fields["value_pitch"] = layout.derived()["page_pitch"] + (
                3 * layout.H * layout.D)
            if layout.G:
                fields["scale_pitch"] = layout.derived()["scales_pitch"] + (
                    5 * layout.H * layout.G)
        else:
            fields["page_align"] = 576
    return PoolLayout.from_json(fields)


def rows_to_append(rng, builder, form, count_of):
    """Sets lengths, tables and the inputs that say where rows go; gives the shape
    of the rows. `count_of` new tokens a sequence, at most."""
    layout, P = builder.layout, builder.layout.P
    pages = builder.nb if not builder.own else min(builder.nb, builder.nbs)
    batch = int(np.clip(pages // 2, 1, 3))
    each = pages // batch
    new = [int(rng.integers(0 if batch > 1 else 1, count_of + 1))
           for _ in range(batch)]
    new = [min(n, each * P) for n in new]
    lengths = [int(rng.integers(0, min(each * P - n, 3 * P + 1) + 1)) for n in new]
    if builder.nb * P < 4096:
        # Across the end of a page, where there is room.
        lengths[0] = min(max(P - 1, 0), each * P - new[0])
    builder.sequences(lengths, new)
    if form == "padded":
        builder.set("new_lengths", new, "u32")
        return batch, max(new) + 1
    total = sum(new) + 2  # The last rows belong to no sequence.
    if form == "ragged":
        builder.set("row_offsets", np.cumsum([0] + new), "u32")
        return (total,)
    tokens = [(b, lengths[b] + i) for b in range(batch) for i in range(new[b])]
    rng.shuffle(tokens)
    if form == "positions":
        # One past the table, one past the batch.
        columns = builder.inputs["lookup_table"].shape[1]
        tokens += [(0, columns * P), (batch, 0)]
        sequences, positions = zip(*tokens)
        builder.set("sequences", sequences, "i32")
        builder.set("positions", positions, "i32")
        return (len(tokens),)

    def slots(table, blocks):
        return [int(table[b, t // P]) * P + t % P for b, t in tokens] + [
            -1, blocks * P]

    kind = ("i32", "i64")[int(rng.integers(2))]
    builder.set("slots", slots(builder.inputs["lookup_table"], builder.nb), kind)
    if builder.own:
        builder.set("scale_slots",
                    slots(builder.inputs["scales_lookup_table"], builder.nbs), kind)
    return (len(tokens) + 2,)


def _append(rng, builder, point, size):
    layout = builder.layout
    rows = rows_to_append(rng, builder, point["form"], 5)
    builder.fill()
    args = {"c": int(rng.integers(layout.KD)), "l": int(rng.integers(layout.L)),
            "form": point["form"]}
    shape = (*rows, layout.H, layout.D)
    if point["op"] == "append_scales":
        builder.set("x_scales", random_scales(rng, (*rows, layout.H, layout.G),
                                              layout.scale_dtype), layout.scale_dtype)
        if "scale_slots" in builder.inputs:
            builder.set("slots", builder.inputs.pop("scale_slots"),
                        builder.dtypes.pop("scale_slots"))
        add_other_side(rng, builder)
        return args
    if point["op"] == "append":
        # Without scales other floats are converted.
        dtype = point["wide"] or layout.dtype
        builder.set("x", random_codes(rng, shape, dtype), dtype)
        if layout.G:
            builder.set("x_scales", random_scales(
                rng, (*rows, layout.H, layout.G), layout.scale_dtype),
                layout.scale_dtype)
        add_other_side(rng, builder)
        return args
    x = random_numbers(rng, shape, 3.0)
    g = layout.g or layout.D
    granules = -(-layout.D // g)
    sizes = np.exp2(rng.integers(-6, 7, (*rows, layout.H, granules)))
    x *= np.repeat(sizes, g, axis=-1)[..., :layout.D].astype(np.float32)
    x[0, ..., :min(g, layout.D)] = 0  # A granule of zeros.
    if point["op"] == "rope_quantize_append":
        # Whole numbers: their squares add up exactly in whatever order.
        x = rng.integers(-15, 16, shape).astype(np.float32)
        _rotation(rng, builder, point, args, rows)
    builder.set("x", write(x, point["wide"]), point["wide"])
    if layout.G:
        floor, floor_on = point["floor"]
        args["quant"] = {"contract": point["contract"], "floor": floor,
                         "floor_on": floor_on, "apply": point["apply"]}
    add_other_side(rng, builder)
    return args


def _rotation(rng, builder, point, args, rows):
    """Any part of the head, and a norm of all or a part of it."""
    D = builder.layout.D
    n = int(rng.integers(1, D // 2 + 1))
    rotation = point["style"], int(rng.integers(D - 2 * n + 1)), n
    norm = None
    if point["norm"] != "":
        norm = int(rng.choice([D, rng.integers(1, D + 1)])), point["norm"]
    # Slots do not say positions.
    explicit = point["explicit"] or point["form"] == "slots"
    add_rotation(rng, builder, args, rotation, norm, point["wide"],
                 rows if explicit else None)


def add_rotation(rng, builder, args, rotation, norm, wide, positions_of=None):
    """`rotation`: style, start and pairs; `norm`: elements and what is added to
    weights, or None; `positions_of`: the shape of rows whose positions are given."""
    style, start, n = rotation
    # Few positions: some rows have none.
    angles = rng.uniform(0, 6.28, (18, n))
    builder.set("cos", np.cos(angles).astype(np.float32), "f32")
    builder.set("sin", np.sin(angles).astype(np.float32), "f32")
    args["rope"] = {"style": style, "start": start}
    if norm:
        builder.set("weight", write(random_numbers(rng, norm[0]), wide), wide)
        args["norm"] = {"eps": 1e-6, "weight_offset": norm[1]}
    if positions_of:
        builder.set("rope_positions", rng.integers(0, 20, positions_of), "i32")


def add_other_side(rng, builder):
    """Every other time one operation writes both sides of a cache, each row of the
    other one from another row's place."""
    if builder.layout.KD == 2 and rng.integers(2):
        for name in ("x", "x_scales"):
            if name in builder.inputs:
                builder.set(f"{name}_other", builder.inputs[name][::-1],
                            builder.dtypes[name])


def _lengths(rng, builder, most):
    """Sequences with content, within the pages there are."""
    P = builder.layout.P
    pages = builder.nb if not builder.own else min(builder.nb, builder.nbs)
    batch = int(np.clip(pages // 2, 1, 3))
    each = pages // batch
    builder.sequences([int(rng.integers(0 if b else 1, min(each * P, most) + 1))
                       for b in range(batch)], [0] * batch)
    builder.fill()


def _gather(rng, builder, point, size):
    layout = builder.layout
    _lengths(rng, builder, max(3, size // (layout.H * layout.D)))
    longest = int(builder.inputs["cache_lengths"].max())
    return {"c": int(rng.integers(layout.KD)), "l": int(rng.integers(layout.L)),
            "rows": longest + 3, "out_dtype": point["wide"],
            "scales": bool(layout.G)}


def _layers(rng, builder, point):
    return [int(rng.integers(builder.layout.L))] if point["one_layer"] else None


def _both(rng, builder, name, dtype, make):
    """An input and, where the pools have ids of their own, its counterpart."""
    builder.set(name, make(builder.nb), dtype)
    if builder.own:
        builder.set(f"scale_{name}", make(builder.nbs), dtype)


def _pages(rng, builder, point, size):
    _lengths(rng, builder, max(3, size // (builder.layout.H * builder.layout.D)))
    if point["op"] == "clear_pages":
        _both(rng, builder, "pages", "i64", lambda nb: rng.permutation(nb)[:1])
    else:
        # Where there are three, a chain: as if from a snapshot.
        _both(rng, builder, "pairs", "i64", lambda nb: (
            [[0, 1], [1, 2]] if nb > 2 else [[1, 0]]))
    return {"layers": _layers(rng, builder, point)}


def _tokens(rng, builder, point, size):
    _lengths(rng, builder, max(3, size // (builder.layout.H * builder.layout.D)))
    P = builder.layout.P
    count = min(3, builder.nb * P // 2, builder.nbs * P // 2)

    def slots(blocks):
        chosen = rng.permutation(min(blocks * P, 4096))[:2 * count]
        return [*chosen[:count], -1], [*chosen[count:], 0]

    for prefix, blocks in (("", builder.nb), ("scale_", builder.nbs)):
        if prefix and not builder.own:
            continue
        for name, array in zip(("src", "dst"), slots(blocks)):
            builder.set(prefix + name, array, "i64")
    return {"layers": _layers(rng, builder, point)}


def _compact(rng, builder, point, size):
    _lengths(rng, builder, max(3, size // (builder.layout.H * builder.layout.D)))
    return {}


def _convert(rng, builder, point, size):
    layout = builder.layout
    fields = layout.to_json() | {"value_pitch": None, "scale_pitch": None,
                                 "page_align": 1, "kv_inner": False,
                                 "footer": None, "swizzle": "none"}
    if layout.rope or (layout.placement == "pool" and layout.G):
        fields["placement"] = ("page_split" if layout.placement == "inline"
                               else "inline")
    elif layout.placement == "pool":
        fields["order"] = "NHD" if layout.order == "HND" else "HND"
    else:
        fields["placement"] = "pool"
    to = PoolLayout.from_json(fields)
    builder.nbs = builder.nb
    _lengths(rng, builder, max(3, size // (layout.H * layout.D)))
    for name, pool in poisoned_pools(to, builder.nb, builder.nb).items():
        builder.set(f"to_{name}", pool, "u8")
    return {"to": to}


MAKERS = {"append": _append, "append_scales": _append, "quantize_append": _append,
          "rope_quantize_append": _append, "gather": _gather,
          "copy_pages": _pages, "clear_pages": _pages, "move_tokens": _tokens,
          "compact": _compact, "convert_layout": _convert}


def _name(number, point, layout):
    words = [f"grid{number:03}", point["op"], point["form"], layout.dtype,
             layout.scale_dtype or "noscale", f"P{layout.P}", f"D{layout.D}",
             f"g{layout.g}", f"H{layout.H}", f"kv{layout.KD}", f"L{layout.L}",
             point["placement"], "own" if point["table"] == "own" else ""]
    return "_".join(word for word in words if word)


def grid_cases(count, seed, room, ops=None):
    """Yields `count` cases; pools stay within `room` bytes where H = 1, L = 1
    let them."""
    rng = np.random.default_rng(seed)
    grid = Pairwise(FACTORS, rng, lambda point: fit(mend(point), room))
    turns = itertools.cycle(ops or MAKERS)
    for number in range(count):
        point = grid.next(op=next(turns))
        layout, nb = layout_of(point), blocks_of(point, room)
        own = point["table"] == "own" and point["op"] != "convert_layout"
        builder = CaseBuilder(rng, layout, nb, nb + 2, own)
        # What is in the pages may be less than all of them.
        size = min(room, 1 << 16)
        args = MAKERS[point["op"]](rng, builder, point, size)
        notes = f"pairwise grid; seed {seed}"
        yield builder.case(_name(number, point, layout), point["op"], notes, **args)
