# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the building blocks of attention must give, by NumPy."""
import dataclasses

import ml_dtypes
import numpy as np

import programs
from block_runner import BF16, COLUMN, LANE, ROW, floats, halves, require
from case_folder import Case
from element_types import ELEMENT_TYPES
from pool_layout import PoolLayout, ceildiv
from reference import Pools
from reference_numbers import read, write

NO_MAXIMUM, LAG, LEAST_LOG = -1e30, 8, -100


def near(a, b, relative, absolute=0.0):
    with np.errstate(all="ignore"):
        return (a == b) | np.isnan(a) & np.isnan(b) | (
            np.abs(a - b) <= relative * np.abs(b) + absolute)


@dataclasses.dataclass
class Softmax:
    """As in attention_blocks.cpp."""

    rows: int
    tokens_on_rows: bool
    turned: bool
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
            tiles.append((scores, scales, random.standard_normal((2, 32))))
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
                         3 * weights_of_tile + 2 * self.rows + 2)).astype(np.float64)
        with np.errstate(all="ignore"):
            self._compare(run.block, got, factors, tiles)

    def _compare(self, block, got, factors, tiles):
        to_f32 = lambda x: x.astype(np.float32).astype(np.float64)
        factors = to_f32(factors)
        maximum = np.full((self.rows, 32), NO_MAXIMUM)
        total, output = np.zeros((self.rows, 32)), np.zeros((2, 32))
        raised = []
        for scores, scales, addends in tiles:
            x = to_f32(scores) * factors[:, None]
            logs = np.zeros((1, self.tokens, 32))
            signs = np.ones(logs.shape)
            if self.granules:
                logs = np.maximum(np.log2(np.abs(to_f32(scales))), LEAST_LOG)
                signs = np.where(np.signbit(scales), -1.0, 1.0)
            largest = np.fmax.reduce(x + np.fmax.reduce(logs, 0), axis=1)
            largest = self.together(largest, np.fmax.reduce)
            raised.append(bool((largest > maximum + LAG).any()))
            if raised[-1]:
                higher = np.fmax(maximum, largest)
                factor = np.exp2(maximum - higher)
                maximum, total = higher, total * factor
                if self.turned:
                    factor = np.stack([factor[0, 4 * (2 * COLUMN + i)] for i in (0, 1)])
                elif self.rows == 1:
                    factor = np.repeat(factor, 2, 0)
                output = output * factor
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


def check_weight_terms(dtype):
    def check(run):
        x = np.exp2(np.random.default_rng(9).uniform(-12, 0, (2, 32))).astype(np.float32)
        terms = [x.astype(dtype)]
        if dtype is BF16:
            terms.append((x - terms[0].astype(np.float32)).astype(dtype))
        got = halves(run(x.view(np.int32), len(terms)), dtype)
        for term, words in zip(terms, got):
            require(run.block, "a term", words.T == term.astype(np.float64))
        require(run.block, "the sum", near(got.sum(0).T, x.astype(np.float64),
                                           2.0**-16 if dtype is BF16 else 2.0**-11))

    return check


