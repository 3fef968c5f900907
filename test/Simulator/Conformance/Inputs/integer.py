# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Integer and bit instructions against Python's unbounded integers."""
import sys

import numpy as np

from ptx import Case, Suite
from values import combine, integer_edges, random_bits

suite = Suite(sys.argv[1])
rng = np.random.default_rng(1)


def signed(value, width):
    return value - (1 << width) if value >> (width - 1) else value


def table(function, width, *columns):
    """Applies a function of Python integers elementwise; wraps to `width`."""
    mask = (1 << width) - 1
    return np.array([function(*row) & mask
                     for row in zip(*(c.tolist() for c in columns))],
                    dtype=object).astype(np.uint64)


def clamp(value, low, high):
    return min(max(value, low), high)


def truncated_division(a, b):
    quotient = abs(a) // abs(b)
    return -quotient if (a < 0) != (b < 0) else quotient


def binary_cases(width, a, b, c):
    cases = []
    for sign in "us":
        kind = f"{sign}{width}"

        def view(x):
            return signed(x, width) if sign == "s" else x

        def add(text, function, out=width, where=None, columns=(a, b)):
            cases.append(Case(text, out, table(
                lambda *v: function(*map(view, v)), out, *columns), where))

        add(f"add.{kind} {{d}}, {{a}}, {{b}}", lambda x, y: x + y)
        add(f"sub.{kind} {{d}}, {{a}}, {{b}}", lambda x, y: x - y)
        add(f"mul.lo.{kind} {{d}}, {{a}}, {{b}}", lambda x, y: x * y)
        add(f"mul.hi.{kind} {{d}}, {{a}}, {{b}}", lambda x, y: x * y >> width)
        add(f"min.{kind} {{d}}, {{a}}, {{b}}", min)
        add(f"max.{kind} {{d}}, {{a}}, {{b}}", max)
        divisible = b != 0
        if sign == "s":
            # The quotient of the least number and -1 has no representation.
            divisible &= ~((a == 1 << (width - 1)) & (b == (1 << width) - 1))
        add(f"div.{kind} {{d}}, {{a}}, {{b}}",
            lambda x, y: truncated_division(x, y) if y else 0, where=divisible)
        add(f"rem.{kind} {{d}}, {{a}}, {{b}}",
            lambda x, y: x - y * truncated_division(x, y) if y else 0,
            where=divisible)
        three = (a, b, c)
        add(f"mad.lo.{kind} {{d}}, {{a}}, {{b}}, {{c}}",
            lambda x, y, z: x * y + z, columns=three)
        add(f"mad.hi.{kind} {{d}}, {{a}}, {{b}}, {{c}}",
            lambda x, y, z: (x * y >> width) + z, columns=three)
        if kind == "s32":
            add("mad.hi.sat.s32 {d}, {a}, {b}, {c}",
                lambda x, y, z: min(max((x * y >> 32) + z, -2**31), 2**31 - 1),
                columns=three)
        add(f"sad.{kind} {{d}}, {{a}}, {{b}}, {{c}}",
            lambda x, y, z: abs(x - y) + z, columns=three)
        if width < 64:
            add(f"mul.wide.{kind} {{d}}, {{a}}, {{b}}", lambda x, y: x * y,
                out=2 * width)
        if sign == "s":
            add(f"neg.{kind} {{d}}, {{a}}", lambda x: -x, columns=(a,))
            add(f"abs.{kind} {{d}}, {{a}}", abs, columns=(a,))
    bits = f"b{width}"
    for text, function in (("and", lambda x, y: x & y), ("or", lambda x, y: x | y),
                           ("xor", lambda x, y: x ^ y)):
        cases.append(Case(f"{text}.{bits} {{d}}, {{a}}, {{b}}", width,
                          table(function, width, a, b)))
    cases.append(Case(f"not.{bits} {{d}}, {{a}}", width,
                      table(lambda x: ~x, width, a)))
    cases.append(Case(f"cnot.{bits} {{d}}, {{a}}", width,
                      table(lambda x: int(x == 0), width, a)))
    return cases


