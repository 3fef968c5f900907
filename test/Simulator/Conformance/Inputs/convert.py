# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversions between integers, f16, bf16, tf32, f32 and f64: exhaustive where
the source has at most 16 bits; otherwise edges, random numbers and, for every
kind of destination, the midpoints of its numbers and their neighbours."""
import sys

import ml_dtypes
import numpy as np

import exact
from ptx import Case, Suite
from values import float_edges, integer_edges, random_bits, random_floats

suite = Suite(sys.argv[1])
rng = np.random.default_rng(3)

UINT = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}
WIDTH = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}
NUMPY = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32,
         "f64": np.float64}
MODES = ["rn", "rz", "rm", "rp"]
INTEGERS = [s + str(w) for w in (8, 16, 32, 64) for s in "us"]
ALL16 = np.arange(65536, dtype=np.uint16)
NAN = {"f16": 0x7fff, "bf16": 0x7fff, "f32": 0x7fffffff}


def register(width):
    return max(width, 16)


def is_nan(kind, codes):
    exponent, mantissa = exact.FORMATS[kind]
    return (codes & UINT[WIDTH[kind]]((1 << exponent + mantissa) - 1)) > \
        ((1 << exponent) - 1) << mantissa


def flush(codes):
    return np.where((codes & np.uint32(0x7f800000)) == 0,
                    codes & np.uint32(0x80000000), codes)


def number(kind, codes):
    """The codes' values as f64, exactly."""
    with np.errstate(invalid="ignore"):
        return codes.view(NUMPY[kind]).astype(np.float64)


def integers_of(kind, codes):
    """Bits as the numbers of an integer type."""
    return codes.view(f"{'i' if kind[0] == 's' else 'u'}{int(kind[1:]) // 8}")


def narrow(source, values, kind, mode):
    """Codes of `kind` nearest to the numbers `values`, an array of `source`
    (f32 or f64), in one direction. NumPy rounds to nearest; the others step
    from there."""
    with np.errstate(over="ignore", invalid="ignore"):
        near = values.astype(NUMPY[kind])
        codes = near.view(UINT[WIDTH[kind]])
        back, value = near.astype(np.float64), values.astype(np.float64)
    shrink = {"rn": False, "rz": abs(back) > abs(value),
              "rm": (back > value) & (back > 0), "rp": (back < value) & (back < 0)}[mode]
    grow = {"rn": False, "rz": False, "rm": (back > value) & ~(back > 0),
            "rp": (back < value) & ~(back < 0)}[mode]
    codes = np.where(shrink, codes - 1, np.where(grow, codes + 1, codes))
    return codes.astype(UINT[WIDTH[kind]])


def canonical(kind, codes):
    nan = is_nan(kind, codes)
    if kind == "f64":
        return lambda got: np.where(nan, is_nan(kind, got), got == codes)
    return np.where(nan, NAN[kind], codes)


def saturate(kind, codes):
    exponent, mantissa = exact.FORMATS[kind]
    one = ((1 << exponent - 1) - 1) << mantissa
    out = np.where(codes > one, one, codes)
    return np.where(is_nan(kind, codes) | (codes >= 1 << exponent + mantissa), 0, out)


def relu(kind, codes):
    exponent, mantissa = exact.FORMATS[kind]
    out = np.where(codes >= 1 << exponent + mantissa, 0, codes)
    return np.where(is_nan(kind, codes), NAN[kind], out)


def satfinite(kind, codes, sources):
    """Numbers beyond the largest become it, infinities included."""
    exponent, mantissa = exact.FORMATS[kind]
    infinity = ((1 << exponent) - 1) << mantissa
    magnitude = codes & ((1 << exponent + mantissa) - 1)
    out = np.where(magnitude == infinity, codes - 1, codes)
    return np.where(np.isnan(sources), NAN[kind], out)


def to_integer(values, mode, kind, wide_source):
    width, is_signed = int(kind[1:]), kind[0] == "s"
    with np.errstate(invalid="ignore"):
        rounded = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor,
                   "rpi": np.ceil}[mode](values)
    low, high = (-2.0 ** (width - 1), 2.0 ** (width - 1)) if is_signed \
        else (0.0, 2.0 ** width)
    inside = (rounded >= low) & (rounded < high)
    safe = np.where(inside, rounded, 0)
    cast = safe.astype(np.int64).view(np.uint64) if is_signed else safe.astype(np.uint64)
    top = (1 << width - 1) - 1 if is_signed else (1 << width) - 1
    bottom = 1 << 64 - 1 if is_signed and width == 64 else \
        ((1 << 64) - (1 << width - 1) if is_signed else 0)
    out = np.where(rounded >= high, np.uint64(top), np.where(
        rounded < low, np.uint64(bottom), cast))
    nan = 1 << width - 1 if wide_source or width == 64 else 0
    if is_signed and width < 64 and nan:
        nan += (1 << 64) - (1 << width)
    return np.where(np.isnan(values), np.uint64(nan), out)


