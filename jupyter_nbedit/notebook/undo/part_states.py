"""Compare the parts of an undo record with a notebook that was changed since the edit."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from jupyter_nbedit.notebook.document import Cell, Document
from jupyter_nbedit.notebook.undo.cell_locator import CellLocator
from jupyter_nbedit.notebook.undo.known_history import KnownHistory
from jupyter_nbedit.notebook.undo.part_members import merge_source, needs_merge
from jupyter_nbedit.notebook.undo.record import CellState, UndoRecord
from jupyter_nbedit.notebook.undo.revert import restore_metadata

PartStateName = Literal["as_proposed", "changed", "gone", "ambiguous"]


@dataclass(frozen=True)
class PartState:
    """Whether a part can be reverted, and if not, how its cell is now.

    ``current`` is set if the cell, or the notebook's metadata, have changed. ``current_hash`` is
    the source hash of that cell; ``merged`` is None if both changes cannot be merged.
    """

    name: PartStateName
    current: CellState | None = None
    current_hash: str | None = None
    merged: str | None = None


def list_part_states(
    document: Document, record: UndoRecord, numbers: Collection[int], history: KnownHistory
) -> dict[int, PartState]:
    """Return the states of some parts of a record by their numbers."""
    parts = {number: record.parts[number] for number in numbers}
    locator = CellLocator(
        document, record, {**history.list_open_parts(record), **parts}, history, parts
    )
    cells, _, conflicts = locator.find()
    changed_cells = locator.find_changed_cells(parts, conflicts)
    states: dict[int, PartState] = {}
    for number, part in parts.items():
        if part.is_notebook_metadata:
            later_parts = history.list_later_parts(record)
            _, names = restore_metadata(document, record, [part], later_parts, is_exact=False)
            current = CellState(cell_type=None, source=None, metadata=document.metadata)
            states[number] = PartState("changed", current) if names else PartState("as_proposed")
        elif number in changed_cells:
            states[number] = _build_changed(document.get_cell(changed_cells[number]), None)
        elif number in conflicts:
            is_gone = conflicts[number]["why"] == "gone"
            states[number] = PartState("gone" if is_gone else "ambiguous")
        elif number in cells and needs_merge(part, cell := document.get_cell(cells[number])):
            states[number] = _build_changed(cell, merge_source(part, cell))
        else:
            states[number] = PartState("as_proposed")
    return states


def _build_changed(cell: Cell, merged: str | None) -> PartState:
    return PartState("changed", CellState.from_cell(cell), cell.source_hash, merged)
