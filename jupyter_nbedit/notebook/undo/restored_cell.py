"""A cell that an undo returns to what it was before an edit."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from jupyter_nbedit.notebook import json_edit, json_spans
from jupyter_nbedit.notebook.document import Cell
from jupyter_nbedit.notebook.edited_cell import (
    EXECUTION_MEMBERS,
    EditedCell,
    is_filled,
    list_filled_members,
)
from jupyter_nbedit.notebook.json_spans import Span
from jupyter_nbedit.notebook.json_style import Style
from jupyter_nbedit.notebook.splices import Splice
from jupyter_nbedit.notebook.undo.record import EXECUTION, CellUndo, UndoRecord, is_json_equal


@dataclass
class RestoredCell(EditedCell):
    """A cell that is returned to its state before an edit.

    ``pieces`` are its text: bytes, and ranges of the document that are kept.
    """

    pieces: Sequence[bytes | Span] = ()

    @classmethod
    def from_record(cls, record: UndoRecord, part: CellUndo, token: int, gap: int) -> RestoredCell:
        """Create a cell that no longer exists."""
        return cls(
            token,
            None,
            gap,
            part.cell_id,
            *_get_type_and_source(part),
            members={**record.read_members(part)},
            pieces=[text for _, text in record.list_texts(part) if text is not None],
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
        return cls(
            cell.index,
            cell,
            cell.index,
            cell.id,
            cell_type if "cell_type" in stored else cell.cell_type,
            source if "source" in stored else cell.source,
            members={**dict.fromkeys(part.added_members), **stored},
            pieces=_fill_holes(texts, part.added_members, cell, style),
        )

    @property
    def attachments(self) -> object:
        """The attachments before the edit."""
        value = self.get_member("attachments")
        return None if value is None else json_spans.decode(value)

    @property
    def changed_members(self) -> Collection[str]:
        """The names of the restored members."""
        return () if self.cell is None else self.members.keys()

    @property
    def outputs_cleared(self) -> bool:
        """Whether it has outputs or an execution count now and loses them."""
        had_outputs, gets_outputs = self._outputs
        return had_outputs and not gets_outputs

    @property
    def outputs_returned(self) -> bool:
        """Whether it gets outputs or an execution count back."""
        had_outputs, gets_outputs = self._outputs
        return gets_outputs and not had_outputs

    @property
    def _outputs(self) -> tuple[bool, bool]:
        """Whether the cell has outputs now, and will have; both False if they stay."""
        if self.cell is None or EXECUTION_MEMBERS.isdisjoint(self.members):
            return False, False
        values = {name: self.get_member(name) for name in EXECUTION_MEMBERS}
        gets_outputs = any(
            value is not None and is_filled(name, value, Span(0, len(value)))
            for name, value in values.items()
        )
        return bool(self._filled_members), gets_outputs

    def compile_splices(self, _style: Style) -> list[Splice]:
        """Return the splices that restore the cell in place; ranges that are kept stay."""
        splices: list[Splice] = []
        if self.cell is None:
            return splices
        position, text = self.cell.span.start, b""
        for piece in (*self.pieces, Span(self.cell.span.stop, self.cell.span.stop)):
            if isinstance(piece, bytes):
                text += piece
            elif piece.start < position:
                # Another program has reordered the members.
                text += self.cell.text[piece.start : piece.stop]
            else:
                if self.cell.text[position : piece.start] != text:
                    splices.append(Splice(position, piece.start, text))
                position, text = piece.stop, b""
        return splices

    def write_cell(self, style: Style) -> bytes:
        """Return the bytes of the whole cell."""
        if self.cell is None:
            return b"".join(one for one in self.pieces if isinstance(one, bytes))
        return super().write_cell(style)


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
) -> Sequence[bytes | Span]:
    """Return the text of a cell with the current values of the members that are not stored."""
    pieces: list[bytes | Span] = []
    changes: dict[str, bytes | None] = {}
    for name, text in texts:
        if text is not None:
            pieces.append(text)
        elif name in cell.members:
            pieces.append(cell.members[name].value)
        else:
            # The member was removed after the edit.
            changes[name or ""] = None
            pieces.append(b"null")
    known_names = {*added_members, *(name for name, _ in texts)}
    changes |= {name: cell.get_raw(name) for name in cell.members if name not in known_names}
    if not changes:
        return pieces
    cell_style = style.get_cell_style(cell)
    cell_text = b"".join(
        piece if isinstance(piece, bytes) else cell.text[slice(*piece)] for piece in pieces
    )
    members = json_spans.list_members(cell_text)
    return [json_edit.set_own_members(cell_text, members, changes, cell_style)]
