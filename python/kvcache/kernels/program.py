# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of ready kernels, and how the arguments of a call become the host
function's."""

from __future__ import annotations

import dataclasses
from typing import Any, Callable, Mapping, Optional, Sequence

import numpy as np

from .. import arrays, dtypes
from ..errors import ArgumentError
from ..layout import Layout, Pool

#: What shapes and sizes are computed from: the arguments of a call, by name.
Given = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Argument:
    """An argument of the host function. `rank` is None for a number, which may have a
    `default`. An array with a `shape` is made, of zeros, where it is not given, and
    given back where it is a `result`. Arrays of a `pool` come with the pool; what is
    `hidden` no kernel looks at."""

    name: str
    dtype: str
    rank: Optional[int]
    default: Optional[int] = None
    shape: Optional[Callable[[Given], tuple]] = None
    result: bool = False
    pool: bool = False
    hidden: bool = False


@dataclasses.dataclass(frozen=True)
class Program:
    """The text of a program, of one host function, and its `arguments`. `sizes` are
    what shapes of results need beside arrays: how each follows from what arrays in
    host memory hold, unless it is said. `check` raises ArgumentError for arrays in
    host memory whose content does not fit. `target` is the layout of a second pool,
    `layers` those that the kernel works on where no argument says it."""

    name: str
    text: str
    layout: Optional[Layout] = None
    arguments: tuple[Argument, ...] = ()
    sizes: Mapping[str, Callable[[Given], int]] = dataclasses.field(default_factory=dict)
    check: Optional[Callable[[Given], None]] = None
    target: Optional[Layout] = None
    layers: Optional[Sequence[int]] = None

    def prepare(self, pool: Optional[Pool], given: dict) -> tuple[dict, Any]:
        """The host function's arguments, and what a call gives back."""
        given = dict(given)
        if self.layout is not None:
            given.update(_pool_arrays(pool, self.layout, "the first argument", ""))
        elif pool is not None:
            raise ArgumentError(f"expected no pool, got {type(pool).__name__}; '{self.name}' "
                                "takes arrays by name only")
        if self.target is not None:
            given.update(_pool_arrays(given.pop("target", None), self.target, "'target'",
                                      "target_"))
        sizes = {name: given.pop(name, None) for name in self.sizes}
        sizes = {name: value for name, value in sizes.items() if value is not None}
        for argument in self.arguments:
            if argument.name in given:
                given[argument.name] = _converted(argument, given[argument.name])
            elif argument.default is not None:
                given[argument.name] = argument.default
        if self.layout is not None:
            self._check_layers(pool, given)
        if self.check:
            self.check(given)
        for argument in self.arguments:
            if argument.name in given:
                continue
            if argument.hidden:
                given[argument.name] = arrays.ArrayView(
                    0, (1,) * argument.rank, (1,) * argument.rank, argument.dtype,
                    dtypes.BITS[argument.dtype] // 8, _device(given), None)
            elif argument.shape:
                given[argument.name] = self._made(argument, given, sizes)
        results = tuple(given[a.name] for a in self.arguments if a.result)
        return given, results[0] if len(results) == 1 else results or None

    def _check_layers(self, pool, given):
        layers = self.layers or ()
        if isinstance(given.get("layer"), (int, np.integer)):
            layers = (given["layer"],)
        for layer in layers:
            if not 0 <= layer < pool.layers:
                raise ArgumentError(f"'layer': expected 0 to {pool.layers - 1}, the pool's layers, "
                                    f"got {layer}")

    def shape_of(self, argument: Argument, given: Given, sizes: Given) -> tuple:
        """Shape of an array that is made; ArgumentError where something is missing."""
        try:
            return argument.shape({**given, **sizes})
        except KeyError as error:
            raise ArgumentError(f"missing argument {error}") from None

    def pools(self, given: dict) -> list[Pool]:
        """The first argument of a call, made of `blocks` and `scales`, which are taken
        out of `given`, in a list; none where there is none. A second pool becomes
        `target`."""
        def wrapped(layout, prefix):
            names = [prefix + "blocks", *([prefix + "scales"] if layout.has_scales_pool else [])]
            return layout.wrap(*(given.pop(name) for name in names))

        if self.target is not None:
            given["target"] = wrapped(self.target, "target_")
        return [wrapped(self.layout, "")] if self.layout is not None else []

    def _made(self, argument, given, sizes):
        if _device(given) != "cpu":
            raise ArgumentError(f"missing argument '{argument.name}'; it is only made where arrays "
                                "lie in host memory")
        for name, size in self.sizes.items():
            if name not in sizes:
                try:
                    sizes[name] = int(size(given))
                except KeyError as error:
                    raise ArgumentError(f"missing argument {error}") from None
            elif not isinstance(sizes[name], (int, np.integer)) or sizes[name] < 0:
                raise ArgumentError(f"'{name}': expected an integer of at least 0, got "
                                    f"{sizes[name]!r}")
        return np.zeros(self.shape_of(argument, given, sizes), dtypes.to_numpy(argument.dtype))


@dataclasses.dataclass(frozen=True)
class OwnProgram:
    """A program of the user's, whose arguments are what the record says."""

    name: str
    text: str
    arguments: tuple[Argument, ...] = ()

    def prepare(self, pool: Optional[Pool], given: dict) -> tuple[dict, Any]:
        """Adds the arrays of a pool, if there is one, as `blocks` and `scales`."""
        if pool is not None:
            given = dict(given, **_pool_arrays(pool, getattr(pool, "layout", None),
                                               "the first argument", ""))
        return given, None


def _pool_arrays(pool, layout, place: str, prefix: str) -> dict:
    if not isinstance(pool, Pool):
        raise ArgumentError(f"expected a pool as {place}, got {type(pool).__name__}; "
                            "Layout.allocate and Layout.wrap make one")
    if pool.layout != layout:
        raise ArgumentError(f"expected a pool of the kernel's layout as {place}, got one of "
                            "another layout")
    result = {prefix + "blocks": pool.blocks}
    if pool.scales is not None:
        result[prefix + "scales"] = pool.scales
    return result


def _converted(argument: Argument, value):
    """What comes as a list or a number, or as integers of another width, as an array of
    the right type. What a kernel writes stays as it is."""
    if argument.rank is None or argument.pool or argument.shape:
        return value
    integers = argument.dtype.startswith("i")
    foreign = isinstance(value, (list, tuple, int, float, np.generic)) or (
        integers and isinstance(value, np.ndarray) and value.dtype.kind in "iu"
        and value.dtype.itemsize * 8 != dtypes.BITS[argument.dtype])
    if not foreign:
        return value
    dtype = dtypes.to_numpy(argument.dtype)
    try:
        wide = np.array(value)
        if integers and wide.size == 0:
            wide = wide.astype(dtype)
        if integers and wide.dtype.kind not in "iu":
            raise ArgumentError(f"'{argument.name}': expected integers, got {wide.dtype}")
        narrow = wide.astype(dtype)
        if integers and not np.array_equal(narrow, wide):
            worst = wide[narrow != wide].flat[0]
            raise ArgumentError(f"'{argument.name}': expected numbers of {argument.dtype}, got "
                                f"{worst}")
        return narrow
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, ArgumentError):
            raise
        raise ArgumentError(f"'{argument.name}': {error}") from None


