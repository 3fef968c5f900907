#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run loads and stores of random layouts on the simulator, against NumPy.

usage: check_accesses.py [--bin DIR] [--cases N] [--seed S] [--chip C] [--keep DIR]

Each case draws a layout (dtypes, page size, heads, head size, granularity, MLA or
not, padded or packed pages, a scales table of its own or not), fills the pools
with random codes and the tables with block ids, some of them past the pool, and
runs one program whose kernels access positions inside and outside the tables
under policy `skip`. What is loaded, and whole pools after stores, must be what
NumPy with ml_dtypes says, bit for bit (NaN equal to NaN).
"""

import argparse
import itertools
import os
import random
import subprocess
import sys
import tempfile

import ml_dtypes
import numpy as np

# dtype in IR: NumPy type of its values, NumPy type of the files.
FLOATS = {
    "f32": (np.float32, np.float32),
    "f16": (np.float16, np.float16),
    "bf16": (ml_dtypes.bfloat16, np.uint16),
    "f8E4M3FN": (ml_dtypes.float8_e4m3fn, np.uint8),
    "f8E5M2": (ml_dtypes.float8_e5m2, np.uint8),
    "f8E8M0FNU": (ml_dtypes.float8_e8m0fnu, np.uint8),
}
F4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)
F4 = np.concatenate([F4, -F4])
WIDE = ["f32", "f16", "bf16"]


class Layout:
    """What a case is about, and where its elements lie."""

    def __init__(self, rng):
        self.dtype = rng.choice(
            ["f32", "f16", "bf16", "f8E4M3FN", "f8E5M2", "i8", "f4E2M1FN"]
        )
        self.mla = rng.random() < 0.3
        self.KD = 1 if self.mla else 2
        self.H = rng.choice([1, 1, 2, 3, 8])
        self.D = rng.choice([1, 8, 40, 46, 64, 96, 128])
        self.P = rng.choice([1, 2, 3, 16, 61])
        if self.dtype == "f4E2M1FN" and self.D % 2:
            self.D = 8
        needs = self.dtype in ("i8", "f4E2M1FN")
        self.scale_dtype = (
            rng.choice(["f32", "f16", "bf16", "f8E8M0FNU", "f8E4M3FN"])
            if needs or rng.random() < 0.7
            else None
        )
        self.g = rng.choice([1, 7, 12, 16, 32, 48, self.D, self.D + 7])
        self.own = self.scale_dtype is not None and rng.random() < 0.5
        self.G = -(-self.D // self.g) if self.scale_dtype else 0
        self.L = rng.choice([1, 3])
        self.NB = rng.choice([3, 7])
        self.NBs = rng.choice([4, 9]) if self.own else self.NB
        self.B, self.M = rng.choice([(1, 1), (2, 3), (3, 2)])
        self.inner = self.D // 2 if self.dtype == "f4E2M1FN" else self.D
        row = self.H * self.inner
        self.pitch = self.KD * self.L * self.P * row
        if rng.random() < 0.5:
            self.pitch += row * rng.choice([1, 5])
        self.scale_pitch = 0
        if self.scale_dtype:
            row = self.H * self.G
            self.scale_pitch = self.KD * self.L * self.P * row
            if rng.random() < 0.5:
                self.scale_pitch += row * rng.choice([1, 3])
        self.side = 0 if self.mla else rng.choice([0, 1])
        self.layer = rng.randrange(self.L)

    def storage(self):
        return "i8" if self.dtype == "f4E2M1FN" else self.dtype

    def attribute(self):
        text = (
            f"#kvcache.layout<{self.dtype}, params = <num_heads = {self.H}, "
            f"head_size = {self.D}, is_mla = {str(self.mla).lower()}>, "
            f"page_size = {self.P}"
        )
        if self.scale_dtype:
            table = "own" if self.own else "shared"
            text += (
                f", scales = <{self.scale_dtype}, granularity = {self.g}, "
                f"table = {table}>"
            )
        return text + ">"

    def value_index(self, block, slot, head, inner):
        base = (self.side * self.L + self.layer) * self.P * self.H * self.inner
        return base + block * self.pitch + (slot * self.H + head) * self.inner + inner

    def scale_index(self, block, slot, head, place):
        base = (self.side * self.L + self.layer) * self.P * self.H * self.G
        return base + block * self.scale_pitch + (slot * self.H + head) * self.G + place


def file_type(dtype):
    return np.int8 if dtype == "i8" else FLOATS[dtype][1]


def random_codes(rng, dtype, count):
    """Random bits of a storage type, small enough that products do not overflow
    to values whose rounding is not defined."""
    bits = rng.integers(0, 256, count * np.dtype(file_type(dtype)).itemsize)
    codes = bits.astype(np.uint8).view(file_type(dtype)).copy()
    if dtype in ("f32", "f16", "bf16"):
        numbers = rng.normal(size=count).astype(np.float32)
        numbers[rng.random(count) < 0.05] = np.nan
        codes = numbers.astype(FLOATS[dtype][0]).view(file_type(dtype))
    return codes


def decode(dtype, codes):
    if dtype == "i8":
        return codes.astype(np.float32)
    return codes.view(FLOATS[dtype][0]).astype(np.float32)


def round_to(numbers, dtype):
    with np.errstate(all="ignore"):
        return np.asarray(numbers, np.float32).astype(FLOATS[dtype][0])


class Access:
    """One access of a case: an op, where in the row, and how wide."""

    def __init__(self, rng, layout):
        ops = ["load", "load_quantized", "store"]
        if layout.scale_dtype:
            ops += ["load_scale", "store_scale", "load"]
        self.op = rng.choice(ops)
        self.head = rng.randrange(layout.H)
        scales = "scale" in self.op
        packed = layout.dtype == "f4E2M1FN" and self.op in ("load_quantized", "store")
        step = 2 if packed else 1
        size = layout.G if scales else layout.D
        # A vector of w from some element on; also ones that run past the row.
        self.lanes = rng.choice([0, 1, 2, 3, 4, 8, 16])
        while max(self.lanes, 1) * step > size:
            self.lanes //= 2
        self.dim = rng.randrange(0, layout.D, step)
        self.constant = rng.random() < 0.5
        count = max(self.lanes, 1) * step
        first = self.dim // layout.g if scales else self.dim
        if self.constant and first + count > size:
            self.dim = 0
        if scales:
            self.type = rng.choice([layout.scale_dtype, "f32"])
            if self.op == "store_scale":
                self.type = layout.scale_dtype
        elif self.op == "load":
            self.type = rng.choice(WIDE)
        else:
            self.type = layout.storage()
        self.rng_key = rng.random()

    def type_text(self):
        return f"vector<{self.lanes}x{self.type}>" if self.lanes else self.type


def position_grid(layout):
    """Positions in and around the tables."""
    return layout.B + 1, layout.M * layout.P + 2


def inside(layout, table, blocks, b, t):
    page = t // layout.P
    return b < layout.B and page < layout.M and int(table[b, page]) < blocks


def expected(layout, access, arrays, values):
    """What a load gives at every position, or the pool after a store."""
    batches, tokens = position_grid(layout)
    width = max(access.lanes, 1)
    scales_table = arrays["scales_table"] if layout.own else arrays["table"]
    pool = "scales" if "scale" in access.op else "values"
    storing = access.op.startswith("store")
    result = (
        None
        if storing
        else np.zeros((batches, tokens, width), FLOATS.get(access.type, (np.int8,))[0])
    )
    packed = layout.dtype == "f4E2M1FN"
    for b, t in itertools.product(range(batches), range(tokens)):
        in_values = inside(layout, arrays["table"], layout.NB, b, t)
        in_scales = layout.scale_dtype and inside(
            layout, scales_table, layout.NBs, b, t
        )
        slot = t % layout.P
        if pool == "scales":
            first = access.dim // layout.g
            if not in_scales or first + width > layout.G:
                continue
            block = int(scales_table[b, t // layout.P])
            at = layout.scale_index(block, slot, access.head, first)
            if storing:
                arrays["scales"][at : at + width] = values[b, t]
            elif access.type == layout.scale_dtype:
                result[b, t] = arrays["scales"][at : at + width].view(result.dtype)
            else:
                result[b, t] = decode(
                    layout.scale_dtype, arrays["scales"][at : at + width]
                )
            continue
        step = 2 if packed and access.op != "load" else 1
        if not in_values or access.dim + width * step > layout.D:
            continue
        block = int(arrays["table"][b, t // layout.P])
        if access.op == "load":
            numbers = np.empty(width, np.float32)
            for lane in range(width):
                d = access.dim + lane
                if packed:
                    at = layout.value_index(block, slot, access.head, d // 2)
                    byte = int(arrays["values"].view(np.uint8)[at])
                    numbers[lane] = F4[(byte >> 4) if d % 2 else (byte & 15)]
                else:
                    at = layout.value_index(block, slot, access.head, d)
                    numbers[lane] = decode(layout.dtype, arrays["values"][at : at + 1])[
                        0
                    ]
                if layout.scale_dtype:
                    if not in_scales:
                        break
                    sblock = int(scales_table[b, t // layout.P])
                    sat = layout.scale_index(sblock, slot, access.head, d // layout.g)
                    with np.errstate(all="ignore"):
                        numbers[lane] *= decode(
                            layout.scale_dtype, arrays["scales"][sat : sat + 1]
                        )[0]
            if layout.scale_dtype and not in_scales:
                continue
            result[b, t] = round_to(numbers, access.type)
        else:
            at = layout.value_index(block, slot, access.head, access.dim // step)
            if storing:
                arrays["values"][at : at + width] = values[b, t]
            else:
                result[b, t] = arrays["values"][at : at + width].view(result.dtype)
    return result


def program(layout, access):
    """The program of one access: main's arguments are the pools, the tables, and
    the values to store or the place for what is loaded."""
    batches, tokens = position_grid(layout)
    width = max(access.lanes, 1)
    storage = layout.storage()
    strides = [
        layout.pitch,
        layout.L * layout.P * layout.H * layout.inner,
        layout.P * layout.H * layout.inner,
        layout.H * layout.inner,
        layout.inner,
        1,
    ]
    shape = [layout.NB, layout.KD, layout.L, layout.P, layout.H, layout.inner]
    text = lambda numbers: ", ".join(map(str, numbers))
    times = lambda numbers: "x".join(map(str, numbers))
    pool_type = f"memref<{times(shape)}x{storage}, strided<[{text(strides)}]>>"
    moved = access.type
    args = [
        f"%values: memref<?x{storage}>",
        f"%lengths: memref<{layout.B}xi32>",
        f"%table: memref<{layout.B}x{layout.M}xi32>",
        "%mp: memref<1xi32>",
        "%mc: memref<1xi32>",
        f"%data: memref<{batches}x{tokens}x{width}x{moved}>",
    ]
    lines = [
        f"%pool = memref.reinterpret_cast %values to offset: [0], sizes: [{text(shape)}], strides: [{text(strides)}] "
        f": memref<?x{storage}> to {pool_type}"
    ]
    scales = ""
    registered = [
        ("%values", f"memref<?x{storage}>", storage),
        ("%lengths", f"memref<{layout.B}xi32>", "i32"),
        ("%table", f"memref<{layout.B}x{layout.M}xi32>", "i32"),
        ("%data", f"memref<{batches}x{tokens}x{width}x{moved}>", moved),
    ]
    if layout.scale_dtype:
        sshape = shape[:5] + [layout.G]
        sshape[0] = layout.NBs
        sstrides = [
            layout.scale_pitch,
            layout.L * layout.P * layout.H * layout.G,
            layout.P * layout.H * layout.G,
            layout.H * layout.G,
            layout.G,
            1,
        ]
        stype = (
            f"memref<{times(sshape)}x{layout.scale_dtype}, strided<[{text(sstrides)}]>>"
        )
        args.append(f"%scales: memref<?x{layout.scale_dtype}>")
        registered.append(
            ("%scales", f"memref<?x{layout.scale_dtype}>", layout.scale_dtype)
        )
        lines.append(
            f"%spool = memref.reinterpret_cast %scales to offset: [0], sizes: [{text(sshape)}], "
            f"strides: [{text(sstrides)}] : memref<?x{layout.scale_dtype}> to {stype}"
        )
        scales = f" scales(%spool : {stype})"
        if layout.own:
            args.append(f"%stable: memref<{layout.B}x{layout.M}xi32>")
            registered.append(("%stable", f"memref<{layout.B}x{layout.M}xi32>", "i32"))
            scales += f" scales_table(%stable : memref<{layout.B}x{layout.M}xi32>)"
    for index, (name, kind, element) in enumerate(registered):
        lines.append(f"%u{index} = memref.cast {name} : {kind} to memref<*x{element}>")
        lines.append(f"gpu.host_register %u{index} : memref<*x{element}>")
    side = ["key", "value"][layout.side]
    cache = f"!kvcache.cache<{side}, #kv>"
    where = "%b, %t, %head, %d"
    kind = access.type_text()
    data = f"memref<?x?x?x{moved}>"
    read = (
        f"%x = vector.load %data[%b, %t, %c0] : {data}, {kind}"
        if access.lanes
        else f"%x = memref.load %data[%b, %t, %c0] : {data}"
    )
    write = (
        f"vector.store %x, %data[%b, %t, %c0] : {data}, {kind}"
        if access.lanes
        else f"memref.store %x, %data[%b, %t, %c0] : {data}"
    )
    if access.op.startswith("store"):
        body = f"{read}\n    kvcache.{access.op} skip %x, %k[{where}] : {kind}, {cache}"
    else:
        body = f"%x = kvcache.{access.op} skip %k[{where}] : {cache} -> {kind}\n    {write}"
    dim = (
        f"%d = arith.constant {access.dim} : index"
        if access.constant
        else "%d = arith.addi %dyn, %c0 : index"
    )
    newline = "\n  "
    return f"""#kv = {layout.attribute()}
