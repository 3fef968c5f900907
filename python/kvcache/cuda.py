# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels on a GPU by the CUDA driver API, in the context that is current (torch's,
cupy's, …) or else the device's primary one."""

from __future__ import annotations

import ctypes
import functools
import os
import threading
from typing import Sequence

from .errors import LaunchError
from .record import Launch

_VOID = ctypes.c_void_p
_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
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


def _context() -> int:
    context = _VOID()
    _check(_driver().cuCtxGetCurrent(ctypes.byref(context)))
    if not context:
        device = ctypes.c_int()
        _check(_driver().cuDeviceGet(ctypes.byref(device), 0))
        _check(_driver().cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
        _check(_driver().cuCtxSetCurrent(context))
    return context.value


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


def run(modules: dict[str, str], launches: Sequence[Launch], stream: int) -> None:
    """Puts launches into `stream` (a CUstream as a number; 0: the default one)."""
    context = _context()
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
