# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs programs with the tools of a build tree."""
import dataclasses
import pathlib
import re
import shutil
import subprocess
import tempfile

import numpy as np

from verdicts import RunFailed, Unsupported


@dataclasses.dataclass
class Sparse:
    """An array of `size` bytes: zero but for segments[i] at offsets[i]."""

    size: int
    offsets: np.ndarray
    segments: np.ndarray


@dataclasses.dataclass
class Program:
    """`main` of `text` takes `arguments`: (name, array or Sparse) in order; what
    those named in `outputs` hold afterwards is the result."""

    text: str
    arguments: list
    outputs: list


class Runner:
    """Runs for `chip`; `tools` are the simulator's checks, `expand` options of
    kvcache-expand-kernels. With `counts`, `launched` are the names of the kernels
    that the last run launched."""

    def __init__(self, build, chip, tools="", keep=None, timeout=600, expand="",
                 counts=False):
        self.tool = pathlib.Path(build) / "bin" / "kvcache-run"
        self.opt = pathlib.Path(build) / "bin" / "kvcache-opt"
        self.expand = expand
        self.chip, self.tools, self.keep = chip, tools, keep
        self.timeout = timeout
        self.counts, self.launched = counts, []

    def _call(self, command):
        try:
            done = subprocess.run(command, capture_output=True, text=True,
                                  timeout=self.timeout, stdin=subprocess.DEVNULL,
                                  errors="replace")
        except subprocess.TimeoutExpired:
            raise RunFailed(f"{pathlib.Path(command[0]).name} did not end within "
                            f"{self.timeout} s")
        if done.returncode:
            lines = (done.stderr or done.stdout).strip().splitlines()
            first = next((n for n, line in enumerate(lines)
                          if "error" in line.lower()), 0)
            text = "\n".join(lines[first:first + 4])
            unknown = re.search(r"custom op 'kvcache\.(\w+)' is unknown", text)
            if unknown:
                raise Unsupported(f"there is no operation kvcache.{unknown[1]}")
            # What the dialect says of an option that it does not have.
            if re.search(r"error: .*(not supported|unsupported)", text):
                raise Unsupported(text)
            raise RunFailed(f"{pathlib.Path(command[0]).name} ended with "
                            f"{done.returncode}: {text}")
        return done.stderr

    def run(self, name, program):
        """Arrays by name; of a sparse one its pages that are not zero, as
        (offsets, segments)."""
        with tempfile.TemporaryDirectory(prefix="case-") as scratch:
            folder = pathlib.Path(scratch)
            text = folder / f"{name}.mlir"
            text.write_text(program.text)
            command = [str(self.tool), str(text), f"--chip={self.chip}"]
            if self.tools:
                command += ["--device=sim", f"--tool={self.tools}"]
            if self.counts:
                command.append("--count")
            for number, (argument, array) in enumerate(program.arguments):
                at = folder / argument
                out = f"{at}.out.npy"
                if isinstance(array, Sparse):
                    np.save(f"{at}.offsets.npy", array.offsets.astype(np.int64))
                    np.save(f"{at}.segments.npy", array.segments)
                    command.append(f"--arg=sparse:{array.size}:{at}.offsets.npy:"
                                   f"{at}.segments.npy")
                    out = f"{at}.out_offsets.npy:{at}.out_segments.npy"
                else:
                    np.save(f"{at}.npy", array)
                    command.append(f"--arg={at}.npy")
                if argument in program.outputs:
                    command.append(f"--out={number}={out}")
            if self.keep:
                kept = pathlib.Path(self.keep) / f"{name}.{self.chip}"
                shutil.copytree(folder, kept, dirs_exist_ok=True)
                (kept / "command").write_text(
                    " ".join(command).replace(str(folder), str(kept)) + "\n")
            if self.expand:
                self._call([str(self.opt), str(text), "-o", str(text),
                            f"--kvcache-expand-kernels={self.expand}"])
            said = self._call(command)
            self.launched = re.findall(r"^kernel '(\w+)'", said, re.M)
            results = {}
            for argument, array in program.arguments:
                if argument not in program.outputs:
                    continue
                at = folder / argument
                if isinstance(array, Sparse):
                    results[argument] = (np.load(f"{at}.out_offsets.npy"),
                                         np.load(f"{at}.out_segments.npy"))
                else:
                    results[argument] = np.load(f"{at}.out.npy")
            return results
