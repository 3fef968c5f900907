# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes cases: pools full of poison, sequences with content, tables whose
unused columns name what must not be read, and what the reference says.

Poison: cells that nobody wrote have all bits set; padding between pages holds
0xA0 (values) or 0xB0 (scales) + page % 16.
"""
import numpy as np

from case_folder import Case, Expected
from element_types import ELEMENT_TYPES
from pool_layout import ceildiv
from reference import Pools
from reference_numbers import write
from reference_run import run_reference


def poisoned_pools(layout, nb, nbs):
    """Arrays by name."""
    pools = {}
    sizes = [("blocks", nb, layout.page_bytes, layout.packed_page_bytes, 0xA0)]
    if layout.has_scales_pool:
        sizes.append(("scales", nbs, layout.scales_page_bytes,
                      layout.packed_scales_page_bytes, 0xB0))
    for name, count, page, packed, padding in sizes:
        pool = np.full((count, page), 0xFF, np.uint8)
        pool[:, packed:] = (padding + np.arange(count) % 16)[:, None]
        pools[name] = pool.reshape(-1)
    return pools


def random_numbers(rng, shape, spread=2.0):
    return (rng.standard_normal(shape) * spread).astype(np.float32)


def random_codes(rng, shape, dtype):
    """Stored elements of `shape`, finite and of moderate size."""
    if dtype == "i8":
        return rng.integers(-127, 128, shape).astype(np.int8).view(np.uint8)
    return write(random_numbers(rng, shape), dtype)


def random_scales(rng, shape, dtype):
    numbers = np.exp2(rng.uniform(-3, 3, shape)).astype(np.float32)
    return write(numbers, dtype)


def as_bytes(array, *leading):
    last = array.shape[-1] * array.itemsize
    return np.ascontiguousarray(array).view(np.uint8).reshape(*leading, last)


class CaseBuilder:
    """Pools, tables and lengths of a case in the making."""

    def __init__(self, rng, layout, nb, nbs=None, own_table=False):
        self.rng, self.layout, self.nb = rng, layout, nb
        self.own = own_table and layout.has_scales_pool
        self.nbs = nbs if self.own and nbs is not None else nb
        self.inputs = poisoned_pools(layout, self.nb, self.nbs)
        self.dtypes = {name: "u8" for name in self.inputs}

    def set(self, name, array, dtype):
        self.inputs[name] = np.ascontiguousarray(
            np.asarray(array).astype(ELEMENT_TYPES[dtype].storage, copy=False))
        self.dtypes[name] = dtype

    def sequences(self, lengths, new, columns=None):
        """Distinct blocks for the tokens there and to come; every column beyond
        holds a sentinel or an id of another page."""
        P = self.layout.P
        needed = [ceildiv(a + b, P) for a, b in zip(lengths, new)]
        columns = max(needed, default=0) + 1 if columns is None else columns
        tables = [("lookup_table", self.nb)]
        if self.own:
            tables.append(("scales_lookup_table", self.nbs))
        for name, blocks in tables:
            free = self.rng.permutation(blocks)[:sum(needed)]
            if len(free) < sum(needed):
                raise ValueError(f"{sum(needed)} pages needed, {blocks} there")
            table = np.empty((len(lengths), columns), np.uint32)
            for b, count in enumerate(needed):
                for page in range(columns):
                    table[b, page] = self.rng.choice(np.array(
                        [blocks, 0xFFFFFFFF, blocks + 7,
                         self.rng.integers(max(blocks, 1))], np.uint32))
                table[b, :count], free = free[:count], free[count:]
            self.set(name, table, "u32")
        self.set("cache_lengths", np.array(lengths, np.uint32), "u32")

    def fill(self, side=None, layer=None):
        """Gives the tokens of all sequences content, in all sides and layers or
        in one."""
        P = self.layout.P
        tables = [self.inputs["lookup_table"]]
        if self.own:
            tables.append(self.inputs["scales_lookup_table"])
        rows = [[], []]
        for b, length in enumerate(map(int, self.inputs["cache_lengths"])):
            for t in range(min(length, tables[0].shape[1] * P)):
                for of, table in zip(rows, tables):
                    of.append((int(table[b, t // P]), t % P))
        self.fill_rows(rows[0], rows[1] if self.own else rows[0], side, layer)

    def fill_rows(self, rows, scale_rows, side=None, layer=None):
        rows, scale_rows = (np.array(r, np.int64).reshape(-1, 2)
                            for r in (rows, scale_rows))
        layout, rng = self.layout, self.rng
        pools = Pools(layout, self.nb, self.nbs, self.inputs["blocks"],
                      self.inputs.get("scales"))
        for c in range(layout.KD) if side is None else [side]:
            for l in range(layout.L) if layer is None else [layer]:
                count, H = len(rows), layout.H
                if layout.coded:
                    data = random_codes(rng, (count, H, layout.coded), layout.dtype)
                    pools.put("codes", rows, c, l, as_bytes(data, count, H))
                if layout.rope:
                    data = random_codes(rng, (count, H, layout.rope),
                                        layout.rope_dtype)
                    pools.put("tail", rows, c, l, as_bytes(data, count, H))
                if layout.G:
                    data = random_scales(rng, (len(scale_rows), H, layout.G),
                                         layout.scale_dtype)
                    pools.put("scales", scale_rows, c, l,
                              as_bytes(data, len(scale_rows), H))
        self.inputs |= pools.outputs()

    def everything(self):
        """Gives every slot of the pools content."""
        slots = range(self.layout.P)
        self.fill_rows([(b, s) for b in range(self.nb) for s in slots],
                       [(b, s) for b in range(self.nbs) for s in slots])

    def case(self, name, op, notes="", how="bytes", **args):
        """The case, its outputs as the reference gives them."""
        case = Case(name, op, self.layout, self.nb, self.nbs, args, self.inputs,
                    self.dtypes, {}, notes=notes)
        return with_outputs(case, how)


OUTPUT_DTYPES = {"scales_out": "f32", "lookup_table": "u32",
                 "scales_lookup_table": "u32", "slots": "i64", "scale_slots": "i64",
                 "scores": "f64", "topk": "i32"}


def with_outputs(case, how="bytes"):
    for name, array in run_reference(case).items():
        if isinstance(array, tuple):  # a sparse pool
            for part, data, dtype in (("segment_offsets", array[0], "i64"),
                                      ("segment_bytes", array[1], "u8")):
                case.outputs[part] = Expected(data, dtype, "bytes")
            continue
        if name == "out":
            dtype = case.args.get("out_dtype", "f64")
        else:
            dtype = OUTPUT_DTYPES.get(name, "u8")
        case.outputs[name] = Expected(array, dtype, how)
    return case
