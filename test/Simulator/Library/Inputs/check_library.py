# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_library.py KERNELS.ptx DIRECTORY: runs the kernels of library.cu with
every check and compares with NumPy and Python's integers."""
import os
import subprocess
import sys

import numpy as np

ptx, directory = sys.argv[1:3]
os.makedirs(directory, exist_ok=True)
rng = np.random.default_rng(3)
ran = 0


def run(kernel, grid, block, inputs, outputs, tools="all", scalars=()):
    """The outputs, given as "zero" or "out" and a type."""
    command = ["ptxsim", ptx, "--kernel", kernel, "--grid", str(grid), "--block",
               str(block), "--tool", tools]
    for k, data in enumerate(inputs):
        np.save(f"{directory}/in{k}.npy", data)
        command += ["--arg", f"{directory}/in{k}.npy"]
    for k, out in enumerate(outputs):
        kind, type = out.split()
        command += ["--arg", f"{kind}:{directory}/out{k}.npy={type}"]
    for scalar in scalars:
        command += ["--arg", scalar]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and "\n0 findings" in "\n" + done.stderr, \
        (kernel, done.stdout, done.stderr)
    global ran
    ran += 1
    return [np.load(f"{directory}/out{k}.npy") for k in range(len(outputs))]


def same(got, want):
    np.testing.assert_array_equal(got, want)


x = rng.integers(-99, 99, 64).astype(np.int32)
got = run("groups", 1, 64, [x], ["out s32[6,64]"])[0]
warps, tiles = x.reshape(2, 32), x.reshape(8, 8)
same(got[0].reshape(2, 32), warps.sum(1, keepdims=True).repeat(32, 1))
same(got[1].reshape(8, 8), tiles.max(1, keepdims=True).repeat(8, 1))
same(got[2].reshape(2, 32), np.cumsum(warps, 1))
same(got[3].reshape(8, 8), np.cumsum(tiles, 1) - tiles)
odd = warps & 1
same(got[4].reshape(2, 32),
     odd * (odd.sum(1, keepdims=True) * 100 + np.cumsum(odd, 1) - odd))
same(got[5].reshape(2, 32),
     ((warps[:, None] & 3) == (warps[:, :, None] & 3)).sum(2))

x = rng.integers(-99, 99, (3, 128)).astype(np.int32)
got = run("tiles", 3, 128, [x], ["out s32[3,3,128]"])[0]
reversed = x.reshape(6, 64)[:, ::-1]
same(got[:, 0].reshape(6, 64), reversed.sum(1, keepdims=True).repeat(64, 1))
same(got[:, 1].reshape(6, 64), np.cumsum(reversed, 1))
same(got[:, 2].reshape(6, 64), (reversed == 7).any(1, keepdims=True).repeat(64, 1))
same(run("turns", 2, 96, [], ["out s32[2]"])[0], [95 * 48] * 2)

