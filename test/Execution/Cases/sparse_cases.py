# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pools past 2^31 and 2^32 bytes of which few pages are there: an offset in 32
bits would wrap onto pages that must not change."""
import numpy as np

from case_builder import random_codes, with_outputs
from case_folder import Case
from element_types import ELEMENT_TYPES
from pool_layout import PoolLayout

RULE = {"contract": "arbitrary", "floor": 0.0, "floor_on": "scale",
        "apply": "inverse"}


class _Pool:
    """A value pool of `nb` blocks, zero but for tokens that are put there."""

    def __init__(self, rng, layout, nb):
        self.rng, self.layout, self.nb = rng, layout, nb
        self.segments = {}

    def put(self, side, layer, rows):
        """Random codes at (block, slot) pairs."""
        layout = self.layout
        for block, slot in rows:
            head = np.arange(layout.H)
            for at in layout.value_place(block, side, layer, slot, head):
                codes = random_codes(self.rng, layout.D, layout.dtype)
                self.segments[int(at)] = codes.view(np.uint8)

    def inputs(self):
        offsets = sorted(self.segments)
        size = ELEMENT_TYPES[self.layout.dtype].bytes_of(self.layout.D)
        data = [self.segments[at] for at in offsets]
        return {"segment_offsets": np.array(offsets, np.int64),
                "segment_bytes": np.array(data, np.uint8).reshape(-1, size)}


def _case(name, op, pool, arrays, dtypes, nbs=None, **args):
    inputs = pool.inputs() | arrays
    dtypes = {"segment_offsets": "i64", "segment_bytes": "u8"} | dtypes
    case = Case(name, op, pool.layout, pool.nb, nbs or pool.nb, args, inputs, dtypes,
                {}, sparse_bytes=pool.nb * pool.layout.page_bytes,
                notes="offsets past 2^31 and 2^32")
    return with_outputs(case)


def _tokens(table, lengths, P):
    return [(int(table[b][t // P]), t % P) for b, n in enumerate(lengths)
            for t in range(n)]


def _kinds():
    """(name, layout, blocks, table): where one block starts near a power of two."""
    big = dict(H=8, D=128, P=16, L=32)
    for dtype in ("f8E4M3FN", "bf16"):
        yield (f"wrap_{dtype}", PoolLayout.from_json(dict(dtype=dtype) | big), 4097,
               [[2047, 2048, 4095, 4096]])
    # The key half alone is below 2^31 elements, the offset above.
    yield ("key_of_page_2099", PoolLayout.from_json(dict(dtype="f8E4M3FN") | big),
           2100, [[2099, 1]])
    yield ("end_of_5000_pages", PoolLayout.from_json(dict(dtype="f8E4M3FN") | big),
           5000, [[4998, 4999]])
    # A pitch of 1408 rows and a block past 2^31 rows.
    yield ("row_past_32_bits", PoolLayout.from_json(
        dict(dtype="f8E4M3FN", H=1, D=64, P=64, L=1, is_mla=True,
             value_pitch=1408 * 64)), 1_840_896, [[1_840_895, 3]])


def sparse_cases(rng):
    for name, layout, nb, table in _kinds():
        P, side, layer = layout.P, layout.KD - 1, layout.L - 1
        pages = len(table[0])
        lengths = [P * pages - 3]
        table = np.array(table, np.uint32)
        common = {"lookup_table": table,
                  "cache_lengths": np.array(lengths, np.uint32)}
        common_dtypes = {"lookup_table": "u32", "cache_lengths": "u32"}

        pool = _Pool(rng, layout, nb)
        for c in range(layout.KD):
            pool.put(c, layer, _tokens(table, lengths, P)[::5])
        pool.put(0, 0, [(0, 0), (1, 0)])
        yield _case(f"{name}_gather", "gather", pool, common, common_dtypes,
                    c=0, l=layer, rows=lengths[0] + 2, out_dtype="bf16",
                    scales=False)

        # New tokens in the first and the last of the pages.
        pool = _Pool(rng, layout, nb)
        pool.put(side, layer, [(0, 0), (1, 1), (int(table[0, -1]), 0)])
        positions = np.array([0, 1, P, P * pages - 1, P * pages - 2], np.int32)
        x = random_codes(rng, (5, layout.H, layout.D), layout.dtype)
        yield _case(f"{name}_append", "append", pool, common | {
            "x": x, "positions": positions, "sequences": np.zeros(5, np.int32)},
            common_dtypes | {"x": layout.dtype, "positions": "i32",
                             "sequences": "i32"},
            c=side, l=layer, form="positions")

        # Pages far apart, one layer.
        pool = _Pool(rng, layout, nb)
        pool.put(side, layer, [(int(table[0, 0]), s) for s in range(0, P, 3)])
        pool.put(0, layer, [(1, 0)])
        yield _case(f"{name}_copy", "copy_pages", pool,
                    {"pairs": np.array([[table[0, 0], table[0, -1]], [1, 0]],
                                       np.int64)}, {"pairs": "i64"}, layers=[layer])

    # Values past 2^32, scales in a small pool through a table of their own.
    layout = PoolLayout.from_json(dict(dtype="f8E4M3FN", H=8, D=128, P=16, L=32,
                                       scale_dtype="f32", g=128))
    nb, nbs, P = 4097, 3, layout.P
    table = np.array([[2047, 2048, 4095, 4096]], np.uint32)
    scales_table = np.array([[2, 0, 1, 2]], np.uint32)
    scales = np.full(nbs * layout.scales_page_bytes, 0xFF, np.uint8)
    lengths = np.array([P + 1], np.uint32)
    dtypes = {"lookup_table": "u32", "scales_lookup_table": "u32",
              "cache_lengths": "u32", "scales": "u8", "x": "bf16",
              "row_offsets": "u32"}
    pool = _Pool(rng, layout, nb)
    pool.put(1, 31, _tokens(table, lengths, P))
    yield _case("wrap_scaled_quantize_append", "quantize_append", pool, {
        "lookup_table": table, "scales_lookup_table": scales_table,
        "cache_lengths": lengths, "scales": scales,
        "row_offsets": np.array([0, P + 4], np.uint32),
        "x": random_codes(rng, (P + 4, layout.H, layout.D), "bf16")}, dtypes, nbs,
        c=1, l=31, form="ragged", quant=RULE)
