# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads and writes case folders: `case.json` and one .npy an array.

Whatever breaks the format is Malformed, with both sides of what disagrees.
"""
import dataclasses
import json
import pathlib

import numpy as np

from element_types import ELEMENT_TYPES
from pool_layout import PoolLayout
from verdicts import Malformed

POOLS = ("blocks", "scales", "to_blocks", "to_scales")


@dataclasses.dataclass
class Expected:
    """An output: how it must come out, and "bytes" or {"rtol", "atol"}."""

    array: np.ndarray
    dtype: str
    compare: object


@dataclasses.dataclass
class Case:
    name: str
    op: str
    layout: PoolLayout  # None where there is no pool
    nb: int
    nbs: int
    args: dict  # `to` is a PoolLayout
    inputs: dict  # name: array
    dtypes: dict  # name: element type
    outputs: dict  # name: Expected
    sparse_bytes: int = 0  # of the value pool; 0 where it is stored whole
    notes: str = ""


def read_json(path):
    try:
        data = json.loads(path.read_text())
    except OSError as error:
        raise Malformed(f"cannot read {path.name}: {error.strerror}")
    except (ValueError, RecursionError) as error:
        raise Malformed(f"{path.name} is not readable as JSON: {error}")
    if not isinstance(data, dict):
        raise Malformed(f"{path.name} is not a JSON object")
    return data


def read_npy(path):
    try:
        array = np.load(path, allow_pickle=False)
    except OSError as error:
        raise Malformed(f"cannot read {path.name}: {error.strerror or error}")
    except (ValueError, EOFError) as error:
        raise Malformed(f"{path.name} is no .npy file: {error}")
    if not isinstance(array, np.ndarray):
        raise Malformed(f"{path.name} holds no single array")
    if array.dtype.byteorder == ">":
        raise Malformed(f"{path.name} is big-endian; arrays are little-endian")
    return np.ascontiguousarray(array)


def field(data, name, kinds, where="case.json"):
    if name not in data:
        raise Malformed(f"{where} lacks '{name}'")
    value = data[name]
    if not isinstance(value, kinds) or isinstance(value, bool):
        raise Malformed(f"{where}: '{name}' is {value!r:.60}")
    return value


def _array(folder, name, entry):
    """An array of `inputs` or `outputs`, and its element type."""
    if not isinstance(entry, dict):
        raise Malformed(f"'{name}' is not an object")
    where = f"'{name}'"
    file = field(entry, "file", str, where)
    if pathlib.PurePath(file).name != file:
        raise Malformed(f"{where}: file '{file}' is not a name in the folder")
    dtype = field(entry, "dtype", str, where)
    if dtype not in ELEMENT_TYPES:
        raise Malformed(f"{where}: dtype '{dtype}' is unknown")
    array = read_npy(folder / file)
    shape = field(entry, "shape", list, where)
    if list(array.shape) != shape:
        raise Malformed(f"{where}: shape is {shape}, {file} has "
                        f"{list(array.shape)}")
    storage = np.dtype(ELEMENT_TYPES[dtype].storage)
    if array.dtype.itemsize != storage.itemsize or array.dtype.kind not in "fiu":
        raise Malformed(f"{where}: {dtype} is stored as {storage}, {file} has "
                        f"{array.dtype}")
    if (array.dtype.kind == "f") != (storage.kind == "f"):
        array = array.view(storage)
    return array.astype(storage, copy=False), dtype


def _compare(name, entry):
    compare = entry.get("compare")
    if compare == "bytes":
        return compare
    if isinstance(compare, dict) and all(
            isinstance(compare.get(key), (int, float)) for key in ("rtol", "atol")):
        return compare
    raise Malformed(f"'{name}': compare is {compare!r}, expected \"bytes\" or "
                    "{\"rtol\", \"atol\"}")


def _check_pools(case, derived):
    """Sizes of the pools, against the layout's pages."""
    layout = case.layout
    if isinstance(derived, dict):
        for name, want in layout.derived().items():
            if name in ("kv_dim", "scales_per_head", "page_pitch"):
                if derived.get(name, want) != want:
                    raise Malformed(f"derived: {name} is {derived[name]}, the "
                                    f"layout gives {want}")
    to = case.args.get("to", layout)
    pages = {"blocks": case.nb * layout.page_bytes,
             "scales": case.nbs * layout.scales_page_bytes,
             "to_blocks": case.nb * to.page_bytes,
             "to_scales": case.nbs * to.scales_page_bytes}
    for name in POOLS:
        if name in case.inputs and case.inputs[name].size != pages[name]:
            raise Malformed(f"'{name}' has {case.inputs[name].size} bytes, its "
                            f"blocks take {pages[name]}")
    if case.sparse_bytes and case.sparse_bytes != pages["blocks"]:
        raise Malformed(f"sparse: pool_bytes is {case.sparse_bytes}, the blocks "
                        f"take {pages['blocks']}")


