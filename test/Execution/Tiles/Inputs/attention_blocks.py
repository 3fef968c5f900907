# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the building blocks of attention must give, by NumPy."""
import dataclasses

import numpy as np

import product_blocks
from attention_caches import (PLACE, Cache, Words, granules_of_lane, has_element_scales,
                              place_words)
from block_runner import BF16, COLUMN, ROW, floats, halves, require
from element_types import ELEMENT_TYPES
from pool_layout import PoolLayout, ceildiv

NO_MAXIMUM, HEADROOM, LAG, LEAST_LOG = -1e30, 7, 4, -96


def near(a, b, relative, absolute=0.0):
    with np.errstate(all="ignore"):
        return (a == b) | np.isnan(a) & np.isnan(b) | (
            np.abs(a - b) <= relative * np.abs(b) + absolute)


@dataclasses.dataclass
class Softmax:
    """As in attention_blocks.cpp."""

    rows: int
    tokens_on_rows: bool
    transposes_outputs: bool
    tokens: int
    granules: int
    is_signed: bool
    has_factors: bool

    def together(self, values, combine):
        """`combine` over the lanes that share rows, in each of them."""
        grid = values.reshape(*values.shape[:-1], 8, 4)
        axis = -2 if self.tokens_on_rows else -1
        return np.broadcast_to(combine(grid, axis=axis, keepdims=True),
                               grid.shape).reshape(values.shape)

    def inputs(self, random):
        """Factors, then scores, scales and addends of three tiles."""
        factors = random.uniform(0.25, 2, (self.rows, 32))
        # One row, the same for all lanes that have it.
        factors = self.together(factors, np.max)
        tiles = []
        for number in range(3):
            scores = random.uniform(-6, 6, (self.rows, self.tokens, 32))
            same_row = COLUMN if self.tokens_on_rows else ROW
            # The second tile raises no maximum by more than the lag, the third
            # those of two rows: one by a lot, one that had no token.
            scores[:, :, same_row == 2] = -np.inf
            if number < 2:
                scores[:, :, same_row == 1] = -np.inf
            if number == 1:
                scores = np.minimum(scores, 0.25)
            if number == 2:
                scores[:, :, same_row == 1] -= 40
                scores[-1, :, same_row == 3] += 60
                scores[0, -1, same_row == 0] = -np.inf
            scales = np.exp2(random.uniform(-3, 3, (self.granules, self.tokens, 32)))
            if self.granules:
                scales[0, 0, same_row == 3] = 0 if number == 1 else 1e-20
                if self.is_signed:
                    scales *= random.choice([-1, 1], scales.shape)
                    scales[0, 1, (same_row == 0) & (number == 1)] = np.nan
                    scales[0, 1, (same_row == 3) & (number == 0)] = np.inf
                    scales[:, 0, (same_row == 0) & (number == 2)] = np.nan
            tiles.append((scores, scales, random.standard_normal((4, 32))))
        return factors, tiles

    def __call__(self, run):
        random = np.random.default_rng(7)
        factors, tiles = self.inputs(random)
        if not self.has_factors:
            factors = np.ones((self.rows, 32))
        words = [factors] if self.has_factors else []
        for scores, scales, addends in tiles:
            words += [part.reshape(-1, 32) for part in (scores, scales, addends)]
        words = np.concatenate(words).astype(np.float32)
        weights_of_tile = max(self.granules, 1) * self.rows * self.tokens
        got = floats(run(words.view(np.int32),
                         3 * weights_of_tile + 2 * self.rows + 4)).astype(np.float64)
        with np.errstate(all="ignore"):
            self._compare(run.block, got, factors, tiles)
        for size in (2.0**18, 2.0**23, 2.0**40, 2.0**90):
            self._check_large(run, size)

    def _check_large(self, run, size):
        """Scores so large that rounding them changes weights: these stay within f16,
        and scales stay what they are."""
        random = np.random.default_rng(11)
        factors = self.together(random.uniform(0.25, 2, (self.rows, 32)), np.max)
        words = [factors] if self.has_factors else []
        scales = np.exp2(random.uniform(-3, 3, (3, self.granules, self.tokens, 32)))
        for of_tile in scales:
            scores = size * random.uniform(0.9, 1, (self.rows, self.tokens, 32))
            # A maximum that comes again and again.
            scores[:, -1] = size
            words += [scores.reshape(-1, 32), of_tile.reshape(-1, 32), np.zeros((4, 32))]
        words = np.concatenate(words).astype(np.float32)
        shape = (3, max(self.granules, 1), self.rows, self.tokens, 32)
        count = np.prod(shape[:-1])
        got = floats(run(words.view(np.int32), count + 2 * self.rows + 4))
        weights, rest = got[:count].reshape(shape), got[count:].astype(np.float64)
        require(run.block, "large scores", np.isfinite(rest))
        require(run.block, "weights of large scores", weights <= 2.0**(8 + LAG) * 1.001)
        # Beyond, weights may be 0.
        if size > 2.0**25:
            return
        require(run.block, "the sum of a tile", weights.max((2, 3)) > 2.0**-12)
        if not self.granules:
            return
        unscaled = weights / scales[:, :, None]
        require(run.block, "scales beside large scores", near(
            unscaled, unscaled[:, :1], 1e-4, 1e-30))
        # The first tile has raised maxima near enough to the others'.
        total = self.together(unscaled[:, 0].sum((0, 2)), np.sum)
        require(run.block, "a sum of unscaled weights",
                near(rest[self.rows:2 * self.rows], total, 1e-4))

    def _compare(self, block, got, factors, tiles):
        to_f32 = lambda x: x.astype(np.float32).astype(np.float64)
        factors = to_f32(factors)
        maximum = np.full((self.rows, 32), NO_MAXIMUM)
        total, output = np.zeros((self.rows, 32)), np.zeros((4, 32))
        raised = []
        for scores, scales, addends in tiles:
            x = to_f32(scores) * factors[:, None]
            logs = np.zeros((1, self.tokens, 32))
            signs = np.ones(logs.shape)
            if self.granules:
                logs = np.maximum(np.log2(np.abs(to_f32(scales))), LEAST_LOG)
                logs[np.isposinf(logs)] = np.nan
                signs = np.where(np.signbit(scales), -1.0, 1.0)
            most = np.fmax(np.fmax.reduce(logs, 0), LEAST_LOG)
            largest = np.fmax.reduce(x + most, axis=1)
            largest = self.together(largest, np.fmax.reduce) - HEADROOM
            raised.append(bool((largest > maximum + LAG).any()))
            if raised[-1]:
                higher = np.fmax(maximum, largest)
                factor = np.exp2(maximum - higher)
                maximum, total = higher, total * factor
                if self.transposes_outputs:
                    factor = np.stack([factor[0, 4 * (2 * COLUMN + i)] for i in (0, 1)])
                output = output * np.tile(factor, (2, 1))
            plain = np.exp2(x - maximum[:, None])
            total += plain.sum(1)
            scaled = signs[:, None] * np.exp2(x - maximum[:, None] + logs[:, None])
            count = scaled[..., 0].size
            require(block, "a weight", near(got[:count], scaled.reshape(-1, 32), 1e-4,
                                            1e-30))
            got = got[count:]
            output = output + to_f32(addends)
        require(block, "what is raised", raised == [True, False, True])
        rows = self.rows
        require(block, "a maximum", near(got[:rows], maximum, 1e-5))
        require(block, "a sum of weights", near(
            got[rows:2 * rows], self.together(total, np.sum), 1e-5))
        require(block, "a sum of values", near(got[2 * rows:], output, 1e-5, 1e-6))


