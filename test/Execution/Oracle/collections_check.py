# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a collection's program answered against what its file says."""
import numpy as np

import oracle_program
from addressing_model import Model
from oracle_file import AXES, Malformed


class Differs(Exception):
    """The first difference."""


def same(got, want):
    """Equal bit for bit; any NaN equals any other."""
    if want.dtype == np.float32:
        return ((got.view(np.uint32) == want.view(np.uint32))
                | (np.isnan(got) & np.isnan(want)))
    return got == want


def require(what, axes, good, got, want):
    """Raises Differs at the first place where `good` does not hold."""
    if good.all():
        return
    at = np.unravel_index(np.flatnonzero(~good)[0], good.shape)
    place = ", ".join(f"{name} {indices[i]}"
                      for (name, indices), i in zip(axes, at))
    count = int((~good).sum())
    raise Differs(f"{what} at {place or 'the collection'}: want {want[at]}, "
                  f"got {got[at]} ({count} of {good.size} differ)")


def wrapped(got, want):
    """Where a 32-bit `want` is the 64-bit `got` modulo 2^32."""
    return (got >= 2**31) & ((got - want) % 2**32 == 0) & (want < 2**32)


class Check:
    def __init__(self, file, program, results):
        self.file, self.program, self.results = file, program, results
        self.model = Model(file)
        self.canonical = [(name, file.indices[name]) for name in AXES]
        counts = [len(indices) for _, indices in self.canonical]
        self.elem_shape, self.row_shape = tuple(counts), tuple(counts[:4])

    def _in_file_order(self, array, axes):
        """From [kv][layer]...[dim] to the order and indices of the file."""
        names = [name for name, _ in axes]
        picks = []
        for name, indices in self.canonical[:array.ndim]:
            wanted = dict(axes).get(name)
            picks.append(np.searchsorted(indices, wanted) if name in names
                         else np.array([0]))
        array = array[np.ix_(*picks)]
        absent = [i for i in range(array.ndim) if AXES[i] not in names]
        present = [name for name in AXES[:array.ndim] if name in names]
        array = array.reshape([n for i, n in enumerate(array.shape)
                               if i not in absent])
        return array.transpose([present.index(name) for name in names])

    def compare(self, key, what, got, model, axes, dtype, accept=None):
        """`got` against the file's `key`; by the model where that is absent or
        where `accept` says that the file is known to be wrong."""
        where = self.canonical[:got.ndim]
        want = self.file.array(key, axes, dtype)
        if want is None:
            require(f"{what} (absent from the file)", where, same(got, model),
                    got, model)
            return
        ours = self._in_file_order(got, axes)
        good = same(ours, want)
        if accept is not None and not good.all():
            right = self._in_file_order(model, axes)
            good |= accept(ours, want) & same(ours, right)
        require(f"{key}, {what}", axes, good, ours, want)

    def elements(self):
        size = {"value": self.file.dtype.bytes}
        sources = [("value_offset", self.model.value_offset, size["value"])] * 2
        if self.file.has_scales:
            scale = self.file.scale_dtype.bytes
            sources += [("scale_offset", self.model.scale_offset, scale)] * 3
        for slot, (key, model, width) in enumerate(sources):
            what = self.program.elements[slot]
            got = self.results["elements"][slot].reshape(self.elem_shape)
            require(f"{what}, bytes beyond an element", self.canonical,
                    got % width == 0, got, got - got % width)
            self.compare(key, what, got // width, model(), self.file.elem_axes,
                         np.int64)

    def rows(self):
        rows = self.results["rows"].reshape(-1, *self.row_shape)
        names = self.program.rows
        row = lambda name: rows[names.index(name)]
        pages = self.file.pitch // (self.file.H * self.file.D)
        joined = (row("block_row_idx, block") * pages
                  + row("block_row_idx, row"))
        answers = [(n, row(n)) for n in names
                   if n.startswith(("row_idx", "populate"))]
        answers.append(("block_row_idx, joined", joined))
        for what, got in answers:
            key, model = (("scales_row_idx", self.model.scales_row_idx)
                          if "scales" in what
                          else ("row_idx", self.model.row_idx))
            self.compare(key, what, got, model(), self.file.row_axes, np.int64,
                         wrapped)

    def scalars(self):
        data = self.file.data
        for slot, what in enumerate(self.program.scalars):
            got = self.results["scalars"][slot]
            self._scalar(what, got, data)
        lengths = self.results["lengths_out"].reshape(
            *self.row_shape[:2], len(self.file.indices["batch"]))
        axes = [axis for axis in self.canonical[:3]]
        want = self.file.lengths.astype(np.int64)[self.file.indices["batch"]]
        if data.get("cache_length") is not None:
            stated = self.file.array("cache_length", [("batch", np.arange(
                self.file.B))], np.int64)
            want = stated[self.file.indices["batch"]]
        want = np.broadcast_to(want, lengths.shape)
        require("cache_length", axes, lengths == want, lengths, want)

    def _scalar(self, what, got, data):
        model = {"num_kv_rows": self.model.num_kv_rows,
                 "scales num_kv_rows": self.model.scales_num_kv_rows,
                 "max_context_length": lambda: self.file.max_cache,
                 "max_prompt_length": lambda: self.file.max_prompt,
                 "empty_cache": lambda: int(self.file.max_cache == 0)}[what]()
        key = what.replace("scales num_kv_rows", "scales_num_kv_rows")
        stated = data.get(key)
        if isinstance(stated, bool):
            stated = int(stated)
        if stated is not None and type(stated) is not int:
            raise Malformed(f"'{key}' is not an integer: {stated!r}")
        # With a table of their own, the reference's scales speak of the value
        # pool there; ours speak of their own.
        if (key == "scales_num_kv_rows" and self.file.own_table
                and stated in (data.get("num_kv_rows"),
                               self.model.num_kv_rows())):
            stated = None
        want = model if stated is None else stated
        want = np.full(got.shape, want, np.int64)
        good = (got == want) | (wrapped(got, want) & (got == model))
        sides = [("side", np.arange(got.size))]
        require(key, sides, good, got, want)

    def contents(self):
        file = self.file
        if not file.needs_memory:
            return
        pool = file.fill("values")
        codes = self.results["codes"].reshape(self.elem_shape)
        want = self.model.load_quantized(pool)
        integer = np.dtype(f"u{file.dtype.bytes}")
        require("load_quantized (absent from the file)", self.canonical,
                codes.view(integer) == want.view(integer), codes, want)
        if not self.program.floats:
            return
        scales = file.fill("scales")
        loaded = self.results["floats"].reshape(-1, *self.elem_shape)
        scale = self.model.load_scale(scales)
        value = self.model.load_dequantised(pool, scales)
        for what, got in zip(self.program.floats, loaded):
            if what.startswith("load_scale"):
                self.compare("load_scale", what, got, scale, file.elem_axes,
                             np.float32)
            else:
                self.compare("load_dequantised_f32", what, got, value,
                             file.elem_axes, np.float32,
                             self._rounded_to_scale_dtype)

    def _rounded_to_scale_dtype(self, got, want):
        """The reference multiplies in the scale's dtype; ours in f32."""
        if self.file.scale_dtype.mlir == "f32":
            return np.zeros(got.shape, bool)
        return same(self.file.scale_dtype.round(got).astype(np.float32), want)


def check(name, file, runner):
    """Raises Differs, Malformed or what the runner raises."""
    if not file.has_scales and {"scale_offset", "load_scale",
                                "scales_row_idx"} & {
            key for key, value in file.data.items() if value is not None}:
        raise Malformed("it speaks of scales without a scale_dtype")
    program = oracle_program.Program(file)
    text = program.text()
    results = runner.run(name, text, program.arguments(), program.outputs())
    check = Check(file, program, results)
    check.elements()
    check.rows()
    check.scalars()
    check.contents()
