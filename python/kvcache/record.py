# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launch records: from the arguments of a host function to launches, as
docs/launch-record.md describes them."""

from __future__ import annotations

import dataclasses
from typing import Any, Mapping

import numpy as np

from . import arrays, dtypes
from .checks import integer, real
from .errors import ArgumentError, LaunchError
from .formulas import evaluate


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
        #: The names of the host function's arguments.
        self.names = frozenset(argument["name"] for argument in json["arguments"])

    def uses(self, name: str) -> bool:
        """Whether the function has an argument of that name that a launch depends on."""
        return any(a["name"] == name and a["used"] for a in self.arguments)

    @property
    def arguments(self):
        """What the record says of each argument of the host function, in order."""
        return self.json["arguments"]

    def bind(self, given: Mapping[str, Any],
             stream: int = 0) -> tuple[dict, dict[str, arrays.ArrayView]]:
        """Checks the arguments, by name, and gives what formulas are made of, and by name
        the arrays in device memory that a kernel uses, in `stream`. Raises
        ArgumentError."""
        for name in given:
            if name not in self.names:
                raise ArgumentError(f"unknown argument '{name}'; expected "
                                    f"{', '.join(sorted(self.names))}")
        values, tensors = {}, {}
        for argument in self.arguments:
            name = argument["name"]
            if name not in given:
                raise ArgumentError(f"missing argument '{name}'")
            value = given[name]
            if argument["kind"] == "scalar":
                values[name] = _scalar(argument, value)
            elif argument["kind"] == "host-array":
                values[name] = _host_array(name, value)
            elif argument["dtype"] == "pointer":
                values[name] = integer(name, value)
            else:
                view = arrays.view(value, name, stream)
                _check_tensor(argument, view)
                values[name] = _Tensor(view)
                if argument["used"]:
                    tensors[name] = view
        return values, tensors

    def workspace_bytes(self, values: Mapping[str, Any]) -> int:
        """Bytes of device memory that the launches need beside the arguments."""
        return evaluate(self.json["workspace"]["bytes"], self._names(values, 0))

    def launches(self, values: Mapping[str, Any], workspace: int = 0) -> list[Launch]:
        """What there is to launch, in order. Raises ArgumentError where a requirement
        or a limit of the record does not hold."""
        names = self._names(values, workspace)
        result = []
        for step in self.json["steps"]:
            if not all(evaluate(guard, names) for guard in step["guards"]):
                continue
            for limit in step["limits"]:
                got = evaluate(limit["expression"], names)
                if not limit["least"] <= got <= limit["most"]:
                    raise ArgumentError(f"expected {limit['expression']} from {limit['least']} "
                                        f"to {limit['most']}, got {got}")
            if step["kind"] == "requirement":
                if not evaluate(step["condition"], names):
                    got = " and ".join(str(evaluate(formula, names))
                                       for formula in step.get("compared", ()))
                    raise ArgumentError(step["message"] + (f", got {got}" if got else ""))
                continue
            result.append(self._launch(step, names))
        return result

    def _launch(self, step, names) -> Launch:
        kernel = self.json["kernels"][step["kernel"]]
        grid = tuple(evaluate(e, names) for e in step["grid"])
        block = tuple(evaluate(e, names) for e in step["block"])
        limits = (("grid", grid, (2**31 - 1, 65535, 65535)), ("block", block, (1024, 1024, 64)))
        for what, sizes, most in limits:
            if any(not 0 <= size <= limit for size, limit in zip(sizes, most)):
                raise ArgumentError(f"expected a {what} of at most {most}, got {sizes}")
        arguments = [(evaluate(a["expression"], names), a["bytes"])
                     for a in step["arguments"]]
        for fact, (value, _) in zip(step["arguments"], arguments):
            if fact["type"] == "pointer" and fact["used"] and value % fact["alignment"]:
                raise ArgumentError(f"expected {fact['expression']} to be a multiple of "
                                    f"{fact['alignment']}, got {value:#x}")
        return Launch(kernel["module"], kernel["entry"], grid, block,
                      evaluate(step["dynamic_shared_bytes"], names), arguments)

    def _names(self, values, workspace):
        names = dict(values, workspace=workspace)
        for value in self.json["values"]:
            names[value["name"]] = evaluate(value["expression"], names)
        return names


def _scalar(argument, value) -> int:
    dtype, name, size = argument["dtype"], argument["name"], argument["bytes"]
    if dtype.startswith(("f", "bf")):
        number = np.asarray(real(name, value), dtypes.to_numpy(dtype))
        return int.from_bytes(number.tobytes(), "little")
    number = int(value) if dtype == "i1" and isinstance(value, (bool, np.bool_)) else \
        integer(name, value)
    if not -(2 ** (8 * size - 1)) <= number < 2 ** (8 * size):
        raise ArgumentError(f"'{name}': expected a number of {8 * size} bits, got {number}")
    return number


def _host_array(name: str, value) -> list[int]:
    try:
        array = arrays.as_numpy(value, name) if hasattr(value, "shape") else np.asarray(value)
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, ArgumentError):
            raise
        raise ArgumentError(f"'{name}': expected a list of integers, got one that NumPy refuses: "
                            f"{error}") from None
    if array.size and array.dtype.kind not in "iu":
        raise ArgumentError(f"'{name}': expected integers, got {array.dtype}")
    return [int(x) for x in array.reshape(-1)]


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
    if view.device == "cpu":
        arrays.check_host_memory(view, name)
    if "write" in argument["access"] and not view.writeable:
        raise ArgumentError(f"'{name}': expected an array that can be written, got a "
                            "read-only one")
