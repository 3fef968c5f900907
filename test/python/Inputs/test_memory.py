# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Host memory that is not there: an exception, and the process goes on."""

import ctypes
import mmap

import numpy as np
from reference import filled, tokens
from util import raises

import kvcache
from kvcache import arrays, runtime

LAYOUT = kvcache.Layout("f8E4M3FN", heads=2, head_size=64, page_size=8, scales="f32",
                        granularity=32)
TABLE, LENGTHS = np.array([[3, 1], [0, 2]], np.int32), np.array([11, 4], np.int32)
NOWHERE, OUT = 0x10000, (2, 11, 2, 64)


class Foreign:
    """An array by DLPack, wherever it says that it lies."""

    def __init__(self, pointer, shape, code, bits):
        self.shape = (ctypes.c_int64 * len(shape))(*shape)
        self.tensor = arrays._DLTensor(pointer, 1, 0, len(shape), code, bits, 1, self.shape, None, 0)

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, **options):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p,
                                                       ctypes.c_void_p]
        return new(ctypes.addressof(self.tensor), b"dltensor", None)


class Versioned(Foreign):
    """The same by DLPack 1.0, with flags."""

    def __init__(self, pointer, shape, code, bits, flags, major=1):
        super().__init__(pointer, shape, code, bits)
        self.managed = arrays._DLManagedTensorVersioned(major, 0, None, None, flags, self.tensor)

    def __dlpack__(self, *, max_version):
        assert max_version == (1, 0)
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p,
                                                       ctypes.c_void_p]
        return new(ctypes.addressof(self.managed), b"dltensor_versioned", None)


class Unversioned(Foreign):
    """By a library that knows nothing of versions."""

    def __dlpack__(self):
        return super().__dlpack__()


