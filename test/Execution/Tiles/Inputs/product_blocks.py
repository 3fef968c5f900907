# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What products of attention, and what brings their operands, must give, by NumPy."""
import numpy as np

from attention_caches import PLACE, Cache, Words, has_element_scales, place_words
from block_runner import BF16, COLUMN, E4M3, ROW, floats, halves, require
from element_types import ELEMENT_TYPES
from pool_layout import PoolLayout
from reference_numbers import read


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
        # Exact as a sum of two numbers.
        weights = random.integers(0, 2**16, (granules, 8 * of.row_groups, 16)) / 2**16
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
        # Exact as a sum of two numbers.
        weights = random.integers(0, 2**16, (16, 32)) / 2**16
        given = [weights[row + 8 * r, 8 * warp + 2 * column + t]
                 for r in range(2) for t in range(2)]
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
    """Sequences of no row, of some, and offsets beyond the tensor's end; rows of no
    sequence before the first."""
    for offsets in ([0, 0, 3, 4, 4, 13], [7, 7, 8, 10, 13], [9, 9], [5, 11]):
        _check_query_tiles(run, np.array(offsets, np.uint32))


def _check_query_tiles(run, offsets):
    group, size, rows, length = 5, 16, 11, 7
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
    require(run.block, "the number of items", items <= warps and max(want, default=0) < items)

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


CHECKS = {
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
}
