# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs for the ready kernels: a host function around one kernel operation, and
how a call's arguments become the function's."""

from __future__ import annotations

import dataclasses
from typing import Any, Callable, Optional

import numpy as np

from . import arrays, dtypes
from .errors import ArgumentError
from .layout import Layout, Pool


@dataclasses.dataclass
class Program:
    """IR text of a kernel, and `prepare`, which makes the host function's arguments
    of the pool and the keyword arguments of a call, and what the call returns."""

    name: str
    text: str
    prepare: Callable[[Optional[Pool], dict], tuple[dict, Any]]


class _Function:
    """A host function under construction."""

    def __init__(self, name: str, layout: Layout):
        self.name, self.layout = name, layout
        self.parameters: list[str] = []
        self.body: list[str] = []
        self.types: dict[str, str] = {}

    def add(self, name: str, type_: str) -> str:
        self.parameters.append(f'%{name}: {type_} {{kvcache.name = "{name}"}}')
        self.types[name] = type_
        return f"%{name}"

    def clause(self, name: str, *operands: str) -> str:
        names = ", ".join(f"%{operand}" for operand in operands)
        types = ", ".join(self.types[operand] for operand in operands)
        return f" {name}({names} : {types})" if operands else ""

    def pool(self, name: str, pool: str) -> None:
        shape = self.layout.attr.pool_shape(("values", "scales").index(pool))
        sizes = "x".join("?" if size is None else str(size) for size in shape)
        # Pages and sides may lie anywhere; a page itself is packed.
        strides, step = [], 1
        for size in reversed(shape[3:]):
            strides.insert(0, str(step))
            step *= size
        strides = ["?", "?", str(step), *strides]
        self.add(name, f"memref<{sizes}x{self.layout.pool_dtype(pool)}, "
                       f"strided<[{', '.join(strides)}]>>")

    def pools(self) -> str:
        self.pool("blocks", "values")
        scales = ""
        if self.layout.has_scales_pool:
            self.pool("scales", "scales")
            scales = self.clause("scales", "scales")
        return scales

    def collection(self, layout_alias="#kv") -> None:
        scales = self.pools()
        self.add("lengths", "memref<?xi32>")
        self.add("table", "memref<?x?xi32>")
        table = ""
        if self.layout.scales and self.layout.scales_table == "own":
            self.add("scales_table", "memref<?x?xi32>")
            table = self.clause("scales_table", "scales_table")
        self.add("max_lengths", "memref<1xi32>")
        self.body.append(
            "%collection = kvcache.get_paged_cache" + self.clause("blocks", "blocks")
            + self.clause("lengths", "lengths") + self.clause("table", "table")
            + self.clause("max_prompt", "max_lengths") + self.clause("max_cache", "max_lengths")
            + scales + table + f" : !kvcache.collection<{layout_alias}>")

    def cache(self, side: str) -> str:
        self.body.append(f"%{side} = kvcache.get_{side}_cache %collection[%layer] : "
                         "!kvcache.collection<#kv>")
        self.types[side] = f"!kvcache.cache<{side}, #kv>"
        return side

    def text(self) -> str:
        lines = "\n  ".join([*self.body, "return"])
        return (f"#kv = {self.layout.text}\n"
                f"func.func @{self.name}({', '.join(self.parameters)}) {{\n  {lines}\n}}\n")


def _sides(layout: Layout, side: str) -> list[str]:
    if side == "both":
        return ["key"] if layout.mla else ["key", "value"]
    if side not in ("key", "value"):
        raise ValueError(f"expected a side of key, value or both, got {side!r}")
    return [side]


def _policy(policy: str) -> str:
    if policy not in ("assume", "skip", "trap"):
        raise ValueError(f"expected a policy of assume, skip or trap, got {policy!r}")
    return "" if policy == "assume" else policy + " "


def _like(array, given, dtype=np.int32):
    """Small integers that may come as lists: an array on the CPU."""
    if isinstance(given, (list, tuple, int)):
        return np.ascontiguousarray(given, dtype)
    if isinstance(given, np.ndarray) and given.dtype.kind in "iu" and \
            given.dtype.itemsize != np.dtype(dtype).itemsize:
        return np.ascontiguousarray(given, dtype)
    return given


def _bind_collection(layout: Layout, pool: Pool, given: dict) -> dict:
    if not isinstance(pool, Pool):
        raise ArgumentError(f"expected a pool as the first argument, got {type(pool).__name__}; "
                            "Layout.allocate and Layout.wrap make one")
    if pool.layout != layout:
        raise ArgumentError("expected a pool of the kernel's layout, got one of another layout")
    arguments = dict(given, blocks=pool.blocks)
    if pool.scales is not None:
        arguments["scales"] = pool.scales
    for name in ("lengths", "table", "scales_table"):
        if name in arguments:
            arguments[name] = _like(None, arguments[name])
    if "lengths" in arguments and "table" in arguments:
        lengths, table = (arrays.view(arguments[n], n) for n in ("lengths", "table"))
        if len(table.shape) == 2 and len(lengths.shape) == 1 and \
                table.shape[0] != lengths.shape[0]:
            raise ArgumentError(f"'table': expected {lengths.shape[0]} rows, one for each length, "
                                f"got {table.shape[0]}")
        if lengths.device == "cpu" and isinstance(arguments["lengths"], np.ndarray) and \
                isinstance(arguments["table"], np.ndarray) and lengths.shape[0]:
            longest = int(arguments["lengths"].view(np.uint32).max()) \
                if arguments["lengths"].dtype.itemsize == 4 else 0
            pages = -(-longest // layout.page_size)
            if pages > table.shape[1]:
                raise ArgumentError(f"'table': expected at least {pages} pages for {longest} "
                                    f"tokens, got {table.shape[1]}")
    # No kernel here reads it; one that did would refuse a null pointer.
    arguments.setdefault("max_lengths", arrays.ArrayView(
        0, (1,), (1,), "i32", 4, arrays.view(pool.blocks).device, None))
    return arguments


# Gather ------------------------------------------------------------------------


def gather(layout: Layout, *, side: str = "key", out: str = "f32", ragged: bool = False,
           sequences: bool = False, out_scales: bool = False, global_scale: bool = False,
           policy: str = "assume") -> Program:
    """Keys or values of sequences as one tensor, dequantised.

    Call: `k(pool, lengths=, table=, [scales_table=], layer=0, [sequences=],
    [offsets=], [rows=], [out=], [out_scales=])`. Gives `out`, `[B, rows, H, D]`
    (`[T, H, D]` with `ragged`), which it makes where it is not given; `rows` is then
    the longest length unless said otherwise. With `out_scales` also the scales.
    """
    function = _Function("gather", layout)
    function.collection()
    function.add("layer", "index")
    (side,) = _sides(layout, side)
    function.cache(side)
    lead = "?x" if ragged else "?x?x"
    function.add("out", f"memref<{lead}{layout.heads}x{layout.head_size}x{out}>")
    op = f"kvcache.gather {_policy(policy)}from(%{side} : {function.types[side]})"
    op += function.clause("into", "out")
    if sequences:
        function.add("sequences", "memref<?xi32>")
        op += function.clause("sequences", "sequences")
    if ragged:
        function.add("offsets", "memref<?xi32>")
        op += function.clause("offsets", "offsets")
    if out_scales:
        function.add("out_scales", f"memref<{lead}{layout.heads}x{layout.scale_slots}xf32>")
        op += function.clause("scales", "out_scales")
    if global_scale:
        function.add("global_scale", "memref<f32>")
        op += function.clause("global_scale", "global_scale")
    function.body.append(op)

    def prepare(pool, given):
        rows = given.pop("rows", None)
        arguments = _bind_collection(layout, pool, given)
        arguments.setdefault("layer", 0)
        for name in ("sequences", "offsets"):
            if name in arguments:
                arguments[name] = _like(None, arguments[name])
        if "global_scale" in arguments:
            arguments["global_scale"] = np.asarray(arguments["global_scale"], np.float32)
        if "out" not in arguments:
            shape = _gathered_shape(arguments, rows, ragged)
            arguments["out"] = np.zeros((*shape, layout.heads, layout.head_size),
                                        dtypes.to_numpy(out))
        if out_scales and "out_scales" not in arguments:
            shape = arrays.view(arguments["out"], "out").shape[:1 if ragged else 2]
            arguments["out_scales"] = np.zeros((*shape, layout.heads, layout.scale_slots),
                                               np.float32)
        result = arguments["out"]
        return arguments, (result, arguments["out_scales"]) if out_scales else result

    return Program("gather", function.text(), prepare)


def _gathered_shape(arguments, rows, ragged):
    for name in ("lengths", "table", *(["offsets"] if ragged else [])):
        if name not in arguments:
            raise ArgumentError(f"missing argument '{name}'")
        if not isinstance(arguments[name], np.ndarray):
            raise ArgumentError(f"missing argument 'out'; it can only be made where '{name}' is "
                                "an array of NumPy or a list")
    if ragged:
        return (int(arguments["offsets"][-1]),)
    lengths = arguments["lengths"]
    chosen = arguments.get("sequences")
    batch = lengths.shape[0] if chosen is None else len(chosen)
    if rows is None:
        rows = int(lengths.max()) if lengths.size else 0
    return (batch, rows)


# Append ------------------------------------------------------------------------

_FORMS = {"ragged": ["offsets"], "padded": ["new_lengths"],
          "positions": ["sequences", "positions"], "slots": ["slots"]}


def _append(operation: str, layout: Layout, side: str, form: str, policy: str,
            sources: dict[str, str], scales: bool, quantization: Optional[str],
            global_scale: bool) -> Program:
    if form not in _FORMS:
        raise ValueError(f"expected a form of {', '.join(_FORMS)}, got {form!r}")
    function = _Function(operation, layout)
    function.collection()
    function.add("layer", "index")
    sides = _sides(layout, side)
    for one in sides:
        function.cache(one)
    lead = "?x?x" if form == "padded" else "?x"
    for name, tail in sources.items():
        function.add(name, f"memref<{lead}{tail}>")
    row_names = list(_FORMS[form])
    if form == "slots" and layout.scales and layout.scales_table == "own" and \
            (scales or operation == "quantize_append"):
        row_names.append("scale_slots")
    integer = "i64" if form == "slots" else "i32"
    for name in row_names:
        function.add(name, f"memref<?x{integer}>")
    values = [name for name in sources if not name.endswith("_scales")]
    scale_names = [name for name in sources if name.endswith("_scales")]
    op = f"kvcache.{operation} {_policy(policy)}"
    op += (function.clause("sources", *values) + function.clause("into", *sides)).strip() \
        if values else (function.clause("scales", *scale_names)
                        + function.clause("into", *sides)).strip()
    op += function.clause(form, *row_names).replace(f" {form}", f" {form}", 1)
    if values and scale_names:
        op += function.clause("scales", *scale_names)
    if quantization is not None:
        op += f" quant(#kvcache.quantization<{quantization}>)"
        if global_scale:
            function.add("global_scale", "memref<f32>")
            op += function.clause("global_scale", "global_scale")
    function.body.append(op)

    def prepare(pool, given):
        arguments = _bind_collection(layout, pool, given)
        arguments.setdefault("layer", 0)
        for name in row_names:
            if name in arguments:
                arguments[name] = _like(None, arguments[name],
                                        np.int64 if integer == "i64" else np.int32)
        if "global_scale" in arguments:
            arguments["global_scale"] = np.asarray(arguments["global_scale"], np.float32)
        return arguments, None

    return Program(operation, function.text(), prepare)


def append(layout: Layout, *, side: str = "both", form: str = "ragged",
           rows: Optional[str] = None, scales: bool = False,
           policy: str = "assume") -> Program:
    """Rows that are ready to be stored, into a layer of keys, values or both.

    Call: `k(pool, lengths=, table=, layer=0, key=, value=, [key_scales=,
    value_scales=], offsets= | new_lengths= | sequences=, positions= | slots=)`;
    `rows` is the rows' dtype, by default the cache's. Nothing is given back.
    """
    half = 2 if layout.dtype == "f4E2M1FN" else 1
    dtype = rows or ("i8" if half == 2 else layout.dtype)
    names = {}
    for one in _sides(layout, side):
        names[f"{one}_rows"] = f"{layout.heads}x{layout.head_size // half}x{dtype}"
    if scales:
        for one in _sides(layout, side):
            names[f"{one}_scales"] = f"{layout.heads}x{layout.scale_slots}x{layout.scales}"
    return _append("append", layout, side, form, policy, names, scales, None, False)


def quantize_append(layout: Layout, *, side: str = "both", form: str = "ragged",
                    rows: str = "bf16", quantization: str = "", global_scale: bool = False,
                    policy: str = "assume") -> Program:
    """Rows of floats, quantised into a layer; `quantization` is the inside of a
    `#kvcache.quantization`, for example `"floor = 1.0e-4, floor_on = amax"`.

    Call: as that of `append`, with `key_rows=` and `value_rows=`.
    """
    names = {f"{one}_rows": f"{layout.heads}x{layout.head_size}x{rows}"
             for one in _sides(layout, side)}
    return _append("quantize_append", layout, side, form, policy, names, False, quantization,
                   global_scale)


def append_scales(layout: Layout, *, side: str = "both", form: str = "ragged",
                  policy: str = "assume") -> Program:
    """Scales that were computed elsewhere. Call: as that of `append`, with
    `key_scales=` and `value_scales=`."""
    names = {f"{one}_scales": f"{layout.heads}x{layout.scale_slots}x{layout.scales}"
             for one in _sides(layout, side)}
    return _append("append_scales", layout, side, form, policy, names, False, None, False)


# Whole pages ---------------------------------------------------------------------


def _pages(operation: str, layout: Layout, policy: str, lists: dict[str, str],
           layers: Optional[list[int]], workspace: bool) -> Program:
    function = _Function(operation, layout)
    scales = function.pools()
    function.body.append("%collection = kvcache.get_page_pools"
                         + function.clause("blocks", "blocks") + scales
                         + " : !kvcache.collection<#kv>")
    own = bool(layout.scales) and layout.scales_table == "own"
    op = f"kvcache.{operation} {_policy(policy)}%collection"
    every = []
    for name, type_ in lists.items():
        names = [name, f"scales_{name}"] if own else [name]
        for one in names:
            function.add(one, type_)
        op += function.clause(name, *names)
        every += names
    if workspace:
        function.add("scratch", "memref<?xi32>")
        op += function.clause("workspace", "scratch")
    elif operation != "clear_pages":
        op += " disjoint"
    if layers is not None:
        op += f" layers = [{', '.join(map(str, layers))}]"
    function.body.append(op + " : !kvcache.collection<#kv>")

    def prepare(pool, given):
        if not isinstance(pool, Pool) or pool.layout != layout:
            raise ArgumentError("expected a pool of the kernel's layout as the first argument")
        arguments = dict(given, blocks=pool.blocks)
        if pool.scales is not None:
            arguments["scales"] = pool.scales
        longest = 0
        for name in every:
            if name in arguments:
                arguments[name] = _like(None, arguments[name], np.int64)
                longest = max(longest, arrays.view(arguments[name], name).shape[0])
        if workspace and "scratch" not in arguments:
            arguments["scratch"] = np.zeros(max(1, 4 * longest), np.int32)
        return arguments, None

    return Program(operation, function.text(), prepare)


def copy_pages(layout: Layout, *, disjoint: bool = False, layers: Optional[list[int]] = None,
               policy: str = "assume") -> Program:
    """Pages to pages of the same pools, all at once. Call: `k(pool, pairs=[(from,
    to), …], [scales_pairs=], [scratch=])`; `scratch` is four
    `int32` a pair, made where it is not given."""
    return _pages("copy_pages", layout, policy, {"pairs": "memref<?x2xi64>"}, layers,
                  not disjoint)


def clear_pages(layout: Layout, *, layers: Optional[list[int]] = None,
                policy: str = "assume") -> Program:
    """Zeros into pages. Call: `k(pool, pages=[…], [scales_pages=])`."""
    return _pages("clear_pages", layout, policy, {"pages": "memref<?xi64>"}, layers, False)


KERNELS = {function.__name__: function for function in
           (append, append_scales, clear_pages, copy_pages, gather, quantize_append)}
