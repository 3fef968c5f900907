# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layouts and pools."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, Optional

import numpy as np

from . import arrays, dtypes
from .checks import choice, count, member
from .dialects import kvcache as kv
from .errors import ArgumentError

def _integer(name: str, value: Any) -> int:
    return count(name, value, None)


def _dtype(name: str, value: Any) -> None:
    if not isinstance(value, str) or not value:
        raise ValueError(f"expected {name} to be an element type as MLIR spells it (f32, bf16, "
                         f"f8E4M3FN, …), got {value!r}")


def _pool(name: Any) -> kv.Pool:
    """The pool of `values` or `scales`, or ValueError."""
    return kv.Pool[choice("a pool", name, ("values", "scales"))]


@dataclasses.dataclass(frozen=True)
class Place:
    """Where an element or a scale lies: `offset` bytes from the start of its pool,
    in `bytes` bytes; `high_half` of the byte for the odd elements of f4E2M1FN."""

    pool: str
    offset: int
    bytes: int
    high_half: bool


_ENUMERATIONS = {"placement": kv.Placement, "order": kv.Order, "swizzle": kv.ScaleSwizzle}


@dataclasses.dataclass(frozen=True)
class Layout:
    """The layout of a paged cache, as docs/layouts.md describes it.

    `heads` key-value heads of `head_size` elements, `page_size` tokens a page.
    `scales` is the scales' dtype, or None; each serves `granularity` consecutive
    elements of a head (the whole head where it is left out) and is found through a
    table of its own with `scales_table="own"`. `rope` is (dtype, elements) of the
    tail of a head that is not quantised. Raises ValueError, with the remedy, for
    what is not a layout.
    """

    dtype: str
    heads: int
    head_size: int
    page_size: int
    scales: Optional[str] = None
    granularity: Optional[int] = None
    scales_table: str = "shared"
    mla: bool = False
    placement: str = "pool"
    order: str = "nhd"
    rope: Optional[tuple[str, int]] = None
    kv_inner: bool = False
    footer: int = 0
    page_align: int = 0
    swizzle: str = "none"

    def __post_init__(self):
        for name in ("heads", "head_size", "page_size", "granularity", "footer", "page_align"):
            value = getattr(self, name)
            if value is not None or name != "granularity":
                object.__setattr__(self, name, _integer(name, value))
        if self.rope is not None:
            if not isinstance(self.rope, (tuple, list)) or len(self.rope) != 2:
                raise ValueError("expected rope to be a pair of dtype and elements, got "
                                 f"{self.rope!r}")
            _dtype("the dtype of rope", self.rope[0])
            object.__setattr__(self, "rope", (self.rope[0], _integer("rope", self.rope[1])))
        _dtype("dtype", self.dtype)
        if self.scales is not None:
            _dtype("scales", self.scales)
        choice("scales_table", self.scales_table, ("shared", "own"))
        for name, kind in _ENUMERATIONS.items():
            object.__setattr__(self, name, str(member(name, kind, getattr(self, name))))
        for name in ("mla", "kv_inner"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise ValueError(f"expected {name} to be True or False, got "
                                 f"{getattr(self, name)!r}")
            object.__setattr__(self, name, bool(getattr(self, name)))
        if self.scales and self.granularity is None:
            tail = self.rope[1] if self.rope else 0
            object.__setattr__(self, "granularity", self.head_size - tail)
        if not self.scales and self.granularity is not None:
            raise ValueError(f"expected scales with granularity {self.granularity}, got none; "
                             "add scales='f32' or drop granularity")
        if not self.scales and self.scales_table == "own":
            raise ValueError("expected scales with scales_table='own', got none; add scales='f32' "
                             "or drop scales_table")
        self.attr  # Checks it all.

    def __reduce__(self):  # The attribute belongs to a context of this process.
        fields = tuple(getattr(self, field.name) for field in dataclasses.fields(self))
        return type(self), fields

    # The IR ------------------------------------------------------------------

    @functools.cached_property
    def attr(self):
        """The layout as an attribute of a context of its own (kvcache.ir)."""
        from . import ir
        from ._mlir_libs import _kvcache

        context = shared_context()

        def type_of(name):
            try:
                return ir.Type.parse(name, context) if name else None
            except ir.MLIRError:
                raise ValueError(f"expected an element type as MLIR spells it (f32, bf16, "
                                 f"f8E4M3FN, …), got {name!r}") from None

        rope_dtype, rope_size = self.rope or (None, 0)
        return _kvcache.LayoutAttr.get(
            type_of(self.dtype), self.heads, self.head_size, self.page_size,
            is_mla=self.mla, scale_dtype=type_of(self.scales),
            granularity=self.granularity or 0,
            own_scales_table=self.scales_table == "own" and bool(self.scales),
            rope_dtype=type_of(rope_dtype), rope_size=rope_size, kv_inner=self.kv_inner,
            footer=self.footer, page_align=self.page_align,
            **{name: member(name, kind, getattr(self, name))
               for name, kind in _ENUMERATIONS.items()})

    @functools.cached_property
    def text(self) -> str:
        """The attribute as text: `#kvcache.layout<…>`."""
        return str(self.attr)

    # Sizes --------------------------------------------------------------------

    @property
    def sides(self) -> int:
        """1 with `mla` (keys only), else 2."""
        return 1 if self.mla else 2

    @property
    def scale_slots(self) -> int:
        """Scales a head; 0 without scales."""
        if not self.scales:
            return 0
        tail = self.rope[1] if self.rope else 0
        return -(-(self.head_size - tail) // self.granularity)

    @property
    def has_scales_pool(self) -> bool:
        """Whether scales have a pool of their own."""
        return bool(self.scales) and self.placement == "pool"

    def page_bytes(self, layers: int, pool: str = "values") -> int:
        """Bytes of a page, all sides and layers, of the pool of `values` or `scales`; 0
        of scales where there are none. Raises ValueError for less than one layer and
        another pool."""
        return self.attr.page_bytes(_integer("layers", layers), _pool(pool))

    def token_bytes(self, layers: int) -> int:
        """Bytes of all pools that a token takes, the padding of pages apart. Raises
        ValueError for less than one layer."""
        return self.attr.token_bytes(_integer("layers", layers))

    # Places -------------------------------------------------------------------

    def place(self, *, layers: int, block: int, slot: int, head: int, dim: int,
              layer: int = 0, side: str = "key", pitch: int = 0) -> Place:
        """Where element `dim` of a head of the token in `slot` of `block` lies.
        `pitch` is the number of bytes from block to block, 0 for packed pages. Raises
        ValueError for an index out of range and a pitch less than a page."""
        return self._place(False, layers, block, side, layer, slot, head, dim, pitch)

    def scale_place(self, *, layers: int, block: int, slot: int, head: int, dim: int,
                    layer: int = 0, side: str = "key", pitch: int = 0) -> Place:
        """Where the scale of that element lies, in its own pool where it has one. Raises
        ValueError as `place` does, and for an element that has no scale."""
        return self._place(True, layers, block, side, layer, slot, head, dim, pitch)

    def _place(self, of_scale, layers, block, side, layer, slot, head, dim, pitch):
        side = member("side", kv.Side, side)
        where = dict(layers=layers, block=block, layer=layer, slot=slot, head=head, dim=dim,
                     pitch=pitch)
        layers, block, layer, slot, head, dim, pitch = (
            _integer(name, value) for name, value in where.items())
        pool, offset, size, high = self.attr.place(
            layers, of_scale, block, side, layer, slot, head, dim, pitch)
        return Place(str(kv.Pool(pool)), offset, size, high)

    def explain(self, layers: int = 1, *, batch: Optional[int] = None,
                token: Optional[int] = None, table=None, scales_table=None):
        """The byte map of a page: what lies where, strides, padding, bytes a token.
        With `batch`, `token` and the tables also where that token lies. Prints as
        text; a notebook shows a drawing, which `.svg()` gives. `table` and `scales_table`
        are `[B, pages]` of block ids, offsets are bytes. Raises ValueError for tables
        without a token, a batch or a token that they do not have, a table of scales where
        the layout has none, and for a token of more than 2^20 places."""
        from .explain import Explanation

        layers = _integer("layers", layers)
        if token is None and not (batch is None and table is None and scales_table is None):
            raise ValueError("expected a token with batch and tables, got none; add token=")
        if token is None:
            return Explanation(self, layers, self.attr.explain(layers))
        token, batch = _integer("token", token), _integer("batch", batch or 0)
        rows = [_row(name, blocks, batch) for name, blocks in
                (("table", table), ("scales_table", scales_table))]
        text = self.attr.explain(layers) + "\n" + self.attr.explain_token(layers, token, *rows)
        return Explanation(self, layers, text, token % self.page_size)

    # Pools --------------------------------------------------------------------

    def pool_shape(self, num_blocks: int, layers: int, pool: str = "values") -> tuple[int, ...]:
        """Shape of the array of a pool: `(num_blocks, sides, layers, …)`. Raises
        ValueError where the layout has no such pool."""
        shape = list(self.attr.pool_shape(_pool(pool)))
        if not shape:
            raise ValueError(f"the layout has no pool of {pool}")
        shape[0], shape[2] = num_blocks, layers
        return tuple(shape)

    def pool_dtype(self, pool: str = "values") -> str:
        """Element type of that array, as MLIR spells it. Raises ValueError where the
        layout has no such pool."""
        kind = self.attr.pool_type(_pool(pool))
        if kind is None:
            raise ValueError(f"the layout has no pool of {pool}")
        return str(kind)

    def allocate(self, num_blocks: int, layers: int, *,
                 scales_blocks: Optional[int] = None) -> "Pool":
        """NumPy arrays of zeros for a cache of `num_blocks` pages, and as many of
        scales unless `scales_blocks` says otherwise: `blocks` `[num_blocks, sides,
        layers, …]`, and `scales` likewise. Raises ValueError for numbers that are none,
        a pool of 2^62 bytes and more, and `scales_blocks` of a layout without that pool;
        MemoryError where there is not as much."""
        def zeros(blocks, pool):
            shape = self.pool_shape(blocks, layers, pool)
            dtype = dtypes.to_numpy(self.pool_dtype(pool))
            pitch = self.page_bytes(layers, pool)
            if blocks * pitch >= 2**62:
                raise ValueError(f"expected a pool of {pool} of less than 2^62 bytes, got {blocks} "
                                 f"pages of {pitch}")
            size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
            packed = int(np.prod(shape[1:], dtype=np.int64)) * dtype.itemsize
            memory = np.zeros(max(size, blocks * pitch) + 256, np.uint8)
            start = -memory.ctypes.data % 256
            rows = memory[start:start + blocks * pitch].reshape(blocks, pitch)
            return rows[:, :packed].view(dtype).reshape(shape) if pitch == packed else (
                np.lib.stride_tricks.as_strided(
                    memory[start:].view(dtype), shape,
                    (pitch, *np.empty(shape[1:], dtype).strides)))

        num_blocks, layers = _integer("num_blocks", num_blocks), _integer("layers", layers)
        if num_blocks < 0 or layers < 1:
            raise ValueError(f"expected at least 0 blocks and 1 layer, got {num_blocks} and "
                             f"{layers}")
        if scales_blocks is None:
            scales_blocks = num_blocks
        elif not self.has_scales_pool:
            raise ValueError("expected no scales_blocks; the layout has no pool of scales")
        scales_blocks = _integer("scales_blocks", scales_blocks)
        if scales_blocks < 0:
            raise ValueError(f"expected scales_blocks of at least 0, got {scales_blocks}")
        scales = zeros(scales_blocks, "scales") if self.has_scales_pool else None
        return Pool(self, zeros(num_blocks, "values"), scales)

    def wrap(self, blocks, scales=None) -> "Pool":
        """A pool of arrays that are there already (NumPy, torch, jax, cupy, anything
        with DLPack or `__cuda_array_interface__`), not copied: `blocks` `[NB, sides, L,
        …]` and, where the layout has that pool, `scales`. Raises ArgumentError for arrays
        of another dtype, shape or number of layers, and pages that lie otherwise."""
        return Pool(self, blocks, scales)


def _row(name: str, blocks: Any, batch: int) -> list[int]:
    """The row of a table `[B, pages]` of block ids; empty where there is no table."""
    if blocks is None:
        return []
    try:
        table = np.asarray(blocks)
    except ValueError:  # Rows of several lengths.
        table = np.empty(0)
    if table.ndim != 2 or (table.size and table.dtype.kind not in "iu"):
        raise ValueError(f"expected {name} to be rows of block ids, one for each sequence, got "
                         f"{blocks!r:.80}")
    if not 0 <= batch < len(table):
        raise ValueError(f"expected a batch of 0 to {len(table) - 1}, the rows of {name}, got "
                         f"{batch}")
    return [int(block) for block in table[batch]]


@functools.lru_cache(maxsize=None)
def shared_context():
    """The context of layouts and of the programs of ready kernels."""
    from . import ir

    context = ir.Context(load_on_create_dialects=["func", "kvcache"])
    context.enable_multithreading(False)  # A forked process has no threads of it.
    return context


def _copy_of(layout: Layout, blocks: np.ndarray, scales: Optional[np.ndarray] = None) -> "Pool":
    """A pool of its own with the same pages."""
    copy = layout.allocate(blocks.shape[0], blocks.shape[2],
                           scales_blocks=None if scales is None else scales.shape[0])
    made = []
    for new, old in ((copy.blocks, blocks), (copy.scales, scales)):
        if old is not None:
            made.append(new.view(old.dtype))  # Bytes may stand for 8-bit floats.
            made[-1][...] = old
    return Pool(layout, *made)


class Pool:
    """The memory of a cache: `blocks` `[NB, sides, L, …]` and, where scales have a
    pool of their own, `scales`, which stay the same arrays. Raises ArgumentError for
    arrays of another dtype or shape than the layout's."""

    def __init__(self, layout: Layout, blocks: Any, scales: Any = None):
        self._layout, self._blocks, self._scales = layout, blocks, scales
        if (scales is not None) != layout.has_scales_pool:
            raise ArgumentError("expected a pool of scales" if scales is None else
                                "expected no pool of scales; the layout has none of its own")
        self._check("blocks", blocks, "values")
        if scales is not None:
            self._check("scales", scales, "scales")
            if self.layers != arrays.view(scales, "scales").shape[2]:
                raise ArgumentError(f"'scales': expected {self.layers} layers as in blocks, got "
                                    f"{arrays.view(scales).shape[2]}")

    def _check(self, name, array, pool):
        view = arrays.view(array, name)
        wanted = self.layout.pool_dtype(pool)
        if not dtypes.fits(view.dtype, wanted):
            raise ArgumentError(f"'{name}': expected elements of {wanted}, got {view.dtype}")
        shape = self.layout.attr.pool_shape(kv.Pool[pool])
        if len(shape) != len(view.shape) or any(
                size is not None and size != got for size, got in zip(shape, view.shape)):
            text = ", ".join("?" if size is None else str(size) for size in shape)
            raise ArgumentError(f"'{name}': expected a shape of ({text}), got {view.shape}")
        pitch, align = view.strides[0] * view.bytes, self.layout.page_align
        if pool == "values" and view.shape[0] > 1 and align and pitch % align:
            raise ArgumentError(f"'{name}': expected pages at multiples of {align} bytes, got a "
                                f"stride of {pitch}; Layout.allocate makes such a pool")

    def __copy__(self):
        return type(self)(self.layout, self.blocks, self.scales)

    def __reduce__(self):
        arrays_ = [self.blocks] if self.scales is None else [self.blocks, self.scales]
        # NumPy's copies are packed, and pages may have padding.
        make = _copy_of if all(isinstance(one, np.ndarray) for one in arrays_) else type(self)
        return make, (self.layout, *arrays_)

    @property
    def layout(self) -> Layout:
        """What lies where in the pages."""
        return self._layout

    @property
    def blocks(self) -> Any:
        """The pages of values, as they were given or made."""
        return self._blocks

    @property
    def scales(self) -> Any:
        """The pages of scales; None where they have no pool of their own."""
        return self._scales

    @property
    def num_blocks(self) -> int:
        """Pages that the pool of values has room for."""
        return arrays.view(self.blocks).shape[0]

    @property
    def layers(self) -> int:
        """Layers of the model."""
        return arrays.view(self.blocks).shape[2]

    def __repr__(self):
        return f"<kvcache.Pool of {self.num_blocks} pages, {self.layers} layers>"
