# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The program of each operation of a case, made of the dialect's kernels."""
import dataclasses
import math

import numpy as np

from case_folder import argument, need
from comparison import compare
from element_types import ELEMENT_TYPES, decode
from pool_layout import PoolLayout
from program_text import (SIDES, ProgramText, layout_text, number_text,
                          padded_with_poison)
from runner import Sparse
from verdicts import Differs, Malformed, Unsupported

WIDE = ("f32", "bf16", "f16")


def _arrays(case):
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


def _own_ids(case):
    """Whether blocks of scales have ids of their own."""
    own = ("scales_lookup_table", "scale_slots", "scale_pairs", "scale_src",
           "scale_dst", "scale_pages")
    return case.layout.has_scales_pool and (
        case.nb != case.nbs or any(name in case.inputs for name in own))


def _page_pools(text, case):
    """A collection without sequences; its type."""
    layout = text.attribute("kv", layout_text(case.layout, _own_ids(case)))
    pools = text.pools(case.layout, case.nb, case.nbs, _arrays(case))
    type_ = f"!kvcache.collection<{layout}>"
    text.line(f"%collection = kvcache.get_page_pools {pools} : {type_}")
    return type_


def _collection(text, case, new_lengths=None, lengths="cache_lengths"):
    """A collection with its sequences; `new_lengths` are the tokens to come."""
    layout = case.layout
    lengths, table = need(case, lengths, "lookup_table")
    if table.ndim != 2 or lengths.shape != table.shape[:1]:
        raise Malformed(f"cache_lengths {list(lengths.shape)} and lookup_table "
                        f"{list(table.shape)} do not fit")
    new = np.zeros(len(lengths), np.uint32) if new_lengths is None else new_lengths
    own = _own_ids(case)
    attribute = text.attribute("kv", layout_text(layout, own))
    pools = text.pools(layout, case.nb, case.nbs, _arrays(case))
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


def _cache(text, case, collection, name="cache"):
    """One layer of one side: (its value, its type)."""
    side, layer = argument(case, "c", range(case.layout.KD)), argument(
        case, "l", range(case.layout.L))
    layer = text.index(f"{name}_layer", layer)
    text.line(f"%{name} = kvcache.get_{SIDES[side]}_cache %collection[{layer}] : "
              f"{collection}")
    return f"%{name}", f"!kvcache.cache<{SIDES[side]}, #kv>"


def _input(text, case, name, leading, as_dtype=None, into=None):
    """An input whose first `leading` dimensions are dynamic."""
    array, = need(case, name)
    text.argument(into or name, array, as_dtype or case.dtypes[name],
                  static_dims=array.ndim - leading)
    return text.typed(into or name)


def _global_scale(text, case):
    if case.layout.global_scale == 1 or not case.layout.G:
        return ""
    text.argument("global_scale", np.array(case.layout.global_scale, np.float32),
                  "f32")
    return f" global_scale({text.typed('global_scale')})"


def _rows(text, case):
    """The collection, and the text that says where rows go."""
    form = argument(case, "form", ("ragged", "padded", "slots", "positions"))
    if form == "slots":
        collection = _page_pools(text, case)
        rows = [_input(text, case, "slots", 1)]
        if _own_ids(case):
            name = "scale_slots" if "scale_slots" in case.inputs else "slots"
            rows.append(_input(text, case, name, 1, into="scale_slots"))
    elif form == "positions":
        collection = _collection(text, case)
        rows = [_input(text, case, name, 1) for name in ("sequences", "positions")]
    else:
        name = "new_lengths" if form == "padded" else "row_offsets"
        counts = need(case, name)[0].astype(np.int64)
        new = counts if form == "padded" else np.diff(counts)
        lengths, = need(case, "cache_lengths")
        if new.shape != lengths.shape:
            raise Malformed(f"{name} {list(counts.shape)} and cache_lengths "
                            f"{list(lengths.shape)} do not fit")
        collection = _collection(text, case, new)
        rows = [_input(text, case, name, 1)]
    names, types = zip(*(row.split(" : ") for row in rows))
    return collection, f"{form}({', '.join(names)} : {', '.join(types)})"


