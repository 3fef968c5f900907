# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Caches with something in them, and what kernels should make of it, by NumPy."""

import numpy as np


def filled(layout, num_blocks, layers=2, seed=0, scales_blocks=None):
    """A pool of random numbers; scales are between 1/2 and 2."""
    pool = layout.allocate(num_blocks, layers, scales_blocks=scales_blocks)
    chance = np.random.default_rng(seed)
    pool.blocks[...] = chance.normal(size=pool.blocks.shape).astype(pool.blocks.dtype)
    if pool.scales is not None:
        pool.scales[...] = chance.uniform(0.5, 2, pool.scales.shape).astype(pool.scales.dtype)
    return pool


def tokens(pool, blocks, count, layer=0, side=0, scales_blocks=None):
    """The first `count` tokens of a sequence in these blocks, dequantised: [count, H, D]."""
    layout = pool.layout
    values = np.float32(pool.blocks[np.asarray(blocks), side, layer])
    if pool.scales is not None:
        scales = np.float32(
            pool.scales[np.asarray(blocks if scales_blocks is None else scales_blocks),
                        side, layer])
        values = values * np.repeat(scales, layout.granularity, axis=-1)
    return values.reshape(-1, layout.heads, layout.head_size)[:count]


def attention(queries, keys, values, scale, visible, window=None, softcap=None, sinks=None):
    """Of one row [Hq, D] to the first `visible` tokens of [T, H, D], in float64: the
    result and the logarithm of the sum."""
    first = max(0, visible - window) if window else 0
    keys, values = (np.float64(a[first:visible]) for a in (keys, values))
    group = queries.shape[0] // keys.shape[1]
    out, lse = np.zeros((queries.shape[0], values.shape[2])), np.zeros(queries.shape[0])
    for h, query in enumerate(np.float64(queries)):
        x = scale * (keys[:, h // group] @ query)
        if softcap:
            x = softcap * np.tanh(x / softcap)
        weights = np.exp(x)
        total = weights.sum() + (np.exp(np.float64(sinks[h])) if sinks is not None else 0)
        out[h], lse[h] = weights @ values[:, h // group] / total, np.log(total)
    return out, lse


def best(scores, live, k):
    """Indices of the k greatest of the first `live`, of equal ones the lower first."""
    order = np.argsort(-np.asarray(scores[:live]), kind="stable")[:k]
    return np.concatenate([order, np.full(k - len(order), -1)]).astype(np.int32)
