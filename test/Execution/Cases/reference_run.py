# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs cases through the NumPy reference instead of the compiler."""
import numpy as np

import reference
from case_folder import need
from comparison import SPARSE_PAGE, sparse_pages
from verdicts import Malformed


class SparseBytes:
    """A pool too large to store, indexed by arrays of places; pages that are not
    there are zero."""

    def __init__(self, pages):
        self.pages = pages

    def copy(self):
        return SparseBytes({at: page.copy() for at, page in self.pages.items()})

    @staticmethod
    def _by_page(places):
        """(page, what of `places` lies in it, where in it) for each page."""
        flat = places.reshape(-1)
        order = np.argsort(flat // SPARSE_PAGE, kind="stable")
        pages, first = np.unique(flat[order] // SPARSE_PAGE, return_index=True)
        for page, which in zip(pages, np.split(order, first[1:])):
            yield int(page), which, flat[which] % SPARSE_PAGE

    def __getitem__(self, places):
        result = np.zeros(places.size, np.uint8)
        for page, which, at in self._by_page(places):
            if page in self.pages:
                result[which] = self.pages[page][at]
        return result.reshape(places.shape)

    def __setitem__(self, places, data):
        data = np.broadcast_to(data, places.shape).reshape(-1)
        for page, which, at in self._by_page(places):
            whole = self.pages.setdefault(page, np.zeros(SPARSE_PAGE, np.uint8))
            whole[at] = data[which]

    def segments(self):
        """(offsets, segments) of the pages that are not all zero."""
        pages = sorted(at for at, page in self.pages.items() if page.any())
        data = [self.pages[at] for at in pages]
        return (np.array(pages, np.int64) * SPARSE_PAGE,
                np.array(data, np.uint8).reshape(-1, SPARSE_PAGE))


def run_reference(case):
    """Outputs by name; a sparse pool as (offsets, segments)."""
    inputs = dict(case.inputs)
    if case.sparse_bytes:
        inputs["blocks"] = SparseBytes(sparse_pages(
            *need(case, "segment_offsets", "segment_bytes")))
    try:
        outputs = reference.run(case.op, case.layout, case.nb, case.nbs, case.args,
                                inputs, case.dtypes)
    except KeyError as error:
        raise Malformed(f"{case.op} lacks {error}")
    if case.sparse_bytes and "blocks" in outputs:
        outputs["blocks"] = outputs["blocks"].segments()
    return outputs
