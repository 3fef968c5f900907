# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Samples a grid so that every pair of values of two factors comes up."""
import itertools


def _pairs(point):
    return set(itertools.combinations(sorted(point.items(), key=lambda i: i[0]), 2))


class Pairwise:
    """Gives points (factor: value), each of which covers, of some that are tried,
    the most pairs that no earlier one has. `mend(point)` gives a point near by
    that makes sense, or None."""

    def __init__(self, factors, rng, mend, tries=30):
        self.factors, self.rng, self.mend = factors, rng, mend
        self.tries, self.seen = tries, set()

    def next(self, **fixed):
        """A point with these values."""
        best, most = None, -1
        tried = 0
        while best is None or tried < self.tries:
            tried += 1
            point = {name: values[self.rng.integers(len(values))]
                     for name, values in self.factors.items()}
            point = self.mend(point | fixed)
            if point is None:
                continue
            fresh = len(_pairs(point) - self.seen)
            if fresh > most:
                best, most = point, fresh
        self.seen |= _pairs(best)
        return best
