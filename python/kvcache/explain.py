# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What lies where in a page: text, and a drawing."""

from __future__ import annotations

import html

_COLOURS = {"values": "#4c78a8", "scales": "#f58518", "tail": "#54a24b", "padding": "#e8e8e8"}
_WIDTH, _HEIGHT, _LEFT = 760, 22, 150


class Explanation(str):
    """The text; `svg()` draws a layer of a side as bars of bytes."""

    def __new__(cls, layout, layers, text):
        self = super().__new__(cls, text)
        self.layout, self.layers = layout, layers
        return self

    def _repr_svg_(self):
        return self.svg()

    def __repr__(self):
        return str(self)

    def _pieces(self):
        """(pool, row, [(what, first byte, bytes)]): all sides and layers of a page, and
        the first token's heads of a layer."""
        layout, layers = self.layout, self.layers
        for pool in ("values", "scales") if layout.has_scales_pool else ("values",):
            page = layout.page_bytes(layers, pool)
            kind = "scales" if pool == "scales" else "values"
            starts = []
            for side in ("key", "value")[:layout.sides]:
                for layer in range(layers):
                    where = dict(layers=layers, block=0, slot=0, head=0, dim=0, layer=layer,
                                 side=side)
                    place = (layout.scale_place if pool == "scales" else layout.place)(**where)
                    starts.append((f"{side}s of layer {layer}", place.offset))
            rows = [(name, start, max(1, page // max(1, len(starts)))) for name, start in starts]
            yield pool, "page", [(kind, name, s, n) for name, s, n in rows], page
            yield pool, "first token", *self._token(pool)

    def _token(self, pool):
        layout, layers = self.layout, self.layers
        pieces = []
        for head in range(min(layout.heads, 8)):
            where = dict(layers=layers, block=0, slot=0, head=head, layer=0)
            tail = layout.rope[1] if layout.rope else 0
            last = layout.head_size - tail - 1
            if pool == "values":
                first, end = layout.place(dim=0, **where), layout.place(dim=last, **where)
                pieces.append(("values", f"values of head {head}", first.offset,
                               end.offset + end.bytes - first.offset))
            if tail:
                first = layout.place(dim=last + 1, **where)
                pieces.append(("tail", f"tail of head {head}", first.offset, first.bytes * tail))
            if layout.scales and (pool == "scales") == layout.has_scales_pool:
                for slot in range(layout.scale_slots):
                    place = layout.scale_place(dim=slot * layout.granularity, **where)
                    pieces.append(("scales", f"scale {slot} of head {head}", place.offset,
                                   place.bytes))
        return pieces, max(start + size for _, _, start, size in pieces)

    def svg(self) -> str:
        """A drawing: a page's sides and layers, and below the first token of a layer.
        Hover for byte offsets."""
        rows, top = [], 10
        for pool, row, pieces, total in self._pieces():
            label = f"{pool} pool, {row}" if self.layout.has_scales_pool else f"page, {row}"
            rows.append(f'<text x="4" y="{top + 15}">{html.escape(label)}</text>')
            rows.append(f'<rect x="{_LEFT}" y="{top}" width="{_WIDTH}" height="{_HEIGHT}" '
                        f'fill="{_COLOURS["padding"]}"/>')
            for kind, name, start, size in pieces:
                x = _LEFT + _WIDTH * start / total
                width = max(_WIDTH * size / total, 0.5)
                title = html.escape(f"{name}: bytes {start} to {start + size}")
                rows.append(f'<rect x="{x:.2f}" y="{top}" width="{width:.2f}" '
                            f'height="{_HEIGHT}" fill="{_COLOURS[kind]}" stroke="#fff" '
                            f'stroke-width="0.5"><title>{title}</title></rect>')
            rows.append(f'<text x="{_LEFT + _WIDTH + 6}" y="{top + 15}">{total} bytes</text>')
            top += _HEIGHT + 12
        return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{_LEFT + _WIDTH + 120}" '
                f'height="{top}" font-family="sans-serif" font-size="12">'
                + "".join(rows) + "</svg>")
