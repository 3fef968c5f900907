# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finding and timing the programs that a benchmark runs."""
import pathlib
import shutil
import subprocess
import sys
import time
import venv

ROOT = pathlib.Path(__file__).resolve().parents[3]


class Failed(Exception):
    """A program refused its input."""


def find(name):
    """The path of a CUDA tool, or None."""
    return (shutil.which(name)
            or shutil.which(name, path="/usr/local/cuda/bin"))


def run(*command, accept_failure=False):
    """Output, errors and wall-clock seconds."""
    begin = time.perf_counter()
    done = subprocess.run([str(part) for part in command], capture_output=True,
                          text=True, stdin=subprocess.DEVNULL)
    seconds = time.perf_counter() - begin
    if done.returncode and not accept_failure:
        raise Failed(f"{pathlib.Path(command[0]).name} ended with "
                     f"{done.returncode}: {(done.stderr or done.stdout)[:500]}")
    return done.stdout, done.stderr, seconds


def best_of(repeats, measure):
    """The smallest of several measurements: what the machine can do."""
    return min(measure() for _ in range(repeats))


def disassembler(build, may_fetch):
    """nvdisasm, from the path or fetched from PyPI once; else None and why."""
    found = find("nvdisasm")
    if found:
        return found, ""
    home = build / "bench-venv"
    pattern = "lib/python*/site-packages/nvidia/*/bin/nvdisasm"
    if not list(home.glob(pattern)):
        if not may_fetch:
            return None, "no nvdisasm, and --quick fetches nothing"
        try:
            if not (home / "bin/python").exists():
                venv.create(home, with_pip=True)
            run(home / "bin/python", "-m", "pip", "install", "-q",
                "--disable-pip-version-check", "nvidia-cuda-nvdisasm")
        except (Failed, OSError, subprocess.CalledProcessError) as error:
            return None, f"pip could not fetch nvidia-cuda-nvdisasm: {error}"
    files = list(home.glob(pattern))
    if not files:
        return None, "nvidia-cuda-nvdisasm has no nvdisasm"
    return str(files[0]), ""


class Progress:
    """A line on a terminal's stderr that says what runs; nothing elsewhere."""

    def __init__(self):
        self.shown = sys.stderr.isatty()

    def __call__(self, text):
        if self.shown:
            width = shutil.get_terminal_size().columns - 1
            sys.stderr.write("\r\033[K" + text[:width])
            sys.stderr.flush()

    def clear(self):
        self("")
