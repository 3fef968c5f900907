# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layouts of paged caches, drawn at random, and where in a page an element lies.

Places are found by walking a page in the order in which its bytes are laid down,
not by strides: whatever computes strides is checked against this.
"""

import itertools
import math

import ml_dtypes
import numpy as np

# dtype in IR: NumPy type of its values, NumPy type of the files.
FLOATS = {
    "f32": (np.float32, np.float32),
    "f16": (np.float16, np.float16),
    "bf16": (ml_dtypes.bfloat16, np.uint16),
    "f8E4M3FN": (ml_dtypes.float8_e4m3fn, np.uint8),
    "f8E5M2": (ml_dtypes.float8_e5m2, np.uint8),
    "f8E8M0FNU": (ml_dtypes.float8_e8m0fnu, np.uint8),
}
F4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)
F4 = np.concatenate([F4, -F4])
WIDE = ["f32", "f16", "bf16"]


def file_type(dtype):
    return np.int8 if dtype == "i8" else FLOATS[dtype][1]


def size_of(dtype):
    return np.dtype(file_type(dtype)).itemsize


def random_codes(rng, dtype, count):
    """Random bits of a storage type, small enough that products do not overflow
    to values whose rounding is not defined."""
    bits = rng.integers(0, 256, count * size_of(dtype))
    codes = bits.astype(np.uint8).view(file_type(dtype)).copy()
    if dtype in WIDE:
        numbers = rng.normal(size=count).astype(np.float32)
        numbers[rng.random(count) < 0.05] = np.nan
        codes = numbers.astype(FLOATS[dtype][0]).view(file_type(dtype))
    return codes


def decode(dtype, codes):
    if dtype == "i8":
        return codes.astype(np.float32)
    return codes.view(FLOATS[dtype][0]).astype(np.float32)


def round_to(numbers, dtype):
    with np.errstate(all="ignore"):
        return np.asarray(numbers, np.float32).astype(FLOATS[dtype][0])


class Layout:
    """What a case is about, and where its elements lie."""

    def __init__(self, rng, placements):
        self.dtype = rng.choice(
            ["f32", "f16", "bf16", "f8E4M3FN", "f8E5M2", "i8", "f4E2M1FN"]
        )
        self.mla = rng.random() < 0.3
        self.KD = 1 if self.mla else 2
        self.H = rng.choice([1, 1, 2, 3, 8])
        self.D = rng.choice([1, 8, 40, 46, 64, 96, 128])
        self.P = rng.choice([1, 2, 3, 4, 4, 16, 16, 61])
        if self.dtype == "f4E2M1FN" and self.D % 2:
            self.D = 8
        self.placement = rng.choice(placements)
        self.order = rng.choice(["nhd", "nhd", "hnd"])
        needs = self.dtype in ("i8", "f4E2M1FN")
        self.scale_dtype = (
            rng.choice(["f32", "f16", "bf16", "f8E8M0FNU", "f8E4M3FN"])
            if needs or rng.random() < 0.8
            else None
        )
        one_pool = self.placement != "pool"
        self.rope, self.rope_dtype = 0, rng.choice(WIDE)
        if one_pool and self.scale_dtype and self.D > 8 and rng.random() < 0.7:
            self.rope = rng.choice([2, 6, 8, 32])
        # Elements of a head that are quantised, where any are.
        self.Q = self.D - self.rope
        self.g = rng.choice([1, 7, 12, 16, 32, 48, self.Q, self.Q + 7])
        self.own = (
            not one_pool and self.scale_dtype is not None and rng.random() < 0.5
        )
        self.G = -(-self.Q // self.g) if self.scale_dtype else 0
        self.kv_inner = (
            self.placement == "inline" and not self.mla and rng.random() < 0.5
        )
        self.swizzle = "none"
        if self.scale_dtype and self.P % 4 == 0 and rng.random() < 0.7:
            self.swizzle = rng.choice(["kv"] if self.mla else ["v", "kv"])
        self.L = rng.choice([1, 3])
        self.NB = rng.choice([3, 7])
        self.NBs = rng.choice([4, 9]) if self.own else self.NB
        self.B, self.M = rng.choice([(1, 1), (2, 3), (3, 2)])
        self.inner = self.Q // 2 if self.dtype == "f4E2M1FN" else self.Q
        self.side = 0 if self.mla else rng.choice([0, 1])
        self.layer = rng.randrange(self.L)

        scale_bytes = self.G * size_of(self.scale_dtype) if self.scale_dtype else 0
        self.footer = 0
        if self.placement == "page_split" and scale_bytes and rng.random() < 0.5:
            self.footer = scale_bytes + rng.choice([0, 1, 3, 8])
        self.page_align = rng.choice([0, 0, 1, 8, 16, 576]) if one_pool else 0
        self.walk(scale_bytes)
        self.draw_pitches(rng)

    def storage(self):
        return "i8" if self.dtype == "f4E2M1FN" else self.dtype

    def attribute(self):
        text = (
            f"#kvcache.layout<{self.dtype}, params = <num_heads = {self.H}, "
            f"head_size = {self.D}, is_mla = {str(self.mla).lower()}>, "
            f"page_size = {self.P}"
        )
        if self.scale_dtype:
            table = "own" if self.own else "shared"
            text += (
                f", scales = <{self.scale_dtype}, granularity = {self.g}, "
                f"table = {table}>"
            )
        text += f", placement = {self.placement}, order = {self.order}"
        if self.rope:
            text += f", rope = <{self.rope_dtype}, size = {self.rope}>"
        if self.kv_inner:
            text += ", kv_inner = true"
        if self.footer:
            text += f", footer = {self.footer}"
        if self.page_align:
            text += f", page_align = {self.page_align}"
        return text + f", swizzle = {self.swizzle}>"

    def walk(self, scale_bytes):
        """Lays a page down byte after byte. Keeps where the side and layer of this
        case have the first byte of each value, scale and element of the tail:
        arrays [slot, head, index]."""
        sizes = {
            "values": size_of(self.storage()),
            "scales": size_of(self.scale_dtype) if self.scale_dtype else 0,
            "tail": size_of(self.rope_dtype) if self.rope else 0,
        }
        counts = {"values": self.inner, "scales": self.G, "tail": self.rope}
        self.places = {
            part: np.zeros((self.P, self.H, counts[part]), np.int64) for part in sizes
        }
        self.page_bytes = {"values": 0, "scales": 0}

        def put(pool, part, side, layer, slot, head, space=None):
            start = self.page_bytes[pool]
            if (side, layer) == (self.side, self.layer):
                self.places[part][slot, head] = start + sizes[part] * np.arange(
                    counts[part]
                )
            self.page_bytes[pool] += (
                sizes[part] * counts[part] if space is None else space
            )

        rows = list(itertools.product(range(self.P), range(self.H)))
        if self.order == "hnd":
            rows.sort(key=lambda row: (row[1], row[0]))
        sides = range(self.KD)
        inner, outer = (sides, [None]) if self.kv_inner else ([None], sides)
        for outer_side, layer in itertools.product(outer, range(self.L)):
            for (slot, head), inner_side in itertools.product(rows, inner):
                at = (inner_side if self.kv_inner else outer_side, layer, slot, head)
                put("values", "values", *at)
                if self.placement == "inline":
                    put("values", "scales", *at)
                put("values", "tail", *at)
            if self.placement == "inline":
                continue
            pool = "scales" if self.placement == "pool" else "values"
            for slot, head in rows:
                space = self.footer or scale_bytes
                put(pool, "scales", outer_side, layer, slot, head, space)
        # Bytes of a layer of a side, or of both where they lie side by side.
        self.memref_sides = 1 if self.kv_inner else self.KD
        self.layer_bytes = self.page_bytes["values"] // (self.memref_sides * self.L)
        self.steps = {}
        for part, places in self.places.items():
            # A page of one token is as good as one of more.
            heads = places[0, :, :1].reshape(-1)
            if self.P > 1:
                self.steps[part] = int((places[1, 0, :1] - places[0, 0, :1]).sum())
            elif self.H > 1:
                row = int(heads[1] - heads[0]) if heads.size else 0
                self.steps[part] = row * (self.H if self.order == "nhd" else 1)
            else:
                lines = self.layer_bytes
                if self.placement != "inline":
                    lines = sizes[part] * counts[part]
                    if part != "scales":
                        lines = sum(sizes[p] * counts[p] for p in ("values", "tail"))
                    elif self.footer:
                        lines = self.footer
                self.steps[part] = lines
        if self.swizzle == "kv" or (self.swizzle == "v" and self.side == 1):
            self.interleave()

    def interleave(self):
        """Within four tokens, scale j of token t takes the place 4 * j + t % 4."""
        straight = self.places["scales"]
        swizzled = np.empty_like(straight)
        for first, head in itertools.product(range(0, self.P, 4), range(self.H)):
            flat = straight[first : first + 4, head].reshape(-1)
            for t, j in itertools.product(range(4), range(self.G)):
                swizzled[first + t, head, j] = flat[4 * j + t]
        self.places["scales"] = swizzled

    def draw_pitches(self, rng):
        """Bytes from page to page."""
        padded = rng.random() < 0.5
        if self.placement == "pool":
            self.pitch_multiple = self.H * self.inner * size_of(self.storage())
            packed = self.page_bytes["values"]
        else:
            self.pitch_multiple = self.page_align or math.gcd(16, self.layer_bytes)
            align = self.page_align or 1
            packed = -(-self.page_bytes["values"] // align) * align
        self.pitch = packed + padded * self.pitch_multiple * rng.choice([1, 5])
        self.scale_pitch = 0
        if self.scale_dtype and self.placement == "pool":
            row = self.H * self.G * size_of(self.scale_dtype)
            self.scale_pitch = self.page_bytes["scales"]
            if rng.random() < 0.5:
                self.scale_pitch += row * rng.choice([1, 3])

    def scales_pool(self):
        return "scales" if self.placement == "pool" else "values"

    def dtype_of(self, part):
        return {
            "values": self.storage(),
            "scales": self.scale_dtype,
            "tail": self.rope_dtype,
        }[part]

    def place(self, part, block, slot, head, index):
        """First byte of an element in its pool."""
        separate = part == "scales" and self.placement == "pool"
        pitch = self.scale_pitch if separate else self.pitch
        return block * pitch + int(self.places[part][slot, head, index])

    def is_aligned(self, part):
        """Whether the elements lie at multiples of their size in every page."""
        size = size_of(self.dtype_of(part))
        if self.placement == "pool":
            return True
        return (
            self.pitch_multiple % size == 0
            and self.layer_bytes % size == 0
            and not (self.places[part] % size).any()
            # The keys' rows too, which stand before.
            and not (self.kv_inner and self.layer_bytes // (2 * self.P * self.H) % size)
        )

    def random_pools(self, rng):
        """Bytes of the pools: random, and numbers of moderate size where this
        case has floats."""
        pools = {"values": rng.integers(0, 256, self.NB * self.pitch, np.uint8)}
        if self.scale_pitch:
            pools["scales"] = rng.integers(
                0, 256, self.NBs * self.scale_pitch, np.uint8
            )
        for part, places in self.places.items():
            if places.size == 0:
                continue
            separate = part == "scales" and self.placement == "pool"
            pool = pools["scales" if separate else "values"]
            pitch = self.scale_pitch if separate else self.pitch
            blocks = self.NBs if separate else self.NB
            at = (np.arange(blocks)[:, None] * pitch + places.reshape(1, -1)).reshape(-1)
            dtype = self.dtype_of(part)
            codes = random_codes(rng, dtype, at.size).view(np.uint8)
            for byte in range(size_of(dtype)):
                pool[at + byte] = codes[byte :: size_of(dtype)]
        return pools
