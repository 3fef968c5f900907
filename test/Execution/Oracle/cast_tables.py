# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables of narrow-float conversions: 'decode_<type>_f32' lists the values of
all codes (or maps some), 'encode_<type>_to_<type>' maps values to codes."""
import re

import numpy as np

from collections_check import require, same
from narrow_dtypes import SCALE_DTYPES, VALUE_DTYPES
from oracle_file import Malformed, Unsupported, numbers

_SHORT = {"e4m3fn": "float8_e4m3fn", "e4m3": "float8_e4m3fn",
          "e5m2": "float8_e5m2", "e8m0": "float8_e8m0fnu",
          "e8m0fnu": "float8_e8m0fnu", "f32": "float32", "f16": "float16",
          "bf16": "bfloat16"}
_KEY = re.compile(r"(decode_(?P<narrow>\w+?)_(?P<wide>b?f\d+)"
                  r"|encode_(?P<source>b?f\d+)_to_(?P<target>\w+))$")


def is_table(key):
    return _KEY.match(key) is not None


def _dtype(short):
    known = {**VALUE_DTYPES, **SCALE_DTYPES}
    name = _SHORT.get(short, short)
    if name not in known:
        raise Unsupported(f"type '{short}'; known are {', '.join(_SHORT)}")
    return known[name]


def _decoding(key, entries, match):
    source, target = _dtype(match["narrow"]), _dtype(match["wide"])
    if isinstance(entries, list):
        codes, values = range(len(entries)), entries
    else:
        codes, values = entries.keys(), list(entries.values())
    codes = numbers([int(code) for code in codes], key, source.storage)
    want = target.encode(numbers(values, key, np.float32))
    return source, target, codes, want


def _encoding(key, entries, match):
    source, target = _dtype(match["source"]), _dtype(match["target"])
    if not isinstance(entries, dict):
        raise Malformed(f"'{key}' is not an object of value and code")
    values = source.encode(numbers(list(entries), key, np.float32))
    want = numbers(list(entries.values()), key, target.storage)
    return source, target, values, want


def _program(source, target, count):
    """A kernel that converts an element a thread."""
    narrow_to_wide = source.bytes < target.bytes
    operation = "extf" if narrow_to_wide else "truncf"
    in_type = f"memref<{count}x{source.mlir}>"
    out_type = f"memref<{count}x{target.mlir}>"
    return f"""module attributes {{gpu.container_module}} {{
gpu.module @kernels {{
  gpu.func @convert(%in: {in_type}, %out: {out_type}) kernel {{
    %i = gpu.block_id x
    %x = memref.load %in[%i] : {in_type}
    %y = arith.{operation} %x : {source.mlir} to {target.mlir}
    memref.store %y, %out[%i] : {out_type}
    gpu.return
  }}
}}
  func.func @main(%in: {in_type}, %out: {out_type}) {{
    %one = arith.constant 1 : index
    %count = arith.constant {count} : index
    %in_any = memref.cast %in : {in_type} to memref<*x{source.mlir}>
    gpu.host_register %in_any : memref<*x{source.mlir}>
    %out_any = memref.cast %out : {out_type} to memref<*x{target.mlir}>
    gpu.host_register %out_any : memref<*x{target.mlir}>
    gpu.launch_func @kernels::@convert blocks in (%count, %one, %one) threads in (%one, %one, %one)
      args(%in : {in_type}, %out : {out_type})
    return
  }}
}}
"""


def check(name, data, runner):
    """Raises Differs, Malformed or what the runner raises."""
    for key, entries in data.items():
        match = _KEY.match(key)
        if not match or not entries:
            continue
        if not isinstance(entries, (list, dict)):
            raise Malformed(f"'{key}' is neither a list nor an object")
        read = _decoding if match["narrow"] else _encoding
        try:
            source, target, given, want = read(key, entries, match)
        except (ValueError, OverflowError) as error:
            raise Malformed(f"'{key}': {error}") from None
        poison = np.full(len(given), 0xA5, np.uint8).astype(target.storage)
        got = runner.run(f"{name}.{key}", _program(source, target, len(given)),
                         [("in", "", given), ("out", "", poison)], ["out"])
        got = got["out"]
        labels = list(entries) if isinstance(entries, dict) else range(len(given))
        if target.storage is not np.float32:
            # Codes compare as codes.
            good = got == want
        else:
            good = same(got, want)
        require(key, [("entry", labels)], good, got, want)
