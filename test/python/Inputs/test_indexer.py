# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import ml_dtypes
import numpy as np
from reference import best, filled, tokens
from util import raises

import kvcache

LAYOUT = kvcache.Layout("f8E4M3FN", heads=1, head_size=64, page_size=16, scales="f32", mla=True)
LENGTHS, TABLE, OFFSETS = [30, 17], np.array([[3, 1, 4], [0, 2, 5]], np.int32), [0, 2, 3]


def given():
    chance = np.random.default_rng(7)
    return dict(lengths=LENGTHS, table=TABLE, layer=1, offsets=OFFSETS,
                queries=chance.normal(size=(3, 8, 64)).astype(ml_dtypes.float8_e4m3fn),
                weights=chance.normal(size=(3, 8)).astype(np.float32))


def reference(pool, arguments, columns):
    """Scores [T, columns] and how many keys each row sees."""
    scores, live = np.full((3, columns), -np.inf), []
    for b, length in enumerate(LENGTHS):
        for row in range(OFFSETS[b], OFFSETS[b + 1]):
            live.append(length + row - OFFSETS[b] + 1)
            keys = np.float64(tokens(pool, TABLE[b], live[-1], 1)[:, 0])
            products = np.maximum(0, keys @ np.float64(arguments["queries"][row]).T)
            scores[row, :live[-1]] = products @ np.float64(arguments["weights"][row])
    return scores, live


def test_scores_and_the_best_of_them():
    pool, arguments = filled(LAYOUT, 6), given()
    got = kvcache.compile("indexer_scores", LAYOUT, query_heads=8)(pool, **arguments)
    assert got.shape == (3, 32)
    k = kvcache.compile("indexer_scores", LAYOUT, query_heads=8, global_scale=True)
    np.testing.assert_array_equal(k(pool, global_scale=0.25, **arguments), got / 4)
    want, live = reference(pool, arguments, 32)
    for row in range(3):
        n = live[row]
        assert np.all(np.isneginf(got[row, n:]))
        np.testing.assert_allclose(got[row, :n], want[row, :n], rtol=1e-5, atol=2e-3)
    # A choice is exact with respect to the scores that the kernels themselves give.
    chosen = np.stack([best(got[row], live[row], 20) for row in range(3)])
    for parts in (None, 2):
        k = kvcache.compile("indexer_topk", LAYOUT, query_heads=8, k=20, values=True, parts=parts)
        indices, values = k(pool, **arguments)
        np.testing.assert_array_equal(indices, chosen)
        np.testing.assert_array_equal(
            values, np.where(chosen < 0, -np.inf, np.take_along_axis(got, chosen, 1)))
    k = kvcache.compile("indexer_topk", LAYOUT, query_heads=8, k=20, scores=True)
    indices, scores = k(pool, columns=40, **arguments)
    assert scores.shape == (3, 40)
    np.testing.assert_array_equal(indices, chosen)
    np.testing.assert_array_equal(scores[:, :32], got)


def test_topk():
    scores = np.random.default_rng(4).integers(-9, 9, (5, 300)).astype(np.float32)
    live = np.array([300, 12, 0, 999, 1], np.int32)
    indices, values = kvcache.compile("topk", k=16, values=True)(scores=scores, live=live)
    want = np.stack([best(scores[r], min(300, live[r]), 16) for r in range(5)])
    np.testing.assert_array_equal(indices, want)
    np.testing.assert_array_equal(
        values, np.where(want < 0, -np.inf, np.take_along_axis(scores, want, 1)))
    k = kvcache.compile("topk", k=16)
    with raises(kvcache.ArgumentError, "expected no pool, got Pool"):
        k(filled(LAYOUT, 1), scores=scores, live=live)
    with raises(ValueError, "expected no layout for kernel 'topk'"):
        kvcache.compile("topk", LAYOUT, k=16)
    with raises(ValueError, "expected k to be an integer of at least 1, got 0"):
        kvcache.compile("topk", k=0)
    with raises(kvcache.ArgumentError, "'scores': expected elements of f32, got f64"):
        k(scores=np.float64(scores), live=live)
    with raises(kvcache.ArgumentError, "missing argument 'scores'"):
        k(live=live)


def test_remap_indices():
    pool = filled(LAYOUT, 6)
    indices = np.array([[0, 29, 31, -1], [16, 32, 5, 15], [17, 3, 18, 2]], np.int32)
    k = kvcache.compile("remap_indices", LAYOUT, k=4, ragged=True, scale_slots=True)
    slots, scale_slots = k(pool, lengths=LENGTHS, table=TABLE, offsets=OFFSETS, indices=indices)
    for row, b in enumerate((0, 0, 1)):
        # With the tokens of this step.
        live = LENGTHS[b] + OFFSETS[b + 1] - OFFSETS[b]
        for j, t in enumerate(indices[row]):
            want = TABLE[b][t // 16] * 16 + t % 16 if 0 <= t < live else -1
            assert slots[row, j] == scale_slots[row, j] == want
    k = kvcache.compile("remap_indices", LAYOUT, k=4, slots="i32", policy="skip")
    padded = k(pool, lengths=LENGTHS, table=TABLE, indices=indices[:2])
    assert padded.dtype == np.int32
    np.testing.assert_array_equal(padded, [[48, 29, -1, -1], [32, -1, 5, 15]])
