#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes case folders for check_cases.py, outputs from the NumPy reference.

`--grid N` writes N cases over the grid of page size, head size, granularity,
heads, sides, layers, dtypes, tables, pitches, placements and operations, sampled
so that pairs of values come up; `--random N` N cases of the same operations whose
layouts are any that the format allows or, with `--op`, of attention, mla_decode,
indexer_topk and remap_indices, in turn, of any that these take; `--faults` writes one for each class of fault
that users of paged caches report, and cases about numbers.
"""
import argparse
import fnmatch
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import attention_cases
import fault_cases
import grid_cases
import random_cases
from case_folder import write_case
from reference import OPS


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, metavar="DIR")
    parser.add_argument("--grid", type=int, default=0, metavar="N")
    parser.add_argument("--random", type=int, default=0, metavar="N")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pool-bytes", type=int, default=1 << 18, metavar="N",
                        help="H and L give way where a pool would pass this")
    parser.add_argument("--op", action="append", help="this operation alone; "
                        "several may be given")
    parser.add_argument("--faults", action="store_true")
    parser.add_argument("--name", default="*", metavar="PATTERN",
                        help="those of --faults whose names match")
    arguments = parser.parse_args()
    if arguments.folder.exists() and any(arguments.folder.iterdir()):
        sys.exit(f"make_cases: {arguments.folder} is not empty")
    grid_ops = [op for op in arguments.op or () if op in grid_cases.MAKERS]
    attention_ops = [op for op in arguments.op or () if op in attention_cases.MAKERS]
    for op in arguments.op or ():
        if op not in OPS:
            parser.error(f"no operation {op}; there are {', '.join(OPS)}")
    of_grid = grid_ops or not arguments.op
    if arguments.grid and not of_grid or (
            arguments.random and not of_grid and not attention_ops):
        parser.error(f"the grid has none of {', '.join(arguments.op)}")
    if arguments.faults:
        for case in fault_cases.fault_cases():
            if (not arguments.op or case.op in arguments.op) and (
                    fnmatch.fnmatch(case.name, arguments.name)):
                write_case(arguments.folder, case)
    for case in grid_cases.grid_cases(arguments.grid, arguments.seed,
                                      arguments.pool_bytes, grid_ops):
        write_case(arguments.folder, case)
    if attention_ops:
        for case in attention_cases.random_attention_cases(
                arguments.random, arguments.seed, attention_ops):
            write_case(arguments.folder, case)
    if not of_grid:
        return
    for case in random_cases.random_cases(arguments.random, arguments.seed,
                                          arguments.pool_bytes, grid_ops):
        write_case(arguments.folder, case)


if __name__ == "__main__":
    main()
