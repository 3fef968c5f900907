#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run loads, stores and views of random layouts on the simulator, against NumPy.

usage: check_accesses.py [--bin DIR] [--cases N] [--seed S] [--chip C] [--keep DIR]
                         [--placements pool,inline,page_split]

Each case draws a layout (dtypes, page size, heads, head size, granularity, MLA or
not, padded or packed pages, a scales table of its own or not, where the scales
lie, which of tokens and heads is outside, an unquantised tail, interleaved
scales), fills the pools with random codes and the tables with block ids, some of
them past the pool, and runs one program whose kernels access positions inside and
outside the tables under policy `skip`; views, which have none, are of positions
inside. What is loaded, and whole pools after stores, must be what NumPy with
ml_dtypes says, bit for bit (NaN equal to NaN).
"""

import argparse
import itertools
import os
import random
import subprocess
import sys
import tempfile

import numpy as np

from random_layout import (
    F4,
    FLOATS,
    WIDE,
    Layout,
    decode,
    file_type,
    random_codes,
    round_to,
    size_of,
)


class Access:
    """One access of a case: an op, where in the row, and how wide."""

    def __init__(self, rng, layout):
        kinds = ["load", "load_quantized", "store"]
        if layout.scale_dtype:
            kinds += ["load_scale", "store_scale", "load"]
        if layout.rope:
            kinds += ["store_tail", "store_tail", "load", "load", "load"]
        if layout.swizzle != "none":
            kinds += ["load_scale", "store_scale", "load", "load"]
        if layout.is_aligned("values"):
            kinds += ["view"]
        if layout.scale_dtype and layout.is_aligned("scales"):
            kinds += ["scales_view"]
        self.kind = rng.choice(kinds)
        self.head = rng.randrange(layout.H)
        self.scales = "scale" in self.kind
        self.view = "view" in self.kind
        # What is counted in `dim`, and where it may lie.
        self.step = 1
        if layout.dtype == "f4E2M1FN" and self.kind in (
            "load_quantized",
            "store",
            "view",
        ):
            self.step = 2
        self.begin, self.end = 0, layout.Q
        if self.kind == "load":
            self.end = layout.D
        elif self.kind == "store_tail":
            self.begin, self.end = layout.Q, layout.D
        size = layout.G if self.scales else self.end - self.begin
        # A vector of w from some element on; also ones that run past the row.
        self.lanes = rng.choice([0, 1, 2, 3, 4, 8, 16])
        if self.kind == "scales_view" and layout.swizzle != "none":
            self.lanes = min(self.lanes, 1)
        while max(self.lanes, 1) * self.step > size:
            self.lanes //= 2
        self.dim = rng.randrange(self.begin, self.end, self.step)
        if self.kind == "load" and layout.rope and rng.random() < 0.6:
            # Around where the tail begins.
            self.dim = max(0, layout.Q - rng.choice([0, 1, 2, 5, 8]))
        self.constant = rng.random() < 0.5
        count = max(self.lanes, 1) * self.step
        first = self.dim // layout.g if self.scales else self.dim
        past = first + count > (layout.G if self.scales else self.end)
        if past and (self.constant or self.view):
            self.dim = self.begin
        # What a multiple of 8 says of the address is made use of.
        self.divisor = 8 if self.dim % 8 == 0 and rng.random() < 0.5 else 1
        tiles = [tile for tile in (1, 2, 4, layout.P) if layout.P % tile == 0]
        self.tile = rng.choice(tiles)
        if self.kind == "scales_view" and layout.swizzle != "none":
            self.tile = 1
        if self.scales:
            self.type = rng.choice([layout.scale_dtype, "f32"])
            if self.kind in ("store_scale", "scales_view"):
                self.type = layout.scale_dtype
        elif self.kind == "load":
            self.type = rng.choice(WIDE)
        elif self.kind == "store_tail":
            choices = [dtype for dtype in WIDE if dtype != layout.dtype]
            if layout.rope_dtype in choices and rng.random() < 0.7:
                choices = [layout.rope_dtype]
            self.type = rng.choice(choices)
        else:
            self.type = layout.storage()
        self.storing = self.kind.startswith("store")

    def part(self):
        if self.scales:
            return "scales"
        return "tail" if self.kind == "store_tail" else "values"

    def type_text(self):
        return f"vector<{self.lanes}x{self.type}>" if self.lanes else self.type


def position_grid(layout, access):
    """Positions in and around the tables; views stay inside."""
    if access.view:
        return layout.B, layout.M * layout.P
    return layout.B + 1, layout.M * layout.P + 2


def inside(layout, table, blocks, b, t):
    page = t // layout.P
    return b < layout.B and page < layout.M and int(table[b, page]) < blocks


def fetch(layout, arrays, part, *where):
    """The storage element at (block, slot, head, index)."""
    dtype = layout.dtype_of(part)
    pool = arrays[layout.scales_pool() if part == "scales" else "values"]
    at = layout.place(part, *where)
    return pool[at : at + size_of(dtype)].view(file_type(dtype))


def put(layout, arrays, part, where, code):
    pool = arrays[layout.scales_pool() if part == "scales" else "values"]
    at = layout.place(part, *where)
    pool[at : at + code.nbytes] = code.reshape(1).view(np.uint8)


def dequantised(layout, arrays, block, scales_block, slot, head, d):
    """Element d of a head as f32."""
    if d >= layout.Q:
        code = fetch(layout, arrays, "tail", block, slot, head, d - layout.Q)
        return decode(layout.rope_dtype, code)[0]
    if layout.dtype == "f4E2M1FN":
        byte = int(fetch(layout, arrays, "values", block, slot, head, d // 2)[0]) & 255
        number = F4[(byte >> 4) if d % 2 else (byte & 15)]
    else:
        code = fetch(layout, arrays, "values", block, slot, head, d)
        number = decode(layout.dtype, code)[0]
    if not layout.scale_dtype:
        return number
    scale = fetch(layout, arrays, "scales", scales_block, slot, head, d // layout.g)
    with np.errstate(all="ignore"):
        return np.float32(number * decode(layout.scale_dtype, scale)[0])


def expected(layout, access, arrays, values):
    """What a load gives at every position; a store changes the pool."""
    batches, tokens = position_grid(layout, access)
    width = max(access.lanes, 1)
    scales_table = arrays["scales_table"] if layout.own else arrays["table"]
    part = access.part()
    result = None
    if not access.storing:
        numpy_type = FLOATS.get(access.type, (np.int8,))[0]
        result = np.zeros((batches, tokens, width), numpy_type)
    for b, t in itertools.product(range(batches), range(tokens)):
        in_values = inside(layout, arrays["table"], layout.NB, b, t)
        in_scales = layout.scale_dtype and inside(
            layout, scales_table, layout.NBs, b, t
        )
        if not (in_scales if access.scales else in_values):
            continue
        if access.kind == "load" and layout.scale_dtype and not in_scales:
            continue
        slot, page = t % layout.P, t // layout.P
        block = int((scales_table if access.scales else arrays["table"])[b, page])
        if access.kind == "load":
            if access.dim + width > layout.D:
                continue
            scales_block = int(scales_table[b, page])
            result[b, t] = round_to(
                [
                    dequantised(
                        layout,
                        arrays,
                        block,
                        scales_block,
                        slot,
                        access.head,
                        access.dim + lane,
                    )
                    for lane in range(width)
                ],
                access.type,
            )
            continue
        first = (access.dim - access.begin) // access.step
        if access.scales:
            first = access.dim // layout.g
        dtype = layout.dtype_of(part)
        if first + width > layout.places[part].shape[2]:
            continue
        for lane in range(width):
            where = (block, slot, access.head, first + lane)
            if access.storing:
                code = values[b, t, lane : lane + 1]
                if access.type != dtype:
                    code = round_to(decode(access.type, code), dtype)
                put(layout, arrays, part, where, code)
                continue
            code = fetch(layout, arrays, part, *where)
            result[b, t, lane] = (
                code.view(result.dtype)[0]
                if access.type == dtype
                else decode(dtype, code)[0]
            )
    return result


def pool_shape(layout, part):
    """Sizes and strides of a pool's memref, in its elements."""
    if layout.placement != "pool":
        sizes = [layout.NB, layout.memref_sides, layout.L, layout.layer_bytes]
        pitch = layout.pitch
    else:
        scales = part == "scales"
        rows = [layout.P, layout.H] if layout.order == "nhd" else [layout.H, layout.P]
        sizes = [layout.NBs if scales else layout.NB, layout.KD, layout.L]
        sizes += rows + [layout.G if scales else layout.inner]
        pitch = layout.scale_pitch if scales else layout.pitch
        pitch //= size_of(layout.dtype_of(part))
    strides = [1]
    for size in reversed(sizes[2:]):
        strides.insert(0, strides[0] * size)
    return sizes, [pitch] + strides


