# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""host_races.py LIBRARY

Races in host memory that begins anywhere: its aligned words, and vectors of them, do not
lie at multiples of their size from its beginning."""
import ctypes as c
import sys

runtime = c.CDLL(sys.argv[1])
runtime.kvcacheLastError.restype = c.c_char_p


def call(name, *arguments):
    failed = getattr(runtime, name)(*arguments)
    assert not failed, runtime.kvcacheLastError()


class Config(c.Structure):
    _fields_ = [("grid", c.c_int64 * 3), ("block", c.c_int64 * 3),
                ("cluster", c.c_int64 * 3), ("dynamicSharedBytes", c.c_int64)]


HEAD = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 to)
{
  .reg .b32 %b, %t, %v<4>; .reg .b64 %rd, %at; .reg .pred %p;
  ld.param.u64 %rd, [to];
  mov.u32 %b, %ctaid.x;
  mov.u32 %t, %tid.x;
  mul.wide.u32 %at, %t, 4;
  add.u64 %at, %rd, %at;
"""

# Two blocks read the first 32 words, the third one writes those behind them, and
# the last one reads the last word of the ones and three of the others, by a load by
# which all have read elsewhere.
ACROSS_ROWS = HEAD + """
  setp.eq.u32 %p, %b, 2;
  @%p bra WRITE;
  setp.eq.u32 %p, %b, 3;
  @%p bra READ;
  ld.global.u32 %v0, [%at];
READ:
  selp.u64 %at, 124, 508, %p;
  add.u64 %rd, %rd, %at;
  ld.global.v4.u32 {%v0, %v1, %v2, %v3}, [%rd];
  ret;
WRITE:
  st.global.u32 [%at+128], %b;
  ret;
}
"""

# One block writes a word, the next one reads the two behind it, and the word.
ACROSS_WORDS = HEAD + """
  setp.eq.u32 %p, %b, 1;
  @%p bra READ;
  setp.ne.u32 %p, %t, 0;
  @%p ret;
  st.global.u32 [%rd+2], 7;
  ret;
READ:
  ld.global.v2.u32 {%v0, %v1}, [%rd+6];
  ld.global.u32 %v0, [%rd+2];
  ret;
}
"""


def races(what, text, grid, offset):
    device, module, kernel = c.c_void_p(), c.c_void_p(), c.c_void_p()
    names = [b"KVCACHE_DEVICE=sim", b"KVCACHE_SIM_TOOL=racecheck", None]
    call("kvcacheDeviceCreate", (c.c_char_p * 3)(*names), c.byref(device))
    call("kvcacheModuleLoad", device, text.encode(), c.c_size_t(len(text)),
         c.byref(module))
    call("kvcacheModuleGetKernel", module, b"k", c.byref(kernel))
    room = c.create_string_buffer(4096)
    aligned = (c.addressof(room) + 255) // 256 * 256
    begin = c.c_uint64(aligned + offset)
    call("kvcacheHostRegister", device, begin, c.c_uint64(1024))
    triple = c.c_int64 * 3
    call("kvcacheLaunch", kernel,
         c.byref(Config(triple(grid, 1, 1), triple(32, 1, 1), triple(), 0)),
         (c.c_void_p * 1)(c.addressof(begin)), c.c_size_t(1), None)
    reports = c.c_char_p()
    call("kvcacheDeviceGetReports", device, 0, c.byref(reports))
    print(f"{what}:", reports.value.decode(), flush=True)


races("across rows", ACROSS_ROWS, 4, 4)
races("across words", ACROSS_WORDS, 2, 2)
