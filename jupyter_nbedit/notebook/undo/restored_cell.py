"""A cell that an undo returns to what it was before an edit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from jupyter_nbedit.notebook import json_edit, json_spans
from jupyter_nbedit.notebook.document import Cell
from jupyter_nbedit.notebook.edited_cell import EditedCell
from jupyter_nbedit.notebook.json_style import Style
from jupyter_nbedit.notebook.splices import Splice
from jupyter_nbedit.notebook.undo.part_members import restore_members
from jupyter_nbedit.notebook.undo.record import CellUndo, UndoRecord


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
        values = restore_members(record, part, cell, style)
        cell_type, source = _get_type_and_source(part)
        return cls(
            cell.index,
            cell,
            cell.index,
            cell.id,
            cell_type if "cell_type" in values else cell.cell_type,
            source if "source" in values else cell.source,
            members=values,
            text=_fill_in(record, part, values, cell, style),
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

    def write_cell(self, style: Style) -> bytes:
        """Return the bytes of the whole cell, with the source that was chosen for it since."""
        if self.source == self.original_source:
            return self.text
        members = json_spans.list_members(self.text)
        cell_style = self.get_style(style).derive(self.text, members)
        source = cell_style.write_source(self.source)
        return json_edit.set_own_members(self.text, members, {"source": source}, cell_style)


def _get_type_and_source(part: CellUndo) -> tuple[str, str]:
    """Return the type and the source before the edit."""
    before = part.before
    return ("", "") if before is None else (before.cell_type or "", before.source or "")


def _fill_in(
    record: UndoRecord,
    part: CellUndo,
    values: Mapping[str, bytes | None],
    cell: Cell,
    style: Style,
) -> bytes:
    """Return the text of a cell with restored values, and the current ones of other members."""
    counts = Counter(fragment.name for fragment in part.fragments or ())
    texts: list[bytes] = []
    changes: dict[str, bytes | None] = {}
    names: set[str] = set()
    for name, stored in record.list_texts(part):
        if name is None:
            texts.append(stored or b"")
            continue
        names.add(name)
        if counts[name] > 1:
            # The values of a repeated member are not told apart.
            value = stored
        else:
            value = values[name] if name in values else cell.get_raw(name)
        # A member that was removed after the edit is null for a moment.
        texts.append(b"null" if value is None else value)
        if value is None:
            changes[name] = None
    changes |= {
        name: values[name] if name in values else cell.get_raw(name)
        for name in dict.fromkeys((*cell.members, *values))
        if name not in names
    }
    text = b"".join(texts)
    if all(value is None and name not in names for name, value in changes.items()):
        return text
    cell_style = style.get_cell_style(cell)
    return json_edit.set_own_members(text, json_spans.list_members(text), changes, cell_style)
