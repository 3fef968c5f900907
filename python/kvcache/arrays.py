# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays of NumPy, torch, jax, cupy, …, as pointer, shape and strides; nothing is
copied."""

from __future__ import annotations

import ctypes
import dataclasses
from typing import Any, Optional

import numpy as np

from . import dtypes
from .errors import ArgumentError


@dataclasses.dataclass
class ArrayView:
    """Where an array lies. `strides` count elements; `device` is "cpu" or "cuda", and
    `ordinal` the GPU's number where the array says it. `ready` is the stream whose work
    fills the array and must be waited for, as a CUstream's number; None where there is
    none. `owner` keeps the memory alive; `checked` says that it was found to be there."""

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str
    bytes: int
    device: str
    owner: Any
    writeable: bool = True
    ordinal: Optional[int] = None
    ready: Optional[int] = None
    checked: bool = False

    #: The addresses of the first byte and behind the last one.
    extent: tuple[int, int] = dataclasses.field(init=False)

    def __post_init__(self):
        self.extent = self.pointer, self.pointer
        if 0 in self.shape:
            return
        low = high = self.pointer
        for size, stride in zip(self.shape, self.strides):
            step = (size - 1) * stride * self.bytes
            if step < 0:
                low += step
            else:
                high += step
        self.extent = low, high + self.bytes


def _packed(shape):
    strides = [1] * len(shape)
    for i in range(len(shape) - 1, 0, -1):
        strides[i - 1] = strides[i] * max(shape[i], 1)
    return tuple(strides)


def _dtype(dtype, name: str) -> str:
    try:
        return dtypes.name_of(dtype)
    except ValueError as error:
        raise ArgumentError(f"'{name}': {error}") from None


def _check_order(dtype: np.dtype, name: str) -> None:
    if not dtype.isnative:
        raise ArgumentError(f"'{name}': expected numbers in the machine's byte order, got "
                            f"{dtype.str}; use array.astype(dtype.newbyteorder('='))")


def _elements(strides, item: int, name: str) -> tuple[int, ...]:
    """Strides in elements, from those in bytes."""
    if any([stride % item for stride in strides]):
        raise ArgumentError(f"'{name}': expected strides of whole elements of {item} bytes, got "
                            f"{tuple(strides)} bytes")
    return tuple([stride // item for stride in strides])


def _from_numpy(array: np.ndarray, name: str) -> ArrayView:
    item = array.dtype.itemsize
    _check_order(array.dtype, name)
    if isinstance(array, np.ma.MaskedArray):
        raise ArgumentError(f"'{name}': expected an array without a mask, got a masked one; use "
                            "array.filled()")
    pointer, _ = array.__array_interface__["data"]
    return ArrayView(pointer, array.shape, _elements(array.strides, item, name),
                     _dtype(array.dtype, name), item, "cpu", array,
                     bool(array.flags.writeable))


def _from_cuda_interface(array, name: str) -> ArrayView:
    facts = array.__cuda_array_interface__
    dtype = np.dtype(facts["typestr"])
    _check_order(dtype, name)
    if facts.get("mask") is not None:
        raise ArgumentError(f"'{name}': expected an array without a mask, got a masked one")
    stream = facts.get("stream")
    if stream is not None and (not isinstance(stream, int) or stream < 1):
        raise ArgumentError(f"'{name}': expected a stream of at least 1 in "
                            f"__cuda_array_interface__, got {stream!r}")
    shape, strides = tuple(facts["shape"]), facts.get("strides")
    strides = _packed(shape) if strides is None else _elements(strides, dtype.itemsize, name)
    pointer, readonly = facts["data"]
    return ArrayView(pointer or 0, shape, strides, _dtype(dtype, name), dtype.itemsize, "cuda",
                     array, not readonly, ready=stream)


def _from_torch(tensor, name: str) -> ArrayView:
    if tensor.device.type not in ("cpu", "cuda"):
        raise ArgumentError(f"'{name}': expected a tensor on cpu or cuda, got one on "
                            f"{tensor.device.type}")
    for kind in ("neg", "conj"):  # Views whose memory holds other numbers.
        if getattr(tensor, f"is_{kind}")():
            raise ArgumentError(f"'{name}': expected a tensor whose numbers are in memory, got a "
                                f"view with is_{kind}(); use tensor.resolve_{kind}()")
    seen = ArrayView(tensor.data_ptr(), tuple(tensor.shape), tuple(tensor.stride()),
                     _dtype(tensor.dtype, name), tensor.element_size(),
                     tensor.device.type, tensor, ordinal=tensor.device.index)
    low, high = seen.extent
    behind = tensor.untyped_storage().nbytes() - tensor.storage_offset() * seen.bytes
    if high - low > behind:  # Its storage was freed or made smaller.
        raise ArgumentError(f"'{name}': expected memory of {high - low} bytes, got "
                            f"{max(0, behind)}")
    return seen


# dlpack.h, versions before 1.0 and from then on.
class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64),
    ]


class _DLManagedTensorVersioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", _DLTensor),
    ]


_DLPACK_NOT_WRITABLE = 0b11  # DLPACK_FLAG_BITMASK_READ_ONLY, DLPACK_FLAG_BITMASK_IS_COPIED
_DLPACK_TYPES = {(0, 8): "i8", (0, 16): "i16", (0, 32): "i32", (0, 64): "i64",
                 (1, 8): "ui8", (1, 16): "ui16", (1, 32): "ui32", (1, 64): "ui64",
                 (2, 16): "f16", (2, 32): "f32", (2, 64): "f64", (4, 16): "bf16",
                 (10, 8): "f8E4M3FN", (12, 8): "f8E5M2", (14, 8): "f8E8M0FNU"}
_DLPACK_CUDA = (2, 13)  # kDLCUDA, kDLCUDAManaged


def _dlpack_capsule(array, **options):
    """What `__dlpack__` gives, from version 1.0 on where the array's library has it."""
    try:
        return array.__dlpack__(max_version=(1, 0), **options)
    except TypeError:
        return array.__dlpack__(**options)


