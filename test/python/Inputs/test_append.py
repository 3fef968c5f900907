# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import ml_dtypes
import numpy as np
from reference import tokens
from util import raises

import kvcache

FP8 = kvcache.Layout("f8E4M3FN", heads=2, head_size=64, page_size=8, scales="f32",
                     granularity=32)
BF16 = kvcache.Layout("bf16", heads=1, head_size=64, page_size=8)
TABLE = np.array([[3, 1], [0, 2]], np.int32)


def rows(*shape, seed=5):
    return np.random.default_rng(seed).normal(size=shape).astype(ml_dtypes.bfloat16)


def turned(x, positions, cos, sin, style, start=0):
    x, n = np.float64(x).copy(), cos.shape[1]
    if style == "half":
        first = np.arange(start, start + n)
        second = first + n
    else:
        first = np.arange(start, start + 2 * n, 2)
        second = first + 1
    c, s = (np.float64(t[positions])[..., None, :] for t in (cos, sin))
    a, b = x[..., first], x[..., second]
    x[..., first], x[..., second] = a * c - b * s, b * c + a * s
    return x


def normalised(x, weight, eps):
    x, w = np.float64(x).copy(), len(weight)
    x[..., :w] *= weight / np.sqrt(np.mean(x[..., :w] ** 2, -1, keepdims=True) + eps)
    return x


def angles(count, columns):
    turns = np.arange(count)[:, None] * 100.0 ** (-np.arange(columns) / columns)
    return np.cos(turns).astype(np.float32), np.sin(turns).astype(np.float32)


def test_options_of_quantisation():
    """Scales as documented, bit by bit; codes by ml_dtypes."""
    x = rows(3, 2, 64)
    pool = FP8.allocate(num_blocks=4, layers=1)
    for options in (dict(contract="power_of_two", apply="divide"),
                    dict(floor=3.0, floor_on="amax", apply="divide"),
                    dict(floor=0.125, apply="divide", global_scale=True)):
        k = kvcache.compile("quantize_append", FP8, side="key", form="slots", **options)
        more = {"global_scale": 0.5} if options.get("global_scale") else {}
        k(pool, lengths=[0, 0], table=TABLE, key_rows=x, slots=[25, -1, 7], **more)
        for row, block, slot in ((0, 3, 1), (2, 0, 7)):
            granules = np.float32(x[row]).reshape(2, 2, 32)
            amax = np.abs(granules).max(-1)
            if options.get("floor_on") == "amax":
                amax = np.maximum(amax, np.float32(options["floor"]))
            scale = amax / np.float32(448) / np.float32(more.get("global_scale", 1))
            if "floor" in options and options.get("floor_on") != "amax":
                scale = np.maximum(scale, np.float32(options["floor"]))
            if options.get("contract") == "power_of_two":
                scale = np.exp2(np.ceil(np.log2(np.float64(scale)))).astype(np.float32)
            np.testing.assert_array_equal(pool.scales[block, 0, 0, slot], scale)
            s = scale * np.float32(more.get("global_scale", 1))
            codes = (granules / s[..., None]).astype(ml_dtypes.float8_e4m3fn)
            np.testing.assert_array_equal(
                pool.blocks[block, 0, 0, slot].reshape(2, 2, 32).view(np.uint8),
                codes.view(np.uint8))
    # The second row went nowhere.
    assert np.count_nonzero(np.float32(pool.blocks).any((1, 2, 4, 5))) == 2
    with raises(ValueError, "expected contract to be one of arbitrary, power_of_two, got 'two'"):
        kvcache.compile("quantize_append", FP8, contract="two")
    with raises(ValueError, "expected form to be one of ragged, padded, positions, slots"):
        kvcache.compile("append", FP8, form="rag")


