# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of the indexer's operations."""
import numpy as np

from case_builder import CaseBuilder
from pool_layout import PoolLayout
from reference_numbers import write


def _layout(**fields):
    return PoolLayout.from_json(dict(dtype="f8E4M3FN", H=1, D=16, L=1, is_mla=True,
                                     scale_dtype="f32", g=16) | fields)


def remap_cases(rng):
    """Indices that name tokens, none, and those beyond; by sequence and by new
    token; blocks that do not exist in one pool or the other."""
    kinds = {"one": dict(P=1), "odd": dict(P=3), "plain": dict(P=16, D=128, g=128),
             "inline": dict(P=4, placement="inline"),
             "unquantised": dict(P=64, dtype="bf16", scale_dtype=None, g=None)}
    for kind, fields in kinds.items():
        of = _layout(**fields)
        for columns in (1, 12, 700):
            for ragged in (False, True):
                b = CaseBuilder(rng, of, 40, 43, own_table=True)
                lengths, new = [9, 0, 4, 1], [2, 0, 1, 0] if ragged else [0] * 4
                b.sequences(lengths, new)
                if of.P > 1:
                    b.inputs["lookup_table"][0, 0] = 40
                else:
                    b.inputs["lookup_table"][0, 3] = 0xFFFFFFFF
                if b.own:
                    b.inputs["scales_lookup_table"][2, 0] = 43
                rows = len(lengths)
                if ragged:
                    # Rows of nobody before and behind.
                    b.set("row_offsets", 1 + np.cumsum([0] + new), "u32")
                    rows = sum(new) + 3
                indices = rng.integers(-2, 14, (rows, columns))
                indices[-1, 0], indices[0, -1] = -2**31, 2**31 - 1
                b.set("indices", indices, "i32")
                yield b.case(f"remap_{kind}_{columns}_{'ragged' if ragged else 'padded'}",
                             "remap_indices")
    for rows, columns in ((0, 3), (3, 0)):
        b = CaseBuilder(rng, _layout(P=4), 4)
        b.sequences([1] * rows, [0] * rows, columns=3)
        b.set("indices", np.zeros((rows, columns)), "i32")
        yield b.case(f"remap_nothing_{rows}_{columns}", "remap_indices")


def exact_queries(b, rows, heads):
    """Codes and weights whose sums are exact in f32, many of them equal."""
    rng = b.rng
    few = np.array([-1, -0.5, 0, 0.5, 1, 2], np.float32)
    codes = write(rng.choice(few, b.inputs["blocks"].size), "f8E4M3FN")
    # What is poison stays so.
    live = b.inputs["blocks"] != 0xFF
    b.inputs["blocks"][live] = codes[live]
    b.set("q", write(rng.choice(few, (rows, heads, b.layout.D)), "f8E4M3FN"),
          "f8E4M3FN")
    b.set("q_scale", rng.choice(np.array([-0.25, 0.25, 0.5, 1], np.float32),
                                (rows, heads)), "f32")


def exact_scales(b):
    """Scales that are powers of two."""
    pool = b.inputs["scales"].view(np.uint32)
    live = pool != 0xFFFFFFFF
    powers = b.rng.choice(np.array([0.25, 0.5, 1, 2], np.float32), pool.size)
    pool[live] = powers.view(np.uint32)[live]


def indexer_cases(rng):
    """Scores that are exact, many of them equal: pages of sizes that cut tiles
    and do not, heads that fill tiles and do not, new tokens of none to many, rows
    of nobody, blocks that do not exist in one pool or the other."""
    kinds = {"whole": (dict(P=64), 8), "half": (dict(P=16), 4), "quarter": (dict(P=8), 3),
             "odd": (dict(P=3), 16), "one": (dict(P=1), 1), "wide": (dict(P=96), 72),
             "small": (dict(P=32, D=48, g=48), 9)}
    for kind, (fields, heads) in kinds.items():
        of = _layout(**(dict(D=128, g=128, L=2) | fields))
        for causal in (True, False):
            P = of.P
            lengths, new = [2 * P, 0, 70, 0, P - 1], [3, 0, 2, 1, 2]
            nb = sum(-(-(a + c) // P) for a, c in zip(lengths, new)) + 2
            b = CaseBuilder(rng, of, nb, nb + 1, own_table=causal)
            b.sequences([a + c for a, c in zip(lengths, new)], [0] * 5)
            b.fill(0, 1)
            rows = sum(new) + 2
            exact_queries(b, rows, heads)
            exact_scales(b)
            b.set("old_lengths", lengths, "u32")
            b.set("row_offsets", np.cumsum([0] + new), "u32")
            b.inputs["lookup_table"][0, 0] = nb
            if b.own:
                b.inputs["scales_lookup_table"][2, 0] = 0xFFFFFFFF
            yield b.case(f"indexer_{kind}_{'causal' if causal else 'all'}",
                         "indexer_topk", l=1, top_k=20, causal=causal)
