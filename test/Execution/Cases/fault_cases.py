# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A small case for each class of fault that users of paged caches report:
sentinels, tables, padded batches, page pitches, launches, what lies beside."""
import itertools

import numpy as np

import gather_cases
import grid_cases
import indexer_cases
import number_cases
import rotary_cases
import sparse_cases
from case_builder import (CaseBuilder, poisoned_pools, random_codes,
                          random_numbers, random_scales)
from pool_layout import PoolLayout
from reference_numbers import write


def layout(dtype="bf16", H=2, D=16, P=4, L=1, **fields):
    return PoolLayout.from_json(dict(dtype=dtype, H=H, D=D, P=P, L=L) | fields)


SCALED = {"dtype": "f8E4M3FN", "scale_dtype": "f32", "g": 16}
RULE = {"contract": "arbitrary", "floor": 0.0, "floor_on": "scale",
        "apply": "inverse"}


def _codes(builder, rows, name="x"):
    """Ready codes of `rows`, and scales where there are any."""
    of = builder.layout
    builder.set(name, random_codes(builder.rng, (*rows, of.H, of.D), of.dtype),
                of.dtype)
    if of.G:
        scales = random_scales(builder.rng, (*rows, of.H, of.G), of.scale_dtype)
        builder.set("x_scales", scales, of.scale_dtype)


def _ragged(builder, lengths, new, extra=0, columns=None):
    builder.sequences(lengths, new, columns)
    builder.fill()
    builder.set("row_offsets", np.cumsum([0] + list(new)), "u32")
    _codes(builder, (sum(new) + extra,))


def padded_batch(rng):
    """Rows past the last offset, and sequences of padding whose tables hold
    sentinels alone."""
    for kind, fields in (("bf16", {}), ("scaled", SCALED)):
        b = CaseBuilder(rng, layout(**fields), 8, 9, own_table=True)
        _ragged(b, [5, 3, 0, 0], [2, 1, 0, 0], extra=6)
        b.inputs["lookup_table"][2:] = [[8] * 3, [0xFFFFFFFF] * 3]
        yield b.case(f"padded_batch_append_{kind}", "append", c=1, l=0,
                     form="ragged")
        b = CaseBuilder(rng, layout(**fields), 8, 9, own_table=True)
        b.sequences([5, 3, 0, 0], [0] * 4)
        b.inputs["lookup_table"][2:] = [[8] * 3, [0xFFFFFFFF] * 3]
        b.fill()
        yield b.case(f"padded_batch_gather_{kind}", "gather", c=0, l=0, rows=9,
                     out_dtype="bf16", scales=bool(fields))


def tables(rng):
    # One block in every column, of which only the first is live.
    b = CaseBuilder(rng, layout(**SCALED), 7)
    _ragged(b, [1], [2], columns=3)
    b.set("lookup_table", [[5, 5, 5]], "u32")
    b.fill()
    yield b.case("table_one_block_everywhere", "append", c=0, l=0, form="ragged")

    # Live columns that name no block: nothing written, nothing but zeros read.
    for sentinel in (6, 0xFFFFFFFF, 13, 0x80000000):
        b = CaseBuilder(rng, layout(**SCALED), 6)
        _ragged(b, [6, 2], [4, 3])
        b.inputs["lookup_table"][0, 1] = sentinel
        yield b.case(f"table_live_sentinel_{sentinel:x}_append", "append", c=1,
                     l=0, form="ragged")
        b = CaseBuilder(rng, layout(**SCALED), 6)
        b.sequences([11, 5], [0, 0])
        b.fill()
        b.inputs["lookup_table"][0, 1] = sentinel
        yield b.case(f"table_live_sentinel_{sentinel:x}_gather", "gather", c=1,
                     l=0, rows=12, out_dtype="f32", scales=True)

    # Positions past the table are dropped, not clamped onto its last page.
    b = CaseBuilder(rng, layout(**SCALED), 6)
    b.sequences([7], [0], columns=2)
    b.fill()
    b.set("sequences", [0, 0, 0, 1], "i32")
    b.set("positions", [7, 8, 0x7FFFFFFF, 0], "i32")
    _codes(b, (4,))
    yield b.case("position_past_the_table", "append", c=0, l=0, form="positions")
    b = CaseBuilder(rng, layout(**SCALED), 6)
    b.sequences([7], [1], columns=2)
    b.fill()
    b.set("row_offsets", [0, 4], "u32")
    _codes(b, (4,))
    yield b.case("rows_past_the_table", "append", "cache_length + new > M * P",
                 c=0, l=0, form="ragged")

    # Blocks are checked against their own pool: either may be the larger one.
    for nb, nbs, value, scale in ((100, 2, 99, 1), (2, 100, 1, 99)):
        for op in ("append", "quantize_append", "gather"):
            b = CaseBuilder(rng, layout(**SCALED), nb, nbs, own_table=True)
            b.sequences([3], [1], columns=3)
            b.inputs["lookup_table"][0, 0] = value
            b.inputs["scales_lookup_table"][0, 0] = scale
            b.fill()
            args = {"c": 0, "l": 0}
            if op == "gather":
                args |= {"rows": 4, "out_dtype": "f32", "scales": True}
            else:
                b.set("row_offsets", [0, 1], "u32")
                args["form"] = "ragged"
                if op == "append":
                    _codes(b, (1,))
                else:
                    b.set("x", write(random_numbers(rng, (1, 2, 16)), "f16"), "f16")
                    args["quant"] = RULE
            yield b.case(f"pools_of_{nb}_and_{nbs}_{op}", op, **args)

    # One new token after nine: slot 1 of the third page.
    b = CaseBuilder(rng, layout(**SCALED), 4)
    _ragged(b, [9], [1])
    yield b.case("token_9_of_pages_of_4", "append", c=0, l=0, form="ragged")

    # The table fills the memory up to its last column.
    b = CaseBuilder(rng, layout(**SCALED, P=1), 40)
    b.sequences([33], [0], columns=33)
    b.fill()
    yield b.case("table_ends_with_the_last_page", "gather", c=0, l=0, rows=40,
                 out_dtype="bf16", scales=True)


def neighbours(rng):
    """What lies beside the bytes written: pitches, layers, sides."""
    padded = SCALED | {"value_pitch": 2 * 3 * 4 * 2 * 16 + 64,
                       "scale_pitch": 2 * 3 * 4 * 2 + 6}
    for side, layer in itertools.product((0, 1), (0, 2)):
        b = CaseBuilder(rng, layout(**padded, L=3), 3)
        b.everything()
        b.sequences([4], [4])
        b.set("row_offsets", [0, 4], "u32")
        _codes(b, (4,))
        yield b.case(f"padded_pages_side_{side}_layer_{layer}_append", "append",
                     c=side, l=layer, form="ragged")
        b = CaseBuilder(rng, layout(**padded, L=3), 3)
        b.sequences([4], [4])
        b.fill()
        b.set("row_offsets", [0, 4], "u32")
        b.set("x", write(random_numbers(rng, (4, 2, 16)), "bf16"), "bf16")
        yield b.case(f"padded_pages_side_{side}_layer_{layer}_quantize_append",
                     "quantize_append", c=side, l=layer, form="ragged", quant=RULE)
        b = CaseBuilder(rng, layout(**padded, L=3), 3)
        b.everything()
        b.sequences([7], [0])
        yield b.case(f"padded_pages_side_{side}_layer_{layer}_gather", "gather",
                     c=side, l=layer, rows=8, out_dtype="bf16", scales=True)
    # A square or a multiple of four: nothing is told from shapes.
    for H, P, order in ((4, 4, "NHD"), (4, 4, "HND"), (8, 8, "NHD"), (8, 8, "HND"),
                        (16, 4, "HND")):
        b = CaseBuilder(rng, layout(**SCALED, H=H, P=P, order=order), 5)
        _ragged(b, [P + 1], [3])
        yield b.case(f"square_{H}_{P}_{order}_append", "append", c=1, l=0,
                     form="ragged")
        b = CaseBuilder(rng, layout(**SCALED, H=H, P=P, order=order), 5)
        b.sequences([2 * P + 1], [0])
        b.fill()
        yield b.case(f"square_{H}_{P}_{order}_gather", "gather", c=1, l=0,
                     rows=2 * P + 2, out_dtype="f16", scales=True)


def pages(rng):
    """Scales move with their values, and nothing else does."""
    for own in (False, True):
        of = layout(**SCALED, L=2)
        name = "own" if own else "shared"
        for pairs, scale_pairs, what in (([[0, 1], [1, 2]], [[3, 0], [0, 4]], "chain"),
                                         ([[0, 1], [1, 0]], [[2, 4], [4, 2]], "swap"),
                                         ([[2, 2], [5, 0], [0, 0xFFFF]],
                                          [[1, 1], [7, 0], [0, 99]], "out_of_range")):
            for layers in (None, [1]):
                b = CaseBuilder(rng, of, 5, 6, own)
                b.everything()
                b.set("pairs", pairs, "i64")
                if own:
                    b.set("scale_pairs", scale_pairs, "i64")
                yield b.case(f"copy_{what}_{name}_{'all' if not layers else 'one'}",
                             "copy_pages", layers=layers)
        for layers in (None, [0], [1]):
            b = CaseBuilder(rng, of, 5, 6, own)
            b.everything()
            b.set("pages", [2, 4], "i64")
            if own:
                b.set("scale_pages", [0, 5], "i64")
            which = "all" if layers is None else layers[0]
            yield b.case(f"clear_{name}_{which}", "clear_pages", layers=layers)
        b = CaseBuilder(rng, of, 5, 6, own)
        b.everything()
        b.set("src", [0, 1, 7, -1, 20], "i64")
        b.set("dst", [1, 2, 0, 3, 4], "i64")
        if own:
            b.set("scale_src", [5, 6, 11, -1, 24], "i64")
            b.set("scale_dst", [6, 7, 5, 3, 4], "i64")
        yield b.case(f"move_chain_{name}", "move_tokens", layers=None)
        # Chains that branch, circles with branches, copies onto themselves, and
        # destinations that come again.
        for blocks, count in ((5, 9), (40, 48), (64, 300)):
            b = CaseBuilder(rng, layout(**SCALED, H=1, P=2), blocks, blocks + 3, own)
            b.everything()
            b.set("pairs", rng.integers(-1, blocks + 1, (count, 2)), "i64")
            if own:
                b.set("scale_pairs", rng.integers(0, blocks + 4, (count, 2)), "i64")
            yield b.case(f"copy_tangle_{count}_{name}", "copy_pages", layers=None)
            b = CaseBuilder(rng, layout(**SCALED, H=1, P=4), blocks // 4 + 1,
                            blocks // 4 + 2, own)
            b.everything()
            for each in ("src", "dst"):
                b.set(each, rng.integers(-1, blocks + 1, count), "i32")
                if own:
                    b.set(f"scale_{each}", rng.integers(-1, blocks + 4, count), "i32")
            yield b.case(f"move_tangle_{count}_{name}", "move_tokens", layers=None)
        b = CaseBuilder(rng, layout(**SCALED, H=1, P=2), 70, 70, own)
        b.everything()
        circle = rng.permutation(70)
        b.set("pairs", np.stack([circle, np.roll(circle, 1)], axis=1), "i64")
        if own:
            shift = np.arange(69)
            b.set("scale_pairs", np.stack([shift, shift + 1], axis=1), "i64")
        yield b.case(f"copy_circle_{name}", "copy_pages", layers=None)


def _repeated_rows(b, form, count):
    """Rows of which several go to one slot; their shape."""
    if form == "slots":
        for name, blocks in [("slots", b.nb)] + [("scale_slots", b.nbs)] * b.own:
            b.set(name, b.rng.integers(-1, min(9, blocks * b.layout.P + 1), count),
                  "i64")
        return (count,)
    # Two sequences share a page, of each pool another one.
    b.set("lookup_table", [[1, 2, 3], [1, 4, 99]], "u32")
    if b.own:
        b.set("scales_lookup_table", [[2, 4, 3], [1, 4, 99]], "u32")
    b.set("cache_lengths", [1, 2], "u32")
    if form == "positions":
        b.set("sequences", b.rng.integers(0, 3, count), "i32")
        b.set("positions", b.rng.integers(0, 9, count), "i32")
        return (count,)
    if form == "ragged":
        b.set("row_offsets", [1, 8, 13], "u32")
        return (count,)
    b.set("new_lengths", [7, 5], "u32")
    return 2, count // 2


def repeated(rng):
    """Of several rows for one slot the last one stands, with its scales."""
    heads = {"H": 8, "D": 128}
    kinds = [("small", SCALED | {"L": 2}), ("warps", SCALED | heads | {"g": 128}),
             ("plain", heads),
             ("rows", {"dtype": "f8E4M3FN", "scale_dtype": "f32", "g": 128, "H": 1,
                       "D": 576, "is_mla": True, "placement": "inline", "rope": 64})]
    forms = ("slots", "positions", "ragged", "padded")
    for (kind, fields), form, own in itertools.product(kinds, forms, (False, True)):
        of = layout(**fields)
        ops = ["append"] * (not of.rope)
        if of.G:
            ops += ["append_scales", "quantize_append"]
        ops += ["rope_quantize_append"] * (kind != "warps")
        if own and (not of.has_scales_pool or kind == "warps"):
            continue
        for op in ops:
            b = CaseBuilder(rng, of, 5, 7, own)
            b.everything()
            rows = _repeated_rows(b, form, 40)
            args = {"c": 0, "l": of.L - 1, "form": form}
            if op == "append":
                _codes(b, rows)
            elif op == "append_scales":
                b.set("x_scales", random_scales(rng, (*rows, of.H, of.G),
                                                of.scale_dtype), of.scale_dtype)
                if "scale_slots" in b.inputs:
                    b.inputs["slots"] = b.inputs.pop("scale_slots")
            else:
                b.set("x", rng.integers(-15, 16, (*rows, of.H, of.D)), "f32")
                if of.G:
                    args["quant"] = RULE
            if op == "rope_quantize_append":
                # Some turn by positions that the tables do not have: they do not
                # count.
                grid_cases.add_rotation(rng, b, args, ("half", 0, 4), None, "f32",
                                        rows)
            if kind != "rows":
                grid_cases.add_other_side(rng, b)
            name = f"repeated_{kind}_{form}_{'own' if own else 'shared'}_{op}"
            yield b.case(name, op, **args)


def shapes(rng):
    """Rows and granules that no vector fits."""
    for D, g, H in ((46, 16, 1), (96, 64, 1), (40, 12, 3), (1, 1, 1), (7, 3, 5)):
        for op in ("append", "quantize_append", "gather"):
            b = CaseBuilder(rng, layout("f8E4M3FN", H, D, 4, 1, scale_dtype="f32",
                                        g=g), 5)
            args = {"c": 1, "l": 0}
            if op == "gather":
                b.sequences([9], [0])
                b.fill()
                args |= {"rows": 10, "out_dtype": "bf16", "scales": True}
            else:
                _ragged(b, [3], [4])
                args["form"] = "ragged"
                if op == "quantize_append":
                    del b.inputs["x_scales"]
                    b.set("x", random_numbers(rng, (4, H, D)), "f32")
                    args["quant"] = RULE
            yield b.case(f"odd_D{D}_g{g}_H{H}_{op}", op, **args)
    for H in (128, 130):
        b = CaseBuilder(rng, layout("bf16", H, 128, 1), 4)
        _ragged(b, [1], [2])
        yield b.case(f"heads_{H}_append", "append", c=0, l=0, form="ragged")
        b = CaseBuilder(rng, layout("f8E4M3FN", H, 128, 1, scale_dtype="f32",
                                    g=128), 4)
        b.sequences([3], [0])
        b.fill()
        yield b.case(f"heads_{H}_gather", "gather", c=1, l=0, rows=3,
                     out_dtype="bf16", scales=True)


def launches(rng):
    """Empty sequences, nothing to do, and more than a grid's y and z hold."""
    b = CaseBuilder(rng, layout(**SCALED), 4)
    _ragged(b, [0, 5, 0], [0, 2, 0])
    yield b.case("empty_sequences_append", "append", c=0, l=0, form="ragged")
    b = CaseBuilder(rng, layout(**SCALED), 4)
    b.sequences([0, 5, 0], [0, 0, 0])
    b.fill()
    yield b.case("empty_sequences_gather", "gather", c=0, l=0, rows=6,
                 out_dtype="bf16", scales=True)
    for batch, what in ((2, "no_tokens"), (0, "no_sequences")):
        b = CaseBuilder(rng, layout(**SCALED), 4)
        _ragged(b, [3] * batch, [0] * batch, columns=2)
        yield b.case(f"{what}_append", "append", c=0, l=0, form="ragged")
        b = CaseBuilder(rng, layout(**SCALED), 4)
        b.sequences([0] * batch, [0] * batch, columns=2)
        b.fill()
        yield b.case(f"{what}_gather", "gather", c=0, l=0, rows=3,
                     out_dtype="bf16", scales=True)
    b = CaseBuilder(rng, layout(**SCALED), 4)
    b.sequences([3], [0])
    b.fill()
    yield b.case("no_rows_gather", "gather", c=0, l=0, rows=0, out_dtype="bf16",
                 scales=True)
    for op, name, shape in (("copy_pages", "pairs", (0, 2)),
                            ("clear_pages", "pages", (0,))):
        b = CaseBuilder(rng, layout(**SCALED), 4)
        b.everything()
        b.set(name, np.zeros(shape, np.int64), "i64")
        yield b.case(f"no_pages_{op}", op, layers=None)
    b = CaseBuilder(rng, layout(**SCALED), 4)
    b.everything()
    for name in ("src", "dst"):
        b.set(name, np.zeros(0, np.int64), "i64")
    yield b.case("no_tokens_move", "move_tokens", layers=None)

    tokens, batch = 65_536 + 3, 70_000
    small = layout("f8E4M3FN", 1, 1, 64, 1, is_mla=True)
    b = CaseBuilder(rng, small, 1026)
    _ragged(b, [1], [tokens])
    yield b.case("tokens_65539_append", "append", c=0, l=0, form="ragged")
    b = CaseBuilder(rng, layout("f8E4M3FN", 1, 1, 1, 1, is_mla=True), batch)
    b.set("lookup_table", rng.permutation(batch)[:, None], "u32")
    b.set("cache_lengths", np.ones(batch), "u32")
    b.everything()
    yield b.case("sequences_70000_gather", "gather", c=0, l=0, rows=1,
                 out_dtype="f32", scales=False)