def _device(given: Given) -> str:
    """Where the arrays lie that are there, by the first one."""
    for name, value in given.items():
        if not isinstance(value, (int, float, str, np.generic)):
            return arrays.view(value, name).device
    return "cpu"


# For shapes, sizes and checks -----------------------------------------------------


def size(given: Given, name: str, dimension: int = 0) -> int:
    """A size of an array that is given, of whatever library. Raises KeyError where
    it is not."""
    array = given[name]
    shape = getattr(array, "shape", None)
    if shape is None:
        shape = arrays.view(array, name).shape
    if dimension >= len(shape):
        raise ArgumentError(f"'{name}': expected more than {dimension} dimensions, got "
                            f"{len(shape)}")
    return shape[dimension]


def numbers(given: Given, name: str) -> Optional[np.ndarray]:
    """The unsigned numbers of a list of i32 in host memory, widened; None on a
    GPU. Raises ArgumentError for other elements."""
    view = arrays.view(given[name], name)
    if view.dtype not in ("i32", "ui32"):
        raise ArgumentError(f"'{name}': expected elements of i32, got {view.dtype}")
    if view.device != "cpu":
        return None
    return arrays.as_numpy(view, name).view(np.uint32).astype(np.int64)


def known(given: Given, name: str, needed_for: str) -> np.ndarray:
    """The same, where a size hangs on it."""
    result = numbers(given, name)
    if result is None:
        raise ArgumentError(f"missing argument '{needed_for}'; it follows from '{name}' only where "
                            "that lies in host memory")
    return result


def longest(given: Given, needed_for: str, new: bool = False) -> int:
    """The greatest number of tokens of a sequence, those of this step too if `new`."""
    lengths = known(given, "lengths", needed_for)
    if new:
        lengths = lengths + np.diff(known(given, "offsets", needed_for))
    return max(0, int(lengths.max())) if lengths.size else 0


def check_tables(layout: Layout, policy: str, new: Optional[str] = None):
    """A check of the tables: a row for each length and, unless what is out of range is
    skipped, pages for all tokens, with those that `new` ("offsets", "new_lengths")
    counts."""
    def check(given: Given) -> None:
        if "lengths" not in given:
            return
        lengths = numbers(given, "lengths")
        for name in ("table", "scales_table"):
            if name not in given:
                continue
            shape = arrays.view(given[name], name).shape
            if len(shape) != 2 or len(arrays.view(given["lengths"], "lengths").shape) != 1:
                continue  # Refused later, with the rank.
            if shape[0] != size(given, "lengths"):
                raise ArgumentError(f"'{name}': expected {size(given, 'lengths')} rows, one for "
                                    f"each length, got {shape[0]}")
            if lengths is None or not lengths.size or policy == "skip":
                continue
            tokens = lengths
            if new and new in given:
                more = numbers(given, new)
                if more is None:
                    continue
                want = lengths.size + (new == "offsets")
                if more.size != want:
                    raise ArgumentError(f"'{new}': expected {want} entries for {lengths.size} "
                                        f"lengths, got {more.size}")
                more = np.diff(more) if new == "offsets" else more
                if more.min() < 0:
                    raise ArgumentError(f"'{new}': expected numbers that do not descend, got "
                                        f"{arrays.as_numpy(arrays.view(given[new]), new).tolist()}")
                # A sequence without new tokens is not looked at.
                tokens = np.where(more > 0, lengths + more, 0)
            pages = -(-int(tokens.max()) // layout.page_size)
            if pages > shape[1]:
                raise ArgumentError(f"'{name}': expected at least {pages} pages for "
                                    f"{int(tokens.max())} tokens, got {shape[1]}")
    return check
