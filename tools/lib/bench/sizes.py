# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How large W1 to W7 are."""
# Few pages are partial, as in the full-size works; a selection has to drop most.
SMALL = {"w7k": (2, 6000)}
FULL = {"w3": (64, 1024), "w4": (64, 4096), "w5": (64, 4096), "w7": (64, 32768),
        "w7k": (64, 32768)}


def size(work, full):
    """Sequences, and tokens of each."""
    return FULL.get(work, (64, 4091)) if full else SMALL.get(work, (2, 1500))
