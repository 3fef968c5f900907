# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The layout of a case: its fields, and at which byte of a pool what lies.

NB blocks, KD sides, L layers, P tokens a page, H heads, D elements a head, the
last `rope` of them unquantised; G = ceildiv(D - rope, g) scales a head.
"""
import dataclasses
from typing import Optional

import numpy as np

from element_types import ELEMENT_TYPES, SCALE_DTYPES, VALUE_DTYPES
from verdicts import Malformed, Unsupported


def ceildiv(a, b):
    return -(-a // b)


@dataclasses.dataclass(frozen=True)
class PoolLayout:
    """Fields as in case.json. Pitches are in elements of each pool for placement
    `pool`, else in bytes; None is packed."""

    dtype: str
    H: int
    D: int
    P: int
    L: int
    is_mla: bool = False
    scale_dtype: Optional[str] = None
    g: Optional[int] = None
    value_pitch: Optional[int] = None
    scale_pitch: Optional[int] = None
    placement: str = "pool"
    rope: int = 0
    rope_dtype: str = "bf16"
    order: str = "NHD"
    kv_inner: bool = False
    footer: Optional[int] = None
    page_align: int = 1
    swizzle: str = "none"
    global_scale: float = 1.0

    @classmethod
    def from_json(cls, data):
        """Raises Malformed where a field is missing, unknown or impossible."""
        if not isinstance(data, dict):
            raise Malformed("layout is not an object")
        fields = {field.name: field for field in dataclasses.fields(cls)}
        for name in data:
            if name not in fields:
                raise Unsupported(f"layout field '{name}'")
        for name, field in fields.items():
            if name not in data and field.default is dataclasses.MISSING:
                raise Malformed(f"layout lacks '{name}'")
        layout = cls(**data)
        layout._check()
        return layout

    def to_json(self):
        return dataclasses.asdict(self)

    def _check(self):
        def whole(name, least, optional=False):
            value = getattr(self, name)
            if value is None and optional:
                return
            if (not isinstance(value, int) or isinstance(value, bool)
                    or value < least):
                raise Malformed(f"layout: {name} is {value!r}, expected a whole "
                                f"number of at least {least}")

        def one_of(name, words):
            if getattr(self, name) not in words:
                raise Malformed(f"layout: {name} is {getattr(self, name)!r}, "
                                f"expected one of {', '.join(map(str, words))}")

        for name in ("H", "D", "P", "L", "page_align"):
            whole(name, 1)
        whole("rope", 0)
        for name in ("value_pitch", "scale_pitch", "footer"):
            whole(name, 0, optional=True)
        one_of("dtype", VALUE_DTYPES)
        one_of("scale_dtype", SCALE_DTYPES + (None,))
        one_of("rope_dtype", VALUE_DTYPES)
        one_of("placement", ("pool", "inline", "page_split"))
        one_of("order", ("NHD", "HND"))
        one_of("swizzle", ("none", "v", "kv"))
        one_of("is_mla", (True, False))
        one_of("kv_inner", (True, False))
        if not isinstance(self.global_scale, (int, float)):
            raise Malformed(f"layout: global_scale is {self.global_scale!r}, "
                            "expected a number")
        if (self.scale_dtype is None) != (self.g is None):
            raise Malformed(f"layout: scale_dtype is {self.scale_dtype!r} and g "
                            f"is {self.g!r}; give both or neither")
        whole("g", 1, optional=True)
        if self.rope > self.D:
            raise Malformed(f"layout: rope is {self.rope}, D is {self.D}")
        if (self.D - self.rope) * ELEMENT_TYPES[self.dtype].bits % 8:
            raise Malformed(f"layout: {self.D - self.rope} elements of "
                            f"{self.dtype} do not fill whole bytes")
        if self.footer is not None and self.footer < self.scale_row_bytes:
            raise Malformed(f"layout: footer is {self.footer} bytes, the scales "
                            f"of a head take {self.scale_row_bytes}")
        if self.page_bytes < self.packed_page_bytes:
            raise Malformed(f"layout: a page of {self.page_bytes} bytes cannot "
                            f"hold {self.packed_page_bytes}")
        if self.scales_page_bytes < self.packed_scales_page_bytes:
            raise Malformed(f"layout: a page of {self.scales_page_bytes} bytes "
                            "of scales cannot hold "
                            f"{self.packed_scales_page_bytes}")

    # Counts.

    @property
    def KD(self):
        return 1 if self.is_mla else 2

    @property
    def coded(self):
        """Elements of a head before the rope tail."""
        return self.D - self.rope

    @property
    def G(self):
        return ceildiv(self.coded, self.g) if self.g else 0

    @property
    def has_scales_pool(self):
        return self.placement == "pool" and self.scale_dtype is not None

    @property
    def rows(self):
        """(token, head) pairs of one layer of one side."""
        return self.P * self.H

    # Bytes.

    @property
    def code_bytes(self):
        return ELEMENT_TYPES[self.dtype].bytes_of(self.coded)

    @property
    def rope_bytes(self):
        return ELEMENT_TYPES[self.rope_dtype].bytes_of(self.rope)

    @property
    def scale_bytes(self):
        return ELEMENT_TYPES[self.scale_dtype].bits // 8 if self.scale_dtype else 0

    @property
    def scale_row_bytes(self):
        return self.G * self.scale_bytes

    @property
    def footer_bytes(self):
        return self.scale_row_bytes if self.footer is None else self.footer

    @property
    def row_bytes(self):
        """What lies between a (token, head) of the value pool and the next."""
        bytes_ = self.code_bytes + self.rope_bytes
        return bytes_ + (self.scale_row_bytes if self.placement == "inline" else 0)

    @property
    def side_bytes(self):
        """One layer of one side."""
        footer = self.footer_bytes if self.placement == "page_split" else 0
        return self.rows * (self.row_bytes + footer)

    @property
    def packed_page_bytes(self):
        return self.KD * self.L * self.side_bytes

    @property
    def page_bytes(self):
        """The pitch of the value pool."""
        if self.value_pitch is not None:
            return (ELEMENT_TYPES[self.dtype].bytes_of(self.value_pitch)
                    if self.placement == "pool" else self.value_pitch)
        return ceildiv(self.packed_page_bytes, self.page_align) * self.page_align

    @property
    def packed_scales_page_bytes(self):
        return (self.KD * self.L * self.rows * self.scale_row_bytes
                if self.has_scales_pool else 0)

    @property
    def scales_page_bytes(self):
        """The pitch of the scales pool."""
        if self.has_scales_pool and self.scale_pitch is not None:
            return self.scale_pitch * self.scale_bytes
        return self.packed_scales_page_bytes

    # Places: bytes from the pool's base, of indices that broadcast.

    def _row(self, slot, head):
        if self.order == "HND":
            return head * self.P + slot
        return slot * self.H + head

    def side_place(self, block, side, layer):
        """Where a layer of a side begins (kv_inner: both sides of a layer)."""
        if self.kv_inner:
            return block * self.page_bytes + layer * self.KD * self.side_bytes
        return (block * self.page_bytes
                + (side * self.L + layer) * self.side_bytes)

    def value_place(self, block, side, layer, slot, head):
        row = self._row(slot, head)
        if self.kv_inner:
            row = row * self.KD + side
        return self.side_place(block, side, layer) + row * self.row_bytes

    def tail_place(self, block, side, layer, slot, head):
        """Where the rope tail begins."""
        scales = self.scale_row_bytes if self.placement == "inline" else 0
        return (self.value_place(block, side, layer, slot, head)
                + self.code_bytes + scales)

    def scale_place(self, block, side, layer, slot, head, j):
        """Where scale `j` of a (token, head) lies: in the scales pool for
        placement `pool`, else among the values."""
        if self.swizzle == "kv" or (self.swizzle == "v" and side == 1):
            flat = 4 * j + slot % 4
            slot, j = slot - slot % 4 + flat // self.G, flat % self.G
        if self.placement == "inline":
            return (self.value_place(block, side, layer, slot, head)
                    + self.code_bytes + j * self.scale_bytes)
        row = self._row(slot, head)
        if self.placement == "page_split":
            return (self.side_place(block, side, layer)
                    + self.rows * self.row_bytes + row * self.footer_bytes
                    + j * self.scale_bytes)
        return (block * self.scales_page_bytes
                + (side * self.L + layer) * self.rows * self.scale_row_bytes
                + row * self.scale_row_bytes + j * self.scale_bytes)

    def places(self, part, *at):
        """The bytes [..., n] of "codes", "tail" or "scales" at (block, side, layer,
        slot, head): in the scales pool for the scales of placement `pool`, else
        among the values."""
        if part == "codes":
            return byte_indices(self.value_place(*at), self.code_bytes)
        if part == "tail":
            return byte_indices(self.tail_place(*at), self.rope_bytes)
        starts = self.scale_place(*(np.asarray(i)[..., None] for i in at),
                                  np.arange(self.G))
        places = byte_indices(starts, self.scale_bytes)
        return places.reshape(*places.shape[:-2], self.scale_row_bytes)

    def derived(self):
        """The field `derived` of case.json."""
        pool = self.placement == "pool"
        bits = ELEMENT_TYPES[self.dtype].bits
        pitch = self.page_bytes * 8 // bits if pool else self.page_bytes
        return {
            "kv_dim": self.KD,
            "scales_per_head": self.G,
            "page_pitch": pitch,
            "scales_pitch": (self.scales_page_bytes // self.scale_bytes
                             if self.has_scales_pool
                             else self.KD * self.L * self.rows * self.G),
            "packed": (self.page_bytes == self.packed_page_bytes
                       and self.scales_page_bytes == self.packed_scales_page_bytes),
        }


def byte_indices(start, count):
    """start[..., None] + [0, count)."""
    return np.asarray(start, np.int64)[..., None] + np.arange(count)
