# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What every right compaction has in common: which live page becomes which is
its own choice."""
import numpy as np

from pool_layout import ceildiv
from verdicts import Differs


def _moved(name, old, new, lengths, P, blocks):
    """Old and new block of each live page, from the tables before and after."""
    live = np.zeros(old.shape, bool)
    for b, length in enumerate(map(int, lengths)):
        live[b, :ceildiv(length, P)] = True
    live &= old < blocks
    wrong = ~live & (old != new)
    if wrong.any():
        b, page = np.argwhere(wrong)[0]
        raise Differs(f"{name}[{b}, {page}], which is not live: got {new[b, page]}, "
                      f"want {old[b, page]}")
    moved = {}
    for source, target in zip(map(int, old[live]), map(int, new[live])):
        if moved.setdefault(source, target) != target:
            raise Differs(f"{name}: page {source} became both {moved[source]} and "
                          f"{target}")
    if sorted(moved.values()) != list(range(len(moved))):
        raise Differs(f"{name}: {len(moved)} live pages became "
                      f"{sorted(moved.values())}, not the first of the pool")
    return moved


def _check_pool(name, before, after, moved, pitch, packed):
    before, after = before.reshape(-1, pitch), after.reshape(-1, pitch)
    for source, target in moved.items():
        wrong = before[source, :packed] != after[target, :packed]
        if wrong.any():
            at = int(wrong.argmax())
            raise Differs(
                f"{name}: page {source} became {target}, byte {at}: got "
                f"0x{after[target, at]:02x}, want 0x{before[source, at]:02x} "
                f"({int(wrong.sum())} of {packed} differ)")
    wrong = before[:, packed:] != after[:, packed:]
    if wrong.any():
        page, at = np.argwhere(wrong)[0]
        raise Differs(f"{name}: byte {packed + at} of page {page}, which is padding: "
                      f"got 0x{after[page, packed + at]:02x}, want "
                      f"0x{before[page, packed + at]:02x}")


def check_compaction(case, results):
    """Raises Differs where live pages are not the first of their pool, whole and
    found through the new tables."""
    layout, lengths = case.layout, case.inputs["cache_lengths"]
    moved = _moved("lookup_table", case.inputs["lookup_table"],
                   results["lookup_table"], lengths, layout.P, case.nb)
    _check_pool("blocks", case.inputs["blocks"], results["blocks"], moved,
                layout.page_bytes, layout.packed_page_bytes)
    if not layout.has_scales_pool:
        return
    if "scales_lookup_table" in case.inputs:
        moved = _moved("scales_lookup_table", case.inputs["scales_lookup_table"],
                       results["scales_lookup_table"], lengths, layout.P, case.nbs)
    _check_pool("scales", case.inputs["scales"], results["scales"], moved,
                layout.scales_page_bytes, layout.packed_scales_page_bytes)