def _leading(case):
    return 2 if case.args.get("form") == "padded" else 1


def _listed(typed):
    """"a : t" of several operands as "a, b : t, u"."""
    names, types = zip(*(operand.split(" : ") for operand in typed))
    return f"{', '.join(names)} : {', '.join(types)}"


def _inputs_of_sides(text, case, name):
    names = [name] + ([f"{name}_other"] if "x_other" in case.inputs else [])
    return _listed([_input(text, case, name, _leading(case)) for name in names])


def _sides(text, case, collection):
    """Sources and targets: rows of one side and, where the case has some, of the
    other one too."""
    targets = [" : ".join(_cache(text, case, collection))]
    if "x_other" in case.inputs:
        other = dataclasses.replace(case, args=case.args | {"c": 1 - case.args["c"]})
        targets.append(" : ".join(_cache(text, other, collection, "other")))
    return (f"sources({_inputs_of_sides(text, case, 'x')}) "
            f"into({_listed(targets)})")


def append(case):
    text = ProgramText()
    collection, rows = _rows(text, case)
    scales = ""
    if "x_scales" in case.inputs:
        scales = f" scales({_inputs_of_sides(text, case, 'x_scales')})"
    text.line(f"kvcache.append skip {_sides(text, case, collection)} {rows}{scales}")
    return text


def _quantization(case):
    rule = argument(case, "quant")
    try:
        return (f" quant(<contract = {rule['contract']}, floor = "
                f"{number_text(rule['floor'])}, floor_on = {rule['floor_on']}, "
                f"apply = {rule['apply']}>)")
    except (KeyError, TypeError, ValueError) as error:
        raise Malformed(f"args: quant is {rule!r:.100}: {error}")


def quantize_append(case):
    text = ProgramText()
    collection, rows = _rows(text, case)
    text.line(f"kvcache.quantize_append skip {_sides(text, case, collection)} "
              f"{rows}{_quantization(case)}{_global_scale(text, case)}")
    return text


def _output(text, case, name, lead, inner, dtype):
    """A tensor [*lead, H, inner] for a result, inside of a larger one where the
    case says `pad`; its text and type."""
    sizes = [*lead, case.layout.H, inner]
    pad = case.args.get("pad")
    if pad is None:
        text.argument(name, padded_with_poison(sizes, dtype), dtype,
                      is_output=True, static_dims=2)
        return text.typed(name)
    whole = sizes[:-3] + [size + more for size, more in zip(sizes[-3:], pad)]
    return _part(text, name, padded_with_poison(whole, dtype), sizes, dtype,
                 is_output=True)


def _part(text, name, array, sizes, dtype, is_output):
    """The first `sizes` of an argument; its text and type."""
    whole = array.shape
    text.argument(name, array, dtype, is_output)
    listed = lambda numbers: ", ".join(map(str, numbers))
    strides = [math.prod(whole[i + 1:]) for i in range(len(whole))]
    element = ELEMENT_TYPES[dtype].mlir
    shape = "x".join(map(str, sizes))
    part = f"memref<{shape}x{element}, strided<[{listed(strides)}]>>"
    text.line(f"%{name}_part = memref.subview %{name}[{listed([0] * len(sizes))}] "
              f"[{listed(sizes)}] [{listed([1] * len(sizes))}] : "
              f"{text.types[name]} to {part}")
    return f"%{name}_part : {part}"
def _tables(text, case):
    """The tables of a rotary embedding: names, types."""
    tables = [_input(text, case, name, 1) for name in ("cos", "sin")]
    names, types = zip(*(table.split(" : ") for table in tables))
    return ", ".join(names), ", ".join(types)


def _rotation(rotation):
    return f" rotation(<style = {rotation['style']}, start = {rotation['start']}>)"


def _norm(norm):
    return (f" norm(<eps = {number_text(norm['eps'])}, weight_offset = "
            f"{number_text(norm['weight_offset'])}>)")