x = x.ravel()
same(run("semaphore", 1, 64, [], ["zero s32[1]"], tools="memcheck,synccheck")[0],
     [64 * 65 // 2])
same(run("drop", 1, 64, [], ["out s32[32]"])[0], (32 + np.arange(32)) * 2)
same(run("hints", 1, 32, [x[:32]], ["out s32[32]"])[0], 3 * x[:32])
word = rng.integers(0, 2**32, 96, dtype=np.uint32)
word[:8] = [0, 0xffffffff, 0x80007fff, 0x7fff8000, 1, 0x10000, 0x80000000, 0x7fffffff]
got = run("packed", 1, 32, [word], ["out u32[2,32]"])[0]
a, b, c = (w.view(np.int16) for w in word.reshape(3, 32))
same(got[0].view(np.int16), np.maximum(np.minimum(a + b, c), 0))
a, b, c = word.view(np.int32).reshape(3, 32)
same(got[1].view(np.int32), np.maximum(np.maximum(a, b), 0))

for blocks in (1, 4):
    n = blocks * 64
    # The race check knows no barriers of the whole grid made of atomics.
    got = run("grid", blocks, 64, [], [f"out s32[{n}]", f"out s32[2,{n}]"],
              tools="memcheck,initcheck,synccheck")[1]
    shifted = np.roll(np.arange(n), -37)
    same(got, [shifted, shifted * 2])

x = rng.integers(-99, 99, (5, 128)).astype(np.int32)
same(run("barrier", 1, 128, [x], ["out s32[128]"])[0], x[0, ::-1])
for kernel in ("pipeline", "thread_pipeline"):
    same(run(kernel, 1, 128, [x], ["out s32[5,128]"], scalars=["s32:5"])[0],
         x[:, ::-1])

got = run("atomics", 2, 64, [], ["zero s32[1]", "zero u64[2]", "zero f64[1]",
                                 "zero f32[1]", "zero f16[2]", "zero b32[1]",
                                 "zero f32[8]"])
assert got[0][0] == max(40 + 3 * 127, got[0][0]) or got[0][0] >= 128 * 3, got[0]
same(got[1], [128 << 33, 63 << 40])
same(got[2], [64.0])
same(got[3], [32.0])
same(got[4], [128.0, 0])
same(got[5].view(np.uint16), [0x4300, 0x4380])
same(got[6], [128, 256, 384, 512, 128, 256, 0, 0])

x = rng.integers(0, 99, 64).astype(np.int32)
t = np.arange(64)
same(run("by_address", 1, 64, [x], ["out s32[64]"])[0],
     np.choose(x % 3, [t * 3, t + 7, t ^ 5]))
same(run("virtual_functions", 1, 64, [x], ["out s32[64]"])[0],
     np.where(x & 1, t * t, t * (t + 2)))

a = rng.integers(-2**63, 2**63, 64)
b = rng.integers(-2**63, 2**63, 64) >> rng.integers(0, 62, 64)
b[b == 0] = 7
a[:4], b[:4] = [2**63 - 1, -2**63, 0, -1], [1, 3, -5, 2**62]
got = run("division", 1, 64, [a, b], ["out s64[6,64]"])[0]
M = 2**64
for k, (p, q) in enumerate(zip(a.tolist(), b.tolist())):
    quotient = abs(p) // abs(q) * (1 if (p < 0) == (q < 0) else -1)
    u, v = p % M, q % M
    wide = u * v + u
    want = [quotient, p - quotient * q, u // v, u * v >> 64, wide >> 64,
            wide // (v * 5 + 1) % M]
    same(got[:, k].astype(np.int64).view(np.uint64).tolist(),
         [w % M for w in want])

x = rng.normal(0, 8, 64)
x[:2] = [1e-300, 700.0]
wide = x.astype(np.longdouble)
got = run("doubles", 1, 64, [x], ["out f64[10,64]"])[0]


def references(x):
    return [np.exp(x), np.log(abs(x)), np.sin(x), np.cos(x), abs(x) ** 1.5,
            np.tanh(x), np.cbrt(x), np.arctan2(x, 2), np.fmod(x, type(x[0])(0.7)),
            1 / np.sqrt(abs(x))]


for k, want in enumerate(references(wide)):
    if k == 8:
        want = np.fmod(x, 0.7)
    np.testing.assert_allclose(got[k], want.astype(np.float64), rtol=5e-16, atol=5e-324)

x = rng.normal(0, 8, 64).astype(np.float32)
got = run("floats", 1, 64, [x], ["out f32[10,64]"])[0]
for k, want in enumerate(references(x.astype(np.float64))):
    if k == 8:
        want = np.fmod(x, np.float32(0.7))
    np.testing.assert_allclose(got[k], want, rtol=4e-7, atol=1e-38)

x = rng.integers(-2, 3, 128).astype(np.float16)
x[5] = np.nan
y = x.reshape(32, 2, 2)[:, ::-1].reshape(64, 2)
x2 = x.reshape(64, 2)
got = run("halves", 1, 64, [x.view(np.uint32)], ["out u32[3,64]"])[0]
same(got[0], (x2 == y).all(1))
same(got[1].view(np.uint16).reshape(64, 2), np.where(x2 == y, 0xffff, 0))
same(got[2].view(np.float16).reshape(64, 2), (x2 >= y).astype(np.float16))
print(f"{ran} launches agree")
