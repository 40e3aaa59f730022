"""The picture of the README: how long an edit takes, over the size of the notebook."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

#: For each contender: at which size it took how many seconds.
Series = Mapping[str, Sequence[tuple[float, float]]]

WIDTH, HEIGHT = 760, 420
LEFT, RIGHT, TOP, BOTTOM = 66, 190, 40, 46
# Told apart without colour, too, and readable on white and on black.
COLOURS = ("#8c959f", "#1f883d", "#2da44e", "#0969da", "#bc4c00", "#a475f9")
DASHES = ("2 4", "", "6 3", "", "", "")
LABEL_HEIGHT = 17
STYLE = """
 text { font: 13px system-ui, sans-serif; fill: #57606a; }
 .title { font-weight: 600; font-size: 15px; }
 .grid { stroke: #d0d7de; stroke-width: 1; }
 .line { fill: none; stroke-width: 2.5; stroke-linejoin: round; }
 @media (prefers-color-scheme: dark) {
  text { fill: #9198a1; }
  .grid { stroke: #3d444d; }
 }
"""


def drawn(title: str, series: Series) -> str:
    """Draw lines on logarithmic scales, as SVG."""
    xs = [x for points in series.values() for x, _ in points]
    ys = [1000 * y for points in series.values() for _, y in points]
    across = _Scale(min(xs), max(xs), LEFT, WIDTH - RIGHT)
    up = _Scale(
        10 ** math.floor(math.log10(min(ys))),
        10 ** math.ceil(math.log10(max(ys))),
        HEIGHT - BOTTOM,
        TOP,
    )
    parts = [f'<text class="title" x="{LEFT}" y="22">{escape(title)}</text>']
    for value in up.powers():
        y = up.of(value)
        parts.append(f'<line class="grid" x1="{LEFT}" y1="{y}" x2="{WIDTH - RIGHT}" y2="{y}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{_time(value)}</text>')
    for value in sorted(set(xs)):
        x = across.of(value)
        y = HEIGHT - BOTTOM + 20
        parts.append(f'<text x="{x}" y="{y}" text-anchor="middle">{_size(value)}</text>')
    parts += _lines(series, across, up)
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{escape(title)}">\n<style>{STYLE}</style>\n{body}\n</svg>\n'
    )


def _lines(series: Series, across: _Scale, up: _Scale) -> list[str]:
    parts = []
    ends = {name: up.of(1000 * points[-1][1]) for name, points in series.items()}
    places = _apart(ends)
    for number, (name, points) in enumerate(series.items()):
        colour, dash = COLOURS[number % len(COLOURS)], DASHES[number % len(DASHES)]
        path = " ".join(f"{across.of(x)},{up.of(1000 * y)}" for x, y in points)
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        parts.append(f'<polyline class="line" stroke="{colour}"{dashed} points="{path}"/>')
        x = across.of(points[-1][0]) + 8
        parts.append(
            f'<text x="{x}" y="{places[name] + 4}" style="fill: {colour}">{escape(name)}</text>'
        )
    return parts


class _Scale:
    """From values to places in the picture."""

    def __init__(self, low: float, high: float, start: float, stop: float) -> None:
        self._low, self._high = math.log10(low), math.log10(high)
        self._start, self._stop = start, stop

    def of(self, value: float) -> float:
        """Give where a value is."""
        part = (math.log10(value) - self._low) / (self._high - self._low)
        return round(self._start + part * (self._stop - self._start), 1)

    def powers(self) -> list[float]:
        """Give the powers of ten in it."""
        return [10.0**power for power in range(round(self._low), round(self._high) + 1)]


def _apart(places: Mapping[str, float]) -> dict[str, float]:
    """Move labels so far down that none stands on another."""
    moved: dict[str, float] = {}
    lowest = -math.inf
    for name, place in sorted(places.items(), key=lambda item: item[1]):
        lowest = moved[name] = max(place, lowest + LABEL_HEIGHT)
    return moved


def _time(milliseconds: float) -> str:
    return f"{milliseconds / 1000:g} s" if milliseconds >= 1000 else f"{milliseconds:g} ms"


def _size(size: float) -> str:
    return f"{size / 1e6:g} MB" if size >= 1e6 else f"{size / 1e3:g} KB"
