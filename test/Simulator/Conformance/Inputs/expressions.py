# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""expressions.py HOST.so DIRECTORY KERNELS.ptx...

Compares the expressions as compiled for the host and as PTX, bit for bit; the
bits of NaN are the device's own."""
import ctypes
import os
import sys

import numpy as np

from ptx import run_ptxsim
from values import combine, float_edges, integer_edges, random_bits, random_floats

host = ctypes.CDLL(sys.argv[1])
directory, files = sys.argv[2], sys.argv[3:]
os.makedirs(directory, exist_ok=True)
rng = np.random.default_rng(5)
NUMPY = {"u": "u", "s": "i", "f": "f"}
failures = results = 0

for kind in ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64", "f32", "f64"):
    width, dtype = int(kind[1:]), np.dtype(f"{NUMPY[kind[0]]}{int(kind[1:]) // 8}")
    if kind[0] == "f":
        edges, randoms = float_edges(kind), random_floats(kind, 900, rng)
    else:
        edges, randoms = integer_edges(width), random_bits(width, 900, rng)
    a, b = combine(edges, randoms, 2, rng)
    count = len(a) // 128 * 128
    a, b = a[-count:], b[-count:]
    c = rng.permutation(a)
    wanted = np.zeros(200 * count, dtype)
    number = getattr(host, f"k_{kind}")(
        *(ctypes.c_void_p(v.ctypes.data) for v in (a, b, c, wanted)), count)
    wanted = wanted[:number * count].reshape(number, count)
    inputs = []
    for name, data in (("a", a), ("b", b), ("c", c)):
        np.save(os.path.join(directory, name + ".npy"), data)
        inputs += ["--arg", os.path.join(directory, name + ".npy")]
    out = os.path.join(directory, "out.npy")
    for file in files:
        done = run_ptxsim([
            file, "--kernel", f"k_{kind}", "--grid", str(count // 128), "--block",
            "128", *inputs, "--arg", f"out:{out}={kind}[{number},{count}]",
            "--arg", f"s32:{count}"])
        if done.returncode or done.stderr:
            print(f"{file}, {kind}: {done.stderr}{done.stdout}")
            failures += 1
            continue
        got = np.load(out)
        same = got.view(f"u{width // 8}") == wanted.view(f"u{width // 8}")
        if kind[0] == "f":
            same |= np.isnan(got) & np.isnan(wanted)
        results += same.size
        for k in np.flatnonzero(~same.all(1)):
            i = np.flatnonzero(~same[k])[0]
            failures += 1
            print(f"{os.path.basename(file)}, {kind}: expression {k} of "
                  f"expressions.inc with a={dtype.type(a.view(dtype)[i])!r}, "
                  f"b={b.view(dtype)[i]!r}, c={c.view(dtype)[i]!r}: got {got[k, i]!r}, "
                  f"the host gives {wanted[k, i]!r}")
print(f"{results} results of {len(files)} compilations, {failures} failures")
sys.exit(1 if failures or not results else 0)
