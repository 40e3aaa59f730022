"""The cells of a notebook as a reader gets them, in several levels of detail."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from jupyter_nbedit.errors import InvalidNotebook
from jupyter_nbedit.notebook import json_spans
from jupyter_nbedit.notebook.document import Cell
from jupyter_nbedit.notebook.long_text import count_lines
from jupyter_nbedit.notebook.outputs import (
    encode_json,
    list_output_spans,
    list_text_fields,
    make_readable,
    read_attachments,
    read_outputs,
)

View = Literal["outline", "source", "full"]
OutputsDetail = Literal["none", "summary", "text", "full"]

_MAX_SUMMARY_LENGTH = 120


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


class CellView(msgspec.Struct, kw_only=True):
    """One cell. ``id`` is null if the file has none; ``source`` is absent in an outline."""

    index: int
    id: str | None
    cell_type: str
    source: str | UnsetType = UNSET
    summary: Annotated[
        str | UnsetType,
        Meta(
            description="The first line that is not blank: in an outline, and where a budget "
            "has no room for the source."
        ),
    ] = UNSET
    source_hash: str
    lines: int
    tags: list[str]
    execution_count: int | UnsetType | None = UNSET
    metadata: Annotated[
        dict[str, Any] | UnsetType, Meta(description="The whole metadata, with `view=full`.")
    ] = UNSET
    attachments: Annotated[
        dict[str, dict[str, Any]] | UnsetType,
        Meta(
            description="With `view=full`, if there are any: by name and type, each as `{mime, "
            "bytes}`, or the data itself with `outputs=full`."
        ),
    ] = UNSET
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
    problem: Annotated[
        str | UnsetType,
        Meta(
            description="Why the cell cannot be read. It then has no source, an empty "
            "`source_hash`, and nothing else; other cells can be read and edited."
        ),
    ] = UNSET
    omitted: Annotated[
        CellTruncation | UnsetType, Meta(description="What `max_chars` omitted from this cell.")
    ] = UNSET


def render_cells(cells: Iterable[Cell], options: ViewOptions) -> list[CellView]:
    """Return the views of cells; one that cannot be read has a `problem`."""
    return [render_cell(cell, options) for cell in cells]


def render_cell(cell: Cell, options: ViewOptions) -> CellView:
    """Return the view of a cell; one that cannot be read has a `problem`."""
    try:
        source = cell.source
    except InvalidNotebook as error:
        return CellView(
            index=cell.index,
            id=cell.id,
            cell_type=cell.cell_type,
            source_hash="",
            lines=0,
            tags=[],
            problem=error.message,
        )
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
        lines=count_lines(source),
        tags=[tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else [],
        execution_count=(count if isinstance(count, int) else None) if is_code else UNSET,
        metadata=cell.metadata if is_full else UNSET,
        attachments=(
            read_attachments(cell, is_summary=options.outputs_detail != "full") or UNSET
            if is_full
            else UNSET
        ),
        outputs=_render_outputs(cell, options.outputs_detail) if is_code else UNSET,
    )


def summarize_source(source: str) -> str:
    """Return the first line that is not blank, shortened."""
    first = next((line.strip() for line in source.split("\n") if line.strip()), "")
    if len(first) <= _MAX_SUMMARY_LENGTH:
        return first
    return f"{first[:_MAX_SUMMARY_LENGTH]}…"


def _render_outputs(
    cell: Cell, detail: OutputsDetail
) -> OutputsSummary | list[dict[str, Any]] | UnsetType:
    if detail == "none":
        return UNSET
    if detail == "summary":
        return _summarize_outputs(cell)
    if detail == "full":
        return list(read_outputs(cell))
    return [make_readable(output) for output in read_outputs(cell)]


def _summarize_outputs(cell: Cell) -> OutputsSummary:
    spans = list_output_spans(cell)
    outputs = [json_spans.decode(cell.text, span) for span in spans]
    types = {
        str(output.get("output_type")) if isinstance(output, dict) else "unknown"
        for output in outputs
    }
    return OutputsSummary(
        count=len(spans), types=sorted(types), bytes=sum(span.stop - span.start for span in spans)
    )


def render_within_budget(
    cells: Iterable[Cell], options: ViewOptions, max_chars: int
) -> list[CellView]:
    """Render the first cells, at least one, within a budget of characters.

    Return the views of the cells whose first line fits; each lists what was omitted from it. A cell
    that cannot be read has a `problem`.
    """
    budget = _Budget(max(0, max_chars))
    entries = list(_render_outline(cells, options, budget))
    if options.view != "outline":
        for entry in entries:
            entry.add_source(budget)
    for entry in entries:
        entry.add_other_members(budget, are_outputs_indivisible=options.outputs_detail == "full")
    return [entry.view for entry in entries]


@dataclass
class _Budget:
    remaining_chars: int

    def spend(self, cost: int) -> bool:
        """Spend an amount if it is available; return whether it was."""
        is_available = cost <= self.remaining_chars
        self.remaining_chars -= cost if is_available else 0
        return is_available


def _render_outline(
    cells: Iterable[Cell], options: ViewOptions, budget: _Budget
) -> Iterator[_BudgetedCell]:
    """Yield the cells whose first line fits, and the first cell."""
    is_first = True
    for cell in cells:
        try:
            summary = summarize_source(cell.source)
        except InvalidNotebook:
            summary = ""
        # Without a minimum cost, the number of empty cells would not be limited.
        cost = max(1, len(summary))
        paid = min(cost, budget.remaining_chars) if is_first else cost
        if not budget.spend(paid):
            return
        view = render_cell(cell, options)
        if view.problem is UNSET:
            view.summary = summary[:paid]
        yield _BudgetedCell(view, paid, is_truncated=paid < cost)
        is_first = False


@dataclass
class _BudgetedCell:
    """A view with the first line of a cell, the cost of this line, and whether it was shortened."""

    view: CellView
    cost: int
    is_truncated: bool
    omitted_sizes: dict[str, int] = field(default_factory=dict)

    def add_source(self, budget: _Budget) -> None:
        """Show the source instead of the first line, as far as the budget allows."""
        view, source, summary = self.view, self.view.source or "", self.view.summary or ""
        if view.problem is not UNSET:
            return
        available = budget.remaining_chars + self.cost
        shown = source[:available]
        if len(shown) <= len(summary) and shown != source and not self.is_truncated:
            shown, view.source = "", UNSET
        else:
            view.source, view.summary = shown, UNSET
            budget.remaining_chars = available - max(1, len(shown))
        if shown != source:
            self.omitted_sizes["source"] = len(source) - len(shown)

    def add_other_members(self, budget: _Budget, *, are_outputs_indivisible: bool) -> None:
        """Show metadata, attachments and outputs as far as the budget allows."""
        view, omitted_sizes = self.view, self.omitted_sizes
        if view.metadata is not UNSET and not budget.spend(cost := len(encode_json(view.metadata))):
            view.metadata, omitted_sizes["metadata"] = UNSET, cost
        if view.attachments is not UNSET and not budget.spend(
            cost := len(encode_json(view.attachments))
        ):
            view.attachments, omitted_sizes["attachments"] = UNSET, cost
        if isinstance(view.outputs, list):
            outputs, characters = _select_outputs(
                view.outputs, budget, are_indivisible=are_outputs_indivisible
            )
            if characters:
                omitted_sizes["outputs"] = characters
            if len(outputs) < len(view.outputs):
                omitted_sizes["output_count"] = len(view.outputs) - len(outputs)
            view.outputs = outputs
        if omitted_sizes:
            view.omitted = CellTruncation(**omitted_sizes)


def _select_outputs(
    outputs: list[dict[str, Any]], budget: _Budget, *, are_indivisible: bool
) -> tuple[list[dict[str, Any]], int]:
    """Return the outputs up to the first that does not fit, and the number of other characters."""
    selected_outputs: list[dict[str, Any]] = []
    omitted_characters = 0
    for number, output in enumerate(outputs):
        fields = [] if are_indivisible else list(list_text_fields(output))
        texts = [holder[name] for holder, name in fields]
        for holder, name in fields:
            holder[name] = ""
        # The JSON escapes of texts are part of the reply, not of the notebook, and cost nothing.
        frame = len(encode_json(output))
        is_complete = number == len(selected_outputs) and not omitted_characters
        if not is_complete or not budget.spend(frame):
            omitted_characters += frame if are_indivisible else sum(map(len, texts))
            continue
        for (holder, name), text in zip(fields, texts, strict=True):
            holder[name] = text[: budget.remaining_chars]
            budget.spend(len(holder[name]))
            omitted_characters += len(text) - len(holder[name])
        selected_outputs.append(output)
    return selected_outputs, omitted_characters
