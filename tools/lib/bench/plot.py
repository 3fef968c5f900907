# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of the benchmark as bars, in an SVG file: a panel a kind of figure."""
from xml.sax.saxutils import escape

_COLOURS = {"figure": "#1b6ca8", "nvcc": "#9aa5b1", "triton": "#d0a85c"}
_NAMES = {"figure": "kvcache", "nvcc": "nvcc", "triton": "Triton"}
_PANELS = (
    ("instructions", "SASS instructions for 16 bytes (W5: 8 elements)"),
    ("traffic", "bytes moved to bytes needed"),
    ("compile", "milliseconds of CPU time to compile"),
    ("gpu", "time on the GPU to that of a copy of the same bytes"),
)
_LABEL, _WIDTH, _BAR, _GAP = 330, 420, 13, 12


def draw(rows, file):
    """Writes a bar for each of kvcache, nvcc and Triton to each row that has a kind;
    the goal is a line. Panels without rows are left out."""
    parts, y = [], 12
    for place, key in enumerate(_COLOURS):
        x = _LABEL + 110 * place
        parts.append(f'<rect x="{x}" y="{y}" width="12" height="12" '
                     f'fill="{_COLOURS[key]}"/><text x="{x + 17}" y="{y + 10}">'
                     f"{_NAMES[key]}</text>")
    parts.append(f'<text x="{_LABEL - 8}" y="{y + 10}" text-anchor="end">'
                 "line: goal</text>")
    y += 28
    for kind, title in _PANELS:
        of_kind = [row for row in rows if row["kind"] == kind]
        if of_kind:
            y = _panel(parts, of_kind, title, y)
    file.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_LABEL + _WIDTH + 60}" '
        f'height="{y + 8}" font-family="sans-serif" font-size="11">'
        + "".join(parts) + "</svg>\n")


def _panel(parts, rows, title, y):
    """Adds a panel at `y`; where the next one begins."""
    most = max(row[key] or 0 for row in rows for key in (*_COLOURS, "goal"))
    scale = lambda value: _LABEL + _WIDTH * value / most
    parts.append(f'<text x="{_LABEL}" y="{y + 10}" font-weight="bold">'
                 f"{escape(title)}</text>")
    y += 24
    for row in rows:
        present = [key for key in _COLOURS if row[key]]
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
    return y + _GAP
