# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs each building block alone and compares with NumPy.

usage: check_tiles.py BUILD CHIP [BLOCK...]
Prints a line a block; exit status 1 where one is wrong.
"""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "Cases"))

import attention_blocks
import indexer_blocks
from block_runner import BF16, COLUMN, E4M3, LANE, ROW, BlockRunner, floats, halves
from block_runner import require

import numpy as np


def pack(numbers, dtype):
    """Words of the last dimension's pairs."""
    return np.ascontiguousarray(numbers.astype(dtype)).view(np.int32)[..., 0]


def check_warp(run):
    x = np.random.default_rng(0).integers(0, 1000, (1, 64)).astype(np.int32)
    x[0, 40] = 7
    x[0, :32][x[0, :32] == 7] = 8
    got = run(x, 8).reshape(8, 2, 32)
    x = x.reshape(2, 32)
    wide = lambda sums: np.broadcast_to(sums, (2, 8, 4)).reshape(2, 32)
    by_row = x.reshape(2, 8, 4)
    bits = ((x % 2).astype(np.uint32) << LANE.astype(np.uint32)).sum(1)
    ballot = bits.astype(np.uint32).view(np.int32)
    of_warps = lambda numbers: np.repeat(np.reshape(numbers, (2, 1)), 32, 1)
    want = [x[:, LANE ^ 5], x[:, 31 - LANE], wide(by_row.sum(2, keepdims=True)),
            wide(by_row.sum(1, keepdims=True)), wide(by_row.sum((1, 2), keepdims=True)),
            of_warps(ballot), of_warps([0, 1]), of_warps([0, 1])]
    names = "exchange from reduceRow reduceColumn reduce ballot any number".split()
    for name, a, b in zip(names, got, want):
        require("warp", name, a == b)


def check_fast_math(run):
    random = np.random.default_rng(1)
    x = random.uniform(-30, 30, 128).astype(np.float32)
    y = np.exp2(random.uniform(-120, 120, 128)).astype(np.float32)
    y *= random.choice([-1, 1], 128).astype(np.float32)
    x[:3], y[:2], y[4] = [-np.inf, 0.0, np.nan], [np.nan, 1.0], np.float32(2**15)
    with np.errstate(all="ignore"):
        got = floats(run(np.stack([x, y]).view(np.int32), 9)).astype(np.float64)
        x, y = x.astype(np.float64), y.astype(np.float64)
        same = lambda a, b: (a == b) | np.isnan(a) & np.isnan(b)
        near = lambda a, b, bound: same(a, b) | (np.abs(a - b) <= bound)
        require("fast-math", "exp2", near(got[0], np.exp2(x), 2**-22 * np.exp2(x)))
        require("fast-math", "log2", near(got[1], np.log2(np.abs(y)),
                                          2**-22 * np.maximum(1, np.abs(np.log2(np.abs(y))))))
        require("fast-math", "reciprocal", near(got[2], 1 / y, 2**-22 / np.abs(y)))
        require("fast-math", "tanh", near(got[3], np.tanh(x), 2**-22))
        require("fast-math", "withSign", same(np.where(np.isnan(y), np.nan, got[4]),
                                              np.where(np.isnan(y), np.nan,
                                                       np.copysign(x, y))))
        require("fast-math", "max", same(got[5], np.fmax(x, y)))
        require("fast-math", "maxOrNaN", same(got[6], np.maximum(x, y)))
        known = np.isfinite(y)
        up, down, scaled = got[7][known], got[8][known], (np.abs(y) * got[7])[known]
    require("fast-math", "powers", (np.log2(up) % 1 == 0) & (up * down == 1))
    # Powers are normal numbers: what is too small for one stays small.
    require("fast-math", "the range of powers",
            (scaled < 2**15) & ((scaled >= 2**14) | (np.abs(y[known]) < 2.0**-110)))


