# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a building block in a kernel of its own, with all checks."""
import pathlib
import subprocess

import ml_dtypes
import numpy as np

from program_text import ProgramText
from runner import Program, Runner
from verdicts import RunFailed

BF16, E4M3 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn
LANE = np.arange(32)
ROW, COLUMN = LANE // 4, LANE % 4


def require(block, what, holds):
    if not np.all(holds):
        raise AssertionError(f"{block}: {what} is wrong in {np.sum(~np.asarray(holds))} places")


def floats(words):
    return np.ascontiguousarray(words, np.int32).view(np.float32)


def halves(words, dtype):
    """`[..., 2]` numbers of 16 bits."""
    words = np.ascontiguousarray(words, np.int32)
    return words.view(dtype).reshape(*words.shape, 2).astype(np.float64)


class BlockRunner:
    def __init__(self, build, chip, block):
        self.build, self.block = pathlib.Path(build), block
        self.runner = Runner(build, chip, "all")

    def __call__(self, words, outputs, extend=None):
        """Words `[count, threads]` of each thread, and what comes of them.
        `extend` adds arguments and lines to the program; with it, all results
        by name, those of threads as `out`."""
        text = ProgramText()
        text.argument("in", np.ascontiguousarray(words, np.int32).ravel(), "i32",
                      static_dims=0)
        text.argument("out", np.zeros(outputs * words.shape[1], np.int32), "i32",
                      is_output=True, static_dims=0)
        if extend:
            extend(text)
        program = text.program()
        done = subprocess.run(
            [self.build / "test/bin/kvcache-emit-tiles", self.block],
            input=program.text, capture_output=True, text=True)
        if done.returncode:
            raise AssertionError(f"{self.block}: {done.stderr[:2000]}")
        try:
            results = self.runner.run(self.block, Program(
                done.stdout, program.arguments, program.outputs))
        except RunFailed as error:
            raise AssertionError(f"{self.block}: {error}")
        results["out"] = results["out"].reshape(outputs, words.shape[1])
        return results if extend else results["out"]
