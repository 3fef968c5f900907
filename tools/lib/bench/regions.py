# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The hot region of a kernel's SASS: its busiest loop, else all of it."""
import collections
import re

from tools import run

_LABEL = re.compile(r"(\.L_x_\d+):")
_INSTRUCTION = re.compile(
    r"\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)\s*(.*?);")
_WIDTHS = {"256": 32, "128": 16, "64": 8, "U16": 2, "S16": 2, "U8": 1, "S8": 1}
_LOADS = {"LDG", "LD", "LDGSTS"}
_STORES = {"STG", "ST"}

Kernel = collections.namedtuple("Kernel", "name body")
Region = collections.namedtuple("Region", "opcodes kind")


def kernels(nvdisasm, cubin):
    """The kernels of a cubin: lists of (label or None, opcode, operands)."""
    text, _, _ = run(nvdisasm, "-c", cubin)
    found, body = [], None
    for line in text.split("\n"):
        section = re.match(r"\.text\.(\S+):", line)
        if section:
            body = []
            found.append(Kernel(section[1], body))
        elif body is not None:
            label = _LABEL.match(line)
            instruction = _INSTRUCTION.match(line)
            if label:
                body.append((label[1], None, None))
            elif instruction and instruction[1] != "NOP":
                body.append((None, instruction[1], instruction[2]))
    return found


def _width(opcode):
    parts = opcode.split(".")[1:]
    return next((_WIDTHS[part] for part in parts if part in _WIDTHS), 4)


def loads(opcodes):
    """Bytes of an access to how many there are, loads from global memory."""
    return collections.Counter(_width(o) for o in opcodes
                               if o.split(".")[0] in _LOADS)


def stores(opcodes):
    return collections.Counter(_width(o) for o in opcodes
                               if o.split(".")[0] in _STORES)


def spills(opcodes):
    return sum(o.split(".")[0] in ("LDL", "STL") for o in opcodes)


def _is_mma(opcode):
    """Not HFMA2.MMA, which multiplies lane by lane."""
    return opcode.split(".")[0].endswith("MMA")


def _payload(opcodes, widest):
    """Bytes that move, without look-ups beside wide accesses."""
    both = loads(opcodes) + stores(opcodes)
    return sum(width * count for width, count in both.items()
               if width >= 8 or widest < 16)


def whole(kernel):
    return Region([o for _, o, _ in kernel.body if o], "whole")


def _jump(kernel, labels, at):
    """Where the branch at this place leads, or None."""
    _, opcode, operands = kernel.body[at]
    target = opcode and opcode.startswith("BRA") and re.search(
        r"(\.L_x_\d+)", operands)
    return labels.get(target[1]) if target else None


def _opcodes(kernel, begin, end):
    return [o for _, o, _ in kernel.body[begin:end] if o]


def hot(kernel):
    """The loop that moves most payload, the shortest of such, of those that load
    it and, in a kernel on tensor cores, use them; the whole kernel where there
    is none."""
    return _find_hot(kernel)[0]


def remainder(kernel):
    """What moves the last rows of a page, which are too few for a turn of the hot
    loop: the part with the widest loads that the first branch after it passes over."""
    labels = _labels(kernel)
    region, end = _find_hot(kernel)
    widest = max(loads(region.opcodes))
    for at in range(end, len(kernel.body)):
        target = _jump(kernel, labels, at)
        if target and target > at:
            opcodes = _opcodes(kernel, end, target)
            if loads(opcodes)[widest]:
                return Region(opcodes, "remainder")
    return None


def _labels(kernel):
    return {label: i for i, (label, _, _) in enumerate(kernel.body) if label}


def _find_hot(kernel):
    """The hot region and the place after it."""
    labels = _labels(kernel)
    everything = whole(kernel)
    widest = max(loads(everything.opcodes), default=0)
    on_tensor_cores = any(map(_is_mma, everything.opcodes))
    best = None
    for end in range(len(kernel.body)):
        begin = _jump(kernel, labels, end)
        if begin is None or begin >= end:
            continue
        opcodes = _opcodes(kernel, begin, end + 1)
        if widest >= 16 and max(loads(opcodes), default=0) < 8:
            continue
        if on_tensor_cores and not any(map(_is_mma, opcodes)):
            continue
        rank = (_payload(opcodes, widest), -len(opcodes))
        if rank[0] and (best is None or rank > best[0]):
            best = rank, (Region(opcodes, "loop"), end + 1)
    return best[1] if best else (everything, len(kernel.body))


def per_16_bytes(region):
    """Instructions for 16 bytes of the widest loads, which carry the payload."""
    found = loads(region.opcodes)
    widest = max(found)
    return len(region.opcodes) * 16 / (widest * found[widest])


def per_8_quantised(region):
    """Instructions for 8 elements that are converted to e4m3, two at a time;
    None on chips without the instruction."""
    pairs = sum(o.startswith("F2FP") and "E4M3" in o for o in region.opcodes)
    return len(region.opcodes) * 8 / (2 * pairs) if pairs else None
