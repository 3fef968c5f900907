# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Floating-point arithmetic: f32 and f64 against the host's, in every direction
of rounding; f16 and bf16 against exact integer arithmetic."""
import ctypes
import sys

import numpy as np

import exact
from ptx import Case, Suite
from values import combine, float_edges, random_floats

suite = Suite(sys.argv[1])
host = ctypes.CDLL(sys.argv[2])
rng = np.random.default_rng(2)

MODES = ["rn", "rz", "rm", "rp"]
OPS = ["add", "sub", "mul", "fma", "div", "sqrt", "rcp"]
NAN = {"f32": 0x7fffffff, "f16": 0x7fff, "bf16": 0x7fff}
FLOAT = {"f32": np.float32, "f64": np.float64}
OUTSIDE = 0x7ff7
UINT = {"f32": np.uint32, "f64": np.uint64, "f16": np.uint16, "bf16": np.uint16}
WIDTH = {"f32": 32, "f64": 64, "f16": 16, "bf16": 16}


def is_nan(kind, codes):
    exponent, mantissa = exact.FORMATS[kind]
    return (codes.astype(np.uint64) & np.uint64((1 << exponent + mantissa) - 1)) > \
        np.uint64(((1 << exponent) - 1) << mantissa)


def host_arithmetic(kind, op, mode, *codes):
    columns = [np.ascontiguousarray(c).view(FLOAT[kind]) for c in codes]
    columns += [columns[0]] * (3 - len(columns))
    out = np.empty_like(columns[0])
    pointer = ctypes.c_void_p
    getattr(host, "arithmetic" + kind[1:])(
        OPS.index(op), MODES.index(mode), ctypes.c_size_t(len(out)),
        *(pointer(c.ctypes.data) for c in columns), pointer(out.ctypes.data))
    return out.view(UINT[kind])


def flush(kind, codes):
    exponent, mantissa = exact.FORMATS[kind]
    infinity = ((1 << exponent) - 1) << mantissa
    return np.where((codes & UINT[kind](infinity)) == 0,
                    codes & UINT[kind](1 << exponent + mantissa), codes)


def saturate(kind, codes):
    """Clamps to [+0, 1]; NaN becomes +0."""
    exponent, mantissa = exact.FORMATS[kind]
    one = ((1 << exponent - 1) - 1) << mantissa
    out = np.where(codes > one, one, codes)
    return np.where(is_nan(kind, codes) |
                    (codes >= 1 << exponent + mantissa), 0, out).astype(UINT[kind])


def matches(kind, want):
    """NaN is canonical; f64 leaves its bits open."""
    nan = is_nan(kind, want)
    if kind == "f64":
        return lambda got: np.where(nan, is_nan(kind, got), got == want)
    return np.where(nan, NAN[kind], want)


def wide():
    for kind in ("f32", "f64"):
        width = WIDTH[kind]
        a, b = combine(float_edges(kind), random_floats(kind, 2500, rng), 2, rng)
        c = rng.permutation(a)
        # Cancellation: c near -a*b.
        product = host_arithmetic(kind, "mul", "rn", a, b) ^ UINT[kind](1 << width - 1)
        c = np.where(np.arange(len(a)) % 5 == 0, product, c)
        columns = {"add": (a, b), "sub": (a, b), "mul": (a, b), "fma": (a, b, c),
                   "div": (a, b), "sqrt": (a,), "rcp": (a,)}
        names = {1: "{a}", 2: "{a}, {b}", 3: "{a}, {b}, {c}"}
        cases = []
        for op, inputs in columns.items():
            for mode in MODES:
                for ftz in ((False, True) if kind == "f32" else (False,)):
                    given = [flush(kind, x) for x in inputs] if ftz else inputs
                    want = host_arithmetic(kind, op, mode, *given)
                    tiny = want
                    if ftz:
                        want = flush(kind, want)
                    dots = f".{mode}" + (".ftz" if ftz else "")
                    text = f"{op}{dots}.{kind} {{d}}, {names[len(inputs)]}"
                    # The smallest normal number may have been rounded up to
                    # from below, where flushing differs between readings.
                    where = (tiny & UINT[kind]((1 << width - 1) - 1)) != 0x00800000 \
                        if ftz else None
                    cases.append(Case(text, width, matches(kind, want), where))
                    if kind == "f32" and op in ("add", "sub", "mul", "fma"):
                        text = f"{op}{dots}.sat.{kind} {{d}}, {names[len(inputs)]}"
                        cases.append(Case(text, width, saturate(kind, want), where))
        default = [Case(f"{op}.{kind} {{d}}, {names[2]}", width, matches(
            kind, host_arithmetic(kind, op, "rn", a, b))) for op in ("add", "sub", "mul")]
        suite.group(f"arithmetic-{kind}", {"a": a, "b": b, "c": c}, cases + default)


def pairs():
    """Two f32 in a register; the second element is the first of another row."""
    a, b = combine(float_edges("f32"), random_floats("f32", 2500, rng), 2, rng)
    c = rng.permutation(a)
    columns = {"add": (a, b), "sub": (a, b), "mul": (a, b), "fma": (a, b, c)}

    def pack(x):
        return x.astype(np.uint64) | np.roll(x, 3).astype(np.uint64) << np.uint64(32)
    cases = []
    for op, inputs in columns.items():
        names = ", ".join("{" + n + "}" for n in "abc"[:len(inputs)])
        for mode, ftz in ((m, f) for m in MODES for f in (False, True)):
            given = [flush("f32", x) for x in inputs] if ftz else inputs
            want = host_arithmetic("f32", op, mode, *given)
            safe = (want & np.uint32(0x7fffffff)) != 0x00800000
            if ftz:
                want = flush("f32", want)
            want = np.where(is_nan("f32", want), NAN["f32"], want)
            cases.append(Case(f"{op}.{mode}{'.ftz' if ftz else ''}.f32x2 {{d}}, {names}",
                              64, pack(want), safe & np.roll(safe, 3)))
    suite.group("pairs-f32", {"a": pack(a), "b": pack(b), "c": pack(c)}, cases,
                target="sm_100a")


def narrow_arithmetic(kind):
    edges = np.append(float_edges(kind), UINT[kind](OUTSIDE))
    a, b = combine(edges, random_floats(kind, 2500, rng), 2, rng)
    c = rng.permutation(a)
    # Sums that lie half-way between two numbers but for a far smaller third.
    c = np.where(np.arange(len(a)) % 4 == 0,
                 (a ^ UINT[kind](0x8001)) & UINT[kind](0xfff1), c)

    def compute(function, *columns):
        return np.array([exact.encode(kind, function(
            *(exact.decode(kind, v) for v in row)))
            for row in zip(*(x.tolist() for x in columns))], UINT[kind])

    functions = {
        "add": (lambda x, y: exact.add(x, y), (a, b)),
        "sub": (lambda x, y: exact.add(x, exact.negate(y)), (a, b)),
        "mul": (exact.multiply, (a, b)),
        "fma": (lambda x, y, z: exact.add(exact.multiply(x, y), z), (a, b, c)),
    }
    names = {2: "{a}, {b}", 3: "{a}, {b}, {c}"}
    cases, results = [], {}
    for op, (function, inputs) in functions.items():
        want = compute(function, *inputs)
        results[op] = want
        rounding = ".rn" if op == "fma" or kind == "bf16" else ""
        text = names[len(inputs)]
        cases.append(Case(f"{op}{rounding}.{kind} {{d}}, {text}", 16, want))
        if op != "fma":
            cases.append(Case(f"{op}.rn.{kind} {{d}}, {text}", 16, want))
        if kind == "f16":
            flushed = flush(kind, compute(function, *(flush(kind, x) for x in inputs)))
            safe = (flushed & 0x7fff) != 0x0400
            rn = ".rn" if op == "fma" else ""
            cases.append(Case(f"{op}{rn}.ftz.f16 {{d}}, {text}", 16, flushed, safe))
            cases.append(Case(f"{op}{rn}.sat.f16 {{d}}, {text}", 16,
                              saturate(kind, want)))
            cases.append(Case(f"{op}{rn}.ftz.sat.f16 {{d}}, {text}", 16,
                              saturate(kind, flushed), safe))
        if op == "fma":
            relu = np.where(is_nan(kind, want), NAN[kind],
                            np.where(want >= 0x8000, 0, want))
            cases.append(Case(f"fma.rn.relu.{kind} {{d}}, {text}", 16, relu))
            # What tensor copies fill with counts as zero; the first in a or b.
            for dot, plain in (("", want), (".relu", relu)):
                results["oob" + dot] = np.where((a == OUTSIDE) | (b == OUTSIDE), 0, plain)
                cases.append(Case(f"fma.rn.oob{dot}.{kind} {{d}}, {text}", 16,
                                  results["oob" + dot]))
    suite.group(f"arithmetic-{kind}", {"a": a, "b": b, "c": c}, cases)

    # The packed forms: the second element is the first of another row.
    def pack(x):
        return x.astype(np.uint32) | np.roll(x, 7).astype(np.uint32) << 16
    cases = [Case(f"{op}{'.rn' if op == 'fma' or kind == 'bf16' else ''}.{kind}x2 "
                  f"{{d}}, {names[len(inputs)]}", 32, pack(results[op]))
             for op, (_, inputs) in functions.items()]
    for dot in ("", ".relu"):
        cases.append(Case(f"fma.rn.oob{dot}.{kind}x2 {{d}}, {{a}}, {{b}}, {{c}}", 32,
                          pack(results["oob" + dot])))
    if kind == "f16":
        cases.append(Case("fma.rn.sat.f16x2 {d}, {a}, {b}, {c}", 32,
                          pack(saturate(kind, results["fma"]))))
        cases.append(Case("add.sat.f16x2 {d}, {a}, {b}", 32,
                          pack(saturate(kind, results["add"]))))
    suite.group(f"packed-{kind}", {"a": pack(a), "b": pack(b), "c": pack(c)}, cases)


def ordered(kind, codes):
    """Integers in the order of the numbers, -0 below +0."""
    top = 1 << WIDTH[kind] - 1
    return np.array([top + v if v < top else 2 * top - 1 - v
                     for v in codes.tolist()], dtype=object)


def extremum(kind, maximum, nan, *columns):
    best = columns[0]
    for other in columns[1:]:
        x, y = ordered(kind, best), ordered(kind, other)
        pick = np.where((x > y) == maximum, best, other)
        x_nan, y_nan = is_nan(kind, best), is_nan(kind, other)
        canonical = NAN.get(kind, 0x7fffffffffffffff)
        if nan:
            pick = np.where(x_nan | y_nan, canonical, pick)
        else:
            pick = np.where(x_nan, np.where(y_nan, canonical, other),
                            np.where(y_nan, best, pick))
        best = pick.astype(UINT[kind])
    return best


def extrema():
    for kind in ("f32", "f64", "f16", "bf16"):
        width = WIDTH[kind]
        a, b = combine(float_edges(kind), random_floats(kind, 1000, rng), 2, rng)
        c = rng.permutation(a)
        sign = UINT[kind](1 << width - 1)
        cases = []
        for name, maximum in (("min", False), ("max", True)):
            nans = ((False, "", ""),) if kind == "f64" else \
                ((False, "", ""), (True, ".NaN", ".NaN"))
            for nan, dot, _ in nans:
                want = extremum(kind, maximum, nan, a, b)
                cases.append(Case(f"{name}{dot}.{kind} {{d}}, {{a}}, {{b}}", width,
                                  matches(kind, want)))
                if kind in ("f32", "f16"):
                    want = extremum(kind, maximum, nan, flush(kind, a), flush(kind, b))
                    cases.append(Case(f"{name}.ftz{dot}.{kind} {{d}}, {{a}}, {{b}}",
                                      width, matches(kind, want)))
                if kind == "f32":
                    want = extremum(kind, maximum, nan, a, b, c)
                    cases.append(Case(f"{name}{dot}.f32 {{d}}, {{a}}, {{b}}, {{c}}",
                                      width, matches(kind, want)))
                    want = extremum(kind, maximum, nan, *(v & ~sign for v in (a, b, c)))
                    cases.append(Case(f"{name}{dot}.abs.f32 {{d}}, {{a}}, {{b}}, {{c}}",
                                      width, matches(kind, want)))
                if kind != "f64":
                    magnitude = extremum(kind, maximum, nan, a & ~sign, b & ~sign)
                    want = np.where(is_nan(kind, magnitude), magnitude,
                                    magnitude | ((a ^ b) & sign))
                    cases.append(Case(
                        f"{name}{dot}.xorsign.abs.{kind} {{d}}, {{a}}, {{b}}", width,
                        matches(kind, want),
                        None if nan else ~(is_nan(kind, a) & is_nan(kind, b))))
        cases.append(Case(f"neg.{kind} {{d}}, {{a}}", width, a ^ sign,
                          ~is_nan(kind, a)))
        cases.append(Case(f"abs.{kind} {{d}}, {{a}}", width, a & ~sign,
                          ~is_nan(kind, a)))
        if kind in ("f32", "f64"):
            cases.append(Case(f"copysign.{kind} {{d}}, {{a}}, {{b}}", width,
                              (a & sign) | (b & ~sign)))
        suite.group(f"extrema-{kind}", {"a": a, "b": b, "c": c}, cases,
                    target="sm_100a")
        if kind in ("f16", "bf16"):
            def pack(x):
                return x.astype(np.uint32) | np.roll(x, 5).astype(np.uint32) << 16
            cases = [Case(f"{name}{dot}.{kind}x2 {{d}}, {{a}}, {{b}}", 32, pack(
                extremum(kind, maximum, nan, a, b)))
                for name, maximum in (("min", False), ("max", True))
                for nan, dot in ((False, ""), (True, ".NaN"))]
            for name, maximum in (("min", False), ("max", True)):
                want = extremum(kind, maximum, True, a & ~sign, b & ~sign)
                want = np.where(is_nan(kind, want), NAN[kind], want | ((a ^ b) & sign))
                cases.append(Case(f"{name}.NaN.xorsign.abs.{kind}x2 {{d}}, {{a}}, {{b}}",
                                  32, pack(want)))
            clean = ~(is_nan(kind, a) | np.roll(is_nan(kind, a), 5))
            cases.append(Case(f"neg.{kind}x2 {{d}}, {{a}}", 32, pack(a ^ sign), clean))
            cases.append(Case(f"abs.{kind}x2 {{d}}, {{a}}", 32, pack(a & ~sign), clean))
            suite.group(f"extrema-{kind}x2", {"a": pack(a), "b": pack(b)}, cases)


def combined(kind, a, b):
    """Packed comparisons under a third predicate, here the oddness of a."""
    def pack(x):
        return x.astype(np.uint32) | np.roll(x, 5).astype(np.uint32) << 16
    less = (ordered(kind, a) < ordered(kind, b)) & ~is_nan(kind, a) & ~is_nan(kind, b) \
        & ((a | b) & 0x7fff != 0)
    odd = a % 2 == 1
    functions = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}
    cases = []
    for name, function in functions.items():
        for sign, third in (("", odd), ("!", ~odd)):
            low, high = function(less, third), function(np.roll(less, 5), third)
            cases.append(Case(
                f"and.b32 t, {{a}}, 1; setp.eq.u32 p, t, 1; "
                f"setp.lt.{name}.{kind}x2 p|q, {{a}}, {{b}}, {sign}p; "
                "selp.u32 {d}, 1, 0, p; selp.u32 t, 2, 0, q; or.b32 {d}, {d}, t", 32,
                low + 2 * high, setup=".reg .pred p, q; .reg .b32 t;"))
    suite.group(f"combined-{kind}x2", {"a": pack(a), "b": pack(b)}, cases)


def comparisons():
    for kind in ("f32", "f64", "f16", "bf16"):
        width = WIDTH[kind]
        a, b = combine(float_edges(kind), random_floats(kind, 400, rng), 2, rng)
        b = np.where(rng.integers(0, 4, len(b)) == 0, a, b)
        cases = []
        for ftz in ((False, True) if kind in ("f32", "f16") else (False,)):
            x, y = (flush(kind, v) if ftz else v for v in (a, b))
            either = is_nan(kind, x) | is_nan(kind, y)
            clear = UINT[kind]((1 << width - 1) - 1)
            zeros = ((x & clear) == 0) & ((y & clear) == 0)
            p, q = ordered(kind, x), ordered(kind, y)
            equal = (p == q) | zeros
            less = (p < q) & ~zeros
            base = {"eq": equal, "ne": ~equal, "lt": less, "le": less | equal,
                    "gt": ~less & ~equal, "ge": ~less}
            table = {k: v & ~either for k, v in base.items()}
            table.update({k + "u": v | either for k, v in base.items()})
            table.update({"num": ~either, "nan": either})
            for name, want in table.items():
                want = want.astype(np.uint32)
                dots = f"{name}{'.ftz' if ftz else ''}"
                cases.append(Case(
                    f"setp.{dots}.{kind} p, {{a}}, {{b}}; selp.u32 {{d}}, 1, 0, p", 32,
                    want, setup=".reg .pred p;"))
                cases.append(Case(
                    f"setp.{dots}.{kind} p|q, {{a}}, {{b}}; selp.u32 {{d}}, 1, 0, q",
                    32, 1 - want, setup=".reg .pred p, q;"))
                cases.append(Case(f"set.{dots}.u32.{kind} {{d}}, {{a}}, {{b}}", 32,
                                  np.where(want, 0xffffffff, 0)))
                if kind == "f32":
                    cases.append(Case(f"set.{dots}.f32.{kind} {{d}}, {{a}}, {{b}}", 32,
                                      np.where(want, 0x3f800000, 0)))
                if width == 16:
                    one = 0x3c00 if kind == "f16" else 0x3f80
                    cases.append(Case(f"set.{dots}.{kind}.{kind} {{d}}, {{a}}, {{b}}", 16,
                                      np.where(want, one, 0)))
        exponent, mantissa = exact.FORMATS[kind]
        if kind in ("f32", "f64"):
            size = a & UINT[kind]((1 << width - 1) - 1)
            infinity = ((1 << exponent) - 1) << mantissa
            properties = {
                "finite": size < infinity, "infinite": size == infinity,
                "number": size <= infinity, "notanumber": size > infinity,
                "normal": (size < infinity) & (size >= 1 << mantissa),
                "subnormal": (size > 0) & (size < 1 << mantissa)}
            for name, want in properties.items():
                cases.append(Case(
                    f"testp.{name}.{kind} p, {{a}}; selp.u32 {{d}}, 1, 0, p", 32,
                    want.astype(np.uint32), setup=".reg .pred p;"))
        suite.group(f"compare-{kind}", {"a": a, "b": b}, cases)
        if width == 16:
            combined(kind, a, b)


wide()
pairs()
narrow_arithmetic("f16")
narrow_arithmetic("bf16")
extrema()
comparisons()
suite.finish()
