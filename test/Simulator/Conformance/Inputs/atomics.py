# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Atomics: what each gives and leaves behind, and that many threads at one place
are served one after the other."""
import os
import sys

import ml_dtypes
import numpy as np

from ptx import Case, Suite, run_ptxsim
from values import combine, integer_edges, random_bits

suite = Suite(sys.argv[1])
rng = np.random.default_rng(8)


def signed(v, width):
    return v - (1 << width) if v >> (width - 1) else v


def operations(width):
    """Name to the next value of (old, b, c)."""
    mask = (1 << width) - 1
    table = {
        f"add.u{width}": lambda x, b, c: x + b & mask,
        f"min.u{width}": lambda x, b, c: min(x, b),
        f"max.u{width}": lambda x, b, c: max(x, b),
        f"min.s{width}": lambda x, b, c: x if signed(x, width) < signed(b, width) else b,
        f"max.s{width}": lambda x, b, c: x if signed(x, width) > signed(b, width) else b,
        f"and.b{width}": lambda x, b, c: x & b,
        f"or.b{width}": lambda x, b, c: x | b,
        f"xor.b{width}": lambda x, b, c: x ^ b,
        f"exch.b{width}": lambda x, b, c: b,
        f"cas.b{width}": lambda x, b, c: c if x == b else x,
    }
    if width == 32:
        table["add.s32"] = table["add.u32"]
        table["inc.u32"] = lambda x, b, c: 0 if x >= b else x + 1
        table["dec.u32"] = lambda x, b, c: b if x == 0 or x > b else x - 1
    return table


def element_cases(name, width, new, a):
    """One operation on a place of the thread's own, in shared memory."""
    setup = f".shared .align 8 .b{width} slot[256]; .reg .b32 t, u; .reg .b64 v, w;"
    place = (f"mov.u32 t, %tid.x; mov.u32 u, slot; mad.lo.u32 t, t, {width // 8}, u; "
             f"st.shared.b{width} [t], {{a}}; ")
    tail = ", {b}, {c}" if name.startswith("cas") else ", {b}"
    generic = "cvt.u64.u32 v, t; cvta.shared.u64 v, v; "
    dots = name.split(".", 1)
    noftz = f"{dots[0]}.noftz.{dots[1]}" if dots[1].startswith(("f16", "bf16")) else name
    cases = [
        Case(place + f"atom.shared.{noftz} {{d}}, [t]{tail}", width, a, setup=setup),
        Case(place + f"atom.shared.{noftz} {{d}}, [t]{tail}; ld.shared.b{width} {{d}}, [t]",
             width, new, setup=setup),
        Case(place + generic + f"atom.{noftz} {{d}}, [v]{tail}; ld.b{width} {{d}}, [v]",
             width, new, setup=setup)]
    if dots[0] not in ("exch", "cas"):
        cases.append(Case(place + f"red.shared.{noftz} [t]{tail}; "
                          f"ld.shared.b{width} {{d}}, [t]", width, new, setup=setup))
    return cases


def elements():
    for width in (32, 64):
        a, b = combine(integer_edges(width), random_bits(width, 400, rng), 2, rng)
        b = np.where(rng.integers(0, 3, len(a)) == 0, a, b)
        c = rng.permutation(a)
        cases = []
        for name, function in operations(width).items():
            new = np.array([function(*row) for row in
                            zip(a.tolist(), b.tolist(), c.tolist())], a.dtype)
            cases += element_cases(name, width, new, a)
        suite.group(f"elements{width}", {"a": a, "b": b, "c": c}, cases)
    # Sums of floats: whole numbers and their like, whose sums are not denormal.
    for kind, dtype, width in (("f32", np.float32, 32), ("f64", np.float64, 64)):
        a, b = (rng.normal(0, 100, 1024).astype(dtype) for _ in range(2))
        bits = f"u{width // 8}"
        suite.group(f"elements-{kind}", {"a": a.view(bits), "b": b.view(bits)},
                    element_cases(f"add.{kind}", width, (a + b).view(bits), a.view(bits)))
    for kind, dtype in (("f16", np.float16), ("bf16", ml_dtypes.bfloat16)):
        a, b = (rng.normal(0, 100, 2048).astype(dtype) for _ in range(2))
        x, y, z = (v.view(np.uint32) for v in (a, b, (a + b).astype(dtype)))
        suite.group(f"elements-{kind}x2", {"a": x, "b": y},
                    element_cases(f"add.{kind}x2", 32, z, x))


