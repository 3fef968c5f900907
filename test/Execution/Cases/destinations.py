# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the rows go that a case appends, by NumPy alone."""
import numpy as np

NOWHERE = (-1, -1)


def resolve(table, nb, P, sequence, position):
    """The (block, slot) of a token; NOWHERE where it has none."""
    page = position // P
    if not (0 <= sequence < table.shape[0] and 0 <= page < table.shape[1]):
        return NOWHERE
    block = int(table[sequence, page])
    return (block, position % P) if block < nb else NOWHERE


def from_slot(slot, nb, P):
    return (slot // P, slot % P) if 0 <= slot < nb * P else NOWHERE


def rows_of(pairs):
    return np.array(pairs, np.int64).reshape(-1, 2)


def _first(inputs):
    """What has a row of each token: append_scales has no `x`."""
    return inputs["x" if "x" in inputs else "x_scales"]


def tokens_of(form, inputs):
    """(row, sequence, position) of each row that belongs to a sequence."""
    if form == "positions":
        return [(r, int(s), int(p)) for r, (s, p) in
                enumerate(zip(inputs["sequences"], inputs["positions"]))]
    lengths = inputs["cache_lengths"]
    if form == "padded":
        width = _first(inputs).shape[1]
        return [(b * width + i, b, int(lengths[b]) + i)
                for b, new in enumerate(inputs["new_lengths"])
                for i in range(min(int(new), width))]
    offsets = inputs["row_offsets"]
    return [(r, b, int(lengths[b]) + r - int(offsets[b]))
            for b in range(len(offsets) - 1)
            for r in range(int(offsets[b]), int(offsets[b + 1]))]


def destinations(layout, nb, nbs, form, inputs):
    """For the value and the scales pool: where each row goes, [rows, 2]."""
    count = int(np.prod(_first(inputs).shape[:2 if form == "padded" else 1]))
    if form == "slots":
        slots = inputs["slots"][:count]
        scale_slots = inputs.get("scale_slots", slots)[:count]
        return (rows_of([from_slot(int(s), nb, layout.P) for s in slots]),
                rows_of([from_slot(int(s), nbs, layout.P) for s in scale_slots]))
    table = inputs["lookup_table"]
    scales_table = inputs.get("scales_lookup_table", table)
    values, scales = (np.full((count, 2), -1, np.int64) for _ in range(2))
    for row, sequence, position in tokens_of(form, inputs):
        if row < count:
            values[row] = resolve(table, nb, layout.P, sequence, position)
            scales[row] = resolve(scales_table, nbs, layout.P, sequence, position)
    return values, scales


def share_slots(rows):
    """Whether two of these rows go to one slot."""
    rows = rows[rows[:, 0] >= 0]
    return len(np.unique(rows, axis=0)) < len(rows)
