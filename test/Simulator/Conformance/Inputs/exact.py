# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Binary floating-point formats in exact integer arithmetic.

A finite number is (sign, significand, exponent) with the value
(-1)^sign * significand * 2^exponent; "inf" and "nan" stand in the second place
for the others."""

FORMATS = {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "f64": (11, 52)}
NAN = {"f16": 0x7fff, "bf16": 0x7fff, "f32": 0x7fffffff, "f64": None}


def decode(kind, code):
    exponent, mantissa = FORMATS[kind]
    sign = code >> (exponent + mantissa)
    field = code >> mantissa & ((1 << exponent) - 1)
    fraction = code & ((1 << mantissa) - 1)
    bias = (1 << (exponent - 1)) - 1
    if field == (1 << exponent) - 1:
        return sign, "nan" if fraction else "inf", 0
    if field == 0:
        return sign, fraction, 1 - bias - mantissa
    return sign, fraction | 1 << mantissa, field - bias - mantissa


def _round_integer(sign, significand, drop, mode):
    """significand / 2^drop as an integer, rounded."""
    if drop <= 0:
        return significand << -drop
    kept, rest = significand >> drop, significand & ((1 << drop) - 1)
    half = 1 << (drop - 1)
    if mode == "rn":
        up = rest > half or (rest == half and kept & 1)
    elif mode == "rna":
        up = rest >= half
    elif mode == "rz":
        up = False
    elif mode == "rm":
        up = sign and rest
    elif mode == "rp":
        up = not sign and rest
    else:
        raise ValueError(mode)
    return kept + (1 if up else 0)


def encode(kind, value, mode="rn"):
    """The code of the number nearest in the given direction; None for NaN
    where its bits are not defined."""
    exponent, mantissa = FORMATS[kind]
    sign, significand, scale = value
    infinity = ((1 << exponent) - 1) << mantissa
    top = sign << (exponent + mantissa)
    if significand == "nan":
        return NAN[kind]
    if significand == "inf":
        return top | infinity
    if significand == 0:
        return top
    bias = (1 << (exponent - 1)) - 1
    # The exponent of the last place that is kept.
    last = max(significand.bit_length() + scale - 1 - mantissa, 1 - bias - mantissa)
    rounded = _round_integer(sign, significand, last - scale, mode)
    if rounded.bit_length() > mantissa + 1:
        rounded, last = rounded >> 1, last + 1
    field = last + bias + mantissa if rounded >> mantissa else 0
    code = (field << mantissa) + (rounded & ((1 << mantissa) - 1))
    if code >= infinity:
        to_infinity = mode in ("rn", "rna") or mode == ("rm" if sign else "rp")
        code = infinity if to_infinity else infinity - 1
    return top | code


def add(x, y, mode="rn"):
    if "nan" in (x[1], y[1]):
        return 0, "nan", 0
    if x[1] == "inf" or y[1] == "inf":
        if x[1] == y[1] and x[0] != y[0]:
            return 0, "nan", 0
        return (x if x[1] == "inf" else y)[0], "inf", 0
    scale = min(x[2], y[2])
    total = sum((-1) ** s * (m << (e - scale)) for s, m, e in (x, y))
    if total == 0:
        both = x[0] if x[0] == y[0] else int(mode == "rm")
        return both, 0, 0
    return int(total < 0), abs(total), scale


def multiply(x, y):
    sign = x[0] ^ y[0]
    if "nan" in (x[1], y[1]):
        return 0, "nan", 0
    if "inf" in (x[1], y[1]):
        return (0, "nan", 0) if 0 in (x[1], y[1]) else (sign, "inf", 0)
    return sign, x[1] * y[1], x[2] + y[2]


def negate(x):
    return x[0] ^ 1, x[1], x[2]


def to_integer(value, mode, width, signed, wide_source):
    """A conversion to an integer: rounded, then clamped; NaN by the manual."""
    low, high = (-(1 << width - 1), (1 << width - 1) - 1) if signed \
        else (0, (1 << width) - 1)
    sign, significand, scale = value
    if significand == "nan":
        return 1 << (width - 1) if wide_source or width == 64 else 0
    if significand == "inf":
        return low if sign else high
    rounded = _round_integer(sign, significand, -scale, mode)
    return min(max(-rounded if sign else rounded, low), high)


def to_integral(kind, value, mode):
    """Rounding to an integral value in the same format."""
    sign, significand, scale = value
    if significand in ("nan", "inf"):
        return encode(kind, value)
    return encode(kind, (sign, _round_integer(sign, significand, -scale, mode), 0))