def fragment_a(words, dtype):
    """A, `[16, 16]`, of four registers of 32 lanes."""
    a, numbers = np.zeros((16, 16)), halves(words, dtype)
    for i in range(4):
        for j in range(2):
            a[ROW + i % 2 * 8, 2 * COLUMN + j + i // 2 * 8] = numbers[i, :, j]
    return a


def fragment_b(words, dtype):
    """B, `[16, 8]`, of two."""
    b, numbers = np.zeros((16, 8)), halves(words, dtype)
    for i in range(2):
        for j in range(2):
            b[2 * COLUMN + j + 8 * i, ROW] = numbers[i, :, j]
    return b


def matrix_c(numbers):
    """C, `[16, 8]`, of four registers."""
    c = np.zeros((16, 8))
    for i in range(4):
        c[ROW + i // 2 * 8, 2 * COLUMN + i % 2] = numbers[i]
    return c


def check_mma(dtype):
    def check(run):
        random = np.random.default_rng(2)
        words = pack(random.standard_normal((6, 32, 2)), dtype)
        sums = random.standard_normal((4, 32)).astype(np.float32)
        got = matrix_c(floats(run(np.concatenate([words, sums.view(np.int32)]), 4)))
        a, b, c = fragment_a(words[:4], dtype), fragment_b(words[4:], dtype), matrix_c(sums)
        bound = 2**-20 * (np.abs(a) @ np.abs(b) + np.abs(c))
        require("mma", "the product", np.abs(got - (a @ b + c)) <= bound)

    return check


def check_matrices(run):
    words = np.random.default_rng(3).integers(-2**31, 2**31, (4, 32)).astype(np.int32)
    got = run(words, 9)
    # Row `lane` of 16 bytes, of matrix `lane / 8`.
    numbers = np.ascontiguousarray(words.T).view(np.int16).reshape(4, 8, 8)
    pairs = lambda first, second: np.ascontiguousarray(
        np.stack([first, second], -1)).view(np.int32)[..., 0]
    for m in range(4):
        require("matrices", "a row", got[m] == pairs(numbers[m, ROW, 2 * COLUMN],
                                                     numbers[m, ROW, 2 * COLUMN + 1]))
        require("matrices", "a column", got[4 + m] == pairs(
            numbers[m, 2 * COLUMN, ROW], numbers[m, 2 * COLUMN + 1, ROW]))
    own = np.ascontiguousarray(words[0].reshape(8, 4)).view(np.int16).reshape(8, 8)
    require("matrices", "the transpose",
            got[8] == pairs(own[2 * COLUMN, ROW], own[2 * COLUMN + 1, ROW]))


def check_wgmma(run):
    words = pack(np.random.default_rng(4).standard_normal((10, 128, 2)), np.float16)
    got = floats(run(words, 8)).reshape(8, 4, 32)
    b = np.zeros((32, 16))
    blocks = words[8:].reshape(2, 4, 32)
    for n in range(2):
        for step in range(2):
            b[16 * step:16 * step + 16, 8 * n:8 * n + 8] = fragment_b(
                blocks[n, 2 * step:2 * step + 2], np.float16)
    for warp in range(4):
        registers = words[:8].reshape(8, 4, 32)[:, warp]
        a = np.hstack([fragment_a(registers[:4], np.float16),
                       fragment_a(registers[4:], np.float16)])
        for n in range(2):
            part = b[:, 8 * n:8 * n + 8]
            error = np.abs(matrix_c(got[4 * n:4 * n + 4, warp]) - a @ part)
            require("wgmma", "the product", error <= 2**-20 * (np.abs(a) @ np.abs(part)))


def check_tile(dtype):
    is_code = dtype is E4M3

    def check(run):
        numbers = np.random.default_rng(5).standard_normal((32, 64)).astype(dtype)
        # Pieces of 16 bytes, token after token; a thread has every 128th.
        pieces = numbers.view(np.int32).reshape(-1, 128, 4)
        got = run(pieces.transpose(0, 2, 1).reshape(-1, 128), 19)
        unit = floats(got[18])[0].astype(np.float64)
        numbers = numbers.astype(np.float64)
        got = got.reshape(19, 4, 32)
        read = lambda words: halves(words, np.float16 if is_code else BF16) * unit

        def element(chunk, at):
            """The element that is number `at` of chunk `chunk`."""
            if not is_code:
                return 8 * chunk + at
            return 16 * (chunk // 2) + 2 * (at // 2 * 2 + chunk % 2) + at % 2

        for warp in range(4):
            for chunk in range(8):
                pair = read(got[chunk, warp])
                for j in range(2):
                    require("tile", "a key", pair[:, j] == numbers[
                        8 * warp + ROW, element(chunk, 2 * COLUMN + j)])
            for half in range(2):
                for m in range(4):
                    pair = read(got[8 + 4 * half + m, warp])
                    token = 16 * half + m % 2 * 8 + 2 * COLUMN
                    for j in range(2):
                        require("tile", "a value", pair[:, j] == numbers[
                            token + j, element(2 * warp + m // 2, ROW)])
            for i in range(2):
                require("tile", "a pair's place",
                        got[16 + i, warp] == element(i, 2 * COLUMN))

    return check


CHECKS = {"warp": check_warp, "fast-math": check_fast_math,
          "mma-f16": check_mma(np.float16), "mma-bf16": check_mma(BF16),
          "matrices": check_matrices, "wgmma": check_wgmma,
          "tile-8-bit": check_tile(E4M3), "tile-16-bit": check_tile(BF16),
          **attention_blocks.CHECKS, **indexer_blocks.CHECKS}


def main(build, chip, *blocks):
    failed = False
    for block in blocks or CHECKS:
        if block == "wgmma" and chip != "sm_90a":
            continue
        try:
            CHECKS[block](BlockRunner(build, chip, block))
            print(f"{block} {chip}: right")
        except AssertionError as error:
            failed = True
            print(f"WRONG {error}")
    sys.exit(failed)


if __name__ == "__main__":
    main(*sys.argv[1:])
