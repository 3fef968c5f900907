# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import ml_dtypes
import numpy as np
from reference import attention, filled, tokens
from util import raises

import kvcache

GQA = kvcache.Layout("f8E4M3FN", heads=2, head_size=64, page_size=8, scales="f32",
                     granularity=32)
MLA = kvcache.Layout("f8E4M3FN", heads=1, head_size=128, page_size=8, scales="f32", mla=True,
                     scales_table="own")
LENGTHS, TABLE, OFFSETS = [9, 4], np.array([[3, 1], [0, 2]], np.int32), [0, 3, 4]


def close(got, want):
    """Within 2e-3 of each row's largest, and the rounding of the output's dtype."""
    limit = 2e-3 * np.abs(want).max(-1, keepdims=True)
    if got.dtype == ml_dtypes.bfloat16:
        limit = limit + np.abs(want) * 2.0**-8
    assert np.any(want) and np.all(np.abs(np.float64(got) - want) <= limit)


def rows():
    """Row, its sequence, and how many tokens it sees."""
    for b, length in enumerate(LENGTHS):
        for i, row in enumerate(range(OFFSETS[b], OFFSETS[b + 1])):
            yield row, b, length + i + 1


def test_paged_attention():
    pool = filled(GQA, 4)
    queries = np.random.default_rng(1).normal(size=(4, 4, 64)).astype(ml_dtypes.bfloat16)
    sinks = np.float32([0, 1, -1, 2])
    for options in ({}, dict(scale=0.3, window=5, lse=True),
                    dict(softcap=2.0, sinks=True, lse=True, out="f32", parts=3,
                         global_scale=True)):
        k = kvcache.compile("paged_attention", GQA, query_heads=4, **options)
        more = {"sinks": sinks} if options.get("sinks") else {}
        scale = np.float32(0.5 if options.get("global_scale") else 1)
        if options.get("global_scale"):
            more["global_scale"] = scale
        result = k(pool, lengths=LENGTHS, table=TABLE, layer=1, queries=queries,
                   offsets=OFFSETS, tool="memcheck,racecheck", **more)
        out, lse = result if options.get("lse") else (result, None)
        assert out.shape == queries.shape
        for row, b, visible in rows():
            keys, values = (scale * tokens(pool, TABLE[b], visible, 1, side)
                            for side in (0, 1))
            want, logarithm = attention(
                queries[row], keys, values, options.get("scale", 64**-0.5), visible,
                options.get("window"), options.get("softcap"), more.get("sinks"))
            close(out[row], want)
            if lse is not None:
                assert np.all(np.abs(lse[row] - logarithm) < 1e-3)


def test_paged_attention_of_f16_without_scales():
    layout = kvcache.Layout("f16", heads=1, head_size=80, page_size=16)
    pool = filled(layout, 4)
    queries = np.random.default_rng(2).normal(size=(4, 2, 80)).astype(np.float16)
    k = kvcache.compile("paged_attention", layout, query_heads=2, out="f32", chip="sm_80")
    out = np.zeros((4, 2, 80), np.float32)
    assert k(pool, lengths=LENGTHS, table=TABLE[:, :1].copy(), queries=queries, offsets=OFFSETS,
             out=out) is out
    for row, b, visible in rows():
        keys, values = (tokens(pool, TABLE[b], visible, 0, side) for side in (0, 1))
        close(out[row], attention(queries[row], keys, values, 80**-0.5, visible)[0])


