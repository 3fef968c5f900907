# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases about numbers: every code, every midpoint and its neighbours, granules of
zeros, scales that underflow, powers of two, poison beside what is read."""
import ml_dtypes
import numpy as np

from case_builder import CaseBuilder
from pool_layout import PoolLayout
from reference_numbers import write

_ML = {"f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2}


def _layout(dtype, D, **fields):
    return PoolLayout.from_json(dict(dtype=dtype, H=1, D=D, P=4, L=1,
                                     is_mla=True) | fields)


def midpoints(dtype):
    """f32 numbers: all finite codes, the midpoints between neighbours, what lies
    beside a midpoint, the ends, infinity and NaN; both signs."""
    codes = np.arange(256, dtype=np.uint8).view(_ML[dtype]).astype(np.float32)
    codes = np.unique(np.abs(codes[np.isfinite(codes)]))
    middle = (codes[:-1].astype(np.float64) + codes[1:]) / 2
    middle = np.append(middle, codes[-1] + (codes[-1] - codes[-2]) / 2)
    middle = middle.astype(np.float32)
    near = [np.nextafter(middle, np.float32(np.inf)),
            np.nextafter(middle, np.float32(-np.inf))]
    special = np.array([465, 2.0**-10, 17, 19, 65504, 3e38, np.inf, np.nan, 1e-45],
                       np.float32)
    numbers = np.concatenate([codes, middle, *near, special])
    return np.concatenate([numbers, -numbers])


def ends(dtype):
    """f32 numbers about the largest one of f16 or bf16 and the midpoint beyond it,
    and about the least denormal and half of it; both signs."""
    info = ml_dtypes.finfo({"f16": np.float16, "bf16": ml_dtypes.bfloat16}[dtype])
    largest, least = float(info.max), float(info.smallest_subnormal)
    beyond = largest + (2.0 ** info.maxexp - largest) / 2
    middle = np.array([largest, beyond, least, least / 2, 3 * least / 2], np.float32)
    numbers = np.concatenate([
        middle, np.nextafter(middle, np.float32(np.inf)),
        np.nextafter(middle, np.float32(0)),
        np.array([7e4, 3.3e38, np.finfo(np.float32).max, np.inf, 0, np.nan],
                 np.float32)])
    return np.concatenate([numbers, -numbers])


def _append(rng, name, dtype, numbers, wide, notes="converted once, saturating"):
    D = 16
    rows = -(-len(numbers) // D)
    x = np.zeros(rows * D, np.float32)
    x[:len(numbers)] = numbers
    b = CaseBuilder(rng, _layout(dtype, D), rows // 4 + 2)
    b.sequences([1], [rows])
    b.set("row_offsets", [0, rows], "u32")
    b.set("x", write(x.reshape(rows, 1, D), wide), wide)
    return b.case(name, "append", notes, c=0, l=0, form="ragged")


def _quantize(rng, name, x, layout, rule, wide="f32"):
    b = CaseBuilder(rng, layout, len(x) // 4 + 2)
    b.sequences([0], [len(x)])
    b.set("row_offsets", [0, len(x)], "u32")
    b.set("x", write(x[:, None], wide), wide)
    quant = {"contract": "arbitrary", "floor": 0.0, "floor_on": "scale",
             "apply": "inverse"} | rule
    return b.case(name, "quantize_append", c=0, l=0, form="ragged", quant=quant)


def number_cases(rng):
    for dtype in _ML:
        for wide in ("f32", "bf16", "f16"):
            numbers = midpoints(dtype)
            if wide != "f32":
                # Midpoints of f8 are numbers of the wider formats too.
                numbers = numbers[np.isnan(numbers) | (np.abs(numbers) <= 65504)]
            yield _append(rng, f"midpoints_{dtype}_from_{wide}", dtype, numbers, wide)
    for dtype in ("f16", "bf16"):
        yield _append(rng, f"ends_{dtype}_from_f32", dtype, ends(dtype), "f32",
                      "converted once, to infinity where it is too large")
    for wide in ("bf16", "f16"):
        yield _append(rng, f"ends_f32_from_{wide}", "f32", ends(wide), wide,
                      "converted exactly")

    # All codes are read, to each type; poison lies beside.
    for dtype in ("f8E4M3FN", "f8E5M2", "i8", "f4E2M1FN"):
        for out_dtype in ("f32", "bf16", "f16"):
            scaled = {"scale_dtype": "f32", "g": 16}
            b = CaseBuilder(rng, _layout(dtype, 32, **scaled), 6)
            b.sequences([13], [0])
            b.everything()
            codes = np.arange(b.inputs["blocks"].size, dtype=np.uint8)
            if dtype in _ML:
                finite = np.isfinite(codes.view(_ML[dtype]).astype(np.float32))
                codes = np.where(finite, codes, 0)
            b.set("blocks", codes, "u8")
            ones = np.exp2(rng.integers(-3, 1, b.inputs["scales"].size // 4))
            b.set("scales", ones.astype(np.float32).view(np.uint8), "u8")
            yield b.case(f"codes_{dtype}_to_{out_dtype}", "gather", c=0, l=0,
                         rows=14, out_dtype=out_dtype, scales=True)

    # A pool full of NaN: rows past the length are 0 exactly.
    for dtype, scale in (("bf16", None), ("f8E4M3FN", "f32"), ("f32", None)):
        of = _layout(dtype, 16, **({"scale_dtype": scale, "g": 16} if scale else {}))
        b = CaseBuilder(rng, of, 5)
        b.sequences([13], [0])
        b.fill()
        yield b.case(f"nan_beside_{dtype}", "gather", c=0, l=0, rows=16,
                     out_dtype="f32", scales=bool(scale))

    # amax 336 is 0.75 of 448: kept as it is, or rounded up to 1.
    x = np.zeros((1, 32), np.float32)
    x[0, 3], x[0, 20] = 336, -1792
    for contract in ("arbitrary", "power_of_two"):
        for scale_dtype in ("f32", "bf16", "f8E8M0FNU"):
            of = _layout("f8E4M3FN", 32, scale_dtype=scale_dtype, g=16)
            yield _quantize(rng, f"amax_336_{contract}_{scale_dtype}", x, of,
                            {"contract": contract})

    # Granules of zeros, of zeros beside a granule, and so small that the scale is
    # none: codes 0, never 0 * inf.
    x = np.zeros((4, 32), np.float32)
    x[1, :16] = rng.uniform(1, 2, 16)
    x[2, :16] = 1e-44
    x[3, 16:] = 1e-9
    for dtype in ("f8E4M3FN", "f8E5M2", "i8"):
        for scale_dtype in ("f32", "bf16", "f16", "f8E4M3FN"):
            of = _layout(dtype, 32, scale_dtype=scale_dtype, g=16)
            yield _quantize(rng, f"zeros_{dtype}_{scale_dtype}", x, of, {})
    x[2:] = 0
    for dtype in ("f8E4M3FN", "i8"):
        of = _layout(dtype, 32, scale_dtype="f8E8M0FNU", g=16)
        yield _quantize(rng, f"zeros_{dtype}_e8m0", x, of,
                        {"contract": "power_of_two"})

    # NaN does not count in a granule with numbers, infinity as the largest one.
    x = rng.uniform(-3, 3, (4, 32)).astype(np.float32)
    x[0, 5], x[1, 20], x[2, 3:7], x[3, 16:] = np.nan, np.inf, -np.inf, 0
    x[3, 30] = np.nan
    for dtype in ("f8E4M3FN", "f8E5M2", "i8", "f4E2M1FN"):
        for apply in ("inverse", "divide"):
            for scale_dtype in ("f32", "bf16", "f16", "f8E8M0FNU"):
                of = _layout(dtype, 32, scale_dtype=scale_dtype, g=16)
                yield _quantize(rng, f"nonfinite_{dtype}_{scale_dtype}_{apply}", x,
                                of, {"apply": apply})
    # Scales that no dtype has, or no power of two: the largest that there is.
    large = x.copy()
    large[0, 17:19], large[2, 20] = [1e30, -3e38], 6.5e4 * 57344
    for dtype in ("f8E4M3FN", "f8E5M2", "i8", "f4E2M1FN"):
        for contract in ("arbitrary", "power_of_two"):
            for scale_dtype in ("f32", "bf16", "f16", "f8E4M3FN", "f8E8M0FNU"):
                for of in (1.0, 0.125):
                    layout = _layout(dtype, 32, scale_dtype=scale_dtype, g=16,
                                     global_scale=of)
                    apply = "divide" if of == 1 and scale_dtype == "f16" else "inverse"
                    yield _quantize(
                        rng, f"large_{dtype}_{contract}_{scale_dtype}_{of}", large,
                        layout, {"contract": contract, "apply": apply})
    # Beside the codes a tail keeps them, infinities too.
    tail = np.concatenate([x, x[:, :16]], axis=1)
    for rope_dtype in ("bf16", "f16", "f32"):
        for wide in ("bf16", "f32"):
            of = _layout("f8E4M3FN", 48, scale_dtype="f32", g=16, rope=16,
                         rope_dtype=rope_dtype, placement="inline")
            yield _quantize(rng, f"nonfinite_tail_{rope_dtype}_from_{wide}",
                            tail[:, ::-1], of, {}, wide)
    # A granule of NaN alone.
    x[0, :16] = np.nan
    for scale_dtype in ("f8E8M0FNU", "f8E4M3FN", "f32", "bf16", "f16"):
        of = _layout("f8E4M3FN", 32, scale_dtype=scale_dtype, g=16)
        yield _quantize(rng, f"nothing_but_nan_{scale_dtype}", x, of, {})
    for floor_on in ("scale", "amax"):
        of = _layout("f8E4M3FN", 32, scale_dtype="f32", g=16)
        yield _quantize(rng, f"nothing_but_nan_floor_on_{floor_on}", x, of,
                        {"floor": 0.25, "floor_on": floor_on})

    # The scale decides the bytes: 3.0 with 0.5 is 0x4C, with 2.0 it is 0x3C.
    x = np.full((2, 16), 3, np.float32)
    for scale in (0.5, 2.0, 1.0, 4.0):
        of = _layout("f8E4M3FN", 16, scale_dtype="f32", g=16)
        yield _quantize(rng, f"floor_{scale}", x, of, {"floor": scale})
        yield _quantize(rng, f"floor_amax_{scale}", x, of,
                        {"floor": scale * 448, "floor_on": "amax"})

    # Powers of two at and just beside exact ones.
    x = np.zeros((6, 16), np.float32)
    exact = np.float32(448 * 0.25)
    x[:, 5] = [exact, np.nextafter(exact, np.float32(0)),
               np.nextafter(exact, np.float32(1e9)), 448, 449, 2.0**-20]
    for scale_dtype in ("f32", "f8E8M0FNU"):
        of = _layout("f8E4M3FN", 16, scale_dtype=scale_dtype, g=16)
        for apply in ("inverse", "divide"):
            yield _quantize(rng, f"powers_{scale_dtype}_{apply}", x, of,
                            {"contract": "power_of_two", "apply": apply})
