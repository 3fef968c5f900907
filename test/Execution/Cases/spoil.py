# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes wrong folders of right ones: spoil.py CASE DIR.

CASE is a quantize_append into padded pools with scales. In each folder of DIR one
thing is changed: a byte of what is expected, or something that the format does
not allow.
"""
import json
import pathlib
import shutil
import sys

import numpy as np

case, target = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])


def folder(name):
    shutil.copytree(case, target / name)
    return target / name


def expected(name, array, change):
    """Changes an output."""
    path = folder(name) / f"out_{array}.npy"
    data = np.load(path)
    change(data)
    np.save(path, data)


def description(name, change):
    """Changes case.json."""
    path = folder(name) / "case.json"
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))


def set_in(*keys, value):
    def change(data):
        for key in keys[:-1]:
            data = data[key]
        data[keys[-1]] = value
    return change


def drop(*keys):
    def change(data):
        for key in keys[:-1]:
            data = data[key]
        del data[keys[-1]]
    return change


data = json.loads((case / "case.json").read_text())
scales = np.load(case / "out_scales.npy").view(np.uint32)
changed = np.load(case / "in_scales.npy").view(np.uint32) != scales
first, second = np.flatnonzero(changed)[[0, -1]]
assert scales[first] != scales[second]
pitch = data["derived"]["page_pitch"]


def swap(array):
    words = array.view(np.uint32)
    words[[first, second]] = words[[second, first]]


def add_one(at):
    def change(array):
        array[at] ^= 1
    return change


shutil.copytree(case, target / "right")
# What came out of the case is wrong by so much.
expected("wrong_swapped_scales", "scales", swap)
expected("wrong_code", "blocks", add_one(np.flatnonzero(
    np.load(case / "in_blocks.npy") != np.load(case / "out_blocks.npy"))[0]))
expected("wrong_poison", "blocks", add_one(0))
# Another NaN than the one that nobody has overwritten.
expected("wrong_scales_poison", "scales", add_one(
    4 * np.flatnonzero(~changed & (scales == 0xFFFFFFFF))[0] + 2))
expected("wrong_padding", "blocks", add_one(pitch - 1))
expected("wrong_scales_padding", "scales", add_one(-1))

# What is no case.
(folder("no_json") / "case.json").write_text("{")
(folder("a_list") / "case.json").write_text("[]")
(folder("no_array") / "in_x.npy").unlink()
(folder("no_npy") / "in_x.npy").write_text("text")
path = folder("pickle") / "in_x.npy"
np.save(path, np.array([{}], object), allow_pickle=True)
np.save(folder("other_shape") / "in_x.npy", np.zeros((1, 2, 3), np.uint16))
np.save(folder("other_dtype") / "in_x.npy",
        np.load(case / "in_x.npy").astype(np.float64))
np.save(folder("big_endian") / "in_x.npy", np.load(case / "in_x.npy").astype(">u2"))
for key in ("op", "args", "inputs", "outputs", "nb"):
    description(f"no_{key}", drop(key))
for key in ("dtype", "H"):
    description(f"no_layout_{key}", drop("layout", key))
for name in ("x", "lookup_table", "cache_lengths", "blocks", "row_offsets"):
    description(f"no_input_{name}", drop("inputs", name))
for name in ("quant", "form", "c"):
    description(f"no_arg_{name}", drop("args", name))
description("no_outputs_at_all", set_in("outputs", value={}))
description("unknown_dtype", set_in("layout", "dtype", value="f7"))
description("unknown_field", set_in("layout", "colour", value="red"))
description("unknown_element", set_in("inputs", "x", "dtype", value="f7"))
description("unknown_op", set_in("op", value="transmogrify"))
description("outside", set_in("inputs", "x", "file", value="../in_x.npy"))
description("text_for_a_number", set_in("nb", value="three"))
description("half_a_head", set_in("layout", "H", value=1.5))
description("negative_blocks", set_in("nb", value=-1))
description("more_blocks", set_in("nb", value=data["nb"] + 1))
description("other_pitch", set_in("derived", "page_pitch", value=pitch + 1))
description("pages_too_small", set_in("layout", "value_pitch", value=16))
description("no_tolerance", set_in("outputs", "blocks", "compare", value={}))
description("g_without_scales", set_in("layout", "scale_dtype", value=None))
description("sparse_without_segments", set_in(
    "sparse", value={"pool_bytes": data["inputs"]["blocks"]["shape"][0]}))
description("no_such_output", set_in("outputs", "blocks", "file",
                                     value="out_nothing.npy"))

# What only whoever makes programs looks at.
real, target = target, target / "programs"
description("third_side", set_in("args", "c", value=2))
description("no_such_layer", set_in("args", "l", value=99))
target = real

# A golden folder.
golden = target / "golden_wrong"
golden.mkdir()
(golden / "golden.json").write_text(json.dumps(
    {"layout": data["layout"], "pages": 2, "tokens": 3, "page_size": 99}))
