# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The program of each operation of a case, made of the dialect's kernels."""
import dataclasses

import numpy as np

from attention_programs import (agreed, attention, indexer_topk, mla_decode,
                                remap_indices)
from case_folder import argument, need
from destinations import destinations, share_slots
from element_types import decode
from pool_layout import PoolLayout
from program_parts import (WIDE, cache_of, collection_of, global_scale, has_own_ids,
                           input_of, listed, output_of, page_pools, part_of)
from program_text import ProgramText, layout_text, number_text, padded_with_poison
from verdicts import Differs, Malformed, Unsupported


def _rows(text, case):
    """The collection, and the text that says where rows go."""
    form = argument(case, "form", ("ragged", "padded", "slots", "positions"))
    if form == "slots":
        collection = page_pools(text, case)
        of_scales = "scale_slots" if "scale_slots" in case.inputs else "slots"
        if case.op == "append_scales":
            rows = [input_of(text, case, of_scales, 1)]
        else:
            rows = [input_of(text, case, "slots", 1)]
            if has_own_ids(case):
                rows.append(input_of(text, case, of_scales, 1, into="scale_slots"))
    elif form == "positions":
        collection = collection_of(text, case)
        rows = [input_of(text, case, name, 1) for name in ("sequences", "positions")]
    else:
        name = "new_lengths" if form == "padded" else "row_offsets"
        counts = need(case, name)[0].astype(np.int64)
        new = counts if form == "padded" else np.diff(counts)
        lengths, = need(case, "cache_lengths")
        if new.shape != lengths.shape:
            raise Malformed(f"{name} {list(counts.shape)} and cache_lengths "
                            f"{list(lengths.shape)} do not fit")
        collection = collection_of(text, case, new)
        rows = [input_of(text, case, name, 1)]
    names, types = zip(*(row.split(" : ") for row in rows))
    return collection, f"{form}({', '.join(names)} : {', '.join(types)})"


def _workspace(text, case):
    """Where rows share slots what finds the last of each; nothing where they do
    not, which is the form without a cost."""
    nb, nbs, P = case.nb, case.nbs, case.layout.P
    values, scales = destinations(case.layout, nb, nbs, case.args["form"], case.inputs)
    if case.op == "append_scales":
        entries, rows = nbs * P, [scales]
    elif has_own_ids(case) and (case.op != "append" or "x_scales" in case.inputs):
        entries, rows = (nb + nbs) * P, [values, scales]
    else:
        entries, rows = nb * P, [values]
    if not any(map(share_slots, rows)):
        return ""
    text.argument("workspace", padded_with_poison([entries], "i32"), "i32",
                  static_dims=0)
    return f" workspace({text.typed('workspace')})"


def _leading(case):
    return 2 if case.args.get("form") == "padded" else 1


def _source(text, case, name):
    """Rows to append: as they are or, where the case says `x_pad`, at the end of a
    larger tensor, which has so many rows, heads and elements more."""
    pad = case.args.get("x_pad")
    if pad is None:
        return input_of(text, case, name, _leading(case))
    array, = need(case, name)
    more = [0] * (array.ndim - 3) + [int(size) for size in pad]
    whole = padded_with_poison([a + b for a, b in zip(array.shape, more)],
                               case.dtypes[name])
    first = [*more[:-1], 0]
    whole[tuple(slice(start, start + size)
                for start, size in zip(first, array.shape))] = array
    return part_of(text, name, whole, array.shape, case.dtypes[name],
                   is_output=False, first=first,
                   is_dynamic=bool(case.args.get("x_dynamic")))


def _inputs_of_sides(text, case, name):
    other = f"{name}_other"
    names = [name] + ([other] if other in case.inputs else [])
    return listed([_source(text, case, name) for name in names])


def _sides(text, case, collection, sources="sources", rows="x"):
    """Sources and targets: rows of one side and, where the case has some, of the
    other one too."""
    targets = [" : ".join(cache_of(text, case, collection))]
    if f"{rows}_other" in case.inputs:
        other = dataclasses.replace(case, args=case.args | {"c": 1 - case.args["c"]})
        targets.append(" : ".join(cache_of(text, other, collection, "other")))
    return (f"{sources}({_inputs_of_sides(text, case, rows)}) "
            f"into({listed(targets)})")