def arithmetic(width):
    a, b = combine(integer_edges(width), random_bits(width, 1200, rng), 2, rng)
    c = rng.permutation(a)
    suite.group(f"arithmetic{width}", {"a": a, "b": b, "c": c},
                binary_cases(width, a, b, c))


def extended_precision():
    a, b = combine(integer_edges(32), random_bits(32, 800, rng), 2, rng)
    c, e = rng.permutation(a), rng.permutation(b)
    limit = (-(1 << 31), (1 << 31) - 1)
    cases = []
    for sign in "us":
        def view(x):
            return signed(x, 32) if sign == "s" else x

        def low24(x):
            return signed(x & 0xffffff, 24) if sign == "s" else x & 0xffffff

        kind = f"{sign}32"
        for part, shift in (("lo", 0), ("hi", 16)):
            cases.append(Case(
                f"mul24.{part}.{kind} {{d}}, {{a}}, {{b}}", 32,
                table(lambda x, y: low24(x) * low24(y) >> shift, 32, a, b)))
            cases.append(Case(
                f"mad24.{part}.{kind} {{d}}, {{a}}, {{b}}, {{c}}", 32,
                table(lambda x, y, z: (low24(x) * low24(y) >> shift) + z, 32,
                      a, b, c)))
        if sign == "s":
            cases.append(Case(
                "mad24.hi.sat.s32 {d}, {a}, {b}, {c}", 32,
                table(lambda x, y, z: min(max((low24(x) * low24(y) >> 16) + signed(z, 32),
                                              limit[0]), limit[1]), 32, a, b, c)))
        for other in "us":
            def view4(x):
                return signed(x, 8) if sign == "s" else x

            def view4b(x):
                return signed(x, 8) if other == "s" else x

            def view2(x):
                return signed(x, 16) if sign == "s" else x
            cases.append(Case(
                f"dp4a.{kind}.{other}32 {{d}}, {{a}}, {{b}}, {{c}}", 32,
                table(lambda x, y, z: z + sum(
                    view4(x >> 8 * k & 255) * view4b(y >> 8 * k & 255)
                    for k in range(4)), 32, a, b, c)))
            for part, base in (("lo", 0), ("hi", 2)):
                cases.append(Case(
                    f"dp2a.{part}.{kind}.{other}32 {{d}}, {{a}}, {{b}}, {{c}}", 32,
                    table(lambda x, y, z: z + sum(
                        view2(x >> 16 * k & 0xffff) *
                        view4b(y >> 8 * (k + base) & 255)
                        for k in range(2)), 32, a, b, c)))
    for name, function in (("add", lambda x, y: x + y), ("sub", lambda x, y: x - y)):
        cases.append(Case(
            f"{name}.sat.s32 {{d}}, {{a}}, {{b}}", 32,
            table(lambda x, y: clamp(function(signed(x, 32), signed(y, 32)), *limit),
                  32, a, b)))
        # The carry chain: {c,a} op {e,b} in two steps.
        cases.append(Case(
            f"{name}.cc.u32 lo, {{a}}, {{b}}; {name}c.u32 hi, {{c}}, {{e}}; "
            "mov.b64 {d}, {{lo, hi}}", 64,
            table(lambda x, y, z, w: function(z << 32 | x, w << 32 | y), 64,
                  a, b, c, e), setup=".reg .b32 lo, hi;"))
        cases.append(Case(
            f"{name}.cc.u32 lo, {{a}}, {{b}}; {name}c.cc.u32 mid, {{c}}, {{e}}; "
            f"{name}c.u32 hi, {{a}}, {{e}}; mov.b64 {{d}}, {{{{mid, hi}}}}", 64,
            table(lambda x, y, z, w: function(x << 64 | z << 32 | x,
                                              w << 64 | w << 32 | y) >> 32,
                  64, a, b, c, e), setup=".reg .b32 lo, mid, hi;"))
    # The flag after a subtraction is set where nothing was borrowed.
    cases.append(Case("sub.cc.u32 lo, {a}, {b}; addc.u32 {d}, {c}, {e}", 32,
                      table(lambda x, y, z, w: z + w + (x >= y), 32, a, b, c, e),
                      setup=".reg .b32 lo;"))
    # {e,c} + a * b in 64 bits, and the carry out of 96 bits with a third word.
    cases.append(Case(
        "mad.lo.cc.u32 lo, {a}, {b}, {c}; madc.hi.u32 hi, {a}, {b}, {e}; "
        "mov.b64 {d}, {{lo, hi}}", 64,
        table(lambda x, y, z, w: x * y + (w << 32 | z), 64, a, b, c, e),
        setup=".reg .b32 lo, hi;"))
    cases.append(Case(
        "mad.lo.cc.u32 lo, {a}, {b}, {c}; madc.hi.cc.u32 hi, {a}, {b}, {e}; "
        "addc.u32 top, {a}, 0; mov.b64 {d}, {{hi, top}}", 64,
        table(lambda x, y, z, w: (x * y + (x << 64 | w << 32 | z)) >> 32, 64,
              a, b, c, e), setup=".reg .b32 lo, hi, top;"))
    cases.append(Case(
        "mad.hi.cc.s32 lo, {a}, {b}, {c}; addc.u32 hi, 0, 0; "
        "mov.b64 {d}, {{lo, hi}}", 64,
        table(lambda x, y, z: (signed(x, 32) * signed(y, 32) >> 32 & 0xffffffff) + z,
              64, a, b, c), setup=".reg .b32 lo, hi;"))
    # Four words from 64-bit ones.
    cases.append(Case(
        "mov.b64 p, {{{a}, {b}}}; mov.b64 q, {{{c}, {e}}}; "
        "mad.lo.cc.u64 lo, p, q, p; madc.hi.u64 {d}, p, q, q", 64,
        table(lambda x, y, z, w: ((y << 32 | x) * (w << 32 | z) +
                                  ((w << 32 | z) << 64 | (y << 32 | x))) >> 64,
              64, a, b, c, e), setup=".reg .b64 p, q, lo;"))
    for sign in "us":
        def view(x):
            return signed(x, 32) if sign == "s" else x
        wide = rng.permutation(random_bits(64, len(a), rng))
        cases.append(Case(
            f"mad.wide.{sign}32 {{d}}, {{a}}, {{b}}, {{w}}", 64,
            table(lambda x, y, z: view(x) * view(y) + z, 64, a, b, wide)))
        suite.group(f"extended-{sign}", {"a": a, "b": b, "c": c, "e": e, "w": wide},
                    cases)
        cases = []


