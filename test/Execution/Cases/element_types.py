# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The element types of case folders: how wide they are, how a .npy file holds
them, and what MLIR calls them."""
import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True)
class ElementType:
    """`bits` an element; `storage` is NumPy's type in a file, of which
    `per_item` elements share one item; `mlir` is the type of an element of a
    memref."""

    name: str
    bits: int
    storage: type
    mlir: str

    @property
    def per_item(self):
        return np.dtype(self.storage).itemsize * 8 // self.bits

    def bytes_of(self, count):
        """Bytes that `count` elements take; `count` fills whole bytes."""
        return count * self.bits // 8


def _type(name, bits, storage, mlir=None):
    return name, ElementType(name, bits, storage, mlir or name)


ELEMENT_TYPES = dict([
    _type("f64", 64, np.float64),
    _type("f32", 32, np.float32),
    _type("bf16", 16, np.uint16),
    _type("f16", 16, np.uint16),
    _type("f8E4M3FN", 8, np.uint8),
    _type("f8E5M2", 8, np.uint8),
    _type("f8E8M0FNU", 8, np.uint8),
    _type("i8", 8, np.uint8),
    _type("f4E2M1FN", 4, np.uint8, "i8"),
    _type("u8", 8, np.uint8, "i8"),
    _type("i32", 32, np.int32),
    _type("u32", 32, np.uint32, "i32"),
    _type("i64", 64, np.int64),
])
VALUE_DTYPES = ("f32", "f16", "bf16", "f8E4M3FN", "f8E5M2", "i8", "f4E2M1FN")
SCALE_DTYPES = ("f32", "f16", "bf16", "f8E8M0FNU", "f8E4M3FN")


def decode(array, name):
    """Numbers as f64, of an array stored as `name`: a type that has an exact
    conversion in NumPy alone."""
    if name == "bf16":
        return (array.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if name == "f16":
        return array.view(np.float16).astype(np.float64)
    return array.astype(np.float64)
