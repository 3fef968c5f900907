# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compilation, and kernels that can be called."""

from __future__ import annotations

import base64
import inspect
import json
import os
import pathlib
import re
import tempfile
from typing import Any, Optional

import numpy as np

from . import arrays, diskcache, runtime
from .errors import ArgumentError, CompileError, Diagnostic
from .kernels import KERNELS, OwnProgram
from .layout import Layout, Pool
from .record import Record

_TOOLS = ("memcheck", "initcheck", "racecheck", "synccheck", "all")


class Kernel:
    """A compiled host function with its kernels; `compile` makes one.

    `ptx` is the PTX of all modules, one after another, `modules` a dict of them by
    name; `record` is the launch record, a dict, and `header` the C header that
    launches the same; `files` are all files by name, as bytes. `ir` is the program
    that was compiled, `program` also how arguments become the host function's. `key`
    names the kernel: program, chip, options and version. `counters` are those of the
    last call with `count=True`.
    """

    def __init__(self, program, chip: str, files: dict[str, bytes], function: str, key: str):
        self.program, self.chip, self.files, self.function = program, chip, files, function
        self.key = key
        if f"{function}.json" not in files:
            records = ", ".join(sorted(n[:-5] for n in files if n.endswith(".json"))) or "none"
            raise ArgumentError(f"no launch record of a function '{function}'; there are "
                                f"{records}")
        self._record = Record(json.loads(files[f"{function}.json"]))
        self.counters: Optional[list[dict]] = None

    @property
    def name(self) -> str:
        """The ready kernel's name, or "program"."""
        return self.program.name

    @property
    def ir(self) -> str:
        """The text of the program that was compiled."""
        return self.program.text

    @property
    def modules(self) -> dict[str, str]:
        """PTX by the modules' names."""
        return {kernel["module"]: self.files[kernel["files"][self.chip]].decode().rstrip("\0")
                for kernel in self._record.json["kernels"]}

    @property
    def ptx(self) -> str:
        """PTX of all modules, one after another."""
        return "\n".join(self.modules.values())

    @property
    def record(self) -> dict:
        """The launch record (docs/launch-record.md)."""
        return self._record.json

    @property
    def header(self) -> str:
        """The C header that launches the same."""
        return self.files[f"{self.function}.h"].decode()

    def __repr__(self):
        return f"<kvcache.Kernel {self.name} for {self.chip}>"

    def __call__(self, pool: Optional[Pool] = None, *, stream: Any = None,
                 tool: Optional[str] = None, count: bool = False, **arguments):
        """Runs the kernel: on the simulator where arrays lie in host memory, and done
        on return; on the GPU where they lie there, in `stream` (a number or an object
        with `cuda_stream`, as torch's). `tool` names checks of the simulator
        ("memcheck,racecheck", "all"), which raise CheckError; `count` leaves counters
        in `counters`. Arguments are the host function's by name, and what the
        kernel's documentation says."""
        bound, result = self.program.prepare(pool, arguments)
        values, memory = self._record.bind(bound)
        devices = {view.device for view, fact in
                   zip(memory, (a for a in self._record.arguments if a["kind"] == "tensor"
                                and a["dtype"] != "pointer")) if fact["used"]}
        if len(devices) > 1:
            raise ArgumentError("expected all arrays on one device, got some on the CPU and some "
                                "on a GPU")
        if "cuda" in devices:
            self._run_cuda(values, stream, tool, count)
        else:
            self._run_simulator(values, [view for view in memory if view.pointer], tool, count)
        return result

    def _run_cuda(self, values, stream, tool, count):
        from . import cuda

        if tool or count:
            raise ArgumentError("expected arrays in host memory with tool and count, which are the "
                                "simulator's; got arrays on a GPU")
        if self._record.workspace_bytes(values):
            raise ArgumentError("expected a kernel without workspace on a GPU, got one that "
                                "needs it; pass it as an argument")
        stream = getattr(stream, "cuda_stream", getattr(stream, "ptr", stream)) or 0
        cuda.run(self.modules, self._record.launches(values), int(stream))

    def _run_simulator(self, values, memory, tool, count):
        size = self._record.workspace_bytes(values)
        address = 0
        if size:
            block = np.zeros(size + 256, np.uint8)
            address = block.ctypes.data + (-block.ctypes.data % 256)
            memory = [*memory, arrays.view(block)]
        launches = self._record.launches(values, address)
        if not tool and not count:
            runtime.run(self.modules, launches, memory)
            return
        if tool is not None and not isinstance(tool, str):
            raise ArgumentError(f"expected tools as a string, got {type(tool).__name__}")
        for one in (tool or "all").split(","):
            if one.strip() not in _TOOLS:
                raise ArgumentError(f"expected tools of {', '.join(_TOOLS)}, got {one.strip()!r}")
        device = runtime.Simulator(KVCACHE_SIM_TOOL=tool or "none",
                                   KVCACHE_SIM_COUNT="1" if count else "0")
        try:
            try:
                device.run(self.modules, launches, memory)
            finally:
                device.raise_findings()
            if count:
                self.counters = device.counters()
        finally:
            device.close()


