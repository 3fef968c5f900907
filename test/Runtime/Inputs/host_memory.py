# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""host_memory.py LIBRARY

Gives the C API pointers to memory that is not mapped, or not any more, or only to
read."""
import ctypes as c
import sys

runtime = c.CDLL(sys.argv[1])
runtime.kvcacheLastError.restype = c.c_char_p
system = c.CDLL(None)
system.mmap.restype = c.c_void_p
PAGE, READ, WRITE = 4096, 1, 2


def page(protection=READ | WRITE):
    private_anonymous = 0x22
    return system.mmap(None, c.c_size_t(PAGE), protection, private_anonymous, -1,
                       c.c_long(0))


def call(what, name, *arguments):
    failed = getattr(runtime, name)(*arguments)
    if what:
        print(f"{what}: {runtime.kvcacheLastError().decode() if failed else 'ok'}",
              flush=True)
    else:
        assert not failed, runtime.kvcacheLastError()


class Config(c.Structure):
    _fields_ = [("grid", c.c_int64 * 3), ("block", c.c_int64 * 3),
                ("cluster", c.c_int64 * 3), ("dynamicSharedBytes", c.c_int64)]


PTX = b"""
.version 8.0
.target sm_80
.address_size 64
.visible .entry store(.param .u64 to)
{
  .reg .b32 %r; .reg .b64 %rd;
  ld.param.u64 %rd, [to];
  mov.u32 %r, 7;
  st.global.u32 [%rd], %r;
  ret;
}
"""


class Device:
    def __init__(self, *settings):
        self.handle, module, self.kernel = c.c_void_p(), c.c_void_p(), c.c_void_p()
        names = [b"KVCACHE_DEVICE=sim", *settings]
        call("", "kvcacheDeviceCreate", (c.c_char_p * (len(names) + 1))(*names, None),
             c.byref(self.handle))
        call("", "kvcacheModuleLoad", self.handle, PTX, c.c_size_t(len(PTX)),
             c.byref(module))
        call("", "kvcacheModuleGetKernel", module, b"store", c.byref(self.kernel))

    def launch(self, what, params):
        one = (c.c_int64 * 3)(1, 1, 1)
        call(what, "kvcacheLaunch", self.kernel,
             c.byref(Config(one, one, (c.c_int64 * 3)(), 0)), params, c.c_size_t(1), None)

    def store(self, what, address):
        value = c.c_uint64(address)
        self.launch(what, (c.c_void_p * 1)(c.addressof(value)))


device = Device(b"KVCACHE_SIM_TOOL=memcheck", b"KVCACHE_SIM_STREAMS=late")
data, stream = c.c_void_p(), c.c_void_p()
call("", "kvcacheMemAlloc", device.handle, c.c_uint64(2 * PAGE), 0, c.byref(data))
call("", "kvcacheStreamCreate", device.handle, c.byref(stream))


def copy(what, to, source, count, on=None):
    call(what, "kvcacheMemCopy", device.handle, to, source, c.c_uint64(count), on)


read_only, closed, host, lone = page(READ), page(0), page(), page()
copy("copy from unmapped", data, c.c_void_p(0x1000), 256)
copy("copy to read-only", c.c_void_p(read_only), data, 16)
copy("copy from closed", data, c.c_void_p(closed), PAGE)
copy("nothing from unmapped", data, c.c_void_p(0x1000), 0)
copy("copy from read-only", data, c.c_void_p(read_only), 16)
copy("", c.c_void_p(0x10), data, 16, stream)
call("late copy to unmapped", "kvcacheStreamSynchronize", stream)


def register(what, address):
    call(what, "kvcacheHostRegister", device.handle, c.c_void_p(address),
         c.c_uint64(PAGE))


register("register unmapped", 0x1000)
register("register read-only", read_only)
device.launch("parameter", (c.c_void_p * 1)(8))
device.launch("parameters", c.cast(c.c_void_p(16), c.POINTER(c.c_void_p)))

register("", host)
device.store("launch", host)
print("stored:", c.c_int.from_address(host).value)
system.mprotect(c.c_void_p(host), c.c_size_t(PAGE), READ)
device.store("launch on read-only", host)
system.munmap(c.c_void_p(host), c.c_size_t(PAGE))
device.store("launch on unmapped", host)
text = c.c_char_p()
call("", "kvcacheDeviceGetReports", device.handle, 0, c.byref(text))
print(text.value.decode(), flush=True)
call("fill of unmapped", "kvcacheMemSet", device.handle, c.c_void_p(host), 5, 4,
     c.c_uint64(8), None)

device = Device()
register("", lone)
system.munmap(c.c_void_p(lone), c.c_size_t(PAGE))
device.store("without memcheck", lone)
