# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A host function around one kernel operation, made with the dialect's builders."""

from __future__ import annotations

import contextlib
from typing import Any, Optional, Sequence

from ..checks import choice, count, member, number
from ..layout import Layout, shared_context
from .program import Argument, Program


class Function:
    """A host function under construction, in the context that layouts share."""

    def __init__(self, name: str, layout: Optional[Layout] = None):
        from .. import ir
        from ..dialects import func

        self.name, self.layout = name, layout
        self.arguments: list[Argument] = []
        self._ir, self._values = ir, {}
        with shared_context(), ir.Location.unknown():
            self._module = ir.Module.create()
            with ir.InsertionPoint(self._module.body):
                self._function = func.FuncOp(name, ([], []))
            self._block = self._function.add_entry_block()

    @contextlib.contextmanager
    def building(self):
        """A context in which the dialects' builders add to the function's end."""
        with shared_context(), self._ir.Location.unknown(), self._ir.InsertionPoint(self._block):
            yield

    # Arguments -----------------------------------------------------------------

    def array(self, name: str, sizes: Sequence[Optional[int]], dtype: str, **facts: Any):
        """An array in device memory; None is a size of run time. `facts` are those of
        `Argument`."""
        free = self._ir.ShapedType.get_dynamic_size()
        given = tuple(sizes)
        sizes = [free if size is None else count(f"a size of {name}", size) for size in sizes]
        return self._add(Argument(name, dtype, given, **facts),
                         self._ir.MemRefType.get(sizes, self.type(dtype)))

    def scalar(self, name: str, dtype: str = "index", default: Optional[int] = None):
        """A number."""
        return self._add(Argument(name, dtype, None, default=default), self.type(dtype))

    def _add(self, argument: Argument, type_):
        self.arguments.append(argument)
        # The location's name is what the value is called in the program's text.
        value = self._block.add_argument(type_, self._ir.Location.name(argument.name))
        self._values[argument.name] = value
        return value

    def type(self, name: str):
        """An element type by MLIR's name."""
        try:
            return self._ir.Type.parse(name)
        except (self._ir.MLIRError, TypeError):
            raise ValueError(f"expected an element type as MLIR spells it (f32, bf16, …), got "
                             f"{name!r}") from None

    # Caches --------------------------------------------------------------------

    def pools(self, layout: Optional[Layout] = None, prefix: str = "") -> dict:
        """Arrays `blocks` and, where scales have a pool, `scales`."""
        layout = layout or self.layout
        result = {"blocks": self._pool(layout, prefix + "blocks", "values")}
        if layout.has_scales_pool:
            result["scales"] = self._pool(layout, prefix + "scales", "scales")
        return result

    def _pool(self, layout, name, pool):
        from ..dialects import kvcache as kv

        ir = self._ir
        shape = layout.attr.pool_shape(kv.Pool[pool])
        free, far = ir.ShapedType.get_dynamic_size(), ir.ShapedType.get_dynamic_stride_or_offset()
        # Pages and sides may lie anywhere; a page itself is packed.
        strides, step = [], 1
        for size in reversed(shape[3:]):
            strides.insert(0, step)
            step *= size
        dtype = layout.pool_dtype(pool)
        kind = ir.MemRefType.get([free if size is None else size for size in shape],
                                 self.type(dtype),
                                 ir.StridedLayoutAttr.get(0, [far, far, step, *strides]))
        return self._add(Argument(name, dtype, tuple(shape), pool=True), kind)

    def collection(self):
        """`get_paged_cache` of arrays `blocks`, `lengths`, `table`, …."""
        from ..dialects import kvcache as kv

        pools = self.pools()
        lengths = self.array("lengths", [None], "i32")
        table = self.array("table", [None, None], "i32")
        own = None
        if self.own_scales_table:
            own = self.array("scales_table", [None, None], "i32")
        # No kernel here reads it; one that did would refuse a null pointer.
        longest = self.array("max_lengths", [1], "i32", hidden=True)
        return kv.get_paged_cache(self._collection_type(self.layout), pools["blocks"], lengths,
                                  table, longest, longest, scales=pools.get("scales"),
                                  scales_lookup_table=own)

    def page_pools(self, layout: Optional[Layout] = None, prefix: str = ""):
        """`get_page_pools` of the pools alone."""
        from ..dialects import kvcache as kv

        pools = self.pools(layout, prefix)
        return kv.get_page_pools(self._collection_type(layout or self.layout), pools["blocks"],
                                 scales=pools.get("scales"))

    def caches(self, *sides: str) -> list:
        """The caches of the sides of one `layer`, which is an argument."""
        from ..dialects import kvcache as kv

        collection, layer = self.collection(), self.scalar("layer", default=0)
        get = {"key": kv.get_key_cache, "value": kv.get_value_cache}
        types = {side: kv.CacheType.get(kv.Side[side], self.layout.attr)
                 for side in sides}
        return [get[side](collection, layer, results=[types[side]]) for side in sides]

    def _collection_type(self, layout):
        from ..dialects import kvcache as kv

        return kv.CollectionType.get(layout.attr)

    @property
    def own_scales_table(self) -> bool:
        """Whether scales are found by block ids of their own."""
        return bool(self.layout.scales) and self.layout.scales_table == "own"

    # The end -------------------------------------------------------------------

    def program(self, **facts: Any) -> Program:
        """The finished program; `facts` are those of `Program`."""
        from ..dialects import func

        ir = self._ir
        with self.building():
            func.ReturnOp([])
        with shared_context():
            types = [value.type for value in self._block.arguments]
            self._function.attributes["function_type"] = ir.TypeAttr.get(
                ir.FunctionType.get(types, []))
            self._function.attributes["arg_attrs"] = ir.ArrayAttr.get(
                [ir.DictAttr.get({"kvcache.name": ir.StringAttr.get(argument.name)})
                 for argument in self.arguments])
            text = self._module.operation.get_asm(use_name_loc_as_prefix=True)
        return Program(self.name, text, self.layout, tuple(self.arguments), **facts)


def sides_of(layout: Layout, side: str) -> list[str]:
    """The sides that `side` ("key", "value" or "both") names."""
    choice("side", side, ("key", "value", "both"))
    if side == "both":
        return ["key"] if layout.mla else ["key", "value"]
    return [side]


def policy_of(policy: str):
    """The enumeration's value of a policy's name; None for the default."""
    from ..dialects import kvcache as kv

    found = member("policy", kv.OutOfRange, policy)
    return None if found == kv.OutOfRange.assume else found


def rotation(style: str, start: int):
    """`#kvcache.rotation`."""
    from ..dialects import kvcache as kv

    return kv.RotationAttr.get(member("style", kv.RotationStyle, style),
                               count("start", start, 0))


def norm(eps: float, weight_offset: float):
    """`#kvcache.norm`."""
    from ..dialects import kvcache as kv

    return kv.NormAttr.get(number("eps", eps), number("weight_offset", weight_offset))