def compile(kernel, layout: Optional[Layout] = None, *, chip: str = "sm_90a",
            opt_level: int = 2, instrument: bool = False, line_info: bool = False,
            function: Optional[str] = None, dump: Optional[os.PathLike] = None,
            cache: bool = True, **options) -> Kernel:
    """Compiles a kernel to PTX for `chip`.

    `kernel` is the name of a ready kernel (`kvcache.kernels`), with its `layout` and
    `options` (docs/python.md), or the text of a program or a module of kvcache.ir,
    of which `function` is called. `instrument` checks lookups at run time,
    `line_info` writes the program's lines into the PTX. `dump`, or
    KVCACHE_DUMP_IR, is a folder that gets the IR after each pass.

    Compiled kernels are kept on disk (KVCACHE_CACHE_DIR; empty: not at all), keyed
    by program, chip, options and version; `cache=False` compiles anew. Raises
    CompileError with diagnostics, or ValueError for options that are none.
    """
    for name, value, kind in (("chip", chip, str), ("opt_level", opt_level, int)):
        if not isinstance(value, kind):
            raise ValueError(f"expected {name} to be of type {kind.__name__}, got {value!r}")
    if not 0 <= opt_level <= 3:
        raise ValueError(f"expected an opt_level of 0 to 3, got {opt_level}")
    program = _program(kernel, layout, options)
    dump = dump or os.environ.get("KVCACHE_DUMP_IR") or None
    settings = dict(opt_level=opt_level, instrument=instrument, line_info=line_info)
    name = diskcache.key(program.text, chip, json.dumps(settings, sort_keys=True), _version())
    files = None
    if cache and not dump:
        entry = diskcache.load(name)
        if entry:
            files = {n: base64.b64decode(content) for n, content in entry.items()}
    if files is None:
        files = _compile(program.text, chip, settings, dump)
        if cache:
            diskcache.store(name, {n: base64.b64encode(content).decode()
                                   for n, content in files.items()})
    return Kernel(program, chip, files, function or _function_of(files), name)