def shifts():
    for width in (16, 32, 64):
        edges = integer_edges(width)
        amounts = np.array([*range(0, 70), 127, 128, 255, 256, 0x10000,
                            0x7fffffff, 0x80000000, 0xffffffff], np.uint32)
        a, s = (g.ravel() for g in np.meshgrid(
            np.concatenate([edges, random_bits(width, 12, rng)]), amounts))
        a = a.astype(edges.dtype)
        cases = [
            Case(f"shl.b{width} {{d}}, {{a}}, {{s}}", width, table(
                lambda x, n: x << n if n < width else 0, width, a, s)),
            Case(f"shr.u{width} {{d}}, {{a}}, {{s}}", width, table(
                lambda x, n: x >> min(n, width), width, a, s)),
            Case(f"shr.b{width} {{d}}, {{a}}, {{s}}", width, table(
                lambda x, n: x >> min(n, width), width, a, s)),
            Case(f"shr.s{width} {{d}}, {{a}}, {{s}}", width, table(
                lambda x, n: signed(x, width) >> min(n, width), width, a, s)),
        ]
        suite.group(f"shift{width}", {"a": a, "s": s.astype(np.uint32)}, cases)


def funnel_and_fields():
    amounts = np.array([*range(0, 40), 63, 64, 65, 255, 256, 0xffffffff], np.uint32)
    for width in (32, 64):
        edges = np.concatenate([integer_edges(width)[::3], random_bits(width, 6, rng)])
        a, s, n = (g.ravel() for g in np.meshgrid(edges, amounts, amounts))
        b = rng.permutation(a)
        inputs = {"a": a, "b": b, "s": s.astype(np.uint32), "n": n.astype(np.uint32)}

        def extract(x, pos, length, sign):
            pos, length = pos & 255, length & 255
            if length == 0:
                return 0
            msb = min(pos + length - 1, width - 1)
            fill = x >> msb & 1 if sign == "s" else 0
            field = x >> pos & ((1 << length) - 1) if pos < width else 0
            kept = max(0, min(length, width - pos))
            return field | (-fill << kept)

        def insert(x, y, pos, length):
            pos, length = pos & 255, length & 255
            mask = ((1 << length) - 1) << pos
            return y & ~mask | x << pos & mask

        cases = [
            Case(f"bfe.u{width} {{d}}, {{a}}, {{s}}, {{n}}", width,
                 table(lambda x, p, l: extract(x, p, l, "u"), width, a, s, n)),
            Case(f"bfe.s{width} {{d}}, {{a}}, {{s}}, {{n}}", width,
                 table(lambda x, p, l: extract(x, p, l, "s"), width, a, s, n)),
            Case(f"bfi.b{width} {{d}}, {{a}}, {{b}}, {{s}}, {{n}}", width,
                 table(insert, width, a, b, s, n)),
        ]
        if width == 32:
            for mode in ("clamp", "wrap"):
                def amount(v):
                    return min(v, 32) if mode == "clamp" else v & 31
                cases.append(Case(
                    f"shf.l.{mode}.b32 {{d}}, {{a}}, {{b}}, {{s}}", 32,
                    table(lambda lo, hi, v: ((hi << 32 | lo) << amount(v)) >> 32,
                          32, a, b, s)))
                cases.append(Case(
                    f"shf.r.{mode}.b32 {{d}}, {{a}}, {{b}}, {{s}}", 32,
                    table(lambda lo, hi, v: (hi << 32 | lo) >> amount(v), 32,
                          a, b, s)))

                def mask_bits(first, length):
                    first = min(first, 32) if mode == "clamp" else first & 31
                    length = min(length, 32) if mode == "clamp" else length & 31
                    return ((1 << length) - 1) << first

                def extend(x, count, sign):
                    count = min(count, 32) if mode == "clamp" else count & 31
                    if count == 0:
                        return 0
                    low = x & ((1 << count) - 1)
                    return signed(low, count) if sign == "s" else low
                cases.append(Case(f"bmsk.{mode}.b32 {{d}}, {{s}}, {{n}}", 32,
                                  table(mask_bits, 32, s, n)))
                for sign in "us":
                    cases.append(Case(
                        f"szext.{mode}.{sign}32 {{d}}, {{a}}, {{s}}", 32,
                        table(lambda x, v: extend(x, v, sign), 32, a, s)))
        suite.group(f"fields{width}", inputs, cases)


