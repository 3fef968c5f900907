# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes wrong files of a right one: spoil.py FILE DIR.

One number of each array and each scalar is changed at a time; other files are
no JSON, lack a key, or name what nobody knows.
"""
import copy
import json
import pathlib
import sys

source, folder = map(pathlib.Path, sys.argv[1:])
folder.mkdir(parents=True, exist_ok=True)
right = json.loads(source.read_text())


def write(name, change):
    data = copy.deepcopy(right)
    change(data)
    (folder / f"{name}.json").write_text(json.dumps(data))


def in_array(key):
    def change(data):
        data[key][len(data[key]) // 2] += 1
    return change


def number(key, by=1):
    def change(data):
        data[key] += by
    return change


for key in ("value_offset", "scale_offset", "row_idx", "scales_row_idx",
            "load_scale", "load_dequantised_f32", "cache_length"):
    write(f"wrong_{key}", in_array(key))
for key in ("num_kv_rows", "scales_num_kv_rows", "max_context_length",
            "quantization_granularity", "head_dim_granularity"):
    write(f"wrong_{key}", number(key))
write("wrong_lookup_table", lambda data: data["lookup_table"].reverse())
write("no_table", lambda data: data.pop("lookup_table"))
write("null_offset", lambda data: data["value_offset"].__setitem__(0, None))
write("short_offsets", lambda data: data["value_offset"].pop())
write("unknown_dtype", lambda data: data.update(dtype="float7"))
write("unknown_fill", lambda data: data.update(value_fill="what(i)"))
(folder / "not_json.json").write_text(source.read_text()[:500])
(folder / "a_list.json").write_text("[]")
(folder / "something_else.json").write_text("{}")