def _dlpack_tensor(capsule, name: str) -> tuple[_DLTensor, bool]:
    """The tensor in a capsule, and whether it may be written."""
    get, is_valid = ctypes.pythonapi.PyCapsule_GetPointer, ctypes.pythonapi.PyCapsule_IsValid
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    is_valid.argtypes = [ctypes.py_object, ctypes.c_char_p]
    if not is_valid(capsule, b"dltensor_versioned"):
        return ctypes.cast(get(capsule, b"dltensor"), ctypes.POINTER(_DLTensor)).contents, True
    managed = ctypes.cast(get(capsule, b"dltensor_versioned"),
                          ctypes.POINTER(_DLManagedTensorVersioned)).contents
    if managed.major != 1:
        raise ArgumentError(f"'{name}': expected DLPack of version 1, got {managed.major}")
    return managed.tensor, not managed.flags & _DLPACK_NOT_WRITABLE


def _from_dlpack(array, name: str, stream: Optional[int]) -> ArrayView:
    where = array.__dlpack_device__() if hasattr(array, "__dlpack_device__") else (1, 0)
    # The array's library makes what fills it come before the stream's later work.
    on_gpu = int(where[0]) in _DLPACK_CUDA and stream is not None
    capsule = _dlpack_capsule(array, **({"stream": stream or 1} if on_gpu else {}))
    tensor, writeable = _dlpack_tensor(capsule, name)
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
                     tensor.bits // 8, device, (array, capsule), writeable,
                     ordinal=tensor.device_id if tensor.device_type == 2 else None)


def view(array, name: str = "array", stream: Optional[int] = None) -> ArrayView:
    """The view of an array of any library with `__array_interface__`,
    `__cuda_array_interface__`, `data_ptr` (torch) or `__dlpack__`. Work on a GPU's array
    goes into `stream` (a CUstream's number), for which DLPack makes the array ready; None
    where there is none, as where only its shape is looked at. Raises ArgumentError for
    anything else."""
    if isinstance(array, ArrayView):
        return array
    try:
        if isinstance(array, np.ndarray):
            seen = _from_numpy(array, name)
        elif hasattr(array, "data_ptr") and hasattr(array, "element_size"):
            seen = _from_torch(array, name)
        elif hasattr(array, "__cuda_array_interface__"):
            seen = _from_cuda_interface(array, name)
        elif hasattr(array, "__dlpack__"):
            seen = _from_dlpack(array, name, stream)
        elif hasattr(array, "__array_interface__"):
            seen = _from_numpy(np.asarray(array), name)
        else:
            raise ArgumentError(f"'{name}': expected an array (NumPy, DLPack, "
                                f"__cuda_array_interface__), got {type(array).__name__}")
        low, high = seen.extent
        if min(seen.shape, default=0) < 0 or low < 0 or high > 2**64:
            raise ArgumentError(f"'{name}': expected an array inside of the address space, got "
                                f"shape {seen.shape} at {seen.pointer:#x}")
        return seen
    except ArgumentError:
        raise
    except Exception as error:  # A freed or foreign array, in its library's words.
        raise ArgumentError(f"'{name}': expected an array, got one of {type(array).__name__} that "
                            f"does not say where it lies ({type(error).__name__}: {error}); was it "
                            "deleted or freed?") from error


def check_host_memory(seen: ArrayView, name: str) -> None:
    """Looks once whether the memory of an array on the host is there, and whether it can
    be written. Raises ArgumentError where it cannot be read."""
    from . import runtime

    low, high = seen.extent
    if seen.checked or high == low:
        return
    if not seen.pointer:
        raise ArgumentError(f"'{name}': expected memory, got a null pointer")
    readable, writeable = runtime.host_access(low, high)
    if not readable:
        raise ArgumentError(f"'{name}': expected {high - low} bytes of memory at {low:#x}, got "
                            "some that is not mapped or cannot be read; was it freed?")
    seen.writeable = seen.writeable and writeable
    seen.checked = True


def as_numpy(array, name: str = "array") -> np.ndarray:
    """A NumPy array of the same memory, which lies on the host. Raises ArgumentError
    otherwise, and for memory that is no longer there."""
    seen = view(array, name)
    if seen.device != "cpu":
        raise ArgumentError(f"'{name}': expected an array in host memory, got one on a GPU")
    low, high = seen.extent
    check_host_memory(seen, name)
    if isinstance(seen.owner, np.ndarray):
        return seen.owner
    dtype = dtypes.to_numpy(seen.dtype)
    if low == high:
        return np.empty(seen.shape, dtype)
    memory = (ctypes.c_char * (high - low)).from_address(low)
    memory._owner = seen.owner  # Lives as long as what looks at it.
    return np.ndarray(seen.shape, dtype, memory, seen.pointer - low,
                      tuple(stride * seen.bytes for stride in seen.strides))