def unmapped(array):
    """A copy of an array, whose memory is then taken away."""
    memory = mmap.mmap(-1, array.nbytes)
    copy = np.frombuffer(memory, array.dtype).reshape(array.shape)
    libc = ctypes.CDLL(None)
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    pages = -(-array.nbytes // mmap.PAGESIZE) * mmap.PAGESIZE
    # What comes next must not find the memory of something else at that place.
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    libc.mmap(copy.ctypes.data, pages, mmap.PROT_NONE if hasattr(mmap, "PROT_NONE") else 0,
              0x32, -1, 0)  # MAP_FIXED | MAP_ANONYMOUS | MAP_PRIVATE
    KEPT.append(memory)
    return copy


KEPT = []


def test_memory_that_is_not_mapped():
    pool, k = filled(LAYOUT, 4), kvcache.compile("gather", LAYOUT)
    good = dict(lengths=LENGTHS, table=TABLE)
    gone = "was it freed"
    cases = [
        (kvcache.ArgumentError, f"'out': .*{gone}", dict(out=Foreign(NOWHERE, OUT, 2, 32))),
        (kvcache.ArgumentError, f"'lengths': .*{gone}", dict(lengths=Foreign(NOWHERE, (2,), 0, 32))),
        (kvcache.ArgumentError, "'lengths': expected memory, got a null pointer",
         dict(lengths=Foreign(0, (2,), 0, 32))),
        (kvcache.ArgumentError, "'out': expected memory, got a null pointer",
         dict(out=Foreign(0, OUT, 2, 32))),
        (kvcache.ArgumentError, "'out': expected an array inside of the address space",
         dict(out=Foreign(NOWHERE, (2**40, 2**40, 2, 64), 2, 32))),
        (kvcache.ArgumentError, "'out': expected an array inside of the address space",
         dict(out=Foreign(NOWHERE, (2, -11, 2, 64), 2, 32))),
        (kvcache.ArgumentError, f"'lengths': .*{gone}", dict(lengths=unmapped(LENGTHS))),
        (kvcache.ArgumentError, f"'lengths': .*{gone}",
         dict(lengths=unmapped(LENGTHS.astype(np.int64)))),
        (kvcache.ArgumentError, f"'table': .*{gone}", dict(table=unmapped(TABLE))),
    ]
    for kind, pattern, arguments in cases:
        with raises(kind, pattern):
            k(pool, **{**good, **arguments})
    with raises(kvcache.ArgumentError, f"'blocks': .*{gone}"):
        k(LAYOUT.wrap(unmapped(pool.blocks), pool.scales), **good)
    np.testing.assert_array_equal(k(pool, **good)[0], tokens(pool, TABLE[0], 11))


def test_versions_of_dlpack():
    pool, k = filled(LAYOUT, 4), kvcache.compile("gather", LAYOUT)
    good, expected = dict(lengths=LENGTHS, table=TABLE), tokens(pool, TABLE[0], 11)
    out = np.zeros(OUT, np.float32)
    where = (out.ctypes.data, OUT, 2, 32)
    for array in (Foreign(*where), Unversioned(*where), Versioned(*where, 0)):
        out[...] = 0
        assert k(pool, **good, out=array) is array
        np.testing.assert_array_equal(out[0], expected)
    for flags in (1, 2):  # Read-only, copied.
        with raises(kvcache.ArgumentError, "'out': expected an array that can be written, got a "
                                           "read-only one"):
            k(pool, **good, out=Versioned(*where, flags))
    table = Versioned(TABLE.ctypes.data, TABLE.shape, 0, 32, 1)
    np.testing.assert_array_equal(k(pool, lengths=LENGTHS, table=table)[0], expected)
    with raises(kvcache.ArgumentError, "'out': expected DLPack of version 1, got 2"):
        k(pool, **good, out=Versioned(*where, 0, major=2))


def protected(pages, access, first, count):
    """An address of pages of zeros, of which some are protected."""
    libc, size = ctypes.CDLL(None), mmap.PAGESIZE
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    address = libc.mmap(None, pages * size, mmap.PROT_READ | mmap.PROT_WRITE, 0x22, -1, 0)
    assert libc.mprotect(address + first * size, count * size, access) == 0
    return address


def test_protected_memory():
    """Such as of a file that is mapped for reading, and of a guard page inside."""
    pool, k = filled(LAYOUT, 4), kvcache.compile("gather", LAYOUT)
    good, expected = dict(lengths=LENGTHS, table=TABLE), tokens(pool, TABLE[0], 11)
    none, read = 0, mmap.PROT_READ
    for first, count in ((0, 16), (1, 1)):
        with raises(kvcache.ArgumentError, "'out': expected an array that can be written, got a "
                                           "read-only one"):
            k(pool, **good, out=Foreign(protected(16, read, first, count), OUT, 2, 32))
        with raises(kvcache.ArgumentError, "'out': .* that is not mapped or cannot be read"):
            k(pool, **good, out=Foreign(protected(16, none, first, count), OUT, 2, 32))
    out = arrays.as_numpy(k(pool, **good, out=Foreign(protected(16, none, 12, 4), OUT, 2, 32)))
    np.testing.assert_array_equal(out[0], expected)
    # What is only read may be protected so: lengths of 0.
    zeros = Foreign(protected(1, read, 0, 1), (2,), 0, 32)
    assert not np.any(k(pool, lengths=zeros, table=TABLE, rows=11))


def test_host_memory():
    array = np.zeros(10**6, np.uint8)
    low = array.ctypes.data
    assert runtime.host_access(low, low + array.nbytes) == runtime.host_access(low, low) == (
        True, True)
    size = mmap.PAGESIZE
    for access, expected in ((0, (False, False)), (mmap.PROT_READ, (True, False)), (3, (True, True))):
        address = protected(9, access, 4, 1)
        for first, last, inside in ((0, 9, True), (4, 5, True), (0, 4, False), (5, 9, False)):
            got = runtime.host_access(address + first * size, address + last * size)
            assert got == (expected if inside else (True, True)), (access, first, last, got)
    for low, high in ((NOWHERE, NOWHERE + 1), (0, 8), (low, 2**63)):
        assert runtime.host_access(low, high) == (False, False)
