# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inputs: every pair of edge values, then random ones."""
import numpy as np

UINT = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}


def integer_edges(width):
    top = 1 << (width - 1)
    values = {0, 1, 2, 3, 5, 7, 10, top - 2, top - 1, top, top + 1,
              2 * top - 1, 2 * top - 2, 2 * top - 5, top // 2, top >> (width // 2),
              (top >> (width // 2)) - 1, 0x5555555555555555 % (2 * top),
              0xaaaaaaaaaaaaaaaa % (2 * top), 31, 32, 33, 63, 64, 65, 127}
    return np.array(sorted(v for v in values if v < 2 * top), UINT[width])


def random_bits(width, count, rng):
    """Random bits, half of them with a random number of leading zeros or ones."""
    raw = rng.integers(0, 1 << 64, count, np.uint64, endpoint=False) \
        if width == 64 else rng.integers(0, 1 << width, count).astype(np.uint64)
    shift = rng.integers(0, width, count).astype(np.uint64)
    small = raw >> shift
    signed = np.where(rng.integers(0, 2, count) == 1, ~small, small)
    mask = np.uint64((1 << width) - 1)
    return (np.where(np.arange(count) % 2 == 0, raw, signed) & mask).astype(UINT[width])


# exponent bits, mantissa bits
FORMATS = {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "f64": (11, 52)}


def float_edges(kind):
    exponent, mantissa = FORMATS[kind]
    width = 1 + exponent + mantissa
    infinity = ((1 << exponent) - 1) << mantissa
    bias = (1 << (exponent - 1)) - 1
    one = bias << mantissa
    positive = [0, 1, 2, (1 << mantissa) - 1, 1 << mantissa,
                (1 << mantissa) + 1, infinity - 1, infinity - 2, infinity,
                infinity + 1, infinity | 1 << (mantissa - 1),
                (1 << (width - 1)) - 1, one, one + 1, one - 1,
                one + (1 << (mantissa - 1)), one + (1 << mantissa),
                (bias + mantissa) << mantissa, (bias + mantissa + 1) << mantissa,
                ((bias - 1) << mantissa), ((bias - mantissa - 1) << mantissa),
                one + (1 << mantissa) // 3]
    return np.array([v | s << (width - 1) for v in positive for s in (0, 1)],
                    UINT[width])


def random_floats(kind, count, rng):
    """A third random bits, a third near one another, a third of moderate size."""
    exponent, mantissa = FORMATS[kind]
    width = 1 + exponent + mantissa
    bits = random_bits(width, count, rng).astype(object)
    bias = (1 << (exponent - 1)) - 1
    for i in range(count):
        value = int(bits[i])
        if i % 3 == 1:
            near = bias + int(rng.integers(-3, 4))
            value = value & ((1 << mantissa) - 1) | near << mantissa | \
                (value >> (width - 1)) << (width - 1)
        elif i % 3 == 2 and i % 2:
            value &= ~((1 << (mantissa // 2)) - 1)
        bits[i] = value
    return bits.astype(UINT[width])


def combine(edges, randoms, arity, rng):
    """Arrays of `arity` inputs: all pairs of edges (a third input shuffled),
    then the random ones shuffled against one another."""
    if arity == 1:
        return [np.concatenate([edges, randoms])]
    first, second = (g.ravel() for g in np.meshgrid(edges, edges))
    columns = [first, second] + [rng.permutation(np.resize(edges, len(first)))
                                 for _ in range(arity - 2)]
    return [np.concatenate([c, rng.permutation(randoms)]) for c in columns]
