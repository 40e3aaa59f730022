"""The results of the benchmarks: rows of figures, compared with their targets, as Markdown."""

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.measuring import Figure
from tests.support.paths import ROOT

PAGE = ROOT / "docs" / "figures.md"
#: Where the figures of a section of the page begin: of edits, and of agents.
EDITS = "<!-- figures: python benchmarks --write -->"
AGENTS = "<!-- figures: python benchmarks --only agents --write -->"
END = "<!-- end of the figures -->"


@dataclass(frozen=True)
class Check:
    """A value and its limit: the most it may be or, with `at_least`, the least.

    `what` says which of the row's values it is, if there are several.
    """

    value: float
    limit: float
    unit: str = ""
    at_least: bool = False
    what: str = ""

    @property
    def is_met(self) -> bool:
        return self._is_met_by(self.value)

    def _is_met_by(self, value: float) -> bool:
        return value >= self.limit if self.at_least else value <= self.limit

    def format_target(self) -> str:
        sign = "≥" if self.at_least else "≤"
        return f"{self.what} {sign} {self.limit:g}{self.unit}".lstrip()

    def format_value(self) -> str:
        """Return the value with so many digits that no miss is rounded to a hit."""
        digits = count_digits(self.value)
        while self._is_met_by(round(self.value, digits)) != self.is_met:
            digits += 1
        return f"{self.what} {self.value:.{digits}f}{self.unit}".lstrip()


@dataclass(frozen=True)
class ReportRow:
    """One row of the table: some work, its values and limits, and what rivals take for it.

    `figures` are all that was measured, by name, in `unit`.
    """

    name: str
    checks: Sequence[Check]
    rivals: str = ""
    figures: dict[str, Figure] = field(default_factory=dict)
    unit: str = "s"
    remark: str = ""

    @property
    def is_met(self) -> bool:
        return all(check.is_met for check in self.checks)


def count_digits(value: float) -> int:
    """Return how many digits behind the point are of interest."""
    if isinstance(value, int):
        return 0
    return 2 if abs(value) < 10 else 1 if abs(value) < 100 else 0


def format_ratio(value: float) -> str:
    return f"{value:.{count_digits(value)}f}x"


def format_figure(figure: Figure, unit: str = "s") -> str:
    """Return the median and the middle half; seconds are shown in milliseconds."""
    factor, unit = (1000, "ms") if unit == "s" else (1, unit)
    median, low, high = (factor * value for value in (figure.median, figure.low, figure.high))
    digits = count_digits(median)
    return f"{median:.{digits}f} ({low:.{digits}f}-{high:.{digits}f}) {unit}".rstrip()


def format_details(rows: Sequence[ReportRow]) -> str:
    """Return all figures of all rows as a table."""
    lines = ["| work | what | median (middle half) |", "|---|---|---|"]
    for row in rows:
        for name, figure in row.figures.items():
            lines.append(f"| {row.name} | {name} | {format_figure(figure, row.unit)} |")
    return "\n".join(lines)


def format_report(rows: Sequence[ReportRow], missing: Mapping[str, str]) -> str:
    """Return the table of the targets, and the remarks on it."""
    lines = [f"{describe_machine()}.", ""]
    lines += ["| work | target | here | | rivals, in the same run |", "|---|---|---|---|---|"]
    for row in rows:
        targets = " / ".join(check.format_target() for check in row.checks)
        values = " / ".join(check.format_value() for check in row.checks)
        verdict = ("met" if row.is_met else "**missed**") if row.checks else ""
        lines.append(f"| {row.name} | {targets} | {values} | {verdict} | {row.rivals} |")
    lines += ["", *(f"- {row.name}: {row.remark}." for row in rows if row.remark)]
    lines += [f"- {peer} was not measured: {why}" for peer, why in missing.items()]
    return "\n".join(lines) + "\n"


def describe_machine() -> str:
    return (
        f"{platform.system()} {platform.release().split('-')[0]}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}"
    )


def write_section(
    page: Path, begin: str, rows: Sequence[ReportRow], missing: Mapping[str, str]
) -> None:
    """Put the report behind the marker of a section; raise ValueError if the page has none."""
    before, _, rest = page.read_text().partition(begin)
    _, mark, after = rest.partition(END)
    if not mark:
        raise ValueError(f"{page.name} has no lines {begin} and {END}.")
    details = f"<details>\n<summary>All figures</summary>\n\n{format_details(rows)}\n\n</details>\n"
    report = format_report(rows, missing)
    page.write_text(f"{before}{begin}\n\n{report}\n{details}\n{END}{after}")
