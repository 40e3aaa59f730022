"""What a reader of a notebook is shown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from jupyter_nbedit.notebook import spans
from jupyter_nbedit.notebook.document import Cell

View = Literal["outline", "source"]

_LONGEST_SUMMARY = 120


class OutputsSummary(msgspec.Struct, frozen=True):
    """What a code cell has for outputs: how many, of which types, and how large in the file."""

    count: int
    types: list[str]
    bytes: int


class CellView(msgspec.Struct, frozen=True, kw_only=True):
    """One cell. ``id`` is null where the file has none; ``source`` is left out of an outline."""

    index: int
    id: str | None
    cell_type: str
    source: str | UnsetType = UNSET
    summary: str | UnsetType = UNSET
    source_hash: str
    lines: int
    tags: list[str]
    execution_count: int | UnsetType | None = UNSET
    outputs: OutputsSummary | UnsetType = UNSET


def cell_views(cells: Iterable[Cell], view: View) -> list[CellView]:
    """Show cells.

    Raises
    ------
    InvalidNotebook
        If a cell cannot be read.
    """
    return [_cell_view(cell, view) for cell in cells]


def _cell_view(cell: Cell, view: View) -> CellView:
    source = cell.source
    code = cell.cell_type == "code"
    count = cell.value("execution_count")
    tags = cell.metadata.get("tags")
    return CellView(
        index=cell.index,
        id=cell.id,
        cell_type=cell.cell_type,
        source=source if view == "source" else UNSET,
        summary=_summary(source) if view == "outline" else UNSET,
        source_hash=cell.source_hash,
        lines=len(source.splitlines()),
        tags=[tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else [],
        execution_count=(count if isinstance(count, int) else None) if code else UNSET,
        outputs=_outputs(cell) if code else UNSET,
    )


def _summary(source: str) -> str:
    """Give the first line that says something."""
    first = next((line.strip() for line in source.splitlines() if line.strip()), "")
    return first if len(first) <= _LONGEST_SUMMARY else f"{first[:_LONGEST_SUMMARY]}…"


def _outputs(cell: Cell) -> OutputsSummary:
    member = cell.members.get("outputs")
    if member is None or not spans.is_array(cell.text, member.value):
        return OutputsSummary(0, [], 0)
    outputs = spans.elements(cell.text, member.value)
    types = [_output_type(spans.decode(cell.text, output)) for output in outputs]
    return OutputsSummary(
        count=len(outputs),
        types=sorted(set(types)),
        bytes=sum(output.stop - output.start for output in outputs),
    )


def _output_type(output: Any) -> str:
    return str(output.get("output_type")) if isinstance(output, dict) else "unknown"
