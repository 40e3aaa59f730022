"""Render the first cells of a notebook within a budget of characters (``max_chars``)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from jupyter_nbedit.notebook.document import Cell
from jupyter_nbedit.notebook.graphemes import find_grapheme_boundary
from jupyter_nbedit.notebook.outputs import (
    Slot,
    list_texts,
    to_json,
)
from jupyter_nbedit.notebook.views import (
    CellTruncation,
    CellView,
    Show,
    render_cell,
    summarize_source,
)


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
