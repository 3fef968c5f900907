#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs attention on random caches and compares it with NumPy in f64.

Pages lie in random order, slots that no token was written to hold NaN, table
columns that no token needs hold 0xFFFFFFFF. Each run is repeated: the results
must be the same bits. A result may differ from the exact one by `BOUND` times
the row's largest value or, where `--cancelling` values leave little of what was
summed up, by a part of that, and by what `--out` rounds. `--faint` gives a token
nearly all of the weight, and values of 0. Some caches hold NaN where every row sees it.
Rows of no sequence, and what lies beside rows, must stay as they are.
`--small` makes queries and factors of scores 0 or tiny. `--parts` gives workspaces
room for so many parts of a row's keys, and expects a kernel that combines them.
"""
import argparse
import json
import pathlib
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "Cases"))

import hard_values
import reference
from attention_cases import attention_case, mla_case
from programs import run_case
from reference_attention import attention, mla_decode
from runner import Runner
from verdicts import RunFailed

BOUND = 2e-3
# What results are rounded by, as a part of each.
ROUNDING = {"f32": 0, "f16": 2.0**-11, "bf16": 2.0**-8}


def _part_of_sums(layout):
    """What a result may differ by, as a part of the sum of magnitudes: weights are
    sums of two numbers, values that are multiplied by scales one of f16."""
    if layout.dtype == "bf16":
        return 2.0**-16
    return 2.0**-10 if layout.g and layout.g % 16 else 2.0**-18


def _magnitudes(case):
    """The sums of magnitudes that results are of."""
    pools = reference.Pools(case.layout, case.nb, case.nbs, case.inputs["blocks"],
                            case.inputs.get("scales"))
    of = {"attention": attention, "mla_decode": mla_decode}[case.op]
    return of(pools, case.args, case.inputs, case.dtypes, of_values=np.abs)["out"]


def _compare(case, got, want, magnitudes):
    """The largest difference, as a part of the row's largest value or, where the same
    part of `magnitudes` is allowed and more, in relation to that; they may be None."""
    worst = 0.0
    for name in ("out", "lse"):
        for kind in (np.isnan, np.isposinf, np.isneginf):
            wrong = (kind(got[name]) != kind(want[name])).sum()
            if wrong:
                raise RunFailed(f"{kind.__name__} of {name} differs at {wrong} places")
    if got["out"].size:
        known = np.where(np.isfinite(want["out"]), want["out"], 0)
        most = np.abs(known).max(axis=-1, keepdims=True)
        error = np.abs(np.where(np.isfinite(want["out"]), got["out"], 0) - known)
        rounding = ROUNDING[case.args["out_dtype"]] * (np.abs(known) + BOUND * most)
        error = np.maximum(error - rounding, 0)
        most = np.where(most > 0, most, 1)
        if magnitudes is not None:
            part = _part_of_sums(case.layout)
            most = np.fmax(most, part / BOUND * magnitudes)
        error /= most
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
    parser.add_argument("--lengths", type=lambda text: json.loads(f"[{text}]"))
    parser.add_argument("--parts", type=int)
    parser.add_argument("--slots", type=int, help="entries of a list of slots")
    parser.add_argument("--window", type=int)
    parser.add_argument("--out", default="f32", help="the type of results")
    parser.add_argument("--keep")
    parser.add_argument("--expand", default="")
    for name in ("D", "P", "g", "H", "group"):
        parser.add_argument(f"--{name}", type=int)
    parser.add_argument("--dtype")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--cancelling", action="store_true")
    parser.add_argument("--faint", action="store_true")
    parser.add_argument("--rearranged", action="store_true",
                        help="scales elsewhere, pages and rows further apart, more page "
                        "sizes and types of scales of latents")
    parser.add_argument("--op", default="attention",
                        choices=("attention", "mla_decode"))
    options = parser.parse_args()
    runner = Runner(options.build, options.chip, "all", options.keep,
                    expand=options.expand, counts=bool(options.parts))
    rng = np.random.default_rng(options.seed)
    lengths = [n for n in (0, 1, "P-1", "P", "P+1", 300, 4096)
               if not isinstance(n, int) or n <= options.longest]
    lengths = options.lengths or lengths
    failures = 0
    for number in range(options.runs):
        group = options.group or (1, 3, 4, 8, 16)[number % 5]
        count = 3 if number % 2 else len(lengths)
        chosen = [lengths[i] for i in rng.permutation(len(lengths))[:count]]
        if options.op == "mla_decode":
            case = mla_case(rng, chosen, (16, 4, 17, 32, 128)[number % 5],
                            vars(options))
        else:
            case = attention_case(rng, chosen, group, vars(options))
        case.args["out_dtype"] = options.out
        if options.window:
            case.args["window"] = options.window
        if options.cancelling:
            case = hard_values.make_cancelling(case)
        if options.faint:
            case = hard_values.make_faint(case)
        if options.small:
            case = hard_values.make_small(case, number)
        try:
            case_name, case.name = case.name, f"case{number}"
            with np.errstate(all="ignore"):
                want = reference.run(case.op, case.layout, case.nb, case.nbs,
                                     case.args, case.inputs, case.dtypes)
            got = run_case(case, runner)
            error = _compare(case, got, want,
                             _magnitudes(case) if options.cancelling else None)
            if options.parts and len(runner.launched) != 2:
                raise RunFailed(f"expected two kernels, got {runner.launched}")
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
