# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import numpy as np
from reference import filled, tokens
from util import raises

import kvcache

SHAPE = dict(heads=2, head_size=64, page_size=8, scales="f32", granularity=32)
LAYOUT = kvcache.Layout("f8E4M3FN", **SHAPE)
OWN = kvcache.Layout("f8E4M3FN", **SHAPE, scales_table="own")


def bits(array):
    return np.ascontiguousarray(array).view(np.uint8)


def test_copy_pages():
    """Chains and circles, of values and of scales that lie elsewhere, in one layer."""
    pool = filled(OWN, 5, scales_blocks=4)
    blocks, scales = pool.blocks.copy(), pool.scales.copy()
    kvcache.compile("copy_pages", OWN, layers=[1])(
        pool, pairs=[(0, 1), (1, 0), (1, 3)], scales_pairs=[(3, 2)])
    want = blocks.copy()
    want[[1, 0, 3], :, 1] = blocks[[0, 1, 1], :, 1]
    np.testing.assert_array_equal(bits(pool.blocks), bits(want))
    scales[2, :, 1] = scales[3, :, 1]
    np.testing.assert_array_equal(pool.scales, scales)


def test_copy_pages_disjoint_takes_no_scratch():
    pool = filled(LAYOUT, 4)
    k = kvcache.compile("copy_pages", LAYOUT, disjoint=True)
    want = pool.blocks[[0, 1, 0, 1]].copy()
    k(pool, pairs=[(0, 2), (1, 3)])
    np.testing.assert_array_equal(bits(pool.blocks), bits(want))
    with raises(kvcache.ArgumentError, "unknown argument 'scratch'"):
        k(pool, pairs=[(0, 2)], scratch=np.zeros(4, np.int32))
    with raises(kvcache.ArgumentError, "'pairs': expected size 2 of dimension 1, got 3"):
        k(pool, pairs=[(0, 2, 1)])
    with raises(kvcache.ArgumentError, "'pairs': expected integers, got float64"):
        k(pool, pairs=[(0.5, 2)])


def test_move_tokens():
    pool = filled(LAYOUT, 4)
    # [block, side, layer, slot, …] to one row a slot.
    def slots(array):
        return np.moveaxis(array, 3, 1).reshape(32, *array.shape[1:3], *array.shape[4:])

    sources, destinations = [0, 9, 31, 8], [9, 0, 8, 30]
    want = [slots(array).copy() for array in (pool.blocks, pool.scales)]
    for array in want:
        array[destinations] = array[sources]
    kvcache.compile("move_tokens", LAYOUT)(pool, sources=sources, destinations=destinations)
    for array, expected in zip((pool.blocks, pool.scales), want):
        np.testing.assert_array_equal(bits(slots(array)), bits(expected))


def test_clear_pages():
    pool = filled(OWN, 4, scales_blocks=4)
    blocks, scales = pool.blocks.copy(), pool.scales.copy()
    kvcache.compile("clear_pages", OWN, layers=[0])(pool, pages=[1, 3], scales_pages=[2])
    blocks[[1, 3], :, 0] = 0
    scales[2, :, 0] = 0
    np.testing.assert_array_equal(bits(pool.blocks), bits(blocks))
    np.testing.assert_array_equal(pool.scales, scales)
    # Under `skip` a block that is not there is none.
    kvcache.compile("clear_pages", OWN, policy="skip")(pool, pages=[99], scales_pages=[-1])
    np.testing.assert_array_equal(bits(pool.blocks), bits(blocks))


def test_compact():
    pool = filled(LAYOUT, 8)
    lengths, table = [17, 3], np.array([[6, 2, 5, 7], [2, 1, 1, 1]], np.int32)
    before = [tokens(pool, table[b], n, 1).copy() for b, n in enumerate(lengths)]
    new = kvcache.compile("compact", LAYOUT)(pool, lengths=lengths, table=table)
    # Block 2 is shared; entries behind the last token stay.
    np.testing.assert_array_equal(new, [[0, 1, 2, 7], [1, 1, 1, 1]])
    for b, n in enumerate(lengths):
        np.testing.assert_array_equal(tokens(pool, new[b], n, 1), before[b])


def test_compact_with_a_table_of_scales():
    pool = filled(OWN, 8, scales_blocks=5)
    lengths, table = [17, 3], np.array([[6, 2, 5], [3, 0, 0]], np.int32)
    scales_table = np.array([[4, 2, 0], [1, 0, 0]], np.int32)
    before = [tokens(pool, table[b], n, 0, 1, scales_table[b]).copy()
              for b, n in enumerate(lengths)]
    new, new_scales = kvcache.compile("compact", OWN)(pool, lengths=lengths, table=table,
                                                      scales_table=scales_table)
    np.testing.assert_array_equal(new, [[0, 1, 2], [3, 0, 0]])
    np.testing.assert_array_equal(new_scales, [[0, 1, 2], [3, 0, 0]])
    for b, n in enumerate(lengths):
        np.testing.assert_array_equal(tokens(pool, new[b], n, 0, 1, new_scales[b]), before[b])


def test_convert_layout():
    target = kvcache.Layout("f8E4M3FN", **SHAPE, placement="page_split", order="hnd")
    pool, other = filled(LAYOUT, 3), target.allocate(num_blocks=4, layers=2)
    kvcache.compile("convert_layout", LAYOUT, target=target)(pool, target=other)
    gather = kvcache.compile("gather", target)
    out = gather(other, lengths=[24], table=[[2, 0, 1]], layer=1)
    np.testing.assert_array_equal(out[0], tokens(pool, [2, 0, 1], 24, 1))
    k = kvcache.compile("convert_layout", LAYOUT, target=target)
    with raises(kvcache.ArgumentError, "expected a pool as 'target', got NoneType"):
        k(pool)
    with raises(kvcache.ArgumentError, "expected a pool of the kernel's layout as 'target'"):
        k(pool, target=pool)
    with raises(ValueError, "expected target to be a layout"):
        kvcache.compile("convert_layout", LAYOUT, target="hnd")
    with raises(kvcache.CompileError, "'kvcache.convert_layout' op "):
        kvcache.compile("convert_layout", LAYOUT, target=kvcache.Layout("bf16", 2, 64, 8))