def test_forms_of_append():
    pool = BF16.allocate(num_blocks=4, layers=2)
    x = rows(2, 3, 1, 64)
    kvcache.compile("append", BF16, form="padded")(
        pool, lengths=[6, 0], table=TABLE, layer=1, new_lengths=[3, 1], key_rows=x,
        value_rows=-x)
    np.testing.assert_array_equal(tokens(pool, TABLE[0], 9, 1, 0)[6:], np.float32(x[0]))
    np.testing.assert_array_equal(tokens(pool, TABLE[1], 1, 1, 1), -np.float32(x[1, :1]))
    assert not np.any(tokens(pool, TABLE[1], 16, 1)[1:])
    kvcache.compile("append", BF16, form="positions", side="value", rows="f32")(
        pool, lengths=[0, 0], table=TABLE, sequences=[1, 0], positions=[9, 2],
        value_rows=np.float32(x[0, :2]))
    np.testing.assert_array_equal(tokens(pool, TABLE[1], 10, 0, 1)[9], np.float32(x[0, 0]))
    np.testing.assert_array_equal(tokens(pool, TABLE[0], 3, 0, 1)[2], np.float32(x[0, 1]))
    k = kvcache.compile("append", BF16, form="padded", side="key")
    with raises(kvcache.ArgumentError, "expected at least 3 pages for 17 tokens, got 2"):
        k(pool, lengths=[15, 0], table=TABLE, new_lengths=[2, 0], key_rows=x)
    # Under `skip` such rows go nowhere.
    before = pool.blocks.copy()
    kvcache.compile("append", BF16, form="padded", side="key", policy="skip")(
        pool, lengths=[16, 0], table=TABLE, new_lengths=[2, 0], key_rows=x)
    np.testing.assert_array_equal(pool.blocks, before)