def rope_quantize_append(case):
    text = ProgramText()
    collection, rows = _rows(text, case)
    tables, types = _tables(text, case)
    line = (f"kvcache.rope_quantize_append skip {_sides(text, case, collection)} "
            f"{rows} rope({tables} : {types})")
    if "rope_positions" in case.inputs:
        positions = _input(text, case, "rope_positions", _leading(case))
        line += f" rope_positions({positions})"
    line += _rotation(argument(case, "rope"))
    if "weight" in case.inputs:
        line += f" rms_norm({_input(text, case, 'weight', 0)})"
        line += _norm(argument(case, "norm"))
    if case.layout.G:
        line += _quantization(case) + _global_scale(text, case)
    text.line(line)
    return text


def _turn(case, name, line):
    """An operation that makes `out` of `x` without a pool."""
    text = ProgramText()
    x = _input(text, case, "x", 1)
    if case.inputs["x"].ndim != 3:
        raise Malformed(f"x has rank {case.inputs['x'].ndim}, expected 3")
    text.argument("out", padded_with_poison(case.inputs["x"].shape, "f32"), "f32",
                  is_output=True, static_dims=2)
    attributes, types = line(text)
    text.line(f"kvcache.{name} %x into %out {attributes} : "
              f"{text.types['x']} into {text.types['out']} by {types}")
    return text


def rope(case):
    def line(text):
        positions = _input(text, case, "positions", 1).split(" : ")[1]
        tables, types = _tables(text, case)
        return (f"positions(%positions) tables({tables}){_rotation(case.args)}",
                f"{positions}, {types}")
    return _turn(case, "rope", line)


def rms_norm(case):
    def line(text):
        type_ = _input(text, case, "weight", 0).split(" : ")[1]
        return f"weight(%weight){_norm(case.args)}", type_
    return _turn(case, "rms_norm", line)


def gather(case):
    text = ProgramText()
    layout = case.layout
    collection = _collection(text, case)
    cache, cache_type = _cache(text, case, collection)
    lengths, = need(case, "cache_lengths")
    rows, dtype = argument(case, "rows"), argument(case, "out_dtype", WIDE)
    if not isinstance(rows, int) or rows < 0:
        raise Malformed(f"args: rows is {rows!r}, expected a whole number")
    words, lead = "", [len(lengths), rows]
    if "sequences" in case.inputs:
        words += f" sequences({_input(text, case, 'sequences', 1)})"
        lead[0] = len(case.inputs["sequences"])
    if "row_offsets" in case.inputs:
        words += f" offsets({_input(text, case, 'row_offsets', 1)})"
        lead = [rows]
    out = _output(text, case, "out", lead, layout.D, dtype)
    if case.args.get("scales"):
        scales = _output(text, case, "scales_out", lead, layout.G, "f32")
        words += f" scales({scales})"
    text.line(f"kvcache.gather skip from({cache} : {cache_type}) into({out})"
              f"{words}{_global_scale(text, case)}")
    return text


def _with_empty_pools(case):
    """The case, with pools of zeros where it has none: its operation reads none."""
    pools = {"blocks": case.nb * case.layout.page_bytes}
    if case.layout.has_scales_pool:
        pools["scales"] = case.nbs * case.layout.scales_page_bytes
    empty = {name: Sparse(size, np.zeros(0, np.int64), np.zeros((0, 1), np.uint8))
             for name, size in pools.items() if name not in case.inputs}
    return dataclasses.replace(case, inputs=case.inputs | empty,
                               args={"c": 0, "l": 0} | case.args)


def remap_indices(case):
    text = ProgramText()
    case = _with_empty_pools(case)
    new = None
    if "row_offsets" in case.inputs:
        new = np.diff(case.inputs["row_offsets"].astype(np.int64))
    collection = _collection(text, case, new)
    cache, cache_type = _cache(text, case, collection)
    indices = _input(text, case, "indices", 2)
    shape = case.inputs["indices"].shape
    line, outputs = f"indices({indices}) from({cache} : {cache_type})", {"slots": "into"}
    if "scale_slots" in case.outputs:
        outputs["scale_slots"] = "scale_slots"
    for name, word in outputs.items():
        dtype = case.outputs[name].dtype
        text.argument(name, padded_with_poison(shape, dtype), dtype, is_output=True,
                      static_dims=0)
        line += f" {word}({text.typed(name)})"
        if name == "slots" and new is not None:
            line += f" offsets({_input(text, case, 'row_offsets', 1)})"
    text.line(f"kvcache.remap_indices skip {line}")
    return text


