"""What a reader of a notebook is shown."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from jupyter_nbedit.notebook import json_spans
from jupyter_nbedit.notebook.document import Cell
from jupyter_nbedit.notebook.outputs import (
    Slot,
    keep_data,
    list_output_spans,
    list_texts,
    read_attachments,
    read_outputs,
    summarize,
    to_json,
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


@dataclass
class _Line:
    """A cell's line in the outline, what it costs, and whether it had to be cut."""

    cell: Cell
    text: str
    cost: int
    cut: bool


@dataclass
class _Budget:
    left: int

    def take(self, cost: int) -> bool:
        """Pay a price, if there is enough left."""
        if cost > self.left:
            return False
        self.left -= cost
        return True

    def cut(self, slot: Slot) -> int:
        """Pay for a text, of which only the beginning stays if there is not enough left.

        Returns
        -------
        How many characters were cut off.
        """
        holder, name = slot
        text = holder[name]
        stop = find_grapheme_boundary(text, self.left)
        holder[name] = text[:stop]
        self.left -= stop
        return len(text) - stop


def render_within_budget(cells: Iterable[Cell], show: Show, max_chars: int) -> list[CellView]:
    """Show the first of some cells, at least one, within a budget.

    Returns
    -------
    The cells whose first line has room; each says what is left out of it.

    Raises
    ------
    InvalidNotebook
        If a cell cannot be read.
    """
    budget = _Budget(max_chars)
    views = [_add_source(line, show, budget) for line in _render_outline(cells, budget)]
    return [_add_other_members(view, show, budget) for view in views]


def _render_outline(cells: Iterable[Cell], budget: _Budget) -> list[_Line]:
    lines: list[_Line] = []
    for cell in cells:
        text = summarize_source(cell.source)
        # Without a price for each cell, a notebook of empty ones would have no bound.
        cost = max(1, len(text))
        if budget.take(cost):
            lines.append(_Line(cell, text, cost, cut=False))
            continue
        if not lines:
            cost, budget.left = budget.left, 0
            lines.append(_Line(cell, text[: find_grapheme_boundary(text, cost)], cost, cut=True))
        break
    return lines


def _add_source(line: _Line, show: Show, budget: _Budget) -> CellView:
    """Show a cell's source in place of its line, as far as the budget goes."""
    view = render_cell(line.cell, show)
    source = line.cell.source
    if show.view == "outline":
        return msgspec.structs.replace(view, summary=line.text)
    available = budget.left + line.cost
    stop = find_grapheme_boundary(source, available)
    if stop < len(source) and stop <= len(line.text) and not line.cut:
        return msgspec.structs.replace(
            view, source=UNSET, summary=line.text, omitted=CellTruncation(source=len(source))
        )
    budget.left = available - max(1, stop)
    omitted = CellTruncation(source=len(source) - stop) if stop < len(source) else UNSET
    return msgspec.structs.replace(view, source=source[:stop], omitted=omitted)


def _add_other_members(view: CellView, show: Show, budget: _Budget) -> CellView:
    left_out: dict[str, int] = {}
    metadata = _take_if_it_fits("metadata", view.metadata, budget, left_out)
    attachments = _take_if_it_fits("attachments", view.attachments, budget, left_out)
    outputs = view.outputs
    if isinstance(outputs, list):
        whole_or_not = show.of_outputs == "full"
        outputs = _take_outputs(outputs, budget, left_out, whole_or_not=whole_or_not)
    source = view.omitted.source if isinstance(view.omitted, CellTruncation) else 0
    omitted = CellTruncation(source=source, **left_out)
    return msgspec.structs.replace(
        view,
        metadata=metadata,
        attachments=attachments,
        outputs=outputs,
        omitted=omitted if omitted != CellTruncation() else UNSET,
    )


def _take_if_it_fits(
    name: str, value: dict[str, Any] | UnsetType, budget: _Budget, left_out: dict[str, int]
) -> dict[str, Any] | UnsetType:
    if isinstance(value, UnsetType):
        return UNSET
    cost = len(to_json(value))
    if budget.take(cost):
        return value
    left_out[name] = cost
    return UNSET


def _take_outputs(
    outputs: list[dict[str, Any]],
    budget: _Budget,
    left_out: dict[str, int],
    *,
    whole_or_not: bool,
) -> list[dict[str, Any]]:
    """Show outputs until one does not fit as a whole; after it there are no more."""
    shown: list[dict[str, Any]] = []
    characters = 0
    cut = False
    for output in outputs:
        slots = [] if whole_or_not else list(list_texts(output))
        kept = [holder[name] for holder, name in slots]
        for holder, name in slots:
            holder[name] = ""
        # Escapes make a text longer as JSON; they are the reply's, and not the notebook's text.
        frame = len(to_json(output))
        for (holder, name), text in zip(slots, kept, strict=True):
            holder[name] = text
        if not cut and budget.take(frame):
            left_out_here = sum(budget.cut(slot) for slot in slots)
            shown.append(output)
            cut = left_out_here > 0
            characters += left_out_here
        else:
            cut = True
            characters += frame if whole_or_not else sum(len(text) for text in kept)
    if characters:
        left_out["outputs"] = characters
    if len(shown) < len(outputs):
        left_out["output_count"] = len(outputs) - len(shown)
    return shown


_JOINER = "\u200d"
_NON_JOINER = "\u200c"
_HALF_WIDTH_VOICING = "\uff9e\uff9f"


def find_grapheme_boundary(text: str, limit: int) -> int:
    """Return the largest number of code points up to a limit that cuts no character."""
    if limit >= len(text):
        return len(text)
    stop = max(limit, 0)
    while stop > 0 and not _may_cut(text, stop):
        stop -= 1
    return stop


def _may_cut(text: str, at: int) -> bool:
    before, after = text[at - 1], text[at]
    if after < "\x80":
        return not (before == "\r" and after == "\n") and before != _JOINER
    return not (
        before == _JOINER
        or _is_extending(after)
        or (_is_surrogate(before) and _is_surrogate(after))
        or (_is_jamo(before) and _is_jamo(after))
        or (_is_flag(after) and _count_flags_before(text, at) % 2 == 1)
    )


def _is_extending(character: str) -> bool:
    """Return whether it belongs to the one before: marks, joiners, skin tones, tags."""
    return (
        unicodedata.category(character) in {"Mn", "Mc", "Me"}
        or character in {_JOINER, _NON_JOINER}
        or character in _HALF_WIDTH_VOICING
        or "\U0001f3fb" <= character <= "\U0001f3ff"
        or "\U000e0020" <= character <= "\U000e007f"
    )


def _is_surrogate(character: str) -> bool:
    return "\ud800" <= character <= "\udfff"


def _is_jamo(character: str) -> bool:
    """Return whether it is a Korean syllable or a part of one: neighbours may be one syllable."""
    return (
        "\u1100" <= character <= "\u11ff"
        or "\ua960" <= character <= "\ua97f"
        or "\uac00" <= character <= "\ud7ff"
    )


def _is_flag(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _count_flags_before(text: str, at: int) -> int:
    """Count the letters of flags that end at a place; two of them make a flag."""
    start = at
    while start > 0 and _is_flag(text[start - 1]):
        start -= 1
    return at - start
