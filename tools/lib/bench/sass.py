# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Static figures of a kernel: instructions of its SASS, loads of its PTX."""
import re

from tools import run

# `/*0010*/  @!P0 LDG.E.CONSTANT R2, [R2.64] ;`
_INSTRUCTION = re.compile(
    r"^\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)[^;]*;", re.M)


def assemble(ptxas, chip, ptx, cubin):
    """Returns the seconds that took."""
    return run(ptxas, f"-arch={chip}", ptx, "-o", cubin)[2]


def instructions(nvdisasm, cubin):
    """The opcodes of each kernel, padding (NOP) left out."""
    text, _, _ = run(nvdisasm, "-c", cubin)
    kernels = {}
    for part in re.split(r"^\.text\.", text, flags=re.M)[1:]:
        name, _, body = part.partition(":")
        opcodes = _INSTRUCTION.findall(body)
        kernels[name.strip()] = [o for o in opcodes if o != "NOP"]
    return kernels


def global_loads(ptx_text, kernel):
    """Number of loads from global memory in a kernel's PTX."""
    body = ptx_text.split(f".entry {kernel}(", 1)[1].split("\n}", 1)[0]
    return len(re.findall(r"\bld\.(?:\w+\.)*global", body))
