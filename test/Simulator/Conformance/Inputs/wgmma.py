# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""wgmma of every type, swizzle and major-ness and many shapes against NumPy.
Matrices lie in shared memory as the PTX manual lays them out: core matrices of 8
rows of 16 bytes without a swizzle; with one, rows of 32, 64 or 128 bytes whose
16-byte pieces are exchanged within groups of 8 rows."""
import os
import sys

import ml_dtypes
import numpy as np

from ptx import run_ptxsim

directory = sys.argv[1]
os.makedirs(directory, exist_ok=True)
rng = np.random.default_rng(8)
TYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "tf32": np.float32,
         "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2,
         "s8": np.int8, "u8": np.uint8}
SWIZZLES = {"none": (0, 16), "128": (1, 128), "64": (2, 64), "32": (3, 32)}
PLACE = 1024 * np.array([0, 16])
# Bytes after which the pattern of a swizzle repeats.
PERIOD = {"none": 128, "128": 1024, "64": 512, "32": 256}
ran = 0


def image(matrix, row_bytes):
    """The bytes of a K-major matrix (rows, 32 bytes), and the leading and stride
    offsets of its descriptor."""
    raw = np.ascontiguousarray(matrix).view(np.uint8).reshape(len(matrix), 32)
    groups = len(matrix) // 8
    if row_bytes == 16:
        # Two core matrices along K, one after the other.
        cores = raw.reshape(groups, 8, 2, 16).transpose(0, 2, 1, 3)
        return cores.ravel(), 128, 256
    atom = np.zeros((groups, 8, row_bytes // 16, 16), np.uint8)
    pieces = raw.reshape(groups, 8, 2, 16)
    for r in range(8):
        # Bits 7 to 9 of the address, as many as the swizzle has.
        line = r * row_bytes // 128
        for piece in range(2):
            atom[:, r, piece ^ line, :] = pieces[:, r, piece]
    return atom.ravel(), 16, 8 * row_bytes


def transposed_image(matrix, row_bytes):
    """The same of an MN-major matrix (rows, 16) of 16-bit elements: rows of
    memory run along K, and 8 of them form a group; pieces of 8 elements along M
    or N. Every part is placed by its own strides."""
    pieces = np.ascontiguousarray(matrix.T).view(np.uint8).reshape(16, -1, 16)
    count, per_row = pieces.shape[1], row_bytes // 16
    if row_bytes == 16:
        leading, stride = 128 * count, 128
        along_k, along_pieces = leading, stride
    else:
        leading, stride = 16 * row_bytes, 8 * row_bytes
        along_k, along_pieces = stride, leading
    memory = np.zeros(2 * along_k + -(-count // per_row) * max(along_pieces, 1) +
                      1024, np.uint8)
    for k in range(16):
        for c in range(count):
            at = (k // 8 * along_k + k % 8 * row_bytes +
                  c // per_row * along_pieces + c % per_row * 16)
            at ^= (at // 128 % per_row) * 16 if row_bytes > 16 else 0
            memory[at:at + 16] = pieces[k, c]
    return memory, leading, stride


def run(n, a_type, b_type, d_type, swizzle, from_registers=False, signs=(1, 1),
        accumulate=True, majors=(0, 0), magnitude=3, saturate=False, shifts=(0, 0),
        rows_into=0):
    """One product of 64 x n x 32 bytes. The patterns of A and B begin `shifts` lines
    of 128 bytes past an aligned address; A begins `rows_into` rows past its own
    pattern's beginning."""
    global ran
    mode, row_bytes = SWIZZLES[swizzle]
    k = 32 // np.dtype(TYPES[a_type]).itemsize

    def numbers(kind, shape):
        if kind in ("s8", "u8"):
            info = np.iinfo(TYPES[kind])
            return rng.integers(info.min, info.max + 1, shape).astype(TYPES[kind])
        return rng.integers(-magnitude, magnitude + 1, shape).astype(TYPES[kind])
    a, b = numbers(a_type, (64, k)), numbers(b_type, (n, k))
    integer, half = d_type == "s32", d_type == "f16"
    d = rng.integers(-99, 99, (64, n)).astype(
        np.int32 if integer else np.float16 if half else np.float32)
    if saturate:
        d = np.where(d < 0, -2**31, 2**31 - 1).astype(np.int32)
    wide = np.int64 if integer else np.float64
    product = a.astype(np.float32).astype(wide) @ b.astype(np.float32).astype(wide).T \
        * signs[0] * signs[1]
    want = product + (d.astype(wide) if accumulate else 0)
    if saturate:
        want = np.clip(want, -2**31, 2**31 - 1)
    # One rounding of the exact sum.
    with np.errstate(over="ignore"):
        want = want.astype(d.dtype)

    # The image of a matrix that begins within a pattern is the end of a longer one.
    above = np.zeros((rows_into // 8 * 8, k), a.dtype)
    images = [(transposed_image if major else image)(matrix, row_bytes)
              for matrix, major in zip((np.concatenate([above, a]), b), majors)]
    places = PLACE + 128 * np.array(shifts)
    memory = np.zeros(48 * 1024, np.uint8)
    for place, (data, _, _) in zip(places, images):
        memory[place:place + len(data)] = data
    starts = places + np.array([rows_into // 8 * images[0][2], 0])
    np.save(f"{directory}/memory.npy", memory)
    # Accumulators and A's registers by thread.
    thread = np.arange(128)
    warp, g, t = thread // 32, thread % 32 // 4, thread % 4
    j = np.arange(n // 2)[:, None]
    row = warp * 16 + g + 8 * (j // 2 % 2)
    col = j // 4 * 8 + t * 2 + j % 2
    held = d[row, col]
    if half:
        # Two to a register.
        held = held.reshape(n // 4, 2, 128).transpose(0, 2, 1)
    np.save(f"{directory}/d.npy", np.ascontiguousarray(held).view(np.uint32)
            .reshape(-1, 128))
    count = n // 4 if half else n // 2
    words = np.ascontiguousarray(a).view(np.uint32).reshape(64, 8)
    r = np.arange(4)[:, None]
    np.save(f"{directory}/a.npy", words[warp * 16 + g + 8 * (r % 2), t + 4 * (r // 2)])

    registers = ", ".join(f"%d{i}" for i in range(count))
    kind = "b32"
    load = "\n".join(f"  ld.global.{kind} %d{i}, [%rd1+{512 * i}];" for i in range(count))
    store = "\n".join(f"  st.global.{kind} [%rd1+{512 * i}], %d{i};" for i in range(count))
    load_a = "\n".join(f"  ld.global.b32 %a{i}, [%rd2+{512 * i}];" for i in range(4))
    first = "{%a0, %a1, %a2, %a3}" if from_registers else "%da"
    scales = "" if integer else f", {signs[0]}, {signs[1]}"
    major_text = "" if a_type not in ("f16", "bf16") else f", {majors[1]}" \
        if from_registers else f", {majors[0]}, {majors[1]}"
    modifier, behind = (".satfinite" if saturate == where else ""
                        for where in ("in front", "behind"))

    def descriptor(which):
        _, leading, stride = images[which]
        # Zero where the pattern begins as it does by itself, else its line.
        pattern = int(places[which])
        base_offset = 0 if pattern % PERIOD[swizzle] == 0 else pattern >> 7 & 7
        return (leading >> 4 << 16 | stride >> 4 << 32 | base_offset << 49 | mode << 62) \
            + (int(starts[which]) >> 4)
    text = f""".version 8.6
.target sm_90a
.address_size 64
.visible .entry product(.param .u64 memory, .param .u64 d, .param .u64 a)
{{
  .shared .align 1024 .b8 shared[49152];
  .reg .pred %p; .reg .b32 %r<8>, %d<{count}>, %a<4>; .reg .b64 %rd<8>, %da, %db;
  ld.param.u64 %rd0, [memory];
  ld.param.u64 %rd1, [d];
  ld.param.u64 %rd2, [a];
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, shared;
  mul.wide.u32 %rd3, %r0, 4;
  add.u64 %rd0, %rd0, %rd3;
  add.u64 %rd1, %rd1, %rd3;
  add.u64 %rd2, %rd2, %rd3;
  shl.b32 %r2, %r0, 2;
  add.u32 %r2, %r2, %r1;
  mov.u32 %r3, 0;
$copy:
  ld.global.b32 %r4, [%rd0];
  st.shared.b32 [%r2], %r4;
  add.u64 %rd0, %rd0, 512;
  add.u32 %r2, %r2, 512;
  add.u32 %r3, %r3, 1;
  setp.lt.u32 %p, %r3, 96;
  @%p bra $copy;
{load}
{load_a}
  fence.proxy.async;
  bar.sync 0;
  and.b32 %r5, %r1, 0x3ffff;
  shr.u32 %r5, %r5, 4;
  cvt.u64.u32 %rd4, %r5;
  add.u64 %da, %rd4, {descriptor(0):#x};
  add.u64 %db, %rd4, {descriptor(1):#x};
  setp.ne.u32 %p, {int(accumulate)}, 0;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n{n}k{k}{modifier}.{d_type}.{a_type}.{b_type}{behind} {{{registers}}},
    {first}, %db, %p{scales}{major_text};
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
{store}
  ret;
}}
"""
    path = f"{directory}/wgmma.ptx"
    with open(path, "w") as file:
        file.write(text)
    done = run_ptxsim([path, "--kernel", "product", "--grid", "1", "--block", "128",
                       "--tool", "all", "--arg", f"{directory}/memory.npy", "--arg",
                       f"{directory}/d.npy=>{directory}/out.npy", "--arg",
                       f"{directory}/a.npy"])
    name = (n, a_type, b_type, d_type, swizzle, from_registers, signs, accumulate,
            majors, magnitude, saturate, shifts, rows_into)
    assert done.returncode == 0 and done.stderr == "0 findings\n", (name, done.stderr)
    out = np.load(f"{directory}/out.npy").view(d.dtype)
    if half:
        out = out.reshape(count, 128, 2).transpose(0, 2, 1).reshape(n // 2, 128)
    got = np.zeros((64, n), d.dtype)
    got[row, col] = out
    np.testing.assert_array_equal(got, want, str(name))
    ran += 1


PAIRS = [("f16", "f16", "f32"), ("bf16", "bf16", "f32"), ("tf32", "tf32", "f32")]
PAIRS += [(x, y, "f32") for x in ("e4m3", "e5m2") for y in ("e4m3", "e5m2")]
PAIRS += [(x, y, "s32") for x in ("s8", "u8") for y in ("s8", "u8")]
for types in PAIRS:
    for swizzle in SWIZZLES:
        run(16, *types, swizzle)
    run(8, *types, "128", from_registers=True)
    run(64, *types, "none", accumulate=False)
for n in (24, 40, 96, 128, 136, 192, 256):
    if n * 128 <= 32 * 1024:
        run(n, "bf16", "bf16", "f32", "128")
        run(n, "e4m3", "e4m3", "f32", "64", from_registers=True)
for signs in ((-1, 1), (1, -1), (-1, -1)):
    run(16, "f16", "f16", "f32", "32", signs=signs)
# Half accumulators, also where sums must be rounded or overflow to infinity.
for types in [("f16", "f16")] + [(x, y) for x in ("e4m3", "e5m2")
                                 for y in ("e4m3", "e5m2")]:
    for n, swizzle, magnitude in ((8, "128", 3), (24, "none", 60), (64, "64", 400)):
        run(n, *types, "f16", swizzle, magnitude=magnitude)
        run(n, *types, "f16", swizzle, from_registers=True, accumulate=False,
            magnitude=magnitude)
# MN-major matrices: n as wide as a row of the swizzle.
for kind in ("f16", "bf16"):
    for majors in ((1, 0), (0, 1), (1, 1)):
        for swizzle, n in (("none", 24), ("32", 48), ("64", 64), ("128", 128)):
            run(n, kind, kind, "f32", swizzle, majors=majors)
        run(64, kind, kind, "f32", "128", from_registers=True, majors=(0, majors[1]))
run(64, "f16", "f16", "f16", "128", majors=(1, 1), signs=(-1, 1))
# In front of the types, as the manual has it, or behind them, as MLIR prints it.
for saturate in ("in front", "behind"):
    run(16, "s8", "u8", "s32", "128", saturate=saturate)
# Patterns that do not begin at a multiple of their period: every line of it.
for swizzle in SWIZZLES:
    for shift in range(1, 8):
        other = (3 * shift) % 8
        run(16, "f16", "f16", "f32", swizzle, shifts=(shift, other))
        run(24, "e4m3", "e4m3", "f32", swizzle, shifts=(other, shift), rows_into=8)
        run(64, "bf16", "bf16", "f32", swizzle, shifts=(shift, other), majors=(1, 1))
print(f"{ran} products agree")
