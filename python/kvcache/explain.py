# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What lies where in a page: text, and a drawing."""

from __future__ import annotations

import html

from .dialects import kvcache as kv

_COLOURS = {"values": "#4c78a8", "scales": "#f58518", "tail": "#54a24b", "padding": "#e8e8e8"}
_MOST_LAYERS = 1024
_WIDTH, _HEIGHT, _LEFT = 760, 22, 150


def _name(one) -> str:
    """What a stretch of a token is."""
    what = f"scale {one['scale']}" if one["pool"] == kv.Pool.scales else kv.Pool(one["pool"])
    return f"{what} of head {one['head']}"


class Explanation(str):
    """The text; `svg()` draws a page, and the token in `slot` of it, as bars of bytes."""

    def __new__(cls, layout, layers, text, slot=0):
        self = super().__new__(cls, text)
        self.layout, self.layers, self.slot = layout, layers, slot
        return self

    def __getnewargs__(self):
        return self.layout, self.layers, str(self), self.slot

    def _repr_svg_(self):
        return self.svg() if self.layers <= _MOST_LAYERS else None  # The text is shown.

    def __repr__(self):
        return str(self)

    def _bars(self):
        """(label, first byte, bytes, [(what, name, first byte, bytes)]): pages, then the
        token of the first layer of each side."""
        layout = self.layout
        pools = ("values", "scales") if layout.has_scales_pool else ("values",)
        for pool in pools:
            pieces = []
            for one in layout.attr.layer_map(self.layers, kv.Pool[pool]):
                side = "keys and values" if one["side"] is None else f"{kv.Side(one['side'])}s"
                pieces.append((pool, f"{side} of layer {one['layer']}", one["offset"],
                               one["bytes"]))
            yield f"page of {pool}", 0, layout.page_bytes(self.layers, pool), pieces
        for side in range(layout.sides):
            found = layout.attr.token_map(self.layers, side, 0, self.slot)
            for pool in pools:
                pieces = [(str(kv.Pool(one["pool"])), _name(one), one["offset"], one["bytes"])
                          for one in found
                          if (pool == "scales") == (
                              layout.has_scales_pool and one["pool"] == kv.Pool.scales)]
                first = min(start for *_, start, _ in pieces)
                end = max(start + size for *_, start, size in pieces)
                of = f", {pool}" if len(pools) > 1 else ""
                yield f"slot {self.slot}, {kv.Side(side)}{of}", first, end - first, pieces

    def svg(self) -> str:
        """A drawing: a page with its sides and layers, and below the token in `slot` in
        the first layer, with all heads. Hover for byte offsets. Raises ValueError for
        more than 1024 layers."""
        if self.layers > _MOST_LAYERS:
            raise ValueError(f"expected at most {_MOST_LAYERS} layers to draw, got {self.layers}")
        rows, top = [], 10
        for label, first, total, pieces in self._bars():
            rows.append(f'<text x="4" y="{top + 15}">{html.escape(label)}</text>')
            rows.append(f'<rect x="{_LEFT}" y="{top}" width="{_WIDTH}" height="{_HEIGHT}" '
                        f'fill="{_COLOURS["padding"]}"/>')
            for kind, name, start, size in pieces:
                x = _LEFT + _WIDTH * (start - first) / total
                title = html.escape(f"{name}: bytes {start} to {start + size}")
                rows.append(f'<rect x="{x:.3f}" y="{top}" width="{_WIDTH * size / total:.3f}" '
                            f'height="{_HEIGHT}" fill="{_COLOURS[kind]}" stroke="#fff" '
                            f'stroke-width="0.2"><title>{title}</title></rect>')
            rows.append(f'<text x="{_LEFT + _WIDTH + 6}" y="{top + 15}">{total} bytes</text>')
            top += _HEIGHT + 12
        return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{_LEFT + _WIDTH + 120}" '
                f'height="{top}" font-family="sans-serif" font-size="12">'
                + "".join(rows) + "</svg>")
