# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays of NumPy, torch, jax, cupy, …, as pointer, shape and strides; nothing is
copied."""

from __future__ import annotations

import ctypes
import dataclasses
from typing import Any

import numpy as np

from . import dtypes
from .errors import ArgumentError


@dataclasses.dataclass
class ArrayView:
    """Where an array lies. `strides` count elements; `device` is "cpu" or "cuda".
    `owner` keeps the memory alive."""

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str
    bytes: int
    device: str
    owner: Any
    writeable: bool = True

    def extent(self) -> tuple[int, int]:
        """The addresses from the first byte to behind the last one."""
        if 0 in self.shape:
            return self.pointer, self.pointer
        steps = [(n - 1) * s * self.bytes for n, s in zip(self.shape, self.strides)]
        low = self.pointer + sum(s for s in steps if s < 0)
        high = self.pointer + sum(s for s in steps if s > 0) + self.bytes
        return low, high


def _packed(shape):
    strides = [1] * len(shape)
    for i in range(len(shape) - 1, 0, -1):
        strides[i - 1] = strides[i] * max(shape[i], 1)
    return tuple(strides)


def _check_order(dtype: np.dtype, name: str) -> None:
    if not dtype.isnative:
        raise ArgumentError(f"'{name}': expected numbers in the machine's byte order, got "
                            f"{dtype.str}; use array.astype(dtype.newbyteorder('='))")


def _from_numpy(array: np.ndarray, name: str) -> ArrayView:
    item = array.dtype.itemsize
    _check_order(array.dtype, name)
    if any(stride % item for stride in array.strides):
        raise ArgumentError(f"'{name}': expected strides of whole elements of {item} "
                            f"bytes, got {array.strides} bytes")
    return ArrayView(array.ctypes.data, array.shape,
                     tuple(stride // item for stride in array.strides),
                     dtypes.name_of(array.dtype), item, "cpu", array,
                     bool(array.flags.writeable))


def _from_cuda_interface(array, name: str) -> ArrayView:
    facts = array.__cuda_array_interface__
    dtype = np.dtype(facts["typestr"])
    _check_order(dtype, name)
    strides = facts.get("strides")
    strides = tuple(s // dtype.itemsize for s in strides) if strides else _packed(facts["shape"])
    pointer, readonly = facts["data"]
    return ArrayView(pointer or 0, tuple(facts["shape"]), strides, dtypes.name_of(dtype),
                     dtype.itemsize, "cuda", array, not readonly)


def _from_torch(tensor, name: str) -> ArrayView:
    if tensor.device.type not in ("cpu", "cuda"):
        raise ArgumentError(f"'{name}': expected a tensor on cpu or cuda, got one on "
                            f"{tensor.device.type}")
    seen = ArrayView(tensor.data_ptr(), tuple(tensor.shape), tuple(tensor.stride()),
                     dtypes.name_of(tensor.dtype), tensor.element_size(),
                     tensor.device.type, tensor)
    low, high = seen.extent()
    behind = tensor.untyped_storage().nbytes() - tensor.storage_offset() * seen.bytes
    if high - low > behind:  # Its storage was freed or made smaller.
        raise ArgumentError(f"'{name}': expected memory of {high - low} bytes, got "
                            f"{max(0, behind)}")
    return seen


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64),
    ]


_DLPACK_TYPES = {(0, 8): "i8", (0, 16): "i16", (0, 32): "i32", (0, 64): "i64",
                 (1, 8): "ui8", (1, 16): "ui16", (1, 32): "ui32", (1, 64): "ui64",
                 (2, 16): "f16", (2, 32): "f32", (2, 64): "f64", (4, 16): "bf16",
                 (10, 8): "f8E4M3FN", (12, 8): "f8E5M2", (14, 8): "f8E8M0FNU"}


def _from_dlpack(array, name: str) -> ArrayView:
    capsule = array.__dlpack__()
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    tensor = ctypes.cast(get(capsule, b"dltensor"), ctypes.POINTER(_DLTensor)).contents
    device = {1: "cpu", 2: "cuda", 3: "cpu", 13: "cuda"}.get(tensor.device_type)
    dtype = _DLPACK_TYPES.get((tensor.code, tensor.bits))
    if not device or not dtype or tensor.lanes != 1:
        raise ArgumentError(f"'{name}': expected numbers on the CPU or a CUDA device, got "
                            f"DLPack type {tensor.code}:{tensor.bits} on device type "
                            f"{tensor.device_type}")
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    strides = (tuple(tensor.strides[i] for i in range(tensor.ndim))
               if tensor.strides else _packed(shape))
    return ArrayView((tensor.data or 0) + tensor.byte_offset, shape, strides, dtype,
                     tensor.bits // 8, device, (array, capsule))


def view(array, name: str = "array") -> ArrayView:
    """The view of an array of any library with `__array_interface__`,
    `__cuda_array_interface__`, `data_ptr` (torch) or `__dlpack__`. Raises
    ArgumentError for anything else."""
    if isinstance(array, ArrayView):
        return array
    try:
        if isinstance(array, np.ndarray):
            return _from_numpy(array, name)
        if hasattr(array, "data_ptr") and hasattr(array, "element_size"):
            return _from_torch(array, name)
        if hasattr(array, "__cuda_array_interface__"):
            return _from_cuda_interface(array, name)
        if hasattr(array, "__dlpack__"):
            return _from_dlpack(array, name)
    except ArgumentError:
        raise
    except Exception as error:  # A freed or foreign array, in its library's words.
        text = f"{type(error).__name__}: {error}" if isinstance(error, KeyError) else error
        raise ArgumentError(f"'{name}': {text}") from error
    raise ArgumentError(f"'{name}': expected an array (NumPy, DLPack, "
                        f"__cuda_array_interface__), got {type(array).__name__}")


def as_numpy(array, name: str = "array") -> np.ndarray:
    """A NumPy array of the same memory, which lies on the host. Raises ArgumentError
    otherwise."""
    seen = view(array, name)
    if isinstance(seen.owner, np.ndarray):
        return seen.owner
    if seen.device != "cpu":
        raise ArgumentError(f"'{name}': expected an array in host memory, got one on a GPU")
    dtype = dtypes.to_numpy(seen.dtype)
    low, high = seen.extent()
    if low == high or not low:
        return np.empty(seen.shape, dtype)
    memory = (ctypes.c_char * (high - low)).from_address(low)
    memory._owner = seen.owner  # Lives as long as what looks at it.
    return np.ndarray(seen.shape, dtype, memory, seen.pointer - low,
                      tuple(stride * seen.bytes for stride in seen.strides))