def program(layout, access):
    """The program of one access: main's arguments are the pools, the tables, and
    the values to store or the place for what is loaded."""
    batches, tokens = position_grid(layout, access)
    width = max(access.lanes, 1)
    text = lambda numbers: ", ".join(map(str, numbers))
    times = lambda numbers: "x".join(map(str, numbers))
    moved = access.type
    entries = f"memref<{layout.B}x{layout.M}xi32>"
    data_type = f"memref<{batches}x{tokens}x{width}x{moved}>"
    lines = []

    def pool(name, part, element):
        sizes, strides = pool_shape(layout, part)
        kind = f"memref<{times(sizes)}x{element}, strided<[{text(strides)}]>>"
        lines.append(
            f"%{name}_pool = memref.reinterpret_cast %{name} to offset: [0], "
            f"sizes: [{text(sizes)}], strides: [{text(strides)}] : "
            f"memref<?x{element}> to {kind}"
        )
        return f"(%{name}_pool : {kind})"

    element = layout.storage() if layout.placement == "pool" else "i8"
    arguments = [
        ("%values", f"memref<?x{element}>", element),
        ("%lengths", f"memref<{layout.B}xi32>", "i32"),
        ("%table", entries, "i32"),
        ("%mp", "memref<1xi32>", None),
        ("%mc", "memref<1xi32>", None),
        ("%data", data_type, moved),
    ]
    blocks = pool("values", "values", element)
    scales = ""
    if layout.scale_pitch:
        arguments.append(
            ("%scales", f"memref<?x{layout.scale_dtype}>", layout.scale_dtype)
        )
        scales = f" scales{pool('scales', 'scales', layout.scale_dtype)}"
    if layout.own:
        arguments.append(("%stable", entries, "i32"))
        scales += f" scales_table(%stable : {entries})"
    for index, (name, kind, dtype) in enumerate(arguments):
        if dtype:
            lines.append(f"%u{index} = memref.cast {name} : {kind} to memref<*x{dtype}>")
            lines.append(f"gpu.host_register %u{index} : memref<*x{dtype}>")
    side = ["key", "value"][layout.side]
    cache = f"!kvcache.cache<{side}, #kv>"
    where = "%b, %t, %head, %d"
    kind = access.type_text()
    data = f"memref<?x?x?x{moved}>"

    def move(direction, memref, indices, memref_type):
        """Reads %x from a memref, or writes it there."""
        dialect = "vector" if access.lanes else "memref"
        suffix = f"{memref}[{indices}] : {memref_type}" + (
            f", {kind}" if access.lanes else ""
        )
        if direction == "store":
            return f"{dialect}.store %x, {suffix}"
        return f"%x = {dialect}.load {suffix}"

    if access.view:
        part = access.part()
        stride = layout.steps[part] // size_of(layout.dtype_of(part))
        view = f"memref<{access.tile}x{width}x{moved}, strided<[{stride}, 1], offset: ?>>"
        op = "scales_block_paged_ptr" if access.scales else "block_paged_ptr"
        body = [
            f"%tile = arith.constant {access.tile} : index",
            "%row = arith.remui %t, %tile : index",
            "%first = arith.subi %t, %row : index",
            f"%p = kvcache.{op} %k[%b, %first, %head, %d] : {cache} -> {view}",
            move("load", "%p", "%row, %c0", view),
            move("store", "%data", "%b, %t, %c0", data),
        ]
    elif access.storing:
        op = "store_scale" if access.scales else "store"
        body = [
            move("load", "%data", "%b, %t, %c0", data),
            f"kvcache.{op} skip %x, %k[{where}] : {kind}, {cache}",
        ]
    else:
        body = [
            f"%x = kvcache.{access.kind} skip %k[{where}] : {cache} -> {kind}",
            move("store", "%data", "%b, %t, %c0", data),
        ]
    dim = f"%d = arith.constant {access.dim} : index"
    if not access.constant:
        dim = (
            f"%divisor = arith.constant {access.divisor} : index\n    "
            "%d = arith.muli %dyn, %divisor : index"
        )
    newline, indented = "\n  ", "\n    "
    signature = ", ".join(f"{name}: {kind}" for name, kind, _ in arguments)
    return f"""#kv = {layout.attribute()}
module attributes {{gpu.container_module}} {{
gpu.module @m {{
  gpu.func @access(%k: {cache}, %data: {data}, %dyn: index) kernel {{
    %t = gpu.block_id x
    %b = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %head = arith.constant {access.head} : index
    {dim}
    {indented.join(body)}
    gpu.return
  }}
}}
func.func @main({signature}) {{
  {newline.join(lines)}
  %one = arith.constant 1 : index
  %layer = arith.constant {layout.layer} : index
  %batches = arith.constant {batches} : index
  %tokens = arith.constant {tokens} : index
  %dyn = arith.constant {access.dim // access.divisor} : index
  %c = kvcache.get_paged_cache blocks{blocks} lengths(%lengths : memref<{layout.B}xi32>) table(%table : {entries}) max_prompt(%mp : memref<1xi32>) max_cache(%mc : memref<1xi32>){scales} : !kvcache.collection<#kv>
  %k = kvcache.get_{side}_cache %c[%layer] : !kvcache.collection<#kv>
  %cast = memref.cast %data : {data_type} to {data}
  gpu.launch_func @m::@access blocks in (%tokens, %one, %one) threads in (%batches, %one, %one)
      args(%k : {cache}, %cast : {data}, %dyn : index)
  return
}}
}}
"""


