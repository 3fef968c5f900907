# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels on a GPU by the CUDA driver API, in the context that is current (torch's,
cupy's, …) or else the device's primary one."""

from __future__ import annotations

import ctypes
import functools
import os
import threading
from typing import Mapping, Sequence

from .arrays import ArrayView
from .errors import ArgumentError, LaunchError
from .record import Launch

_VOID = ctypes.c_void_p
_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_INVALID_VALUE = 1  # CUDA_ERROR_INVALID_VALUE
_DEVICE_ORDINAL = 9  # CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
_NO_TIMING = 2  # CU_EVENT_DISABLE_TIMING
_LEGACY_STREAM = 1  # CU_STREAM_LEGACY, which 0 stands for
_lock = threading.Lock()
_functions: dict[tuple[int, str, str], _VOID] = {}


@functools.lru_cache(maxsize=None)
def _driver():
    try:
        driver = ctypes.CDLL(os.environ.get("KVCACHE_CUDA_LIBRARY") or "libcuda.so.1")
    except OSError as error:
        raise LaunchError(f"cannot open the CUDA driver: {error}; arrays in host memory run on "
                          "the simulator") from None
    status = driver.cuInit(0)
    if status:
        raise LaunchError(f"cannot start the CUDA driver: error {status}")
    return driver


def _check(status: int) -> None:
    if status:
        text = ctypes.c_char_p()
        _driver().cuGetErrorString(status, ctypes.byref(text))
        raise LaunchError(f"CUDA: {(text.value or b'unknown error').decode()} ({status})")


def _context(ordinal: int) -> int:
    """The current context, which is that of the GPU `ordinal`; its primary one where
    there is none."""
    context, device = _VOID(), ctypes.c_int()
    _check(_driver().cuCtxGetCurrent(ctypes.byref(context)))
    if not context:
        _check(_driver().cuDeviceGet(ctypes.byref(device), ordinal))
        _check(_driver().cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
        _check(_driver().cuCtxSetCurrent(context))
        return context.value
    _check(_driver().cuCtxGetDevice(ctypes.byref(device)))
    if device.value != ordinal:
        raise ArgumentError(f"expected arrays on GPU {device.value}, whose context is current, got "
                            f"some on GPU {ordinal}; make that one current, as by "
                            f"torch.cuda.device({ordinal})")
    return context.value


def _ordinal(memory: Mapping[str, ArrayView]) -> int:
    """The number of the GPU that all arrays lie on."""
    _driver()
    where: dict[int, str] = {}
    for name, view in memory.items():
        ordinal = view.ordinal
        if ordinal is None and view.pointer and 0 not in view.shape:
            found = ctypes.c_int()
            status = _driver().cuPointerGetAttribute(ctypes.byref(found), _DEVICE_ORDINAL,
                                                     ctypes.c_uint64(view.pointer))
            if status == _INVALID_VALUE:
                raise ArgumentError(f"'{name}': expected memory of a GPU, got an address that the "
                                    f"CUDA driver does not know, {view.pointer:#x}; was it freed?")
            _check(status)
            ordinal = found.value
        if ordinal is not None:
            where.setdefault(ordinal, name)
    if len(where) > 1:
        (first, one), (second, other) = list(where.items())[:2]
        raise ArgumentError(f"expected all arrays on one GPU, got '{one}' on GPU {first} and "
                            f"'{other}' on GPU {second}")
    return next(iter(where), 0)


def _wait(stream: int, producers: set[int]) -> None:
    """Makes later work of `stream` wait for what other streams were given so far."""
    driver = _driver()
    for producer in sorted(producers - {stream or _LEGACY_STREAM}):
        event = _VOID()
        _check(driver.cuEventCreate(ctypes.byref(event), _NO_TIMING))
        try:
            _check(driver.cuEventRecord(event, _VOID(producer)))
            _check(driver.cuStreamWaitEvent(_VOID(stream), event, 0))
        finally:
            driver.cuEventDestroy_v2(event)


def _function(context: int, ptx: str, entry: str) -> _VOID:
    with _lock:
        function = _functions.get((context, ptx, entry))
        if function is None:
            module, function = _VOID(), _VOID()
            _check(_driver().cuModuleLoadDataEx(ctypes.byref(module), ptx.encode() + b"\0", 0,
                                                None, None))
            _check(_driver().cuModuleGetFunction(ctypes.byref(function), module, entry.encode()))
            _functions[context, ptx, entry] = function
        return function


def run(modules: dict[str, str], launches: Sequence[Launch], memory: Mapping[str, ArrayView],
        stream: int) -> None:
    """Puts launches into `stream` (a CUstream as a number; 0: the default one), behind
    what fills the arrays of `memory`. Raises ArgumentError for arrays on several GPUs or
    another one than the current context's."""
    context = _context(_ordinal(memory))
    _wait(stream, {view.ready for view in memory.values() if view.ready is not None})
    for launch in launches:
        function = _function(context, modules[launch.module], launch.entry)
        if launch.shared > 48 * 1024:
            _check(_driver().cuFuncSetAttribute(function, _DYNAMIC_SHARED, launch.shared))
        values = [ctypes.create_string_buffer((value % 2 ** (8 * size)).to_bytes(size, "little"))
                  for value, size in launch.arguments]
        pointers = (_VOID * len(values))(*(ctypes.addressof(value) for value in values))
        if 0 in launch.grid:
            continue
        _check(_driver().cuLaunchKernel(function, *launch.grid, *launch.block, launch.shared,
                                        _VOID(stream), pointers, None))
