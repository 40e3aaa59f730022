"""What the benchmarks find: rows of figures, held to their targets and shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.benchmarks.measuring import Figure


@dataclass(frozen=True)
class Check:
    """A value held to a limit.

    Parameters
    ----------
    value, limit
        What was found, and what it must not miss.
    unit
        Written behind both.
    at_least
        Whether the limit is the least; else it is the most.
    what
        Which of the row's values it is, if there are several.
    """

    value: float
    limit: float
    unit: str = ""
    at_least: bool = False
    what: str = ""

    @property
    def is_met(self) -> bool:
        """Whether the value does not miss the limit."""
        return self.value >= self.limit if self.at_least else self.value <= self.limit

    @property
    def target(self) -> str:
        """The limit, in words."""
        return f"{'≥' if self.at_least else '≤'} {self.limit:g}{self.unit}"

    @property
    def shown(self) -> str:
        """The value, with as many digits as it takes not to round a miss up."""
        for digits in range(digits_of(self.value), 12):
            rounded = round(self.value, digits)
            if (rounded >= self.limit if self.at_least else rounded <= self.limit) == self.is_met:
                return f"{self.value:.{digits}f}{self.unit}"
        return f"{self.value!r}{self.unit}"


@dataclass(frozen=True)
class Row:
    """One row of the table.

    Parameters
    ----------
    name
        The work that was done.
    checks
        What it is held to.
    rivals
        What others take for it, as it is shown.
    figures
        All that was measured, by its name; in `unit`.
    unit
        Of the figures.
    remark
        What a reader must know.
    series
        What to draw: for each contender at which size it took how many seconds.
    """

    name: str
    checks: Sequence[Check]
    rivals: str = ""
    figures: dict[str, Figure] = field(default_factory=dict)
    unit: str = "s"
    remark: str = ""
    series: dict[str, list[tuple[float, float]]] = field(default_factory=dict)

    @property
    def is_met(self) -> bool:
        """Whether all targets are met."""
        return all(check.is_met for check in self.checks)


def digits_of(value: float) -> int:
    """Give how many digits behind the point are of interest."""
    return 2 if abs(value) < 10 else 1 if abs(value) < 100 else 0


def times(value: float) -> str:
    """Show a ratio."""
    return f"{value:.{digits_of(value)}f}x"


def milliseconds(figure: Figure) -> str:
    """Show a time and its spread."""
    median, low, high = (1000 * value for value in (figure.median, figure.low, figure.high))
    digits = digits_of(median)
    return f"{median:.{digits}f} ({low:.{digits}f}-{high:.{digits}f}) ms"


def table(rows: Sequence[Row]) -> str:
    """Show all rows as a Markdown table."""
    lines = ["| work | target | here | | rivals, in the same run |", "|---|---|---|---|---|"]
    for row in rows:
        target = " / ".join(_labelled(check.what, check.target) for check in row.checks)
        here = " / ".join(_labelled(check.what, check.shown) for check in row.checks)
        verdict = ("met" if row.is_met else "**missed**") if row.checks else ""
        lines.append(f"| {row.name} | {target} | {here} | {verdict} | {row.rivals} |")
    return "\n".join(lines)


def details(rows: Sequence[Row]) -> str:
    """Show all figures of all rows, with their spread."""
    lines = ["| work | what | median (middle half) |", "|---|---|---|"]
    for row in rows:
        for name, figure in row.figures.items():
            lines.append(f"| {row.name} | {name} | {_spread(figure, row.unit)} |")
    return "\n".join(lines)


def _labelled(label: str, text: str) -> str:
    return f"{label} {text}" if label else text


def _spread(figure: Figure, unit: str) -> str:
    if unit == "s":
        return milliseconds(figure)
    digits = digits_of(figure.median)
    spread = f"{figure.low:.{digits}f}-{figure.high:.{digits}f}"
    return f"{figure.median:.{digits}f} ({spread}) {unit}"
