# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversions from and to e4m3, e5m2, e2m3, e3m2, e2m1 and ue8m0 against
ml_dtypes: every pair of codes one way; every f16, and f32 around every midpoint,
the other."""
import sys

import ml_dtypes
import numpy as np

from ptx import Case, Suite
from values import float_edges, random_bits, random_floats

suite = Suite(sys.argv[1])
rng = np.random.default_rng(4)

# numpy type, bits, NaN's code
FORMATS = {
    "e4m3": (ml_dtypes.float8_e4m3fn, 8, 0x7f),
    "e5m2": (ml_dtypes.float8_e5m2, 8, 0x7f),
    "e2m3": (ml_dtypes.float6_e2m3fn, 6, None),
    "e3m2": (ml_dtypes.float6_e3m2fn, 6, None),
    "e2m1": (ml_dtypes.float4_e2m1fn, 4, None),
}
ALL16 = np.arange(65536, dtype=np.uint16)


def finite_codes(kind):
    dtype, bits, _ = FORMATS[kind]
    codes = np.arange(1 << bits - 1).astype(np.uint8)
    values = codes.view(dtype).astype(np.float32)
    return codes[np.isfinite(values)], values[np.isfinite(values)]


def encode(kind, values, relu=False):
    """Codes of f32 numbers: to nearest even, saturating."""
    dtype, bits, nan_code = FORMATS[kind]
    codes, numbers = finite_codes(kind)
    largest = numbers[-1]
    with np.errstate(invalid="ignore"):
        out = np.clip(values, -largest, largest).astype(dtype).view(np.uint8)
    if relu:
        out = np.where(np.signbit(values), 0, out)
    nan = codes[-1] if nan_code is None else nan_code
    return np.where(np.isnan(values), nan, out).astype(np.uint8)


def f32_sources(kind):
    _, numbers = finite_codes(kind)
    middle = ((numbers[:-1].astype(np.float64) + numbers[1:]) / 2).astype(np.float32)
    beyond = numbers[-1] + (numbers[-1] - numbers[-2]) * np.array(
        [0.25, 0.5, 0.75, 1, 2], np.float32)
    centre = np.concatenate([numbers, middle, beyond]).view(np.uint32)
    near = np.concatenate([centre, centre + 1, np.maximum(centre, 1) - 1])
    near = np.concatenate([near, near | 0x80000000]).astype(np.uint32)
    return np.concatenate([near, float_edges("f32"), random_floats("f32", 500, rng)])


def joined(kind, high, low):
    """The register of a pair: b16, or the low byte of one for e2m1."""
    if kind == "e2m1":
        return (high & 15).astype(np.uint16) << 4 | (low & 15)
    return high.astype(np.uint16) << 8 | low


def convert(kind, body, in_setup=""):
    """A conversion to {d}; that of e2m1 goes through a b8 register."""
    if kind != "e2m1":
        return f"cvt.{body.format(t='{d}')}", in_setup
    return f"cvt.{body.format(t='t')}; cvt.u16.u8 {{d}}, t", in_setup + ".reg .b8 t;"


def encoding():
    for kind in FORMATS:
        a = f32_sources(kind)
        b = rng.permutation(a)
        cases = []
        for relu in (False, True):
            want = joined(kind, encode(kind, a.view(np.float32), relu),
                          encode(kind, b.view(np.float32), relu))
            dot = ".relu" if relu else ""
            text, setup = convert(
                kind, f"rn.satfinite{dot}.{kind}x2.f32 {{t}}, {{{{a}}}}, {{{{b}}}}")
            cases.append(Case(text.replace("{{", "{").replace("}}", "}"), 16, want,
                              setup=setup))
        suite.group(f"encode-{kind}", {"a": a, "b": b}, cases, target="sm_100a")
        if kind not in ("e4m3", "e5m2"):
            continue
        a, b = ALL16, rng.permutation(ALL16)
        cases = []
        for relu in (False, True):
            with np.errstate(invalid="ignore"):
                x, y = (v.view(np.float16).astype(np.float32) for v in (a, b))
            want = joined(kind, encode(kind, x, relu), encode(kind, y, relu))
            dot = ".relu" if relu else ""
            cases.append(Case(f"cvt.rn.satfinite{dot}.{kind}x2.f16x2 {{d}}, {{a}}", 16,
                              want))
        suite.group(f"encode-{kind}-f16", {"a": a.astype(np.uint32) << 16 | b}, cases)


def decoding():
    for kind, (dtype, bits, nan_code) in FORMATS.items():
        mask = (1 << bits) - 1
        codes = ALL16 if bits == 8 else np.unique(ALL16 & np.uint16(mask << 8 | mask)) \
            if bits == 6 else np.arange(256, dtype=np.uint16)
        if kind == "e2m1":
            high, low = codes >> 4, codes & 15
        else:
            high, low = codes >> 8, codes & 255

        def half(v):
            numbers = v.astype(np.uint8).view(dtype).astype(np.float32)
            with np.errstate(invalid="ignore"):
                out = numbers.astype(np.float16).view(np.uint16)
            return np.where(np.isnan(numbers), 0x7fff, out)
        want = half(high).astype(np.uint32) << 16 | half(low)
        cases = []
        for relu in (False, True):
            halves = [want >> 16, want & 0xffff]
            if relu:
                halves = [np.where(v >= 0x8000, 0, v) for v in halves]
            dot = ".relu" if relu else ""
            text = f"cvt.rn{dot}.f16x2.{kind}x2 {{d}}, {{a}}"
            setup = ""
            if kind == "e2m1":
                text = f"cvt.u8.u16 t, {{a}}; cvt.rn{dot}.f16x2.e2m1x2 {{d}}, t"
                setup = ".reg .b8 t;"
            cases.append(Case(text, 32, halves[0].astype(np.uint32) << 16 | halves[1],
                              setup=setup))
        suite.group(f"decode-{kind}", {"a": codes}, cases, target="sm_100a")


def scales():
    """ue8m0: powers of two, 255 is NaN. The sign is dropped; zero and what is
    too small become the smallest power."""
    numbers = np.arange(255).astype(np.uint8).view(ml_dtypes.float8_e8m0fnu) \
        .astype(np.float64)
    assert numbers[0] == 2.0 ** -127 and numbers[254] == 2.0 ** 127

    def encode_scale(values, mode):
        with np.errstate(invalid="ignore"):
            magnitude = np.abs(values.astype(np.float64))
        side = "right" if mode == "rz" else "left"
        index = np.searchsorted(numbers, magnitude, side) - (mode == "rz")
        return np.where(np.isnan(values), 255, np.clip(index, 0, 254)).astype(np.uint8)

    codes = ALL16
    with np.errstate(invalid="ignore"):
        low, high = (v.astype(np.uint8).view(ml_dtypes.float8_e8m0fnu)
                     .astype(np.float32).astype(ml_dtypes.bfloat16).view(np.uint16)
                     for v in (codes & 255, codes >> 8))
    low = np.where((codes & 255) == 255, 0x7fff, low)
    high = np.where(codes >> 8 == 255, 0x7fff, high)
    suite.group("decode-ue8m0", {"a": codes}, [
        Case("cvt.rn.bf16x2.ue8m0x2 {d}, {a}", 32, high.astype(np.uint32) << 16 | low)],
        target="sm_100a")

    powers = np.ldexp(1.0, np.arange(-149, 128)).astype(np.float32).view(np.uint32)
    a = np.concatenate([powers, powers + 1, powers - 1, float_edges("f32"),
                        random_bits(32, 2000, rng)]).astype(np.uint32)
    b = rng.permutation(a)
    cases = []
    for mode in ("rz", "rp"):
        x, y = (encode_scale(v.view(np.float32), mode) for v in (a, b))
        cases.append(Case(f"cvt.{mode}.satfinite.ue8m0x2.f32 {{d}}, {{a}}, {{b}}", 16,
                          x.astype(np.uint16) << 8 | y))
    suite.group("encode-ue8m0-f32", {"a": a, "b": b}, cases, target="sm_100a")
    a, b = ALL16, rng.permutation(ALL16)
    cases = []
    for mode in ("rz", "rp"):
        with np.errstate(invalid="ignore"):
            x, y = (encode_scale(v.view(ml_dtypes.bfloat16).astype(np.float32), mode)
                    for v in (a, b))
        cases.append(Case(f"cvt.{mode}.satfinite.ue8m0x2.bf16x2 {{d}}, {{a}}", 16,
                          x.astype(np.uint16) << 8 | y))
    suite.group("encode-ue8m0-bf16", {"a": a.astype(np.uint32) << 16 | b}, cases,
                target="sm_100a")


def stochastic():
    """cvt.rs: away from zero where the part that is lost, of the step to the next
    number, and the random bits as a fraction make one. Which bits are for whom:
    the PTX manual; of a pair that shares 16 the first takes them in reverse."""
    sources = np.concatenate([f32_sources(kind) for kind in FORMATS] +
                             [random_floats("f16", 1500, rng).view(np.float16)
                              .astype(np.float32).view(np.uint32)])
    count = len(sources)
    sources = np.concatenate([sources, random_bits(32, 2000, rng)])
    columns = [sources] + [rng.permutation(sources) for _ in range(3)]
    random = rng.integers(0, 1 << 32, len(sources), np.uint64).astype(np.uint32)
    random[:count // 8] = 0
    random[count // 8:count // 4] = 0xffffffff
    high, low = random >> 16, random & 0xffff

    def reverse(v):
        return sum((v >> k & 1) << 15 - k for k in range(16))

    def codes(kind, values, bits, width, full, relu):
        if kind in FORMATS:
            _, numbers = finite_codes(kind)
            numbers = numbers.astype(np.float64)
            total, nan = FORMATS[kind][1], FORMATS[kind][2]
            nan = len(numbers) - 1 if nan is None else nan
            infinity = None
        else:
            dtype, total, nan = {"f16": (np.float16, 16, 0x7fff),
                                 "bf16": (ml_dtypes.bfloat16, 16, 0x7fff)}[kind]
            with np.errstate(invalid="ignore"):
                numbers = np.arange(1 << 15).astype(np.uint16).view(dtype) \
                    .astype(np.float64)
            infinity = int(np.flatnonzero(np.isinf(numbers))[0])
            numbers = numbers[:infinity]
        with np.errstate(invalid="ignore"):
            x = values.view(np.float32).astype(np.float64)
            size = np.abs(x)
        # One more number, as if the exponents went on.
        steps = np.append(numbers, 2 * numbers[-1] - numbers[-2])
        below = np.clip(np.searchsorted(steps, size, "right") - 1, 0, len(numbers) - 1)
        with np.errstate(invalid="ignore", over="ignore"):
            lost = (size - steps[below]) / (steps[below + 1] - steps[below])
        code = below + (lost + bits / 2.0 ** width >= 1)
        beyond = len(numbers) - 1 if full or infinity is None else infinity
        code = np.where((code >= len(numbers)) | (size >= steps[-1]), beyond, code)
        code = np.where(np.signbit(x), 0 if relu else code | 1 << total - 1, code)
        return np.where(np.isnan(x), nan, code).astype(np.uint32)

    inputs = dict(zip("abce", columns)) | {"r": random}
    for kind in ("f16", "bf16", *FORMATS):
        pair = kind not in FORMATS
        cases = []
        for relu in ("", ".relu"):
            for full in (("", ".satfinite") if pair else (".satfinite",)):
                if pair:
                    width = 13 if kind == "f16" else 16
                    mask = (1 << width) - 1
                    spread, step, bits = [high & mask, low & mask], 16, 32
                    text = f"cvt.rs{relu}{full}.{kind}x2.f32 {{d}}, {{a}}, {{b}}, {{r}}"
                else:
                    width, step = 16, 4 if kind == "e2m1" else 8
                    bits = 4 * step
                    first, second = high, low
                    if kind == "e2m1":
                        first = high & 0xff00 | low >> 8
                        second = (high & 0xff) << 8 | low & 0xff
                    spread = [reverse(first), first, reverse(second), second]
                    text = (f"cvt.rs{relu}{full}.{kind}x4.f32 {{d}}, "
                            "{{{a}, {b}, {c}, {e}}}, {r}")
                want = np.zeros(len(sources), np.uint32)
                for values, random_bits_ in zip(columns, spread):
                    want = want << step | codes(kind, values, random_bits_, width,
                                                bool(full), bool(relu))
                cases.append(Case(text, bits, want))
        suite.group(f"stochastic-{kind}", inputs, cases, target="sm_100a")


encoding()
decoding()
scales()
stochastic()
suite.finish()
