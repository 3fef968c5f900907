# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Text of the programs that run cases: layouts, pools, collections."""
import math

import numpy as np

from element_types import ELEMENT_TYPES
from runner import Program, Sparse

SIDES = ("key", "value")


def number_text(number):
    """A float attribute: MLIR wants a point in it."""
    text = repr(float(number))
    if "." in text or not math.isfinite(number):
        return text
    mantissa, _, exponent = text.partition("e")
    return f"{mantissa}.0" + (f"e{exponent}" if exponent else "")


def layout_text(layout, own_table=False):
    """The attribute. Pitches are not part of it; `own_table` says that blocks of
    scales have ids of their own."""
    mla = ", is_mla = true" if layout.is_mla else ""
    text = (f"#kvcache.layout<{layout.dtype}, params = <num_heads = {layout.H}, "
            f"head_size = {layout.D}{mla}>, page_size = {layout.P}")
    if layout.scale_dtype:
        table = ", table = own" if own_table and layout.has_scales_pool else ""
        text += (f", scales = <{layout.scale_dtype}, granularity = "
                 f"{layout.g}{table}>")
    if layout.placement != "pool":
        text += f", placement = {layout.placement}"
        # 0, the default, is no padding at all.
        # A pitch may be given that is no multiple of it.
        align = layout.page_align
        if layout.page_bytes % align:
            align = 1
        if align > 1 or layout.page_bytes != layout.packed_page_bytes:
            text += f", page_align = {align}"
    if layout.order == "HND":
        text += ", order = hnd"
    if layout.rope:
        text += f", rope = <{layout.rope_dtype}, size = {layout.rope}>"
    if layout.kv_inner:
        text += ", kv_inner = true"
    if layout.footer is not None and layout.footer != layout.scale_row_bytes:
        text += f", footer = {layout.footer}"
    if layout.swizzle != "none":
        text += f", swizzle = {layout.swizzle}"
    return text + ">"


def _list(numbers):
    return ", ".join(map(str, numbers))


def _strides(sizes):
    """Of a dense array."""
    return [math.prod(sizes[i + 1:]) for i in range(len(sizes))]


class ProgramText:
    """A program in the making: arguments of `main`, lines of its body."""

    def __init__(self):
        self.attributes, self.lines = [], []
        self.arguments, self.types, self.outputs = [], {}, []

    def line(self, text):
        self.lines.append(text)

    def index(self, name, value):
        self.line(f"%{name} = arith.constant {value} : index")
        return f"%{name}"

    def attribute(self, name, text):
        self.attributes.append(f"#{name} = {text}")
        return f"#{name}"

    def argument(self, name, array, dtype, is_output=False, static_dims=None):
        """Adds an argument that the device may address; its memref type. Leading
        dimensions, all but `static_dims`, are dynamic."""
        element = ELEMENT_TYPES[dtype].mlir
        if isinstance(array, Sparse):
            shape, static_dims = [array.size], 1
        else:
            shape = list(array.shape)
        static = len(shape) if static_dims is None else static_dims
        sizes = [str(size) if i >= len(shape) - static else "?"
                 for i, size in enumerate(shape)]
        self.types[name] = f"memref<{'x'.join(sizes + [element])}>"
        self.arguments.append((name, array))
        if is_output:
            self.outputs.append(name)
        self.line(f"%{name}_any = memref.cast %{name} : {self.types[name]} to "
                  f"memref<*x{element}>")
        self.line(f"gpu.host_register %{name}_any : memref<*x{element}>")
        return self.types[name]

    def typed(self, name):
        return f"%{name} : {self.types[name]}"

    def pool(self, name, layout, blocks, array):
        """The flat bytes of a pool seen as the memref that collections take.
        Packed pools have a dynamic number of blocks and layers, padded ones are
        static."""
        self.argument(name, array, "u8", is_output=True)
        scales = name.endswith("scales")
        if not layout.has_scales_pool and scales:
            raise AssertionError("the layout has no scales pool")
        if layout.placement == "pool":
            dtype = layout.scale_dtype if scales else layout.dtype
            last = layout.G if scales else layout.D
            if dtype == "f4E2M1FN":
                last //= 2
            pair = [layout.P, layout.H]
            inner = (pair if layout.order == "NHD" else pair[::-1]) + [last]
            sides, element = layout.KD, ELEMENT_TYPES[dtype].mlir
            size = ELEMENT_TYPES[dtype].bits // 8 or 1
        else:
            bytes_ = layout.side_bytes * (layout.KD if layout.kv_inner else 1)
            sides, inner = (1 if layout.kv_inner else layout.KD), [bytes_]
            element, size = "i8", 1
        page = layout.scales_page_bytes if scales else layout.page_bytes
        pitch = page // size
        shape = [blocks, sides, layout.L] + inner
        strides = _strides(shape)
        flat, source = self.types[name], f"%{name}"
        if element != "i8":
            count = blocks * pitch
            flat = f"memref<{count}x{element}>"
            zero = self.index(f"{name}_zero", 0)
            self.line(f"%{name}_elements = memref.view {source}[{zero}][] : "
                      f"{self.types[name]} to {flat}")
            source = f"%{name}_elements"
        if pitch == strides[0]:
            sizes = [self.index(f"{name}_blocks", blocks), sides,
                     self.index(f"{name}_layers", layout.L)] + inner
            strides = [self.index(f"{name}_pitch", pitch),
                       self.index(f"{name}_side", strides[1])] + strides[2:]
            type_ = f"memref<{'x'.join(map(str, ['?', sides, '?'] + inner))}x{element}>"
        else:
            sizes, strides = shape, [pitch] + strides[1:]
            type_ = (f"memref<{'x'.join(map(str, shape))}x{element}, "
                     f"strided<[{_list(strides)}]>>")
        self.line(f"%{name}_pool = memref.reinterpret_cast {source} to offset: [0], "
                  f"sizes: [{_list(sizes)}], strides: [{_list(strides)}] : {flat} "
                  f"to {type_}")
        self.types[f"{name}_pool"] = type_

    def pools(self, layout, nb, nbs, arrays, prefix=""):
        """Text of the pools as operands of a collection."""
        self.pool(f"{prefix}blocks", layout, nb, arrays["blocks"])
        text = f"blocks({self.typed(prefix + 'blocks_pool')})"
        if layout.has_scales_pool:
            self.pool(f"{prefix}scales", layout, nbs, arrays["scales"])
            text += f" scales({self.typed(prefix + 'scales_pool')})"
        return text

    def program(self):
        arguments = ", ".join(f"%{name}: {self.types[name]}"
                              for name, _ in self.arguments)
        newline = "\n  "
        return Program(
            "\n".join(self.attributes) + f"\nfunc.func @main({arguments}) {{\n  "
            + newline.join(self.lines + ["return"]) + "\n}\n",
            self.arguments, self.outputs)


def padded_with_poison(shape, dtype):
    """An array for a result: bytes that no reader may take for one."""
    storage = np.dtype(ELEMENT_TYPES[dtype].storage)
    size = math.prod(shape) * storage.itemsize
    return np.full(size, 0xA5, np.uint8).view(storage).reshape(shape)
