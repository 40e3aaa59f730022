"""What a reader of a notebook is shown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from jupyter_nbedit.notebook import json_spans
from jupyter_nbedit.notebook.document import Cell
from jupyter_nbedit.notebook.graphemes import find_grapheme_boundary
from jupyter_nbedit.notebook.outputs import (
    keep_data,
    list_output_spans,
    read_attachments,
    read_outputs,
    summarize,
    to_readable,
)

View = Literal["outline", "source", "full"]
Outputs = Literal["none", "summary", "text", "full"]

_LONGEST_SUMMARY = 120


@dataclass(frozen=True)
class Show:
    """How much of each cell is shown.

    Parameters
    ----------
    view
        ``outline`` has first lines, ``source`` sources, ``full`` metadata and attachments too.
    outputs
        How much of the outputs of code cells; None means a summary, and in ``full`` their texts.
    """

    view: View = "source"
    outputs: Outputs | None = None

    @property
    def of_outputs(self) -> Outputs:
        """How much of the outputs, decided."""
        if self.outputs is not None:
            return self.outputs
        return "text" if self.view == "full" else "summary"


class OutputsSummary(msgspec.Struct, frozen=True):
    """What a code cell has for outputs: how many, of which types, and how large in the file."""

    count: int
    types: list[str]
    bytes: int


class CellTruncation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a budget left out of one cell; what is not named here was not left out."""

    source: Annotated[int, Meta(ge=0, description="Characters of the source.")] = 0
    metadata: Annotated[int, Meta(ge=0, description="Characters of the metadata as JSON.")] = 0
    attachments: Annotated[
        int, Meta(ge=0, description="Characters of the attachments as JSON.")
    ] = 0
    outputs: Annotated[
        int,
        Meta(
            ge=0,
            description="Characters of the outputs' texts; of the outputs as JSON where "
            "`outputs=full` was asked for.",
        ),
    ] = 0
    output_count: Annotated[
        int, Meta(ge=0, description="Outputs of which nothing is shown, the last ones.")
    ] = 0


class CellView(msgspec.Struct, frozen=True, kw_only=True):
    """One cell. ``id`` is null where the file has none; ``source`` is left out of an outline."""

    index: int
    id: str | None
    cell_type: str
    source: str | UnsetType = UNSET
    summary: (
        Annotated[
            str,
            Meta(
                description="The first line that says something: in an outline, and where a "
                "budget has no room for the source."
            ),
        ]
        | UnsetType
    ) = UNSET
    source_hash: str
    lines: int
    tags: list[str]
    execution_count: int | UnsetType | None = UNSET
    metadata: (
        Annotated[dict[str, Any], Meta(description="All of it, with `view=full`.")] | UnsetType
    ) = UNSET
    attachments: (
        Annotated[
            dict[str, dict[str, Any]],
            Meta(
                description="With `view=full`, if there are any: by name and type, each as `{mime, "
                "bytes}`, or the data itself with `outputs=full`."
            ),
        ]
        | UnsetType
    ) = UNSET
    outputs: (
        OutputsSummary
        | Annotated[
            list[dict[str, Any]],
            Meta(
                description="As nbformat has them, lines joined. With `outputs=text` ANSI escapes "
                "are removed, a traceback is one text, and each entry of `data` but `text/plain` "
                "is `{mime, bytes}`."
            ),
        ]
        | UnsetType
    ) = UNSET
    omitted: (
        Annotated[CellTruncation, Meta(description="What `max_chars` left out of this cell.")]
        | UnsetType
    ) = UNSET


def render_cells(cells: Iterable[Cell], show: Show) -> list[CellView]:
    """Show cells.

    Raises
    ------
    InvalidNotebook
        If a cell cannot be read.
    """
    return [render_cell(cell, show) for cell in cells]


def render_cell(cell: Cell, show: Show) -> CellView:
    """Show a cell.

    Raises
    ------
    InvalidNotebook
        If it cannot be read.
    """
    source = cell.source
    code = cell.cell_type == "code"
    count = cell.read_value("execution_count")
    tags = cell.metadata.get("tags")
    outline, full = show.view == "outline", show.view == "full"
    return CellView(
        index=cell.index,
        id=cell.id,
        cell_type=cell.cell_type,
        source=UNSET if outline else source,
        summary=summarize_source(source) if outline else UNSET,
        source_hash=cell.source_hash,
        # As `at_line`, and a hit of the search, counts them.
        lines=source.count("\n") + (not source.endswith("\n")) if source else 0,
        tags=[tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else [],
        execution_count=(count if isinstance(count, int) else None) if code else UNSET,
        metadata=cell.metadata if full else UNSET,
        attachments=(_render_attachments(cell, show) or UNSET) if full else UNSET,
        outputs=_render_outputs(cell, show.of_outputs) if code else UNSET,
    )


def summarize_source(source: str) -> str:
    """Return the first line that says something."""
    first = next((line.strip() for line in source.splitlines() if line.strip()), "")
    if len(first) <= _LONGEST_SUMMARY:
        return first
    return f"{first[: find_grapheme_boundary(first, _LONGEST_SUMMARY)]}…"


def _render_attachments(cell: Cell, show: Show) -> dict[str, dict[str, Any]]:
    return read_attachments(cell, keep_data if show.of_outputs == "full" else summarize)


def _render_outputs(cell: Cell, how: Outputs) -> OutputsSummary | list[dict[str, Any]] | UnsetType:
    if how == "none":
        return UNSET
    if how == "summary":
        return _summarize_outputs(cell)
    if how == "full":
        return list(read_outputs(cell))
    return [to_readable(output) for output in read_outputs(cell)]


def _summarize_outputs(cell: Cell) -> OutputsSummary:
    found = list_output_spans(cell)
    types = [_get_output_type(json_spans.decode(cell.text, output)) for output in found]
    return OutputsSummary(
        count=len(found),
        types=sorted(set(types)),
        bytes=sum(output.stop - output.start for output in found),
    )


def _get_output_type(output: Any) -> str:
    return str(output.get("output_type")) if isinstance(output, dict) else "unknown"
