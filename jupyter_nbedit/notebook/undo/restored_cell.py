"""A cell that an undo returns to what it was before an edit."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from jupyter_nbedit.notebook import json_edit, json_spans
from jupyter_nbedit.notebook.document import Cell
from jupyter_nbedit.notebook.edited_cell import (
    EXECUTION_MEMBERS,
    EditedCell,
    list_filled_members,
)
from jupyter_nbedit.notebook.json_style import Style
from jupyter_nbedit.notebook.members import is_json_equal
from jupyter_nbedit.notebook.splices import Splice
from jupyter_nbedit.notebook.undo.record import EXECUTION, CellUndo, UndoRecord


@dataclass
class RestoredCell(EditedCell):
    """A cell that is returned to its state before an edit; ``text`` are its bytes."""

    text: bytes = b""

    @classmethod
    def from_record(cls, record: UndoRecord, part: CellUndo, token: int, gap: int) -> RestoredCell:
        """Create a cell that no longer exists."""
        members = record.read_members(part)
        cell_id = part.cell_id
        if cell_id is None and "id" in members:
            # The id was not unique, so it did not identify the cell.
            cell_id = json_spans.decode(members["id"])
        return cls(
            token,
            None,
            gap,
            cell_id if isinstance(cell_id, str) else None,
            *_get_type_and_source(part),
            members={**members},
            text=b"".join(text for _, text in record.list_texts(part) if text is not None),
        )

    @classmethod
    def from_cell(
        cls, record: UndoRecord, part: CellUndo, cell: Cell, style: Style
    ) -> RestoredCell:
        """Restore an existing cell; members that the edit did not change stay."""
        texts = record.list_texts(part)
        stored = record.read_members(part)
        is_source_kept = stored.keys().isdisjoint({"source", "cell_type"})
        if part.outputs_cleared and is_source_kept and list_filled_members(cell):
            # The outputs are of a later run of the same source.
            texts = [(name, None if name in EXECUTION_MEMBERS else text) for name, text in texts]
            stored = {name: stored[name] for name in stored.keys() - EXECUTION_MEMBERS}
        if "metadata" in stored and "outputs" not in stored:
            stored["metadata"] = _merge_later_execution(part, cell, stored["metadata"], style)
            texts = [(name, stored["metadata"] if name == "metadata" else t) for name, t in texts]
        cell_type, source = _get_type_and_source(part)
        restored = {**dict.fromkeys(part.added_members), **stored}
        return cls(
            cell.index,
            cell,
            cell.index,
            cell.id,
            cell_type if "cell_type" in restored else cell.cell_type,
            source if "source" in restored else cell.source,
            members=restored,
            text=_fill_holes(texts, part.added_members, cell, style),
        )

    @property
    def attachments(self) -> object:
        """The attachments before the edit."""
        value = self.get_member("attachments")
        return None if value is None else json_spans.decode(value)

    @property
    def clears_later_outputs(self) -> bool:
        """Whether it gets another source: outputs of a run since are not of that one."""
        return not {"source", "cell_type"}.isdisjoint(self.changed_members)

    @property
    def changed_members(self) -> Collection[str]:
        """The names of the restored members."""
        return () if self.cell is None else self.members.keys()

    def compile_splices(self, _style: Style) -> list[Splice]:
        """Return the splice that restores the cell in place."""
        cell = self.cell
        if cell is None or cell.text[cell.span.start : cell.span.stop] == self.text:
            return []
        return [Splice(*cell.span, self.text)]

    def write_cell(self, _style: Style) -> bytes:
        """Return the bytes of the whole cell."""
        return self.text


def _get_type_and_source(part: CellUndo) -> tuple[str, str]:
    """Return the type and the source before the edit."""
    before = part.before
    return ("", "") if before is None else (before.cell_type or "", before.source or "")


def _merge_later_execution(part: CellUndo, cell: Cell, metadata: bytes, style: Style) -> bytes:
    """Return metadata with the execution times of a run after the edit, whose outputs stay."""
    metadata_after_edit = part.after.metadata if part.after else {}
    if is_json_equal(metadata_after_edit.get(EXECUTION), cell.metadata.get(EXECUTION)):
        return metadata
    current_members = json_edit.read_values(cell.get_raw("metadata"))
    changes = {EXECUTION: current_members.get(EXECUTION)}
    return json_edit.set_members(metadata, changes, style.get_cell_style(cell))


def _fill_holes(
    texts: Sequence[tuple[str | None, bytes | None]],
    added_members: Collection[str],
    cell: Cell,
    style: Style,
) -> bytes:
    """Return the text of a cell with the current values of the members that are not stored."""
    # A member that was removed after the edit is null for a moment.
    text = b"".join(
        (cell.get_raw(name or "") or b"null") if stored is None else stored
        for name, stored in texts
    )
    names = {name for name, _ in texts}
    changes = {
        name: cell.get_raw(name) for name in cell.members if name not in {*added_members, *names}
    }
    changes |= {
        name: None for name, stored in texts if stored is None and name and name not in cell.members
    }
    if not changes:
        return text
    cell_style = style.get_cell_style(cell)
    return json_edit.set_own_members(text, json_spans.list_members(text), changes, cell_style)