def _program(kernel, layout, options):
    from .ir import MLIRError, Module, Operation

    if isinstance(kernel, str) and re.fullmatch(r"\w+", kernel):
        make = KERNELS.get(kernel)
        if make is None:
            raise ValueError(f"unknown kernel '{kernel}'; expected {', '.join(KERNELS)}, or the "
                             "text of a program")
        takes_layout = "layout" in inspect.signature(make).parameters
        if takes_layout and not isinstance(layout, Layout):
            raise ValueError(f"expected a layout for kernel '{kernel}', got {layout!r}")
        if not takes_layout and layout is not None:
            raise ValueError(f"expected no layout for kernel '{kernel}', got {layout!r}")
        positional = [layout] if takes_layout else []
        try:
            inspect.signature(make).bind(*positional, **options)
            return make(*positional, **options)
        except (TypeError, MLIRError) as error:
            raise ValueError(f"kernel '{kernel}': {error}") from None
    if layout is not None or options:
        raise ValueError("expected no layout and no kernel options with a program of one's own, "
                         f"got {', '.join(options) or 'a layout'}")
    if not isinstance(kernel, (str, Module, Operation)):
        raise ValueError("expected a kernel's name, the text of a program or a module, got "
                         f"{type(kernel).__name__}")
    return OwnProgram("program", str(kernel))


def _function_of(files) -> str:
    functions = sorted(name[:-5] for name in files if name.endswith(".json"))
    if len(functions) != 1:
        raise ArgumentError("expected a program with one host function that launches, got "
                            f"{', '.join(functions) or 'none'}; say which with function=")
    return functions[0]


def _version() -> str:
    """Of what compiles: a library that was built again is another one."""
    folder = pathlib.Path(__file__).parent / "_mlir_libs"
    facts = [(p.name, p.stat().st_size, p.stat().st_mtime_ns)
             for p in sorted(folder.glob("libKVCache*.so*"))]
    return json.dumps(facts)


def _compile(text: str, chip: str, settings: dict, dump) -> dict[str, bytes]:
    from . import ir
    from ._mlir_libs import _kvcacheCompiler

    with ir.Context(load_on_create_dialects=[]) as context:
        said: list[Diagnostic] = []

        def listen(diagnostic) -> bool:
            said.append(_diagnostic(diagnostic))
            return True

        handler = context.attach_diagnostic_handler(listen)
        try:
            try:
                module = ir.Module.parse(text, context)
            except ir.MLIRError as error:
                raise CompileError([_diagnostic_info(d) for d in error.error_diagnostics]
                                   or said) from None
            if dump:
                return _compile_dumped(ir, module, chip, settings, dump, said)
            files = _kvcacheCompiler.compile(module, chip, **settings)
            if files is None:
                raise CompileError([d for d in said if d.severity == "error"] or said)
            return files
        finally:
            handler.detach()


def _compile_dumped(ir, module, chip, settings, dump, said):
    """The same by a pass manager of Python's, with the IR after each pass."""
    from .passmanager import PassManager

    context = module.context
    context.enable_multithreading(False)
    with tempfile.TemporaryDirectory() as output:
        manager = PassManager.parse(
            f"builtin.module(kvcache-to-ptx{{chip={chip} output={output} "
            f"opt-level={settings['opt_level']} instrument={str(settings['instrument']).lower()} "
            f"line-info={str(settings['line_info']).lower()}}})", context)
        pathlib.Path(dump).mkdir(parents=True, exist_ok=True)
        manager.enable_ir_printing(print_before_all=False, print_after_all=True,
                                   tree_printing_dir_path=str(dump))
        try:
            manager.run(module.operation)
        except ir.MLIRError as error:
            raise CompileError([_diagnostic_info(d) for d in error.error_diagnostics]
                               or said) from None
        return {path.name: path.read_bytes() for path in pathlib.Path(output).iterdir()}


def _place(location) -> str:
    text = str(location)
    text = text[4:-1] if text.startswith("loc(") else text
    return "" if text == "unknown" else text.replace('"', "")


def _diagnostic(diagnostic) -> Diagnostic:
    severity = str(diagnostic.severity).rsplit(".", 1)[-1].lower()
    return Diagnostic(severity, diagnostic.message, _place(diagnostic.location),
                      tuple(_diagnostic(note) for note in diagnostic.notes
                            if not note.message.startswith("see current operation:")))


def _diagnostic_info(info) -> Diagnostic:
    return _diagnostic(info)
