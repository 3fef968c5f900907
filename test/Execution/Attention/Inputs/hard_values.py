# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of attention with numbers that are hard to get right."""
import dataclasses

import numpy as np

import reference
from element_types import ELEMENT_TYPES
from reference_numbers import read, write


def make_small(case, number):
    """Rows of queries that are 0 or tiny, and factors of all scores that are."""
    q, dtype = case.inputs["q"], case.dtypes["q"]
    q[::2, ::2] = 0
    q[1::2, 1::2] = write(np.float32(1e-30 if dtype == "bf16" else 1e-7), dtype)
    small = (0.0, 1e-9, 1e-12)[number % 3]
    if "q_scale" in case.inputs:
        case.inputs["q_scale"][:, ::3] = small
    if number % 2:
        case.args["scale"] = 1e-8
    if case.layout.G:
        layout = dataclasses.replace(case.layout, global_scale=small)
        case = dataclasses.replace(case, layout=layout)
    return dataclasses.replace(case, name=f"{case.name} small {small}")


def _change(case, side, change):
    """Numbers and scales of a side become what `change` gives of them: f64
    [n, H, D] and [n, H, G], token by token of a sequence."""
    layout, inputs, layer = case.layout, case.inputs, case.args["l"]
    pools = reference.Pools(layout, case.nb, case.nbs, inputs["blocks"],
                            inputs.get("scales"))
    table = inputs["lookup_table"]
    parts = {"codes": (table, layout.dtype)}
    if layout.G:
        parts["scales"] = (inputs.get("scales_lookup_table", table), layout.scale_dtype)
    new = np.diff(inputs["row_offsets"].astype(np.int64))
    for b, length in enumerate(inputs["old_lengths"].astype(np.int64) + new):
        tokens = np.arange(length)
        if not length:
            continue
        rows, old = {}, {}
        for part, (ids, dtype) in parts.items():
            rows[part] = np.stack([ids[b, tokens // layout.P].astype(np.int64),
                                   tokens % layout.P], axis=1)
            stored = np.ascontiguousarray(pools.get(part, rows[part], side, layer))
            old[part] = read(stored.view(ELEMENT_TYPES[dtype].storage),
                             dtype).astype(np.float64)
        for part, numbers in change(**old).items():
            stored = write(numbers.astype(np.float32), parts[part][1])
            pools.put(part, rows[part], side, layer,
                      np.ascontiguousarray(stored).view(np.uint8))
    return dataclasses.replace(case, inputs=inputs | pools.outputs())


def _with_scale(case, scale, name):
    """All keys are seen."""
    args = {name: value for name, value in case.args.items()
            if name not in ("window", "softcap")}
    return dataclasses.replace(case, name=f"{case.name} {name}",
                               args=args | {"scale": scale})


def make_cancelling(case):
    """Values that all but cancel where weights are nearly equal: 1 and -1 by turns or,
    of latents, which are keys as well, those of a token and their opposites."""
    def opposites(codes, scales=None):
        first = np.arange(len(codes)) // 2 * 2
        sign = np.where(np.arange(len(codes)) % 2, -1, 1)[:, None, None]
        if case.layout.is_mla:
            result = {"codes": codes[first] * sign}
            return result if scales is None else result | {"scales": scales[first]}
        numbers = np.ones_like(codes) * sign
        numbers[..., 1::2] *= -1
        result = {"codes": numbers}
        return result if scales is None else result | {"scales": np.ones_like(scales)}

    # Of keys that are opposites, scores are.
    scale = 0.001 if case.layout.is_mla else 0.01
    return _with_scale(_change(case, case.layout.KD - 1, opposites), scale, "cancelling")


def make_faint(case):
    """A token has 2^18.5 times the weight of each other one, and values of 0."""
    layout = case.layout
    first = case.args["v_dim"] % layout.D if layout.is_mla else 0

    def one_key(codes, scales=None):
        numbers = codes if layout.is_mla else np.zeros_like(codes)
        numbers[0], numbers[..., first:] = 0, 0
        numbers[0, :, first:] = 1
        return {"codes": numbers} | (
            {} if scales is None else {"scales": np.ones_like(scales)})

    def no_value(codes, scales=None):
        codes[0] = 0
        return {"codes": codes}

    inputs = case.inputs | {"q": np.full_like(
        case.inputs["q"], write(np.float32(1), case.dtypes["q"]))}
    inputs["q"][..., :first] = 0
    inputs.pop("q_scale", None)
    case = dataclasses.replace(case, inputs=inputs, layout=dataclasses.replace(
        layout, global_scale=1.0))
    case = _change(case, 0, one_key)
    if not layout.is_mla:
        case = _change(case, 1, no_value)
    return _with_scale(case, 18.5 * np.log(2) / (layout.D - first), "faint")