module attributes {{gpu.container_module}} {{
gpu.module @m {{
  gpu.func @access(%k: {cache}, %data: {data}, %dyn: index) kernel {{
    %t = gpu.block_id x
    %b = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %head = arith.constant {access.head} : index
    {dim}
    {body}
    gpu.return
  }}
}}
func.func @main({', '.join(args)}) {{
  {newline.join(lines)}
  %one = arith.constant 1 : index
  %layer = arith.constant {layout.layer} : index
  %batches = arith.constant {batches} : index
  %tokens = arith.constant {tokens} : index
  %dyn = arith.constant {access.dim} : index
  %c = kvcache.get_paged_cache blocks(%pool : {pool_type}) lengths(%lengths : memref<{layout.B}xi32>) table(%table : memref<{layout.B}x{layout.M}xi32>) max_prompt(%mp : memref<1xi32>) max_cache(%mc : memref<1xi32>){scales} : !kvcache.collection<#kv>
  %k = kvcache.get_{side}_cache %c[%layer] : !kvcache.collection<#kv>
  %cast = memref.cast %data : memref<{batches}x{tokens}x{width}x{moved}> to {data}
  gpu.launch_func @m::@access blocks in (%tokens, %one, %one) threads in (%batches, %one, %one)
      args(%k : {cache}, %cast : {data}, %dyn : index)
  return
}}
}}
"""


def run_case(binary, seed, chip, folder):
    """Runs case `seed`; gives an empty string or what is wrong."""
    rng = random.Random(seed)
    numpy_rng = np.random.default_rng(seed)
    layout = Layout(rng)
    access = Access(rng, layout)
    batches, tokens = position_grid(layout)
    width = max(access.lanes, 1)
    arrays = {
        "values": random_codes(numpy_rng, layout.storage(), layout.NB * layout.pitch),
        "table": numpy_rng.integers(0, layout.NB, (layout.B, layout.M)).astype(
            np.uint32
        ),
    }
    # Ids are unique: two positions that are one place would race.
    ids = numpy_rng.permutation(max(layout.NB, layout.B * layout.M))
    arrays["table"] = (
        ids[: layout.B * layout.M].reshape(layout.B, layout.M).astype(np.uint32)
    )
    files = ["values", "lengths", "table", "mp", "mc", "data"]
    if layout.scale_dtype:
        arrays["scales"] = random_codes(
            numpy_rng, layout.scale_dtype, layout.NBs * layout.scale_pitch
        )
        files.append("scales")
        if layout.own:
            ids = numpy_rng.permutation(max(layout.NBs + 1, layout.B * layout.M))
            arrays["scales_table"] = (
                ids[: layout.B * layout.M].reshape(layout.B, layout.M).astype(np.uint32)
            )
            files.append("scales_table")
    arrays["lengths"] = np.zeros(layout.B, np.uint32)
    arrays["mp"] = arrays["mc"] = np.ones(1, np.uint32)
    data = random_codes(numpy_rng, access.type, batches * tokens * width)
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
        np.save(os.path.join(folder, name + ".npy"), arrays[name])
        command += ["--arg", os.path.join(folder, name + ".npy")]
    outputs = {"values": 0, "data": 5}
    if layout.scale_dtype:
        outputs["scales"] = 6
    for name, index in outputs.items():
        command += ["--out", f"{index}={os.path.join(folder, name + '.out.npy')}"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120)
    about = f"seed {seed}: {access.op} {access.type_text()} at head {access.head} dim {access.dim} of {layout.attribute()}"
    if run.returncode:
        return f"{about}\nexit status {run.returncode}\n{run.stderr[:2000]}"
    result = expected(layout, access, arrays, arrays["data"])
    for name in outputs:
        got = np.load(os.path.join(folder, name + ".out.npy"))
        want = arrays[name]
        if name == "data" and result is not None:
            want = result
            got = got.view(want.dtype)
        if name == "data" and want.dtype.kind not in "iu":
            same = (got == want) | ((got != got) & (want != want))
        else:
            same = got.view(np.uint8) == want.view(np.uint8)
        if not same.all():
            first = tuple(int(i) for i in np.argwhere(~same)[0])
            return f"{about}\n{name}{list(first)}: want {want.reshape(same.shape[:1] + (-1,))[first[:1]] if same.ndim == 1 else want[first]}, got {got[first] if got.shape == same.shape else got.view(np.uint8)[first]}"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default="", help="folder of kvcache-run; else PATH")
    parser.add_argument("--cases", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--chip", default="sm_90a")
    parser.add_argument("--keep", help="folder to leave the last case in")
    options = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or temporary
        os.makedirs(folder, exist_ok=True)
        for seed in range(options.seed, options.seed + options.cases):
            wrong = run_case(options.bin, seed, options.chip, folder)
            if wrong:
                failed += 1
                print("FAIL", wrong)
    print(f"{options.cases - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
