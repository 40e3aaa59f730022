"""The page of the documentation that has the figures."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from tests.benchmarks.picture import drawn
from tests.benchmarks.results import Row, details, table

BEGIN = "<!-- figures: python tests/benchmarks --write -->"
END = "<!-- end of the figures -->"
PICTURE = "benchmarks.svg"
TITLE = "One edit of one cell, over the size of the notebook"


def machine() -> str:
    """Say what the figures were measured on."""
    return (
        f"{platform.system()} {platform.release().split('-')[0]}, {os.cpu_count()} cores, "
        f"Python {platform.python_version()}"
    )


def report(rows: Sequence[Row], missing: Mapping[str, str]) -> str:
    """Show all that was found, as Markdown."""
    remarks = [f"- {row.name}: {row.remark}." for row in rows if row.remark]
    remarks += [f"- {peer} was not measured: {why}" for peer, why in missing.items()]
    told = "\n".join(remarks)
    return f"{machine()}.\n\n{table(rows)}\n\n{told}\n"


def write(page: Path, rows: Sequence[Row], missing: Mapping[str, str]) -> None:
    """Put the figures between the marks of a page, and the picture beside it."""
    before, _, rest = page.read_text().partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise ValueError(f"{page.name} has no lines {BEGIN} and {END}.")
    folded = f"<details>\n<summary>All figures</summary>\n\n{details(rows)}\n\n</details>\n"
    content = f"{BEGIN}\n\n{report(rows, missing)}\n{folded}\n{END}"
    page.write_text(before + content + after)
    for row in rows:
        if row.series:
            page.with_name(PICTURE).write_text(drawn(TITLE, row.series))


def write_json(file: Path, rows: Sequence[Row], missing: Mapping[str, str]) -> None:
    """Write all figures for programs."""
    found = {
        "machine": machine(),
        "rows": [{**asdict(row), "met": row.is_met} for row in rows],
        "not_measured": dict(missing),
    }
    file.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
