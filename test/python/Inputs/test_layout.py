# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import itertools

import ml_dtypes
import numpy as np
from util import raises

import kvcache

FP8 = dict(dtype="f8E4M3FN", heads=2, head_size=64, page_size=8, scales="f32", granularity=32)


def test_text():
    layout = kvcache.Layout(**FP8)
    assert layout.text == (
        "#kvcache.layout<f8E4M3FN, params = <num_heads = 2, head_size = 64>, page_size = 8, "
        "scales = <f32, granularity = 32>>"), layout.text


def test_refusals():
    with raises(ValueError, "expected num_heads to be at least 1, got 0"):
        kvcache.Layout("bf16", heads=0, head_size=64, page_size=8)
    with raises(ValueError, "expected an element type as MLIR spells it .*got 'fp8'"):
        kvcache.Layout("fp8", heads=1, head_size=64, page_size=8)
    with raises(ValueError, "expected scales for dtype 'i8', got none; add"):
        kvcache.Layout("i8", heads=1, head_size=64, page_size=8)
    with raises(ValueError, "expected placement to be one of pool, inline, page_split, got 'x'"):
        kvcache.Layout("bf16", heads=1, head_size=64, page_size=8, placement="x")
    with raises(ValueError, "expected scales with granularity 32, got none"):
        kvcache.Layout("bf16", heads=1, head_size=64, page_size=8, granularity=32)
    good = dict(dtype="f8E4M3FN", heads=1, head_size=64, page_size=8)
    for name in ("heads", "head_size", "page_size", "footer", "page_align"):
        with raises(ValueError, f"expected {name} to be an integer, got None"):
            kvcache.Layout(**{**good, name: None})
    for name, wrong in (("dtype", None), ("scales", ""), ("scales", 0), ("rope", (None, 32)),
                        ("rope", ("", 32))):
        with raises(ValueError, f"expected .*{name} to be an element type as MLIR spells it"):
            kvcache.Layout(**{**good, name: wrong})


def test_very_many_layers():
    layout = kvcache.Layout(**FP8)
    with raises(ValueError, "expected at most 65536 layers to list, got 1000000000"):
        layout.attr.layer_map(10**9)
    assert "999999997 more of 1024 bytes" in layout.explain(10**9)
    assert layout.explain(10**9)._repr_svg_() is None
    with raises(ValueError, "expected at most 1024 layers to draw, got 1000000000"):
        layout.explain(10**9).svg()
    with raises(ValueError, "expected a token of at most 1048576 places, got 1000000000 layers of 2 "
                            "sides, 2 heads and 2 scales a head; name fewer layers"):
        layout.explain(10**9, token=0, table=[[1]])