def check_merge(run):
    random = np.random.default_rng(8)
    maxima = random.uniform(-20, 20, (3, 32)).astype(np.float32)
    sums = random.uniform(0, 9, (3, 32)).astype(np.float32)
    maxima[1, :8] = maxima[:, 4] = NO_MAXIMUM
    sums[maxima == np.float32(NO_MAXIMUM)] = 0
    got = floats(run(np.concatenate([maxima, sums]).view(np.int32), 5))
    want = np.exp2(maxima.astype(np.float64) - maxima.max(0))
    require(run.block, "the maximum", got[0] == maxima.max(0))
    require(run.block, "the sum", near(got[1], (want * sums).sum(0), 1e-5))
    require(run.block, "a factor", near(got[2:], want, 1e-5, 1e-30))


def check_terms(dtype, count):
    def check(run):
        x = np.exp2(np.random.default_rng(9).uniform(-12, 0, (2, 32))).astype(np.float32)
        terms, rest = [], x
        for _ in range(count):
            terms.append(rest.astype(dtype))
            rest = rest - terms[-1].astype(np.float32)
        got = halves(run(x.view(np.int32), count), dtype)
        for term, words in zip(terms, got):
            require(run.block, "a term", words.T == term.astype(np.float64))
        bits = (8 if dtype is BF16 else 11) * count
        # The rest of a small number is below f16's normal ones.
        require(run.block, "the sum", near(got.sum(0).T, x.astype(np.float64),
                                           2.0**-bits, 0 if dtype is BF16 else 2.0**-25))

    return check


