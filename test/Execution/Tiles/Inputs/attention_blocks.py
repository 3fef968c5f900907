# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the building blocks of attention must give, by NumPy."""
import dataclasses

import ml_dtypes
import numpy as np

import programs
from block_runner import BF16, COLUMN, E4M3, LANE, ROW, floats, halves, require
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
                signs = np.where(np.signbit(scales), -1.0, 1.0)
            largest = np.fmax.reduce(x + np.fmax.reduce(logs, 0), axis=1)
            largest = self.together(largest, np.fmax.reduce)
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


def has_element_scales(layout):
    """Whether elements of a step of 16 have several scales."""
    return layout.G is not None and 1 < layout.G and layout.g % 16 != 0


def granules_of_run(g, per_lane):
    """Granules that a lane's run of elements has parts of, at most."""
    if per_lane % g == 0:
        return per_lane // g
    return 1 if g % per_lane == 0 else (per_lane - 2) // g + 2


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
                            runs = granules_of_run(layout.g, per_lane)
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


def check_queries(product, size, row_groups, group, number):
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
        steps = [(piece, step) for piece, (_, per_lane) in enumerate(pieces)
                 for step in range(per_lane // 4)]
        fragments = [[out.take(2) for _ in steps] for _ in range(row_groups)]
        if row_groups == 2:
            for upper, lower in zip(*fragments):
                want = np.stack([upper[0], lower[0], upper[1], lower[1]])
                require(run.block, "fragment A", out.take(4) == want)
        of = dict(zip(steps, fragments[0]))
        upper, lower = of[0, 0], of[1, 0]
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
            for (piece, step), words in zip(steps, fragments[row_group]):
                start, per_lane = pieces[piece]
                for half in range(2):
                    element = (start + COLUMN * per_lane + 4 * step + 2 * half)[:, None] + (
                        np.arange(2))
                    got = halves(words[half], product) * back[:, None]
                    want = numbers[ROW[:, None], element] * number
                    require(run.block, "fragment B", got == want)
        require(run.block, "the end", out.words == 0)

    return check


def quantized(dtype, D, g):
    return PoolLayout(dtype=dtype, H=2, D=D, P=16, L=2, scale_dtype="f32", g=g)


# The layout, the type of queries, groups of eight rows, rows of a token.
PRODUCTS = {
    "bf16": (PoolLayout(dtype="bf16", H=2, D=80, P=16, L=2), BF16, 2, 9),
    "f16": (PoolLayout(dtype="f16", H=2, D=64, P=32, L=2), np.float16, 1, 3),
    "e4m3": (quantized("f8E4M3FN", 96, 32), BF16, 1, 4),
    "i8": (quantized("i8", 64, 32), np.float16, 2, 12),
    "fine-granules": (quantized("f8E4M3FN", 128, 2), BF16, 1, 4),
    "odd-granules": (quantized("i8", 96, 12), BF16, 2, 16)}


class Products:
    """A cache's numbers in f64, and where the lanes' rows and tokens lie."""

    def __init__(self, kind):
        self.layout, self.query, self.row_groups, self.group = PRODUCTS[kind]
        self.cache = Cache(self.layout)
        self.has_element_scales = has_element_scales(self.layout)
        # The lane's rows and tokens.
        if self.layout.G:
            self.rows = [2 * COLUMN + i + 8 * g for g in range(self.row_groups)
                         for i in (0, 1)]
            self.tokens = [ROW + 8 * i for i in (0, 1)]
        else:
            self.rows = [ROW + 8 * g for g in range(self.row_groups)]
            self.tokens = [2 * COLUMN + i // 2 * 8 + i % 2 for i in range(4)]

    def numbers(self, side):
        """Numbers of the tile that is read, without scales, and these."""
        tokens = 16 * PLACE["inside"] + np.arange(16)
        codes = self.cache.codes(1, side, 1, tokens)
        storage = ELEMENT_TYPES[self.layout.dtype].storage
        numbers = read(np.ascontiguousarray(codes).view(storage)[..., 0],
                       self.layout.dtype).astype(np.float64)
        scales = np.ones(numbers.shape)
        if self.layout.G:
            scales = self.cache.scales(1, side, 1, tokens).astype(np.float64)
            scales = np.repeat(scales, self.layout.g, -1)[:, :self.layout.D]
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
        count = len(of.rows) * len(of.tokens)
        got = floats(run(words, count + len(of.rows) + 1, extend)["out"]).astype(np.float64)
        scores, factors, unit = got[:count], got[count:-1], got[-1]
        keys, scales = of.numbers(0)
        chosen = np.concatenate(rows)
        numbers = q[first + chosen // of.group, of.group + chosen % of.group]
        numbers = numbers.astype(np.float64)
        want = numbers @ (keys * scales).T
        bound = 1e-6 * (np.abs(numbers) @ np.abs(keys * scales).T)
        for i, row in enumerate(of.rows):
            for j, token in enumerate(of.tokens):
                score = scores[i * len(of.tokens) + j] * factors[i] * unit
                require(run.block, "a score",
                        np.abs(score - want[row, token]) <= bound[row, token])

    return check


def check_outputs(kind):
    def check(run):
        of, random = Products(kind), np.random.default_rng(14)
        granules = 1 if of.has_element_scales else of.layout.G or 1
        # Exact in f16, or as a sum of two bf16.
        weights = random.integers(0, 64, (granules, 8 * of.row_groups, 16)) / 64
        given = np.stack([weights[n, row, token] for n in range(granules)
                          for row in of.rows for token in of.tokens])
        extend = of.cache.extend

        def with_queries(text):
            # Not read.
            text.argument("q", np.zeros((1, 2 * of.group, of.layout.D), np.uint16),
                          "f16" if of.query is np.float16 else "bf16", static_dims=2)
            extend(text)
        words = np.concatenate([place_words(32), given.astype(np.float32).view(np.int32)])
        sums = of.row_groups * of.layout.D // 4
        out = Words(run(words, 41 + sums, with_queries)["out"])
        pieces = out.pieces(run.block, of.layout.D, 8)
        got = floats(out.take(sums + 1)).astype(np.float64)
        values, scales = of.numbers(1)
        # Scales of granules are the weights' matter; those of elements round
        # values to f16.
        relative = 2.0**-11 if of.has_element_scales else 1e-5
        if of.has_element_scales:
            values = values * scales
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
                        terms = weights[granule if granules > 1 else 0, row]
                        terms = terms * values.T[element]
                        error = np.abs((got[number] - 0.5) * unit - terms.sum(-1))
                        require(run.block, "a sum", error <= relative * (
                            np.abs(terms).sum(-1)) + 1e-5 * unit)
                at += per_lane * 2

    return check


def latent_element(chunk, at, is_8_bit):
    """The element that is number `at` of chunk `chunk` of a row in shared memory."""
    if not is_8_bit:
        return 8 * chunk + at
    return 16 * (chunk // 2) + 2 * (at // 2 * 2 + chunk % 2) + at % 2


def check_latents(dtype):
    """32 tokens of 64 elements and 16 rows, of which all numbers are small."""
    is_8_bit = dtype is E4M3
    product = np.float16 if is_8_bit else BF16

    def check(run):
        random = np.random.default_rng(15)
        keys = random.standard_normal((32, 64)).astype(dtype)
        pieces = keys.view(np.int32).reshape(-1, 128, 4).transpose(0, 2, 1).reshape(-1, 128)
        queries = random.standard_normal((16, 64)).astype(product)
        thread = np.arange(128)
        warp, row, column = thread // 32, thread % 32 // 4, thread % 4
        # Fragment A of step `warp`: elements as keys have them in two chunks.
        fragment = []
        for i in range(4):
            element = np.stack([latent_element(2 * warp + i // 2, 2 * column + j, is_8_bit)
                                for j in range(2)], -1)
            pair = queries[(row + i % 2 * 8)[:, None], element]
            fragment.append(np.ascontiguousarray(pair).view(np.int32)[:, 0])
        scales = random.uniform(0.5, 2, 32).astype(np.float32)
        own = [scales[8 * warp + 2 * column + i] for i in range(2)]
        weights = random.integers(0, 64, (16, 32)) / 64
        given = [weights[row + 8 * r, t // 2 * 8 + 2 * column + t % 2]
                 for r in range(2) for t in range(8)]
        words = np.concatenate([pieces, fragment, np.array(own + given, np.float32).view(
            np.int32)])
        got = floats(run(words, 4 + 8 + 1)).astype(np.float64)
        unit = got[-1]
        keys, queries = keys.astype(np.float64), queries.astype(np.float64)
        want = queries @ keys.T * scales
        bound = 1e-6 * (np.abs(queries) @ np.abs(keys).T) * scales
        for r in range(2):
            for t in range(2):
                place = row + 8 * r, 8 * warp + 2 * column + t
                require(run.block, "a score", np.abs(
                    got[2 * r + t] * unit - want[place]) <= bound[place])
        for n in range(2):
            for i in range(4):
                # Fragment C of eight elements: those of a chunk.
                element = latent_element(2 * warp + n, 2 * column + i % 2, is_8_bit)
                terms = weights[row + i // 2 * 8] * keys.T[element]
                error = np.abs((got[4 + 4 * n + i] - 0.5) * unit - terms.sum(-1))
                require(run.block, "a sum",
                        error <= 1e-5 * (np.abs(terms).sum(-1) + unit))

    return check


def check_query_tiles(run):
    """Sequences of no row, of some, and offsets beyond the tensor's end."""
    group, size, rows, length = 5, 16, 11, 7
    offsets = np.array([0, 0, 3, 4, 4, 13], np.uint32)
    items = rows * group // size + len(offsets) - 1
    want = {}
    for b in range(len(offsets) - 1):
        begin, end = (min(int(n), rows) for n in offsets[b:b + 2])
        for tile in range(-(-(end - begin) * group // size)):
            item = int(offsets[b]) * group // size + b + tile
            first = tile * size
            want[item] = (b, begin, first, (end - begin) * group,
                          length + first // group + 1)
    warps = 12
    require(run.block, "the number of items", items <= warps and max(want) < items)

    def extend(text):
        text.argument("rows", np.zeros((rows, 1), np.float32), "f32", static_dims=1)
        text.argument("offsets", offsets, "i32", static_dims=0)
    got = run(np.full((1, 32 * warps), length, np.int32), 7, extend)["out"]
    got = got.reshape(7, warps, 32)
    require(run.block, "items", got[0] == items)
    for item in range(items):
        exists = got[1, item] != 0
        require(run.block, "whether there is a tile", exists == (item in want))
        if item in want:
            require(run.block, "a tile", got[2:, item].T == want[item])


def check_slots(page_size, lists=False):
    """Keys of a sequence, the last tile of which ends beyond them, or of lists
    with entries that are none."""
    def check(run):
        layout = PoolLayout(dtype="f8E4M3FN", H=1, D=128, P=page_size, L=2, is_mla=True,
                            scale_dtype="f32", g=128)
        cache, random = Cache(layout, own_table=True), np.random.default_rng(16)
        sequence, row, end = 1, 2, 75
        tokens = np.minimum(np.arange(96), end - 1)
        valid = np.full(96, True)
        slots = np.full((2, 4, end), -1, np.int64)
        if lists:
            tokens[:end] = random.integers(0, cache.length, end)
            tokens[end:] = tokens[end - 1]
            valid = np.append(random.random(end) < 0.7, np.full(96 - end, False))
            for of, table in zip(slots, (cache.table, cache.scales_table)):
                block, slot = cache.rows(table, sequence, tokens[:end]).T
                of[row] = np.where(valid[:end], block * page_size + slot, -1)

        def extend(text):
            for name, of in zip(("slots", "scale_slots"), slots if lists else ()):
                text.argument(name, of, "i64", static_dims=0)
            cache.extend(text)
        words = np.repeat(np.array([[sequence], [end], [row], [1], [2]], np.int32), 128, 1)
        out = Words(run(words, 20, extend)["out"])
        for tile in (1, 2):
            chosen = slice(32 * tile, 32 * tile + 32)
            codes = cache.codes(sequence, 0, 0, tokens[chosen])[..., 0]
            codes[~valid[chosen]] = 0
            # Pieces of 16 bytes, token after token; a thread has every 128th.
            want = codes.view(np.int32).reshape(2, 128, 4).transpose(0, 2, 1)
            require(run.block, "a key", out.take(8) == want.reshape(8, 128))
            scales = cache.scales(sequence, 0, 0, tokens[chosen])[:, 0]
            got, is_key = floats(out.take(1))[0], out.take(1)[0] != 0
            there = np.tile(valid[chosen], 4)
            require(run.block, "whether there is a key", is_key == there)
            require(run.block, "a scale", (got == np.tile(scales, 4))[there])
        require(run.block, "the end", out.words == 0)

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
    "shared-scales": check_shared_scales,
    "queries-8-bit": check_queries(np.float16, 96, 1, 3, -0.5),
    "queries-16-bit": check_queries(BF16, 80, 2, 9, 2),
    **{f"scores-{kind}": check_scores(kind) for kind in PRODUCTS},
    **{f"outputs-{kind}": check_outputs(kind) for kind in PRODUCTS},
    "latents-e4m3": check_latents(E4M3),
    "latents-bf16": check_latents(BF16),
    "query-tiles": check_query_tiles,
    "slots-of-pages": check_slots(64),
    "slots-of-short-pages": check_slots(16),
    "slots-of-lists": check_slots(64, lists=True),
    "results-of-one": check_results(1),
    "results-of-parts": check_results(3),
}
