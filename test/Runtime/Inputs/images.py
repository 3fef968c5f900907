# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""images.py LIBRARY DIRECTORY: loads the directory's fatbins on the simulator and
runs their kernel; then damages them, which must be refused or do no harm."""
import ctypes
import os
import random
import sys

lib = ctypes.CDLL(sys.argv[1])
lib.kvcacheLastError.restype = ctypes.c_char_p


class Config(ctypes.Structure):
    _fields_ = [("grid", ctypes.c_int64 * 3), ("block", ctypes.c_int64 * 3),
                ("cluster", ctypes.c_int64 * 3), ("shared", ctypes.c_int64)]


def must(failed):
    assert not failed, lib.kvcacheLastError().decode()


device, memory = ctypes.c_void_p(), ctypes.c_void_p()
settings = (ctypes.c_char_p * 2)(b"KVCACHE_DEVICE=sim", None)
must(lib.kvcacheDeviceCreate(settings, ctypes.byref(device)))
must(lib.kvcacheMemAlloc(device, ctypes.c_uint64(16), 1, ctypes.byref(memory)))
values = (ctypes.c_float * 4).from_address(memory.value)


def load(image):
    """The module, or the error."""
    module = ctypes.c_void_p()
    failed = lib.kvcacheModuleLoad(device, image, ctypes.c_size_t(len(image)),
                                   ctypes.byref(module))
    return lib.kvcacheLastError().decode() if failed else module


def read(name):
    with open(os.path.join(sys.argv[2], name), "rb") as file:
        return file.read()


names = sorted(n for n in os.listdir(sys.argv[2]) if n.endswith(".fatbin"))
for name in names:
    module, kernel = load(read(name)), ctypes.c_void_p()
    assert not isinstance(module, str), (name, module)
    must(lib.kvcacheModuleGetKernel(module, b"scale", ctypes.byref(kernel)))
    values[:] = [0, 1, 2, 3]
    by = ctypes.c_float(2.5)
    params = (ctypes.c_void_p * 2)(ctypes.addressof(memory), ctypes.addressof(by))
    config = Config((1, 1, 1), (4, 1, 1), (0, 0, 0), 0)
    must(lib.kvcacheLaunch(kernel, ctypes.byref(config), params, ctypes.c_size_t(2), None))
    print(f"{name.split('.')[0]}:", *values)
print("scale.cubin:", load(read("scale.cubin")))

rng, tried, refused = random.Random(1), 0, 0
for name in names:
    whole = read(name)
    damaged = [whole[:rng.randrange(1, len(whole))] for _ in range(50)]
    for k in range(150):
        image = bytearray(whole)
        # Headers first, then anywhere.
        for _ in range(rng.randrange(1, 4)):
            place = rng.randrange(96) if k < 50 else rng.randrange(len(image))
            image[place] = rng.choice([0, 1, 0x7f, 0xff, rng.randrange(256)])
        damaged.append(bytes(image))
    for image in damaged:
        module = load(image)
        tried += 1
        if isinstance(module, str):
            refused += 1
            assert module, "refused without a word"
        else:
            lib.kvcacheModuleUnload(module)
print(f"{tried} damaged images, {refused} refused")
