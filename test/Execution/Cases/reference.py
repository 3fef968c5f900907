# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What each operation of a case folder must give, by NumPy and ml_dtypes.

`run(op, layout, nb, nbs, args, inputs)` gives the arrays of the outputs by
name. Shares no code with the compiler: pools are bytes, and every place comes
from pool_layout.
"""
import numpy as np

from destinations import (NOWHERE, destinations, from_slot, resolve, rows_of,
                          tokens_of)
from element_types import ELEMENT_TYPES, decode
from pool_layout import ceildiv
from reference_attention import attention, mla_decode
from reference_numbers import quantise, read, write
from verdicts import Unsupported


class Pools:
    """The bytes of a collection. Rows are (block, slot) pairs of one layer of one
    side; arrays of rows are [n, H, bytes]."""

    def __init__(self, layout, nb, nbs, blocks, scales=None):
        self.layout, self.nb = layout, nb
        self.blocks = blocks.copy()
        self.scales = None if scales is None else scales.copy()
        self.nbs = nbs if layout.has_scales_pool else nb

    def _places(self, part, rows, side, layer):
        """The pool, and the bytes [n, H, bytes] of a part of each row."""
        layout = self.layout
        block, slot = (rows[:, i, None] for i in (0, 1))
        places = layout.places(part, block, side, layer, slot, np.arange(layout.H))
        apart = part == "scales" and layout.has_scales_pool
        return self.scales if apart else self.blocks, places

    def get(self, part, rows, side, layer):
        pool, places = self._places(part, rows, side, layer)
        return pool[places]

    def put(self, part, rows, side, layer, data):
        """Of several rows for one place the last stays."""
        usable = (rows >= 0).all(axis=1)
        rows, data = rows[usable], data[usable]
        _, last = np.unique(rows[::-1], axis=0, return_index=True)
        last = len(rows) - 1 - last
        pool, places = self._places(part, rows[last], side, layer)
        pool[places] = data[last]

    def parts(self):
        layout = self.layout
        parts = ["codes"] if layout.code_bytes else []
        parts += ["tail"] if layout.rope else []
        return parts + (["scales"] if layout.G else [])

    def outputs(self):
        return {"blocks": self.blocks} | (
            {"scales": self.scales} if self.scales is not None else {})


def _as_bytes(array, rows, heads):
    last = array.shape[-1] * array.itemsize
    return np.ascontiguousarray(array).view(np.uint8).reshape(rows, heads, last)


def _store(pools, args, inputs, codes, tail, scales, keep=True):
    """`keep` says which rows are stored at all."""
    layout = pools.layout
    to, scales_to = (
        np.where(np.reshape(keep, (-1, 1)), rows, -1) for rows in destinations(
            layout, pools.nb, pools.nbs, args["form"], inputs))
    where = args["c"], args["l"]
    if codes is not None and layout.code_bytes:
        pools.put("codes", to, *where, _as_bytes(codes, len(to), layout.H))
    if tail is not None:
        pools.put("tail", to, *where, _as_bytes(tail, len(to), layout.H))
    if scales is not None:
        pools.put("scales", scales_to, *where,
                  _as_bytes(scales, len(to), layout.H))
    return pools.outputs()


def append(pools, args, inputs, dtypes):
    layout, x = pools.layout, inputs["x"]
    tail = None
    if layout.rope:
        numbers = read(x, dtypes["x"])
        x = write(numbers[..., :layout.coded], layout.dtype)
        tail = write(numbers[..., layout.coded:], layout.rope_dtype)
    elif dtypes["x"] != layout.dtype:
        x = write(read(x, dtypes["x"]), layout.dtype)
    return _store(pools, args, inputs, x, tail, inputs.get("x_scales"))


def append_scales(pools, args, inputs, dtypes):
    return _store(pools, args, inputs, None, None, inputs["x_scales"])


def quantize_append(pools, args, inputs, dtypes):
    layout = pools.layout
    x = read(inputs["x"], dtypes["x"])
    codes, scales = quantise(x[..., :layout.coded], layout, args["quant"])
    tail = (write(x[..., layout.coded:], layout.rope_dtype) if layout.rope
            else None)
    return _store(pools, args, inputs, codes, tail, scales)


def _normalise(x, norm, weight):
    """An RMS norm step by step in f32, of numbers whose squares add up exactly."""
    count = weight.shape[0]
    squares = np.square(x[..., :count].astype(np.float64)).sum(-1, keepdims=True)
    mean = squares.astype(np.float32) / np.float32(count) + np.float32(norm["eps"])
    factor = np.float32(1) / np.sqrt(mean)
    weight = weight + np.float32(norm["weight_offset"])
    x[..., :count] = x[..., :count] * factor * weight


def _turn(x, rotation, cos, sin):
    """A rotary embedding in f32: a product is rounded, then the sum with the
    other. `cos` and `sin` are [n] of each row."""
    n, start = cos.shape[-1], rotation["start"]
    first = (start + np.arange(n) if rotation["style"] == "half"
             else start + 2 * np.arange(n))
    second = first + (n if rotation["style"] == "half" else 1)
    a, b = x[..., first].copy(), x[..., second].copy()
    add = lambda p, q, r: (p.astype(np.float64) * q + r).astype(np.float32)
    x[..., first] = add(a, cos, -(b * sin))
    x[..., second] = add(b, cos, a * sin)


def rope_quantize_append(pools, args, inputs, dtypes):
    layout, rotation = pools.layout, args["rope"]
    x = read(inputs["x"], dtypes["x"]).reshape(-1, layout.H, layout.D).copy()
    if "weight" in inputs:
        _normalise(x, args["norm"], read(inputs["weight"], dtypes["weight"]))
    cos, sin = (read(inputs[name], dtypes[name]) for name in ("cos", "sin"))
    positions = np.zeros(len(x), np.int64)
    if "rope_positions" in inputs:
        positions = inputs["rope_positions"].reshape(-1).astype(np.int64)
    else:
        for row, _, position in tokens_of(args["form"], inputs):
            positions[row] = position
    keep = positions < len(cos)
    positions = np.where(keep, positions, 0)
    _turn(x, rotation, cos[positions][:, None], sin[positions][:, None])
    codes, scales = write(x[..., :layout.coded], layout.dtype), None
    if layout.G:
        codes, scales = quantise(x[..., :layout.coded], layout, args["quant"])
    tail = (write(x[..., layout.coded:], layout.rope_dtype) if layout.rope
            else None)
    return _store(pools, args, inputs, codes, tail, scales, keep)


def gather(pools, args, inputs, dtypes):
    """`sequences` says which, `row_offsets` where in a ragged tensor of `rows`
    rows; `pad` are rows, heads and elements of the tensor that are not written."""
    layout, rows = pools.layout, args["rows"]
    table, lengths = inputs["lookup_table"], inputs["cache_lengths"]
    scales_table = inputs.get("scales_lookup_table", table)
    sequences = inputs.get("sequences", np.arange(len(lengths)))
    offsets = inputs.get("row_offsets")
    lead = (len(sequences), rows) if offsets is None else (rows,)
    out = np.zeros((*lead, layout.H, layout.D), np.float32)
    scales_out = np.zeros((*lead, layout.H, layout.G), np.float32)
    side, layer = args["c"], args["l"]
    for i, b in enumerate(map(int, sequences)):
        first, count = 0, rows
        if offsets is not None:
            first = min(int(offsets[i]), rows)
            count = max(min(int(offsets[i + 1]), rows) - first, 0)
        length = int(lengths[b]) if b < len(lengths) else 0
        for t in range(min(length, count)):
            at = (i, t) if offsets is None else first + t
            row = rows_of([resolve(table, pools.nb, layout.P, b, t)])
            scale_row = rows_of([resolve(scales_table, pools.nbs, layout.P, b, t)])
            if row[0, 0] < 0 or (layout.G and scale_row[0, 0] < 0):
                continue
            storage = ELEMENT_TYPES[layout.dtype].storage
            codes = pools.get("codes", row, side, layer)[0]
            numbers = read(np.ascontiguousarray(codes).view(storage), layout.dtype)
            if layout.G:
                storage = ELEMENT_TYPES[layout.scale_dtype].storage
                scales = pools.get("scales", scale_row, side, layer)[0]
                scales = read(np.ascontiguousarray(scales).view(storage),
                              layout.scale_dtype)
                scales_out[at] = scales
                scales = scales * np.float32(layout.global_scale)
                with np.errstate(all="ignore"):
                    numbers = numbers * np.repeat(
                        scales, layout.g, axis=-1)[..., :layout.coded]
            out[at][:, :layout.coded] = numbers
            if layout.rope:
                storage = ELEMENT_TYPES[layout.rope_dtype].storage
                tail = pools.get("tail", row, side, layer)[0]
                out[at][:, layout.coded:] = read(
                    np.ascontiguousarray(tail).view(storage), layout.rope_dtype)
    outputs = {"out": write(out, args["out_dtype"])}
    if args.get("scales"):
        outputs["scales_out"] = scales_out
    if "pad" in args:
        outputs = {name: padded(array, args["pad"])
                   for name, array in outputs.items()}
    return outputs


def remap_indices(layout, nb, nbs, args, inputs, dtypes):
    """Needs no pools. With `row_offsets` rows are those of new tokens, which are in
    the cache beside the old ones."""
    indices, lengths = inputs["indices"], inputs["cache_lengths"].astype(np.int64)
    sequences = np.arange(len(indices))
    if "row_offsets" in inputs:
        offsets = inputs["row_offsets"].astype(np.int64)
        sequences = np.searchsorted(offsets, sequences, side="right") - 1
        lengths = np.append(lengths + np.diff(offsets), 0)
    outputs = {}
    tables = {"slots": ("lookup_table", nb)}
    if layout.has_scales_pool:
        tables["scale_slots"] = ("scales_lookup_table", nbs)
    for name, (table, blocks) in tables.items():
        table = inputs.get(table, inputs["lookup_table"])
        slots = np.full(indices.shape, -1, np.int64)
        for row, sequence in enumerate(sequences):
            for column, t in enumerate(map(int, indices[row])):
                if 0 <= t < lengths[sequence]:
                    block, slot = resolve(table, blocks, layout.P, sequence, t)
                    if block >= 0:
                        slots[row, column] = block * layout.P + slot
        outputs[name] = slots
    return outputs


def best_of(scores, live, k):
    """The indices of the `k` best of the first `live` scores of each row, of equal
    ones the first first, NaN last; -1 where there are fewer."""
    indices = np.full((len(scores), k), -1, np.int32)
    for row, n in enumerate(live):
        numbers = scores[row, :n]
        isnan = np.isnan(numbers)
        order = np.lexsort((np.where(isnan, 0, -numbers), isnan))[:k]
        indices[row, :len(order)] = order
    return indices


def key_scores(pools, args, inputs, dtypes, columns):
    """Scores of keys in f64, [rows, columns], the magnitude of what is added up to
    each, and the keys of each row; -inf where no key is."""
    layout = pools.layout
    q = read(inputs["q"], dtypes["q"]).astype(np.float64)
    weights = inputs["q_scale"].astype(np.float64)
    offsets, lengths = (inputs[name].astype(np.int64)
                        for name in ("row_offsets", "old_lengths"))
    table = inputs["lookup_table"]
    scales_table = inputs.get("scales_lookup_table", table)
    scores = np.full((len(q), columns), -np.inf)
    magnitudes, live = np.zeros(scores.shape), np.zeros(len(q), np.int64)
    where = args.get("c", 0), args["l"]
    for b in range(len(lengths)):
        total = int(lengths[b] + offsets[b + 1] - offsets[b])
        rows = rows_of([resolve(table, pools.nb, layout.P, b, t)
                        for t in range(total)])
        scale_rows = rows_of([resolve(scales_table, pools.nbs, layout.P, b, t)
                              for t in range(total)])
        usable = (rows[:, 0] >= 0) & (scale_rows[:, 0] >= 0)
        keys = np.zeros((total, layout.D))
        scales = np.zeros(total)
        codes = pools.get("codes", rows[usable], *where)[:, 0]
        keys[usable] = read(codes, layout.dtype)
        storage = ELEMENT_TYPES[layout.scale_dtype].storage
        stored = pools.get("scales", scale_rows[usable], *where)[:, 0]
        scales[usable] = read(np.ascontiguousarray(stored).view(storage),
                              layout.scale_dtype)[:, 0] * layout.global_scale
        for row in range(int(offsets[b]), min(int(offsets[b + 1]), len(q))):
            live[row] = total
            if args.get("causal", True):
                live[row] = lengths[b] + row - offsets[b] + 1
            n = min(int(live[row]), columns)
            dots = keys[:n] @ q[row].T
            sums = np.maximum(dots, 0) @ weights[row] * scales[:n]
            scores[row, :n] = np.where(usable[:n], sums, -np.inf)
            magnitudes[row, :n] = (np.abs(keys[:n]) @ np.abs(q[row].T)
                                   @ np.abs(weights[row]) * np.abs(scales[:n]))
    return scores, magnitudes, live


def indexer_topk(pools, args, inputs, dtypes):
    columns = int((inputs["old_lengths"].astype(np.int64)
                   + np.diff(inputs["row_offsets"].astype(np.int64))).max())
    scores, _, live = key_scores(pools, args, inputs, dtypes, columns)
    return {"scores": scores, "topk": best_of(scores, live, args["top_k"])}


def padded(array, pad):
    """`array` in the corner of one with so many rows, heads and elements more,
    whose bytes are 0xA5."""
    shape = np.array(array.shape)
    shape[-3:] += pad
    whole = np.full(shape.prod() * array.itemsize, 0xA5, np.uint8)
    whole = whole.view(array.dtype).reshape(shape)
    whole[tuple(slice(size) for size in array.shape)] = array
    return whole


def _layers(pools, args):
    layers = args.get("layers")
    return range(pools.layout.L) if layers is None else layers


def _move(pools, args, parts, src, dst):
    """As if from a snapshot; rows that lie nowhere move nothing."""
    usable = (src >= 0).all(axis=1) & (dst >= 0).all(axis=1)
    src, dst = src[usable], dst[usable]
    for side in range(pools.layout.KD):
        for layer in _layers(pools, args):
            for part in parts:
                pools.put(part, dst, side, layer,
                          pools.get(part, src, side, layer))


def _parts(pools):
    """Parts found through value blocks, and those found through scale blocks."""
    parts = pools.parts()
    if not pools.layout.has_scales_pool:
        return parts, []
    return [part for part in parts if part != "scales"], ["scales"]


def _page_rows(pages, nb, P):
    """The rows of whole pages; NOWHERE for pages outside the pool."""
    return rows_of([(page, slot) if 0 <= page < nb else NOWHERE
                    for page in map(int, pages) for slot in range(P)])


def copy_pages(pools, args, inputs, dtypes):
    P = pools.layout.P
    values, scales = _parts(pools)
    pairs = inputs["pairs"]
    scale_pairs = inputs.get("scale_pairs", pairs)
    for parts, pairs, nb in ((values, pairs, pools.nb),
                             (scales, scale_pairs, pools.nbs)):
        _move(pools, args, parts, _page_rows(pairs[:, 0], nb, P),
              _page_rows(pairs[:, 1], nb, P))
    return pools.outputs()


def move_tokens(pools, args, inputs, dtypes):
    P = pools.layout.P
    values, scales = _parts(pools)
    for parts, prefix, nb in ((values, "", pools.nb), (scales, "scale_", pools.nbs)):
        src, dst = (inputs.get(prefix + name, inputs[name])
                    for name in ("src", "dst"))
        _move(pools, args, parts,
              rows_of([from_slot(int(s), nb, P) for s in src]),
              rows_of([from_slot(int(s), nb, P) for s in dst]))
    return pools.outputs()


def clear_pages(pools, args, inputs, dtypes):
    layout = pools.layout
    values, scales = _parts(pools)
    pages = inputs["pages"]
    for parts, pages, nb in ((values, pages, pools.nb),
                             (scales, inputs.get("scale_pages", pages), pools.nbs)):
        rows = _page_rows(pages, nb, layout.P)
        for side in range(layout.KD):
            for layer in _layers(pools, args):
                for part in parts:
                    data = pools.get(part, rows, side, layer)
                    pools.put(part, rows, side, layer, np.zeros_like(data))
    return pools.outputs()


def compact(pools, args, inputs, dtypes):
    """The k-th live page in table order becomes page k."""
    layout, outputs = pools.layout, {}
    values, scales = _parts(pools)
    own = "scales_lookup_table" in inputs
    turns = [(values if own else values + scales, "lookup_table", pools.nb)]
    if own:
        turns.append((scales, "scales_lookup_table", pools.nbs))
    for parts, name, nb in turns:
        table = inputs[name].copy()
        new = {}
        for b, length in enumerate(inputs["cache_lengths"]):
            for page in range(min(ceildiv(int(length), layout.P), table.shape[1])):
                block = int(table[b, page])
                if block < nb:
                    table[b, page] = new.setdefault(block, len(new))
        _move(pools, args, parts, _page_rows(new, nb, layout.P),
              _page_rows(new.values(), nb, layout.P))
        outputs[name] = table
    return pools.outputs() | outputs


def convert_layout(pools, args, inputs, dtypes):
    to, layout = args["to"], pools.layout
    target = Pools(to, pools.nb, pools.nbs, inputs["to_blocks"],
                   inputs.get("to_scales"))
    for part in pools.parts():
        source_blocks, target_blocks = (
            p.nbs if part == "scales" else p.nb for p in (pools, target))
        rows = _page_rows(range(min(source_blocks, target_blocks)), target_blocks,
                          layout.P)
        for side in range(layout.KD):
            for layer in range(layout.L):
                target.put(part, rows, side, layer,
                           pools.get(part, rows, side, layer))
    return target.outputs()


def rope(args, inputs, dtypes):
    x = decode(inputs["x"], dtypes["x"])
    cos, sin = (decode(inputs[name], dtypes[name])[inputs["positions"]]
                for name in ("cos", "sin"))
    cos, sin = cos[:, None], sin[:, None]
    n, start = cos.shape[-1], args["start"]
    first = (start + np.arange(n) if args["style"] == "half"
             else start + 2 * np.arange(n))
    second = first + (n if args["style"] == "half" else 1)
    out = x.copy()
    out[..., first] = x[..., first] * cos - x[..., second] * sin
    out[..., second] = x[..., second] * cos + x[..., first] * sin
    return {"out": out}


def rms_norm(args, inputs, dtypes):
    x = decode(inputs["x"], dtypes["x"])
    weight = decode(inputs["weight"], dtypes["weight"]) + args["weight_offset"]
    mean = (x * x).mean(axis=-1, keepdims=True)
    return {"out": x / np.sqrt(mean + args["eps"]) * weight}


WITH_POOLS = {f.__name__: f for f in
              (append, append_scales, quantize_append, rope_quantize_append, gather,
               copy_pages, move_tokens, clear_pages, compact, convert_layout, attention, mla_decode,
               indexer_topk)}
WITHOUT_POOLS = {f.__name__: f for f in (rope, rms_norm)}
# These take a layout and the numbers of blocks instead of pools.
OF_TABLES = {f.__name__: f for f in (remap_indices,)}
OPS = {**WITH_POOLS, **WITHOUT_POOLS, **OF_TABLES}


def run(op, layout, nb, nbs, args, inputs, dtypes):
    """Outputs by name. `dtypes` are the element types of the inputs; `args.to`
    is a PoolLayout."""
    if op not in OPS:
        raise Unsupported(f"operation {op}")
    if op in WITHOUT_POOLS:
        return WITHOUT_POOLS[op](args, inputs, dtypes)
    if op in OF_TABLES:
        return OF_TABLES[op](layout, nb, nbs, args, inputs, dtypes)
    pools = Pools(layout, nb, nbs, inputs["blocks"], inputs.get("scales"))
    outputs = WITH_POOLS[op](pools, args, inputs, dtypes)
    if "x_other" not in inputs and "x_scales_other" not in inputs:
        return outputs
    others = {name.removesuffix("_other"): array for name, array in inputs.items()
              if name.endswith("_other")}
    return WITH_POOLS[op](pools, args | {"c": 1 - args["c"]}, inputs | others, dtypes)