def counting():
    for width in (32, 64):
        (a,) = combine(integer_edges(width), random_bits(width, 3000, rng), 1, rng)

        def find(x, sign, shift):
            if sign == "s" and x >> (width - 1):
                x = ~x & ((1 << width) - 1)
            if x == 0:
                return 0xffffffff
            top = x.bit_length() - 1
            return width - 1 - top if shift else top

        cases = [
            Case(f"popc.b{width} {{d}}, {{a}}", 32,
                 table(lambda x: bin(x).count("1"), 32, a)),
            Case(f"clz.b{width} {{d}}, {{a}}", 32,
                 table(lambda x: width - x.bit_length(), 32, a)),
            Case(f"brev.b{width} {{d}}, {{a}}", width,
                 table(lambda x: int(f"{x:0{width}b}"[::-1], 2), width, a)),
        ]
        for sign in "us":
            for shift in (False, True):
                cases.append(Case(
                    f"bfind{'.shiftamt' if shift else ''}.{sign}{width} {{d}}, {{a}}",
                    32, table(lambda x: find(x, sign, shift), 32, a)))
        suite.group(f"count{width}", {"a": a}, cases)


def permutes():
    a, b = combine(integer_edges(32), random_bits(32, 3000, rng), 2, rng)
    c = random_bits(32, len(a), rng)

    def bytes_of(lo, hi):
        return [(hi << 32 | lo) >> 8 * k & 255 for k in range(8)]

    def join(values):
        return sum(v << 8 * k for k, v in enumerate(values))

    def general(lo, hi, control):
        source, out = bytes_of(lo, hi), []
        for k in range(4):
            selector = control >> 4 * k & 15
            byte = source[selector & 7]
            out.append((255 if byte & 128 else 0) if selector & 8 else byte)
        return join(out)

    # The manual's table: bytes 3, 2, 1, 0 of the result for each control.
    modes = {
        "f4e": ((3, 2, 1, 0), (4, 3, 2, 1), (5, 4, 3, 2), (6, 5, 4, 3)),
        "b4e": ((5, 6, 7, 0), (6, 7, 0, 1), (7, 0, 1, 2), (0, 1, 2, 3)),
        "rc8": ((0, 0, 0, 0), (1, 1, 1, 1), (2, 2, 2, 2), (3, 3, 3, 3)),
        "ecl": ((3, 2, 1, 0), (3, 2, 1, 1), (3, 2, 2, 2), (3, 3, 3, 3)),
        "ecr": ((0, 0, 0, 0), (1, 1, 1, 0), (2, 2, 1, 0), (3, 2, 1, 0)),
        "rc16": ((1, 0, 1, 0), (3, 2, 3, 2), (1, 0, 1, 0), (3, 2, 3, 2)),
    }
    cases = [Case("prmt.b32 {d}, {a}, {b}, {c}", 32, table(general, 32, a, b, c))]
    for mode, rows in modes.items():
        cases.append(Case(
            f"prmt.b32.{mode} {{d}}, {{a}}, {{b}}, {{c}}", 32,
            table(lambda lo, hi, v: join(
                bytes_of(lo, hi)[i] for i in reversed(rows[v & 3])), 32, a, b, c)))
    for truth in (0x00, 0x01, 0x80, 0x96, 0xca, 0xe8, 0x2d, 0x7f, 0xff):
        cases.append(Case(
            f"lop3.b32 {{d}}, {{a}}, {{b}}, {{c}}, 0x{truth:x}", 32,
            table(lambda x, y, z: sum(
                (truth >> ((x >> k & 1) << 2 | (y >> k & 1) << 1 | z >> k & 1) & 1)
                << k for k in range(32)), 32, a, b, c)))
        value = table(lambda x, y, z: sum(
            (truth >> ((x >> k & 1) << 2 | (y >> k & 1) << 1 | z >> k & 1) & 1)
            << k for k in range(32)), 32, a, b, c)
        for name, function in (("or", np.logical_or), ("and", np.logical_and)):
            for sign, third in (("", a % 2 == 1), ("!", a % 2 == 0)):
                text = ("and.b32 t, {a}, 1; setp.eq.u32 p, t, 1; "
                        f"lop3.{name}.b32 %s|p, {{a}}, {{b}}, {{c}}, 0x{truth:x}, {sign}p; "
                        "selp.u32 {d}, 1, 0, p")
                for result in ("t", "_"):
                    cases.append(Case(text % result, 32,
                                      function(value != 0, third).astype(np.uint32),
                                      setup=".reg .pred p; .reg .b32 t;"))
    suite.group("permute", {"a": a, "b": b, "c": c}, cases)


