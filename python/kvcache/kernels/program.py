# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of ready kernels, and how the arguments of a call become the host
function's."""

from __future__ import annotations

import dataclasses
from typing import Any, Callable, Mapping, Optional, Sequence

import numpy as np

from .. import arrays, dtypes
from ..checks import integer
from ..errors import ArgumentError
from ..layout import Layout, Pool

#: What shapes and sizes are computed from: the arguments of a call, by name.
Given = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Argument:
    """An argument of the host function. `sizes`, None where they are free, are those of
    an array, and None for a number, which may have a `default`. An array with a `shape` is made, of zeros, where it is not given, and
    given back where it is a `result`. Arrays of a `pool` come with the pool; what is
    `hidden` no kernel looks at."""

    name: str
    dtype: str
    sizes: Optional[tuple[Optional[int], ...]]
    default: Optional[int] = None
    shape: Optional[Callable[[Given], tuple]] = None
    result: bool = False
    pool: bool = False
    hidden: bool = False

    @property
    def rank(self) -> Optional[int]:
        """Dimensions of an array; None for a number."""
        return None if self.sizes is None else len(self.sizes)


@dataclasses.dataclass(frozen=True)
class Program:
    """The text of a program, of one host function, and its `arguments`. `sizes` are
    what shapes of results need beside arrays: how each follows from what arrays in
    host memory hold, unless it is said. `check` raises ArgumentError for arrays in
    host memory whose content does not fit. `target` is the layout of a second pool,
    `layers` those that the kernel works on where no argument says it, `new` the argument
    that counts the new tokens of each sequence ("offsets", "new_lengths")."""

    name: str
    text: str
    layout: Optional[Layout] = None
    arguments: tuple[Argument, ...] = ()
    sizes: Mapping[str, Callable[[Given], int]] = dataclasses.field(default_factory=dict)
    check: Optional[Callable[[Given], None]] = None
    target: Optional[Layout] = None
    layers: Optional[Sequence[int]] = None
    new: Optional[str] = None

    def prepare(self, pool: Optional[Pool], given: dict, uses: Callable[[str], bool],
                stream: int = 0) -> tuple[dict, Any]:
        """The host function's arguments, arrays as views for `stream`, and what a call
        gives back. `uses` says of a name whether a launch depends on it."""
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
        sizes = {name: integer(name, value, 0, 2**63 - 1) for name, value in sizes.items()
                 if value is not None}
        results = {}

        def add(argument, value):
            if argument.result:
                results[argument.name] = value
            given[argument.name] = value if argument.rank is None else arrays.view(
                value, argument.name, stream)

        for argument in self.arguments:
            if argument.name in given:
                add(argument, _converted(argument, given[argument.name]))
            elif argument.default is not None:
                given[argument.name] = argument.default
        if self.layout is not None:
            self._check_layers(given)
        if self.check:
            self.check(given)
        for argument in self.arguments:
            if argument.name in given:
                if argument.result:
                    self._check_result(argument, given, sizes)
            elif argument.hidden and uses(argument.name):
                add(argument, np.array([self._longest(given, argument.name)], np.int32))
            elif argument.hidden:
                add(argument, arrays.ArrayView(
                    0, (1,) * argument.rank, (1,) * argument.rank, argument.dtype,
                    dtypes.BITS[argument.dtype] // 8, _device(given), None))
            elif argument.shape:
                add(argument, self._made(argument, given, sizes))
        made = tuple(results[a.name] for a in self.arguments if a.name in results)
        return given, made[0] if len(made) == 1 else made or None

    def _check_layers(self, given):
        most = given["blocks"].shape[2]
        layers = (given["layer"],) if "layer" in given else self.layers or ()
        for layer in layers:
            if not 0 <= layer < most:
                raise ArgumentError(f"'layer': expected 0 to {most - 1}, the pool's layers, got "
                                    f"{layer}")

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

    def _check_result(self, argument, given, sizes):
        """A result that is given has as many sequences and rows as one that is made;
        sizes that were not said are its own."""
        wanted = self.shape_of(argument, given, {**dict.fromkeys(self.sizes), **sizes})
        got = given[argument.name].shape
        if len(got) != len(wanted):
            return  # Refused later, with the rank.
        for i, (size_, has) in enumerate(zip(wanted, got)):
            if size_ is not None and size_ != has:
                raise ArgumentError(f"'{argument.name}': expected size {size_} of dimension {i}, "
                                    f"got {has}")

    def _longest(self, given, name):
        try:
            most = size(given, "table", 1) * self.layout.page_size
            tokens = _tokens(given, self.new)
        except KeyError as error:
            raise ArgumentError(f"missing argument {error}") from None
        if tokens is None:
            raise ArgumentError(f"missing argument '{name}', which checks at run time look at; it "
                                "is only made where arrays lie in host memory")
        # Tokens that no table has room for are left out by `skip`, and refused else.
        return min(most, int(tokens.max(initial=0)))

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
        shape = self.shape_of(argument, given, sizes)
        try:
            return np.zeros(shape, dtypes.to_numpy(argument.dtype))
        except ValueError:
            raise ArgumentError(f"'{argument.name}': expected an array of less than 2^63 bytes, "
                                f"got shape {shape}") from None


@dataclasses.dataclass(frozen=True)
class OwnProgram:
    """A program of the user's, whose arguments are what the record says."""

    name: str
    text: str
    arguments: tuple[Argument, ...] = ()

    def prepare(self, pool: Optional[Pool], given: dict, uses: Callable[[str], bool],
                stream: int = 0) -> tuple[dict, Any]:
        """Adds the arrays of a pool, if there is one, as `blocks` and `scales`."""
        if pool is not None:
            given = dict(given, **_pool_arrays(pool, getattr(pool, "layout", None),
                                               "the first argument", ""))
        return given, None


def _pool_arrays(pool, layout, place: str, prefix: str) -> dict:
    if not isinstance(pool, Pool):
        raise ArgumentError(f"expected a pool as {place}, got {type(pool).__name__}; "
                            "Layout.allocate and Layout.wrap make one")
    if pool.layout is not layout and pool.layout != layout:
        raise ArgumentError(f"expected a pool of the kernel's layout as {place}, got one of "
                            "another layout")
    result = {prefix + "blocks": pool.blocks}
    if pool.scales is not None:
        result[prefix + "scales"] = pool.scales
    return result


def _converted(argument: Argument, value):
    """What comes as a list or a number, or as integers of another width, as an array of
    the right type. What a kernel writes stays as it is."""
    if argument.pool or argument.shape:
        return value
    if argument.rank is None:
        return integer(argument.name, value)
    integers = argument.dtype.startswith("i")
    foreign = isinstance(value, (list, tuple, int, float, np.generic)) or (
        integers and isinstance(value, np.ndarray) and value.dtype.kind in "iu"
        and value.dtype.itemsize * 8 != dtypes.BITS[argument.dtype])
    if not foreign:
        return value
    if isinstance(value, np.ndarray):
        value = arrays.as_numpy(value, argument.name)
    dtype = dtypes.to_numpy(argument.dtype)
    try:
        wide = np.array(value)
        if integers and wide.size == 0:
            wide = wide.astype(dtype)
            if wide.ndim == 1 and argument.rank > 1:  # No rows.
                wide = wide.reshape([0] + [size or 0 for size in argument.sizes[1:]])
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
    for value in given.values():
        if isinstance(value, arrays.ArrayView):
            return value.device
    return "cpu"


# For shapes, sizes and checks -----------------------------------------------------


def size(given: Given, name: str, dimension: int = 0) -> int:
    """A size of an array that is given. Raises KeyError where it is not."""
    shape = given[name].shape
    if dimension >= len(shape):
        raise ArgumentError(f"'{name}': expected more than {dimension} dimensions, got "
                            f"{len(shape)}")
    return shape[dimension]


def numbers(given: Given, name: str) -> Optional[np.ndarray]:
    """The unsigned numbers of a list of i32 in host memory, widened; None on a
    GPU. Raises ArgumentError for other elements."""
    view = given[name]
    if view.dtype not in ("i32", "ui32"):
        raise ArgumentError(f"'{name}': expected elements of i32, got {view.dtype}")
    if view.device != "cpu":
        return None
    return arrays.as_numpy(view, name).view(np.uint32).astype(np.int64)


def known(given: Given, name: str, needed_for: str) -> np.ndarray:
    """The same, where a size depends on it."""
    result = numbers(given, name)
    if result is None:
        raise ArgumentError(f"missing argument '{needed_for}'; it follows from '{name}' only where "
                            "that lies in host memory")
    return result


def longest(given: Given, needed_for: str) -> int:
    """The greatest number of tokens of a sequence, those of this step too."""
    lengths = known(given, "lengths", needed_for)
    known(given, "offsets", needed_for)
    return int((lengths + _new_tokens(given, "offsets")).max(initial=0))


def _tokens(given: Given, new: Optional[str]) -> Optional[np.ndarray]:
    """Tokens of each sequence that is looked at, 0 of others: with `new`, of those that
    have new ones. None where they are not in host memory."""
    lengths = numbers(given, "lengths")
    more = _new_tokens(given, new) if new in given else 0
    if lengths is None or more is None:
        return None
    return lengths if new not in given else np.where(more > 0, lengths + more, 0)


def check_tables(layout: Layout, policy: str, new: Optional[str] = None,
                 rows: Sequence[str] = (), window: Optional[int] = None,
                 looks_up: Optional[str] = None):
    """A check of the tables: a row for each length and, unless what is out of range is
    skipped, pages for all tokens, with those that `new` ("offsets", "new_lengths")
    counts, and for a `window` of tokens. Arrays called `rows` have at least as many rows
    as `new` says. Where nothing but the caller's word says that pages exist, those that
    a kernel `looks_up` do, of "all" tokens or of the "new" ones."""
    def check(given: Given) -> None:
        if "lengths" not in given:
            return
        tokens = _tokens(given, new)
        if new in given and given[new].device == "cpu":
            for name in rows:
                _check_rows(given, new, name)
        for name in ("table", "scales_table"):
            if name not in given:
                continue
            shape = given[name].shape
            if len(shape) != 2 or len(given["lengths"].shape) != 1:
                continue  # Refused later, with the rank.
            if shape[0] != size(given, "lengths"):
                raise ArgumentError(f"'{name}': expected {size(given, 'lengths')} rows, one for "
                                    f"each length, got {shape[0]}")
            positions = shape[1] * layout.page_size
            if window is not None and shape[0] and window > positions:
                raise ArgumentError(f"'window': expected at most the {positions} positions of "
                                    f"'{name}' ({shape[1]} pages of {layout.page_size} tokens), "
                                    f"got {window}; leave it out where rows see all keys")
            if tokens is None or policy == "skip":
                continue
            most = int(tokens.max(initial=0))
            if most >= 2**31 and int(numbers(given, "lengths").max()) >= 2**31:
                worst = int(numbers(given, "lengths").max()) - 2**32
                raise ArgumentError(f"'lengths': expected numbers of at least 0, got {worst}")
            pages = -(-most // layout.page_size)
            if pages > shape[1]:
                raise ArgumentError(f"'{name}': expected at least {pages} pages for {most} tokens, "
                                    f"got {shape[1]}")
            if looks_up and policy == "assume":
                first = numbers(given, "lengths") if looks_up == "new" else np.zeros_like(tokens)
                _check_pages(given, name, first // layout.page_size, -(-tokens // layout.page_size))
    return check


def _check_pages(given: Given, name: str, first: np.ndarray, end: np.ndarray) -> None:
    """The pool has the pages from column `first` to `end` of each row of a table."""
    pages = numbers(given, name)
    if pages is None:
        return
    has = size(given, "blocks" if name == "table" else "scales")
    columns = np.arange(pages.shape[1])
    wrong = (columns >= first[:, None]) & (columns < end[:, None]) & (pages >= has)
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise ArgumentError(f"'{name}': expected pages of 0 to {has - 1}, which the pool has, got "
                            f"{np.uint32(pages[row, column]).astype(np.int32)} as page {column} of "
                            f"sequence {row}; allocate more, or let a policy say what is then done")


def _new_tokens(given: Given, new: str) -> Optional[np.ndarray]:
    """New tokens of each sequence; None where they are not in host memory."""
    more = numbers(given, new)
    if more is None:
        return None
    want = size(given, "lengths") + (new == "offsets")
    if more.shape != (want,):
        raise ArgumentError(f"'{new}': expected {want} entries for {size(given, 'lengths')} "
                            f"lengths, got {' x '.join(map(str, more.shape))}")
    result = more[1:] - more[:-1] if new == "offsets" else more
    if result.size and result.min() < 0:
        raise ArgumentError(f"'{new}': expected numbers that do not descend, got "
                            f"{more.astype(np.uint32).astype(np.int32).tolist()}")
    return result


def _check_rows(given: Given, new: str, name: str) -> None:
    """Rows for all new tokens: of all sequences one after another, or of each."""
    if name not in given:
        return
    most = numbers(given, new).max(initial=0)
    ragged = new == "offsets"
    got = size(given, name, 0 if ragged else 1)
    if most > got:
        each = "" if ragged else " a sequence"
        raise ArgumentError(f"'{name}': expected at least {most} rows{each}, as '{new}' says, got "
                            f"{got}")