def test_mla_decode():
    pool = filled(MLA, 4, scales_blocks=5)
    scales_table = np.array([[4, 0], [2, 3]], np.int32)
    chance = np.random.default_rng(3)
    queries = chance.normal(size=(4, 3, 128)).astype(ml_dtypes.bfloat16)
    q_scales = chance.uniform(0.5, 1, (4, 3)).astype(np.float32)
    k = kvcache.compile("mla_decode", MLA, query_heads=3, value_size=64, q_scales=True, lse=True,
                        parts=2, scale=0.1)
    given = dict(table=TABLE, scales_table=scales_table, queries=queries, offsets=OFFSETS,
                 q_scales=q_scales)
    out, lse = k(pool, lengths=LENGTHS, **given)
    assert out.shape == (4, 3, 64)
    for row, b, visible in rows():
        keys = tokens(pool, TABLE[b], visible, scales_blocks=scales_table[b])
        want, logarithm = attention(np.float32(queries[row]) * q_scales[row][:, None], keys,
                                    keys[:, :, :64], 0.1, visible)
        close(out[row], want)
        assert np.all(np.abs(lse[row] - logarithm) < 1e-3)
    # The same tokens, named by slots: the results are those of all tokens.
    slots = np.full((4, 16), -1, np.int64)
    scale_slots = slots.copy()
    for row, b, visible in rows():
        t = np.arange(visible)
        slots[row, :visible] = TABLE[b][t // 8] * 8 + t % 8
        scale_slots[row, :visible] = scales_table[b][t // 8] * 8 + t % 8
    k = kvcache.compile("mla_decode", MLA, query_heads=3, value_size=64, q_scales=True, scale=0.1,
                        slots="i64", out="f32", global_scale=True)
    listed = k(pool, lengths=LENGTHS, slots=slots, scale_slots=scale_slots, global_scale=-2.0,
               **given)
    for row, b, visible in rows():
        keys = -2 * tokens(pool, TABLE[b], visible, scales_blocks=scales_table[b])
        close(listed[row], attention(np.float32(queries[row]) * q_scales[row][:, None], keys,
                                     keys[:, :, :64], 0.1, visible)[0])


def test_refusals():
    pool = filled(GQA, 4)
    queries = np.zeros((4, 4, 64), ml_dtypes.bfloat16)
    k = kvcache.compile("paged_attention", GQA, query_heads=4)
    good = dict(lengths=LENGTHS, table=TABLE, queries=queries, offsets=OFFSETS)
    cases = [
        ({**good, "queries": np.float32(queries)}, "'queries': expected elements of bf16, got f32"),
        ({**good, "queries": queries[:, :2]}, "'queries': expected size 4 of dimension 1, got 2"),
        ({**good, "queries": queries[..., ::-1]}, "'queries': expected stride 1 .* got -1"),
        ({**good, "offsets": [0, 3]}, "'offsets': expected 3 entries for 2 lengths, got 2"),
        ({**good, "offsets": [0, 3, 1]}, "'offsets': expected numbers that do not descend"),
        ({**good, "lengths": [14, 4]}, "'table': expected at least 3 pages for 17 tokens, got 2"),
        ({**good, "lengths": [2**40, 4]}, f"'lengths': expected numbers of i32, got {2**40}"),
        ({**good, "lengths": [0.5, 4]}, "'lengths': expected integers, got float64"),
        ({n: v for n, v in good.items() if n != "queries"}, "missing argument 'queries'"),
    ]
    for arguments, pattern in cases:
        with raises(kvcache.ArgumentError, pattern):
            k(pool, **arguments)
    k = kvcache.compile("paged_attention", GQA, query_heads=4, window=17)
    with raises(kvcache.ArgumentError, "'window': expected at most the 16 positions of 'table' "
                r"\(2 pages of 8 tokens\), got 17"):
        k(pool, **good)
    # Nothing is asked of a table of no sequence.
    assert k(pool, lengths=[], table=TABLE[:0], queries=queries[:0], offsets=[0]).size == 0
    with raises(ValueError, "expected query_heads to be an integer of at least 1, got 0"):
        kvcache.compile("paged_attention", GQA, query_heads=0)
    with raises(ValueError, "missing a required argument: 'query_heads'"):
        kvcache.compile("paged_attention", GQA)
    with raises(ValueError, "expected policy to be one of assume, skip, trap, got 'maybe'"):
        kvcache.compile("paged_attention", GQA, query_heads=4, policy="maybe")
    try:
        kvcache.compile("paged_attention", GQA, query_heads=3)
    except kvcache.CompileError as error:
        # One line that says it, with its place, and no dump of the operation.
        assert "'kvcache.paged_attention' op " in str(error) and "3" in str(error), error
        assert ":8:5: error" in str(error) and "\n" not in str(error), error
    else:
        raise AssertionError("expected an error")
