# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import importlib
import inspect
import os
import pathlib
import pkgutil
import re

import kvcache
from kvcache.dialects import kvcache as kv

# MLIR's own modules are MLIR's to document.
OURS = ["kvcache"] + [
    f"kvcache.{name}" for name in ("arrays", "checks", "compiler", "cuda", "diskcache", "dtypes",
                                   "errors", "explain", "formulas", "kernels", "layout", "record",
                                   "runtime", "shutdown")]


def members(owner, prefix):
    """Public functions, classes, methods and properties that `owner` itself defines."""
    for name, value in vars(owner).items():
        if name.startswith("_"):
            continue
        if isinstance(value, (staticmethod, classmethod)):
            value = value.__func__
        if inspect.ismodule(value):
            continue
        if inspect.isclass(value) or inspect.isroutine(value):
            home = getattr(value, "__module__", "") or ""
            if home.startswith("kvcache") and not home.startswith("kvcache._mlir_libs._mlir"):
                yield f"{prefix}.{name}", value
                if inspect.isclass(value) and home == getattr(owner, "__name__", None):
                    yield from members(value, f"{prefix}.{name}")
        elif hasattr(value, "__get__") and hasattr(value, "__doc__") and inspect.isclass(owner):
            yield f"{prefix}.{name}", value


def test_every_public_symbol_is_documented():
    modules = [importlib.import_module(name) for name in OURS]
    modules += [importlib.import_module(info.name) for info in pkgutil.iter_modules(
        kvcache.kernels.__path__, "kvcache.kernels.")]
    found = {}
    for module in modules:
        assert module.__doc__, module.__name__
        found.update(members(module, module.__name__))
    for kind in (kv.LayoutAttr, kv.CollectionType, kv.CacheType, kv.MHAOperandType,
                 kv.ScalesMHAOperandType, kv.TuningAttr, kv.QuantizationAttr, kv.RotationAttr,
                 kv.NormAttr):
        found.update({f"{kind.__name__}.{name}": value for name, value in vars(kind).items()
                      if not name.startswith("_") and name != "static_typeid"})
        assert kind.__doc__, kind.__name__  # Not that of a base.
    assert len(found) > 120, sorted(found)
    missing = sorted(name for name, value in found.items() if not inspect.getdoc(value))
    assert not missing, "without documentation: " + ", ".join(missing)
    operations = [value for value in vars(kv).values()
                  if inspect.isclass(value) and hasattr(value, "OPERATION_NAME")]
    assert len(operations) > 50
    missing = [one.OPERATION_NAME for one in operations if not inspect.getdoc(one)]
    assert not missing, missing
    functions = {name: getattr(kv, name, None) or getattr(kv, f"{name}_") for name in
                 (one.OPERATION_NAME.partition(".")[2] for one in operations)}
    missing = [name for name, value in functions.items() if not inspect.getdoc(value)]
    assert not missing, missing
    assert inspect.getdoc(kv.gather) == inspect.getdoc(kv.GatherOp)


def test_kernels_say_shapes_errors_and_sources():
    for name, make in kvcache.kernels.KERNELS.items():
        text = inspect.getdoc(make)
        for part in (r"`\[[^`=]+\]`", r"\bRaises ", rf"Source: `kvcache\.{name}` of"):
            assert re.search(part, text), (name, part)


def test_layouts_say_what_they_raise():
    silent = {"sides", "scale_slots", "has_scales_pool", "attr", "text"}
    for name, value in vars(kvcache.Layout).items():
        if not name.startswith("_") and hasattr(value, "__doc__") and callable(value):
            assert name in silent or "Raises" in inspect.getdoc(value), name


def page():
    return (pathlib.Path(os.environ["KVCACHE_SOURCE"]) / "docs/python.md").read_text()


def test_kernels_and_their_options_are_in_the_documentation():
    rows = {}
    for row in re.findall(r"^\| (`\w+`.*)$", page(), re.M):
        cells = row.split("|")
        for name in re.findall(r"`(\w+)`", cells[0]):
            rows[name] = row
    for name, make in kvcache.kernels.KERNELS.items():
        row = rows[name]
        if "those" in row:
            row += rows["quantize_append"]
        if "the same" in row:
            row += rows["paged_attention"]
        options = [p.name for p in inspect.signature(make).parameters.values()
                   if p.kind == p.KEYWORD_ONLY and p.name != "policy"]
        missing = [option for option in options if f"`{option}`" not in row]
        assert not missing or "…" in row, (name, missing)
        assert inspect.getdoc(make).count("Call") == 1, name


def test_the_example_of_the_documentation_runs():
    example = re.search(r"```python\n(.*?)```", page(), re.S)[1]
    names = {}
    exec(example, names)
    assert names["keys"].shape == (2, 20, 8, 128)
