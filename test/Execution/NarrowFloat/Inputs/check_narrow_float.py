#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lower every conversion of narrow floats, run it, compare with ml_dtypes.

  check_narrow_float.py host
  check_narrow_float.py sm_90a [--plain]

On the host through LLVM's x86 or Arm backend; for a chip as PTX on the
simulator. --plain takes the code without a chip there too. Every code is
decoded, every 16-bit value and the edges of the wider types are encoded.
Prints a line a conversion; exit status 1 names the first difference of each.
"""

import argparse
import ctypes
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import reference  # noqa: E402

BLOCK = 128
PTX_VERSION = {"sm_80": 84, "sm_89": 84, "sm_90a": 84, "sm_100a": 88, "sm_120a": 88}
WIDTH = {"f64": 64, "f32": 32, "f16": 16, "bf16": 16}


@dataclass
class Case:
    """One kernel: `lanes` elements a thread, from `source` to `result`."""

    name: str
    source: str
    result: str
    lanes: int
    inputs: np.ndarray
    expected: np.ndarray
    op: str = ""
    shape: str = ""  # vector dims, when not just the lanes
    scale: int = None  # f8E8M0FNU code of a scaling op


    def is_packed(self, name):
        """Whether memory holds two codes of this type a byte."""
        return name == "f4E2M1FN" and self.lanes % 2 == 0 and not self.shape


def is_narrow(name):
    return name in reference.NARROW


def storage(name):
    """Integer type of the memory that holds a value."""
    return "i8" if is_narrow(name) else f"i{WIDTH[name]}"


# ---------------------------------------------------------------------------
# Cases
# ---------------------------------------------------------------------------


def decode_case(narrow, wide, lanes, shape=""):
    codes = np.tile(reference.all_codes(narrow), 16)
    expected = reference.decode(narrow, codes, wide)
    name = f"decode_{narrow}_{wide}_{shape or lanes}"
    return Case(name, narrow, wide, lanes, codes, expected, "arith.extf", shape)


def encode_case(narrow, wide, lanes, shape="", rounding=""):
    values = reference.inputs_to_encode(narrow, wide)
    if lanes != 16:
        # All values go through full registers; a sample through the rest.
        values = values[::16]
    expected = reference.encode(narrow, values, rounding)
    name = f"encode_{narrow}_{wide}_{shape or lanes}{rounding}"
    op = f"arith.truncf {rounding}".strip()
    return Case(name, wide, narrow, lanes, values, expected, op, shape)


def recode_case(source, result, lanes):
    codes = np.tile(reference.all_codes(source), 16)
    expected = reference.encode(result, reference.decode(source, codes, "f32"))
    wider = source == "f4E2M1FN"
    op = "arith.extf" if wider else "arith.truncf"
    return Case(f"recode_{source}_{result}", source, result, lanes, codes, expected, op)


def scaling_case(source, result, lanes, scale):
    factor = np.float64(reference.decode("f8E8M0FNU", np.array([scale]), "f64")[0])
    name = f"scale_{source}_{result}_{scale}"
    with np.errstate(over="ignore", invalid="ignore"):
        if is_narrow(result):
            values = reference.inputs_to_encode(result, source)
            product = (values.astype(np.float64) / factor).astype(np.float32)
            expected = reference.encode(result, product)
            op = "arith.scaling_truncf"
        else:
            values = np.tile(reference.all_codes(source), 16)
            product = reference.decode(source, values, "f64") * factor
            expected = product.astype(np.float32).astype(reference.WIDE[result])
            op = "arith.scaling_extf"
    return Case(name, source, result, lanes, values, expected, op, scale=scale)


def recorded_cases():
    """Numbers that an established serving system computed."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fp8_cast.json")
    with open(path) as file:
        recorded = json.load(file)
    f32, bf16 = reference.WIDE["f32"], reference.WIDE["bf16"]

    def case(name, source, result, inputs, expected, op):
        return Case(f"recorded_{name}", source, result, 4, inputs, expected, op)

    def codes(table):
        return np.array(list(map(int, table)), dtype=np.uint8)

    def values(table, dtype):
        return np.array(list(map(float, table))).astype(dtype)

    e4m3 = recorded["decode_e4m3fn_f32"]
    e8m0 = recorded["decode_e8m0_f32"]
    from_f32 = recorded["encode_f32_to_e4m3fn"]
    from_bf16 = recorded["encode_bf16_to_e4m3fn"]
    extend, truncate = "arith.extf", "arith.truncf"
    return [
        case("e4m3", "f8E4M3FN", "f32", codes(range(256)), values(e4m3, f32), extend),
        case("e8m0", "f8E8M0FNU", "f32", codes(e8m0), values(e8m0.values(), f32), extend),
        case("f32", "f32", "f8E4M3FN", values(from_f32, f32), codes(from_f32.values()), truncate),
        case("bf16", "bf16", "f8E4M3FN", values(from_bf16, bf16), codes(from_bf16.values()), truncate),
    ]


