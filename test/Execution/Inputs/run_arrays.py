# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a program on arrays, and prints the status and what was said."""
import pathlib
import subprocess

import numpy as np


def run_arrays(program, text, arrays, *options, **fields):
    """Writes `text` to the file `program`, with `{arguments}`, `{register}` (of their
    memory with the GPU) and `fields` filled in, and the arrays beside it. `arrays`
    are `name: (shape with element type, NumPy array)`, `options` of kvcache-run."""
    program = pathlib.Path(program)
    program.parent.mkdir(parents=True, exist_ok=True)
    command, register = ["kvcache-run", *options], []
    for name, (shape, array) in arrays.items():
        element = shape.rsplit("x", 1)[1]
        register.append(
            f"  %{name}_any = memref.cast %{name} : memref<{shape}> to memref<*x{element}>\n"
            f"  gpu.host_register %{name}_any : memref<*x{element}>")
        at = program.with_name(f"{name}.npy")
        np.save(at, array)
        command.append(f"--arg={at}")
    program.write_text(text.format(
        arguments=", ".join(f"%{n}: memref<{s}>" for n, (s, _) in arrays.items()),
        register="\n".join(register), **fields))
    run = subprocess.run([*command, program], capture_output=True, text=True)
    print(f"status {run.returncode}")
    print(run.stdout + run.stderr)
