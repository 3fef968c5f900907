# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compilation, and kernels that can be called."""

from __future__ import annotations

import contextlib
import functools
import inspect
import json
import operator
import os
import pathlib
import re
import tempfile
from typing import Any, Optional

import numpy as np

from . import arrays, diskcache, runtime, shutdown
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

    def __call__(self, /, pool: Optional[Pool] = None, *, stream: Any = None,
                 tool: Optional[str] = None, count: Optional[bool] = None, **arguments):
        """Runs the kernel: on the simulator where arrays lie in host memory, and done
        on return; on the GPU where they lie there, in `stream` (a number, or an object
        of torch, cupy or CUDA Python). `tool` names checks of the simulator
        ("memcheck,racecheck", "all"), which raise CheckError; `count` leaves counters
        in `counters`. Arguments are the host function's by name, and what the
        kernel's documentation says; where a program has one called `pool`, `stream`,
        `tool` or `count`, it is that one which is given. Raises ArgumentError for what
        does not fit, LaunchError and CheckError for what goes wrong in the kernel."""
        options = dict(pool=pool, stream=stream, tool=tool, count=count)
        for name in self._record.names & options.keys():
            value, options[name] = options[name], None
            if value is not None:
                arguments[name] = value
        return self._call(arguments, **options)

    def _call(self, arguments, pool, stream, tool, count):
        handle = _handle(stream)
        if tool is not None and not isinstance(tool, str):
            raise ArgumentError(f"expected tools as a string, got {type(tool).__name__}")
        if count is not None and not isinstance(count, (bool, np.bool_)):
            raise ArgumentError(f"expected count to be True or False, got {count!r:.80}")
        bound, result = self.program.prepare(pool, arguments, self._record.uses, handle)
        values, memory = self._record.bind(bound, handle)
        devices = {view.device for view in memory.values()}
        if len(devices) > 1:
            raise ArgumentError("expected all arrays on one device, got some on the CPU and some "
                                "on a GPU")
        if "cuda" in devices:
            self._run_cuda(values, memory, handle, tool, count)
        else:
            self._run_simulator(values, [view for view in memory.values() if view.pointer], tool,
                                count)
        return result

    def _run_cuda(self, values, memory, stream, tool, count):
        from . import cuda

        if tool or count:
            raise ArgumentError("expected arrays in host memory with tool and count, which are the "
                                "simulator's; got arrays on a GPU")
        if self._record.workspace_bytes(values):
            raise ArgumentError("expected a kernel without workspace on a GPU, got one that "
                                "needs it; pass it as an argument")
        cuda.run(self.modules, self._record.launches(values), memory, stream)

    def _run_simulator(self, values, memory, tool, count):
        size = self._record.workspace_bytes(values)
        address = 0
        if size:
            block = np.zeros(size + 256, np.uint8)
            address = block.ctypes.data + (-block.ctypes.data % 256)
            memory = [*memory, arrays.view(block)]
        launches = self._record.launches(values, address)
        if tool is None and not count:
            runtime.run(self.modules, launches, memory)
            return
        tools = [one.strip() for one in ("none" if tool is None else tool).split(",")]
        for one in tools if tool is not None else ():
            if one not in _TOOLS:
                raise ArgumentError(f"expected tools of {', '.join(_TOOLS)}, got {one!r}")
        device = runtime.Simulator(KVCACHE_SIM_TOOL=",".join(tools),
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


def _handle(stream: Any) -> int:
    """The number of a stream: a CUstream, or an object of torch, cupy or CUDA Python
    that has one."""
    if stream is None:
        return 0
    given = stream
    if hasattr(stream, "__cuda_stream__"):
        given = stream.__cuda_stream__()[1]
    else:
        given = getattr(stream, "cuda_stream", getattr(stream, "ptr", stream))
    try:
        if isinstance(given, (bool, str, bytes, float)):
            raise TypeError
        number = operator.index(given) if hasattr(given, "__index__") else int(given)
        is_handle = 0 <= number < 2**64
    except (TypeError, ValueError, OverflowError):
        is_handle = False
    if not is_handle:
        raise ArgumentError("'stream': expected a CUstream as a number, or an object with "
                            f"cuda_stream, ptr or __cuda_stream__, got {stream!r:.80}")
    return number


def compile(kernel, layout: Optional[Layout] = None, *, chip: str = "sm_90a",
            opt_level: int = 2, instrument: bool = False, line_info: bool = False,
            function: Optional[str] = None, dump: Optional[os.PathLike] = None,
            cache: bool = True, **options) -> Kernel:
    """Compiles a kernel to PTX for `chip`.

    `kernel` is the name of a ready kernel (`kvcache.kernels`), with its `layout` and
    `options` (docs/python.md), or the text of a program or a module of kvcache.ir,
    of which `function` is called. `instrument` checks lookups at run time,
    `line_info` writes the program's lines into the PTX. `dump`, or
    KVCACHE_DUMP_IR, is a folder that gets the IR after each pass, in a folder for each
    kernel, called by its name and the start of its key.

    Compiled kernels are kept on disk (KVCACHE_CACHE_DIR; empty: not at all), keyed
    by program, chip, options and version; `cache=False` compiles anew. Raises
    CompileError with diagnostics, ArgumentError for a folder that cannot be written, or
    ValueError for options that are none.
    """
    _check_chip(chip)
    if isinstance(opt_level, bool) or not isinstance(opt_level, (int, np.integer)) or \
            not 0 <= opt_level <= 3:
        raise ValueError(f"expected an opt_level of 0 to 3, got {opt_level!r}")
    if cache:
        diskcache.limit()  # Refused before anything is compiled and written.
    for name, value in (("instrument", instrument), ("line_info", line_info), ("cache", cache)):
        if not isinstance(value, bool):
            raise ValueError(f"expected {name} to be True or False, got {value!r}")
    if function is not None and not isinstance(function, str):
        raise ValueError(f"expected function to be a name, got {function!r}")
    if dump is not None and not isinstance(dump, (str, os.PathLike)):
        raise ValueError(f"expected dump to be a folder's path, got {dump!r}")
    program = _program(kernel, layout, options)
    dump = dump or os.environ.get("KVCACHE_DUMP_IR") or None
    settings = dict(opt_level=int(opt_level), instrument=instrument, line_info=line_info)
    name = diskcache.key(program.text, chip, json.dumps(settings, sort_keys=True), _version())
    files = diskcache.load(name) if cache and not dump else None
    if files is None:
        where = pathlib.Path(dump) / f"{program.name}-{name[:12]}" if dump else None
        files = _compile(program, chip, settings, where)
        if cache:
            diskcache.store(name, files)
    return Kernel(program, chip, files, function or _function_of(files), name)


def _check_chip(chip) -> None:
    if not isinstance(chip, str) or not re.fullmatch(r"sm_[0-9]+[af]?", chip):
        several = isinstance(chip, str) and re.fullmatch(r"sm_[\w, ]+", chip) and "," in chip
        raise ValueError(f"expected one chip, such as sm_90a, got {chip!r}"
                         + ("; compile once for each chip" if several else ""))


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
            _check_flags(make, options)
            return make(*positional, **options)
        except (TypeError, MLIRError) as error:
            raise ValueError(f"kernel '{kernel}': {error}") from None
    if layout is not None or options:
        raise ValueError("expected no layout and no kernel options with a program of one's own, "
                         f"got {', '.join(options) or 'a layout'}")
    if not isinstance(kernel, (str, Module, Operation)):
        raise ValueError("expected a kernel's name, the text of a program or a module, got "
                         f"{type(kernel).__name__}")
    if isinstance(kernel, Module):
        kernel = kernel.operation
    # The places that operations come from go along.
    return OwnProgram("program", kernel if isinstance(kernel, str) else
                      kernel.get_asm(enable_debug_info=True))


def _check_flags(make, options) -> None:
    for name, parameter in inspect.signature(make).parameters.items():
        value = options.get(name, False)
        if parameter.annotation in ("bool", bool) and not isinstance(value, bool):
            raise ValueError(f"kernel '{make.__name__}': expected {name} to be True or False, got "
                             f"{value!r}")


def _function_of(files) -> str:
    functions = sorted(name[:-5] for name in files if name.endswith(".json"))
    if len(functions) != 1:
        raise ArgumentError("expected a program with one host function that launches, got "
                            f"{', '.join(functions) or 'none'}; say which with function=")
    return functions[0]


@functools.lru_cache(maxsize=None)
def _version() -> str:
    """Of what compiles: a library of kvcache, LLVM or MLIR that was built again is
    another one."""
    from ._mlir_libs import _kvcacheCompiler as compiler

    folder = pathlib.Path(__file__).parent / "_mlir_libs"
    libraries = set(folder.glob("libKVCache*.so*"))
    try:
        for line in pathlib.Path("/proc/self/maps").read_text().splitlines():
            path = pathlib.Path(line.partition("/")[2] and "/" + line.partition("/")[2])
            if re.match(r"lib(KVCache|LLVM|MLIR)", path.name):
                libraries.add(path)
    except OSError:
        pass
    facts = []
    for path in sorted({path.resolve() for path in libraries if path.exists()}):
        status = path.stat()
        facts.append((path.name, status.st_size, status.st_mtime_ns))
    return json.dumps([compiler.version(), compiler.llvm_version(), facts])


def _compile(program, chip: str, settings: dict, dump) -> dict[str, bytes]:
    from . import ir
    from ._mlir_libs import _kvcacheCompiler

    with ir.Context(load_on_create_dialects=[]) as context, contextlib.ExitStack() as stack:
        folders = {}
        if dump:
            context.enable_multithreading(False)  # What printing asks for.
            _make_folder(dump)
            folders = dict(dump=str(dump),
                           output=stack.enter_context(tempfile.TemporaryDirectory()))
        with shutdown.deferred():
            files, said = _kvcacheCompiler.compile(program.text, f"<{program.name}>", context,
                                                   chip, **settings, **folders)
        if files is None:
            diagnostics = [_diagnostic(*one) for one in said]
            raise CompileError([d for d in diagnostics if d.severity == "error"] or diagnostics)
        if dump:
            files = {path.name: path.read_bytes()
                     for path in pathlib.Path(folders["output"]).iterdir()}
        return files


def _make_folder(dump: pathlib.Path) -> None:
    try:
        dump.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=dump):
            pass
    except OSError as error:
        raise ArgumentError(f"'dump': expected a folder that can be written, got {dump} "
                            f"({error.strerror}); name another one by dump= or "
                            "KVCACHE_DUMP_IR") from None


def _place(location: str) -> str:
    text = location[4:-1] if location.startswith("loc(") else location
    return "" if text == "unknown" else text.replace('"', "")


def _diagnostic(severity: str, message: str, location: str, notes) -> Diagnostic:
    return Diagnostic(severity, message, _place(location),
                      tuple(_diagnostic(*note) for note in notes
                            if not note[1].startswith("see current operation:")))
