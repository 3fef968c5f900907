# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the building blocks of the indexer must give, by NumPy."""
import numpy as np

from attention_caches import Cache, Words
from block_runner import COLUMN, E4M3, ROW, floats, require
from pool_layout import PoolLayout


def keys_layout(page_size, head_size):
    return PoolLayout(dtype="f8E4M3FN", H=1, D=head_size, P=page_size, L=2, is_mla=True,
                      scale_dtype="f32", g=head_size)


def check_token_rows(run):
    """Sequences without tokens, rows before the first and behind the last one."""
    cache = Cache(keys_layout(64, 96))
    lengths = cache.case.inputs["cache_lengths"]
    lengths[:] = [100, 7]
    offsets = np.array([3, 8, 8], np.uint32)

    def extend(text):
        text.argument("offsets", offsets, "u32", static_dims=0)
        cache.extend(text)
    for offsets[:] in ([3, 8, 20], [0, 0, 31], [2, 12, 12]):
        rows = np.arange(32)
        words = np.stack([rows, rows % 2]).astype(np.int32)
        got = run(words, 8, extend)["out"]
        batch = np.searchsorted(offsets, rows, side="right") - 1
        is_of_one = (batch >= 0) & (batch < 2)
        batch[~is_of_one] = 0
        new = np.stack([np.zeros(32, int), rows - offsets[batch].astype(int) + 1,
                        np.diff(offsets.astype(int))[batch]])
        want = np.where(is_of_one, lengths[batch].astype(int) + new, 0)
        require(run.block, "a sequence", got[:6:2] == batch)
        require(run.block, "tokens", got[1:6:2] == want)
        require(run.block, "a row of each sequence", got[6] == rows % 2)
        require(run.block, "its tokens", got[7] == lengths[rows % 2])


