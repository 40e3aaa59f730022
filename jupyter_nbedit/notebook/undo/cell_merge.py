"""Merge what an undo does to a cell with what others have done to the cell since the edit.

The record of a proposal is that of an undo, too: its state before the edit is the proposed one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from jupyter_nbedit.notebook import json_edit
from jupyter_nbedit.notebook.document import Cell, Document
from jupyter_nbedit.notebook.edited_cell import (
    EXECUTION_MEMBERS,
    EditedCell,
    list_filled_members,
)
from jupyter_nbedit.notebook.json_style import Style
from jupyter_nbedit.notebook.line_merge import merge_lines
from jupyter_nbedit.notebook.members import is_same_member
from jupyter_nbedit.notebook.undo.cell_locator import CellLocator
from jupyter_nbedit.notebook.undo.record import (
    VOLATILE_MEMBERS,
    CellState,
    CellUndo,
    UndoRecord,
    compute_fingerprint,
)

# Members that have rules of their own.
_MERGED_MEMBERS = frozenset(("id", "source", "cell_type", "metadata", "attachments"))


@dataclass(frozen=True)
class ChosenSource:
    """The source that a person wants in a cell which has a source hash now.

    None removes the cell, as the undo would if nobody had changed it.
    """

    source_hash: str
    source: str | None


@dataclass(frozen=True)
class Resolution:
    """What becomes of cells that were changed since the edit.

    ``chosen_sources`` has the sources for some parts. With ``merges_lines``, the cells of the other
    parts are merged if their lines are not in conflict.
    """

    chosen_sources: Mapping[int, ChosenSource] = field(default_factory=dict)
    merges_lines: bool = False

    def merge_sources(
        self, document: Document, record: UndoRecord, changed_cells: Mapping[int, int]
    ) -> dict[int, str]:
        """Return the merged sources by part, as far as cells can be merged."""
        if not self.merges_lines:
            return {}
        sources = {
            number: merge_source(record, record.parts[number], document.get_cell(index))
            for number, index in changed_cells.items()
            if number not in self.chosen_sources
        }
        return {number: source for number, source in sources.items() if source is not None}


#: Cells that were changed since the edit are conflicts.
NO_RESOLUTION = Resolution()


def list_changed_cells(
    parts: Mapping[int, CellUndo],
    locator: CellLocator,
    conflicts: Mapping[int, Mapping[str, Any]],
) -> dict[int, int]:
    """Return the indexes of cells that were changed since the edit, by part."""
    indexes = {
        number: locator.find_changed_cell(parts[number])
        for number, conflict in conflicts.items()
        if conflict["why"] == "changed" and number in parts
    }
    return {number: index for number, index in indexes.items() if index is not None}


def merge_source(record: UndoRecord, part: CellUndo, cell: Cell) -> str | None:
    """Return the source of a cell with both changes, merged by line.

    Return None if lines conflict, if another member of the cell was changed by both, if others have
    changed the type of the cell, or if the undo removes the cell.
    """
    before, after = part.before, part.after
    if before is None or after is None or cell.cell_type != after.cell_type:
        return None
    if _changes_member(record, part, "attachments") and not _has_same_attachments(part, cell):
        return None
    metadata = cell.metadata
    if any(
        name not in VOLATILE_MEMBERS
        and not is_same_member(metadata, after.metadata, name)
        and not is_same_member(metadata, before.metadata, name)
        for name in _list_changed_names(before, after)
    ):
        return None
    return merge_lines(after.source or "", cell.source, before.source or "")


def has_outdated_outputs(record: UndoRecord, part: CellUndo, cell: Cell) -> bool:
    """Return whether a proposal clears outputs of a cell that has been run since."""
    return (
        part.clears_outputs
        and record.read_members(part).keys().isdisjoint(EXECUTION_MEMBERS)
        and bool(list_filled_members(cell))
    )


def merge_cell(  # noqa: PLR0913 -- what is merged, and how
    record: UndoRecord,
    part: CellUndo,
    edited_cell: EditedCell,
    style: Style,
    source: str,
    *,
    clears_outputs: bool,
) -> None:
    """Give an existing cell a source, and the other members that the undo restores.

    A member stays as it is now if others have changed it since the edit.
    """
    cell, before, after = edited_cell.cell, part.before, part.after
    edited_cell.source = source
    edited_cell.clears_outputs = clears_outputs
    if cell is None or before is None or after is None or part.fragments is None:
        return
    stored_members = record.read_members(part)
    if "cell_type" in stored_members and cell.cell_type == after.cell_type:
        edited_cell.change_type(before.cell_type or "")
    if _changes_member(record, part, "metadata"):
        edited_cell.members["metadata"] = _merge_metadata(
            cell, before, after, stored_members.get("metadata"), style
        )
    if edited_cell.cell_type != before.cell_type:
        return
    if _changes_member(record, part, "attachments") and _has_same_attachments(part, cell):
        edited_cell.members["attachments"] = stored_members.get("attachments")
    restored_members = {**dict.fromkeys(part.added_members), **stored_members}
    for name in restored_members.keys() - _MERGED_MEMBERS:
        edited_cell.members[name] = restored_members[name]


def _changes_member(record: UndoRecord, part: CellUndo, name: str) -> bool:
    return name in part.added_members or name in record.read_members(part)


def _has_same_attachments(part: CellUndo, cell: Cell) -> bool:
    """Return whether a cell has the attachments that it had after the edit."""
    after = part.after
    return after is not None and compute_fingerprint(after, cell.attachments) == part.fingerprint


def _list_changed_names(before: CellState, after: CellState) -> Iterable[str]:
    """Return the names in the metadata that differ before and after the edit."""
    names = {**before.metadata, **after.metadata}
    return [name for name in names if not is_same_member(before.metadata, after.metadata, name)]


def _merge_metadata(
    cell: Cell, before: CellState, after: CellState, stored: bytes | None, style: Style
) -> bytes:
    """Return the encoded metadata, by name: as before the edit, or as they are now."""
    metadata: dict[str, Any] = cell.metadata
    old_values = json_edit.read_values(stored)
    changes = {
        name: old_values.get(name)
        for name in _list_changed_names(before, after)
        if name in VOLATILE_MEMBERS or is_same_member(metadata, after.metadata, name)
    }
    return json_edit.set_members(
        cell.get_raw("metadata") or b"{}", changes, style.get_cell_style(cell)
    )
