# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mma.sync of every shape and type against NumPy, with the fragments' layouts as
the PTX manual gives them.

Small whole numbers must come out exact. For others an accumulator of f32 may be
off by 2^-20 of the sum of the magnitudes (2^-12 for 8-bit inputs, whose hardware
keeps fewer bits), one of f16 by 2^-9."""
import sys
from fractions import Fraction

import ml_dtypes
import numpy as np

from ptx import Case, Suite

suite = Suite(sys.argv[1])
rng = np.random.default_rng(6)
TILES = 24
NUMPY = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "tf32": np.float32,
         "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2,
         "e2m1": ml_dtypes.float4_e2m1fn, "e2m3": ml_dtypes.float6_e2m3fn,
         "e3m2": ml_dtypes.float6_e3m2fn,
         "s8": np.int8, "u8": np.uint8, "s4": np.int8, "u4": np.uint8}
BYTES = ("e4m3", "e5m2", "e2m1", "e2m3", "e3m2")
lane = np.arange(32)
group, member = lane // 4, lane % 4


def words(elements):
    """The last axis packed into 32-bit words; eight elements have 4 bits each."""
    if elements.shape[-1] == 8:
        nibbles = elements.astype(np.int64).astype(np.uint64) & 15
        return (nibbles << (4 * np.arange(8, dtype=np.uint64))).sum(-1).astype(np.uint32)
    elements = np.ascontiguousarray(elements)
    if elements.dtype == NUMPY["e2m1"]:
        # In the middle of their bytes.
        elements = elements.view(np.uint8) << np.uint8(2)
    return elements.view(np.uint32)[..., 0]


def fragment_a(a, per):
    """Registers of A (tiles, 8 or 16, k): arrays of one word a lane."""
    out = []
    groups = a.shape[1] // 8
    for r in range(a.shape[2] // (4 * per) * groups):
        row, col = group + 8 * (r % groups), member * per + 4 * per * (r // groups)
        out.append(words(np.stack([a[:, row, col + j] for j in range(per)], -1)))
    return out


def fragment_b(b, per):
    """Registers of B (tiles, k, 8)."""
    out = []
    for r in range(b.shape[1] // (4 * per)):
        row = member * per + 4 * per * r
        out.append(words(np.stack([b[:, row + j, group] for j in range(per)], -1)))
    return out


def fragment_c(c, paired):
    """Registers of C or D (tiles, 8 or 16, 8)."""
    places = [(group + 8 * (i >> 1), member * 2 + (i & 1)) for i in range(c.shape[1] // 4)]
    parts = [c[:, row, col] for row, col in places]
    if paired:
        parts = [np.stack(parts[2 * r:2 * r + 2], -1) for r in range(2)]
        return [words(p) for p in parts]
    return [np.ascontiguousarray(p).view(np.uint32) for p in parts]


def numbers(kind, shape, exact):
    dtype = NUMPY.get(kind, kind)
    if kind in ("s4", "u4"):
        return rng.integers(*((-8, 8) if kind == "s4" else (0, 16)), shape).astype(dtype)
    if np.issubdtype(dtype, np.integer):
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max + 1, shape).astype(dtype)
    if exact:
        return rng.integers(-3, 4, shape).astype(dtype)
    return (rng.normal(0, 1, shape) * 2.0 ** rng.integers(-4, 5, shape)).astype(dtype)


def truncated(values):
    """tf32 has ten fraction bits."""
    return (values.view(np.uint32) & np.uint32(0xffffe000)).view(np.float32)


def check(k, a_type, b_type, acc, exact, satfinite=False, target="sm_90a", m=16,
          kind=""):
    a = numbers(a_type, (TILES, m, k), exact)
    b = numbers(b_type, (TILES, k, 8), exact)
    acc_type = {"f32": np.float32, "f16": np.float16, "s32": np.int32}[acc]
    c = rng.integers(-2**31, 2**31, (TILES, m, 8)).astype(np.int32) if acc == "s32" \
        else numbers(acc_type, (TILES, m, 8), exact)
    if a_type == "tf32":
        a, b = truncated(a), truncated(b)
    special = not exact and acc != "s32" and a_type in ("f16", "bf16", "tf32", "e5m2")
    if special:
        a[0, 3, 1] = np.inf
        a[1, 5, 2] = np.nan
        c[2, 7, 7] = np.nan
        c[3, 2, 1] = -np.inf
    wide = np.int64 if acc == "s32" else np.float64
    with np.errstate(invalid="ignore", over="ignore"):
        x, y, z = (v.astype(np.float32).astype(wide) if acc != "s32" else v.astype(wide)
                   for v in (a, b, c))
        want = np.einsum("tik,tkj->tij", x, y) + z
        size = np.einsum("tik,tkj->tij", np.abs(x), np.abs(y)) + np.abs(z)
    per = 8 if a_type in ("s4", "u4") else 4 // np.dtype(NUMPY[a_type]).itemsize
    registers = [f"a{r}" for r in range(len(fragment_a(a, per)))], \
        [f"b{r}" for r in range(len(fragment_b(b, per)))], \
        [f"c{r}" for r in range(2 if acc == "f16" else m // 4)]
    values = fragment_a(a, per) + fragment_b(b, per) + fragment_c(c, acc == "f16")
    inputs = {n: v.ravel() for n, v in zip(sum(registers, []), values)}
    outs = [f"x{r}" for r in range(len(registers[2]))]

    def operand(names):
        return "{{" + ", ".join("{" + n + "}" for n in names) + "}}"
    text = (f"mma.sync.aligned.m{m}n8k{k}.row.col{kind}{'.satfinite' if satfinite else ''}."
            f"{acc}.{a_type}.{b_type}.{acc} {{{{{', '.join(outs)}}}}}, " +
            ", ".join(operand(n) for n in registers))
    # fp8 and the 8-bit integers keep a fraction of the sum's bits.
    bound = size * {"f32": 2.0 ** -20, "f16": 2.0 ** -9, "s32": 0}[acc]
    if a_type in BYTES and acc == "f32":
        bound = size * 2.0 ** -12
    cases = []
    for r, name in enumerate(outs):
        if acc == "s32":
            result = np.clip(want, -2**31, 2**31 - 1) if satfinite else want
            expected = fragment_c((result & 0xffffffff).astype(np.uint32), False)[r].ravel()
        else:
            def expected(got, r=r):
                dtype, count = acc_type, 2 if acc == "f16" else 1
                values = got.view(dtype).reshape(-1, count).astype(np.float64)

                def pick(v):
                    parts = [v[:, group + 8 * (i >> 1), member * 2 + (i & 1)].ravel()
                             for i in (range(2 * r, 2 * r + 2) if count == 2 else [r])]
                    return np.stack(parts, -1)
                reference, allowed = pick(want), pick(bound)
                with np.errstate(invalid="ignore"):
                    close = values == reference if exact else \
                        (np.abs(values - reference) <= allowed) | (values == reference)
                return (close | (np.isnan(values) & np.isnan(reference))).all(1)
        cases.append(Case(f"{text}; mov.b32 {{d}}, {name}", 32, expected,
                          setup=f".reg .b32 {', '.join(outs)};"))
    suite.group(f"m{m}n8k{k}-{a_type}-{b_type}-{acc}{'-exact' if exact else ''}"
                f"{'-satfinite' if satfinite else ''}", inputs, cases, target)


for exact in (True, False):
    for k in (8, 16):
        check(k, "f16", "f16", "f32", exact)
        check(k, "f16", "f16", "f16", exact)
        check(k, "bf16", "bf16", "f32", exact)
    for k in (4, 8):
        check(k, "tf32", "tf32", "f32", exact)
    for a in ("e4m3", "e5m2"):
        for b in ("e4m3", "e5m2"):
            for k in (16, 32):
                check(k, a, b, "f32", exact)
                check(k, a, b, "f16", exact)
    for a in BYTES:
        for b in BYTES:
            for acc in ("f32", "f16"):
                check(32, a, b, acc, exact, target="sm_120a", kind=".kind::f8f6f4")
for k in (16, 32):
    for a in ("s8", "u8"):
        for b in ("s8", "u8"):
            for satfinite in (False, True):
                check(k, a, b, "s32", True, satfinite)
                if k == 16:
                    check(k, a, b, "s32", True, satfinite, m=8)
for a in ("s4", "u4"):
    for b in ("s4", "u4"):
        for k, m in ((32, 8), (32, 16), (64, 16)):
            check(k, a, b, "s32", True, satfinite=True, m=m)
            check(k, a, b, "s32", True, m=m)


def check_double(m, k):
    """f64: one rounding a product, in the order of K, by exact fractions."""
    a, b, c = (rng.normal(0, 1, shape) * 2.0 ** rng.integers(-30, 31, shape)
               for shape in ((TILES, m, k), (TILES, k, 8), (TILES, m, 8)))
    want = c.copy()
    for tile, row, column in np.ndindex(want.shape):
        for e in range(k):
            want[tile, row, column] = float(
                Fraction(a[tile, row, e]) * Fraction(b[tile, e, column]) +
                Fraction(want[tile, row, column]))
    groups = m // 8
    inputs = {}
    for r in range(k // 4 * groups):
        inputs[f"a{r}"] = a[:, group + r % groups * 8, r // groups * 4 + member]
    for r in range(k // 4):
        inputs[f"b{r}"] = b[:, r * 4 + member, group]

    def accumulators(matrix):
        return [matrix[:, group + r // 2 * 8, member * 2 + r % 2] for r in range(2 * groups)]
    inputs.update({f"c{r}": v for r, v in enumerate(accumulators(c))})
    names = [[n for n in inputs if n[0] == which] for which in "abc"]
    inputs = {n: np.ascontiguousarray(v).view(np.uint64).ravel() for n, v in inputs.items()}
    outs = [f"x{r}" for r in range(2 * groups)]
    operands = ", ".join("{{" + ", ".join("{" + n + "}" for n in part) + "}}"
                         for part in names)
    text = (f"mma.sync.aligned.m{m}n8k{k}.row.col.f64.f64.f64.f64 "
            f"{{{{{', '.join(outs)}}}}}, {operands}")
    expected = [np.ascontiguousarray(v).view(np.uint64).ravel() for v in accumulators(want)]
    suite.group(f"m{m}n8k{k}-f64", inputs, [
        Case(f"{text}; mov.b64 {{d}}, {name}", 64, value,
             setup=f".reg .f64 {', '.join(outs)};") for name, value in zip(outs, expected)])


def check_quads(layouts, d_type, c_type):
    """m8n8k4 of f16: four products a warp, each by eight of its lanes."""
    a = rng.integers(-3, 4, (TILES, 4, 8, 4)).astype(np.float16)
    b = rng.integers(-3, 4, (TILES, 4, 4, 8)).astype(np.float16)
    dtypes = {"f16": np.float16, "f32": np.float32}
    c = rng.integers(-3, 4, (TILES, 4, 8, 8)).astype(dtypes[c_type])
    want = (np.einsum("tqik,tqkj->tqij", a.astype(np.float64), b.astype(np.float64)) +
            c).astype(dtypes[d_type])
    quad, low = lane % 16 // 4, lane % 4
    upper = np.where(lane < 16, 0, 4)

    def halves(elements, name):
        """Two elements a register."""
        parts = np.stack(elements, -1).astype(np.float16)
        return {f"{name}{r}": words(parts[..., 2 * r:2 * r + 2]).ravel()
                for r in range(len(elements) // 2)}

    def places(kind):
        if kind == "f16":
            return [(low + upper, np.full(32, i)) for i in range(8)]
        return [((lane & 1) + (i & 2) + upper, (i & 4) + (lane & 2) + (i & 1))
                for i in range(8)]

    def accumulators(matrix, kind, name):
        elements = [matrix[:, quad, row, column] for row, column in places(kind)]
        if kind == "f16":
            return halves(elements, name)
        return {f"{name}{i}": np.ascontiguousarray(e).view(np.uint32).ravel()
                for i, e in enumerate(elements)}
    inputs = halves([a[:, quad, low + upper, i] if layouts[0] == "row" else
                     a[:, quad, i + upper, low] for i in range(4)], "a")
    inputs |= halves([b[:, quad, low, i + upper] if layouts[1] == "row" else
                      b[:, quad, i, low + upper] for i in range(4)], "b")
    inputs |= accumulators(c, c_type, "c")
    results = accumulators(want, d_type, "x")
    operands = ", ".join("{{" + ", ".join("{" + n + "}" for n in inputs if n[0] == which) +
                         "}}" for which in "abc")
    outs = ", ".join(results)
    text = (f"mma.sync.aligned.m8n8k4.{layouts[0]}.{layouts[1]}.{d_type}.f16.f16.{c_type} "
            f"{{{{{outs}}}}}, {operands}")
    suite.group(f"m8n8k4-{layouts[0]}-{layouts[1]}-{d_type}-{c_type}", inputs, [
        Case(f"{text}; mov.b32 {{d}}, {name}", 32, value, setup=f".reg .b32 {outs};")
        for name, value in results.items()])


def check_scaled(kind, a_type, b_type, scale, blocks, said=True):
    """A scale for each block of K of a row of A and of a column of B."""
    k = 32 if kind == "mxf8f6f4" else 64
    a, b = numbers(a_type, (TILES, 16, k), True), numbers(b_type, (TILES, k, 8), True)
    c = numbers("float32", (TILES, 16, 8), True)
    dtype = {"ue8m0": ml_dtypes.float8_e8m0fnu, "ue4m3": ml_dtypes.float8_e4m3fn}[scale]
    # Powers of two around one, and any fraction.
    low, high = (117, 138) if scale == "ue8m0" else (0, 127)
    words_a, words_b = (rng.integers(low, high, (TILES, 32, 4)).astype(np.uint8)
                        for _ in range(2))
    byte = {1: lambda: rng.integers(0, 4), 2: lambda: rng.integers(0, 2) * 2, 4: lambda: 0}
    byte_a, byte_b = byte[blocks](), byte[blocks]()
    lane_a, lane_b = rng.integers(0, 2), rng.integers(0, 4)
    rows = np.arange(16)
    taken_a = words_a[:, rows % 8 * 4 + lane_a * 2 + rows // 8, byte_a:byte_a + blocks]
    taken_b = words_b[:, np.arange(8) * 4 + lane_b, byte_b:byte_b + blocks]
    scales_a, scales_b = (np.repeat(v.view(dtype).astype(np.float64), k // blocks, -1)
                          for v in (taken_a, taken_b))
    want = (np.einsum("tik,tkj->tij", a.astype(np.float64) * scales_a,
                      b.astype(np.float64) * scales_b.transpose(0, 2, 1)) +
            c).astype(np.float32)
    if kind == "mxf8f6f4":
        fragments = fragment_a(a, 4) + fragment_b(b, 4)
    else:
        # Without padding: eight codes of four bits a word.
        a, b = (v.view(np.uint8).astype(np.int64) for v in (a, b))
        fragments = fragment_a(a, 8) + fragment_b(b, 8)
    names = [f"a{r}" for r in range(4)] + ["b0", "b1"] + [f"c{r}" for r in range(4)]
    inputs = {n: v.ravel() for n, v in zip(names, fragments + fragment_c(c, False))}
    inputs |= {"s": words_a.view(np.uint32).ravel(), "t": words_b.view(np.uint32).ravel()}
    operands = ", ".join("{{" + ", ".join("{" + n + "}" for n in names if n[0] == which) +
                         "}}" for which in "abc")
    outs = [f"x{r}" for r in range(4)]
    vector = f".scale_vec::{blocks}X" if said else ""
    # The selectors are immediates or registers.
    text = (f"mov.b16 h, {byte_b}; mma.sync.aligned.m16n8k{k}.row.col.kind::{kind}"
            f".block_scale{vector}.f32.{a_type}.{b_type}.f32.{scale} "
            f"{{{{{', '.join(outs)}}}}}, {operands}, {{s}}, {{{{{byte_a}, {lane_a}}}}}, "
            f"{{t}}, {{{{h, {lane_b}}}}}")
    suite.group(f"{kind}-{a_type}-{b_type}-{scale}-{blocks}", inputs, [
        Case(f"{text}; mov.b32 {{d}}, {name}", 32, value.ravel(),
             setup=f".reg .b32 {', '.join(outs)}; .reg .b16 h;")
        for name, value in zip(outs, fragment_c(want, False))], "sm_120a")


def check_bits(m, k, operation):
    a, b = (rng.integers(0, 1 << 32, (TILES, lines, k // 32), np.uint64).astype(np.uint32)
            for lines in (m, 8))
    c = rng.integers(0, 1 << 32, (TILES, m, 8), np.uint64).astype(np.uint32)
    function = np.bitwise_and if operation == "and" else np.bitwise_xor
    counts = np.unpackbits(function(a[:, :, None], b[:, None]).view(np.uint8), axis=-1).sum(-1)
    want = (c + counts).astype(np.uint32)
    groups = m // 8
    inputs = {f"a{r}": a[:, group + r % groups * 8, r // groups * 4 + member].ravel()
              for r in range(k // 128 * groups)}
    inputs |= {f"b{r}": b[:, group, r * 4 + member].ravel() for r in range(k // 128)}

    def accumulators(matrix):
        return [matrix[:, group + r // 2 * 8, member * 2 + r % 2].ravel()
                for r in range(2 * groups)]
    inputs |= {f"c{r}": v for r, v in enumerate(accumulators(c))}
    operands = ", ".join("{{" + ", ".join("{" + n + "}" for n in inputs if n[0] == which) +
                         "}}" for which in "abc")
    outs = [f"x{r}" for r in range(2 * groups)]
    text = (f"mma.sync.aligned.m{m}n8k{k}.row.col.s32.b1.b1.s32.{operation}.popc "
            f"{{{{{', '.join(outs)}}}}}, {operands}")
    suite.group(f"m{m}n8k{k}-b1-{operation}", inputs, [
        Case(f"{text}; mov.b32 {{d}}, {name}", 32, value,
             setup=f".reg .b32 {', '.join(outs)};")
        for name, value in zip(outs, accumulators(want))])


for layouts in [(x, y) for x in ("row", "col") for y in ("row", "col")]:
    for types in (("f32", "f32"), ("f32", "f16"), ("f16", "f16")):
        check_quads(layouts, *types)
for said in (True, False):
    for a in BYTES:
        for b in BYTES:
            check_scaled("mxf8f6f4", a, b, "ue8m0", 1, said)
    check_scaled("mxf4", "e2m1", "e2m1", "ue8m0", 2, said)
for scale, blocks in (("ue8m0", 2), ("ue8m0", 4), ("ue4m3", 4)):
    check_scaled("mxf4nvf4", "e2m1", "e2m1", scale, blocks)
for operation in ("xor", "and"):
    for m, k in ((8, 128), (16, 128), (16, 256)):
        check_bits(m, k, operation)
check_double(8, 4)
for k in (4, 8, 16):
    check_double(16, k)
suite.finish()
