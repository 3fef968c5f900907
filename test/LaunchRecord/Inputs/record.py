# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Evaluates the expressions of a launch record, as docs/launch-record.md says."""

import json


class Tensor:
    def __init__(self, data=0, size=(), stride=()):
        self.data, self.size, self.stride = data, list(size), list(stride)


def trunc_div(a, b):
    if b == 0:
        return 0
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def unsigned(a, bits=64):
    return a % 2**bits


def signed(a, bits=64):
    return (a + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)


FUNCTIONS = {
    "ceildiv": lambda a, b: 0 if b == 0 else -(-a // b),
    "truncdiv": trunc_div,
    "truncmod": lambda a, b: 0 if b == 0 else a - b * trunc_div(a, b),
    "udiv": lambda a, b: 0 if b == 0 else signed(unsigned(a) // unsigned(b)),
    "umod": lambda a, b: 0 if b == 0 else signed(unsigned(a) % unsigned(b)),
    "ult": lambda a, b: unsigned(a) < unsigned(b),
    "shl": lambda a, b: signed(a << b) if 0 <= b < 64 else 0,
    "ushr": lambda a, b: signed(unsigned(a) >> b) if 0 <= b < 64 else 0,
    "min": min,
    "max": max,
    "select": lambda c, a, b: a if c else b,
    **{f"u{bits}": lambda a, bits=bits: unsigned(a, bits) for bits in (8, 16, 32)},
    **{f"s{bits}": lambda a, bits=bits: signed(a, bits) for bits in (8, 16, 32)},
}


class Record:
    """A record, with the arguments of one call."""

    def __init__(self, path, arguments, workspace=0):
        with open(path) as file:
            self.json = json.load(file)
        assert self.json["version"] == 1
        self.names = dict(FUNCTIONS, workspace=workspace, **arguments)
        for value in self.json["values"]:
            self.names[value["name"]] = self.evaluate(value["expression"])

    def evaluate(self, expression):
        return int(eval(expression, {"__builtins__": {}}, self.names))
