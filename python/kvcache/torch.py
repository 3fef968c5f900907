# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels as custom operators of torch, which is optional: only this module needs it.

    gather = kvcache.torch.custom_op(kvcache.compile("gather", layout), "mine::gather")
    keys = gather(blocks, scales, lengths, table, layer=0, rows=20)

Tensors on the CPU run on the simulator, those on a GPU there, in torch's current
stream. Operators work in `torch.compile` and pass `torch.library.opcheck`.
"""

from __future__ import annotations

import threading
from typing import Any, Optional

import torch

from .checks import integer
from .compiler import Kernel
from .errors import ArgumentError

_DTYPES = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16",
           "f8E4M3FN": "float8_e4m3fn", "f8E5M2": "float8_e5m2",
           "f8E8M0FNU": "float8_e8m0fnu", "i64": "int64", "i32": "int32", "i16": "int16",
           "i8": "int8", "index": "int64"}
_registered: dict[str, tuple[Any, Any]] = {}
_lock = threading.Lock()


def dtype(name: str) -> torch.dtype:
    """torch's dtype of an MLIR type, or ValueError."""
    kind = getattr(torch, _DTYPES.get(name, ""), None)
    if kind is None:
        raise ValueError(f"expected a type that torch {torch.__version__} has, got {name}")
    return kind


def custom_op(kernel: Kernel, name: Optional[str] = None):
    """Registers a kernel as operator `name` ("namespace::name"; by default
    "kvcache::" and the kernel's name and key) and gives it.

    Its arguments are those of the host function (`kernel.ir`), in that order: tensors,
    numbers, and behind them sizes of results (`rows`, `columns`). Results are returned;
    what else the kernel writes, such as a pool's arrays, it mutates. Scratch memory is
    made. Calling it raises ArgumentError and LaunchError as calling the kernel does;
    ArgumentError for what is no kernel, ValueError if another kernel has that name
    already."""
    if not isinstance(kernel, Kernel):
        raise ArgumentError("expected a kernel, as kvcache.compile gives one, got "
                            f"{type(kernel).__name__}")
    if name is None:
        name = f"kvcache::{kernel.name}_{kernel.key[:12]}"
    if not isinstance(name, str) or name.count("::") != 1:
        raise ValueError(f"expected a name of the form namespace::name, got {name!r}")
    with _lock:
        if name in _registered:
            key, operator = _registered[name]
            if key != kernel.key:
                raise ValueError(f"'{name}' is the name of another kernel already")
            return operator
        operator = _register(kernel, name)
        _registered[name] = kernel.key, operator
        return operator


def _register(kernel: Kernel, name: str):
    inputs, results, scratch, mutated, schema = _interface(kernel)
    program = kernel.program
    own = not program.arguments

    def split(arguments):
        given = dict(zip(inputs, arguments))
        sizes = {size: given.pop(size) for size in ([] if own else program.sizes)}
        for size, value in sizes.items():
            if isinstance(value, int):  # Not a symbol of torch.compile.
                integer(size, value, 0, 2**63 - 1)
        return given, sizes

    def make(argument, given, sizes, zeros):
        like = next(value for value in given.values() if isinstance(value, torch.Tensor))
        shape = program.shape_of(argument, given, sizes)
        create = like.new_zeros if zeros else like.new_empty
        return create(shape, dtype=dtype(argument.dtype))

    def run(*arguments):
        given, sizes = split(arguments)
        for argument in [*results, *scratch]:
            given[argument.name] = make(argument, given, sizes, True)
        made = tuple(given[argument.name] for argument in results)
        on_gpu = [value.device for value in given.values()
                  if isinstance(value, torch.Tensor) and value.is_cuda]
        # Each GPU has a current stream of its own.
        stream = torch.cuda.current_stream(on_gpu[0]) if on_gpu else None
        kernel(*([] if own else program.pools(given)), stream=stream, **given)
        return made[0] if len(made) == 1 else made or None

    def fake(*arguments):
        given, sizes = split(arguments)
        made = tuple(make(argument, given, sizes, False) for argument in results)
        return made[0] if len(made) == 1 else made or None

    operator = torch.library.custom_op(name, run, mutates_args=mutated, schema=schema)
    operator.register_fake(fake)
    return operator


def _interface(kernel: Kernel):
    """Names of inputs; results and scratch arrays; names of what is mutated; schema."""
    program, facts = kernel.program, {fact["name"]: fact for fact in kernel.record["arguments"]}
    arguments = {argument.name: argument for argument in program.arguments}
    inputs, results, scratch, mutated, texts = [], [], [], [], []
    for name, fact in facts.items():
        argument = arguments.get(name)
        if argument is not None and argument.hidden:
            continue
        if argument is not None and argument.shape:
            (results if argument.result else scratch).append(argument)
            continue
        inputs.append(name)
        if fact["kind"] == "tensor":
            if fact["dtype"] == "pointer":
                raise ArgumentError(f"expected arrays and numbers as arguments, got the pointer "
                                    f"'{name}'")
            if "write" in fact["access"]:
                mutated.append(name)
                texts.append(f"Tensor(a{len(mutated)}!) {name}")
            else:
                texts.append(f"Tensor {name}")
        elif fact["kind"] == "host-array":
            texts.append(f"SymInt[] {name}")
        elif fact["dtype"].startswith(("f", "bf")):
            texts.append(f"float {name}")
        else:
            texts.append(f"SymInt {name}")
    if program.arguments:
        inputs += list(program.sizes)
        texts += [f"SymInt {size}" for size in program.sizes]
    returned = ", ".join("Tensor" for _ in results)
    returned = returned if len(results) == 1 else f"({returned})"
    return inputs, results, scratch, mutated, f"({', '.join(texts)}) -> {returned}"