class Cache:
    """A cache of two sequences in random pages, and its pools in NumPy."""

    def __init__(self, layout, own_table=False, length=100):
        self.layout, random = layout, np.random.default_rng(10)
        self.length = length
        pages = ceildiv(self.length, layout.P)
        nb = 2 * pages + 3
        place = lambda: random.permutation(nb)[:2 * pages].reshape(2, pages).astype(
            np.uint32)
        self.table = place()
        self.scales_table = place() if own_table else self.table
        self.pools = Pools(
            layout, nb, nb, np.full(nb * layout.page_bytes, 0xFF, np.uint8),
            np.full(nb * layout.scales_page_bytes, 0xFF, np.uint8) if layout.G else None)
        for b in range(2):
            for side in range(layout.KD):
                self._fill(random, b, side)
        inputs = self.pools.outputs() | {
            "lookup_table": self.table,
            "cache_lengths": np.full(2, self.length, np.uint32)}
        if own_table:
            inputs["scales_lookup_table"] = self.scales_table
        self.case = Case("cache", "gather", layout, nb, nb, {}, inputs, {}, {})

    def rows(self, table, b, tokens):
        return np.stack([table[b, tokens // self.layout.P].astype(np.int64),
                         tokens % self.layout.P], axis=1)

    def _fill(self, random, b, side):
        layout, tokens = self.layout, np.arange(self.length)
        shape = (self.length, layout.H, layout.code_bytes)
        codes = random.integers(0, 256, shape).astype(np.uint8)
        if layout.dtype == "f8E4M3FN":
            codes[(codes & 0x7F) == 0x7F] ^= 1
        elif layout.dtype != "i8":
            # Of f16 and bf16: neither infinite nor NaN, and sums fit f32.
            codes[(codes & 0x7F) >= 0x78] ^= 0x40
        self.pools.put("codes", self.rows(self.table, b, tokens), side, 1, codes)
        if layout.G:
            scales = random.uniform(0.1, 2, (*shape[:2], layout.G))
            if not layout.is_mla:
                scales *= random.choice([-1, 1], scales.shape)
            scales = write(scales.astype(np.float32), layout.scale_dtype)
            self.pools.put("scales", self.rows(self.scales_table, b, tokens), side, 1,
                           np.ascontiguousarray(scales).view(np.uint8).reshape(
                               *shape[:2], -1))

    def extend(self, text):
        collection = programs._collection(text, self.case)
        layer = text.index("layer", 1)
        for side in programs.SIDES[:self.layout.KD]:
            text.line(f"%{side}s = kvcache.get_{side}_cache %collection[{layer}] : "
                      f"{collection}")

    def codes(self, b, side, head, tokens):
        """Bytes `[n, elements, bytes]`."""
        rows = self.pools.get("codes", self.rows(self.table, b, tokens), side, 1)
        return rows[:, head].reshape(len(tokens), self.layout.D, -1)

    def scales(self, b, side, head, tokens):
        rows = self.pools.get("scales", self.rows(self.scales_table, b, tokens), side, 1)
        storage = ELEMENT_TYPES[self.layout.scale_dtype].storage
        return read(np.ascontiguousarray(rows[:, head]).view(storage),
                    self.layout.scale_dtype).astype(np.float32)


class Words:
    """Words of the lanes, taken from the front."""

    def __init__(self, words):
        self.words = words

    def take(self, count):
        taken, self.words = self.words[:count], self.words[count:]
        return taken

    def pieces(self, block, size, across):
        """Pieces of a head that are described here: (first, elements a lane)."""
        count = int(self.take(1)[0, 0])
        pieces = [tuple(int(n) for n in self.take(2)[:, 0]) for _ in range(count)]
        ends = np.cumsum([0] + [across * per_lane for _, per_lane in pieces])
        require(block, "a piece's place", [first for first, _ in pieces] == list(ends[:-1]))
        require(block, "the end of the pieces", ends[-1] == size)
        return pieces


# What is read: sequence 1, head 1, tokens 3 to before 77; tile 2 is all of it, of
# tile 4 and on the end is missing.
PLACE = {"sequence": 1, "head": 1, "begin": 3, "end": 77, "inside": 2, "edge": 4}


def place_words(threads, **changes):
    values = list((PLACE | changes).values())
    return np.repeat(np.array(values, np.int32)[:, None], threads, 1)


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
                for of in places[0] if layout.G else ():
                    want = cache.scales(1, side, 1, at(tile, of))
                    require(run.block, f"scales of side {side}",
                            floats(out.take(layout.G)).T == want)
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


def check_queries(product, size, granularity, row_groups, group, number):
    """Queries of bf16 of two heads of the cache."""
    def check(run):
        random = np.random.default_rng(11)
        q = random.standard_normal((5, 2 * group, size)).astype(np.float32)
        q *= np.exp2(random.integers(-40, 40, (5, 2 * group, 1)))
        q = q.astype(BF16)
        first, head = 1, 1
        rows = [random.permutation(3 * group)[:8] for _ in range(row_groups)]
        words = np.array([np.full(32, first), np.full(32, head),
                          np.full(32, number, np.float32).view(np.int32)]
                         + [r[ROW] for r in rows])
        extend = lambda text: text.argument("q", q.view(np.uint16), "bf16", static_dims=2)
        out = Words(run(words, 400, extend)["out"])
        pieces = out.pieces(run.block, size, 4)
        of_rows = [q[first + r // group, head * group + r % group].astype(np.float64)
                   for r in rows]
        steps = [(number, step, granule)
                 for number, (start, per_lane) in enumerate(pieces)
                 for step in range(per_lane // 4)
                 for granule in range(start // granularity,
                                      (start + 4 * per_lane - 1) // granularity + 1)]
        fragments = [[out.take(2) for _ in steps] for _ in range(row_groups)]
        other = fragments[1] if row_groups > 1 else np.zeros_like(fragments[0])
        for upper, lower in zip(fragments[0], other):
            want = np.stack([upper[0], lower[0], upper[1], lower[1]])
            require(run.block, "fragment A", out.take(4) == want)
        of = {step: words for step, words in zip(steps, fragments[0])}
        upper, lower = of[0, 0, 0], of[1, 0, 1 // len(pieces)]
        require(run.block, "a fragment of two steps", out.take(4) == np.stack(
            [upper[0], lower[0], upper[1], lower[1]]))
        factors = floats(out.take(row_groups)).astype(np.float64)
        by_column = floats(out.take(2 * row_groups))
        for row_group, numbers in enumerate(of_rows):
            for i in (0, 1):
                require(run.block, "a factor by column", by_column[2 * row_group + i] ==
                        factors[row_group, 4 * (2 * COLUMN + i)])
            # Queries scaled by powers of two, which factors take back, and by
            # signs.
            back = factors[row_group] / 3
            require(run.block, "a factor", np.log2(back) % 1 == 0)
            for (piece, step, granule), words in zip(steps, fragments[row_group]):
                start, per_lane = pieces[piece]
                for half in range(2):
                    element = (start + COLUMN * per_lane + 4 * step + 2 * half)[:, None] + (
                        np.arange(2))
                    want = np.where(element // granularity == granule,
                                    numbers[ROW[:, None], element], 0)
                    got = halves(words[half], product) * back[:, None]
                    want = want * number
                    require(run.block, "fragment B", got == want)
        require(run.block, "the end", out.words == 0)

    return check


PRODUCTS = {
    "bf16": (PoolLayout(dtype="bf16", H=2, D=80, P=16, L=2), BF16, 2, 9),
    "f16": (PoolLayout(dtype="f16", H=2, D=64, P=32, L=2), np.float16, 1, 3),
    "e4m3": (PoolLayout(dtype="f8E4M3FN", H=2, D=96, P=16, L=2, scale_dtype="f32", g=24),
             BF16, 1, 4),
    "i8": (PoolLayout(dtype="i8", H=2, D=64, P=16, L=2, scale_dtype="f32", g=32),
           np.float16, 2, 12)}


class Products:
    """A cache's numbers in f64, and where the lanes' rows and tokens lie."""

    def __init__(self, kind):
        self.layout, self.query, self.row_groups, self.group = PRODUCTS[kind]
        self.cache = Cache(self.layout)
        self.is_code = self.layout.G > 0
        # The lane's rows of a group, its tokens, and which of these a score is of.
        if self.is_code:
            self.rows = [2 * COLUMN + i for i in (0, 1)]
            self.tokens = [ROW + 8 * i for i in (0, 1)]
            self.scores = [(i % 2, i // 2) for i in range(4)]
        else:
            self.rows = [ROW]
            self.tokens = [2 * COLUMN + i // 2 * 8 + i % 2 for i in range(4)]
            self.scores = [(0, i) for i in range(4)]

    def numbers(self, side):
        """Numbers of the tile that is read, without scales, and these."""
        tokens = 16 * PLACE["inside"] + np.arange(16)
        codes = self.cache.codes(1, side, 1, tokens)
        storage = ELEMENT_TYPES[self.layout.dtype].storage
        numbers = read(np.ascontiguousarray(codes).view(storage)[..., 0],
                       self.layout.dtype).astype(np.float64)
        scales = np.ones(numbers.shape)
        if self.is_code:
            scales = np.repeat(self.cache.scales(1, side, 1, tokens).astype(np.float64),
                               self.layout.g, -1)
        return numbers, scales


def check_scores(kind):
    def check(run):
        of, random = Products(kind), np.random.default_rng(13)
        q = random.standard_normal((5, 2 * of.group, of.layout.D)).astype(of.query)
        first, rows = 1, [random.permutation(3 * of.group)[:8]
                          for _ in range(of.row_groups)]

        def extend(text):
            text.argument("q", q.view(np.uint16), "f16" if of.query is np.float16 else "bf16",
                          static_dims=2)
            of.cache.extend(text)
        words = np.concatenate([place_words(32), np.full((1, 32), first),
                                [r[ROW] for r in rows]])
        counts = 4 * of.row_groups, of.row_groups * len(of.rows)
        got = floats(run(words, sum(counts) + 1, extend)["out"]).astype(np.float64)
        keys, scales = of.numbers(0)
        unit = got[-1]
        for g, chosen in enumerate(rows):
            numbers = q[first + chosen // of.group, of.group + chosen % of.group]
            numbers = numbers.astype(np.float64)
            want = numbers @ (keys * scales).T
            bound = 1e-6 * (np.abs(numbers) @ np.abs(keys * scales).T)
            for i, (row, token) in enumerate(of.scores):
                at = of.rows[row], of.tokens[token]
                factor = got[counts[0] + g * len(of.rows) + row]
                require(run.block, "a score", np.abs(
                    got[4 * g + i] * factor * unit - want[at]) <= bound[at])

    return check


def check_outputs(kind):
    def check(run):
        of, random = Products(kind), np.random.default_rng(14)
        granules = of.layout.G or 1
        # Exact in f16, or as a sum of two bf16.
        weights = random.integers(0, 64, (granules, 8 * of.row_groups, 16)) / 64
        given = np.stack([weights[n, 8 * g + row, token]
                          for n in range(granules) for g in range(of.row_groups)
                          for row in of.rows for token in of.tokens])
        words = np.concatenate([place_words(32), given.astype(np.float32).view(np.int32)])
        sums = of.row_groups * of.layout.D // 4
        out = Words(run(words, 41 + sums, of.cache.extend)["out"])
        pieces = out.pieces(run.block, of.layout.D, 8)
        got = floats(out.take(sums + 1)).astype(np.float64)
        values, _ = of.numbers(1)
        unit = got[-1]
        for g in range(of.row_groups):
            at = g * sums // of.row_groups
            for start, per_lane in pieces:
                for place in range(per_lane):
                    element = start + ROW * per_lane + place
                    granule = element // (of.layout.g or of.layout.D)
                    for i in range(2):
                        number = at + place // 2 * 4 + place % 2 * 2 + i
                        row = 8 * g + 2 * COLUMN + i
                        terms = weights[granule, row] * values.T[element]
                        error = np.abs((got[number] - 0.5) * unit - terms.sum(-1))
                        require(run.block, "a sum", error <= 1e-5 * (
                            np.abs(terms).sum(-1) + unit))
                at += per_lane * 2

    return check


def check_results(parts):
    """Rows with and without keys, and sinks that are larger and smaller."""
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
            rows = tokens * heads
            text.argument("rows", np.full((tokens, heads, size), np.nan, np.float32),
                          "f32", is_output=True, static_dims=2)
            text.argument("sinks", sinks, "f32")
            text.argument("lse", np.full((tokens, heads), np.nan, np.float32), "f32",
                          is_output=True, static_dims=1)
            text.argument("workspace", np.full(parts * rows * (size + 2), np.nan,
                                               np.float32), "f32", static_dims=0)
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
        require(run.block, "a row", near(got["rows"], want, 1e-5, 1e-6))
        require(run.block, "a log-sum-exp", near(got["lse"], lse, 1e-5, 1e-5))

    return check


CHECKS = {
    "softmax-codes": Softmax(2, True, False, 2, 2, True, True),
    "softmax-numbers": Softmax(1, False, True, 4, 0, False, True),
    "softmax-bent": Softmax(1, False, True, 4, 0, False, False),
    "softmax-latents": Softmax(2, False, False, 8, 1, False, True),
    "softmax-merge": check_merge,
    "weight-terms-f16": check_weight_terms(np.float16),
    "weight-terms-bf16": check_weight_terms(BF16),
    "cache-numbers": check_cache(PoolLayout(dtype="bf16", H=2, D=80, P=16, L=2)),
    "cache-codes": check_cache(PoolLayout(
        dtype="f8E4M3FN", H=2, D=96, P=24, L=2, scale_dtype="bf16", g=32, order="HND"),
        own_table=True),
    "cache-short-pages": check_cache(PoolLayout(
        dtype="i8", H=2, D=64, P=4, L=2, scale_dtype="f32", g=16)),
    "shared-scales": check_shared_scales,
    "queries-of-codes": check_queries(np.float16, 96, 24, 1, 3, -0.5),
    "queries-of-numbers": check_queries(BF16, 80, 80, 2, 9, 2),
    **{f"scores-{kind}": check_scores(kind) for kind in PRODUCTS},
    **{f"outputs-{kind}": check_outputs(kind) for kind in PRODUCTS},
    "results-of-one": check_results(1),
    "results-of-parts": check_results(3),
}
