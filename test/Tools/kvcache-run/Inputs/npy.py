# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes and shows .npy files with nothing but Python's standard library.

    npy.py make FILE DTYPE SHAPE [fortran]   elements 0, 1, 2, ...
    npy.py show FILE

DTYPE as NumPy spells it ("<f4", "|u1", "<V2"), SHAPE as 2x3, or "scalar".
Formats are those of https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
"""
import ast
import struct
import sys

CODES = {"f2": "e", "f4": "f", "f8": "d", "i1": "b", "u1": "B", "b1": "?",
         "V1": "B", "i2": "h", "u2": "H", "V2": "H", "i4": "i", "u4": "I",
         "i8": "q", "u8": "Q"}


def make(path, dtype, shape, order="c"):
    sizes = [] if shape == "scalar" else [int(n) for n in shape.split("x")]
    count = 1
    for size in sizes:
        count *= size
    header = repr({"descr": dtype, "fortran_order": order == "fortran",
                   "shape": tuple(sizes)}) + "\n"
    code = CODES[dtype.strip("<>|")]
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)))
        file.write(header.encode())
        file.write(struct.pack(f"<{count}{code}", *range(count)))


def show(path):
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"\x93NUMPY\x01\x00", data[:8]
    (length,) = struct.unpack("<H", data[8:10])
    assert (10 + length) % 64 == 0, "the data must begin at a multiple of 64"
    header = ast.literal_eval(data[10:10 + length].decode())
    count = 1
    for size in header["shape"]:
        count *= size
    code = CODES[header["descr"].strip("<>|")]
    values = struct.unpack(f"<{count}{code}", data[10 + length:])
    print(header["descr"], header["shape"], *values)


if __name__ == "__main__":
    {"make": make, "show": show}[sys.argv[1]](*sys.argv[2:])