def _queries(text, case):
    """The cache whose keys are scored, and the text of what is asked of it; the
    pools hold the new tokens beside the old ones."""
    offsets, old = need(case, "row_offsets", "old_lengths")
    case = dataclasses.replace(
        case, inputs=case.inputs | {"cache_lengths": old},
        args={"c": 0, "l": 0} | case.args)
    collection = _collection(text, case, np.diff(offsets.astype(np.int64)))
    cache, cache_type = _cache(text, case, collection)
    queries, weights = (_input(text, case, name, 1).split(" : ")
                        for name in ("q", "q_scale"))
    causal = " causal" if case.args.get("causal", True) else ""
    return (f"skip{causal} queries({queries[0]}, {weights[0]} : {queries[1]}, "
            f"{weights[1]}) from({cache} : {cache_type}) "
            f"offsets({_input(text, case, 'row_offsets', 1)})")


def indexer_topk(case, parts=3):
    """In each of its forms: of scores that are written, fused, and by several
    blocks a row."""
    text = ProgramText()
    line = f"kvcache.indexer_topk {_queries(text, case)}"
    globally = _global_scale(text, case)
    rows, count = case.inputs["q"].shape[0], argument(case, "top_k")
    columns = case.outputs["scores"].array.shape[1]

    def tensor(name, shape, dtype, static_dims):
        text.argument(name, padded_with_poison(shape, dtype), dtype, is_output=True,
                      static_dims=static_dims)
        return text.typed(name)

    def best(form):
        return (f" into({tensor(f'topk{form}', [rows, count], 'i32', 1)})"
                f" values({tensor(f'values{form}', [rows, count], 'f32', 1)})")
    text.line(f"{line}{best('')} scores({tensor('scores', [rows, columns], 'f32', 0)})"
              f"{globally}")
    text.line(line + best("_fused") + globally)
    workspace = tensor("workspace", [rows, parts, 2 * count], "i32", 1)
    text.line(f"{line}{best('_parted')} workspace({workspace}){globally}")
    return text


def _agreed(results):
    """The results of the first of several forms, which must agree."""
    for form in ("fused", "parted"):
        for name in ("topk", "values"):
            compare(f"{name} ({form})", results[f"{name}_{form}"], results[name],
                    "i32" if name == "topk" else "f32", "bytes")
    return results | {"scores": results["scores"].astype(np.float64)}


def _layers(case):
    layers = case.args.get("layers")
    if layers is None:
        return ""
    if not isinstance(layers, list) or not all(
            isinstance(layer, int) and layer in range(case.layout.L)
            for layer in layers):
        raise Malformed(f"args: layers is {layers!r}, the layout has "
                        f"{case.layout.L}")
    return f" layers = {layers}"


def _page_operation(name, lists, needs_workspace):
    """An operation on pages or slots of all sides. `lists` are (word, input, its
    counterpart where scales have ids of their own)."""

    def build(case):
        text = ProgramText()
        collection = _page_pools(text, case)
        line, longest = f"kvcache.{name} skip %collection", 0
        for word, values, scales in lists:
            operands = [_input(text, case, values, 1)]
            if _own_ids(case):
                source = scales if scales in case.inputs else values
                operands.append(_input(text, case, source, 1, into=scales))
            longest = max([longest] + [len(array) for of, array in text.arguments
                                       if of in (values, scales)])
            names, types = zip(*(operand.split(" : ") for operand in operands))
            line += f" {word}({', '.join(names)} : {', '.join(types)})"
        if needs_workspace:
            # Four words for each pair of the longer list.
            text.argument("workspace", padded_with_poison([4 * longest], "i32"),
                          "i32", static_dims=0)
            line += f" workspace({text.typed('workspace')})"
        text.line(f"{line}{_layers(case)} : {collection}")
        return text
    return build


