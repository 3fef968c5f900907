# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Formulas of launch records."""

import types

from util import raises

import kvcache
from kvcache.formulas import evaluate
from kvcache.record import Record

X = types.SimpleNamespace(data=4096, size=(3, 5), stride=(5, 1))
NAMES = dict(x=X, n=7, m=-7, list=[4, 5, 6], zero=0)


def test_what_there_is():
    cases = {
        "x.size[1] * x.stride[0] + x.data": 4121, "list[2]": 6, "-n": -7, "n // 2": 3, "m // 2": -4,
        "m % 4": 1, "n & 3": 3, "n | 8": 15, "n ^ 1": 6, "n >> 1": 3, "n == 7": 1, "n != 7": 0,
        "n < 7": 0, "n <= 7": 1, "ceildiv(n, 2)": 4, "truncdiv(m, 2)": -3, "truncmod(m, 2)": -1,
        "udiv(m, 2)": 2**63 - 4, "umod(m, 2)": 1, "ult(n, m)": 1, "shl(1, 63)": -(2**63),
        "ushr(m, 60)": 15, "min(n, m)": -7, "max(n, m)": 7, "select(n < 3, 1, 2)": 2,
        "u8(m)": 249, "s8(249)": -7, "u32(m)": 2**32 - 7, "n // zero": 0, "ceildiv(n, zero)": 0,
        "shl(1, 64)": 0, "n >> m": 0, "1 + 2 * 3": 7, "n - 2 - 1": 4,
    }
    for text, expected in cases.items():
        got = evaluate(text, NAMES)
        assert type(got) is int and got == expected, (text, got, expected)


def test_nothing_else_is_evaluated():
    """A record may come from anywhere."""
    for text in ("__import__('os').getpid()", "x.__class__", "().__class__", "[1 for _ in list]",
                 "n ** 10 ** 9", "n << 10 ** 9", "lambda: 1", "n if n else m", "f'{n}'", "'a'",
                 "n.data", "unknown", "list[9]", "min(n)", "min(*list)", "min(a=1)", "n; m", "",
                 "n < 1 < 2", "(n", "print(n)", "1.5", "True", "x", "x.size", "x.data[0]",
                 "1 + " * 100_000 + "1"):
        with raises(kvcache.LaunchError, "^formula .* of a launch record: "):
            evaluate(text, NAMES)


def test_requirements_say_their_numbers():
    step = {"kind": "requirement", "guards": [], "limits": [], "message": "expected few rows",
            "condition": "n <= 3", "compared": ["n", "3"]}
    record = Record({"version": 1, "arguments": [], "values": [], "steps": [step]})
    assert record.launches({"n": 3}) == []
    with raises(kvcache.ArgumentError, "^expected few rows, got 7 and 3$"):
        record.launches({"n": 7})
