# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lower a file for every chip that the compiler knows; assemble the PTX."""

import re
import subprocess
import sys
import tempfile

# The PTX version beside each chip of lib/Target/Chip.cpp.
PTX_VERSION = {"80": 84, "86": 84, "87": 84, "89": 84, "90": 84}
PTX_VERSION.update({"100": 88, "103": 88, "110": 90, "120": 88, "121": 88})


def known_chips(source):
    """The names that the error about an unknown chip lists."""
    result = subprocess.run(
        ["kvcache-opt", source, "--convert-narrow-float-to-nvvm=chip=none"],
        capture_output=True,
        text=True,
    )
    return re.findall(r"sm_\w+", result.stderr)


def assemble(source, chip, ptxas):
    version = PTX_VERSION[chip[3:].rstrip("af")]
    pipeline = (
        f"builtin.module(nvvm-attach-target{{chip={chip} features=+ptx{version} O=3}},"
        f"gpu.module(convert-narrow-float-to-nvvm{{chip={chip}}},convert-vector-to-llvm,"
        "convert-gpu-to-nvvm{use-bare-ptr-memref-call-conv=1},convert-nvvm-to-llvm,"
        "reconcile-unrealized-casts),gpu-module-to-binary{format=isa})"
    )
    lowered = subprocess.run(
        ["kvcache-opt", source, f"--pass-pipeline={pipeline}"],
        capture_output=True,
        text=True,
    )
    if lowered.returncode:
        return f"lowering ends with {lowered.returncode}: {lowered.stderr}"
    text = re.search(r'assembly = "(.*?)"[>,]', lowered.stdout, re.S).group(1)
    ptx = re.sub(r"\\([0-9A-F]{2})", lambda m: chr(int(m.group(1), 16)), text)
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as file:
        file.write(ptx)
        file.flush()
        assembled = subprocess.run(
            [ptxas, f"-arch={chip}", file.name, "-o", "/dev/null"],
            capture_output=True,
            text=True,
        )
    return assembled.stderr if assembled.returncode else ""


def main():
    source, ptxas = sys.argv[1:]
    chips = known_chips(source)
    errors = {chip: assemble(source, chip, ptxas) for chip in chips}
    for chip, error in errors.items():
        print("FAIL" if error else "PASS", chip, error)
    print(f"{sum(not e for e in errors.values())} of {len(chips)} chips")


main()
