# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Formulas of launch records, as docs/launch-record.md describes them. Nothing but
these is evaluated, wherever the text comes from."""

from __future__ import annotations

import ast
import functools
import operator
from typing import Any, Callable, Mapping

from .errors import LaunchError

#: What a formula is about: tensors (with `data`, `size`, `stride`), numbers and lists
#: of numbers, by name.
Names = Mapping[str, Any]
_Term = Callable[[Names], Any]


def _unsigned(a, bits=64):
    return a % 2**bits


def _signed(a, bits=64):
    return (a + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)


def _truncdiv(a, b):
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) if b else 0


_FUNCTIONS = {
    "ceildiv": (2, lambda a, b: -(-a // b) if b else 0),
    "truncdiv": (2, _truncdiv),
    "truncmod": (2, lambda a, b: a - b * _truncdiv(a, b) if b else 0),
    "udiv": (2, lambda a, b: _signed(_unsigned(a) // _unsigned(b)) if b else 0),
    "umod": (2, lambda a, b: _signed(_unsigned(a) % _unsigned(b)) if b else 0),
    "ult": (2, lambda a, b: int(_unsigned(a) < _unsigned(b))),
    "shl": (2, lambda a, b: _signed(a << b) if 0 <= b < 64 else 0),
    "ushr": (2, lambda a, b: _signed(_unsigned(a) >> b) if 0 <= b < 64 else 0),
    "min": (2, min),
    "max": (2, max),
    "select": (3, lambda c, a, b: a if c else b),
    **{f"u{n}": (1, lambda a, n=n: _unsigned(a, n)) for n in (8, 16, 32)},
    **{f"s{n}": (1, lambda a, n=n: _signed(a, n)) for n in (8, 16, 32)},
}

_OPERATORS = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_, ast.BitXor: operator.xor,
    ast.RShift: lambda a, b: a >> b if b >= 0 else 0,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
}


def _term(node: ast.AST) -> _Term:
    """A function of the names that computes what `node` says, or SyntaxError."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return lambda names, value=node.value: value
    if isinstance(node, ast.Name):
        return lambda names, name=node.id: names[name]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _term(node.operand)
        return lambda names: -inner(names)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _binary(node.op, node.left, node.right)
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _OPERATORS:
        return _binary(node.ops[0], node.left, node.comparators[0])
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and \
            node.attr in ("data", "size", "stride"):
        tensor = _term(node.value)
        return lambda names, part=node.attr: getattr(tensor(names), part)
    if isinstance(node, ast.Subscript) and isinstance(node.value, (ast.Name, ast.Attribute)):
        array, index = _term(node.value), _term(node.slice)
        return lambda names: array(names)[index(names)]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        arity, function = _FUNCTIONS.get(node.func.id, (None, None))
        if arity == len(node.args):
            arguments = [_term(argument) for argument in node.args]
            return lambda names: function(*(argument(names) for argument in arguments))
    raise SyntaxError(f"expected what docs/launch-record.md allows, got {type(node).__name__}")


def _binary(kind, left, right) -> _Term:
    function, left, right = _OPERATORS[type(kind)], _term(left), _term(right)
    return lambda names: function(left(names), right(names))


@functools.lru_cache(maxsize=65536)
def _parsed(formula: str) -> _Term:
    try:
        return _term(ast.parse(formula, mode="eval").body)
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError) as error:
        raise LaunchError(f"formula {formula!r:.200} of a launch record: {error}") from None


def evaluate(formula: str, names: Names) -> int:
    """The number that a formula gives; 0 where it divides by 0. Raises LaunchError for
    a text that is no formula of these names."""
    term = _parsed(formula)
    try:
        return int(term(names))
    except ZeroDivisionError:
        return 0
    except (KeyError, IndexError, AttributeError, TypeError) as error:
        raise LaunchError(f"formula {formula!r:.200} of a launch record: "
                          f"{type(error).__name__}: {error}") from None
