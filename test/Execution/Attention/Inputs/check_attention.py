#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs attention on random caches and compares it with NumPy in f64.

Pages lie in random order, slots that no token was written to hold NaN, table
columns that no token needs hold 0xFFFFFFFF. Each run is repeated: the results
must be the same bits. A result may differ from the exact one by `BOUND` times
the row's largest value. Some caches hold NaN where every row sees it.
"""
import argparse
import pathlib
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "Cases"))

import reference
from case_folder import Case
from element_types import ELEMENT_TYPES, decode
from pool_layout import PoolLayout, ceildiv
from programs import run_case
from reference_numbers import write
from runner import Runner
from verdicts import RunFailed

BOUND = 2e-3
CODES = ("f8E4M3FN", "i8")


def _pick(rng, *choices):
    return choices[rng.integers(len(choices))]


def _numbers(rng, layout, count, has_nan):
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
        scales = np.exp2(rng.uniform(-8, -4, (count, layout.H, layout.G)))
        scales = as_bytes(write(scales.astype(np.float32), layout.scale_dtype))
    return as_bytes(codes), scales


def _cache(rng, layout, lengths, own_table, has_nan):
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
                codes, scales = _numbers(rng, layout, length, has_nan)
                pools.put("codes", rows(table), side, layer, codes)
                if layout.G:
                    pools.put("scales", rows(scales_table), side, layer, scales)
    inputs = pools.outputs() | {"lookup_table": table}
    if own_table:
        inputs["scales_lookup_table"] = scales_table
    return nb, nbs, inputs


def _rows(rng, inputs, new, lengths, heads, size):
    """Queries and what says whose they are."""
    offsets = np.concatenate([[0], np.cumsum(new)]).astype(np.uint32)
    q = rng.standard_normal((int(offsets[-1]), heads, size)).astype(np.float32)
    inputs |= {"row_offsets": offsets, "q": write(q, "bf16"),
               "old_lengths": np.array(lengths, np.uint32) - np.array(new, np.uint32)}


def attention_case(rng, lengths, group, options):
    dtype = options.get("dtype") or _pick(rng, "bf16", "f16", *CODES)
    D = options.get("D") or _pick(rng, 64, 80, 96, 128, 192, 256)
    layout = PoolLayout(
        dtype=dtype, H=options.get("H") or _pick(rng, 1, 2, 3), D=D,
        P=options.get("P") or _pick(rng, 16, 32, 64, 8, 24, 4),
        L=2, scale_dtype=_pick(rng, "f32", "f32", "bf16") if dtype in CODES else None,
        g=(options.get("g") or _pick(rng, D, 128, 64, 32, 16, 24)
           if dtype in CODES else None),
        order=_pick(rng, "NHD", "NHD", "HND"))
    P = layout.P
    lengths = [{"P": P, "P-1": P - 1, "P+1": P + 1}.get(n, n) for n in lengths]
    # Decode of up to eight tokens, or a chunk of a prompt.
    most = _pick(rng, 1, 8, 8, 70)
    new = [min(n, int(rng.integers(1, most + 1))) for n in lengths]
    own = dtype in CODES and bool(rng.integers(2))
    has_nan = dtype == "f8E4M3FN" and rng.integers(3) == 0
    nb, nbs, inputs = _cache(rng, layout, lengths, own, has_nan)
    _rows(rng, inputs, new, lengths, layout.H * group, D)
    dtypes = {"row_offsets": "u32", "q": "bf16"}
    if dtype == "f16" or dtype in CODES and rng.integers(2):
        inputs["q"] = write(decode(inputs["q"], "bf16").astype(np.float32), "f16")
        dtypes["q"] = "f16"
    args = {"l": 1, "scale": D**-0.5, "parts": _pick(rng, 0, 1, 3)}
    if not has_nan and rng.integers(3) == 0:
        args["window"] = int(_pick(rng, 1, 9, P, 200))
    if rng.integers(3) == 0:
        args["softcap"] = 4.0
    if rng.integers(3) == 0:
        inputs["sinks"] = rng.standard_normal(layout.H * group).astype(np.float32)
        dtypes["sinks"] = "f32"
    name = (f"{dtype} H{layout.H} D{D} P{P} g{layout.g} {layout.order} group {group} "
            f"lengths {lengths} new {new} {args}{' NaN' if has_nan else ''}")
    return Case(name, "attention", layout, nb, nbs, args, inputs, dtypes, {})


def mla_case(rng, lengths, heads, options):
    dtype = options.get("dtype") or _pick(rng, "bf16", *CODES)
    P = options.get("P") or _pick(rng, 64, 32, 16, 64)
    D, v_dim = _pick(rng, (576, 512), (576, 512), (128, 64), (320, 320))
    layout = PoolLayout(
        dtype=dtype, H=1, D=D, P=P, L=2, is_mla=True,
        scale_dtype="f32" if dtype in CODES else None,
        g=D if dtype in CODES else None)
    lengths = [{"P": P, "P-1": P - 1, "P+1": P + 1}.get(n, n) for n in lengths]
    new = [min(n, int(rng.integers(1, 3))) for n in lengths]
    own = dtype in CODES and bool(rng.integers(2))
    has_nan = dtype == "f8E4M3FN" and rng.integers(3) == 0
    nb, nbs, inputs = _cache(rng, layout, lengths, own, has_nan)
    _rows(rng, inputs, new, lengths, heads, D)
    dtypes = {"row_offsets": "u32", "q": "bf16"}
    rows = sum(new)
    if rng.integers(2):
        scales = np.exp2(rng.uniform(-3, 0, (rows, heads)))
        inputs["q_scale"], dtypes["q_scale"] = scales.astype(np.float32), "f32"
    if rng.integers(2):
        _name_slots(rng, layout, inputs, lengths, new)
        dtypes |= {"slots": "i64", "scale_slots": "i64"}
    args = {"l": 1, "scale": D**-0.5, "v_dim": v_dim, "parts": _pick(rng, 0, 1, 3),
            "out_dtype": "f32"}
    name = (f"mla {dtype} D{D} P{P} heads {heads} lengths {lengths} new {new} "
            f"{sorted(inputs)} {args}{' NaN' if has_nan else ''}")
    return Case(name, "mla_decode", layout, nb, nbs, args, inputs, dtypes, {})


def _name_slots(rng, layout, inputs, lengths, new):
    """Lists of some tokens of each row's sequence, -1 in between."""
    rows = [(b, length) for b, length in enumerate(lengths) for _ in range(new[b])]
    count = int(rng.integers(1, 90))
    lists = {"slots": "lookup_table"}
    if "scales_lookup_table" in inputs:
        lists["scale_slots"] = "scales_lookup_table"
    for name in lists:
        inputs[name] = np.full((len(rows), count), -1, np.int64)
    for r, (b, length) in enumerate(rows):
        tokens = rng.integers(0, length, count)
        named = rng.random(count) < 0.7
        for name, table in lists.items():
            slots = (inputs[table][b, tokens // layout.P].astype(np.int64) * layout.P
                     + tokens % layout.P)
            inputs[name][r] = np.where(named, slots, -1)


def _compare(case, got, want):
    """The largest difference, as a part of the row's largest value."""
    worst = 0.0
    for name in ("out", "lse"):
        if not (np.isfinite(got[name]) == np.isfinite(want[name])).all():
            raise RunFailed(f"{name} is not finite where it should be")
    if got["out"].size:
        known = np.where(np.isfinite(want["out"]), want["out"], 0)
        most = np.abs(known).max(axis=-1, keepdims=True)
        error = np.abs(np.where(np.isfinite(want["out"]), got["out"], 0) - known)
        error /= np.where(most > 0, most, 1)
        worst = float(error.max())
        finite = np.isfinite(want["lse"])
        lse = np.abs(got["lse"] - want["lse"])[finite].max(initial=0)
        if lse > 1e-3:
            raise RunFailed(f"lse differs by {lse:.3g}")
    if worst > BOUND:
        raise RunFailed(f"out differs by {worst:.3g} of the row's largest value")
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True)
    parser.add_argument("--chip", default="sm_80")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--longest", type=int, default=300)
    parser.add_argument("--keep")
    parser.add_argument("--expand", default="")
    for name in ("D", "P", "g", "H"):
        parser.add_argument(f"--{name}", type=int)
    parser.add_argument("--dtype")
    parser.add_argument("--op", default="attention",
                        choices=("attention", "mla_decode"))
    options = parser.parse_args()
    runner = Runner(options.build, options.chip, "all", options.keep,
                    expand=options.expand)
    rng = np.random.default_rng(options.seed)
    lengths = [n for n in (0, 1, "P-1", "P", "P+1", 300, 4096)
               if not isinstance(n, int) or n <= options.longest]
    failures = 0
    for number in range(options.runs):
        group = (1, 3, 4, 8, 16)[number % 5]
        count = 3 if number % 2 else len(lengths)
        chosen = [lengths[i] for i in rng.permutation(len(lengths))[:count]]
        if options.op == "mla_decode":
            case = mla_case(rng, chosen, (16, 4, 17, 32, 128)[number % 5],
                            vars(options))
        else:
            case = attention_case(rng, chosen, group, vars(options))
        try:
            case_name, case.name = case.name, f"case{number}"
            with np.errstate(all="ignore"):
                want = reference.run(case.op, case.layout, case.nb, case.nbs,
                                     case.args, case.inputs, case.dtypes)
            got = run_case(case, runner)
            error = _compare(case, got, want)
            again = run_case(case, runner)
            if any((got[name].view(np.uint64) != again[name].view(np.uint64)).any()
                   for name in ("out", "lse")):
                raise RunFailed("two runs differ")
            print(f"ok   {error:.2e} {case_name}", flush=True)
        except RunFailed as reason:
            failures += 1
            print(f"FAIL {case_name}\n  {reason}", flush=True)
    print(f"{options.runs - failures} right, {failures} wrong")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
