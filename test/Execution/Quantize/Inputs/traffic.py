# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the quantising appends of the benchmark on the simulator and adds up what
its counters say: 32-byte sectors touched an instruction, against the bytes that
the threads asked for. usage: traffic.py SOURCE_TREE KVCACHE_RUN"""
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(sys.argv[1]) / "test" / "Execution" / "Cases"))
from case_builder import CaseBuilder, random_numbers
from pool_layout import PoolLayout
from programs import quantize_append
from reference_numbers import write

POOL = {"dtype": "f8E4M3FN", "scale_dtype": "f32", "g": 128, "L": 2}
WORK = {
    "W4": POOL | {"H": 8, "D": 128, "P": 16, "is_mla": False},
    "W5": POOL | {"H": 1, "D": 576, "P": 64, "is_mla": True,
                  "placement": "inline", "rope": 64, "rope_dtype": "bf16"},
}
RULE = {"contract": "arbitrary", "floor": 0.0, "floor_on": "scale",
        "apply": "inverse"}


def case_of(name):
    """96 tokens at random positions of three sequences."""
    rng = np.random.default_rng(0)
    layout = PoolLayout.from_json(WORK[name])
    builder = CaseBuilder(rng, layout, 16, 18, own_table=True)
    tokens = [(b, t) for b in range(3) for t in range(32)]
    builder.sequences([0] * 3, [32] * 3)
    rng.shuffle(tokens)
    sequences, positions = zip(*tokens)
    builder.set("sequences", sequences, "i32")
    builder.set("positions", positions, "i32")
    x = random_numbers(rng, (len(tokens), layout.H, layout.D))
    builder.set("x", write(x, "bf16"), "bf16")
    return builder.case(name, "quantize_append", c=0, l=1, form="positions",
                        quant=RULE)


def run(case, chip):
    program = quantize_append(case).program()
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        (folder / "program.mlir").write_text(program.text)
        command = [sys.argv[2], str(folder / "program.mlir"), f"--chip={chip}",
                   "--device=sim", "--count"]
        for number, (name, array) in enumerate(program.arguments):
            np.save(folder / f"{name}.npy", array)
            command.append(f"--arg={folder}/{name}.npy")
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    # The sums stand before the lines of the program.
    text = done.stderr.split("barriers")[0]
    traffic = re.findall(r"global (?:load|store)\s+\d+ instructions\s+(\d+) bytes"
                         r"\s+(\d+) sectors", text)
    assert len(traffic) == 2, text
    asked, sectors = (sum(map(int, column)) for column in zip(*traffic))
    return 32 * sectors / asked


for name in WORK:
    case = case_of(name)
    for chip in ("sm_80", "sm_90a"):
        ratio = run(case, chip)
        print(f"{name} {chip}: moved " + (
            "at most 1.02 times" if ratio <= 1.02 else f"{ratio:.3f} times"))
