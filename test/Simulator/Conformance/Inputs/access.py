# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loads and stores: widths, extension into wider registers, vectors, spaces,
against NumPy's views of the same bytes."""
import sys

import numpy as np

from ptx import Case, Suite
from values import integer_edges, random_bits

suite = Suite(sys.argv[1])
rng = np.random.default_rng(10)
a = np.concatenate([integer_edges(64), random_bits(64, 900, rng)])
a = a[:len(a) // 256 * 256]
CLASS = {16: "h", 32: "r", 64: "d"}
# %p0 is the address of the thread's eight bytes.
SLOT = (".{space} .align 16 .b8 slot[{bytes}]; .reg .b32 t, u; .reg .b64 base; "
        ".reg .b16 x0, x1, x2, x3; .reg .b32 y0, y1;")


def element(kind, place, register):
    """The element of a type at a byte offset, extended to the register."""
    bits = int(kind[1:])
    view = a.view(f"u{bits // 8}").reshape(len(a), -1)[:, place * 8 // bits]
    if kind[0] == "s":
        return view.view(f"i{bits // 8}").astype(f"i{register // 8}").view(
            f"u{register // 8}")
    return view.astype(f"u{register // 8}")


cases = []
for bits in (8, 16, 32, 64):
    for sign in "usb":
        kind = f"{sign}{bits}"
        for register in (16, 32, 64):
            if register < bits:
                continue
            # b types extend with zeros.
            for place in range(0, 8, bits // 8):
                want = element(kind, place, register)
                for form in ("ld.global", "ld.global.nc", "ld", "ld.volatile.global",
                             "ld.relaxed.gpu.global", "ld.global.L1::no_allocate"):
                    if place and form != "ld.global":
                        continue
                    cases.append(Case(f"{form}.{kind} {{d}}, [%p0+{place}]", register,
                                      want))

# Stores take the low bits of a wider register; the rest of the slot stays.
for space in ("shared", "local"):
    index = "mov.u32 t, %tid.x; mov.u32 u, slot; mad.lo.u32 t, t, 8, u; "
    if space == "local":
        index = "mov.u32 t, slot; "
    setup = SLOT.format(space=space, bytes=2048 if space == "shared" else 8)
    for bits in (8, 16, 32, 64):
        for register in (16, 32, 64):
            if register < bits:
                continue
            for place in range(0, 8, bits // 8):
                source = {16: "x0", 32: "y0", 64: "{a}"}[register]
                cut = {16: "cvt.u16.u64 x0, {a}; ", 32: "cvt.u32.u64 y0, {a}; ",
                       64: ""}[register]
                mask = np.uint64(((1 << bits) - 1) << 8 * place)
                want = ~a & ~mask | (a << np.uint64(8 * place)) & mask
                cases.append(Case(
                    index + "not.b64 {d}, {a}; " + f"st.{space}.b64 [t], {{d}}; " + cut +
                    f"st.{space}.b{bits} [t+{place}], {source}; ld.{space}.b64 {{d}}, [t]",
                    64, want, setup=setup))
    swapped16 = a.view(np.uint16).reshape(-1, 4)[:, [2, 3, 0, 1]].copy().view(np.uint64)
    swapped32 = a.view(np.uint32).reshape(-1, 2)[:, ::-1].copy().view(np.uint64)
    cases += [
        Case(index + f"ld.global.v4.u16 {{{{x0, x1, x2, x3}}}}, [%p0]; "
             f"st.{space}.v4.u16 [t], {{{{x2, x3, x0, x1}}}}; ld.{space}.b64 {{d}}, [t]",
             64, swapped16[:, 0], setup=setup),
        Case(index + f"ld.global.v2.u32 {{{{y0, y1}}}}, [%p0]; "
             f"st.{space}.v2.u32 [t], {{{{y1, y0}}}}; ld.{space}.b64 {{d}}, [t]", 64,
             swapped32[:, 0], setup=setup),
        Case(index + f"st.{space}.b64 [t], {{a}}; ld.{space}.v2.u32 {{{{y0, _}}}}, [t]; "
             "mov.b32 {d}, y0", 32, element("u32", 0, 32), setup=setup),
        Case(index + f"st.{space}.b64 [t], {{a}}; cvt.u64.u32 base, t; "
             f"cvta.{space}.u64 base, base; ld.s16 {{d}}, [base+6]", 32,
             element("s16", 6, 32), setup=setup)]
suite.group("access", {"a": a}, cases)
suite.finish()
