# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An oracle file: one collection, and what a reference says about it.

Letters are those of docs/api.md: NB blocks, KD sides, L layers, P tokens a page,
H heads, D elements a head, g elements a scale, G scales a head, B sequences, M
table columns.
"""
import ast
import re

import numpy as np

from narrow_dtypes import SCALE_DTYPES, VALUE_DTYPES


class Malformed(Exception):
    """The file contradicts itself or lacks something."""


class Unsupported(Exception):
    """The file asks for something that kvcache has no word for."""


AXES = ("kv", "layer", "batch", "token", "head", "dim")
ELEMENT_ARRAYS = ("value_offset", "scale_offset", "load_scale",
                  "load_dequantised_f32")
ROW_ARRAYS = ("row_idx", "scales_row_idx")


def _no_scales(name):
    return name is None or str(name).lower() in ("", "invalid", "none")


def numbers(values, what, dtype):
    """A flat array from a list of numbers; floats may be strings as "nan"."""
    if not isinstance(values, list):
        raise Malformed(f"'{what}' is not a list")
    try:
        if dtype is np.float32:
            with np.errstate(over="ignore"):
                return np.array([np.float32(float(v)) for v in values],
                                np.float32)
        if any(isinstance(v, bool) or int(v) != v for v in values):
            raise Malformed(f"'{what}' holds something else than integers")
        return np.array([int(v) for v in values], dtype)
    except (TypeError, ValueError, OverflowError):
        raise Malformed(f"'{what}' holds something else than numbers") from None


def evaluate_fill(rule, count):
    """The f64 numbers of a rule such as '(1+i%61)/8 at flat element i'."""
    text = re.split(r"\bat\b", rule)[0].strip()
    index = np.arange(count, dtype=np.int64)
    functions = {"f32": np.float32, "float": np.float64, "abs": np.abs,
                 "min": np.minimum, "max": np.maximum, "floor": np.floor,
                 "sin": np.sin, "cos": np.cos, "sqrt": np.sqrt}
    operators = {
        ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply,
        ast.Div: np.divide, ast.Mod: np.mod, ast.FloorDiv: np.floor_divide,
        ast.Pow: lambda a, b: np.power(np.float64(a), b)}

    def visit(node):
        if isinstance(node, ast.Expression):
            return visit(node.body)
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            return node.value
        if isinstance(node, ast.Name) and node.id == "i":
            return index
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return np.negative(visit(node.operand))
        if isinstance(node, ast.BinOp) and type(node.op) in operators:
            return operators[type(node.op)](visit(node.left), visit(node.right))
        if (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
                and node.func.id in functions and not node.keywords):
            return functions[node.func.id](*map(visit, node.args))
        raise SyntaxError

    try:
        values = visit(ast.parse(text, mode="eval"))
    except SyntaxError:
        raise Unsupported(f"fill rule '{rule}' is not understood") from None
    return np.broadcast_to(np.asarray(values, np.float64), (count,))


class OracleFile:
    """The collection of a file, checked for what the rest relies on."""

    def __init__(self, data):
        self.data = data
        self.dtype = self._dtype("dtype", VALUE_DTYPES)
        self.has_scales = not _no_scales(data.get("scale_dtype"))
        self.scale_dtype = (self._dtype("scale_dtype", SCALE_DTYPES)
                            if self.has_scales else None)
        shape = self._shape("blocks_shape")
        self.NB, self.KD, self.L, self.P, self.H, self.D = shape
        self.is_mla = data.get("is_mla", self.KD == 1)
        if self.KD != (1 if self.is_mla else 2):
            raise Malformed(f"blocks_shape has {self.KD} sides with is_mla "
                            f"{bool(self.is_mla)}")
        self._same("page_size", self.P, "blocks_shape")
        self._same("layers", self.L, "blocks_shape")
        self.NBs = self.g = self.G = 0
        if self.has_scales:
            self._read_scales(shape)
        self.pitch = self._pitch("value_page_stride", self.D)
        self.scales_pitch = self._pitch("scales_page_stride", self.G)
        self._read_tables()
        self.elem_axes = self._axes(data.get("order_elem", data.get("order")),
                                    AXES)
        self.row_axes = self._axes(self._row_order(), AXES[:4])
        self.indices = self._merged_indices()
        self.needs_memory = bool(
            "value_fill" in data or "scale_fill" in data
            or {"load_scale", "load_dequantised_f32"} & data.keys())

    # Reading.

    def _get(self, key):
        if key not in self.data:
            raise Malformed(f"'{key}' is missing")
        return self.data[key]

    def _int(self, key):
        value = self._get(key)
        if isinstance(value, bool) or not isinstance(value, int):
            raise Malformed(f"'{key}' is not an integer: {value!r}")
        return value

    def _dtype(self, key, known):
        name = self._get(key)
        if name not in known:
            raise Unsupported(f"{key} '{name}'; known are {', '.join(known)}")
        return known[name]

    def _shape(self, key):
        shape = self._get(key)
        if (not isinstance(shape, list) or len(shape) != 6
                or not all(type(n) is int and n > 0 for n in shape)):
            raise Malformed(f"'{key}' is not six positive integers: {shape}")
        return shape

    def _same(self, key, value, where):
        if self.data.get(key) is not None and self._int(key) != value:
            raise Malformed(f"{key} is {self.data[key]}, {where} says {value}")

    def _read_scales(self, blocks_shape):
        shape = self._shape("scales_shape")
        self.NBs, self.G = shape[0], shape[5]
        if shape[1:5] != blocks_shape[1:5]:
            raise Malformed(f"scales_shape {shape} does not match blocks_shape "
                            f"{blocks_shape}")
        self.g = self._int("quantization_granularity")
        self._same("cache_quantization_granularity", self.g,
                   "quantization_granularity")
        if self.g < 1 or self.G != -(-self.D // self.g):
            raise Malformed(
                f"scales_shape has {self.G} scales a head, head size {self.D} "
                f"and granularity {self.g} need {-(-self.D // max(self.g, 1))}")
        self._same("head_dim_granularity", self.G, "scales_shape")

    def _pitch(self, key, last):
        packed = self.KD * self.L * self.P * self.H * last
        stride = self.data.get(key)
        if stride is None or stride == -1 or not last:
            return packed
        if type(stride) is not int or stride < packed or stride % (self.H * last):
            raise Malformed(f"{key} {stride} is not whole rows of "
                            f"{self.H * last} and at least {packed}")
        return stride

    def _read_tables(self):
        self.B, self.M = self._int("batch"), self._int("max_pages")
        if self.B < 1 or self.M < 1:
            raise Malformed("'batch' and 'max_pages' must be at least 1")

        def table(key):
            flat = numbers(self._get(key), key, np.uint32)
            if flat.size != self.B * self.M:
                raise Malformed(f"'{key}' has {flat.size} entries, expected "
                                f"{self.B} x {self.M}")
            return flat.reshape(self.B, self.M)

        self.table = table("lookup_table")
        self.own_table = (self.has_scales
                          and self.data.get("scales_lookup_table") is not None)
        self.scales_table = (table("scales_lookup_table") if self.own_table
                             else self.table)
        self.lengths = numbers(
            self.data.get("cache_lengths", [0] * self.B), "cache_lengths",
            np.uint32)
        if self.lengths.size != self.B:
            raise Malformed(f"'cache_lengths' has {self.lengths.size} entries, "
                            f"expected {self.B}")
        self.max_prompt = self.data.get("max_prompt_length", 0)
        self.max_cache = self.data.get("max_cache_length", 0)
        if type(self.max_prompt) is not int or type(self.max_cache) is not int:
            raise Malformed("a maximal length is not an integer")

    def _row_order(self):
        if "order_row" in self.data:
            return self.data["order_row"]
        order = self.data.get("order")
        return None if order is None else "".join(
            re.findall(r"\[[^\]]*\]", order)[:4])

    def _size(self, axis):
        if axis == "token":
            tokens = self._get("tokens")
            return tokens if type(tokens) is int else len(tokens)
        return {"kv": self.KD, "layer": self.L, "batch": self.B,
                "head": self.H, "dim": self.D}[axis]

    def _axes(self, order, names):
        """Axis and the indices along it, outermost first; '[head in 0,last]'
        names some, '[head]' all."""
        order = order or "".join(f"[{name}]" for name in names)
        axes = []
        for item in re.findall(r"\[([^\]]*)\]", order):
            name, _, some = item.partition(" in ")
            name = name.strip()
            if name not in names or name in dict(axes):
                raise Malformed(f"order '{order}' has an unknown axis '{name}'")
            if isinstance(self.data.get("tokens"), list) and name == "token":
                indices = numbers(self.data["tokens"], "tokens", np.int64)
            elif some:
                last = self._size(name) - 1
                try:
                    indices = np.array([last if word.strip() == "last"
                                        else int(word)
                                        for word in some.split(",")])
                except ValueError:
                    raise Malformed(f"order '{order}': '{some}'") from None
            else:
                indices = np.arange(self._size(name))
            limit = self.M * self.P if name == "token" else self._size(name)
            if indices.size and not (0 <= indices.min()
                                     and indices.max() < limit):
                raise Malformed(f"{name} {indices.max()} is not below {limit}")
            axes.append((name, indices))
        return axes

    def _merged_indices(self):
        """All indices that either order names, an axis each."""
        merged = {name: np.zeros(0, np.int64) for name in AXES}
        for name, indices in self.elem_axes + self.row_axes:
            merged[name] = np.union1d(merged[name], indices)
        return {name: found if found.size else np.zeros(1, np.int64)
                for name, found in merged.items()}

    # Contents.

    def pool_elements(self, pool):
        blocks, pitch = ((self.NB, self.pitch) if pool == "values"
                         else (self.NBs, self.scales_pitch))
        count = blocks * pitch if self.needs_memory else 1
        if count > 2**30:
            raise Unsupported(f"a pool of {count} elements, {2**30} are the most "
                              "that is filled")
        return count

    def fill(self, pool):
        """The pool's codes as the file's rule says, padding included."""
        key, dtype = (("value_fill", self.dtype) if pool == "values"
                      else ("scale_fill", self.scale_dtype))
        count = self.pool_elements(pool)
        if not self.needs_memory or key not in self.data:
            return np.zeros(count, dtype.storage)
        return dtype.encode(evaluate_fill(self.data[key], count))

    def shape_of(self, axes):
        return tuple(len(indices) for _, indices in axes)

    def array(self, key, axes, dtype):
        """The file's array in its own order; None where it is absent."""
        if self.data.get(key) is None:
            return None
        flat = numbers(self.data[key], key, dtype)
        shape = self.shape_of(axes)
        if flat.size != np.prod(shape, dtype=np.int64):
            raise Malformed(f"'{key}' has {flat.size} numbers, expected "
                            + " x ".join(map(str, shape)))
        return flat.reshape(shape)