def sources(kind):
    """Codes of a floating-point kind to convert from."""
    if WIDTH[kind] == 16:
        return ALL16
    width = WIDTH[kind]
    parts = [float_edges(kind), random_floats(kind, 1500, rng)]
    # Near the ends of the integers and near their midpoints.
    numbers = []
    for bits in (7, 8, 15, 16, 31, 32, 63, 64):
        numbers += [2.0 ** bits + d for d in (-1, -0.5, -0.25, 0, 0.25, 0.5, 1)]
    numbers += [k + f for k in range(-4, 300, 13) for f in (0.25, 0.5, 0.75)]
    numbers = np.array(numbers + [-v for v in numbers], NUMPY[kind])
    centre = numbers.view(UINT[width])
    parts += [centre - 1, centre, centre + 1]
    return np.concatenate(parts).astype(UINT[width])


def midpoints(source, kind):
    """Every number half-way between two f16 or bf16, or many between two f32,
    in the source format, with both neighbours."""
    exponent, mantissa = exact.FORMATS[kind]
    limit = ((1 << exponent) - 1) << mantissa
    codes = np.arange(limit) if limit <= 1 << 16 else \
        np.unique(np.concatenate([rng.integers(0, limit, 3000), np.arange(50),
                                  limit - 1 - np.arange(50),
                                  (1 << mantissa) + np.arange(-50, 50)]))
    low = codes.astype(UINT[WIDTH[kind]]).view(NUMPY[kind]).astype(np.float64)
    # The step above the largest number would be the last one again.
    with np.errstate(invalid="ignore"):
        high = (codes + 1).astype(UINT[WIDTH[kind]]).view(NUMPY[kind]).astype(np.float64)
        high = np.where(np.isinf(high), low + (low - (codes - 1).astype(
            UINT[WIDTH[kind]]).view(NUMPY[kind]).astype(np.float64)), high)
        middle = ((low + high) / 2).astype(NUMPY[source])
    centre = middle.view(UINT[WIDTH[source]])
    sign = UINT[WIDTH[source]](1 << WIDTH[source] - 1)
    both = np.concatenate([centre - 1, centre, centre + 1]).astype(centre.dtype)
    return np.concatenate([both, both | sign])


def between_integers():
    for source in INTEGERS:
        width = int(source[1:])
        codes = np.arange(1 << width).astype(UINT[width]) if width <= 16 else \
            np.concatenate([integer_edges(width), random_bits(width, 3000, rng)])
        values = integers_of(source, codes)
        cases = []
        for target in INTEGERS:
            bits = int(target[1:])
            kind = f"{'int' if target[0] == 's' else 'uint'}{bits}"
            out = register(bits)
            wrapped = values.astype(np.int64 if source[0] == "s" else np.uint64) \
                .astype(kind).astype(f"int{out}" if target[0] == "s" else f"uint{out}")
            cases.append(Case(f"cvt.{target}.{source} {{d}}, {{a}}", out,
                              wrapped.view(UINT[out])))
            info = np.iinfo(kind)
            clipped = np.array([min(max(v, int(info.min)), int(info.max)) % (1 << out)
                                for v in values.tolist()], dtype=object)
            cases.append(Case(f"cvt.sat.{target}.{source} {{d}}, {{a}}", out,
                              clipped.astype(UINT[out])))
        suite.group(f"int-{source}", {"a": codes}, cases)


def float_to_integer():
    for source in ("f16", "bf16", "f32", "f64"):
        codes = sources(source)
        cases = []
        for target in INTEGERS:
            for mode in ("rni", "rzi", "rmi", "rpi"):
                out = register(int(target[1:]))
                mask = np.uint64((1 << out) - 1)
                want = to_integer(number(source, codes), mode, target, source == "f64")
                cases.append(Case(f"cvt.{mode}.{target}.{source} {{d}}, {{a}}", out,
                                  want & mask))
                cases.append(Case(f"cvt.{mode}.sat.{target}.{source} {{d}}, {{a}}",
                                  out, want & mask))
                if source == "f32":
                    want = to_integer(number(source, flush(codes)), mode, target, False)
                    cases.append(Case(f"cvt.{mode}.ftz.{target}.f32 {{d}}, {{a}}",
                                      out, want & mask))
        suite.group(f"to-integer-{source}", {"a": codes}, cases)


