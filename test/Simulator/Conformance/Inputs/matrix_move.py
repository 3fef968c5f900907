# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ldmatrix and stmatrix of every shape and type against NumPy. Rows lie in shared
memory in another order than the lanes that name them."""
import sys

import numpy as np

from ptx import Case, Suite

suite = Suite(sys.argv[1])
rng = np.random.default_rng(15)
WARPS = 16
lane = np.arange(32)
group, member = lane // 4, lane % 4
# Row l of a matrix is where lane l points.
SWAP = 5


def unpacked(rows, bits):
    """Sixteen elements a row, of 8, 6 or 4 bits, each a byte of its own."""
    stream = np.unpackbits(rows, axis=-1, bitorder="little")
    elements = stream[..., :16 * bits].reshape(*rows.shape[:-1], 16, bits)
    return (elements << np.arange(bits)).sum(-1).astype(np.uint8)


def words(parts):
    """Bytes to a register, the first lowest."""
    return np.ascontiguousarray(np.stack(parts, -1)).view(np.uint32)[..., 0]


def loads():
    words_of = {n: rng.integers(0, 1 << 32, (WARPS, 32), np.uint64).astype(np.uint32)
                for n in "abce"}
    memory = np.stack(list(words_of.values()), -1).view(np.uint8)
    rows = memory[:, lane ^ SWAP]
    halves = np.ascontiguousarray(rows).view(np.uint16)
    cases = []

    def add(text, registers):
        names = [f"x{r}" for r in range(len(registers))]
        for name, want in zip(names, registers):
            cases.append(Case(
                "mov.u32 at, tile; mad.lo.u32 at, %i0, 16, at; "
                "st.shared.v4.b32 [at], {{{a}, {b}, {c}, {e}}}; bar.warp.sync -1; "
                f"xor.b32 at, at, {SWAP * 16}; ldmatrix.sync.aligned.{text} "
                f"{{{{{', '.join(names)}}}}}, [at]; bar.warp.sync -1; mov.b32 {{d}}, {name}",
                32, want.ravel(), setup=f".reg .b32 at, {', '.join(names)};"))

    for x in (1, 2, 4):
        plain, turned = [], []
        for k in range(x):
            tile = halves[:, 8 * k:8 * k + 8]
            plain.append(np.ascontiguousarray(np.stack(
                [tile[:, group, 2 * member + j] for j in range(2)], -1)).view(np.uint32))
            turned.append(np.ascontiguousarray(np.stack(
                [tile[:, 2 * member + j, group] for j in range(2)], -1)).view(np.uint32))
        add(f"m8n8.x{x}.shared.b16", plain)
        add(f"m8n8.x{x}.trans.shared.b16", turned)
        for bits, kind in ((6, "b6x16_p32"), (4, "b4x16_p64")):
            elements = unpacked(rows, bits)
            add(f"m8n16.x{x}.shared.b8x16.{kind}", [
                words([elements[:, 8 * k + group, 4 * member + j] for j in range(4)])
                for k in range(x)])
    for x in (1, 2):
        for bits, kind in ((8, "b8"), (6, "b8x16.b6x16_p32"), (4, "b8x16.b4x16_p64")):
            elements = unpacked(rows, bits)
            add(f"m16n16.x{x}.trans.shared.{kind}", [
                words([elements[:, 16 * k + 4 * member + j, group + 8 * half]
                       for j in range(4)]) for k in range(x) for half in range(2)])
    suite.group("ldmatrix", {n: v.ravel() for n, v in words_of.items()}, cases,
                target="sm_120a", globals=".shared .align 128 .b8 tile[4096];")


def stores():
    registers = {n: rng.integers(0, 1 << 32, (WARPS, 32), np.uint64).astype(np.uint32)
                 for n in "abce"}
    cases = []

    def add(text, count, memory):
        """`memory`: (warps, rows, 16) bytes; what no row covers stays zero."""
        full = np.zeros((WARPS, 32, 16), np.uint8)
        full[:, (np.arange(memory.shape[1]) ^ SWAP)] = memory
        want = np.ascontiguousarray(full).view(np.uint32)
        given = ", ".join("{" + n + "}" for n in list(registers)[:count])
        for k in range(4):
            cases.append(Case(
                "mov.u32 at, tile; mad.lo.u32 at, %i0, 16, at; "
                "st.shared.v4.b32 [at], {{zero, zero, zero, zero}}; bar.warp.sync -1; "
                f"xor.b32 to, at, {SWAP * 16}; stmatrix.sync.aligned.{text} "
                f"[to], {{{{{given}}}}}; bar.warp.sync -1; "
                f"ld.shared.b32 {{d}}, [at+{4 * k}]; bar.warp.sync -1", 32,
                want[:, :, k].ravel(),
                setup=".reg .b32 at, to, zero; mov.b32 zero, 0;"))

    for count in (1, 2, 4):
        given = np.stack(list(registers.values())[:count], 1)
        halves = given[..., None].view(np.uint16)
        elements = given[..., None].view(np.uint8)
        plain = np.zeros((WARPS, count, 8, 8), np.uint16)
        turned = np.zeros((WARPS, count, 8, 8), np.uint16)
        columns = np.zeros((WARPS, count, 8, 16), np.uint8)
        for j in range(2):
            plain[:, :, group, 2 * member + j] = halves[..., j]
            turned[:, :, 2 * member + j, group] = halves[..., j]
        for j in range(4):
            columns[:, :, 2 * member + j % 2, group + j // 2 * 8] = elements[..., j]
        for text, value in ((f"m8n8.x{count}.shared.b16", plain),
                            (f"m8n8.x{count}.trans.shared.b16", turned),
                            (f"m16n8.x{count}.trans.shared.b8", columns)):
            add(text, count, value.reshape(WARPS, 8 * count, -1).view(np.uint8))
    suite.group("stmatrix", {n: v.ravel() for n, v in registers.items()}, cases,
                target="sm_120a", globals=".shared .align 128 .b8 tile[4096];")


loads()
stores()
suite.finish()
