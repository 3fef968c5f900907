# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Golden pages: byte layouts that other projects publish, as cases.

A folder becomes a case per side of a page: `quantize_append` of the input into
a pool whose bytes nobody defined are a background, and a `gather` of the
published bytes.
"""
import dataclasses

import numpy as np

from case_folder import Case, Expected, field, read_json, read_npy
from pool_layout import PoolLayout, ceildiv
from verdicts import Malformed

BACKGROUND = 0xC5


def is_golden(folder):
    return (folder / "golden.json").exists()


def _bytes(folder, name, count):
    try:
        data = np.fromfile(folder / name, np.uint8)
    except OSError as error:
        raise Malformed(f"cannot read {name}: {error.strerror}")
    if data.size != count:
        raise Malformed(f"{name} has {data.size} bytes, its pages take {count}")
    return data


@dataclasses.dataclass
class Golden:
    """What the pools hold once every side is appended, the bytes of each pool
    that the writer defines, and the cases that get there."""

    appends: list
    defined: dict
    gathers: list


def read_golden(folder):
    data = read_json(folder / "golden.json")
    json_field = lambda name, kinds: field(data, name, kinds, "golden.json")
    layout = PoolLayout.from_json(json_field("layout", dict))
    pages, tokens = json_field("pages", int), json_field("tokens", int)
    if json_field("page_size", int) != layout.P:
        raise Malformed(f"golden.json: page_size is {data['page_size']}, the "
                        f"layout's P is {layout.P}")
    if json_field("page_bytes", int) != layout.page_bytes:
        raise Malformed(f"golden.json: page_bytes is {data['page_bytes']}, the "
                        f"layout gives {layout.page_bytes}")
    if not 0 <= tokens <= pages * layout.P:
        raise Malformed(f"golden.json: {tokens} tokens in {pages} pages of "
                        f"{layout.P}")
    x = read_npy(folder / "input.npy")
    numbers = read_npy(folder / "dequantised.npy")
    shape = (tokens, layout.KD, layout.H, layout.D)
    for name, array in (("input.npy", x), ("dequantised.npy", numbers)):
        if array.shape != shape:
            raise Malformed(f"{name} has shape {list(array.shape)}, expected "
                            f"{list(shape)}")
    sizes = {"blocks": ("values", pages * layout.page_bytes)}
    if layout.has_scales_pool:
        sizes["scales"] = ("scales", pages * layout.scales_page_bytes)
    pools, defined = {}, {}
    for name, (file, count) in sizes.items():
        pools[name] = _bytes(folder, f"{file}.bin", count)
        defined[name] = _bytes(folder, f"{file}_defined.bin", count) != 0

    table = np.arange(max(ceildiv(tokens, layout.P), 1), dtype=np.uint32)[None]

    def case(op, side, args, inputs, dtypes, outputs):
        return Case(f"{folder.name}_{op}_{side}", op, layout, pages, pages,
                    {"c": side, "l": 0} | args, {"lookup_table": table} | inputs,
                    {name: "u8" for name in pools} | {"lookup_table": "u32"}
                    | dtypes, outputs)

    appends, gathers = [], []
    background = {name: np.full_like(pool, BACKGROUND)
                  for name, pool in pools.items()}
    unsigned = lambda *numbers: np.array(numbers, np.uint32)
    for side in range(layout.KD):
        # Without scales floats are converted, by no rule of their own.
        rule = {"quant": json_field("quant", dict)} if layout.G else {}
        appends.append(case(
            "quantize_append" if rule else "append", side, {"form": "ragged"} | rule,
            background | {"cache_lengths": unsigned(0),
                          "row_offsets": unsigned(0, tokens),
                          "x": np.ascontiguousarray(x[:, side])},
            {"cache_lengths": "u32", "row_offsets": "u32", "x": "bf16"},
            {name: Expected(np.where(defined[name], pool, background[name]), "u8",
                            "bytes") for name, pool in pools.items()}))
        want = np.ascontiguousarray(numbers[None, :, side])
        gathers.append(case(
            "gather", side, {"rows": tokens, "out_dtype": "f32", "scales": False},
            pools | {"cache_lengths": unsigned(tokens)}, {"cache_lengths": "u32"},
            {"out": Expected(want, "f32", {"rtol": 0.0, "atol": 0.0})}))
    return Golden(appends, defined, gathers)