def all_cases():
    cases = recorded_cases()
    for narrow in reference.NARROW:
        for wide in reference.WIDE:
            cases.append(decode_case(narrow, wide, 16))
            cases.append(encode_case(narrow, wide, 16))
        # Lengths that fill no register, scalars, other ranks.
        for wide, lanes, shape in [
            ("f32", 1, ""),
            ("f16", 1, "1"),
            ("bf16", 2, ""),
            ("f32", 3, ""),
            ("bf16", 5, ""),
            ("f16", 6, ""),
            ("f32", 13, ""),
            ("f32", 8, "2x4"),
            ("f32", 6, "2x1x3"),
            ("f32", 1, "0"),
        ]:
            cases.append(decode_case(narrow, wide, lanes, shape))
            cases.append(encode_case(narrow, wide, lanes, shape))
    for wide in reference.WIDE:
        cases.append(encode_case("f8E8M0FNU", wide, 16, rounding="toward_zero"))
        cases.append(encode_case("f8E8M0FNU", wide, 16, rounding="upward"))
        cases.append(encode_case("f8E4M3FN", wide, 16, rounding="to_nearest_even"))
    for source in ("f8E4M3FN", "f8E5M2", "f8E8M0FNU"):
        cases.append(recode_case(source, "f4E2M1FN", 8))
    for result in ("f8E4M3FN", "f8E5M2"):
        cases.append(recode_case("f4E2M1FN", result, 8))
    for scale in (0, 1, 120, 127, 130, 254, 255):
        cases.append(scaling_case("f8E4M3FN", "f32", 4, scale))
        cases.append(scaling_case("f8E5M2", "bf16", 4, scale))
        cases.append(scaling_case("f4E2M1FN", "f16", 8, scale))
        cases.append(scaling_case("f32", "f8E4M3FN", 4, scale))
        cases.append(scaling_case("bf16", "f4E2M1FN", 8, scale))
    return cases


# ---------------------------------------------------------------------------
# IR
# ---------------------------------------------------------------------------


def vector(dims, element):
    if dims == "0":
        return f"vector<{element}>"
    return f"vector<{dims}x{element}>"


def bits_of(name):
    return "i4" if name == "f4E2M1FN" else f"i{WIDTH.get(name, 8)}"


def body(case, index):
    """The IR that converts `lanes` elements from %in to %out at `index`."""
    n = case.lanes
    length = padded_length(case)
    lines = []

    def emit(text):
        lines.append("      " + text)

    # From memory to a flat vector of the source type.
    load, bits = storage(case.source), bits_of(case.source)
    flat = f"vector<{n}x{case.source}>"
    if case.is_packed(case.source):
        bytes_type = f"vector<{n // 2}xi8>"
        emit(f"%half = arith.divui {index}, %two : index")
        emit(f"%l = vector.load %in[%half] : memref<{length // 2}xi8>, {bytes_type}")
        emit(f"%s0 = vector.bitcast %l : {bytes_type} to {flat}")
    else:
        memory = f"vector<{n}x{load}>"
        emit(f"%l = vector.load %in[{index}] : memref<{length}x{load}>, {memory}")
        last = "%l"
        if bits != load:
            emit(f"%lt = arith.trunci %l : {memory} to vector<{n}x{bits}>")
            last = "%lt"
        emit(f"%s0 = arith.bitcast {last} : vector<{n}x{bits}> to {flat}")

    # The conversion, on a scalar or on the shape asked for.
    if n == 1 and not case.shape:
        source, result = case.source, case.result
        emit(f"%s = vector.extract %s0[0] : {source} from {flat}")
    else:
        dims = case.shape or str(n)
        source, result = vector(dims, case.source), vector(dims, case.result)
        emit(f"%s = vector.shape_cast %s0 : {flat} to {source}")
    if case.scale is None:
        name, _, rounding = case.op.partition(" ")
        emit(f"%r = {name} %s {rounding} : {source} to {result}")
    else:
        code = case.scale - 256 if case.scale > 127 else case.scale
        scales = f"vector<{n}xf8E8M0FNU>"
        emit(f"%k8 = arith.constant dense<{code}> : vector<{n}xi8>")
        emit(f"%k = arith.bitcast %k8 : vector<{n}xi8> to {scales}")
        emit(f"%r = {case.op} %s, %k : {source}, {scales} to {result}")

    # And back.
    store, bits = storage(case.result), bits_of(case.result)
    flat = f"vector<{n}x{case.result}>"
    if n == 1 and not case.shape:
        emit(f"%r0 = vector.broadcast %r : {result} to {flat}")
    else:
        emit(f"%r0 = vector.shape_cast %r : {result} to {flat}")
    if case.is_packed(case.result):
        bytes_type = f"vector<{n // 2}xi8>"
        emit(f"%o = vector.bitcast %r0 : {flat} to {bytes_type}")
        emit(f"%ohalf = arith.divui {index}, %two : index")
        emit(f"vector.store %o, %out[%ohalf] : memref<{length // 2}xi8>, {bytes_type}")
    else:
        memory = f"vector<{n}x{store}>"
        emit(f"%o = arith.bitcast %r0 : {flat} to vector<{n}x{bits}>")
        last = "%o"
        if bits != store:
            emit(f"%oz = arith.extui %o : vector<{n}x{bits}> to {memory}")
            last = "%oz"
        emit(f"vector.store {last}, %out[{index}] : memref<{length}x{store}>, {memory}")
    return "\n".join(lines)


