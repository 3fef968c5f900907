# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random cases of attention, of the indexer and of slots of its tokens.

Pages lie in random order, slots that no token was written to hold NaN, table
columns that no token needs hold 0xFFFFFFFF or name another page.
"""
import dataclasses

import numpy as np

import reference
from case_builder import CaseBuilder, with_outputs
from case_folder import POOLS, Case
from element_types import decode
from indexer_cases import exact_queries, exact_scales
from pool_layout import PoolLayout, ceildiv
from reference_numbers import write

CODES = ("f8E4M3FN", "i8")


def _pick(rng, *choices):
    return choices[rng.integers(len(choices))]


def _scales(rng, layout, count, are_far):
    """Scales [count, H, G], of both signs where the operation and the format have
    them; where they `are_far` apart, some but the first of a token are 2^-80 of
    others, or 0."""
    shape = (count, layout.H, layout.G)
    scales = np.exp2(rng.uniform(-8, -4, shape))
    if are_far:
        scales[..., 1:] *= rng.choice([1, 1, 2.0**-20, 2.0**-80, 0], shape)[..., 1:]
    if not layout.is_mla and layout.scale_dtype != "f8E8M0FNU":
        scales *= rng.choice([-1, 1], shape)
    return write(scales.astype(np.float32), layout.scale_dtype)


def _numbers(rng, layout, count, has_nan, are_far=False):
    """Codes and scales of `count` tokens: bytes [count, H, ...]. The first token
    may have a NaN."""
    shape = (count, layout.H, layout.D)
    if layout.dtype not in CODES:
        codes = write(rng.standard_normal(shape).astype(np.float32), layout.dtype)
    else:
        codes = rng.integers(0, 256, shape).astype(np.uint8)
        if layout.dtype == "f8E4M3FN":
            codes[(codes & 0x7F) == 0x7F] ^= 1
            if has_nan and rng.integers(2):
                codes[0, rng.integers(layout.H), rng.integers(layout.D)] |= 0x7F
    as_bytes = lambda x: np.ascontiguousarray(x).view(np.uint8).reshape(
        count, layout.H, -1)
    scales = None
    if layout.G:
        scales = as_bytes(_scales(rng, layout, count, are_far))
    return as_bytes(codes), scales


def _cache(rng, layout, lengths, own_table, has_nan, are_far=False):
    """Pools with tokens in random pages, and their tables."""
    pages = [ceildiv(length, layout.P) for length in lengths]
    columns = max(max(pages, default=0), 1) + int(rng.integers(2))

    def place():
        blocks = sum(pages) + 1 + int(rng.integers(3))
        order = iter(rng.permutation(blocks))
        table = np.full((len(lengths), columns), 0xFFFFFFFF, np.uint32)
        for b, count in enumerate(pages):
            table[b, :count] = [next(order) for _ in range(count)]
        return blocks, table

    nb, table = place()
    nbs, scales_table = place() if own_table else (nb, table)
    pools = reference.Pools(
        layout, nb, nbs, np.full(nb * layout.page_bytes, 0xFF, np.uint8),
        (np.full(nbs * layout.scales_page_bytes, 0xFF, np.uint8)
         if layout.has_scales_pool else None))
    for b, length in enumerate(lengths):
        if not length:
            continue
        tokens = np.arange(length)
        rows = lambda of: np.stack([of[b, tokens // layout.P].astype(np.int64),
                                    tokens % layout.P], axis=1)
        for side in range(layout.KD):
            for layer in range(layout.L):
                codes, scales = _numbers(rng, layout, length, has_nan, are_far)
                pools.put("codes", rows(table), side, layer, codes)
                if layout.G:
                    pools.put("scales", rows(scales_table), side, layer, scales)
    inputs = pools.outputs() | {"lookup_table": table}
    if own_table:
        inputs["scales_lookup_table"] = scales_table
    return nb, nbs, inputs


def _rows(rng, inputs, new, lengths, heads, size):
    """Queries and what says whose they are; the new tokens of each sequence. Some
    sequences lose theirs, and rows of no sequence, of NaN, lie before and behind."""
    q = rng.standard_normal((sum(new), heads, size)).astype(np.float32)
    # Of its own, so that what else a case has does not hang on it.
    chance = np.random.default_rng([sum(new), heads, size])
    has_rows = chance.random(len(new)) < (0.8 if len(new) > 1 else 1)
    q = q[np.repeat(has_rows, new)]
    new = [int(n) for n in np.where(has_rows, new, 0)]
    before, behind = (int(n) for n in chance.choice([0, 0, 1, 6, 17], 2))
    nobody = lambda rows: np.full((rows, heads, size), np.nan, np.float32)
    q = np.concatenate([nobody(before), q, nobody(behind)])
    offsets = before + np.concatenate([[0], np.cumsum(new)])
    inputs |= {"row_offsets": offsets.astype(np.uint32), "q": write(q, "bf16"),
               "old_lengths": np.array(lengths, np.uint32) - np.array(new, np.uint32)}
    return new


def _global_scale(rng, dtype):
    """Keys stay of a size, so that several of a row matter."""
    return float(_pick(rng, 1, 1, 0.5, 1.7, -0.7)) if dtype in CODES else 1.0


def _remarks(layout, has_nan):
    globally = f" times {layout.global_scale}" if layout.global_scale != 1 else ""
    return globally + (" NaN" if has_nan else "")


def _rearranged(rng, layout):
    """A quantised layout with its scales elsewhere, pages further apart."""
    if layout.G:
        layout = dataclasses.replace(
            layout, placement=_pick(rng, "pool", "inline", "page_split"))
    if layout.placement != "pool":
        return dataclasses.replace(layout, page_align=int(_pick(rng, 1, 16, 576)))
    derived = layout.derived()
    more = lambda of: int(_pick(rng, 0, 1, 2)) * layout.H * of
    return dataclasses.replace(
        layout, value_pitch=derived["page_pitch"] + more(layout.D),
        scale_pitch=(derived["scales_pitch"] + more(layout.G)) if layout.G else None)


def _arranged(layout):
    """What of a layout is out of the ordinary."""
    if layout.placement != "pool":
        return f" {layout.placement}"
    return "" if layout.derived()["packed"] else " padded"


def attention_case(rng, lengths, group, options):
    dtype = options.get("dtype") or _pick(rng, "bf16", "f16", *CODES)
    D = options.get("D") or _pick(rng, 64, 80, 96, 128, 192, 256)
    layout = PoolLayout(
        dtype=dtype, H=options.get("H") or _pick(rng, 1, 2, 3), D=D,
        P=options.get("P") or _pick(rng, 16, 32, 64, 8, 24, 4, 1, 3, 61), L=2,
        scale_dtype=(_pick(rng, "f32", "f32", "bf16", "f16", "f8E8M0FNU", "f8E4M3FN")
                     if dtype in CODES else None),
        g=(options.get("g") or _pick(rng, D, 128, 64, 32, 16, 24,
                                     *rng.choice([1, 2, 3, 8, 12, 20, 48], 3))
           if dtype in CODES else None),
        order=_pick(rng, "NHD", "NHD", "HND"), global_scale=_global_scale(rng, dtype))
    if options.get("rearranged"):
        layout = _rearranged(rng, layout)
    P = layout.P
    lengths = [{"P": P, "P-1": P - 1, "P+1": P + 1}.get(n, n) for n in lengths]
    # Decode of up to eight tokens, or a chunk of a prompt.
    most = _pick(rng, 1, 8, 8, 70)
    new = [min(n, int(rng.integers(1, most + 1))) for n in lengths]
    own = dtype in CODES and bool(rng.integers(2)) and layout.has_scales_pool
    has_nan = dtype == "f8E4M3FN" and rng.integers(3) == 0
    are_far = dtype in CODES and rng.integers(3) == 0
    nb, nbs, inputs = _cache(rng, layout, lengths, own, has_nan, are_far)
    new = _rows(rng, inputs, new, lengths, layout.H * group, D)
    dtypes = {"row_offsets": "u32", "q": "bf16"}
    if dtype == "f16" or dtype in CODES and rng.integers(2):
        inputs["q"] = write(decode(inputs["q"], "bf16").astype(np.float32), "f16")
        dtypes["q"] = "f16"
    args = {"l": 1, "scale": D**-0.5,
            "parts": options.get("parts") or _pick(rng, 0, 1, 3)}
    # Keys of a short window are one part.
    if not has_nan and not options.get("parts") and rng.integers(3) == 0:
        args["window"] = int(_pick(rng, 1, 9, P, 200))
    if rng.integers(3) == 0:
        args["softcap"] = 4.0
    if rng.integers(3) == 0:
        inputs["sinks"] = rng.standard_normal(layout.H * group).astype(np.float32)
        dtypes["sinks"] = "f32"
    if options.get("rearranged"):
        args["strided"] = int(_pick(rng, 0, 1, 8))
    name = (f"{dtype} H{layout.H} D{D} P{P} g{layout.g} {layout.order}{_arranged(layout)} "
            f"group {group} lengths {lengths} rows {inputs['row_offsets'].tolist()} of "
            f"{len(inputs['q'])} {args}{_remarks(layout, has_nan)}")
    return Case(name, "attention", layout, nb, nbs, args, inputs, dtypes, {})


def mla_case(rng, lengths, heads, options):
    dtype = options.get("dtype") or _pick(rng, "bf16", *CODES)
    P = options.get("P") or _pick(rng, 64, 32, 16, 64)
    scale_dtype = "f32"
    if options.get("rearranged"):
        P = options.get("P") or _pick(rng, 1, 3, 4, 24, 40, 96, 128)
        scale_dtype = _pick(rng, "f32", "bf16", "f16", "f8E8M0FNU", "f8E4M3FN")
    D, v_dim = _pick(rng, (576, 512), (576, 512), (128, 64), (320, 320))
    layout = PoolLayout(
        dtype=dtype, H=1, D=D, P=P, L=2, is_mla=True,
        scale_dtype=scale_dtype if dtype in CODES else None,
        g=D if dtype in CODES else None, global_scale=_global_scale(rng, dtype))
    if options.get("rearranged"):
        layout = _rearranged(rng, layout)
    lengths = [{"P": P, "P-1": P - 1, "P+1": P + 1}.get(n, n) for n in lengths]
    new = [min(n, int(rng.integers(1, 3))) for n in lengths]
    own = dtype in CODES and bool(rng.integers(2)) and layout.has_scales_pool
    has_nan = dtype == "f8E4M3FN" and rng.integers(3) == 0
    nb, nbs, inputs = _cache(rng, layout, lengths, own, has_nan)
    new = _rows(rng, inputs, new, lengths, heads, D)
    dtypes = {"row_offsets": "u32", "q": "bf16"}
    rows = len(inputs["q"])
    if rng.integers(2):
        scales = np.exp2(rng.uniform(-3, 0, (rows, heads)))
        scales *= rng.choice([1, 1, -1], scales.shape)
        inputs["q_scale"], dtypes["q_scale"] = scales.astype(np.float32), "f32"
    # Keys of a short list are one part.
    if options.get("slots") or not options.get("parts") and rng.integers(2):
        _name_slots(rng, layout, inputs, lengths, new,
                    options.get("slots") or int(rng.integers(1, 90)))
        dtypes |= {"slots": "i64", "scale_slots": "i64"}
    args = {"l": 1, "scale": D**-0.5, "v_dim": v_dim,
            "parts": options.get("parts") or _pick(rng, 0, 1, 3), "out_dtype": "f32"}
    if options.get("rearranged"):
        args["strided"] = int(_pick(rng, 0, 1, 8))
    name = (f"mla {dtype} {layout.scale_dtype} D{D} P{P}{_arranged(layout)} heads {heads} "
            f"lengths {lengths} rows {inputs['row_offsets'].tolist()} of "
            f"{len(inputs['q'])} {sorted(inputs)} {args}{_remarks(layout, has_nan)}")
    return Case(name, "mla_decode", layout, nb, nbs, args, inputs, dtypes, {})


def _name_slots(rng, layout, inputs, lengths, new, count):
    """Lists of `count` entries: some tokens of each row's sequence, -1 in between;
    rows of no sequence name what nobody has."""
    first = int(inputs["row_offsets"][0])
    rows = [(b, length) for b, length in enumerate(lengths) for _ in range(new[b])]
    lists = {"slots": "lookup_table"}
    if "scales_lookup_table" in inputs:
        lists["scale_slots"] = "scales_lookup_table"
    for name in lists:
        inputs[name] = np.full((len(inputs["q"]), count), 2**30, np.int64)
    for r, (b, length) in enumerate(rows, first):
        tokens = rng.integers(0, length, count)
        named = rng.random(count) < 0.7
        for name, table in lists.items():
            slots = (inputs[table][b, tokens // layout.P].astype(np.int64) * layout.P
                     + tokens % layout.P)
            inputs[name][r] = np.where(named, slots, -1)


def _lengths(rng, P, count):
    choices = [0, 1, max(P - 1, 1), P, P + 1, 300, int(rng.integers(1, 500))]
    return [int(choices[i]) for i in rng.integers(0, len(choices), count)]


def _attention(rng, op):
    """With outputs near enough: a hundredth, and a thousandth of the largest."""
    while True:
        group = int(_pick(rng, 1, 2, 3, 4, 8, 16))
        lengths = _lengths(rng, 16, int(rng.integers(1, 5)))
        options = {"rearranged": bool(rng.integers(2))}
        case = (attention_case(rng, lengths, group, options) if op == "attention" else
                mla_case(rng, lengths, int(_pick(rng, 1, 4, 16, 17, 32, 128)), options))
        first, *_, last = case.inputs["row_offsets"]
        if not case.name.endswith(" NaN") and first < last:
            break
    dtypes = {name: "u8" if name in POOLS else "u32" for name in case.inputs}
    case = dataclasses.replace(case, args=case.args | {"out_dtype": "f32"},
                               dtypes=dtypes | case.dtypes)
    case = with_outputs(case, {"rtol": 1e-3, "atol": 1e-3})
    out = case.outputs["out"]
    out.dtype, out.compare = "f64", {"rtol": 0.01,
                                     "atol": 1e-3 * float(np.nanmax(np.abs(out.array)))}
    case.outputs["lse"].dtype = "f64"
    return case


def _indexed_layout(rng, **fields):
    D = int(_pick(rng, 128, 128, 64, 96, 16, 48, 112))
    return PoolLayout.from_json(dict(
        dtype="f8E4M3FN", H=1, D=D, g=D, L=int(rng.integers(1, 3)),
        P=int(_pick(rng, 64, 192, 1, 3, 8, 16, 32, 61, 128, 40)),
        is_mla=bool(rng.random() < 0.7), scale_dtype="f32",
        placement=_pick(rng, "pool", "pool", "page_split", "inline"),
        global_scale=float(_pick(rng, 1, 1, 0.5, 2))) | fields)


def _sequences(rng, layout, new):
    """A builder with sequences whose new tokens lie in the cache, some pages of
    one pool or the other beyond it."""
    lengths = _lengths(rng, layout.P, len(new))
    all_tokens = [a + c for a, c in zip(lengths, new)]
    nb = sum(ceildiv(n, layout.P) for n in all_tokens) + 2
    b = CaseBuilder(rng, layout, nb, nb + 2, own_table=rng.random() < 0.5)
    b.sequences(all_tokens, [0] * len(new))
    b.fill()
    for name in ("lookup_table", "scales_lookup_table"):
        if name in b.inputs and rng.integers(2):
            table = b.inputs[name]
            table[rng.integers(table.shape[0]), rng.integers(table.shape[1])] = nb + 3
    return b, lengths


def _indexer_topk(rng, op):
    layout = _indexed_layout(rng, placement="pool")
    new = [int(n) for n in rng.choice([0, 1, 1, 2, 5], int(rng.integers(1, 4)))]
    new[0] += 1
    b, lengths = _sequences(rng, layout, new)
    exact_queries(b, sum(new) + int(_pick(rng, 0, 0, 3)),
                  int(_pick(rng, 64, 1, 4, 16, 33, 128)))
    exact_scales(b)
    b.set("old_lengths", lengths, "u32")
    b.set("row_offsets", np.cumsum([0] + new), "u32")
    return b.case(op, op, l=int(rng.integers(layout.L)), causal=bool(rng.integers(2)),
                  top_k=int(_pick(rng, 1, 8, 64, 100, 512)))


def _remap_indices(rng, op):
    layout = _indexed_layout(rng)
    ragged, count = bool(rng.integers(2)), int(rng.integers(1, 5))
    new = rng.integers(0, 4, count).tolist() if ragged else [0] * count
    b, lengths = _sequences(rng, layout, new)
    rows = count
    if ragged:
        b.set("cache_lengths", lengths, "u32")
        b.set("row_offsets", 1 + np.cumsum([0] + new), "u32")
        rows = sum(new) + 3
    b.set("indices", rng.integers(-3, max(lengths) + 9,
                                  (rows, int(_pick(rng, 1, 7, 64, 700)))), "i32")
    return b.case(op, op)


MAKERS = {"attention": _attention, "mla_decode": _attention,
          "indexer_topk": _indexer_topk, "remap_indices": _remap_indices}


def random_attention_cases(count, seed, ops):
    """Yields `count` cases of the operations in turn."""
    rng = np.random.default_rng(seed)
    for number in range(count):
        case = MAKERS[ops[number % len(ops)]](rng, ops[number % len(ops)])
        layout = case.layout
        yield dataclasses.replace(
            case, name=f"random{number:03}_{case.op}_{layout.dtype}_D{layout.D}_P{layout.P}",
            notes=f"random layout; seed {seed}: {case.name}")
