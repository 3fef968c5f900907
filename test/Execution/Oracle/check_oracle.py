#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares kvcache with numbers that a reference computed.

Each .json file of a folder is a collection with the addresses, rows, lengths,
scales and values that the reference found in it, or a table of narrow-float
conversions. It becomes a kvcache program, which is lowered to PTX for the chip
and run, and every number is compared.

A line "PASS|FAIL|UNSUPPORTED name" each, the first difference after a FAIL, the
counts last. The exit status is 1 where a file failed or none passed. Needs
Python 3, NumPy and the build tree.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np

import cast_tables
import collections_check
from oracle_file import Malformed, OracleFile, Unsupported

HERE = pathlib.Path(__file__).resolve().parent


class RunFailed(Exception):
    """A tool refused or died; the text says which and how."""


class Runner:
    """Runs programs with the tools of a build tree."""

    def __init__(self, build, chip, assembler, keep):
        self.tool = self._find(build, "kvcache-run")
        self.compiler = self._find(build, "kvcache-opt") if assembler else None
        self.chip, self.assembler, self.keep = chip, assembler, keep

    @staticmethod
    def _find(build, name):
        path = pathlib.Path(build) / "bin" / name
        if not path.exists():
            sys.exit(f"check_oracle: no {name} in {path.parent}; build it, or "
                     "name the build tree by --build")
        return str(path)

    def _call(self, command, **kwargs):
        done = subprocess.run(command, capture_output=True, text=True,
                              timeout=300, stdin=subprocess.DEVNULL, **kwargs)
        if done.returncode:
            lines = (done.stderr or done.stdout).strip().splitlines()
            first = next((n for n, line in enumerate(lines)
                          if "error" in line.lower()), 0)
            raise RunFailed(f"{pathlib.Path(command[0]).name} ended with "
                            f"{done.returncode}: "
                            + "\n".join(lines[first:first + 3]))

    def run(self, name, text, arguments, outputs):
        """Runs `text` with the arrays of `arguments` (name, type, array) and
        gives the contents of those named in `outputs` afterwards."""
        with tempfile.TemporaryDirectory(prefix="oracle-") as scratch:
            folder = pathlib.Path(scratch)
            program = folder / f"{name}.mlir"
            program.write_text(text)
            if self.keep:
                pathlib.Path(self.keep).mkdir(parents=True, exist_ok=True)
                shutil.copy(program, self.keep)
            command = [self.tool, str(program), f"--chip={self.chip}"]
            for number, (argument, _, array) in enumerate(arguments):
                np.save(folder / f"{argument}.npy", array)
                command.append(f"--arg={folder}/{argument}.npy")
                if argument in outputs:
                    command.append(f"--out={number}={folder}/{argument}.out.npy")
            self._call(command)
            if self.assembler:
                self._assemble(program, folder)
            return {output: np.load(folder / f"{output}.out.npy")
                    for output in outputs}

    def _assemble(self, program, folder):
        self._call([self.compiler, str(program), "-o", os.devnull,
                    f"--kvcache-to-ptx=chip={self.chip} format=isa "
                    f"output={folder}/ptx"])
        modules = sorted((folder / "ptx").rglob("*.ptx"))
        if not modules:
            raise RunFailed("kvcache-opt wrote no PTX")
        for module in modules:
            # Traps print by the driver's own function; nothing else is left open.
            for extern in re.findall(r"\.extern[^;{]*", module.read_text()):
                if not re.search(r"\)\s*vprintf\b", extern):
                    raise RunFailed(f"{module.name}: {extern.split(chr(10))[0]}")
            self._call([self.assembler, f"-arch={self.chip}", str(module), "-o",
                        os.devnull])


def check_file(path, runner):
    """'PASS', 'FAIL' or 'UNSUPPORTED', and why."""
    try:
        with open(path) as file:
            data = json.load(file)
        if not isinstance(data, dict):
            raise Malformed("not a JSON object")
        if "blocks_shape" in data:
            collections_check.check(path.stem, OracleFile(data), runner)
        elif any(map(cast_tables.is_table, data)):
            cast_tables.check(path.stem, data, runner)
        else:
            raise Unsupported("neither a collection nor a table of conversions")
    except Unsupported as reason:
        return "UNSUPPORTED", str(reason)
    except (OSError, ValueError, RecursionError) as error:
        return "FAIL", f"not readable as JSON: {error}"
    except (Malformed, RunFailed, collections_check.Differs) as reason:
        return "FAIL", str(reason)
    except subprocess.TimeoutExpired as error:
        return "FAIL", f"{error.cmd[0]} did not end within {error.timeout} s"
    except MemoryError:
        return "FAIL", "the pools do not fit in memory"
    except Exception as error:  # A file may hold anything at all.
        return "FAIL", f"{type(error).__name__}: {error}"
    return "PASS", ""


def main():
    parser = argparse.ArgumentParser(description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, metavar="DIR")
    parser.add_argument("--chip", default="sm_90a", metavar="C")
    parser.add_argument("--build", default=HERE.parents[2] / "build",
                        help="the build tree (default: build/ of this checkout)")
    parser.add_argument("--ptxas", help="assemble the PTX too, by this ptxas")
    parser.add_argument("--keep", metavar="DIR", help="keep the programs there")
    arguments = parser.parse_args()
    files = sorted(arguments.folder.glob("*.json"))
    if not files:
        sys.exit(f"check_oracle: no .json file in {arguments.folder}")
    runner = Runner(arguments.build, arguments.chip, arguments.ptxas,
                    arguments.keep)
    counts = {"PASS": 0, "FAIL": 0, "UNSUPPORTED": 0}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda path: check_file(path, runner), files)
        for path, (verdict, reason) in zip(files, results):
            counts[verdict] += 1
            print(verdict, path.stem, flush=True)
            if reason:
                print("  " + reason.replace("\n", "\n  "), flush=True)
    print(f"{counts['PASS']} passed, {counts['FAIL']} failed, "
          f"{counts['UNSUPPORTED']} unsupported")
    return 0 if counts["PASS"] and not counts["FAIL"] else 1


if __name__ == "__main__":
    sys.exit(main())