def random_table(rng, layout, blocks, valid):
    """Ids are unique: two positions that are one place would race."""
    count = layout.B * layout.M
    ids = rng.permutation(blocks if valid else max(blocks, count))
    return ids[:count].reshape(layout.B, layout.M).astype(np.uint32)


def run_case(binary, seed, chip, placements, folder):
    """Runs case `seed`; gives an empty string or what is wrong."""
    rng = random.Random(seed)
    numpy_rng = np.random.default_rng(seed)
    layout = Layout(rng, placements)
    access = Access(rng, layout)
    if access.view:
        # Every position of a view is one of the pool.
        layout.B = 1
        layout.M = min(layout.M, layout.NB, layout.NBs)
    batches, tokens = position_grid(layout, access)
    width = max(access.lanes, 1)
    arrays = layout.random_pools(numpy_rng)
    arrays["table"] = random_table(numpy_rng, layout, layout.NB, access.view)
    files = ["values", "lengths", "table", "mp", "mc", "data"]
    if layout.scale_pitch:
        files.append("scales")
    if layout.own:
        blocks = layout.NBs if access.view else layout.NBs + 1
        arrays["scales_table"] = random_table(numpy_rng, layout, blocks, access.view)
        files.append("scales_table")
    arrays["lengths"] = np.zeros(layout.B, np.uint32)
    arrays["mp"] = arrays["mc"] = np.ones(1, np.uint32)
    data = random_codes(numpy_rng, access.type, batches * tokens * width)
    if access.storing and access.type != layout.dtype_of(access.part()):
        # Which NaN a conversion gives is the chip's business.
        data[np.isnan(decode(access.type, data))] = 0
    arrays["data"] = data.reshape(batches, tokens, width)

    path = os.path.join(folder, "program.mlir")
    with open(path, "w") as file:
        file.write(program(layout, access))
    command = [
        os.path.join(binary, "kvcache-run"),
        path,
        "--device",
        "sim",
        "--chip",
        chip,
        "--tool",
        "memcheck",
    ]
    for name in files:
        array = arrays[name]
        if name == "values":
            element = layout.storage() if layout.placement == "pool" else "i8"
            array = array.view(file_type(element))
        elif name == "scales":
            array = array.view(file_type(layout.scale_dtype))
        np.save(os.path.join(folder, name + ".npy"), array)
        command += ["--arg", os.path.join(folder, name + ".npy")]
    outputs = {"values": 0, "data": 5}
    if layout.scale_pitch:
        outputs["scales"] = 6
    for name, index in outputs.items():
        command += ["--out", f"{index}={os.path.join(folder, name + '.out.npy')}"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120)
    about = (
        f"seed {seed}: {access.kind} {access.type_text()} at head {access.head} "
        f"dim {access.dim} of {layout.attribute()}"
    )
    if run.returncode:
        return f"{about}\nexit status {run.returncode}\n{run.stderr[:2000]}"
    result = expected(layout, access, arrays, arrays["data"])
    for name in outputs:
        got = np.load(os.path.join(folder, name + ".out.npy"))
        want = arrays[name]
        if name == "data" and result is not None:
            want = result
            got = got.view(want.dtype)
        elif name != "data":
            got = got.view(np.uint8)
        if name == "data" and want.dtype.kind not in "iu":
            same = (got == want) | ((got != got) & (want != want))
        else:
            same = got == want
        if not same.all():
            first = tuple(int(i) for i in np.argwhere(~same)[0])
            return f"{about}\n{name}{list(first)}: want {want[first]}, got {got[first]}"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default="", help="folder of kvcache-run; else PATH")
    parser.add_argument("--cases", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--chip", default="sm_90a")
    parser.add_argument(
        "--placements", default="pool,inline,page_split", help="what is drawn"
    )
    parser.add_argument("--keep", help="folder to leave the last case in")
    options = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or temporary
        os.makedirs(folder, exist_ok=True)
        for seed in range(options.seed, options.seed + options.cases):
            wrong = run_case(
                options.bin,
                seed,
                options.chip,
                options.placements.split(","),
                folder,
            )
            if wrong:
                failed += 1
                print("FAIL", wrong)
    print(f"{options.cases - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
