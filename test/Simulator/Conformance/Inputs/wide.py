# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Instructions that compilers seldom emit, against NumPy and exact integers."""
import sys

import ml_dtypes
import numpy as np

from ptx import Case, Suite
from values import combine, float_edges, integer_edges, random_bits, random_floats

suite = Suite(sys.argv[1])
rng = np.random.default_rng(12)
HALF = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}


def video():
    a, b = combine(np.array([0, 0xffffffff, 0x80808080, 0x7f7f7f7f, 0x80008000,
                             0x7fff7fff, 0x01ff01ff, 0x00010001], np.uint32),
                   random_bits(32, 900, rng), 2, rng)
    c = rng.permutation(random_bits(32, len(a), rng))
    cases = []

    def add(text, lanes, view, function, low=None, high=None, accumulate=False):
        bits = 32 // lanes
        x = a.view(view).reshape(-1, lanes).astype(np.int64)
        y = b.view(view).reshape(-1, lanes).astype(np.int64)
        r = function(x, y).astype(np.int64)
        if low is not None:
            r = r.clip(low, high)
        want = c + r.sum(1) if accumulate else \
            ((r & (1 << bits) - 1) << np.arange(lanes) * bits).sum(1)
        cases.append(Case(text + " {d}, {a}, {b}, {c}", 32, want.astype(np.uint32)))

    for lanes in (2, 4):
        for sign in "us":
            view = f"{'i' if sign == 's' else 'u'}{4 // lanes}"
            info = np.iinfo(view)
            t = f".{sign}32" * 3
            for name, function in (("vadd", np.add), ("vsub", np.subtract),
                                   ("vmin", np.minimum), ("vmax", np.maximum),
                                   ("vavrg", lambda x, y: (x + y + (x + y >= 0)) >> 1),
                                   ("vabsdiff", lambda x, y: abs(x - y))):
                add(f"{name}{lanes}{t}", lanes, view, function)
                add(f"{name}{lanes}{t}.add", lanes, view, function, accumulate=True)
                add(f"{name}{lanes}{t}.sat", lanes, view, function, info.min, info.max)
            for name, function in (("eq", np.equal), ("ne", np.not_equal),
                                   ("lt", np.less), ("le", np.less_equal),
                                   ("gt", np.greater), ("ge", np.greater_equal)):
                add(f"vset{lanes}{t[:8]}.{name}", lanes, view, function)
                add(f"vset{lanes}{t[:8]}.{name}.add", lanes, view, function,
                    accumulate=True)
    suite.group("video", {"a": a, "b": b, "c": c}, cases)