def integer_to_float():
    for source in INTEGERS:
        width = int(source[1:])
        small = width <= 16
        codes = np.arange(1 << width).astype(UINT[width]) if small else \
            np.concatenate([integer_edges(width), random_bits(width, 300, rng)])
        if not small:
            # Integers half-way between numbers of 8, 11, 24 and 53 bits.
            near = []
            for precision in (8, 11, 24, 53):
                for shift in range(1, width - precision):
                    lead = 1 << precision - 1 | int(rng.integers(0, 1 << precision - 1))
                    value = (lead << 1 | 1) << shift - 1
                    near += [value - 1, value, value + 1, -value % (1 << width)]
            codes = np.concatenate([codes, np.array(
                [v % (1 << width) for v in near], UINT[width])])
        values = integers_of(source, codes)
        cases = []
        for target in ("f16", "bf16", "f32", "f64"):
            for mode in MODES:
                if small:
                    want = narrow("f64", values.astype(np.float64), target, mode)
                else:
                    want = np.array([exact.encode(target, (int(v < 0), abs(v), 0), mode)
                                     for v in values.tolist()], UINT[WIDTH[target]])
                cases.append(Case(f"cvt.{mode}.{target}.{source} {{d}}, {{a}}",
                                  WIDTH[target], want))
            one = exact.encode(target, (0, 1, 0))
            cases.append(Case(
                f"cvt.rn.sat.{target}.{source} {{d}}, {{a}}", WIDTH[target],
                np.where(values > 0, one, 0)))
        suite.group(f"from-integer-{source}", {"a": codes}, cases)


def widening():
    for source, targets in (("f16", ("f32", "f64")), ("bf16", ("f32", "f64"))):
        cases = []
        for target in targets:
            with np.errstate(invalid="ignore"):
                want = number(source, ALL16).astype(NUMPY[target]).view(
                    UINT[WIDTH[target]])
            # What NaN the wider format gets is not defined everywhere.
            nan = is_nan(source, ALL16)
            cases.append(Case(
                f"cvt.{target}.{source} {{d}}, {{a}}", WIDTH[target],
                lambda got, want=want, target=target: np.where(
                    nan, is_nan(target, got), got == want)))
        if source == "f16":
            with np.errstate(invalid="ignore"):
                want = number(source, ALL16).astype(np.float32).view(np.uint32)
            cases.append(Case("cvt.sat.f32.f16 {d}, {a}", 32, saturate("f32", want)))
        suite.group(f"widen-{source}", {"a": ALL16}, cases)
    codes = sources("f32")
    want = number("f32", codes).view(np.uint64)
    flushed = number("f32", flush(codes)).view(np.uint64)
    suite.group("widen-f32", {"a": codes}, [
        Case("cvt.f64.f32 {d}, {a}", 64, canonical("f64", want)),
        Case("cvt.ftz.f64.f32 {d}, {a}", 64, canonical("f64", flushed))])


def narrowing():
    for source, target in (("f32", "f16"), ("f32", "bf16"), ("f64", "f32"),
                           ("f64", "f16")):
        codes = np.concatenate([sources(source), midpoints(source, target)])
        values = codes.view(NUMPY[source])
        width, cases = WIDTH[target], []
        modes = MODES if target != "bf16" else ["rn", "rz", "rm", "rp"]
        for mode in modes:
            want = narrow(source, values, target, mode)
            cases.append(Case(f"cvt.{mode}.{target}.{source} {{d}}, {{a}}", width,
                              canonical(target, want)))
            cases.append(Case(f"cvt.{mode}.sat.{target}.{source} {{d}}, {{a}}", width,
                              saturate(target, want)))
            if target == "f32":
                exponent = (want & np.uint32(0x7fffffff)) != 0x00800000
                cases.append(Case(
                    f"cvt.{mode}.ftz.f32.f64 {{d}}, {{a}}", 32,
                    canonical("f32", flush(want)), exponent))
        if source == "f32":
            for mode in ("rn", "rz"):
                want = narrow(source, values, target, mode)
                cases.append(Case(f"cvt.{mode}.relu.{target}.f32 {{d}}, {{a}}", width,
                                  relu(target, want)))
                full = satfinite(target, want, values)
                cases.append(Case(f"cvt.{mode}.satfinite.{target}.f32 {{d}}, {{a}}",
                                  width, full))
        suite.group(f"narrow-{target}-{source}", {"a": codes}, cases)
        if source == "f32":
            other = rng.permutation(codes)
            cases = []
            for mode in ("rn", "rz"):
                high = narrow(source, values, target, mode)
                low = narrow(source, other.view(np.float32), target, mode)
                full = [satfinite(target, high, values),
                        satfinite(target, low, other.view(np.float32))]
                for dot, f in (("", lambda k, v: canonical(k, v)), (".relu", relu)):
                    for more, halves in (("", (high, low)), (".satfinite", full)):
                        pair = f(target, halves[0]).astype(np.uint32) << 16 | \
                            f(target, halves[1]).astype(np.uint32)
                        cases.append(Case(f"cvt.{mode}{dot}{more}.{target}x2.f32 "
                                          "{d}, {a}, {b}", 32, pair))
            suite.group(f"pack-{target}", {"a": codes, "b": other}, cases)