def _check_segments(case, offsets, segments, what):
    if offsets.ndim != 1 or segments.ndim != 2 or len(offsets) != len(segments):
        raise Malformed(f"{what}: segment_offsets {list(offsets.shape)} and "
                        f"segment_bytes {list(segments.shape)} do not fit")
    for at in map(int, offsets):
        if at < 0 or at + segments.shape[1] > case.sparse_bytes:
            raise Malformed(f"{what}: a segment of {segments.shape[1]} bytes at "
                            f"{at} leaves the pool of {case.sparse_bytes}")


def is_case(folder):
    return (folder / "case.json").exists()


def read_case(folder):
    data = read_json(folder / "case.json")
    layout = data.get("layout")
    layout = PoolLayout.from_json(layout) if layout is not None else None
    args = dict(field(data, "args", dict))
    if "to" in args:
        args["to"] = PoolLayout.from_json(args["to"])
    sparse = data.get("sparse")
    if sparse is not None and not isinstance(sparse, dict):
        raise Malformed(f"case.json: 'sparse' is {sparse!r:.60}")
    case = Case(folder.name, field(data, "op", str), layout,
                field(data, "nb", int), field(data, "nbs", int), args, {}, {}, {},
                field(sparse, "pool_bytes", int, "sparse") if sparse else 0,
                str(data.get("notes", "")))
    if min(case.nb, case.nbs, case.sparse_bytes) < 0:
        raise Malformed(f"case.json: {case.nb} and {case.nbs} blocks, "
                        f"{case.sparse_bytes} bytes of a sparse pool")
    for name, entry in field(data, "inputs", dict).items():
        case.inputs[name], case.dtypes[name] = _array(folder, name, entry)
    for name, entry in field(data, "outputs", dict).items():
        array, dtype = _array(folder, name, entry)
        case.outputs[name] = Expected(array, dtype, _compare(name, entry))
    if not case.outputs:
        raise Malformed("case.json: there are no outputs to compare")
    if layout is not None:
        _check_pools(case, data.get("derived"))
    if case.sparse_bytes:
        for name in ("segment_offsets", "segment_bytes"):
            if name not in case.inputs:
                raise Malformed(f"the pool is sparse and '{name}' is missing")
        _check_segments(case, case.inputs["segment_offsets"],
                        case.inputs["segment_bytes"], "inputs")
    return case


def need(case, *names):
    """The inputs of these names; Malformed where one is missing."""
    for name in names:
        if name not in case.inputs:
            raise Malformed(f"{case.op} lacks input '{name}'")
    return [case.inputs[name] for name in names]


def argument(case, name, words=None):
    if name not in case.args:
        raise Malformed(f"args lacks '{name}', which {case.op} takes")
    value = case.args[name]
    if words and value not in words:
        raise Malformed(f"args: {name} is {value!r}, expected one of "
                        f"{', '.join(map(repr, words))}")
    return value


def write_case(parent, case):
    folder = pathlib.Path(parent) / case.name
    folder.mkdir(parents=True)
    entries = {"inputs": {}, "outputs": {}}
    for name, array in case.inputs.items():
        np.save(folder / f"in_{name}.npy", array)
        entries["inputs"][name] = {"file": f"in_{name}.npy",
                                   "dtype": case.dtypes[name],
                                   "shape": list(array.shape)}
    for name, expected in case.outputs.items():
        np.save(folder / f"out_{name}.npy", expected.array)
        entries["outputs"][name] = {"file": f"out_{name}.npy",
                                    "dtype": expected.dtype,
                                    "shape": list(expected.array.shape),
                                    "compare": expected.compare}
    args = {name: value.to_json() if isinstance(value, PoolLayout) else value
            for name, value in case.args.items()}
    data = {"name": case.name, "op": case.op,
            "layout": case.layout and case.layout.to_json(),
            "nb": case.nb, "nbs": case.nbs, "args": args, "notes": case.notes,
            "sparse": ({"pool_bytes": case.sparse_bytes}
                       if case.sparse_bytes else None)} | entries
    if case.layout:
        data["derived"] = case.layout.derived()
    (folder / "case.json").write_text(json.dumps(data, indent=1) + "\n")
