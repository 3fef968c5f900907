# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls of the C API that the CUDA device has to translate with care."""
import ctypes
import sys

lib = ctypes.CDLL(sys.argv[1])
lib.kvcacheLastError.restype = ctypes.c_char_p


class Config(ctypes.Structure):
    _fields_ = [("grid", ctypes.c_int64 * 3), ("block", ctypes.c_int64 * 3),
                ("cluster", ctypes.c_int64 * 3), ("shared", ctypes.c_int64)]


def say(what, failed):
    print(f"{what}: {lib.kvcacheLastError().decode() if failed else 'ok'}")


def must(failed):
    assert not failed, lib.kvcacheLastError().decode()


device, module, kernel, stream = (ctypes.c_void_p() for _ in range(4))
must(lib.kvcacheDeviceCreate(None, ctypes.byref(device)))
text = ctypes.c_char_p()
must(lib.kvcacheDeviceDescription(device, ctypes.byref(text)))
print("device:", text.value.decode())
ptx = b".version 8.0\n.target sm_90a\n.visible .entry k() { ret; }\n\0"
must(lib.kvcacheModuleLoad(device, ptx, ctypes.c_size_t(len(ptx)), ctypes.byref(module)))
must(lib.kvcacheModuleGetKernel(module, b"k", ctypes.byref(kernel)))
must(lib.kvcacheStreamCreate(device, ctypes.byref(stream)))
values = [ctypes.c_uint64(k) for k in range(5)]
params = (ctypes.c_void_p * 5)(*(ctypes.addressof(v) for v in values))


def launch(what, shared, cluster=0):
    config = Config((16, 1, 1), (32, 1, 1), (cluster, 1, 1) if cluster else (0, 0, 0), shared)
    say(what, lib.kvcacheLaunch(kernel, ctypes.byref(config), params, ctypes.c_size_t(5),
                                stream))


for count in (100000, 60000, 120000, 1000):
    launch(f"{count} bytes", count)
launch("cluster of 8", 0, 8)
launch("cluster of 16, 130000 bytes", 130000, 16)
launch("300000 bytes", 300000)

begin_event, end_event, never = (ctypes.c_void_p() for _ in range(3))
for event in (begin_event, end_event, never):
    must(lib.kvcacheEventCreate(device, ctypes.byref(event)))
milliseconds = ctypes.c_float()
must(lib.kvcacheEventRecord(begin_event, stream))
launch("timed", 0)
launch("timed again", 0)
must(lib.kvcacheEventRecord(end_event, stream))
must(lib.kvcacheEventSynchronize(end_event))
must(lib.kvcacheEventElapsedTime(begin_event, end_event, ctypes.byref(milliseconds)))
print("milliseconds:", milliseconds.value)
say("never recorded", lib.kvcacheEventElapsedTime(begin_event, never,
                                                  ctypes.byref(milliseconds)))

memory = ctypes.create_string_buffer(8192)
begin = ctypes.addressof(memory)


def register(what, offset, count):
    say(what, lib.kvcacheHostRegister(device, ctypes.c_void_p(begin + offset),
                                      ctypes.c_uint64(count)))


def unregister(what, offset):
    say(what, lib.kvcacheHostUnregister(device, ctypes.c_void_p(begin + offset)))


register("register 4096", 0, 4096)
register("register inside", 1024, 512)
register("register across the end", 2048, 4096)
unregister("unregister inside", 1024)
unregister("unregister 4096", 0)
unregister("unregister again", 0)
