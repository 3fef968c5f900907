# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exchanges between the lanes of a warp (shfl, vote, match, redux, activemask,
elect), for whole and partial member masks, by the PTX manual's pseudocode."""
import sys

import numpy as np

from ptx import Case, Suite
from values import float_edges, integer_edges, random_bits, random_floats

suite = Suite(sys.argv[1])
rng = np.random.default_rng(7)
WARPS = 16
MASKS = [0xffffffff, 0x0000ffff, 0xffff0000, 0x55555555, 0x80000001, 0x00000010,
         0x7ffffffe, 0xdeadbeef]
NO_LANE = 0x12345678


def by_warp(function, *columns, width=32):
    """function(values of the warp's lanes..., lane) over all lanes."""
    out = []
    for w in range(WARPS):
        parts = [c[32 * w:32 * w + 32].tolist() for c in columns]
        out += [function(*parts, lane) & ((1 << width) - 1) for lane in range(32)]
    return np.array(out, np.uint64)


def in_mask(mask, body, width=32):
    """The lanes of a mask execute `body`; the others give NO_LANE."""
    return (f"mov.u{width} {{d}}, {NO_LANE}; mov.u32 t, %laneid; shl.b32 t, 1, t; "
            f"and.b32 t, t, {mask}; setp.eq.u32 away, t, 0; @away bra END; {body}; "
            "END: mov.u32 t, 0")


SETUP = ".reg .pred away, p, q; .reg .b32 t, x; .reg .b64 wide;"


def case(mask, body, function, *columns):
    def guarded(*arguments):
        return function(*arguments) if mask >> arguments[-1] & 1 else NO_LANE
    return Case(in_mask(mask, body), 32, by_warp(guarded, *columns), setup=SETUP)


def shfl_source(mode, lane, b, c):
    clamp, segment = c & 31, c >> 8 & 31
    b &= 31
    last = lane & segment | clamp & ~segment & 31
    if mode == "up":
        source = lane - b
        valid = source >= last
    elif mode == "down":
        source = lane + b
        valid = source <= last
    elif mode == "bfly":
        source = lane ^ b
        valid = source <= last
    else:
        source = lane & segment | b & ~segment & 31
        valid = source <= last
    return (source if valid else lane), valid


def shuffles():
    n = 32 * WARPS
    a, b = random_bits(32, n, rng), random_bits(32, n, rng)
    cases = []
    for mode in ("up", "down", "bfly", "idx"):
        zero = 0 if mode == "up" else 31
        for mask in MASKS[:3]:
            for c in (zero, zero | 0x1800, zero | 0x1000, 0x1c00 | (0 if mode == "up"
                                                                   else 7), 0x0a03):
                # Only sources that take part have a value.
                def expected(values, amounts, lane):
                    source, valid = shfl_source(mode, lane, amounts[lane], c)
                    return values[source] + valid if mask >> source & 1 else values[lane]

                def known(values, amounts, lane):
                    return mask >> shfl_source(mode, lane, amounts[lane], c)[0] & 1
                built = case(mask, f"shfl.sync.{mode}.b32 {{d}}|p, {{a}}, {{b}}, {c}, "
                             f"{mask}; selp.u32 t, 1, 0, p; add.u32 {{d}}, {{d}}, t",
                             expected, a, b)
                built.where = by_warp(known, a, b).astype(bool)
                cases.append(built)
            for amount in (0, 1, 5, 16, 31):
                def expected(values, lane):
                    source, _ = shfl_source(mode, lane, amount, zero)
                    return values[source]

                def known(values, lane):
                    return mask >> shfl_source(mode, lane, amount, zero)[0] & 1
                built = case(mask, f"shfl.sync.{mode}.b32 {{d}}, {{a}}, {amount}, {zero}, "
                             f"{mask}", expected, a)
                built.where = by_warp(known, a).astype(bool)
                if built.where.any():
                    cases.append(built)
    suite.group("shfl", {"a": a, "b": b}, cases)