def test_repeated_rows():
    """The last of several rows for one slot stands, with its scales."""
    own = kvcache.Layout("f8E4M3FN", heads=2, head_size=64, page_size=8, scales="f32",
                         granularity=32, scales_table="own")
    x = rows(40, 2, 64)
    slots, scale_slots = (np.random.default_rng(seed).integers(0, 9, 40) for seed in (1, 2))
    for layout in (FP8, own):
        more = {"scale_slots": scale_slots} if layout is own else {}
        of_scales = more.get("scale_slots", slots)
        pool, one = (layout.allocate(num_blocks=4, layers=1) for _ in range(2))
        arguments = dict(lengths=[0], table=[[0, 1]])
        if layout is own:
            arguments["scales_table"] = [[0, 1]]
        kvcache.compile("quantize_append", layout, side="key", form="slots", repeated=True)(
            pool, key_rows=x, slots=slots, **more, **arguments)
        each = kvcache.compile("quantize_append", layout, side="key", form="slots")
        for row in range(len(x)):
            each(one, key_rows=x[row:row + 1], slots=slots[row:row + 1], **arguments,
                 **{name: array[row:row + 1] for name, array in more.items()})
        np.testing.assert_array_equal(pool.blocks.view(np.uint8), one.blocks.view(np.uint8))
        np.testing.assert_array_equal(pool.scales, one.scales)
        scales = np.random.default_rng(2).uniform(size=(40, 2, 2)).astype(np.float32)
        kvcache.compile("append_scales", layout, side="key", form="slots", repeated=True)(
            pool, key_scales=scales, slots=of_scales, **arguments)
        with raises(kvcache.ArgumentError, r"'slots': expected a slot for each row, got \[5\] for "
                    "rows 0 and 2; compile with repeated=True"):
            each(one, key_rows=x[:3], slots=[5, -1, 5], **arguments,
                 **{name: [1, 2, 3] for name in more})
        for slot in range(9):
            last = np.flatnonzero(of_scales == slot)[-1]
            np.testing.assert_array_equal(pool.scales[slot // 8, 0, 0, slot % 8], scales[last])


def test_rows_that_share_a_slot_are_refused():
    pool = BF16.allocate(num_blocks=4, layers=1)
    k = kvcache.compile("append", BF16, side="key", form="positions")
    with raises(kvcache.ArgumentError, r"'positions': expected a slot for each row, got \[1, 9\] "
                "for rows 1 and 3"):
        k(pool, lengths=[0, 0], table=TABLE, sequences=[0, 1, 1, 1], positions=[9, 9, 8, 9],
          key_rows=rows(4, 1, 64))
    # What is left out has none.
    k = kvcache.compile("append", BF16, side="key", form="slots", policy="skip")
    k(pool, lengths=[0, 0], table=TABLE, slots=[32, -1, 32, -1], key_rows=rows(4, 1, 64))


def test_append_scales():
    pool = FP8.allocate(num_blocks=4, layers=1)
    scales = np.random.default_rng(2).uniform(size=(2, 2, 2)).astype(np.float32)
    kvcache.compile("append_scales", FP8, side="value")(
        pool, lengths=[7, 0], table=TABLE, offsets=[0, 2, 2], value_scales=scales)
    np.testing.assert_array_equal(pool.scales[3, 1, 0, 7], scales[0])
    np.testing.assert_array_equal(pool.scales[1, 1, 0, 0], scales[1])
    with raises(ValueError, "expected a layout with scales, got one without"):
        kvcache.compile("append_scales", BF16)


def test_rope_and_norm():
    x, (cos, sin) = rows(5, 2, 64), angles(40, 32)
    positions = [0, 39, 7, 7, 1]
    for style in ("half", "interleaved"):
        out = kvcache.compile("rope", heads=2, head_size=64, style=style, out="f32")(
            x=x, positions=positions, cos=cos, sin=sin)
        np.testing.assert_allclose(out, turned(x, positions, cos, sin, style), atol=1e-6)
    weight = np.random.default_rng(3).uniform(0.5, 2, 48).astype(np.float32)
    out = kvcache.compile("rms_norm", heads=2, head_size=64, norm_size=48, out="f32")(
        x=x, weight=weight)
    np.testing.assert_allclose(out, normalised(x, weight, 1e-6), rtol=1e-5, atol=1e-6)


def test_rope_quantize_append():
    """The tail turns and stays as it is; what comes before is normalised and quantised."""
    layout = kvcache.Layout("f8E4M3FN", heads=1, head_size=96, page_size=8, scales="f32",
                            granularity=32, mla=True, placement="inline", rope=("bf16", 32))
    pool = layout.allocate(num_blocks=4, layers=1)
    x, (cos, sin) = rows(3, 1, 96), angles(20, 16)
    weight = np.random.default_rng(3).uniform(0.5, 2, 64).astype(np.float32)
    k = kvcache.compile("rope_quantize_append", layout, norm_size=64)
    k(pool, lengths=[9, 0], table=TABLE, offsets=[0, 2, 3], key_rows=x, cos=cos, sin=sin,
      weight=weight)
    got = kvcache.compile("gather", layout)(pool, lengths=[11, 1], table=TABLE)
    got = np.concatenate([got[0, 9:11], got[1, :1]])
    want = turned(normalised(x, weight, 1e-6), [9, 10, 0], cos, sin, "interleaved", 64)
    np.testing.assert_allclose(got[..., 64:], want[..., 64:], rtol=2.0**-8, atol=1e-6)
    largest = np.abs(want[..., :64]).reshape(3, 1, 2, 32).max(-1).repeat(32, -1)
    assert np.all(np.abs(got[..., :64] - want[..., :64]) <= largest / 28 + 1e-6)


def test_rope_append_without_scales():
    pool, x, (cos, sin) = BF16.allocate(num_blocks=4, layers=1), rows(2, 1, 64), angles(40, 32)
    k = kvcache.compile("rope_quantize_append", BF16, form="slots", style="half")
    k(pool, lengths=[0, 0], table=TABLE, slots=[8, 30], rope_positions=[3, 33], key_rows=x,
      cos=cos, sin=sin)
    want = turned(x, [3, 33], cos, sin, "half")
    np.testing.assert_allclose(np.float32(pool.blocks[[1, 3], 0, 0, [0, 6]]), want,
                               rtol=2.0**-8, atol=1e-6)
