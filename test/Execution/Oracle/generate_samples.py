# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes oracle files of shapes that the recorded ones do not have.

    generate_samples.py DIR              the fixed sample
    generate_samples.py DIR --random N --seed S

The numbers come from indexing real arrays with strides (and from ml_dtypes),
not from address arithmetic, so that they share nothing with what is tested.
"""
import argparse
import json
import pathlib
import random

import ml_dtypes
import numpy as np

VALUE_FILL = "f32((i*7)%13)-6 at flat element i of the buffer"
SCALE_FILL = "(1+i%61)/8 at flat element i"
POWER_FILL = "2**(i%9)/16 at flat element i"


def numpy_dtype(name):
    return np.dtype(getattr(ml_dtypes, name, None) or name)


def view_of(flat, shape, pitch):
    """The pool [NB, KD, L, P, H, last] in a flat array with a page pitch."""
    item = flat.itemsize
    strides = [pitch] + [int(np.prod(shape[i + 1:])) for i in range(1, 6)]
    return np.lib.stride_tricks.as_strided(
        flat, shape, [s * item for s in strides])


def collection(name, dtype, scale_dtype, heads, head_size, page, granularity=None,
               mla=False, own_table=False, batch=2, pages=2, layers=2, padding=0,
               scales_padding=0, seed=0):
    """One file's contents. Padding is in whole rows of a page."""
    rng = np.random.default_rng(seed)
    sides = 1 if mla else 2
    blocks = batch * pages + 1
    scale_blocks = blocks + (3 if own_table else 0)
    slots = -(-head_size // granularity) if granularity else 0
    tokens = pages * page - min(page - 1, 1)
    shape = [blocks, sides, layers, page, heads, head_size]
    table = rng.permutation(blocks)[:batch * pages].reshape(batch, pages)
    scales_table = (rng.permutation(scale_blocks)[:batch * pages]
                    .reshape(batch, pages) if own_table else table)
    lengths = rng.integers(0, tokens + 1, batch)

    packed = int(np.prod(shape[1:]))
    pitch = packed + padding * heads * head_size
    flat = np.arange(blocks * pitch, dtype=np.int64)
    token = np.arange(tokens)
    place = np.ix_(range(sides), range(layers), range(batch), range(tokens),
                   range(heads), range(head_size))
    kv, layer, b, t, h, d = place

    def lookup(array, which, element):
        block = which[np.arange(batch)[:, None], (token // page)[None, :]]
        block = block.reshape(1, 1, batch, tokens, 1, 1)
        return array[block, kv, layer, t % page, h, element]

    offsets = lookup(view_of(flat, shape, pitch), table, d)
    full = offsets.shape
    rows_a_page = pitch // (heads * head_size)
    row = offsets[0, 0, :, :, 0, 0] // (heads * head_size)
    row = np.broadcast_to(row, (sides, layers, batch, tokens))

    data = {
        "name": name, "dtype": dtype, "scale_dtype": scale_dtype or "invalid",
        "is_mla": mla, "blocks_shape": shape,
        "scales_shape": None, "page_size": page,
        "quantization_granularity": granularity,
        "head_dim_granularity": slots or None,
        "value_page_stride": pitch if padding else -1, "scales_page_stride": -1,
        "batch": batch, "max_pages": pages, "tokens": tokens, "layers": layers,
        "cache_lengths": lengths.tolist(), "lookup_table": table.ravel().tolist(),
        "scales_lookup_table": None, "max_prompt_length": 3,
        "max_cache_length": int(lengths.max()),
        "max_context_length": int(lengths.max()),
        "num_kv_rows": int((blocks - 1) * rows_a_page + page),
        "order_elem": "[kv][layer][batch][token][head][dim]",
        "order_row": "[kv][layer][batch][token]", "value_fill": VALUE_FILL,
        "cache_length": lengths.tolist(), "row_idx": row.ravel().tolist(),
        "value_offset": offsets.ravel().tolist(),
    }
    if not scale_dtype:
        return data

    scales_shape = shape[:]
    scales_shape[0], scales_shape[5] = scale_blocks, slots
    scales_packed = int(np.prod(scales_shape[1:]))
    scales_pitch = scales_packed + scales_padding * heads * slots
    scales_flat = np.arange(scale_blocks * scales_pitch, dtype=np.int64)
    scales_view = view_of(scales_flat, scales_shape, scales_pitch)
    scale_offsets = lookup(scales_view, scales_table, d // granularity)
    scale_row = scale_offsets[0, 0, :, :, 0, 0] // (heads * slots)
    powers = scale_dtype in ("float8_e8m0fnu", "float8_e4m3fn")
    values = ((flat * 7) % 13 - 6).astype(np.float32).astype(numpy_dtype(dtype))
    scales = (2.0 ** (scales_flat % 9) / 16 if powers
              else (1 + scales_flat % 61) / 8)
    scales = scales.astype(np.float32).astype(numpy_dtype(scale_dtype))
    scale = scales.astype(np.float32)[scale_offsets]
    value = values.astype(np.float32)[offsets] * scale
    assert scale.shape == full
    data.update({
        "scales_shape": scales_shape,
        "scales_page_stride": scales_pitch if scales_padding else -1,
        "scales_lookup_table": scales_table.ravel().tolist() if own_table
        else None,
        "scales_num_kv_rows": int((scale_blocks - 1)
                                  * (scales_pitch // (heads * slots)) + page),
        "scale_fill": POWER_FILL if powers else SCALE_FILL,
        "scales_row_idx": np.broadcast_to(
            scale_row, (sides, layers, batch, tokens)).ravel().tolist(),
        "scale_offset": scale_offsets.ravel().tolist(),
        "load_scale": scale.ravel().tolist(),
        "load_dequantised_f32": value.astype(np.float32).ravel().tolist(),
    })
    return data


def fixed_sample():
    yield collection("f16_scales_d46_p3_padded", "float32", "float16", 2, 46, 3,
                     16, padding=5, scales_padding=3)
    yield collection("e8m0_h130_p1", "bfloat16", "float8_e8m0fnu", 130, 8, 1, 4)
    yield collection("bf16_scales_p528", "float8_e5m2", "bfloat16", 1, 4, 528, 4,
                     mla=True, pages=3)
    yield collection("g_above_d", "float8_e4m3fn", "float32", 3, 64, 4, 100)
    yield collection("i8_own_table_padded", "int8", "float32", 2, 32, 8, 24,
                     own_table=True, padding=2, scales_padding=7)
    yield collection("no_scales", "bfloat16", None, 2, 40, 5, padding=1)
    yield collection("e4m3_scales_own_table", "float16", "float8_e4m3fn", 1, 64,
                     16, 16, mla=True, own_table=True, layers=3)
    yield collection("one_of_each", "float32", "float32", 1, 1, 1, 1, mla=True,
                     batch=1, pages=1, layers=1)


def random_sample(count, seed):
    pick = random.Random(seed)
    for number in range(count):
        head_size = pick.choice([1, 2, 6, 16, 46, 64, 128, 576])
        heads = pick.choice([1, 2, 3, 8])
        page = pick.choice([1, 2, 3, 4, 7, 16, 64])
        while heads * head_size * page > 4096:
            page = max(page // 2, 1)
            heads = max(heads // 2, 1)
        dtype = pick.choice(["float32", "float16", "bfloat16", "float8_e4m3fn",
                             "float8_e5m2", "int8"])
        scale_dtype = pick.choice(["float32", "float16", "bfloat16",
                                   "float8_e8m0fnu", "float8_e4m3fn"])
        if dtype != "int8" and pick.random() < 0.15:
            scale_dtype = None
        granularity = pick.choice([1, 3, 16, 32, 48, head_size, 2 * head_size])
        yield collection(
            f"random_{seed}_{number}", dtype, scale_dtype, heads, head_size, page,
            granularity if scale_dtype else None, mla=pick.random() < 0.4,
            own_table=bool(scale_dtype) and pick.random() < 0.5,
            batch=pick.choice([1, 2, 3]), pages=pick.choice([1, 2]),
            layers=pick.choice([1, 2]), padding=pick.choice([0, 0, 1, 5]),
            scales_padding=pick.choice([0, 0, 1, 4]), seed=seed + number)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--random", type=int, metavar="N")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for old in arguments.folder.glob("*.json"):
        old.unlink()
    sample = (random_sample(arguments.random, arguments.seed)
              if arguments.random else fixed_sample())
    for data in sample:
        (arguments.folder / f"{data['name']}.json").write_text(json.dumps(data))


if __name__ == "__main__":
    main()