def tensor_float():
    codes = np.concatenate([sources("f32"), random_bits(32, 4000, rng)])
    # Midpoints of the ten bits that are kept.
    lead = random_bits(32, 4000, rng) & np.uint32(0xffffe000)
    codes = np.concatenate([codes, lead | 0x1000, lead | 0x0fff, lead | 0x1001])
    nan = is_nan("f32", codes)
    magnitude, sign = codes & 0x7fffffff, codes & 0x80000000

    def rounded(mode):
        wide = magnitude.astype(np.uint64)
        if mode == "rna":
            wide = wide + 0x1000
        elif mode == "rn":
            wide = wide + 0x0fff + (wide >> 13 & 1)
        out = (wide & 0xffffe000).astype(np.uint32)
        return np.where(magnitude >= 0x7f800000, magnitude, out) | sign
    # Where the low bits, which tf32 has not, are left open only those kept count.
    cases = []
    infinity, largest = np.uint32(0x7f800000), np.uint32(0x7f7fe000)
    for mode in ("rna", "rn", "rz"):
        for dots in ("", ".satfinite", ".relu", ".relu.satfinite"):
            want = rounded(mode)
            if "satfinite" in dots:
                want = np.where(want & 0x7fffffff == infinity, sign | largest, want)
            if "relu" in dots:
                want = np.where(sign, 0, want)
                if mode == "rna":
                    continue
            cases.append(Case(
                f"cvt.{mode}{dots}.tf32.f32 {{d}}, {{a}}", 32,
                lambda got, want=want: np.where(nan, is_nan("f32", got),
                                                got >> 13 == want >> 13)))
    suite.group("tf32", {"a": codes}, cases)


def integral():
    for kind in ("f16", "bf16", "f32", "f64"):
        codes = sources(kind)
        values = number(kind, codes)
        cases = []
        for mode, function in (("rni", np.rint), ("rzi", np.trunc),
                               ("rmi", np.floor), ("rpi", np.ceil)):
            with np.errstate(invalid="ignore"):
                want = function(values).astype(NUMPY[kind]).view(UINT[WIDTH[kind]])
            cases.append(Case(f"cvt.{mode}.{kind}.{kind} {{d}}, {{a}}", WIDTH[kind],
                              canonical(kind, want)))
            if kind != "bf16":
                cases.append(Case(f"cvt.{mode}.sat.{kind}.{kind} {{d}}, {{a}}",
                                  WIDTH[kind], saturate(kind, want)))
            if kind == "f32":
                with np.errstate(invalid="ignore"):
                    want = function(number(kind, flush(codes))).astype(
                        np.float32).view(np.uint32)
                cases.append(Case(f"cvt.{mode}.ftz.f32.f32 {{d}}, {{a}}", 32,
                                  canonical(kind, want)))
        suite.group(f"integral-{kind}", {"a": codes}, cases)


def pack_integers():
    a = np.concatenate([integer_edges(32), random_bits(32, 2000, rng)])
    b, c = rng.permutation(a), rng.permutation(a)
    cases = []
    for kind in (s + str(w) for s in "su" for w in (16, 8, 4, 2)):
        bits = int(kind[1:])
        mask = (1 << bits) - 1
        low = -(1 << bits - 1) if kind[0] == "s" else 0
        x, y = ((np.clip(v.view(np.int32).astype(np.int64), low, low + mask)
                 & mask).astype(np.uint32) for v in (a, b))
        want = x << bits | y
        if bits < 16:
            cases.append(Case(f"cvt.pack.sat.{kind}.s32.b32 {{d}}, {{a}}, {{b}}, {{c}}",
                              32, want | c << 2 * bits))
        else:
            cases.append(Case(f"cvt.pack.sat.{kind}.s32 {{d}}, {{a}}, {{b}}", 32, want))
    suite.group("pack", {"a": a, "b": b, "c": c}, cases)


between_integers()
float_to_integer()
integer_to_float()
widening()
narrowing()
tensor_float()
integral()
pack_integers()
suite.finish()
