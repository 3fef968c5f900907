# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The runtime library, by ctypes: kernels on the embedded PTX simulator."""

from __future__ import annotations

import ctypes
import functools
import json
import os
import pathlib
import threading
from typing import Sequence

from .arrays import ArrayView
from .errors import CheckError, LaunchError
from .record import Launch

_VOID = ctypes.c_void_p


class _Config(ctypes.Structure):
    _fields_ = [("grid", ctypes.c_int64 * 3), ("block", ctypes.c_int64 * 3),
                ("cluster", ctypes.c_int64 * 3), ("shared", ctypes.c_int64)]


@functools.lru_cache(maxsize=None)
def _library():
    folder = pathlib.Path(__file__).parent / "_mlir_libs"
    found = sorted(folder.glob("libkvcache_runtime.so*"))
    if not found:
        raise LaunchError(f"expected libkvcache_runtime.so in {folder}; install the package again")
    library = ctypes.CDLL(str(found[0]))
    library.kvcacheLastError.restype = ctypes.c_char_p
    library.kvcacheHostAccess.argtypes = [_VOID, ctypes.c_uint64]
    return library


def host_access(low: int, high: int) -> tuple[bool, bool]:
    """Whether all addresses from `low` to before `high` can be read, and be written."""
    access = _library().kvcacheHostAccess(low, high - low)
    return bool(access & 1), bool(access & 2)


def _check(status: int) -> None:
    if status:
        raise LaunchError(_library().kvcacheLastError().decode(errors="replace"))


class DeviceFailed(LaunchError):
    """A launch on a device that does no more work, as CUDA's do not after a fault."""


class Simulator:
    """A device of the simulator. `settings` are the runtime's environment variables
    (docs/runtime.md), which it overrides."""

    def __init__(self, **settings: str):
        settings["KVCACHE_DEVICE"] = "sim"
        texts = [f"{name}={value}".encode() for name, value in settings.items()]
        self._handle = _VOID()
        self._modules: dict[str, _VOID] = {}
        self._lock = threading.Lock()
        self.failed = False
        _check(_library().kvcacheDeviceCreate(
            (ctypes.c_char_p * (len(texts) + 1))(*texts, None), ctypes.byref(self._handle)))

    def close(self) -> None:
        """Frees the device; all that it holds is gone."""
        if self._handle:
            _library().kvcacheDeviceDestroy(self._handle)
            self._handle = _VOID()

    def retire(self) -> None:
        """Frees the device once no thread is in a call of it; it takes no more."""
        with self._lock:
            self.failed = True
            self.close()

    def run(self, modules: dict[str, str], launches: Sequence[Launch],
            memory: Sequence[ArrayView]) -> None:
        """Runs launches one after another. `modules` are PTX texts by name; `memory`
        is what kernels may touch."""
        with self._lock:
            if self.failed:
                raise DeviceFailed("the device does no more work after a fault")
            registered = []
            try:
                for low, high in _merge([view.extent for view in memory]):
                    _check(_library().kvcacheHostRegister(
                        self._handle, _VOID(low), ctypes.c_uint64(high - low)))
                    registered.append(low)
                for launch in launches:
                    self._launch(modules[launch.module], launch)
                _check(_library().kvcacheDeviceSynchronize(self._handle))
            except LaunchError:
                self.failed = True
                raise
            finally:
                for low in registered:
                    _library().kvcacheHostUnregister(self._handle, _VOID(low))

    def _launch(self, ptx: str, launch: Launch) -> None:
        library = _library()
        module = self._modules.get(ptx)
        if module is None:
            module = _VOID()
            image = ptx.encode()
            _check(library.kvcacheModuleLoad(self._handle, image, ctypes.c_size_t(len(image)),
                                             ctypes.byref(module)))
            self._modules[ptx] = module
        kernel = _VOID()
        _check(library.kvcacheModuleGetKernel(module, launch.entry.encode(),
                                              ctypes.byref(kernel)))
        values = [ctypes.create_string_buffer((value % 2 ** (8 * size)).to_bytes(size, "little"))
                  for value, size in launch.arguments]
        pointers = (_VOID * len(values))(*(ctypes.addressof(value) for value in values))
        config = _Config(launch.grid, launch.block, (0, 0, 0), launch.shared)
        _check(library.kvcacheLaunch(kernel, ctypes.byref(config), pointers,
                                     ctypes.c_size_t(len(values)), None))

    def _text(self, function, form: int) -> str:
        text = ctypes.c_char_p()
        _check(function(self._handle, form, ctypes.byref(text)))
        result = (text.value or b"").decode(errors="replace")
        _library().kvcacheStringFree(text)
        return result

    def raise_findings(self) -> None:
        """Raises CheckError with what checks have found, if anything."""
        count = ctypes.c_uint64()
        _check(_library().kvcacheDeviceGetNumFindings(self._handle, ctypes.byref(count)))
        if count.value:
            reports = _library().kvcacheDeviceGetReports
            raise CheckError(self._text(reports, 0).strip(), json.loads(self._text(reports, 1)))

    def counters(self) -> list[dict]:
        """Counters of each kernel, for a device with KVCACHE_SIM_COUNT=1."""
        return json.loads(self._text(_library().kvcacheDeviceGetCounters, 1))


def _merge(extents):
    """Ranges without overlap: one array may be a part of another one."""
    result = []
    for low, high in sorted(extents):
        if low == high:
            continue
        if result and low <= result[-1][1]:
            result[-1][1] = max(result[-1][1], high)
        else:
            result.append([low, high])
    return result


_shared: list[Simulator] = []
_shared_lock = threading.Lock()


def default_simulator() -> Simulator:
    """The device without checks that calls of this process share; a forked process
    makes one of its own."""
    with _shared_lock:
        if not _shared:
            _shared.append(Simulator())
        return _shared[0]


def run(modules: dict[str, str], launches: Sequence[Launch],
        memory: Sequence[ArrayView]) -> None:
    """Runs launches on the shared device. One that a fault has stopped is replaced, so
    that a fault is the concern of the call that made it alone."""
    while True:
        device = default_simulator()
        try:
            return device.run(modules, launches, memory)
        except DeviceFailed:  # By the call of another thread.
            continue
        finally:
            if device.failed:
                with _shared_lock:
                    first = device in _shared
                    if first:
                        _shared.remove(device)
                if first:
                    device.retire()


def _after_fork():
    """The parent's device has threads, and the lock may have been held."""
    global _shared_lock
    _shared.clear()
    _shared_lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)