def check_keys(page_size):
    """A tile that ends beyond the tokens; a page whose block does not exist."""
    def check(run):
        cache, start, live = Cache(keys_layout(page_size, 96), own_table=True), 64, 91
        real, missing = cache.table.copy(), 70 // page_size
        cache.table[1, missing] = 0xFFFFFFFF
        words = np.repeat(np.array([[1], [start], [live]], np.int32), 32, 1)
        out = Words(run(words, 26, cache.extend)["out"])
        cache.table[:] = real
        has = lambda tokens: (tokens < live) & (tokens // page_size != missing)
        for group in range(4):
            token = start + 8 * group + ROW
            codes = cache.codes(1, 0, 0, np.minimum(token, live - 1))[..., 0]
            # 16 bytes of 64 elements, 8 of 32.
            for first, size in ((0, 16), (64, 8)):
                got = np.ascontiguousarray(out.take(size // 4).T).view(np.uint8)
                chosen = first + COLUMN[:, None] * size + np.arange(size)
                want = np.take_along_axis(codes, chosen, 1)
                require(run.block, "a key", (got == want)[has(token)])
                require(run.block, "what is no key", got[token >= live] == 0)
        token = start + 8 * COLUMN + ROW
        scales = cache.scales(1, 0, 0, np.minimum(token, live - 1))[:, 0]
        got, valid = out.take(2)
        require(run.block, "a scale", floats(got)[has(token)] == scales[has(token)])
        require(run.block, "no scale", floats(got)[token >= live] == 7)
        there = token < live
        require(run.block, "whether there is one", (valid != 0)[there] == has(token)[there])

    return check


def check_blocks(run):
    """A page is looked up by its first tile, if that is not behind the end."""
    cache, before = Cache(keys_layout(64, 96), own_table=True), [1234, 4321]
    for start, page in ((0, 0), (32, None), (64, 1), (96, None), (128, None)):
        words = np.array([1, start, 100, *before], np.int32)
        got = run(np.repeat(words[:, None], 32, 1), 2, cache.extend)["out"]
        want = before if page is None else [cache.table[1, page],
                                            cache.scales_table[1, page]]
        require(run.block, f"a block of {start}", got.T == want)


def check_scores(page_size, head_size, counts, warps, turns, by_warp, pitches=(0,)):
    """Keys of a page that does not exist, where tiles are by warp; one is NaN.
    `counts` are of heads: with weights in registers, and with more than there is
    room for. `pitches` are from row to row of queries, where these are of more than a
    head."""
    def check_heads(run, heads, pitch):
        random = np.random.default_rng(15)
        cache = Cache(keys_layout(page_size, head_size), own_table=True, length=300)
        lengths = cache.case.inputs["cache_lengths"]
        lengths[:] = [250, 290]
        no_number = 70
        cache.pools.put("codes", cache.rows(cache.table, 1, np.array([no_number])), 0, 1,
                        np.full((1, 1, head_size), 0x7F, np.uint8))
        rows = (2 * random.standard_normal((5, heads, pitch or head_size))).astype(E4M3)
        q = rows[..., :head_size]
        weights = random.standard_normal((5, heads)).astype(np.float32)
        offsets, row, factor = np.array([0, 1, 5], np.uint32), 2, np.float32(-0.3)
        live = 290 + 2
        tokens = np.arange(live)
        keys = cache.codes(1, 0, 0, tokens)[..., 0].view(E4M3).astype(np.float64)
        scales = cache.scales(1, 0, 0, tokens)[:, 0].astype(np.float64) * factor
        missing = np.zeros(live, bool)
        if by_warp:
            missing = tokens // page_size == 100 // page_size
            cache.table[1, 100 // page_size] = 0xFFFFFFFF

        def extend(text):
            text.argument("q", rows.view(np.uint8), "f8E4M3FN", static_dims=2)
            text.argument("weights", weights, "f32", static_dims=1)
            text.argument("offsets", offsets, "u32", static_dims=0)
            text.argument("global_scale", np.array(factor), "f32")
            cache.extend(text)
        out = Words(run(np.full((1, 32 * warps), row, np.int32), 1 + 2 * turns,
                        extend)["out"])
        require(run.block, "the end of the row", out.take(1) == live)
        numbers, of_heads = q[row].astype(np.float64), weights[row].astype(np.float64)
        want = np.maximum(keys @ numbers.T, 0) @ of_heads * scales
        bound = 1e-6 * (np.abs(keys) @ np.abs(numbers).T) @ np.abs(of_heads) * np.abs(scales)
        want[missing] = -np.inf
        for turn in reversed(range(turns)):
            token, score = out.take(2).reshape(2, warps, 32)
            for warp in range(warps):
                tile = warp * turns + turn if by_warp else turn * warps + warp
                require(run.block, "a token", token[warp] == 32 * tile + 8 * COLUMN + ROW)
                at = token[warp][token[warp] < live]
                got = floats(score[warp])[token[warp] < live].astype(np.float64)
                with np.errstate(invalid="ignore"):
                    right = (np.abs(got - want[at]) <= bound[at]) | (got == want[at])
                require(run.block, f"a score of {heads} heads",
                        np.where(at == no_number, np.isnan(got), right))

    return lambda run: [check_heads(run, heads, pitch) for heads in counts
                        for pitch in pitches]


def check_candidates(k, threads, span):
    """Ranks of which many are equal, the best of them in the end; `span` is how many
    there are."""
    def check(run):
        random = np.random.default_rng(16)
        ranks = random.integers(0, span, (64, threads)) * (2**32 // span)
        ranks = (2**32 - 1 - np.sort(ranks.ravel())).reshape(ranks.shape)
        ranks[random.random(ranks.shape) < 0.5] |= 0xFFFFF
        ranks = ranks.astype(np.uint32)

        def extend(text):
            text.argument("ranks", ranks, "u32", static_dims=1)
            text.argument("best", np.full((2, k), 0xA5A5A5A5, np.uint32), "u32",
                          is_output=True, static_dims=1)
        got = run(np.zeros((1, threads), np.int32), 0, extend)["best"]
        indices = np.arange(ranks.size)
        indices = indices[indices % 7 != 3]
        best = indices[np.lexsort((indices, ranks.ravel()[indices]))[:k]]
        require(run.block, "an index", got[1] == best)
        require(run.block, "a rank", got[0] == ranks.ravel()[best])

    return check


CHECKS = {
    "token-rows": check_token_rows,
    "keys-of-pages": check_keys(64),
    "keys-of-short-pages": check_keys(3),
    "blocks-of-pages": check_blocks,
    "key-scores-by-warp": check_scores(16, 96, (33, 97), 2, 5, True),
    "key-scores-by-warpgroup": check_scores(64, 128, (64, 128), 4, 3, False),
    "key-scores-of-slices": check_scores(32, 112, (9,), 1, 10, False, (128, 120, 113)),
    "candidates": check_candidates(100, 64, 50),
    "candidates-beside-queries": check_candidates(2048, 128, 2**16),
}
