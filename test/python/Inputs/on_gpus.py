# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Several GPUs, and the streams that fill arrays, with the mock driver: memory above
1 TiB lies on the GPU of that number."""

import ctypes
import os

import kvcache
from kvcache import arrays
from util import raises


class OnGPU:
    def __init__(self, shape, typestr, gpu=1, **facts):
        self.__cuda_array_interface__ = dict(shape=shape, typestr=typestr, strides=None, version=3,
                                             data=((gpu << 40) + 4096, False), **facts)


class Foreign:
    """By DLPack; writes down the streams that it is asked for."""

    def __init__(self, shape, gpu):
        self.shape = (ctypes.c_int64 * len(shape))(*shape)
        self.tensor = arrays._DLTensor(gpu << 40, 2, gpu, len(shape), 2, 32, 1, self.shape, None, 0)
        self.streams = []

    def __dlpack_device__(self):
        return 2, self.tensor.device_id

    def __dlpack__(self, *, stream=None):
        self.streams.append(stream)
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p,
                                                       ctypes.c_void_p]
        return new(ctypes.addressof(self.tensor), b"dltensor", None)


driver = ctypes.CDLL(os.environ["KVCACHE_CUDA_LIBRARY"])
layout = kvcache.Layout("f16", heads=2, head_size=64, page_size=8)
pool = layout.wrap(OnGPU((4, 2, 2, 8, 2, 64), "<f2"))
k = kvcache.compile("gather", layout, out="f32")
OUT = (2, 9, 2, 64)


def call(out=None, stream=None, lengths=None):
    k(pool, lengths=lengths or OnGPU((2,), "<i4"), table=OnGPU((2, 2), "<i4"),
      out=out or OnGPU(OUT, "<f4"), stream=stream)


with raises(kvcache.ArgumentError, "expected all arrays on one GPU, got 'blocks' on GPU 1 and 'out' "
                                   "on GPU 3"):
    call(OnGPU(OUT, "<f4", gpu=3))
with raises(kvcache.ArgumentError, "got 'blocks' on GPU 1 and 'out' on GPU 2"):
    call(Foreign(OUT, 2))
with raises(kvcache.ArgumentError, "'lengths': expected memory of a GPU, got an address that the CUDA "
                                   "driver does not know, 0x.*; was it freed?"):
    call(lengths=OnGPU((2,), "<i4", gpu=9))
os.environ["MOCK_CUDA_FAIL"] = "cuPointerGetAttribute"
with raises(kvcache.LaunchError, r"CUDA: out of memory \(2\)"):
    call()
del os.environ["MOCK_CUDA_FAIL"]
call()  # Makes the context of GPU 1 the current one.
device = ctypes.c_int()
assert driver.cuCtxGetDevice(ctypes.byref(device)) == 0 and device.value == 1

stream = ctypes.c_void_p()
assert driver.cuStreamCreate(ctypes.byref(stream), 0) == 0
producer = ctypes.c_void_p()
assert driver.cuStreamCreate(ctypes.byref(producer), 0) == 0

# DLPack is asked once a call, and told of the stream.
out = Foreign(OUT, 1)
call(out, stream.value)
assert out.streams == [stream.value], out.streams
out = Foreign(OUT, 1)
call(out)
assert out.streams == [1], out.streams
blocks = Foreign((4, 2, 2, 8, 2, 64), 1)
blocks.tensor.bits = 16
wrapped = layout.wrap(blocks)  # Without a stream, for nobody's work.
assert set(blocks.streams) == {None}, blocks.streams
del blocks.streams[:]
k(wrapped, lengths=OnGPU((2,), "<i4"), table=OnGPU((2, 2), "<i4"), out=OnGPU(OUT, "<f4"),
  stream=stream.value)
assert blocks.streams == [stream.value], blocks.streams

print("waits")
with open(os.environ["MOCK_CUDA_LOG"], "w"):
    pass
call(OnGPU(OUT, "<f4", stream=producer.value), stream.value,
     OnGPU((2,), "<i4", stream=producer.value))
# The same stream needs no waiting, the default one is its number.
call(OnGPU(OUT, "<f4", stream=producer.value), producer.value)
call(OnGPU(OUT, "<f4", stream=1))


class OfCUDA:
    def __cuda_stream__(self):
        return 0, stream.value


class OfTorch:
    cuda_stream = stream.value


class OfCuPy:
    ptr = stream.value


for one in (OfCUDA(), OfTorch(), OfCuPy()):
    call(stream=one)

other = ctypes.c_void_p()
assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(other), 2) == 0
assert driver.cuCtxSetCurrent(other) == 0
with raises(kvcache.ArgumentError, "expected arrays on GPU 2, whose context is current, got some on "
                                   "GPU 1"):
    call()
