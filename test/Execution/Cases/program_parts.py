# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the programs of all operations are made of: pools, collections, inputs,
outputs."""
import math

import numpy as np

from case_folder import argument, need
from element_types import ELEMENT_TYPES
from program_text import SIDES, layout_text, padded_with_poison
from runner import Sparse
from verdicts import Malformed

WIDE = ("f32", "bf16", "f16")


def pool_arrays(case):
    """The pools' bytes by name."""
    if case.sparse_bytes:
        blocks = Sparse(case.sparse_bytes,
                        *need(case, "segment_offsets", "segment_bytes"))
    else:
        blocks, = need(case, "blocks")
    arrays = {"blocks": blocks}
    if case.layout.has_scales_pool:
        arrays["scales"], = need(case, "scales")
    return arrays


def has_own_ids(case):
    """Whether blocks of scales have ids of their own."""
    own = ("scales_lookup_table", "scale_slots", "scale_pairs", "scale_src",
           "scale_dst", "scale_pages")
    return case.layout.has_scales_pool and (
        case.nb != case.nbs or any(name in case.inputs for name in own))


def page_pools(text, case):
    """A collection without sequences; its type."""
    layout = text.attribute("kv", layout_text(case.layout, has_own_ids(case)))
    pools = text.pools(case.layout, case.nb, case.nbs, pool_arrays(case))
    type_ = f"!kvcache.collection<{layout}>"
    text.line(f"%collection = kvcache.get_page_pools {pools} : {type_}")
    return type_


def collection_of(text, case, new_lengths=None, lengths="cache_lengths"):
    """A collection with its sequences; `new_lengths` are the tokens to come."""
    layout = case.layout
    lengths, table = need(case, lengths, "lookup_table")
    if table.ndim != 2 or lengths.shape != table.shape[:1]:
        raise Malformed(f"cache_lengths {list(lengths.shape)} and lookup_table "
                        f"{list(table.shape)} do not fit")
    new = np.zeros(len(lengths), np.uint32) if new_lengths is None else new_lengths
    own = has_own_ids(case)
    attribute = text.attribute("kv", layout_text(layout, own))
    pools = text.pools(layout, case.nb, case.nbs, pool_arrays(case))
    blocks, _, scales = pools.partition(" scales")
    most = lambda numbers: np.array([max(map(int, numbers), default=0)], np.uint32)
    text.argument("lengths", lengths, "u32", static_dims=0)
    text.argument("table", table, "u32", static_dims=0)
    text.argument("max_prompt", most(new), "u32")
    text.argument("max_cache", most(lengths + new), "u32")
    type_ = f"!kvcache.collection<{attribute}>"
    line = (f"%collection = kvcache.get_paged_cache {blocks} "
            f"lengths({text.typed('lengths')}) table({text.typed('table')}) "
            f"max_prompt({text.typed('max_prompt')}) "
            f"max_cache({text.typed('max_cache')})")
    if scales:
        line += f" scales{scales}"
    if own:
        scales_table = case.inputs.get("scales_lookup_table", table)
        if scales_table.shape != table.shape:
            raise Malformed(f"lookup_table {list(table.shape)} and "
                            f"scales_lookup_table {list(scales_table.shape)} differ")
        text.argument("scales_table", scales_table, "u32", static_dims=0)
        line += f" scales_table({text.typed('scales_table')})"
    text.line(f"{line} : {type_}")
    return type_


def cache_of(text, case, collection, name="cache"):
    """One layer of one side: (its value, its type)."""
    side, layer = argument(case, "c", range(case.layout.KD)), argument(
        case, "l", range(case.layout.L))
    layer = text.index(f"{name}_layer", layer)
    text.line(f"%{name} = kvcache.get_{SIDES[side]}_cache %collection[{layer}] : "
              f"{collection}")
    return f"%{name}", f"!kvcache.cache<{SIDES[side]}, #kv>"


def input_of(text, case, name, leading, as_dtype=None, into=None):
    """An input whose first `leading` dimensions are dynamic."""
    array, = need(case, name)
    text.argument(into or name, array, as_dtype or case.dtypes[name],
                  static_dims=array.ndim - leading)
    return text.typed(into or name)


def global_scale(text, case):
    if case.layout.global_scale == 1 or not case.layout.G:
        return ""
    text.argument("global_scale", np.array(case.layout.global_scale, np.float32),
                  "f32")
    return f" global_scale({text.typed('global_scale')})"


def listed(typed):
    """"a : t" of several operands as "a, b : t, u"."""
    names, types = zip(*(operand.split(" : ") for operand in typed))
    return f"{', '.join(names)} : {', '.join(types)}"


def output_of(text, case, name, lead, inner, dtype):
    """A tensor [*lead, H, inner] for a result, inside of a larger one where the
    case says `pad`; its text and type."""
    sizes = [*lead, case.layout.H, inner]
    pad = case.args.get("pad")
    if pad is None:
        text.argument(name, padded_with_poison(sizes, dtype), dtype,
                      is_output=True, static_dims=2)
        return text.typed(name)
    whole = sizes[:-3] + [size + more for size, more in zip(sizes[-3:], pad)]
    return part_of(text, name, padded_with_poison(whole, dtype), sizes, dtype,
                 is_output=True)


def part_of(text, name, array, sizes, dtype, is_output, first=None,
            is_dynamic=False):
    """`sizes` of an argument from `first` (by default 0) on; its text and type,
    whose strides and offset may be dynamic."""
    whole, first = array.shape, first or [0] * len(sizes)
    text.argument(name, array, dtype, is_output)
    listed = lambda numbers: ", ".join(map(str, numbers))
    strides = [math.prod(whole[i + 1:]) for i in range(len(whole))]
    element = ELEMENT_TYPES[dtype].mlir
    shape = "x".join(map(str, sizes))
    offset = sum(at * stride for at, stride in zip(first, strides))
    part = (f"memref<{shape}x{element}, strided<[{listed(strides)}]"
            f"{f', offset: {offset}' if offset else ''}>>")
    text.line(f"%{name}_part = memref.subview %{name}[{listed(first)}] "
              f"[{listed(sizes)}] [{listed([1] * len(sizes))}] : "
              f"{text.types[name]} to {part}")
    if not is_dynamic:
        return f"%{name}_part : {part}"
    unknown = listed(["?"] * (len(sizes) - 1) + [1])
    any_ = f"memref<{shape}x{element}, strided<[{unknown}], offset: ?>>"
    text.line(f"%{name}_any_part = memref.cast %{name}_part : {part} to {any_}")
    return f"%{name}_any_part : {any_}"
