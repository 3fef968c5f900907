# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How the kernels of nvcc_kernels.cu and triton_kernels.py are launched: grid, and
their parameters as bytes, W1 to W4. (Their W5 is other work: it has no rope part.)"""
import struct

LAYER = 1
# Sides of a pool.
KEY, VALUE = 0, 1


def _layer(array, side):
    """The address of a layer of a pool, and the elements from page to page."""
    return (array.pointer + array.bytes * (side * array.strides[1]
                                           + LAYER * array.strides[2]),
            array.strides[0])


def _pack(form, *values):
    return struct.pack("<" + form, *values)


def _common(work, arrays):
    """What both are made of: pools and tables; the grid."""
    keys, pitch = _layer(arrays["blocks"], KEY)
    table = arrays["table"]
    scales = (_layer(arrays["scales"], KEY) if "scales" in arrays else (0, 0))
    grid = ((table.shape[1], table.shape[0], 1) if work in ("w1", "w2", "w2b")
            else (arrays["keys"].shape[0], 1, 1))
    return keys, pitch, scales, table, grid


def nvcc(work, arrays):
    """Grid, threads of a block, parameters."""
    keys, pitch, (scales, scales_pitch), table, grid = _common(work, arrays)
    at = lambda name: _pack("Q", arrays[name].pointer)
    columns = table.strides[0]
    if work == "w3":
        values, _ = _layer(arrays["blocks"], VALUE)
        cache = _pack("3QqI4x", keys, values, table.pointer, pitch, columns)
        return grid, 128, [cache, at("keys"), at("values"), at("sequences"),
                           at("positions")]
    tables = (table.pointer, arrays["scales_table"].pointer)
    if work == "w4":
        cache = _pack("4Q2qI4x", keys, scales, *tables, pitch, scales_pitch, columns)
        return grid, 128, [cache, at("keys"), at("sequences"), at("positions")]
    cache = _pack("5Q2qI4x", keys, scales, *tables, arrays["lengths"].pointer, pitch,
                  scales_pitch, columns)
    return grid, 256, [cache, at("out"), _pack("I", arrays["out"].shape[1])]


def triton(work, arrays, num_params):
    """Grid, parameters; those that Triton adds are scratch memory that these kernels
    do without."""
    keys, pitch, (scales, scales_pitch), table, grid = _common(work, arrays)
    at = lambda name: _pack("Q", arrays[name].pointer)
    columns = _pack("I", table.strides[0])
    if work == "w3":
        values, _ = _layer(arrays["blocks"], VALUE)
        parameters = [_pack("Q", keys), _pack("Q", values), at("table"),
                      at("sequences"), at("positions"), at("keys"), at("values"),
                      _pack("q", pitch), columns]
    else:
        pools = [_pack("Q", keys), _pack("Q", scales), at("table"), at("scales_table")]
        pitches = [_pack("q", pitch), _pack("q", scales_pitch), columns]
        if work == "w4":
            parameters = [*pools, at("sequences"), at("positions"), at("keys"),
                          *pitches]
        else:
            parameters = [*pools, at("lengths"), at("out"), *pitches,
                          _pack("I", arrays["out"].shape[1])]
    return grid, parameters + [bytes(8)] * (num_params - len(parameters))
