#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs case folders and golden pages through kvcache and compares every byte.

DIR holds case folders (`case.json` and one .npy an array) or golden folders
(`golden.json`, pages in a layout that another project publishes), or is one.
Each becomes a program made of kernels of the kvcache dialect, which kvcache-run
lowers and runs; whole pools are compared.

A line "PASS|FAIL|UNSUPPORTED name" each, with the reason or the first
difference, the counts last. The exit status is 0 where all passed, else 1.
Needs Python 3, NumPy and the build tree.
"""
import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
import sys
from functools import partial

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

try:
    import numpy
except ImportError:
    # The environment that tools/check makes has it.
    python = HERE.parents[2] / ".venv" / "bin" / "python"
    if python.exists() and pathlib.Path(sys.prefix) != python.parents[1]:
        os.execv(python, [str(python), *sys.argv])
    sys.exit("check_cases: needs NumPy: pip install numpy, or run tools/check, which "
             "makes an environment that has it")

import golden_folder
from case_folder import is_case, read_case
from compaction import check_compaction
from comparison import compare, compare_sparse, sparse_pages, written_nans
from programs import run_case
from runner import Runner
from verdicts import Differs, Malformed, RunFailed, Unsupported


def _pitch(case, name):
    layout = case.args.get("to", case.layout)
    if name == "blocks":
        return layout.page_bytes
    return layout.scales_page_bytes if name == "scales" else 0


def check_case(case, run):
    results = run(case)
    if case.op == "compact":
        check_compaction(case, results)
        return
    for name, expected in case.outputs.items():
        if case.sparse_bytes and name in ("segment_bytes", "segment_offsets"):
            continue
        if name not in results:
            raise Unsupported(f"output '{name}' of {case.op}")
        compare(name, results[name], expected.array, expected.dtype,
                expected.compare, _pitch(case, name),
                nans=(partial(written_nans, case, name)
                      if name in ("blocks", "scales") and name in case.inputs
                      else None))
    if case.sparse_bytes and "blocks" in results:
        _check_sparse(case, results["blocks"])


def _check_sparse(case, got):
    """The whole pool; an output that is not there is as the input."""
    want = [case.outputs[name].array if name in case.outputs
            else case.inputs[name] for name in ("segment_offsets", "segment_bytes")]
    if len(want[0]) != len(want[1]):
        raise Malformed(f"outputs: {len(want[0])} segment_offsets and "
                        f"{len(want[1])} segment_bytes")
    compare_sparse("blocks", sparse_pages(*got), sparse_pages(*want),
                   case.layout.page_bytes)


def check_golden(golden, run):
    pools = {}
    for append in golden.appends:
        case = dataclasses.replace(append, inputs=append.inputs | pools)
        pools = {name: array for name, array in run(case).items()
                 if name in golden.defined}
    for name, expected in golden.appends[-1].outputs.items():
        compare(name, pools[name], expected.array, "u8", "bytes",
                _pitch(golden.appends[-1], name), golden.defined[name])
    for gather in golden.gathers:
        check_case(gather, run)


def check_folder(folder, runs):
    """'PASS', 'FAIL' or 'UNSUPPORTED', and why. `runs` are (prefix of a reason,
    function that runs a case)."""
    prefix = ""
    try:
        if is_case(folder):
            read, check = read_case(folder), check_case
        else:
            read, check = golden_folder.read_golden(folder), check_golden
        for prefix, run in runs:
            check(read, run)
    except Unsupported as reason:
        return "UNSUPPORTED", f"{prefix}{reason}"
    except (Malformed, RunFailed, Differs) as reason:
        return "FAIL", f"{prefix}{reason}"
    except MemoryError:
        return "FAIL", f"{prefix}the arrays do not fit in memory"
    except Exception as error:  # A folder may hold anything at all.
        return "FAIL", f"{prefix}{type(error).__name__}: {error}"
    return "PASS", ""


def find_folders(root):
    known = lambda folder: is_case(folder) or golden_folder.is_golden(folder)
    if known(root):
        return [root]
    return sorted(folder for folder in root.iterdir()
                  if folder.is_dir() and known(folder))


def make_runs(arguments):
    if arguments.reference:
        from reference_run import run_reference
        return [("", run_reference)]
    tool = pathlib.Path(arguments.build) / "bin" / "kvcache-run"
    if not tool.exists():
        sys.exit(f"check_cases: no kvcache-run in {tool.parent}; build it, or name "
                 "the build tree by --build")
    runs = []
    for chip in arguments.chip or ["sm_80"]:
        runner = Runner(arguments.build, chip, arguments.tool, arguments.keep,
                        arguments.timeout, arguments.expand)
        runs.append((f"{chip}: ",
                     lambda case, runner=runner: run_case(case, runner)))
    return runs


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, metavar="DIR")
    parser.add_argument("--chip", action="append", metavar="C",
                        help="sm_80 unless given; several may be")
    parser.add_argument("--build", default=HERE.parents[2] / "build", metavar="DIR",
                        help="the build tree (default: build/ of this checkout)")
    parser.add_argument("--tool", default="", metavar="CHECKS",
                        help="checks of the simulator, as kvcache-run takes them")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N")
    parser.add_argument("--timeout", type=int, default=600, metavar="SECONDS",
                        help="for a run")
    parser.add_argument("--expand", default="", metavar="OPTIONS",
                        help="of kvcache-expand-kernels, as max-blocks=2")
    parser.add_argument("--keep", metavar="DIR",
                        help="keep programs and arrays there")
    parser.add_argument("--reference", action="store_true",
                        help="check the folders against the NumPy reference, not "
                        "the compiler (needs ml_dtypes)")
    arguments = parser.parse_args()
    if not arguments.folder.is_dir():
        sys.exit(f"check_cases: {arguments.folder} is no folder")
    folders = find_folders(arguments.folder)
    if not folders:
        sys.exit(f"check_cases: no case.json or golden.json in {arguments.folder} "
                 "or the folders in it")
    runs = make_runs(arguments)
    counts = {"PASS": 0, "FAIL": 0, "UNSUPPORTED": 0}
    with concurrent.futures.ThreadPoolExecutor(max(arguments.jobs, 1)) as pool:
        results = pool.map(lambda folder: check_folder(folder, runs), folders)
        for folder, (verdict, reason) in zip(folders, results):
            counts[verdict] += 1
            print(verdict, folder.resolve().name, flush=True)
            if reason:
                print("  " + reason.replace("\n", "\n  "), flush=True)
    print(f"{counts['PASS']} passed, {counts['FAIL']} failed, "
          f"{counts['UNSUPPORTED']} unsupported")
    return 0 if counts["PASS"] == len(folders) else 1


if __name__ == "__main__":
    sys.exit(main())