def compact(case):
    text = ProgramText()
    collection = _collection(text, case)
    names = ["lookup_table"]
    if "scales_lookup_table" in case.inputs:
        names.append("scales_lookup_table")
    elif _own_ids(case):
        raise Unsupported("scales with ids of their own and no table")
    for name in names:
        text.argument(name, padded_with_poison(case.inputs[name].shape, "u32"),
                      "u32", is_output=True, static_dims=0)
    text.argument("workspace", padded_with_poison(
        [6 * max(case.nb, case.nbs) + 64], "i32"), "i32", static_dims=0)
    tables = ", ".join(f"%{name}" for name in names)
    types = ", ".join(text.types[name] for name in names)
    text.line(f"kvcache.compact skip %collection into({tables} : {types}) "
              f"workspace({text.typed('workspace')}) : {collection}")
    return text


def convert_layout(case):
    text = ProgramText()
    to = argument(case, "to")
    if not isinstance(to, PoolLayout):
        raise Malformed("args: 'to' is no layout")
    source = _page_pools(text, case)
    arrays = {"blocks": need(case, "to_blocks")[0]}
    if to.has_scales_pool:
        arrays["scales"], = need(case, "to_scales")
    attribute = text.attribute("to", layout_text(to, _own_ids(case)))
    pools = text.pools(to, case.nb, case.nbs, arrays, "to_")
    target = f"!kvcache.collection<{attribute}>"
    text.line(f"%target = kvcache.get_page_pools {pools} : {target}")
    text.line(f"kvcache.convert_layout skip %collection into %target : {source} into "
              f"{target}")
    return text


def _unwritten(shape, dtype):
    """An array of NaN, for what attention writes."""
    storage = np.dtype(ELEMENT_TYPES[dtype].storage)
    return np.full([*shape, storage.itemsize], 0xFF, np.uint8).view(storage)[..., 0]


def _rows_argument(text, case, name, array, dtype, is_output=False):
    """A tensor of attention with rows, inside of a larger one of NaN where the case
    says `strided`; its text and type."""
    more = case.args.get("strided")
    if not more:
        text.argument(name, array, dtype, is_output, static_dims=array.ndim - 1)
        return text.typed(name)
    whole = _unwritten([size + more for size in array.shape], dtype)
    whole[tuple(map(slice, array.shape))] = array
    return _part(text, name, whole, list(array.shape), dtype, is_output)


def _attention_rows(text, case):
    """The collection and its new tokens, the parts of the line that attention
    has first: queries, and offsets."""
    offsets, old = need(case, "row_offsets", "old_lengths")
    new = np.diff(offsets.astype(np.int64))
    if new.shape != old.shape:
        raise Malformed(f"row_offsets {list(offsets.shape)} and old_lengths "
                        f"{list(old.shape)} do not fit")
    collection = _collection(text, case, new, lengths="old_lengths")
    q, = need(case, "q")
    return (collection, _rows_argument(text, case, "q", q, case.dtypes["q"]),
            _input(text, case, "row_offsets", 1))


def _attention_results(text, case, dtype, size, parts):
    """What attention has for `into`, and the text of `lse` and `workspace`. `parts`
    are those that the workspace has room for; 0 for none."""
    rows, heads = case.inputs["q"].shape[:2]
    out, lse = (_rows_argument(text, case, name, _unwritten(shape, kind), kind, is_output=True)
                for name, shape, kind in (("out", [rows, heads, size], dtype),
                                          ("lse", [rows, heads], "f32")))
    words = f" lse({lse})"
    if parts:
        count = parts * rows * heads * (size + 2)
        text.argument("workspace", padded_with_poison([count], "f32"), "f32",
                      static_dims=0)
        words += f" workspace({text.typed('workspace')})"
    return out, words + _global_scale(text, case)


def _numbers(case, **names):
    """Attributes for the arguments that a case has; 0 is none."""
    listed = [f"{name} = {form(case.args[name])}" for name, form in names.items()
              if case.args.get(name)]
    return f" {{{', '.join(listed)}}}" if listed else ""