def packed_set():
    compare = {"eq": np.equal, "ne": lambda x, y: (x != y) & ~np.isnan(x) & ~np.isnan(y),
               "lt": np.less, "ge": np.greater_equal,
               "neu": lambda x, y: x != y, "ltu": lambda x, y: ~(x >= y),
               "num": lambda x, y: ~np.isnan(x) & ~np.isnan(y),
               "nan": lambda x, y: np.isnan(x) | np.isnan(y)}
    for kind, dtype in HALF.items():
        a, b = combine(float_edges(kind), random_floats(kind, 500, rng), 2, rng)
        a, b = (v[:len(v) // 2 * 2] for v in (a, b))
        b = np.where(rng.integers(0, 3, len(a)) == 0, a, b)
        x, y = a.view(dtype).astype(np.float32), b.view(dtype).astype(np.float32)
        one = np.uint16(0x3c00 if kind == "f16" else 0x3f80)
        cases = []
        for name, function in compare.items():
            yes = function(x, y)
            p = a.view(np.uint32) % 2 == 1
            for to, value in (("u32", 0xffff), ("s32", 0xffff), (f"{kind}x2", one)):
                want = np.where(yes, np.uint16(value), np.uint16(0))
                cases.append(Case(f"set.{name}.{to}.{kind}x2 {{d}}, {{a}}, {{b}}", 32,
                                  want.view(np.uint32)))
                want = np.where(yes.reshape(-1, 2) & ~p[:, None], np.uint16(value),
                                np.uint16(0)).view(np.uint32)[:, 0]
                cases.append(Case(
                    f"and.b32 t, {{a}}, 1; setp.eq.u32 p, t, 1; "
                    f"set.{name}.and.{to}.{kind}x2 {{d}}, {{a}}, {{b}}, !p", 32, want,
                    setup=".reg .b32 t; .reg .pred p;"))
        suite.group(f"set-{kind}x2", {"a": a.view(np.uint32), "b": b.view(np.uint32)},
                    cases)


def round_to_odd(x, z):
    """x + z in f64, the last bit set where it is not exact."""
    x, z = x.astype(np.float64), z.astype(np.float64)
    s = x + z
    error = (x - (s - z)) + (z - (s - (s - z)))
    even = s.view(np.uint64) & np.uint64(1) == 0
    return np.where((error != 0) & np.isfinite(s) & even,
                    np.where((error > 0) == (s > 0), np.nextafter(s, np.inf * s),
                             np.nextafter(s, 0)), s)


def toward(value, mode):
    """f64 to f32 towards zero, down or up."""
    near = value.astype(np.float32)
    wide = near.astype(np.float64)
    down = np.where(wide > value, np.nextafter(near, np.float32(-np.inf)), near)
    up = np.where(wide < value, np.nextafter(near, np.float32(np.inf)), near)
    pick = {"rm": down, "rp": up, "rz": np.where(value < 0, up, down)}[mode]
    return pick.astype(np.float32)


def mixed():
    for kind, dtype in HALF.items():
        a = random_floats(kind, 2048, rng)
        b = rng.permutation(a)
        c = random_floats("f32", 2048, rng)
        with np.errstate(all="ignore"):
            x, y = (v.view(dtype).astype(np.float32) for v in (a, b))
            z = c.view(np.float32)
            # A product of halves is exact in f64, and the sum with it is
            # rounded to odd before it becomes f32.
            total, product = (x.astype(np.float64) * y), z.astype(np.float64)
            s = total + product
            error = (total - (s - product)) + (product - (s - (s - product)))
            odd = np.where((error != 0) & np.isfinite(s) &
                           (s.view(np.uint64) & np.uint64(1) == 0),
                           np.where((error > 0) == (s > 0), np.nextafter(s, np.inf * s),
                                    np.nextafter(s, 0)), s)
            # The sums rounded to odd keep what directed rounding needs.
            exact = {"add": round_to_odd(x, z), "sub": round_to_odd(x, -z), "fma": odd}
            results = {"add": x + z, "sub": x - z, "fma": odd.astype(np.float32)}
            directed = {(name, mode): toward(value, mode) for name, value in exact.items()
                        for mode in ("rz", "rm", "rp")}
        cases = []
        for name, want in results.items():
            bits = np.where(np.isnan(want), np.uint32(0x7fffffff), want.view(np.uint32))
            more = ", {b}" if name == "fma" else ""
            cases.append(Case(f"{name}.rn.f32.{kind} {{d}}, {{a}}{more}, {{c}}", 32, bits))
            clipped = np.where(np.isnan(want), 0, want.clip(0, 1)) + np.float32(0)
            cases.append(Case(f"{name}.rn.sat.f32.{kind} {{d}}, {{a}}{more}, {{c}}", 32,
                              clipped.astype(np.float32).view(np.uint32)))
        for (name, mode), want in directed.items():
            bits = np.where(np.isnan(want), np.uint32(0x7fffffff), want.view(np.uint32))
            more = ", {b}" if name == "fma" else ""
            # The sign of a sum that cancels is the direction's.
            cases.append(Case(f"{name}.{mode}.f32.{kind} {{d}}, {{a}}{more}, {{c}}", 32, bits,
                              exact[name] != 0))
        suite.group(f"mixed-{kind}", {"a": a, "b": b, "c": c}, cases, target="sm_100a")


def vectors():
    for kind, dtype, width, counts in (
            ("f32", np.float32, 32, (2, 4)), ("f16", np.float16, 16, (2, 4, 8)),
            ("bf16", ml_dtypes.bfloat16, 16, (2, 4, 8)),
            ("f16x2", np.float16, 32, (2, 4)), ("bf16x2", ml_dtypes.bfloat16, 32, (2, 4))):
        noftz = "" if kind == "f32" else ".noftz"
        lanes = width // 8 // np.dtype(dtype).itemsize
        for count in counts:
            x, y = (rng.normal(0, 100, (512, count * lanes)).astype(dtype)
                    for _ in range(2))
            bits = f"u{width // 8}"
            if kind != "f32":
                # Equal numbers, zeros of either sign, and NaN on one side or both.
                x[:64], y[32:96] = np.nan, np.nan
                x[96:128] = y[96:128]
                x[128:160], y[128:160] = 0, -y.dtype.type(0)
                x[160:192], y[160:192] = -x.dtype.type(0), 0
            operations = {"add": (x + y).astype(dtype).view(bits)}
            if kind != "f32":
                p, q = x.view(np.uint16), y.view(np.uint16)

                def order(v):
                    return np.where(v >> 15, -(v & 0x7fff).astype(int) - 1, v.astype(int))
                for name, pick in (("min", order(p) < order(q)), ("max", order(p) > order(q))):
                    chosen = np.where(np.isnan(x), q, np.where(np.isnan(y) | pick, p, q))
                    chosen = np.where(np.isnan(x) & np.isnan(y), 0x7fff, chosen)
                    operations[name] = chosen.astype(np.uint16).view(bits)
            names = [f"e{k}" for k in range(count)]
            olds = [f"o{k}" for k in range(count)]
            step = count * width // 8
            inputs = {f"x{k}": np.ascontiguousarray(x.view(bits)[:, k])
                      for k in range(count)}
            inputs |= {f"y{k}": np.ascontiguousarray(y.view(bits)[:, k])
                       for k in range(count)}
            # Each thread has a place of its own in a module variable.
            place = (f"mul.wide.u32 at, %i3, {step}; mov.u64 base, scratch; "
                     "add.u64 at, at, base; ")
            fill = "".join(f"st.global.b{width} [at+{k * width // 8}], {{x{k}}}; "
                           for k in range(count))
            given = "{{" + ", ".join("{y%d}" % k for k in range(count)) + "}}"
            setup = (f".reg .b64 at, base; .reg .b{width} {', '.join(names + olds)};")
            got = "{{" + ", ".join(olds) + "}}"
            cases = []
            for k in range(count):
                tail = f"mov.b{width} {{d}}, "
                for name, total in operations.items():
                    where = None
                    if name == "add" and kind != "f32":
                        where = ~np.isnan(x + y).reshape(512, count, lanes)[:, k].any(1)
                    cases.append(Case(
                        place + fill + f"atom.global.{name}{noftz}.v{count}.{kind} {got}, "
                        f"[at], {given}; {tail}{olds[k]}", width, x.view(bits)[:, k],
                        setup=setup))
                    cases.append(Case(
                        place + fill + f"red.relaxed.gpu.global.{name}{noftz}.v{count}."
                        f"{kind} [at], {given}; "
                        f"ld.global.b{width} {names[k]}, [at+{k * width // 8}];"
                        f" {tail}{names[k]}", width, total[:, k], where, setup=setup))
            suite.group(f"atomic-v{count}-{kind}", inputs, cases,
                        globals=f".global .align 16 .b8 scratch[{512 * step}];")


def coarse():
    """rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64: the upper halves count."""
    a = np.concatenate([float_edges("f64"), random_floats("f64", 3000, rng)])
    upper = np.uint64(0xffffffff00000000)
    with np.errstate(all="ignore"):
        x = (a & upper).view(np.float64)
        x = np.where(abs(x) < 2.0 ** -1022, np.copysign(0, x), x)
        reference = {"rcp": 1 / x,
                     "rsqrt": np.where(x == 0, np.copysign(np.inf, x), 1 / np.sqrt(x))}
    cases = []
    for name, want in reference.items():
        want = np.where(abs(want) < 2.0 ** -1022, np.copysign(0, want), want)

        def accept(got, want=want):
            value = got.view(np.float64)
            with np.errstate(all="ignore"):
                close = abs(value - want) <= abs(want) * 2.0 ** -20
                same = (value == want) & (np.signbit(value) == np.signbit(want))
            return (got & ~upper == 0) & np.where(np.isnan(want), np.isnan(value),
                                                   close | same)
        cases.append(Case(f"{name}.approx.ftz.f64 {{d}}, {{a}}", 64, accept))
    suite.group("coarse", {"a": a}, cases)


video()
packed_set()
mixed()
vectors()
coarse()
suite.finish()