def test_places_are_those_of_numpy():
    layout = kvcache.Layout(**FP8)
    pool = layout.allocate(num_blocks=3, layers=2)
    base = pool.blocks.ctypes.data
    scale_base = pool.scales.ctypes.data
    for b, s, l, t, h, d in itertools.product((0, 2), (0, 1), (0, 1), (0, 7), (0, 1), (0, 33, 63)):
        where = dict(layers=2, block=b, side=("key", "value")[s], layer=l, slot=t, head=h, dim=d)
        assert layout.place(**where).offset == pool.blocks[b, s, l, t, h, d:].ctypes.data - base
        place = layout.scale_place(**where)
        assert place.offset == pool.scales[b, s, l, t, h, d // 32:].ctypes.data - scale_base
        assert (place.pool, place.bytes) == ("scales", 4)


def test_every_byte_has_one_owner():
    """No two elements or scales of a page overlap, and none lies outside of it."""
    layouts = [
        kvcache.Layout("f8E4M3FN", 1, 80, 8, scales="f32", granularity=32, mla=True,
                       placement="inline", rope=("bf16", 16)),
        kvcache.Layout("f8E4M3FN", 1, 80, 8, scales="f8E8M0FNU", granularity=32, mla=True,
                       placement="page_split", rope=("bf16", 16), footer=8, page_align=64),
        kvcache.Layout("f4E2M1FN", 2, 32, 8, scales="f8E4M3FN", granularity=16,
                       placement="page_split", order="hnd", swizzle="kv"),
        kvcache.Layout("f8E5M2", 2, 16, 4, scales="f16", granularity=16, placement="inline",
                       kv_inner=True),
        kvcache.Layout("bf16", 2, 16, 4, order="hnd"),
    ]
    for layout in layouts:
        used = np.zeros((layout.page_bytes(2)), int)
        sides = ("key", "value")[:layout.sides]
        for side, l, t, h in itertools.product(sides, range(2), range(layout.page_size),
                                               range(layout.heads)):
            where = dict(layers=2, block=0, side=side, layer=l, slot=t, head=h)
            for d in range(layout.head_size):
                place = layout.place(dim=d, **where)
                used[place.offset:place.offset + place.bytes] += 2 if place.high_half else 1
            for j in range(layout.scale_slots):
                place = layout.scale_place(dim=j * layout.granularity, **where)
                used[place.offset:place.offset + place.bytes] += 10
        assert set(np.unique(used)) <= ({0, 3, 10} if layout.dtype == "f4E2M1FN" else {0, 1, 10})
        bits = {"f4E2M1FN": 4, "bf16": 16}.get(layout.dtype, 8)
        tail = layout.rope[1] if layout.rope else 0
        values = (layout.head_size - tail) * bits // 8 + 2 * tail
        rows = len(sides) * 2 * layout.page_size * layout.heads
        assert np.count_nonzero((used == 1) | (used == 3)) == rows * values


def test_place_refusals():
    layout = kvcache.Layout(**FP8)
    where = dict(layers=2, block=0, slot=0, head=0, dim=0)
    with raises(ValueError, "expected a slot of 0 to 7, got 8"):
        layout.place(**{**where, "slot": 8})
    with raises(ValueError, "expected a block of at least 0, got -1"):
        layout.place(**{**where, "block": -1})
    with raises(ValueError, "below 2\\^63"):
        layout.place(**{**where, "block": 2**62})
    with raises(ValueError, "expected at least 1 layer, got 0"):
        layout.page_bytes(0)
    with raises(ValueError, "got one without"):
        kvcache.Layout("bf16", 1, 8, 4).scale_place(**where)


def test_explain():
    layout = kvcache.Layout(**{**FP8, "scales_table": "own"})
    text = layout.explain(layers=2, batch=1, token=9, table=[[0, 1], [2, 5]],
                          scales_table=[[0, 0], [0, 3]])
    assert "page of blocks: 4096 bytes" in text and "block 5, block of scales 3" in text
    assert f"values at {5 * 4096 + 128}, scales at {3 * 512 + 16} {3 * 512 + 20}" in text
    svg = text.svg()
    assert svg.startswith("<svg") and svg.count("<title>") > 6
    with raises(ValueError, "expected a table of more than 4 pages for token 32, got 2"):
        layout.explain(layers=2, batch=0, token=32, table=[[0, 1]], scales_table=[[0, 1]])
    import xml.etree.ElementTree
    xml.etree.ElementTree.fromstring(svg)


def test_drawings():
    """Every element lies in the stretch that says so, and nothing else does."""
    import re
    for layout in (
            kvcache.Layout(**FP8),
            kvcache.Layout("bf16", heads=16, head_size=32, page_size=4, order="hnd"),
            kvcache.Layout("f8E4M3FN", heads=2, head_size=64, page_size=4, scales="f32",
                           granularity=32, placement="inline", kv_inner=True),
            kvcache.Layout("f8E4M3FN", heads=1, head_size=512, page_size=64, mla=True,
                           scales="f8E8M0FNU", granularity=64, placement="page_split",
                           rope=("bf16", 64), footer=8, page_align=576),
            kvcache.Layout("f8E4M3FN", heads=1, head_size=576, page_size=64, mla=True, scales="f32",
                           granularity=128, placement="inline", rope=("bf16", 64)),
            kvcache.Layout("f4E2M1FN", heads=4, head_size=128, page_size=16, scales="f8E4M3FN",
                           granularity=16, swizzle="kv")):
        text = layout.explain(layers=2, token=layout.page_size + 3, table=[[0, 1]],
                              scales_table=None)
        svg, bars, row = text.svg(), {}, None
        for label, x, width, title in re.findall(
                r'<text x="4"[^>]*>([^<]*)<|<rect x="([\d.]+)"[^>]* width="([\d.]+)"[^>]*>'
                r'<title>([^<]*)<', svg):
            if label:
                row = bars.setdefault(label, [])
                continue
            name, first, end = re.fullmatch(r"(.*): bytes (\d+) to (\d+)", title).groups()
            row.append((name, int(first), int(end)))
            assert 150 <= float(x) and float(x) + float(width) < 910.01 and float(width) > 0
        for row in bars.values():
            ordered = sorted((first, end) for _, first, end in row)
            assert all(a[1] <= b[0] for a, b in zip(ordered, ordered[1:])), ordered
        (page,) = [row for label, row in bars.items() if label.startswith("page of values")]
        assert len(page) == 2 * (1 if layout.kv_inner else layout.sides)
        assert max(end for *_, end in page) <= layout.page_bytes(2)
        for side in ("key", "value")[:layout.sides]:
            pieces = {name: (first, end) for label, row in bars.items()
                      if label.startswith(f"slot 3, {side}") for name, first, end in row}
            for head in range(layout.heads):
                for dim in (0, layout.head_size - 1):
                    place = layout.place(layers=2, block=0, slot=3, head=head, dim=dim, side=side)
                    first, end = pieces[f"{place.pool} of head {head}"]
                    assert first <= place.offset and place.offset + place.bytes <= end
                if layout.scales:
                    place = layout.scale_place(layers=2, block=0, slot=3, head=head, dim=0, side=side)
                    assert pieces[f"scale 0 of head {head}"][0] == place.offset


def test_pools():
    layout = kvcache.Layout(**FP8)
    pool = layout.allocate(num_blocks=3, layers=2, scales_blocks=5)
    assert pool.blocks.shape == (3, 2, 2, 8, 2, 64) and pool.blocks.dtype == ml_dtypes.float8_e4m3fn
    assert pool.scales.shape == (5, 2, 2, 8, 2, 2) and pool.blocks.ctypes.data % 16 == 0
    assert (pool.num_blocks, pool.layers) == (3, 2)
    layout.wrap(pool.blocks.view(np.uint8), pool.scales)
    with raises(kvcache.ArgumentError, "'blocks': expected elements of f8E4M3FN, got f32"):
        layout.wrap(np.zeros((3, 2, 2, 8, 2, 64), np.float32), pool.scales)
    with raises(kvcache.ArgumentError, r"'blocks': expected a shape of \(\?, 2, \?, 8, 2, 64\)"):
        layout.wrap(pool.blocks[..., :32], pool.scales)
    with raises(kvcache.ArgumentError, "expected a pool of scales"):
        layout.wrap(pool.blocks)
    with raises(kvcache.ArgumentError, "'scales': expected 2 layers as in blocks, got 1"):
        layout.wrap(pool.blocks, pool.scales[:, :, :1])
    padded = kvcache.Layout("f8E4M3FN", 1, 80, 8, scales="f8E8M0FNU", granularity=32, mla=True,
                            placement="page_split", rope=("bf16", 16), footer=8, page_align=512)
    with raises(kvcache.ArgumentError, "'blocks': expected pages at multiples of 512 bytes, got a "
                                       "stride of "):
        padded.wrap(np.ascontiguousarray(padded.allocate(num_blocks=3, layers=1).blocks))
    pool = padded.allocate(num_blocks=3, layers=1)
    assert pool.blocks.strides[0] == padded.page_bytes(1) and pool.blocks.strides[0] % 512 == 0
