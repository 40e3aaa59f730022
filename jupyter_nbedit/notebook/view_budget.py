"""Render the first cells of a notebook within a budget of characters (``max_chars``)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from jupyter_nbedit.notebook.document import Cell
from jupyter_nbedit.notebook.outputs import (
    TextField,
    list_text_fields,
    to_json,
)
from jupyter_nbedit.notebook.views import (
    CellTruncation,
    CellView,
    ViewOptions,
    render_cell,
    summarize_source,
)


@dataclass
class _OutlineEntry:
    """The first line of a cell, its cost, and whether it was shortened."""

    cell: Cell
    text: str
    cost: int
    is_truncated: bool


@dataclass
class _Budget:
    remaining_chars: int

    def spend(self, cost: int) -> bool:
        """Spend an amount if it is available; return whether it was."""
        if cost > self.remaining_chars:
            return False
        self.remaining_chars -= cost
        return True

    def truncate(self, slot: TextField) -> int:
        """Shorten a text to what fits, spend that, and return how many characters were removed."""
        holder, name = slot
        text = holder[name]
        holder[name] = text[: self.remaining_chars]
        self.remaining_chars -= len(holder[name])
        return len(text) - len(holder[name])


def render_within_budget(
    cells: Iterable[Cell], options: ViewOptions, max_chars: int
) -> list[CellView]:
    """Render the first cells, at least one, within a budget of characters.

    Return the views of the cells whose first line fits; each lists what was omitted from it. Raise
    `InvalidNotebook` if a cell cannot be read.
    """
    budget = _Budget(max(0, max_chars))
    views = [_add_source(entry, options, budget) for entry in _render_outline(cells, budget)]
    return [_add_other_members(view, options, budget) for view in views]


def _render_outline(cells: Iterable[Cell], budget: _Budget) -> list[_OutlineEntry]:
    entries: list[_OutlineEntry] = []
    for cell in cells:
        text = summarize_source(cell.source)
        # Without a minimum cost, the number of empty cells would not be limited.
        cost = max(1, len(text))
        if budget.spend(cost):
            entries.append(_OutlineEntry(cell, text, cost, is_truncated=False))
            continue
        if not entries:
            cost, budget.remaining_chars = budget.remaining_chars, 0
            entries.append(_OutlineEntry(cell, text[:cost], cost, is_truncated=True))
        break
    return entries


def _add_source(entry: _OutlineEntry, options: ViewOptions, budget: _Budget) -> CellView:
    """Render a cell with its source instead of its first line, as far as the budget allows."""
    view = render_cell(entry.cell, options)
    source = entry.cell.source
    if options.view == "outline":
        return msgspec.structs.replace(view, summary=entry.text)
    available = budget.remaining_chars + entry.cost
    stop = min(len(source), available)
    if stop < len(source) and stop <= len(entry.text) and not entry.is_truncated:
        return msgspec.structs.replace(
            view, source=UNSET, summary=entry.text, omitted=CellTruncation(source=len(source))
        )
    budget.remaining_chars = available - max(1, stop)
    truncation = CellTruncation(source=len(source) - stop) if stop < len(source) else UNSET
    return msgspec.structs.replace(view, source=source[:stop], omitted=truncation)


def _add_other_members(view: CellView, options: ViewOptions, budget: _Budget) -> CellView:
    omitted_sizes: dict[str, int] = {}
    metadata = _spend_on_member("metadata", view.metadata, budget, omitted_sizes)
    attachments = _spend_on_member("attachments", view.attachments, budget, omitted_sizes)
    outputs = view.outputs
    if isinstance(outputs, list):
        whole_or_not = options.outputs_detail == "full"
        outputs = _spend_on_outputs(outputs, budget, omitted_sizes, are_indivisible=whole_or_not)
    source = view.omitted.source if isinstance(view.omitted, CellTruncation) else 0
    truncation = CellTruncation(source=source, **omitted_sizes)
    return msgspec.structs.replace(
        view,
        metadata=metadata,
        attachments=attachments,
        outputs=outputs,
        omitted=truncation if truncation != CellTruncation() else UNSET,
    )


def _spend_on_member(
    name: str, value: dict[str, Any] | UnsetType, budget: _Budget, omitted_sizes: dict[str, int]
) -> dict[str, Any] | UnsetType:
    if isinstance(value, UnsetType):
        return UNSET
    cost = len(to_json(value))
    if budget.spend(cost):
        return value
    omitted_sizes[name] = cost
    return UNSET


def _spend_on_outputs(
    outputs: list[dict[str, Any]],
    budget: _Budget,
    omitted_sizes: dict[str, int],
    *,
    are_indivisible: bool,
) -> list[dict[str, Any]]:
    """Return the outputs up to the first that does not fit as a whole."""
    rendered_outputs: list[dict[str, Any]] = []
    characters = 0
    is_truncated = False
    for output in outputs:
        slots = [] if are_indivisible else list(list_text_fields(output))
        texts = [holder[name] for holder, name in slots]
        for holder, name in slots:
            holder[name] = ""
        # The JSON escapes of texts are part of the reply, not of the notebook, and cost nothing.
        frame = len(to_json(output))
        for (holder, name), text in zip(slots, texts, strict=True):
            holder[name] = text
        if not is_truncated and budget.spend(frame):
            omitted_characters = sum(budget.truncate(slot) for slot in slots)
            rendered_outputs.append(output)
            is_truncated = omitted_characters > 0
            characters += omitted_characters
        else:
            is_truncated = True
            characters += frame if are_indivisible else sum(len(text) for text in texts)
    if characters:
        omitted_sizes["outputs"] = characters
    if len(rendered_outputs) < len(outputs):
        omitted_sizes["output_count"] = len(outputs) - len(rendered_outputs)
    return rendered_outputs
