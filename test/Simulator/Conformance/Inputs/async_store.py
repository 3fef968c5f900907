# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""st.async, red.async and cp.reduce.async.bulk: every thread of a cluster sends to
the next block, which waits for the bytes at its mbarrier."""
import os
import sys

import ml_dtypes
import numpy as np

from ptx import run_ptxsim
from values import random_bits

directory = sys.argv[1]
os.makedirs(directory, exist_ok=True)
rng = np.random.default_rng(21)
BLOCKS, THREADS = 4, 64
results = 0


def run(name, body, variables, data, size, out, initial=None, version="8.6"):
    """Runs `body` after the set-up of the barrier, which expects `size` bytes;
    gives the array `out` (shape, dtype), which begins as `initial`."""
    text = f""".version {version}
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{{
  .shared .align 8 .b64 bar;
  {variables}
  .reg .pred %p, %q; .reg .b16 %h<4>; .reg .b32 %r<16>, %v<4>; .reg .b64 %d<16>, %w<4>;
  ld.param.u64 %d0, [in];
  ld.param.u64 %d1, [out];
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, %cluster_ctarank;
  mov.u32 %r2, place;
  mov.u32 %r3, bar;
  add.u32 %r4, %r1, 1;
  and.b32 %r4, %r4, {BLOCKS - 1};
  mad.lo.u32 %r5, %r1, {THREADS}, %r0;
  mapa.shared::cluster.u32 %r6, %r2, %r4;
  mapa.shared::cluster.u32 %r7, %r3, %r4;
  setp.ne.u32 %p, %r0, 0;
  @%p bra $ready;
  mbarrier.init.shared::cta.b64 [%r3], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], {size};
$ready:
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  {body}
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  ret;
}}
"""
    path = f"{directory}/{name}.ptx"
    with open(path, "w") as file:
        file.write(text)
    np.save(f"{directory}/in.npy", data)
    shape, dtype = out
    held = np.zeros(shape, dtype) if initial is None else initial
    np.save(f"{directory}/start.npy", held.view(f"u{held.dtype.itemsize}"))
    for seed in ("0", "5"):
        done = run_ptxsim([path, "--kernel", "k", "--grid", str(BLOCKS), "--cluster",
                           str(BLOCKS), "--block", str(THREADS), "--tool", "all",
                           "--seed", seed, "--arg", f"{directory}/in.npy", "--arg",
                           f"{directory}/start.npy=>{directory}/out.npy"])
        assert done.returncode == 0 and done.stderr == "0 findings\n", \
            (name, done.stderr, done.stdout)
        got = np.load(f"{directory}/out.npy").view(dtype)
    return got


def check(name, got, want):
    global results
    np.testing.assert_array_equal(got, want, name)
    results += got.size


WAIT = """$wait:
  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q, [%r3], 0;
  @!%q bra $wait;"""


def stores():
    for count, bits in ((1, 32), (2, 32), (4, 32), (1, 64), (2, 64)):
        step = count * bits // 8
        data = random_bits(bits, BLOCKS * THREADS * count, rng)
        prefix, vector = ("%v" if bits == 32 else "%w"), "" if count == 1 else f".v{count}"
        names = [f"{prefix}{k}" for k in range(count)]
        value = names[0] if count == 1 else "{" + ", ".join(names) + "}"
        for kind in ("b", "u", "s", "f"):
            body = f"""mul.wide.u32 %d2, %r5, {step};
  add.u64 %d3, %d0, %d2;
  ld.global{vector}.b{bits} {value}, [%d3];
  mad.lo.u32 %r8, %r0, {step}, %r6;
  st.async.weak.shared::cluster.mbarrier::complete_tx::bytes{vector}.{kind}{bits} [%r8], {value}, [%r7];
  {WAIT}
  mad.lo.u32 %r9, %r0, {step}, %r2;
  ld.shared{vector}.b{bits} {value}, [%r9];
  add.u64 %d4, %d1, %d2;
  st.global{vector}.b{bits} [%d4], {value};"""
            got = run(f"store-{count}-{kind}{bits}", body,
                      f".shared .align 16 .b8 place[{THREADS * step}];", data,
                      THREADS * step, (data.shape, data.dtype))
            check(f"st.async {count} x {kind}{bits}", got,
                  np.roll(data.reshape(BLOCKS, -1), 1, axis=0).ravel())


def reductions():
    signed = {"s32": np.int32, "s64": np.int64}

    def wrapped(function):
        return lambda x, kind: function.reduce(
            y := x.view(signed.get(kind, x.dtype)), axis=1, dtype=y.dtype).view(x.dtype)

    def counted(x, step):
        out = []
        for row in x.tolist():
            value = 3
            for b in row:
                value = step(value, b)
            out.append(value)
        return np.array(out, x.dtype)
    operations = {"add": wrapped(np.add), "min": wrapped(np.minimum), "max": wrapped(np.maximum)}
    forms = [("add", k) for k in ("u32", "s32", "u64")]
    forms += [(o, k) for o in ("min", "max") for k in ("u32", "s32")]
    forms += [(o, "b32") for o in ("and", "or", "xor")] + [("inc", "u32"), ("dec", "u32")]
    for operation, kind in forms:
        bits = int(kind[1:])
        data = random_bits(bits, BLOCKS * THREADS, rng)
        if operation in ("inc", "dec"):
            data[:] = 9
        rows = data.reshape(BLOCKS, THREADS)
        # The place begins with the first thread's own value, or 3 for counters.
        reg = "%v" if bits == 32 else "%w"
        start = f"mov.b{bits} {reg}1, 3;" if operation in ("inc", "dec") else \
            f"ld.global.b{bits} {reg}1, [%d6];"
        body = f"""mul.wide.u32 %d2, %r5, {bits // 8};
  add.u64 %d3, %d0, %d2;
  ld.global.b{bits} {reg}0, [%d3];
  mul.wide.u32 %d5, %r1, {THREADS * bits // 8};
  add.u64 %d6, %d0, %d5;
  {start}
  @!%p st.shared.b{bits} [%r2], {reg}1;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.{operation}.{kind} [%r6], {reg}0, [%r7];
  {WAIT}
  ld.shared.b{bits} {reg}2, [%r2];
  mul.wide.u32 %d7, %r1, {bits // 8};
  add.u64 %d7, %d7, %d1;
  @!%p st.global.b{bits} [%d7], {reg}2;"""
        got = run(f"red-{operation}-{kind}", body,
                  f".shared .align 8 .b{bits} place;", data, THREADS * bits // 8,
                  ((BLOCKS,), data.dtype))
        sent = np.concatenate([rows[:, :1], np.roll(rows, 1, axis=0)], axis=1)
        if operation in operations:
            want = operations[operation](sent, kind)
        elif operation == "inc":
            want = counted(np.roll(rows, 1, axis=0), lambda v, b: 0 if v >= b else v + 1)
        elif operation == "dec":
            want = counted(np.roll(rows, 1, axis=0),
                           lambda v, b: b if v == 0 or v > b else v - 1)
        else:
            want = {"and": np.bitwise_and, "or": np.bitwise_or,
                    "xor": np.bitwise_xor}[operation].reduce(sent, axis=1)
        check(f"red.async.{operation}.{kind}", got, want)


def bulk_reductions():
    """Every block combines its buffer with one in global memory, and for some
    types with that of the next block."""
    types = {"u32": "u4", "s32": "i4", "u64": "u8", "f32": "f4", "f64": "f8",
             "f16": np.float16, "bf16": ml_dtypes.bfloat16, "b32": "u4", "b64": "u8",
             "s64": "i8"}
    numpy_of = {"add": np.add, "min": np.minimum, "max": np.maximum,
                "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
    forms = [("add", k) for k in ("u32", "s32", "u64", "f32", "f64", "f16", "bf16")]
    forms += [(o, k) for o in ("min", "max")
              for k in ("u32", "s32", "u64", "s64", "f16", "bf16")]
    forms += [(o, k) for o in ("and", "or", "xor") for k in ("b32", "b64")]
    near = {("add", k) for k in ("u32", "s32", "u64")} | \
        {(o, k) for o in ("min", "max") for k in ("u32", "s32")} | \
        {(o, "b32") for o in ("and", "or", "xor")}
    for operation, kind in forms:
        dtype = np.dtype(types[kind])
        count, size = 256 // dtype.itemsize, 256
        integer = dtype.kind in "iu" and kind != "bf16"

        def numbers(shape):
            if integer:
                return rng.integers(0, 256, (*shape, dtype.itemsize),
                                    np.uint8).view(dtype)[..., 0]
            return rng.integers(-40, 40, shape).astype(dtype)
        data, start = numbers((BLOCKS, count)), numbers((count,))
        noftz = ".noftz" if operation == "add" and kind in ("f16", "bf16") else ""
        fill = f"""mad.lo.u32 %r8, %r0, 4, %r2;
  mul.wide.u32 %d2, %r5, 4;
  add.u64 %d3, %d0, %d2;
  ld.global.b32 %v0, [%d3];
  st.shared.b32 [%r8], %v0;
  fence.proxy.async;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;"""
        body = f"""{fill}
  @%p bra $done;
  cp.reduce.async.bulk.global.shared::cta.bulk_group.{operation}{noftz}.{kind} [%d1], [%r2], {size};
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
$done:"""
        words = np.ascontiguousarray(data).view(np.uint32)
        variables = f".shared .align 16 .b8 place[{size}];"
        got = run(f"bulk-{operation}-{kind}", body, variables, words, size,
                  ((count,), dtype), start)
        want = start.copy()
        with np.errstate(over="ignore"):
            for row in data:
                want = numpy_of[operation](want, row)
        check(f"bulk {operation}.{kind}", got, want)
        if (operation, kind) not in near:
            continue
        body = f"""{fill.replace("[%r8], %v0;", "[%r8], %v0; st.shared.b32 [%r8+256], %v0;")}
  @%p bra $wait;
  add.u32 %r10, %r6, 256;
  cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.{operation}.{kind} [%r10], [%r2], {size}, [%r7];
  {WAIT}
  ld.shared.b32 %v1, [%r8+256];
  add.u64 %d4, %d1, %d2;
  st.global.b32 [%d4], %v1;"""
        got = run(f"near-{operation}-{kind}", body,
                  f".shared .align 16 .b8 place[{2 * size}];", words, size,
                  ((BLOCKS, count), dtype))
        check(f"bulk {operation}.{kind} to a block", got,
              numpy_of[operation](data, np.roll(data, 1, axis=0)))


stores()
reductions()
bulk_reductions()
print(f"{results} results agree")
