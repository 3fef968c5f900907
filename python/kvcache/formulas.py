# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Formulas of launch records, as docs/launch-record.md describes them. Nothing but
these is evaluated, wherever the text comes from."""

from __future__ import annotations

import ast
import functools
from typing import Any, Callable, Mapping

from .errors import LaunchError

#: What a formula is about: tensors (with `data`, `size`, `stride`), numbers and lists
#: of numbers, by name.
Names = Mapping[str, Any]


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

_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.BitAnd, ast.BitOr,
              ast.BitXor, ast.Eq, ast.NotEq, ast.Lt, ast.LtE)


def _shr(a, b):
    return a >> b if b >= 0 else 0


_GLOBALS = {"__builtins__": {}, "shr": _shr,
            **{name: function for name, (_, function) in _FUNCTIONS.items()}}


def _checked(node: ast.AST) -> ast.expr:
    """The same formula in terms of a mapping `names`, so that what a formula calls itself
    cannot be anything of Python's. Raises SyntaxError for what is no formula."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node
    if isinstance(node, ast.Name):
        return ast.Subscript(_name("names"), ast.Constant(node.id), ast.Load())
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return ast.UnaryOp(node.op, _checked(node.operand))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.RShift):
        return ast.Call(_name("shr"), [_checked(node.left), _checked(node.right)], [])
    if isinstance(node, ast.BinOp) and isinstance(node.op, _OPERATORS):
        return ast.BinOp(_checked(node.left), node.op, _checked(node.right))
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and \
            isinstance(node.ops[0], _OPERATORS):
        return ast.Compare(_checked(node.left), node.ops, [_checked(node.comparators[0])])
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and \
            node.attr in ("data", "size", "stride"):
        return ast.Attribute(_checked(node.value), node.attr, ast.Load())
    if isinstance(node, ast.Subscript) and isinstance(node.value, (ast.Name, ast.Attribute)):
        return ast.Subscript(_checked(node.value), _checked(node.slice), ast.Load())
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords and \
            len(node.args) == _FUNCTIONS.get(node.func.id, (None,))[0]:
        return ast.Call(_name(node.func.id), [_checked(one) for one in node.args], [])
    raise SyntaxError(f"expected what docs/launch-record.md allows, got {type(node).__name__}")


def _name(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


@functools.lru_cache(maxsize=65536)
def _compiled(formula: str) -> Callable[[Names], Any]:
    try:
        body = _checked(ast.parse(formula, mode="eval").body)
        names = ast.arguments(posonlyargs=[], args=[ast.arg("names")], kwonlyargs=[],
                              kw_defaults=[], defaults=[])
        code = ast.fix_missing_locations(ast.Expression(ast.Lambda(names, body)))
        return eval(compile(code, "<formula>", "eval"), _GLOBALS)
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError) as error:
        raise LaunchError(f"formula {formula!r:.200} of a launch record: {error}") from None


def evaluate(formula: str, names: Names) -> int:
    """The number that a formula gives; 0 where it divides by 0. Raises LaunchError for
    a text that is no formula of these names."""
    function = _compiled(formula)
    try:
        return int(function(names))
    except ZeroDivisionError:
        return 0
    except (KeyError, IndexError, AttributeError, TypeError) as error:
        raise LaunchError(f"formula {formula!r:.200} of a launch record: "
                          f"{type(error).__name__}: {error}") from None
