# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention in f64, a row at a time, on what the pools hold."""
import numpy as np

from element_types import ELEMENT_TYPES, decode
from reference_numbers import read


def _stored(rows, name):
    """The numbers of rows of bytes, in f64."""
    storage = ELEMENT_TYPES[name].storage
    return read(np.ascontiguousarray(rows).view(storage), name).astype(np.float64)


def tokens_of_sequence(pools, inputs, side, layer, b, tokens):
    """Tokens `tokens` (numbers) of sequence `b`: f64 [n, H, D], code times scale."""
    layout = pools.layout
    tokens = np.asarray(tokens, np.int64)
    table = inputs["lookup_table"]
    scales_table = inputs.get("scales_lookup_table", table)
    rows = lambda of: np.stack([of[b, tokens // layout.P].astype(np.int64),
                                tokens % layout.P], axis=1)
    numbers = _stored(pools.get("codes", rows(table), side, layer), layout.dtype)
    if layout.G:
        scales = _stored(pools.get("scales", rows(scales_table), side, layer),
                         layout.scale_dtype) * layout.global_scale
        numbers *= np.repeat(scales, layout.g, axis=-1)[..., :layout.coded]
    if layout.rope:
        tail = pools.get("tail", rows(table), side, layer)
        numbers = np.concatenate([numbers, _stored(tail, layout.rope_dtype)],
                                 axis=-1)
    return numbers


def softmax_sum(exponents, values, sink=-np.inf):
    """The weighted mean of `values` [n, d] and the log-sum-exp, sink counted."""
    most = np.max([sink, *exponents])
    if most == -np.inf:
        return np.zeros(values.shape[1:]), -np.inf
    weights = np.exp(exponents - most)
    total = weights.sum() + np.exp(sink - most)
    return weights @ values / total, most + np.log(total)


def _rows(inputs):
    """(row, sequence, keys that it sees)"""
    offsets = inputs["row_offsets"]
    for b, old in enumerate(inputs["old_lengths"]):
        for r in range(int(offsets[b]), int(offsets[b + 1])):
            yield r, b, int(old) + r - int(offsets[b]) + 1


def attention(pools, args, inputs, dtypes, of_values=lambda values: values):
    """`of_values` gives what is summed of values."""
    layout = pools.layout
    q = decode(inputs["q"], dtypes["q"])
    heads = q.shape[1]
    sinks = inputs.get("sinks", np.full(heads, -np.inf))
    # Rows of no sequence are not written: they stay what results begin with.
    out, lse = np.full(q.shape, np.nan), np.full(q.shape[:2], np.nan)
    cache = {}
    for r, b, end in _rows(inputs):
        begin = max(0, end - args["window"]) if args.get("window") else 0
        if b not in cache:
            last = (int(inputs["old_lengths"][b]) + int(inputs["row_offsets"][b + 1])
                    - int(inputs["row_offsets"][b]))
            cache = {b: (begin, [tokens_of_sequence(
                pools, inputs, side, args["l"], b, range(begin, last))
                for side in (0, 1)])}
        first, (keys, values) = cache[b]
        for h in range(heads):
            of = h // (heads // layout.H)
            x = keys[begin - first:end - first, of] @ q[r, h] * args["scale"]
            if args.get("softcap"):
                x = args["softcap"] * np.tanh(x / args["softcap"])
            out[r, h], lse[r, h] = softmax_sum(
                x, of_values(values[begin - first:end - first, of]), sinks[h])
    return {"out": out, "lse": lse}


def _latents_in_slots(pools, args, slots, scale_slots):
    """Keys that lists of slots name; negative entries name none."""
    layout = pools.layout
    rows = lambda of: np.stack([of // layout.P, of % layout.P], axis=1)
    scale_slots, slots = scale_slots[slots >= 0], slots[slots >= 0]
    numbers = _stored(pools.get("codes", rows(slots), 0, args["l"]), layout.dtype)
    if layout.G:
        scales = _stored(pools.get("scales", rows(scale_slots), 0, args["l"]),
                         layout.scale_dtype) * layout.global_scale
        numbers *= np.repeat(scales, layout.g, axis=-1)[..., :layout.coded]
    return numbers[:, 0]


def mla_decode(pools, args, inputs, dtypes, of_values=lambda values: values):
    q = decode(inputs["q"], dtypes["q"])
    q_scale = inputs.get("q_scale", np.ones(q.shape[:2], np.float32))
    out = np.full((*q.shape[:2], args["v_dim"]), np.nan)
    lse = np.full(q.shape[:2], np.nan)
    for r, b, end in _rows(inputs):
        if "slots" in inputs:
            slots = inputs["slots"][r].astype(np.int64)
            scale_slots = inputs.get("scale_slots", inputs["slots"])[r]
            keys = _latents_in_slots(pools, args, slots,
                                     scale_slots.astype(np.int64))
        else:
            keys = tokens_of_sequence(pools, inputs, 0, args["l"], b,
                                      range(end))[:, 0]
        for h in range(q.shape[1]):
            x = keys @ q[r, h] * float(q_scale[r, h]) * args["scale"]
            out[r, h], lse[r, h] = softmax_sum(x, of_values(keys[:, :args["v_dim"]]))
    return {"out": out, "lse": lse}