def check_cache(layout, own_table=False):
    def check(run):
        cache = Cache(layout, own_table)
        size = ELEMENT_TYPES[layout.dtype].bits // 8
        at = lambda tile, of: np.clip(16 * tile + of, PLACE["begin"], PLACE["end"] - 1)
        places = {0: [ROW + 8 * i for i in range(2)],
                  1: [2 * COLUMN + i // 2 * 8 + i % 2 for i in range(4)]}
        # Enough for all; what is not written stays 0.
        out = Words(run(place_words(32), 200, cache.extend)["out"])
        cut = {0: out.pieces(run.block, layout.D, 4), 1: out.pieces(run.block, layout.D, 8)}
        for tile in (PLACE["inside"], PLACE["edge"]):
            for side, lane in ((0, COLUMN), (1, ROW)):
                for of in places[side]:
                    codes = cache.codes(1, side, 1, at(tile, of))
                    for first, per_lane in cut[side]:
                        words = ceildiv(per_lane * size, 4)
                        got = out.take(words).T
                        chosen = first + lane[:, None] * per_lane + np.arange(per_lane)
                        want = np.take_along_axis(codes, chosen[..., None], 1)
                        got = np.ascontiguousarray(got).view(np.uint8).reshape(32, -1)
                        want = want.reshape(32, -1)
                        require(run.block, f"side {side}",
                                got[:, :want.shape[1]] == want)
                        require(run.block, "what is above", got[:, want.shape[1]:] == 0)
                if has_element_scales(layout):
                    for of in places[side]:
                        scales = cache.scales(1, side, 1, at(tile, of))
                        for first, per_lane in cut[side]:
                            runs = granules_of_lane(layout.g, per_lane)
                            got = floats(out.take(runs)).T
                            element = first + lane[:, None] * per_lane + layout.g * (
                                np.arange(runs))
                            granule = np.minimum(element, layout.D - 1) // layout.g
                            require(run.block, f"scales of side {side}",
                                    got == np.take_along_axis(scales, granule, 1))
                    continue
                for of in places[0] if layout.G else ():
                    want = cache.scales(1, side, 1, at(tile, of))
                    require(run.block, f"scales of side {side}",
                            floats(out.take(layout.G)).T == want)
        require(run.block, "the end", out.words == 0)

    return check


def check_element_scales(g, size):
    def check(run):
        layout = PoolLayout(dtype="i8", H=2, D=size, P=16, L=2, scale_dtype="f32", g=g)
        with np.errstate(all="ignore"):
            cache = Cache(layout, has_extremes=True)
            tokens = 16 * PLACE["inside"] + np.arange(16)
            # Some tokens have nothing but zeros, some NaN or infinity.
            scales = [cache.scales(1, side, 1, tokens) for side in range(2)]
            for of in scales:
                require(run.block, "the inputs", [
                    (of == 0).all(1).any() & (~np.isfinite(of)).any(1).any()])
            lane_elements = size // 4, size // 8
            count = 2 * (2 * lane_elements[0] + 1) + 4 * (2 * lane_elements[1] + 1)
            out = Words(run(place_words(32), count + 20, cache.extend)["out"])
            for side, across, lane, ofs in (
                    (0, 4, COLUMN, [ROW, ROW + 8]),
                    (1, 8, ROW, [2 * COLUMN + i // 2 * 8 + i % 2 for i in range(4)])):
                pieces = out.pieces(run.block, size, across)
                elements = np.concatenate([
                    first + lane * per_lane + np.arange(per_lane)[:, None]
                    for first, per_lane in pieces])
                for of in ofs:
                    want = scales[side][of, elements // g]
                    got = floats(out.take(len(elements)))
                    require(run.block, "a scale", near(got, want, 0))
                    token = np.where(np.isfinite(scales[side]), np.abs(scales[side]), 0)
                    token = np.exp2(np.maximum(np.floor(np.log2(token.max(1))), -111))[of]
                    # The largest one becomes 2^5, times the 1/2 of elements.
                    require(run.block, "a normalized scale", near(
                        floats(out.take(len(elements))).astype(np.float64),
                        want / token * 2**4, 0, 2.0**-125))
                    require(run.block, "the scale of a token",
                            floats(out.take(1))[0] == token)
            require(run.block, "the end", out.words == 0)

    return check


def check_shared_scales(run):
    layout = PoolLayout(dtype="f8E4M3FN", H=16, D=128, P=16, L=2, scale_dtype="f32", g=64)
    cache = Cache(layout, own_table=True)
    # Two tiles that may be read as a whole, from the first on.
    out = Words(run(place_words(256, head=8, inside=2), 24, cache.extend)["out"])
    for tile in (2, 3, PLACE["edge"]):
        for side in range(2):
            for i in range(2):
                got = floats(out.take(2)).reshape(2, 8, 32)
                token = np.clip(16 * tile + ROW + 8 * i, PLACE["begin"], PLACE["end"] - 1)
                for warp in range(8):
                    want = cache.scales(1, side, 8 + warp, token)
                    require(run.block, f"tile {tile}, side {side}", got[:, warp].T == want)


def check_results(parts):
    """Rows with and without keys, and sinks that are larger and smaller; a row of no
    sequence before and one behind stay as they are."""
    tokens, heads, size, run_size = 2, 3, 64, 8

    def check(run):
        random = np.random.default_rng(12)
        shape = (tokens, heads, parts)
        maxima = random.uniform(-5, 5, shape).astype(np.float32)
        sums = random.uniform(1, 9, shape).astype(np.float32)
        elements = random.standard_normal((*shape, size)).astype(np.float32)
        empty = np.zeros(shape, bool)
        empty[0, 1], empty[1, 2, 0] = True, parts > 1
        maxima[empty], sums[empty], elements[empty] = NO_MAXIMUM, 0, 0
        sinks = np.array([-np.inf, -np.inf, 3], np.float32)
        words = np.concatenate([
            elements.reshape(*shape, size // run_size, run_size),
            *(np.repeat(x[..., None, None], size // run_size, -2) for x in (maxima, sums))],
            axis=-1).reshape(-1, run_size + 2).T
        padded = np.zeros((run_size + 2, 160), np.float32)
        padded[:, :words.shape[1]] = words

        def extend(text):
            rows = (tokens + 2) * heads
            text.argument("rows", np.full((tokens + 2, heads, size), np.nan, np.float32),
                          "f32", is_output=True, static_dims=2)
            text.argument("sinks", sinks, "f32")
            text.argument("lse", np.full((tokens + 2, heads), np.nan, np.float32), "f32",
                          is_output=True, static_dims=1)
            # What nobody wrote there would be seen in results.
            text.argument("workspace", np.full(parts * rows * (size + 2), 7, np.float32),
                          "f32", static_dims=0)
            text.argument("offsets", np.array([1, 1 + tokens], np.int32), "i32",
                          static_dims=0)
        got = run(padded.view(np.int32), 0, extend)
        x = maxima.astype(np.float64)
        sink = sinks.astype(np.float64)[:, None] / np.log(2)
        most = np.maximum(x.max(-1, keepdims=True), sink)
        weights = np.exp2(x - most)
        total = (weights * sums).sum(-1) + np.exp2(sink - most)[..., 0]
        with np.errstate(all="ignore"):
            want = (weights[..., None] * elements).sum(-2) / total[..., None]
            lse = (most[..., 0] + np.log2(total)) * np.log(2)
        none = empty.all(-1) & np.isneginf(sinks)
        want[none], lse[none] = 0, -np.inf
        for name in ("rows", "lse"):
            require(run.block, "a row of no sequence", np.isnan(got[name][[0, -1]]))
        require(run.block, "a row", near(got["rows"][1:-1], want, 1e-5, 1e-6))
        require(run.block, "a log-sum-exp", near(got["lse"][1:-1], lse, 1e-5, 1e-5))

    return check


CHECKS = {
    "softmax-8-bit": Softmax(2, True, False, 2, 2, True, True),
    "softmax-16-bit": Softmax(1, False, True, 4, 0, False, True),
    "softmax-softcapped": Softmax(1, False, True, 4, 0, False, False),
    "softmax-latents": Softmax(2, False, False, 8, 1, False, True),
    "softmax-merge": check_merge,
    "terms-f16": check_terms(np.float16, 1),
    "terms-f16-twice": check_terms(np.float16, 2),
    "terms-bf16-twice": check_terms(BF16, 2),
    "cache-16-bit": check_cache(PoolLayout(dtype="bf16", H=2, D=80, P=16, L=2)),
    "cache-8-bit": check_cache(PoolLayout(
        dtype="f8E4M3FN", H=2, D=96, P=24, L=2, scale_dtype="bf16", g=32, order="HND"),
        own_table=True),
    "cache-short-pages": check_cache(PoolLayout(
        dtype="i8", H=2, D=64, P=4, L=2, scale_dtype="f32", g=16)),
    "cache-fine-granules": check_cache(PoolLayout(
        dtype="i8", H=2, D=64, P=8, L=2, scale_dtype="f16", g=4), own_table=True),
    "cache-odd-granules": check_cache(PoolLayout(
        dtype="f8E4M3FN", H=2, D=96, P=16, L=2, scale_dtype="f32", g=12)),
    "element-scales-3": check_element_scales(3, 80),
    "element-scales-5": check_element_scales(5, 80),
    "element-scales-12": check_element_scales(12, 96),
    "element-scales-24": check_element_scales(24, 96),
    "shared-scales": check_shared_scales,
    **product_blocks.CHECKS,
    "results-of-one": check_results(1),
    "results-of-parts": check_results(3),
}