def padded_length(case):
    step = case.lanes * BLOCK
    return (len(case.inputs) + step - 1) // step * step


def memref(case, name):
    length = padded_length(case)
    return f"memref<{length // 2 if case.is_packed(name) else length}x{storage(name)}>"


def arguments(case):
    return f"%in: {memref(case, case.source)}, %out: {memref(case, case.result)}"


def host_module(cases):
    functions = []
    for case in cases:
        functions.append(
            f"""  func.func @{case.name}({arguments(case)}) {{
    %zero = arith.constant 0 : index
    %two = arith.constant 2 : index
    %end = arith.constant {padded_length(case)} : index
    %step = arith.constant {case.lanes} : index
    scf.for %i = %zero to %end step %step {{
{body(case, '%i')}
    }}
    return
  }}"""
        )
    return "module {\n" + "\n".join(functions) + "\n}\n"


def device_module(cases):
    functions = []
    for case in cases:
        functions.append(
            f"""  gpu.func @{case.name}({arguments(case)}) kernel {{
    %two = arith.constant 2 : index
    %t = gpu.thread_id x
    %g = gpu.block_id x
    %size = arith.constant {BLOCK} : index
    %lanes = arith.constant {case.lanes} : index
    %first = arith.muli %g, %size : index
    %thread = arith.addi %first, %t : index
    %i = arith.muli %thread, %lanes : index
{body(case, '%i')}
    gpu.return
  }}"""
        )
    return "module {\ngpu.module @m {\n" + "\n".join(functions) + "\n}\n}\n"


# ---------------------------------------------------------------------------
# Lowering and running
# ---------------------------------------------------------------------------


def run(command, **kwargs):
    result = subprocess.run(command, capture_output=True, text=True, **kwargs)
    if result.returncode:
        sys.exit(f"{' '.join(command)}\n{result.stderr}")
    return result.stdout


def lower_for_host(cases, folder):
    source = os.path.join(folder, "host.mlir")
    with open(source, "w") as file:
        file.write(host_module(cases))
    pipeline = (
        "builtin.module(convert-narrow-float-to-nvvm,arith-expand{include-bf16=true},"
        "convert-scf-to-cf,"
        "convert-vector-to-llvm,convert-arith-to-llvm,finalize-memref-to-llvm,"
        "convert-func-to-llvm{use-bare-ptr-memref-call-conv=1},"
        "convert-cf-to-llvm,convert-index-to-llvm,convert-ub-to-llvm,"
        "reconcile-unrealized-casts)"
    )
    llvm = os.path.join(folder, "host.llvm.mlir")
    run(["kvcache-opt", source, f"--pass-pipeline={pipeline}", "-o", llvm])
    ir, obj = os.path.join(folder, "host.ll"), os.path.join(folder, "host.o")
    run(["mlir-translate", "--mlir-to-llvmir", llvm, "-o", ir])
    run(["llc", "-O2", "-mcpu=native", "--relocation-model=pic", "-filetype=obj", ir, "-o", obj])
    library = os.path.join(folder, "host.so")
    run(["ld.lld", "-shared", obj, "-o", library])
    return ctypes.CDLL(library)


