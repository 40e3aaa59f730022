"""The cells of a notebook as a reader gets them, in several levels of detail."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from jupyter_nbedit.notebook import json_spans
from jupyter_nbedit.notebook.document import Cell
from jupyter_nbedit.notebook.outputs import (
    keep_data,
    list_output_spans,
    read_attachments,
    read_outputs,
    summarize,
    to_readable,
)

View = Literal["outline", "source", "full"]
OutputsDetail = Literal["none", "summary", "text", "full"]

_LONGEST_SUMMARY = 120


@dataclass(frozen=True)
class ViewOptions:
    """Which parts of each cell a view contains.

    ``outline`` has first lines, ``source`` has sources, ``full`` also metadata and attachments.
    ``outputs`` is the detail of outputs; None means a summary, and their texts in ``full``.
    """

    view: View = "source"
    outputs: OutputsDetail | None = None

    @property
    def outputs_detail(self) -> OutputsDetail:
        """The detail of the outputs, with the default resolved."""
        if self.outputs is not None:
            return self.outputs
        return "text" if self.view == "full" else "summary"


class OutputsSummary(msgspec.Struct, frozen=True):
    """The outputs of a code cell: their number, their types, and their size in the file."""

    count: int
    types: list[str]
    bytes: int


class CellTruncation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a budget omitted from one cell; anything not listed here is complete."""

    source: Annotated[int, Meta(ge=0, description="Characters of the source.")] = 0
    metadata: Annotated[int, Meta(ge=0, description="Characters of the metadata as JSON.")] = 0
    attachments: Annotated[
        int, Meta(ge=0, description="Characters of the attachments as JSON.")
    ] = 0
    outputs: Annotated[
        int,
        Meta(
            ge=0,
            description="Characters of the outputs' texts; of the outputs as JSON with "
            "`outputs=full`.",
        ),
    ] = 0
    output_count: Annotated[
        int, Meta(ge=0, description="Number of outputs omitted completely, at the end.")
    ] = 0


class CellView(msgspec.Struct, frozen=True, kw_only=True):
    """One cell. ``id`` is null if the file has none; ``source`` is absent in an outline."""

    index: int
    id: str | None
    cell_type: str
    source: str | UnsetType = UNSET
    summary: (
        Annotated[
            str,
            Meta(
                description="The first line that is not blank: in an outline, and where a budget "
                "has no room for the source."
            ),
        ]
        | UnsetType
    ) = UNSET
    source_hash: str
    lines: int
    tags: list[str]
    execution_count: int | UnsetType | None = UNSET
    metadata: (
        Annotated[dict[str, Any], Meta(description="The whole metadata, with `view=full`.")]
        | UnsetType
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
        Annotated[CellTruncation, Meta(description="What `max_chars` omitted from this cell.")]
        | UnsetType
    ) = UNSET


def render_cells(cells: Iterable[Cell], options: ViewOptions) -> list[CellView]:
    """Return the views of cells; raise `InvalidNotebook` if one cannot be read."""
    return [render_cell(cell, options) for cell in cells]


def render_cell(cell: Cell, options: ViewOptions) -> CellView:
    """Return the view of a cell; raise `InvalidNotebook` if it cannot be read."""
    source = cell.source
    is_code = cell.cell_type == "code"
    count = cell.read_value("execution_count")
    tags = cell.metadata.get("tags")
    is_outline, is_full = options.view == "outline", options.view == "full"
    return CellView(
        index=cell.index,
        id=cell.id,
        cell_type=cell.cell_type,
        source=UNSET if is_outline else source,
        summary=summarize_source(source) if is_outline else UNSET,
        source_hash=cell.source_hash,
        # Counted as for `at_line` and for hits of a search.
        lines=source.count("\n") + (not source.endswith("\n")) if source else 0,
        tags=[tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else [],
        execution_count=(count if isinstance(count, int) else None) if is_code else UNSET,
        metadata=cell.metadata if is_full else UNSET,
        attachments=(_render_attachments(cell, options) or UNSET) if is_full else UNSET,
        outputs=_render_outputs(cell, options.outputs_detail) if is_code else UNSET,
    )


def summarize_source(source: str) -> str:
    """Return the first line that is not blank, shortened."""
    first = next((line.strip() for line in source.splitlines() if line.strip()), "")
    if len(first) <= _LONGEST_SUMMARY:
        return first
    return f"{first[:_LONGEST_SUMMARY]}…"


def _render_attachments(cell: Cell, options: ViewOptions) -> dict[str, dict[str, Any]]:
    return read_attachments(cell, keep_data if options.outputs_detail == "full" else summarize)


def _render_outputs(
    cell: Cell, detail: OutputsDetail
) -> OutputsSummary | list[dict[str, Any]] | UnsetType:
    if detail == "none":
        return UNSET
    if detail == "summary":
        return _summarize_outputs(cell)
    if detail == "full":
        return list(read_outputs(cell))
    return [to_readable(output) for output in read_outputs(cell)]


def _summarize_outputs(cell: Cell) -> OutputsSummary:
    spans = list_output_spans(cell)
    types = [_get_output_type(json_spans.decode(cell.text, output)) for output in spans]
    return OutputsSummary(
        count=len(spans),
        types=sorted(set(types)),
        bytes=sum(output.stop - output.start for output in spans),
    )


def _get_output_type(output: Any) -> str:
    return str(output.get("output_type")) if isinstance(output, dict) else "unknown"
