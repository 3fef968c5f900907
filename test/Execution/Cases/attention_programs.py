# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The program of attention, of the indexer and of what comes between."""
import dataclasses

import numpy as np

from case_folder import argument, need
from comparison import compare
from element_types import ELEMENT_TYPES
from program_parts import (cache_of, collection_of, global_scale, has_own_ids,
                           input_of, part_of)
from program_text import SIDES, ProgramText, number_text, padded_with_poison
from runner import Sparse
from verdicts import Malformed


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
    collection = collection_of(text, case, new)
    cache, cache_type = cache_of(text, case, collection)
    indices = input_of(text, case, "indices", 2)
    shape = case.inputs["indices"].shape
    line = f"indices({indices}) from({cache} : {cache_type})"
    outputs = {"slots": "into"}
    if "scale_slots" in case.outputs:
        outputs["scale_slots"] = "scale_slots"
    for name, word in outputs.items():
        dtype = case.outputs[name].dtype
        text.argument(name, padded_with_poison(shape, dtype), dtype, is_output=True,
                      static_dims=0)
        line += f" {word}({text.typed(name)})"
        if name == "slots" and new is not None:
            line += f" offsets({input_of(text, case, 'row_offsets', 1)})"
    text.line(f"kvcache.remap_indices skip {line}")
    return text


def _queries(text, case):
    """The cache whose keys are scored, and the text of what is asked of it; the
    pools hold the new tokens beside the old ones."""
    offsets, old = need(case, "row_offsets", "old_lengths")
    case = dataclasses.replace(
        case, inputs=case.inputs | {"cache_lengths": old},
        args={"c": 0, "l": 0} | case.args)
    collection = collection_of(text, case, np.diff(offsets.astype(np.int64)))
    cache, cache_type = cache_of(text, case, collection)
    queries, weights = (input_of(text, case, name, 1).split(" : ")
                        for name in ("q", "q_scale"))
    causal = " causal" if case.args.get("causal", True) else ""
    return (f"skip{causal} queries({queries[0]}, {weights[0]} : {queries[1]}, "
            f"{weights[1]}) from({cache} : {cache_type}) "
            f"offsets({input_of(text, case, 'row_offsets', 1)})")


def indexer_topk(case, parts=3):
    """In each of its forms: of scores that are written, fused, and by several
    blocks a row."""
    text = ProgramText()
    line = f"kvcache.indexer_topk {_queries(text, case)}"
    globally = global_scale(text, case)
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


def agreed(results):
    """The results of the first of several forms, which must agree."""
    for form in ("fused", "parted"):
        for name in ("topk", "values"):
            compare(f"{name} ({form})", results[f"{name}_{form}"], results[name],
                    "i32" if name == "topk" else "f32", "bytes")
    return results | {"scores": results["scores"].astype(np.float64)}


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
    return part_of(text, name, whole, list(array.shape), dtype, is_output)


def _attention_rows(text, case):
    """The collection and its new tokens, the parts of the line that attention
    has first: queries, and offsets."""
    offsets, old = need(case, "row_offsets", "old_lengths")
    new = np.diff(offsets.astype(np.int64))
    if new.shape != old.shape:
        raise Malformed(f"row_offsets {list(offsets.shape)} and old_lengths "
                        f"{list(old.shape)} do not fit")
    collection = collection_of(text, case, new, lengths="old_lengths")
    q, = need(case, "q")
    return (collection, _rows_argument(text, case, "q", q, case.dtypes["q"]),
            input_of(text, case, "row_offsets", 1))


def _attention_results(text, case, dtype, size, parts):
    """What attention has for `into`, and the text of `lse` and `workspace`. `parts`
    are those that the workspace has room for; 0 for none."""
    rows, heads = case.inputs["q"].shape[:2]
    out, lse = (_rows_argument(text, case, name, _unwritten(shape, kind), kind,
                               is_output=True)
                for name, shape, kind in (("out", [rows, heads, size], dtype),
                                          ("lse", [rows, heads], "f32")))
    words = f" lse({lse})"
    if parts:
        count = parts * rows * heads * (size + 2)
        text.argument("workspace", padded_with_poison([count], "f32"), "f32",
                      static_dims=0)
        words += f" workspace({text.typed('workspace')})"
    return out, words + global_scale(text, case)


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
        words = f" sinks({input_of(text, case, 'sinks', 0)})" + words
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
        words = f" q_scales({input_of(text, case, 'q_scale', 1)})" + words
    if "slots" in case.inputs:
        lists = [input_of(text, case, "slots", 2)]
        if has_own_ids(case):
            lists.append(input_of(text, case, "scale_slots", 2))
        names, types = zip(*(of.split(" : ") for of in lists))
        words = f" slots({', '.join(names)} : {', '.join(types)})" + words
    number = lambda value: f"{number_text(np.float32(value))} : f32"
    text.line(f"kvcache.mla_decode queries({q}) over(%keys : "
              f"!kvcache.cache<key, #kv>) into({out}) "
              f"ragged({offsets}){words}" + _numbers(case, scale=number))
    return text
