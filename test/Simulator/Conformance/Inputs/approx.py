# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The approximate instructions against f64, within the errors that the PTX manual
states, and their special values exactly."""
import sys

import ml_dtypes
import numpy as np

from ptx import Case, Suite
from values import float_edges, random_floats

suite = Suite(sys.argv[1])
rng = np.random.default_rng(9)
NORMAL = 2.0 ** -126


def within(want, relative=0.0, absolute=0.0, flushed=False, dtype=np.float32):
    """Accepts what is as near as stated; special values must match, and a zero
    its sign. With `flushed` a denormal may have become zero."""
    def accept(got):
        values = got.view(dtype).astype(np.float64)
        with np.errstate(invalid="ignore", over="ignore"):
            narrow = want.astype(dtype).astype(np.float64)
            close = np.abs(values - want) <= np.abs(want) * relative + absolute
            # Rounding at the bottom of the range and to infinity at its top.
            close |= np.abs(values - want) <= (2.0 ** -149 if dtype == np.float32 else 0)
            close |= (np.isinf(narrow) | np.isinf(values)) & \
                (np.abs(want) > 3.4028e38) & (np.sign(values) == np.sign(want)) & \
                (np.abs(values) > 3.4028e38)
        close = np.where(np.isnan(want), np.isnan(values), close)
        exact = np.isinf(want) | (want == 0)
        zero = (values == 0) & (np.signbit(values) == np.signbit(want))
        close = np.where(np.isinf(want), values == want, close)
        close = np.where(exact & (want == 0),
                         zero if not absolute else close, close)
        if flushed:
            close |= zero & (np.abs(want) < NORMAL)
        return close
    return accept


def flush(values):
    return np.where(np.abs(values) < NORMAL, np.copysign(0.0, values), values)


def single():
    a = np.concatenate([float_edges("f32"), random_floats("f32", 4000, rng),
                        rng.uniform(-130, 130, 2000).astype(np.float32).view(np.uint32),
                        rng.uniform(0.5, 2, 2000).astype(np.float32).view(np.uint32),
                        rng.uniform(-3.14, 3.14, 2000).astype(np.float32).view(np.uint32)])
    b = rng.permutation(a)
    with np.errstate(all="ignore"):
        x, y = (v.view(np.float32).astype(np.float64) for v in (a, b))
        cases = []
        for ftz in (False, True):
            u, v = (flush(x), flush(y)) if ftz else (x, y)
            dot = ".ftz" if ftz else ""

            def add(text, want, where=None, **bounds):
                cases.append(Case(text, 32, within(want, flushed=ftz, **bounds), where))
            add(f"rcp.approx{dot}.f32 {{d}}, {{a}}", 1 / u, relative=2.0 ** -23)
            add(f"sqrt.approx{dot}.f32 {{d}}, {{a}}", np.sqrt(u), relative=2.0 ** -22)
            root = np.where(u == 0, np.copysign(np.inf, u), 1 / np.sqrt(u))
            add(f"rsqrt.approx{dot}.f32 {{d}}, {{a}}", root, relative=2.0 ** -22.9)
            add(f"ex2.approx{dot}.f32 {{d}}, {{a}}", np.exp2(u), relative=2.0 ** -22)
            add(f"lg2.approx{dot}.f32 {{d}}, {{a}}", np.log2(u), relative=2.0 ** -22,
                absolute=2.0 ** -22)
            # Stated for arguments in the first two quadrants to either side.
            near = (np.abs(u) <= np.pi) | np.isinf(u) | np.isnan(u)
            add(f"sin.approx{dot}.f32 {{d}}, {{a}}", np.sin(u), near,
                absolute=2.0 ** -20.5)
            add(f"cos.approx{dot}.f32 {{d}}, {{a}}", np.cos(u), near,
                absolute=2.0 ** -20.5)
            divisor = np.abs(v)
            fits = ((divisor >= 2.0 ** -126) & (divisor <= 2.0 ** 126)) & np.isfinite(u)
            add(f"div.approx{dot}.f32 {{d}}, {{a}}, {{b}}", u / v, fits,
                relative=2.0 ** -22)
            add(f"div.full{dot}.f32 {{d}}, {{a}}, {{b}}", u / v, fits, relative=2.0 ** -22)
        add("tanh.approx.f32 {d}, {a}", np.tanh(x), relative=2.0 ** -10.98)
    suite.group("f32", {"a": a, "b": b}, cases)


def double():
    a = np.concatenate([float_edges("f64"), random_floats("f64", 3000, rng)])
    with np.errstate(all="ignore"):
        x = a.view(np.float64)
        want = np.where(x == 0, np.copysign(np.inf, x), 1 / np.sqrt(x))
    suite.group("f64", {"a": a}, [Case(
        "rsqrt.approx.f64 {d}, {a}", 64, within(want, relative=2.0 ** -51.5,
                                                dtype=np.float64))])


def narrow():
    codes = np.arange(65536, dtype=np.uint16)
    for kind, dtype, exponential, tangent in (
            ("f16", np.float16, 2.0 ** -9.9, 2.0 ** -10.987),
            ("bf16", ml_dtypes.bfloat16, 2.0 ** -7, 2.0 ** -8)):
        with np.errstate(all="ignore"):
            x = codes.view(dtype).astype(np.float64)
            power = np.exp2(x)
            top = float(np.finfo(np.float16).max) if kind == "f16" else 3.3895e38
            least = 2.0 ** -24 if kind == "f16" else 2.0 ** -133

            def accept_power(got):
                values = got.view(dtype).astype(np.float64)
                with np.errstate(invalid="ignore"):
                    close = np.abs(values - power) <= power * exponential + least
                close |= (power > top * (1 - exponential)) & np.isposinf(values)
                return np.where(np.isnan(x), np.isnan(values),
                                np.where(np.isinf(power), np.isposinf(values), close))

            def accept_tangent(got):
                values = got.view(dtype).astype(np.float64)
                bound = tangent if kind == "f16" else np.abs(np.tanh(x)) * tangent + least
                return np.where(np.isnan(x), np.isnan(values),
                                np.abs(values - np.tanh(x)) <= bound)
        dot = ".ftz" if kind == "bf16" else ""
        where = None if kind == "f16" else (np.abs(power) > NORMAL) | np.isnan(x)
        suite.group(kind, {"a": codes}, [
            Case(f"ex2.approx{dot}.{kind} {{d}}, {{a}}", 16, accept_power, where),
            Case(f"tanh.approx.{kind} {{d}}, {{a}}", 16, accept_tangent)])


single()
double()
narrow()
suite.finish()
