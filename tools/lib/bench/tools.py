# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finding and timing the programs that a benchmark runs."""
import pathlib
import resource
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
                     f"{done.returncode}: {(done.stderr or done.stdout).strip()[-800:]}")
    return done.stdout, done.stderr, seconds


def cpu_seconds(function):
    """CPU seconds of the processes that `function` starts and waits for, which do
    not depend on what else the machine does, as time by the clock would."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    function()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)


def best_of(repeats, measure):
    """The smallest of several measurements: what the machine can do."""
    return min(measure() for _ in range(repeats))


def venv_python(build, *packages):
    """The Python of a venv in the build tree that has `packages`, fetched from
    PyPI once; else None and why."""
    home = build / "bench-venv"
    python = home / "bin/python"
    try:
        if not python.exists():
            venv.create(home, with_pip=True)
        run(python, "-m", "pip", "install", "-q", "--disable-pip-version-check",
            *packages)
    except (Failed, OSError, subprocess.CalledProcessError) as error:
        return None, f"pip could not fetch {', '.join(packages)}: {error}"
    return python, ""


def python_with(build, may_fetch, *packages):
    """A Python with `packages`: the one that tools/check set up, this one or, fetched
    once, that of the benchmark; else None and why."""
    for python in (ROOT / ".venv/bin/python", sys.executable,
                   build / "bench-venv/bin/python"):
        if pathlib.Path(python).exists() and subprocess.run(
                [python, "-c", f"import {', '.join(packages)}"],
                capture_output=True).returncode == 0:
            return python, ""
    if not may_fetch:
        return None, f"no Python with {', '.join(packages)}; --quick fetches nothing"
    return venv_python(build, *packages)


def disassembler(build, may_fetch):
    """nvdisasm, from the path or fetched from PyPI once; else None and why."""
    found = find("nvdisasm")
    if found:
        return found, ""
    pattern = "bench-venv/lib/python*/site-packages/nvidia/*/bin/nvdisasm"
    if not list(build.glob(pattern)):
        if not may_fetch:
            return None, "no nvdisasm, and --quick fetches nothing"
        python, why = venv_python(build, "nvidia-cuda-nvdisasm")
        if not python:
            return None, why
    files = list(build.glob(pattern))
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