def append(case):
    text = ProgramText()
    collection, rows = _rows(text, case)
    scales = ""
    if "x_scales" in case.inputs:
        scales = f" scales({_inputs_of_sides(text, case, 'x_scales')})"
    text.line(f"kvcache.append skip {_sides(text, case, collection)} {rows}{scales}"
              f"{_workspace(text, case)}")
    return text


def append_scales(case):
    text = ProgramText()
    if not case.layout.G:
        raise Malformed("append_scales needs a layout with scales")
    collection, rows = _rows(text, case)
    text.line(f"kvcache.append_scales skip "
              f"{_sides(text, case, collection, 'scales', 'x_scales')} {rows}"
              f"{_workspace(text, case)}")
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
              f"{rows}{_quantization(case)}{global_scale(text, case)}"
              f"{_workspace(text, case)}")
    return text


def _tables(text, case):
    """The tables of a rotary embedding: names, types."""
    tables = [input_of(text, case, name, 1) for name in ("cos", "sin")]
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
        positions = input_of(text, case, "rope_positions", _leading(case))
        line += f" rope_positions({positions})"
    line += _rotation(argument(case, "rope"))
    if "weight" in case.inputs:
        line += f" rms_norm({input_of(text, case, 'weight', 0)})"
        line += _norm(argument(case, "norm"))
    if case.layout.G:
        line += _quantization(case) + global_scale(text, case)
    text.line(line + _workspace(text, case))
    return text


def _turn(case, name, line):
    """An operation that makes `out` of `x` without a pool."""
    text = ProgramText()
    input_of(text, case, "x", 1)
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
        positions = input_of(text, case, "positions", 1).split(" : ")[1]
        tables, types = _tables(text, case)
        return (f"positions(%positions) tables({tables}){_rotation(case.args)}",
                f"{positions}, {types}")
    return _turn(case, "rope", line)


def rms_norm(case):
    def line(text):
        type_ = input_of(text, case, "weight", 0).split(" : ")[1]
        return f"weight(%weight){_norm(case.args)}", type_
    return _turn(case, "rms_norm", line)


def gather(case):
    text = ProgramText()
    layout = case.layout
    collection = collection_of(text, case)
    cache, cache_type = cache_of(text, case, collection)
    lengths, = need(case, "cache_lengths")
    rows, dtype = argument(case, "rows"), argument(case, "out_dtype", WIDE)
    if not isinstance(rows, int) or rows < 0:
        raise Malformed(f"args: rows is {rows!r}, expected a whole number")
    words, lead = "", [len(lengths), rows]
    if "sequences" in case.inputs:
        words += f" sequences({input_of(text, case, 'sequences', 1)})"
        lead[0] = len(case.inputs["sequences"])
    if "row_offsets" in case.inputs:
        words += f" offsets({input_of(text, case, 'row_offsets', 1)})"
        lead = [rows]
    out = output_of(text, case, "out", lead, layout.D, dtype)
    if case.args.get("scales"):
        scales = output_of(text, case, "scales_out", lead, layout.G, "f32")
        words += f" scales({scales})"
    text.line(f"kvcache.gather skip from({cache} : {cache_type}) into({out})"
              f"{words}{global_scale(text, case)}")
    return text


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
        collection = page_pools(text, case)
        line, longest = f"kvcache.{name} skip %collection", 0
        for word, values, scales in lists:
            operands = [input_of(text, case, values, 1)]
            if has_own_ids(case):
                source = scales if scales in case.inputs else values
                operands.append(input_of(text, case, source, 1, into=scales))
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
    collection = collection_of(text, case)
    names = ["lookup_table"]
    if "scales_lookup_table" in case.inputs:
        names.append("scales_lookup_table")
    elif has_own_ids(case):
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
    source = page_pools(text, case)
    arrays = {"blocks": need(case, "to_blocks")[0]}
    if to.has_scales_pool:
        arrays["scales"], = need(case, "to_scales")
    attribute = text.attribute("to", layout_text(to, has_own_ids(case)))
    pools = text.pools(to, case.nb, case.nbs, arrays, "to_")
    target = f"!kvcache.collection<{attribute}>"
    text.line(f"%target = kvcache.get_page_pools {pools} : {target}")
    text.line(f"kvcache.convert_layout skip %collection into %target : {source} into "
              f"{target}")
    return text


PROGRAMS = {
    "append": append,
    "append_scales": append_scales,
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
        return agreed(results)
    if case.op == "convert_layout":
        # Of the target the outputs are called as those of the source.
        results = {name.removeprefix("to_"): array
                   for name, array in results.items() if name.startswith("to_")}
    return results
