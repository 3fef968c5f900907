# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Caches that building blocks of attention read, and the words that they give."""
import numpy as np

import program_parts
import program_text
from block_runner import require
from case_folder import Case
from element_types import ELEMENT_TYPES
from pool_layout import ceildiv
from reference import Pools
from reference_numbers import read, write


class Cache:
    """A cache of two sequences in random pages, and its pools in NumPy."""

    def __init__(self, layout, own_table=False, length=100, has_extremes=False):
        self.layout, random = layout, np.random.default_rng(10)
        self.length, self.has_extremes = length, has_extremes
        pages = ceildiv(self.length, layout.P)
        nb = 2 * pages + 3
        place = lambda: random.permutation(nb)[:2 * pages].reshape(2, pages).astype(
            np.uint32)
        self.table = place()
        self.scales_table = place() if own_table else self.table
        self.pools = Pools(
            layout, nb, nb, np.full(nb * layout.page_bytes, 0xFF, np.uint8),
            np.full(nb * layout.scales_page_bytes, 0xFF, np.uint8) if layout.G else None)
        for b in range(2):
            for side in range(layout.KD):
                self._fill(random, b, side)
        inputs = self.pools.outputs() | {
            "lookup_table": self.table,
            "cache_lengths": np.full(2, self.length, np.uint32)}
        if own_table:
            inputs["scales_lookup_table"] = self.scales_table
        self.case = Case("cache", "gather", layout, nb, nb, {}, inputs, {}, {})

    def rows(self, table, b, tokens):
        return np.stack([table[b, tokens // self.layout.P].astype(np.int64),
                         tokens % self.layout.P], axis=1)

    def _fill(self, random, b, side):
        layout, tokens = self.layout, np.arange(self.length)
        shape = (self.length, layout.H, layout.code_bytes)
        codes = random.integers(0, 256, shape).astype(np.uint8)
        if layout.dtype == "f8E4M3FN":
            codes[(codes & 0x7F) == 0x7F] ^= 1
        elif layout.dtype != "i8":
            # Of f16 and bf16: neither infinite nor NaN, and sums fit f32.
            codes[(codes & 0x7F) >= 0x78] ^= 0x40
        self.pools.put("codes", self.rows(self.table, b, tokens), side, 1, codes)
        if layout.G:
            scales = random.uniform(0.1, 2, (*shape[:2], layout.G))
            if not layout.is_mla:
                scales *= random.choice([-1, 1], scales.shape)
            if self.has_extremes:
                # Strongly different ones, in each token others; all of some are 0.
                scales *= random.choice([1e-30, 1e-4, 1, 1e30, 0, np.inf, np.nan],
                                        scales.shape, p=[.2, .2, .3, .1, .1, .05, .05])
                scales[::5][np.abs(scales[::5]) > 1e-20] = 0
                scales[1::5] = 0
            scales = write(scales.astype(np.float32), layout.scale_dtype)
            self.pools.put("scales", self.rows(self.scales_table, b, tokens), side, 1,
                           np.ascontiguousarray(scales).view(np.uint8).reshape(
                               *shape[:2], -1))

    def extend(self, text):
        collection = program_parts.collection_of(text, self.case)
        layer = text.index("layer", 1)
        for side in program_text.SIDES[:self.layout.KD]:
            text.line(f"%{side}s = kvcache.get_{side}_cache %collection[{layer}] : "
                      f"{collection}")

    def codes(self, b, side, head, tokens):
        """Bytes `[n, elements, bytes]`."""
        rows = self.pools.get("codes", self.rows(self.table, b, tokens), side, 1)
        return rows[:, head].reshape(len(tokens), self.layout.D, -1)

    def scales(self, b, side, head, tokens):
        rows = self.pools.get("scales", self.rows(self.scales_table, b, tokens), side, 1)
        storage = ELEMENT_TYPES[self.layout.scale_dtype].storage
        return read(np.ascontiguousarray(rows[:, head]).view(storage),
                    self.layout.scale_dtype).astype(np.float32)


class Words:
    """Words of the lanes, taken from the front."""

    def __init__(self, words):
        self.words = words

    def take(self, count):
        taken, self.words = self.words[:count], self.words[count:]
        return taken

    def pieces(self, block, size, across):
        """Pieces of a head that are described here: (first, elements a lane)."""
        count = int(self.take(1)[0, 0])
        pieces = [tuple(int(n) for n in self.take(2)[:, 0]) for _ in range(count)]
        ends = np.cumsum([0] + [across * per_lane for _, per_lane in pieces])
        require(block, "a piece's place", [first for first, _ in pieces] == list(ends[:-1]))
        require(block, "the end of the pieces", ends[-1] == size)
        return pieces


# What is read: sequence 1, head 1, tokens 3 to before 77; tile 2 is all of it, of
# tile 4 and on the end is missing.
PLACE = {"sequence": 1, "head": 1, "begin": 3, "end": 77, "inside": 2, "edge": 4}


def place_words(threads, **changes):
    values = list((PLACE | changes).values())
    return np.repeat(np.array(values, np.int32)[:, None], threads, 1)


def has_element_scales(layout):
    """Whether elements of a step of 16 have several scales."""
    return layout.G is not None and 1 < layout.G and layout.g % 16 != 0


def granules_of_lane(g, per_lane):
    """Granules that a lane has elements of, at most."""
    if per_lane % g == 0:
        return per_lane // g
    return 1 if g % per_lane == 0 else (per_lane - 2) // g + 2
