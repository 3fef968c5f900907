# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launch records: from the arguments of a host function to launches, as
docs/launch-record.md describes them."""

from __future__ import annotations

import dataclasses
from types import CodeType
from typing import Any, Mapping

import numpy as np

from . import arrays, dtypes
from .errors import ArgumentError, LaunchError


def _unsigned(a, bits=64):
    return int(a) % 2**bits


def _signed(a, bits=64):
    return (int(a) + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)


def _truncdiv(a, b):
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) if b else 0


_FUNCTIONS = {
    "__builtins__": {},
    "ceildiv": lambda a, b: -(-a // b) if b else 0,
    "truncdiv": _truncdiv,
    "truncmod": lambda a, b: a - b * _truncdiv(a, b) if b else 0,
    "udiv": lambda a, b: _signed(_unsigned(a) // _unsigned(b)) if b else 0,
    "umod": lambda a, b: _signed(_unsigned(a) % _unsigned(b)) if b else 0,
    "ult": lambda a, b: _unsigned(a) < _unsigned(b),
    "shl": lambda a, b: _signed(a << b) if 0 <= b < 64 else 0,
    "ushr": lambda a, b: _signed(_unsigned(a) >> b) if 0 <= b < 64 else 0,
    "min": min,
    "max": max,
    "select": lambda c, a, b: a if c else b,
    **{f"u{n}": lambda a, n=n: _unsigned(a, n) for n in (8, 16, 32)},
    **{f"s{n}": lambda a, n=n: _signed(a, n) for n in (8, 16, 32)},
}


class _Tensor:
    __slots__ = ("data", "size", "stride")

    def __init__(self, view: arrays.ArrayView):
        self.data, self.size, self.stride = view.pointer, view.shape, view.strides


@dataclasses.dataclass
class Launch:
    """One launch: `module` and `entry` of the kernel, blocks, threads, bytes of
    dynamic shared memory, and a value and a number of bytes for each argument."""

    module: str
    entry: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int
    arguments: list[tuple[int, int]]


class Record:
    """The launch record of a host function (`json`: as parsed from its file)."""

    def __init__(self, json: Mapping[str, Any]):
        if json.get("version") != 1:
            raise LaunchError(f"expected a launch record of version 1, got {json.get('version')}")
        self.json = json
        self._code: dict[str, CodeType] = {}

    @property
    def arguments(self):
        """What the record says of each argument of the host function, in order."""
        return self.json["arguments"]

    def bind(self, given: Mapping[str, Any]) -> tuple[dict, list[arrays.ArrayView]]:
        """Checks the arguments, by name, and gives what formulas are made of, and the
        arrays in device memory. Raises ArgumentError."""
        known = {argument["name"] for argument in self.arguments}
        for name in given:
            if name not in known:
                raise ArgumentError(f"unknown argument '{name}'; expected "
                                    f"{', '.join(sorted(known))}")
        values, tensors = {}, []
        for argument in self.arguments:
            name = argument["name"]
            if name not in given:
                raise ArgumentError(f"missing argument '{name}'")
            value = given[name]
            if argument["kind"] == "scalar":
                values[name] = _scalar(argument, value)
            elif argument["kind"] == "host-array":
                values[name] = [int(x) for x in np.asarray(value).reshape(-1)]
            elif argument["dtype"] == "pointer":
                values[name] = int(value)
            else:
                view = arrays.view(value, name)
                _check_tensor(argument, view)
                values[name] = _Tensor(view)
                tensors.append(view)
        return values, tensors

    def workspace_bytes(self, values: Mapping[str, Any]) -> int:
        """Bytes of device memory that the launches need beside the arguments."""
        return self._evaluate(self.json["workspace"]["bytes"], self._names(values, 0))

    def launches(self, values: Mapping[str, Any], workspace: int = 0) -> list[Launch]:
        """What there is to launch, in order. Raises ArgumentError where a requirement
        or a limit of the record does not hold."""
        names = self._names(values, workspace)
        result = []
        for step in self.json["steps"]:
            if not all(self._evaluate(guard, names) for guard in step["guards"]):
                continue
            for limit in step["limits"]:
                got = self._evaluate(limit["expression"], names)
                if not limit["least"] <= got <= limit["most"]:
                    raise ArgumentError(f"expected {limit['expression']} from {limit['least']} "
                                        f"to {limit['most']}, got {got}")
            if step["kind"] == "requirement":
                if not self._evaluate(step["condition"], names):
                    raise ArgumentError(step["message"])
                continue
            result.append(self._launch(step, names))
        return result

    def _launch(self, step, names) -> Launch:
        kernel = self.json["kernels"][step["kernel"]]
        grid = tuple(self._evaluate(e, names) for e in step["grid"])
        block = tuple(self._evaluate(e, names) for e in step["block"])
        limits = (("grid", grid, (2**31 - 1, 65535, 65535)), ("block", block, (1024, 1024, 64)))
        for what, sizes, most in limits:
            if any(not 0 <= size <= limit for size, limit in zip(sizes, most)):
                raise ArgumentError(f"expected a {what} of at most {most}, got {sizes}")
        arguments = [(self._evaluate(a["expression"], names), a["bytes"])
                     for a in step["arguments"]]
        for fact, (value, _) in zip(step["arguments"], arguments):
            if fact["type"] == "pointer" and fact["used"] and value % fact["alignment"]:
                raise ArgumentError(f"expected {fact['expression']} to be a multiple of "
                                    f"{fact['alignment']}, got {value:#x}")
        return Launch(kernel["module"], kernel["entry"], grid, block,
                      self._evaluate(step["dynamic_shared_bytes"], names), arguments)

    def _names(self, values, workspace):
        names = dict(values, workspace=workspace)
        for value in self.json["values"]:
            names[value["name"]] = self._evaluate(value["expression"], names)
        return names

    def _evaluate(self, expression: str, names: Mapping[str, Any]) -> int:
        code = self._code.get(expression)
        if code is None:
            code = self._code[expression] = compile(expression, "<launch record>", "eval")
        try:
            return int(eval(code, _FUNCTIONS, names))
        except ZeroDivisionError:
            return 0


def _scalar(argument, value) -> int:
    dtype, name, size = argument["dtype"], argument["name"], argument["bytes"]
    if dtype.startswith(("f", "bf")):
        number = np.asarray(value, dtypes.to_numpy(dtype))
        return int.from_bytes(number.tobytes(), "little")
    if isinstance(value, float) and not value.is_integer():
        raise ArgumentError(f"'{name}': expected an integer, got {value}")
    try:
        number = int(value)
    except (TypeError, ValueError):
        raise ArgumentError(f"'{name}': expected a number, got {type(value).__name__}") from None
    if not -(2 ** (8 * size - 1)) <= number < 2 ** (8 * size):
        raise ArgumentError(f"'{name}': expected a number of {8 * size} bits, got {number}")
    return number


def _check_tensor(argument, view: arrays.ArrayView) -> None:
    name, dtype = argument["name"], argument["dtype"]
    if not dtypes.fits(view.dtype, dtype):
        raise ArgumentError(f"'{name}': expected elements of {dtype}, got {view.dtype}")
    if len(view.shape) != argument["rank"]:
        raise ArgumentError(f"'{name}': expected {argument['rank']} dimensions, got "
                            f"{len(view.shape)}")
    for i, (size, got) in enumerate(zip(argument["sizes"], view.shape)):
        if size is not None and size != got:
            raise ArgumentError(f"'{name}': expected size {size} of dimension {i}, got {got}")
    if not argument["used"] or 0 in view.shape:
        return
    if not view.pointer:
        raise ArgumentError(f"'{name}': expected memory, got a null pointer")
    strides = argument["strides"]
    if strides == "packed":
        strides, step = [0] * len(view.shape), 1
        for i in reversed(range(len(view.shape))):
            strides[i], step = step, step * view.shape[i]
    for i, (stride, got) in enumerate(zip(strides, view.strides)):
        if view.shape[i] == 1:
            continue
        if got < 0 or (stride is not None and stride != got):
            wanted = "of at least 0" if stride is None else str(stride)
            raise ArgumentError(f"'{name}': expected stride {wanted} of dimension {i}, in "
                                f"elements, got {got}; pass a contiguous array")
    if view.pointer % argument["alignment"]:
        raise ArgumentError(f"'{name}': expected an address that is a multiple of "
                            f"{argument['alignment']}, got {view.pointer:#x}")
    if "write" in argument["access"] and not view.writeable:
        raise ArgumentError(f"'{name}': expected an array that can be written, got a "
                            "read-only one")