def lower_for_chip(cases, folder, chip, is_plain):
    source = os.path.join(folder, "device.mlir")
    with open(source, "w") as file:
        file.write(device_module(cases))
    option = "" if is_plain else f"{{chip={chip}}}"
    pipeline = (
        f"builtin.module(nvvm-attach-target{{chip={chip} features=+ptx{PTX_VERSION[chip]} O=3}},"
        f"gpu.module(convert-narrow-float-to-nvvm{option},convert-vector-to-llvm,"
        "convert-gpu-to-nvvm{use-bare-ptr-memref-call-conv=1},convert-nvvm-to-llvm,"
        "reconcile-unrealized-casts),gpu-module-to-binary{format=isa})"
    )
    text = run(["kvcache-opt", source, f"--pass-pipeline={pipeline}"])
    assembly = re.search(r'assembly = "(.*?)"[>,]', text, re.S).group(1)
    ptx = re.sub(r"\\([0-9A-F]{2})", lambda m: chr(int(m.group(1), 16)), assembly)
    if ".extern" in ptx:
        sys.exit(f"{chip}: the PTX calls something external")
    # A file a kernel, so that no launch reads the others.
    header, *kernels = ptx.split(".visible .entry ")
    for kernel in kernels:
        name = kernel[: kernel.index("(")]
        with open(os.path.join(folder, f"{name}.ptx"), "w") as file:
            file.write(header + ".visible .entry " + kernel)


def buffers(case):
    """What the kernel reads, and bytes of 0xFF for what it writes."""
    length = padded_length(case)
    source = np.zeros(length, dtype=case.inputs.dtype)
    source[: len(case.inputs)] = case.inputs
    if case.is_packed(case.source):
        source = source[0::2] | source[1::2] << 4
    size = length * case.expected.dtype.itemsize
    if case.is_packed(case.result):
        size //= 2
    return source, np.full(size, 0xFF, dtype=np.uint8)


def unpack(case, result):
    """The bytes that the kernel wrote as values."""
    if case.is_packed(case.result):
        result = np.stack([result & 15, result >> 4], axis=1).reshape(-1)
    return result.view(case.expected.dtype)


def run_on_host(library, case):
    source, result = buffers(case)
    function = getattr(library, case.name)
    function.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    function(source.ctypes.data, result.ctypes.data)
    return unpack(case, result)


def run_on_simulator(case, folder):
    ptx = os.path.join(folder, f"{case.name}.ptx")
    source, result = buffers(case)
    paths = [os.path.join(folder, name) for name in ("in.npy", "out.npy", "got.npy")]
    np.save(paths[0], source.view(np.uint8))
    np.save(paths[1], result)
    command = ["ptxsim", ptx, "--kernel", case.name, "--block", str(BLOCK)]
    command += ["--grid", str(padded_length(case) // (case.lanes * BLOCK))]
    command += ["--arg", paths[0], "--arg", f"{paths[1]}=>{paths[2]}"]
    run(command + ["--tool", "memcheck,initcheck", "--threads", "1"])
    return unpack(case, np.load(paths[2]))


def compare(case, got):
    """Names the first difference, or gives an empty string."""
    expected = case.expected
    got = got[: len(expected)]
    bits = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[expected.itemsize]
    equal = got.view(bits) == expected.view(bits)
    if not is_narrow(case.result):
        equal |= np.isnan(got.astype(np.float64)) & np.isnan(expected.astype(np.float64))
    if equal.all():
        return ""
    at = int(np.argmin(equal))
    source_bits = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[case.inputs.itemsize]
    return (
        f"{np.count_nonzero(~equal)} of {len(equal)} differ, the first at {at}: "
        f"{case.inputs[at]} (0x{int(case.inputs.view(source_bits)[at]):x}) gives "
        f"0x{int(got.view(bits)[at]):x}, expected 0x{int(expected.view(bits)[at]):x}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target", help="host, or a chip such as sm_90a")
    parser.add_argument("--plain", action="store_true", help="without a chip's own code")
    parser.add_argument("--only", default="", help="cases whose name holds this")
    parser.add_argument("--keep", help="folder to keep what was lowered in")
    options = parser.parse_args()
    cases = [case for case in all_cases() if options.only in case.name]
    with tempfile.TemporaryDirectory() as folder:
        if options.keep:
            os.makedirs(options.keep, exist_ok=True)
            folder = options.keep
        if options.target == "host":
            library = lower_for_host(cases, folder)
            execute = lambda case: run_on_host(library, case)  # noqa: E731
        else:
            lower_for_chip(cases, folder, options.target, options.plain)
            execute = lambda case: run_on_simulator(case, folder)  # noqa: E731
        failures = 0
        for case in cases:
            difference = compare(case, execute(case))
            failures += bool(difference)
            print("FAIL" if difference else "PASS", case.name, difference)
    print(f"{len(cases) - failures} of {len(cases)} conversions right")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
