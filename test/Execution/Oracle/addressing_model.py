# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The addresses and numbers of a collection by plain arithmetic: what is right
where a file says nothing, or is known to be wrong."""
import numpy as np


class Model:
    """Arrays over [kv][layer][batch][token][head][dim] (elements) or the first
    four (rows), at the indices of `file`."""

    def __init__(self, file):
        self.file = file
        at = [file.indices[name] for name in
              ("kv", "layer", "batch", "token", "head", "dim")]
        (self.kv, self.layer, self.batch, self.token, self.head,
         self.dim) = np.ix_(*at)
        self.shape = tuple(len(i) for i in at)

    def _blocks(self, table):
        token = self.token.reshape(-1)
        blocks = table[self.batch.reshape(-1)][:, token // self.file.P]
        return blocks.astype(np.int64).reshape(1, 1, *blocks.shape, 1, 1)

    def _offset(self, table, pitch, last, position):
        file = self.file
        side = file.P * file.H * last
        return np.broadcast_to(
            (self.kv * file.L + self.layer) * side
            + self._blocks(table) * pitch
            + (self.token % file.P) * file.H * last + self.head * last
            + position, self.shape)

    def _row(self, table, pitch, last):
        file = self.file
        rows = (self._blocks(table) * (pitch // (file.H * last))
                + self.token % file.P)
        return np.broadcast_to(rows[..., 0, 0], self.shape[:4])

    def value_offset(self):
        return self._offset(self.file.table, self.file.pitch, self.file.D,
                            self.dim)

    def scale_offset(self):
        return self._offset(self.file.scales_table, self.file.scales_pitch,
                            self.file.G, self.dim // self.file.g)

    def row_idx(self):
        return self._row(self.file.table, self.file.pitch, self.file.D)

    def scales_row_idx(self):
        return self._row(self.file.scales_table, self.file.scales_pitch,
                         self.file.G)

    def num_kv_rows(self):
        file = self.file
        return (file.NB - 1) * (file.pitch // (file.H * file.D)) + file.P

    def scales_num_kv_rows(self):
        file = self.file
        return ((file.NBs - 1) * (file.scales_pitch // (file.H * file.G))
                + file.P)

    def load_quantized(self, pool_codes):
        return pool_codes[self.value_offset()]

    def load_scale(self, scale_codes):
        return self.file.scale_dtype.decode(scale_codes[self.scale_offset()])

    def load_dequantised(self, pool_codes, scale_codes):
        """In f32, rounded once."""
        with np.errstate(all="ignore"):
            return (self.file.dtype.decode(self.load_quantized(pool_codes))
                    * self.load_scale(scale_codes))