def find_nth_set():
    base = np.arange(32, dtype=np.uint32)
    offset = np.arange(-34, 35).astype(np.uint32)
    masks = np.concatenate([integer_edges(32)[::4], random_bits(32, 5, rng)])
    a, b, c = (g.ravel().astype(np.uint32) for g in np.meshgrid(masks, base, offset))

    def nth(mask, start, count):
        count = signed(count, 32)
        if count == 0:
            return start if mask >> start & 1 else 0xffffffff
        step = 1 if count > 0 else -1
        position = start
        remaining = abs(count)
        while 0 <= position < 32:
            if mask >> position & 1:
                remaining -= 1
                if remaining == 0:
                    return position
            position += step
        return 0xffffffff
    suite.group("fns", {"a": a, "b": b, "c": c},
                [Case("fns.b32 {d}, {a}, {b}, {c}", 32, table(nth, 32, a, b, c))])


def comparisons():
    for width in (16, 32, 64):
        a, b = combine(integer_edges(width), random_bits(width, 600, rng), 2, rng)
        b = np.where(rng.integers(0, 4, len(b)) == 0, a, b)
        q = rng.integers(0, 2, len(a)).astype(np.uint16)
        operators = {"eq": lambda x, y: x == y, "ne": lambda x, y: x != y,
                     "lt": lambda x, y: x < y, "le": lambda x, y: x <= y,
                     "gt": lambda x, y: x > y, "ge": lambda x, y: x >= y}
        unsigned = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
        cases = []
        for sign in "usb":
            view = (lambda x: signed(x, width)) if sign == "s" else (lambda x: x)
            names = dict(operators)
            if sign == "u":
                names.update({k: operators[v] for k, v in unsigned.items()})
            if sign == "b":
                names = {k: operators[k] for k in ("eq", "ne")}
            for name, function in names.items():
                kind = f"{sign}{width}"
                result = table(lambda x, y: int(function(view(x), view(y))), 32, a, b)
                cases.append(Case(
                    f"setp.{name}.{kind} p, {{a}}, {{b}}; selp.u32 {{d}}, 1, 0, p",
                    32, result, setup=".reg .pred p;"))
                cases.append(Case(f"set.{name}.u32.{kind} {{d}}, {{a}}, {{b}}", 32,
                                  np.where(result, 0xffffffff, 0)))
                cases.append(Case(f"set.{name}.f32.{kind} {{d}}, {{a}}, {{b}}", 32,
                                  np.where(result, 0x3f800000, 0)))
                for combine_name, op in (("and", np.logical_and),
                                         ("or", np.logical_or),
                                         ("xor", np.logical_xor)):
                    if name not in ("lt", "eq"):
                        continue
                    both = op(result, q).astype(int) | \
                        op(1 - result.astype(int), q).astype(int) << 1
                    cases.append(Case(
                        f"setp.ne.u16 q, {{q}}, 0; setp.{name}.{combine_name}.{kind} "
                        "p|r, {a}, {b}, q; selp.u32 {d}, 1, 0, p; selp.u32 t, 2, 0, r; "
                        "or.b32 {d}, {d}, t", 32, both,
                        setup=".reg .pred p, q, r; .reg .b32 t;"))
                    both = op(1 - result.astype(int), 1 - q).astype(int) << 1 | \
                        op(result, 1 - q).astype(int)
                    cases.append(Case(
                        f"setp.ne.u16 q, {{q}}, 0; setp.{name}.{combine_name}.{kind} "
                        "q|r, {a}, {b}, !q; selp.u32 {d}, 1, 0, q; selp.u32 t, 2, 0, r; "
                        "or.b32 {d}, {d}, t", 32, both,
                        setup=".reg .pred q, r; .reg .b32 t;"))
        bits = f"b{width}"
        cases.append(Case(
            f"setp.ne.u16 q, {{q}}, 0; selp.{bits} {{d}}, {{a}}, {{b}}, q", width,
            np.where(q, a, b), setup=".reg .pred q;"))
        cases.append(Case(
            f"setp.ne.u16 q, {{q}}, 0; selp.{bits} {{d}}, {{a}}, {{b}}, !q", width,
            np.where(q, b, a), setup=".reg .pred q;"))
        if width == 32:
            cases.append(Case("slct.u32.s32 {d}, {a}, {b}, {b}", 32,
                              np.where(b < 1 << 31, a, b)))
        suite.group(f"compare{width}", {"a": a, "b": b, "q": q}, cases)


def packed():
    a, b = combine(integer_edges(32), random_bits(32, 1500, rng), 2, rng)

    def halves(function, sign):
        view = (lambda x: signed(x, 16)) if sign == "s" else (lambda x: x)
        return table(lambda x, y: sum(
            (function(view(x >> 16 * k & 0xffff), view(y >> 16 * k & 0xffff)) & 0xffff)
            << 16 * k for k in range(2)), 32, a, b)
    cases = []
    for sign in "us":
        for name, function in (("add", lambda x, y: x + y), ("min", min), ("max", max)):
            cases.append(Case(f"{name}.{sign}16x2 {{d}}, {{a}}, {{b}}", 32,
                              halves(function, sign)))
    suite.group("packed", {"a": a, "b": b}, cases)


for bits in (16, 32, 64):
    arithmetic(bits)
extended_precision()
shifts()
funnel_and_fields()
counting()
find_nth_set()
permutes()
comparisons()
packed()
suite.finish()