def votes():
    n = 32 * WARPS
    a = rng.integers(0, 4, n).astype(np.uint32)
    a[:32], a[32:64], a[64:96] = 0, 1, 3
    cases = []
    for mask in MASKS:
        def lanes(values):
            return sum(1 << k for k in range(32) if values[k] & 1) & mask
        answers = {"all": lambda v, lane: lanes(v) == mask,
                   "any": lambda v, lane: lanes(v) != 0,
                   "uni": lambda v, lane: lanes(v) in (0, mask)}
        test = "and.b32 x, {a}, 1; setp.ne.u32 p, x, 0; "
        for mode, function in answers.items():
            cases.append(case(mask, test + f"vote.sync.{mode}.pred q, p, {mask}; "
                              "selp.u32 {d}, 1, 0, q", function, a))
            if mode != "uni":
                cases.append(case(
                    mask, test + f"vote.sync.{mode}.pred q, !p, {mask}; "
                    "selp.u32 {d}, 1, 0, q",
                    lambda v, lane, mode=mode: lanes(v) == 0 if mode == "all"
                    else lanes(v) != mask, a))
        cases.append(case(mask, test + f"vote.sync.ballot.b32 {{d}}, p, {mask}",
                          lambda v, lane: lanes(v), a))
        cases.append(case(mask, test + f"vote.sync.ballot.b32 {{d}}, !p, {mask}",
                          lambda v, lane: lanes(v) ^ mask, a))
        cases.append(case(mask, "activemask.b32 {d}", lambda v, lane: mask, a))
        cases.append(case(mask, f"elect.sync t|p, {mask}; selp.u32 {{d}}, 100, 0, p; "
                          "add.u32 {d}, {d}, t", lambda v, lane:
                          (lowest := (mask & -mask).bit_length() - 1) +
                          (100 if lane == lowest else 0), a))
        # Half the lanes of the mask, by a second branch.
        cases.append(case(mask, test + "@!p bra END; activemask.b32 {d}",
                          lambda v, lane: lanes(v) if v[lane] & 1 else NO_LANE, a))
    suite.group("vote", {"a": a}, cases)


def matches():
    n = 32 * WARPS
    a = rng.integers(0, 5, n).astype(np.uint32) * np.uint32(0x40000001)
    a[:32] = 7
    wide = a.astype(np.uint64) << 31
    cases = []
    for mask in MASKS:
        def equal(v, lane):
            return sum(1 << k for k in range(32) if mask >> k & 1 and v[k] == v[lane])

        def equal_all(v, lane):
            return mask if equal(v, lane) == mask else 0
        for kind, name in (("b32", "a"), ("b64", "w")):
            cases.append(case(mask, f"match.any.sync.{kind} {{d}}, {{{name}}}, {mask}",
                              equal, a))
            cases.append(case(mask, f"match.all.sync.{kind} {{d}}|p, {{{name}}}, {mask}; "
                              "selp.u32 t, 1, 0, p; add.u32 {d}, {d}, t",
                              lambda v, lane: equal_all(v, lane) +
                              (equal(v, lane) == mask), a))
    suite.group("match", {"a": a, "w": wide}, cases)


def reductions():
    n = 32 * WARPS
    a = np.concatenate([random_bits(32, n - 64, rng),
                        np.resize(integer_edges(32), 64)])
    cases = []
    for mask in MASKS:
        def over(function):
            return lambda v, lane: function([v[k] for k in range(32) if mask >> k & 1])

        def signed(values):
            return [v - (1 << 32) if v >> 31 else v for v in values]

        def fold(op):
            def run(values):
                out = values[0]
                for v in values[1:]:
                    out = op(out, v)
                return out
            return run
        for text, function in (
                ("add.u32", sum), ("add.s32", sum), ("min.u32", min), ("max.u32", max),
                ("min.s32", lambda v: min(signed(v))), ("max.s32", lambda v: max(signed(v))),
                ("and.b32", fold(lambda x, y: x & y)), ("or.b32", fold(lambda x, y: x | y)),
                ("xor.b32", fold(lambda x, y: x ^ y))):
            cases.append(case(mask, f"redux.sync.{text} {{d}}, {{a}}, {mask}",
                              over(function), a))
    suite.group("redux", {"a": a}, cases)


def float_reductions():
    """min and max of f32, of what is left without NaNs or, with .NaN, of all."""
    n = 32 * WARPS
    values = random_floats("f32", n, rng)
    edges = float_edges("f32").astype(np.uint32)
    values[:64] = np.resize(edges, 64)
    values[64:96] = 0x7fc00000
    values[96:128] = np.where(np.arange(32) % 2, 0x80000000, 0)
    values[128:160] = np.where(np.arange(32) % 3, 0xff800001, 0x3f800000)
    cases = []
    for mask in MASKS:
        def expected(kind, absolute, keeps):
            reduce = np.min if kind == "min" else np.max

            def run(v, lane):
                x = np.array([v[k] for k in range(32) if mask >> k & 1], np.uint32)
                x = (x & 0x7fffffff if absolute else x).view(np.float32)
                numbers = x[~np.isnan(x)]
                if not numbers.size or keeps and numbers.size < x.size:
                    return 0x7fffffff
                result = reduce(numbers)
                # NumPy does not order zeros.
                if result == 0:
                    negative = np.signbit(x[x == 0])
                    return 0x80000000 * int(negative.any() if kind == "min"
                                            else negative.all())
                return int(result.view(np.uint32))
            return run
        for kind in ("min", "max"):
            for absolute in (0, 1):
                for keeps in (0, 1):
                    text = (f"redux.sync.{kind}{'.abs' if absolute else ''}"
                            f"{'.NaN' if keeps else ''}.f32 {{d}}, {{a}}, {mask}")
                    cases.append(case(mask, text, expected(kind, absolute, keeps), values))
    suite.group("redux-f32", {"a": values}, cases, "sm_100a")


shuffles()
votes()
matches()
reductions()
float_reductions()
suite.finish()