def compactions(rng):
    """Live pages behind one another, in one another's places, and shared."""
    tables = {
        "reversed": ([[4, 3], [2, 1]], [[1, 2], [5, 4]]),
        "cycle": ([[1, 2], [3, 0]], [[3, 0], [1, 2]]),
        "in_place": ([[0, 1], [2, 3]], [[0, 1], [2, 3]]),
        "shared_prefix": ([[4, 3], [4, 1]], [[5, 0], [5, 2]]),
        "dead_columns": ([[4, 0], [9, 9]], [[3, 0], [9, 9]]),
        "nothing_live": ([[7, 8], [9, 9]], [[7, 8], [9, 9]]),
    }
    lengths = {"dead_columns": [3, 0], "nothing_live": [0, 0]}
    for own, (name, pair) in itertools.product((False, True), tables.items()):
        b = CaseBuilder(rng, layout(**SCALED, L=2), 5, 6, own)
        b.everything()
        b.set("lookup_table", pair[0], "u32")
        if own:
            b.set("scales_lookup_table", pair[1], "u32")
        b.set("cache_lengths", lengths.get(name, [7, 5]), "u32")
        yield b.case(f"compact_{name}_{'own' if own else 'shared'}", "compact")


def conversions(rng):
    """To and from the layouts that others publish."""
    row656 = dict(dtype="f8E4M3FN", H=1, D=576, is_mla=True, scale_dtype="f32",
                  g=128, rope=64)
    model1 = dict(dtype="f8E4M3FN", H=1, D=512, is_mla=True, rope=64, g=64,
                  scale_dtype="f8E8M0FNU")
    indexer = dict(dtype="f8E4M3FN", H=1, D=128, is_mla=True, scale_dtype="f32",
                   g=128)
    heads = dict(dtype="f8E4M3FN", H=2, D=64, scale_dtype="f32", g=64)
    nvfp4 = dict(dtype="f4E2M1FN", H=2, D=64, scale_dtype="f8E4M3FN", g=16)
    inline, split = {"placement": "inline"}, {"placement": "page_split"}
    pairs = {
        "row656": (row656 | inline, row656 | split),
        "model1": (model1 | split | {"footer": 8, "page_align": 576},
                   model1 | inline),
        "indexer": (indexer | split, indexer),
        "token_head": (heads | inline, heads),
        "kv_inner": (heads | inline | {"kv_inner": True}, heads | inline),
        "nvfp4": (nvfp4 | split | {"order": "HND", "swizzle": "v"}, nvfp4),
        "order": (heads | {"order": "HND"}, heads),
        "layers": (heads | inline | {"L": 3, "page_align": 256}, heads | {"L": 3}),
    }
    for name, pair in pairs.items():
        for what, (source, target) in (("from", pair), ("to", pair[::-1])):
            b = CaseBuilder(rng, layout(**source), 3)
            b.everything()
            to = layout(**target)
            for pool, data in poisoned_pools(to, 3, 3).items():
                b.set(f"to_{pool}", data, "u8")
            yield b.case(f"convert_{what}_{name}", "convert_layout", to=to)


