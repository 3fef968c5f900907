# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A device by the runtime's C API: memory, launches, and how long they take."""
import ctypes
import statistics

VOID = ctypes.c_void_p


class Failed(Exception):
    """What the runtime says of a call."""


class _Config(ctypes.Structure):
    _fields_ = [("grid", ctypes.c_int64 * 3), ("block", ctypes.c_int64 * 3),
                ("cluster", ctypes.c_int64 * 3), ("shared", ctypes.c_int64)]


class Device:
    """The device that the runtime's environment variables and `settings` choose.
    Work goes into one stream."""

    def __init__(self, library, **settings):
        self.library = ctypes.CDLL(str(library))
        self.library.kvcacheLastError.restype = ctypes.c_char_p
        texts = [f"{name}={value}".encode() for name, value in settings.items()]
        self.handle, self.stream = VOID(), VOID()
        self("DeviceCreate", (ctypes.c_char_p * (len(texts) + 1))(*texts, None),
             ctypes.byref(self.handle))
        self("StreamCreate", self.handle, ctypes.byref(self.stream))

    def __call__(self, function, *arguments):
        if getattr(self.library, f"kvcache{function}")(*arguments):
            raise Failed(self.library.kvcacheLastError().decode(errors="replace"))

    def _text(self, function):
        text = ctypes.c_char_p()
        self(function, self.handle, ctypes.byref(text))
        result = text.value.decode()
        self.library.kvcacheStringFree(text)
        return result

    def description(self):
        """E.g. "cuda:0: NVIDIA H200 (sm_90a)"."""
        return self._text("DeviceDescription")

    def chip(self):
        return self._text("DeviceChip")

    def allocate(self, size):
        """The address of `size` bytes."""
        pointer = VOID()
        self("MemAlloc", self.handle, ctypes.c_uint64(size), 0, ctypes.byref(pointer))
        return pointer.value or 0

    def copy(self, to, source, size):
        self("MemCopy", self.handle, VOID(to), VOID(source), ctypes.c_uint64(size),
             self.stream)

    def fill(self, to, size):
        self("MemSet", self.handle, VOID(to), 0, 1, ctypes.c_uint64(size), self.stream)

    def synchronize(self):
        self("StreamSynchronize", self.stream)

    def kernel(self, image, name):
        """Of a module in PTX, a cubin or a fatbin (bytes)."""
        module, kernel = VOID(), VOID()
        self("ModuleLoad", self.handle, image, ctypes.c_size_t(len(image)),
             ctypes.byref(module))
        self("ModuleGetKernel", module, name.encode(), ctypes.byref(kernel))
        return kernel

    def launcher(self, kernel, grid, block, shared, values):
        """A function that launches. `values`: the bytes of each parameter."""
        buffers = [ctypes.create_string_buffer(value, len(value)) for value in values]
        pointers = (VOID * len(buffers))(*map(ctypes.addressof, buffers))
        config = _Config(tuple(grid), tuple(block), (0, 0, 0), shared)

        def launch(keep=buffers):
            self("Launch", kernel, ctypes.byref(config), pointers,
                 ctypes.c_size_t(len(keep)), self.stream)
        return launch

    def _event(self):
        event = VOID()
        self("EventCreate", self.handle, ctypes.byref(event))
        return event

    def medians(self, ways, repeats, flush):
        """Milliseconds of each of several ways to do something, timed by the device
        in turns, so that all meet the same clocks. `flush` bytes are filled before
        each, which leave nothing of them in the cache and give the host time to
        queue what follows. Two turns warm up."""
        scratch = self.allocate(flush)
        points = []
        for turn in range(repeats + 2):
            for way in ways:
                begin, end = self._event(), self._event()
                self.fill(scratch, flush)
                self("EventRecord", begin, self.stream)
                way()
                self("EventRecord", end, self.stream)
                points.append((begin, end))
        self.synchronize()
        times, elapsed = [], ctypes.c_float()
        for begin, end in points:
            self("EventElapsedTime", begin, end, ctypes.byref(elapsed))
            times.append(elapsed.value)
            for event in (begin, end):
                self("EventDestroy", event)
        self("MemFree", self.handle, VOID(scratch), self.stream)
        return [statistics.median(times[2 * len(ways) + place::len(ways)])
                for place in range(len(ways))]