def attention(case):
    text = ProgramText()
    collection, q, offsets = _attention_rows(text, case)
    layer = text.index("layer", argument(case, "l", range(case.layout.L)))
    for side in SIDES:
        text.line(f"%{side}s = kvcache.get_{side}_cache %collection[{layer}] : "
                  f"{collection}")
    types = ", ".join(f"!kvcache.cache<{side}, #kv>" for side in SIDES)
    dtype = case.args.get("out_dtype", "f32")
    out, words = _attention_results(text, case, dtype, case.layout.D,
                                    case.args.get("parts", 2))
    if "sinks" in case.inputs:
        words = f" sinks({_input(text, case, 'sinks', 0)})" + words
    number = lambda value: f"{number_text(np.float32(value))} : f32"
    text.line(f"kvcache.paged_attention queries({q}) over(%keys, %values : "
              f"{types}) into({out}) ragged({offsets}){words}" +
              _numbers(case, scale=number, softcap=number,
                       window=lambda value: f"{value} : i64"))
    return text


def mla_decode(case):
    text = ProgramText()
    collection, q, offsets = _attention_rows(text, case)
    layer = text.index("layer", argument(case, "l", range(case.layout.L)))
    text.line(f"%keys = kvcache.get_key_cache %collection[{layer}] : {collection}")
    out, words = _attention_results(text, case, case.args.get("out_dtype", "f32"),
                                    argument(case, "v_dim"),
                                    case.args.get("parts", 2))
    if "q_scale" in case.inputs:
        words = f" q_scales({_input(text, case, 'q_scale', 1)})" + words
    if "slots" in case.inputs:
        lists = [_input(text, case, "slots", 2)]
        if _own_ids(case):
            lists.append(_input(text, case, "scale_slots", 2))
        names, types = zip(*(of.split(" : ") for of in lists))
        words = f" slots({', '.join(names)} : {', '.join(types)})" + words
    number = lambda value: f"{number_text(np.float32(value))} : f32"
    text.line(f"kvcache.mla_decode queries({q}) over(%keys : "
              f"!kvcache.cache<key, #kv>) into({out}) "
              f"ragged({offsets}){words}" + _numbers(case, scale=number))
    return text


PROGRAMS = {
    "append": append,
    "quantize_append": quantize_append,
    "rope_quantize_append": rope_quantize_append,
    "rope": rope,
    "rms_norm": rms_norm,
    "gather": gather,
    "remap_indices": remap_indices,
    "indexer_topk": indexer_topk,
    "copy_pages": _page_operation("copy_pages", [("pairs", "pairs", "scale_pairs")],
                                  needs_workspace=True),
    "move_tokens": _page_operation("move_tokens", [("from", "src", "scale_src"),
                                                   ("to", "dst", "scale_dst")],
                                   needs_workspace=True),
    "clear_pages": _page_operation("clear_pages", [("pages", "pages", "scale_pages")],
                                   needs_workspace=False),
    "compact": compact,
    "convert_layout": convert_layout,
    "attention": attention,
    "mla_decode": mla_decode,
}


def run_case(case, runner):
    """Outputs by name."""
    if case.op not in PROGRAMS:
        raise Unsupported(f"operation {case.op}")
    if case.layout is None and case.op not in ("rope", "rms_norm"):
        raise Malformed(f"{case.op} needs a layout")
    results = runner.run(case.name, PROGRAMS[case.op](case).program())
    if case.layout is None:
        results["out"] = results["out"].astype(np.float64)
    if case.op in ("attention", "mla_decode"):
        # References are f64.
        dtypes = {"out": case.args.get("out_dtype", "f32"), "lse": "f32"}
        more = case.args.get("strided", 0)
        for name, dtype in dtypes.items():
            whole = decode(results[name], dtype)
            inside = tuple(slice(size - more) for size in whole.shape)
            results[name] = whole[inside].copy()
            whole[inside] = np.nan
            if not np.isnan(whole).all():
                raise Differs(f"{name} was written outside of its rows")
    if case.op == "indexer_topk":
        return _agreed(results)
    if case.op == "convert_layout":
        # Of the target the outputs are called as those of the source.
        results = {name.removeprefix("to_"): array
                   for name, array in results.items() if name.startswith("to_")}
    return results
