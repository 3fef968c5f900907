# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""check_wmma.py KERNELS.ptx DIRECTORY: runs the kernels of wmma.cu with every
check and compares with NumPy in double precision."""
import os
import subprocess
import sys

import ml_dtypes
import numpy as np

ptx, directory = sys.argv[1:3]
os.makedirs(directory, exist_ok=True)
rng = np.random.default_rng(11)
GAP = 16
TYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "tf32": np.float32,
         "s8": np.int8, "u8": np.uint8, "f32": np.float32, "s32": np.int32}
ran = 0


def launch(kernel, block, arguments, findings=0):
    command = ["ptxsim", ptx, "--kernel", kernel, "--grid", "1", "--block", str(block),
               "--tool", "all"]
    for k, argument in enumerate(arguments):
        if not isinstance(argument, str):
            bits = argument.dtype == ml_dtypes.bfloat16
            np.save(f"{directory}/{k}.npy", argument.view(np.uint16) if bits else argument)
            argument = f"{directory}/{k}.npy"
        command += ["--arg", argument]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode == 0) == (findings == 0), (kernel, done.stderr)
    assert f"\n{findings} findings" in "\n" + done.stderr, (kernel, done.stderr)
    global ran
    ran += 1
    return done.stderr


def random(type, shape):
    if type in ("s8", "u8"):
        info = np.iinfo(TYPES[type])
        return rng.integers(info.min, info.max + 1, shape).astype(TYPES[type])
    if type == "s32":
        return rng.integers(-1000, 1000, shape).astype(np.int32)
    x = rng.standard_normal(shape).astype(np.float32)
    if type == "tf32":
        x = (x.view(np.uint32) & 0xffffe000).view(np.float32)
    return x.astype(TYPES[type])


def in_memory(x, layout, gap):
    """By lines, with unwritten-to elements in between that spoil any result."""
    lines = np.ascontiguousarray(x if layout == "row" else x.T)
    spoil = np.full((lines.shape[0], gap), 77).astype(x.dtype)
    return np.concatenate([lines, spoil], 1)


listing = subprocess.run(["ptxsim", ptx, "--list"], capture_output=True, text=True)
for kernel in [line for line in listing.stdout.split("\n") if line.count("_") == 6]:
    factor, total, m, n, k, layout_a, layout_b = kernel.split("_")
    m, n, k = int(m), int(n), int(k)
    a, b, c = random(factor, (m, k)), random(factor, (k, n)), random(total, (m, n))
    kind = {"f16": "f16", "f32": "f32", "s32": "s32"}[total]
    path = f"{directory}/d.npy"
    launch(kernel, 32, [in_memory(a, layout_a, GAP), in_memory(b, layout_b, GAP),
                        in_memory(c, layout_a, 0), f"out:{path}={kind}[{m * n}]"])
    got = np.load(path).reshape((m, n) if layout_a == "row" else (n, m))
    got = got if layout_a == "row" else got.T
    want = 2 * (a.astype(np.float64) @ b.astype(np.float64) + c.astype(np.float64))
    if total == "s32":
        np.testing.assert_array_equal(got, want, kernel)
    else:
        np.testing.assert_allclose(got.astype(np.float64), want, atol=1e-5 if total == "f32" else
                                   2e-2, rtol=1e-5 if total == "f32" else 2e-3, err_msg=kernel)
assert ran == 64, ran

a, b = random("f16", (32, 48)), random("f16", (48, 32))
launch("tiled", 128, [a, b, f"out:{directory}/d.npy=f32[32,32]", "s32:48"])
np.testing.assert_allclose(np.load(f"{directory}/d.npy"),
                           a.astype(np.float64) @ b.astype(np.float64), atol=1e-4)
# One row too few: the last line of A ends past its buffer.
text = launch("f16_f32_16_16_16_row_row", 32,
              [random("f16", (15, 32)), random("f16", (16, 32)), random("f32", (16, 16)),
               f"out:{directory}/d.npy=f32[16,16]"], findings=2)
assert "read of 16 bytes of global memory out of bounds" in text, text
assert "wmma.load.a.sync" in text, text
assert "wmma.cu" in text, text


# A matrix or a pitch that is aligned to its elements only, each at its own line.
lines = open(os.path.join(os.path.dirname(__file__), "..", "wmma.cu")).read().split("\n")
places = [f"wmma.cu:{1 + next(i for i, line in enumerate(lines) if mark in line)}:"
          for mark in ("// shared", "// global")]
for kind, unit in (("f32", 4), ("f16", 2)):
    # Accumulators of f16 have fragments of 16 bytes, those of f32 of 32.
    fragment = 8 * unit
    for offset, pitch, fault in (
            (0, 16, ""), (8, 20 if unit == 4 else 24, ""), (8, 16, ""),
            (4, 16, f"matrix {4 * unit} bytes past a multiple of {fragment}"),
            (1, 16, f"matrix {unit} bytes past a multiple of {fragment}"),
            (0, 18, f"a pitch of 18 elements, {18 * unit} bytes, which is not a multiple of 16")):
        text = launch(f"copy_{kind}", 32, [
            random(kind, 512), f"zero:{directory}/d.npy={kind}[512]", f"s32:{offset}",
            f"s32:{pitch}"], findings=2 if fault else 0)
        for verb, place in zip(("read", "write"), places) if fault else ():
            assert f"memcheck: {verb} of a 16 x 16 matrix" in text and place in text, text
            assert text.count(fault) == 2, text
print(ran, "products")