def placements(rng):
    """Pages as others lay them out: one side is written, the other intact."""
    inline = {"placement": "inline"}
    split = {"placement": "page_split"}
    rope = {"rope": 8, "rope_dtype": "bf16"}
    kinds = {
        "inline": inline, "inline_hnd": inline | {"order": "HND"},
        "kv_inner": inline | {"kv_inner": True},
        "inline_rope": inline | rope | {"is_mla": True, "H": 1},
        "odd_scales": inline | {"D": 7, "g": 3},
        "odd_tail": inline | rope | {"D": 25, "scale_dtype": "f8E8M0FNU"},
        "split": split, "split_hnd": split | {"order": "HND"},
        "split_footer": split | {"footer": 16, "page_align": 96},
        "split_rope_e8m0": split | rope | {"scale_dtype": "f8E8M0FNU", "footer": 8,
                                           "is_mla": True, "page_align": 576},
        "swizzle_v": split | {"order": "HND", "swizzle": "v", "g": 4, "L": 2},
        "swizzle_kv": {"swizzle": "kv", "g": 2, "P": 8, "order": "HND"},
        "swizzle_nhd": split | {"swizzle": "kv", "g": 8, "P": 8},
    }
    for kind, fields in kinds.items():
        of = layout(**(SCALED | fields))
        for side in range(of.KD):
            b = CaseBuilder(rng, of, 4)
            b.everything()
            b.sequences([3], [3])
            b.set("row_offsets", [0, 3], "u32")
            x = random_numbers(rng, (3, of.H, of.D))
            b.set("x", write(x, "bf16"), "bf16")
            yield b.case(f"placed_{kind}_{side}_quantize_append",
                         "quantize_append", c=side, l=of.L - 1, form="ragged",
                         quant=RULE)
            b = CaseBuilder(rng, of, 4)
            b.sequences([7, 2], [0, 0])
            b.fill()
            yield b.case(f"placed_{kind}_{side}_gather", "gather", c=side,
                         l=of.L - 1, rows=9, out_dtype="f32", scales=True)


GROUPS = (padded_batch, tables, neighbours, pages, compactions, conversions, shapes,
          launches, placements, number_cases.number_cases, sparse_cases.sparse_cases,
          rotary_cases.rotary_cases, gather_cases.gather_cases,
          rotary_cases.rotary_append_cases, indexer_cases.remap_cases,
          indexer_cases.indexer_cases, repeated)


def fault_cases(seed=0):
    """Yields cases; each group has random numbers of its own."""
    for number, group in enumerate(GROUPS):
        yield from group(np.random.default_rng([seed, number]))