def wide():
    """exch and cas of 128 bits, in shared and global memory: what they give and
    leave, each in two halves."""
    n = 512
    low, high = random_bits(64, n, rng), random_bits(64, n, rng)
    new = rng.permutation(low)
    same = rng.integers(0, 3, n)
    # Equal, or different in one half only.
    other_low = np.where(same == 1, low ^ np.uint64(1), low)
    other_high = np.where(same == 2, high ^ np.uint64(1 << 63), high)
    setup = (".shared .align 16 .b128 slot[256]; .reg .b32 t, u; .reg .b64 v, x, y; "
             ".reg .b128 q, r, s;")
    place = ("mov.u32 t, %tid.x; mov.u32 u, slot; mad.lo.u32 t, t, 16, u; "
             "st.shared.v2.b64 [t], {{{a}, {b}}}; mov.b128 q, {{{c}, {a}}}; "
             "mov.b128 s, {{{e}, {f}}}; cvt.u64.u32 v, t; cvta.shared.u64 v, v; ")
    hit = same == 0
    cases = []
    for at, suffix in (("[t]", ".shared"), ("[v]", "")):
        exch = place + f"atom.relaxed.cta{suffix}.exch.b128 r, {at}, q; "
        cas = place + f"atom.acq_rel.gpu{suffix}.cas.b128 r, {at}, s, q; "
        given = "mov.b128 {{x, y}}, r; "
        left = f"ld{suffix}.v2.b64 {{{{x, y}}}}, {at}; "
        for text, wants in (
                (exch + given, (low, high)), (exch + left, (new, low)),
                (cas + given, (low, high)),
                (cas + left, (np.where(hit, new, low), np.where(hit, low, high)))):
            for half, want in zip("xy", wants):
                cases.append(Case(text + f"mov.b64 {{d}}, {half}", 64, want, setup=setup))
    suite.group("wide", {"a": low, "b": high, "c": new, "e": other_low, "f": other_high},
                cases)


def contention():
    """All threads of a grid at one place: the values they saw and left must form
    one chain from the first to the last."""
    threads = 3 * 96
    names = ["add.u32", "add.u64", "exch.b32", "xor.b32", "inc.u32", "dec.u32", "max.s32",
             "min.u64", "or.b32", "and.b32"]
    for name in names:
        width = int(name[-2:])
        kind = f"b{width}"
        step = width // 8
        initial = {"and.b32": 0xffffffff, "min.u64": 1 << 63}.get(name, 5)
        b = random_bits(width, threads, rng)
        if name[:3] in ("inc", "dec"):
            b[:] = 40
        for space in ("global", "generic"):
            dot = ".global" if space == "global" else ""
            text = f""".version 8.8
.target sm_90a
.address_size 64
.visible .entry contend(.param .u64 cell, .param .u64 in, .param .u64 out)
{{
  .reg .b32 %r<4>;
  .reg .b64 %p<4>;
  .reg .{kind} %v<3>;
  mov.u32 %r0, %tid.x;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mad.lo.u32 %r3, %r1, %r2, %r0;
  ld.param.u64 %p0, [cell];
  ld.param.u64 %p1, [in];
  ld.param.u64 %p2, [out];
  cvt.u64.u32 %p3, %r3;
  mad.lo.u64 %p1, %p3, {step}, %p1;
  mad.lo.u64 %p2, %p3, {step}, %p2;
  ld.global.{kind} %v0, [%p1];
  atom{dot}.{name} %v1, [%p0], %v0;
  st.global.{kind} [%p2], %v1;
  ret;
}}
"""
            base = os.path.join(sys.argv[1], f"contend-{name}-{space}")
            with open(base + ".ptx", "w") as file:
                file.write(text)
            cell = np.array([initial], b.dtype)
            np.save(base + "-cell.npy", cell)
            np.save(base + "-in.npy", b)
            done = run_ptxsim([
                base + ".ptx", "--kernel", "contend", "--grid", "3", "--block", "96",
                "--seed", "3", "--tool", "all",
                "--arg", f"{base}-cell.npy=>{base}-last.npy", "--arg", f"{base}-in.npy",
                "--arg", f"out:{base}-out.npy=u{width}[{threads}]"])
            if done.returncode:
                suite.fail(f"{name}: {done.stderr}")
                continue
            old, last = np.load(base + "-out.npy").tolist(), int(np.load(base + "-last.npy")[0])
            function = operations(width)[name]
            new = [function(x, y, 0) for x, y in zip(old, b.tolist())]
            # Each value is entered as often as it is left, but for the ends.
            degree = {}
            for x, y in zip(old, new):
                degree[x] = degree.get(x, 0) + 1
                degree[y] = degree.get(y, 0) - 1
            degree[initial] = degree.get(initial, 0) - 1
            degree[last] = degree.get(last, 0) + 1
            if any(degree.values()):
                suite.fail(f"{name}, {space}: the values do not form a chain")
            # All of the chain hangs together.
            reached, edges = {initial}, list(zip(old, new))
            while True:
                more = {y for x, y in edges if x in reached} - reached
                if not more:
                    break
                reached |= more
            if not set(old) <= reached:
                suite.fail(f"{name}, {space}: values that nothing leads to")
            suite.results += threads
            suite.instructions += 1


elements()
wide()
contention()
suite.finish()
