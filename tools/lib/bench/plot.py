# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The instructions of the kernels as bars, in an SVG file."""
from xml.sax.saxutils import escape

_COLOURS = {"figure": "#1b6ca8", "nvcc": "#9aa5b1", "triton": "#d0a85c"}
_NAMES = {"figure": "kvcache", "nvcc": "nvcc", "triton": "Triton"}
_LABEL, _WIDTH, _BAR, _GAP = 330, 420, 13, 12


def draw(rows, file):
    """Writes a bar for each of kvcache, nvcc and Triton to each row that counts
    instructions of W1 to W7; the goal is a line."""
    rows = [row for row in rows if row["unit"].startswith("instructions /")]
    keys = list(_COLOURS)
    most = max([row[key] or 0 for row in rows for key in keys] or [1])
    scale = lambda value: _LABEL + _WIDTH * value / most
    parts, y = [], 40
    for place, key in enumerate(keys):
        x = _LABEL + 110 * place
        parts.append(f'<rect x="{x}" y="12" width="12" height="12" '
                     f'fill="{_COLOURS[key]}"/><text x="{x + 17}" y="22">'
                     f"{_NAMES[key]}</text>")
    for row in rows:
        present = [key for key in keys if row[key]]
        height = _BAR * len(present)
        parts.append(f'<text x="{_LABEL - 8}" y="{y + height / 2 + 4}" '
                     f'text-anchor="end">{escape(row["subject"])}</text>')
        for place, key in enumerate(present):
            top = y + _BAR * place
            parts.append(
                f'<rect x="{_LABEL}" y="{top}" height="{_BAR - 2}" '
                f'width="{scale(row[key]) - _LABEL:.1f}" fill="{_COLOURS[key]}"/>'
                f'<text x="{scale(row[key]) + 4:.1f}" y="{top + 10}">'
                f"{row[key]:.3g}</text>")
        if row["goal"]:
            x = scale(row["goal"])
            parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y - 3}" '
                         f'y2="{y + height + 1}" stroke="#b3261e"/>')
        y += height + _GAP
    file.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_LABEL + _WIDTH + 60}" '
        f'height="{y + 20}" font-family="sans-serif" font-size="11">'
        f'<text x="{_LABEL - 8}" y="22" text-anchor="end">SASS instructions for '
        "16 bytes (W5: 8 elements); line: goal</text>"
        + "".join(parts) + "</svg>\n")
