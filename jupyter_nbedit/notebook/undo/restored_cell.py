"""A cell that an undo returns to what it was before an edit."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from jupyter_nbedit.notebook import json_edit, json_spans
from jupyter_nbedit.notebook.document import Cell
from jupyter_nbedit.notebook.edited_cell import (
    EXECUTION_MEMBERS,
    EditedCell,
    has_outputs,
    has_value,
)
from jupyter_nbedit.notebook.json_spans import Span
from jupyter_nbedit.notebook.json_style import Style
from jupyter_nbedit.notebook.splices import Splice
from jupyter_nbedit.notebook.undo.record import (
    EXECUTION,
    CellUndo,
    Fragment,
    UndoRecord,
    is_json_equal,
)


@dataclass
class RestoredCell(EditedCell):
    """A cell that becomes what it was.

    Parameters
    ----------
    pieces
        Its text: bytes, and ranges of the document that stay as they are.
    """

    pieces: Sequence[bytes | Span] = ()

    @classmethod
    def create(cls, record: UndoRecord, part: CellUndo, token: int, gap: int) -> RestoredCell:
        """Make a cell that is not there any more."""
        cell_type, source = _get_type_and_source(part)
        return cls(
            token,
            None,
            gap,
            part.cell_id,
            cell_type,
            source,
            members=_read_kept_members(record, part),
            moved=part.moved,
            pieces=[
                record.read_blob(*one.blob_range)
                for one in part.former or ()
                if one.blob_range is not None
            ],
        )

    @classmethod
    def from_cell(
        cls, record: UndoRecord, part: CellUndo, cell: Cell, style: Style
    ) -> RestoredCell:
        """Make a cell what it was, but for what the edit did not touch."""
        part = _drop_old_execution(part, cell)
        members = {**dict.fromkeys(part.added), **_read_kept_members(record, part)}
        if "metadata" in members and "outputs" not in members:
            members["metadata"] = _is_run_since(part, cell, members["metadata"], style)
        cell_type, source = _get_type_and_source(part)
        return cls(
            cell.index,
            cell,
            cell.index,
            cell.id,
            cell_type if "cell_type" in members else cell.cell_type,
            source if "source" in members else cell.source,
            members=members,
            pieces=_fill_fragments(record, part, cell, members, style),
        )

    @property
    def attachments(self) -> object:
        """Its attachments, as it had them."""
        value = self.get_member("attachments")
        return None if value is None else json_spans.decode(value, Span(0, len(value)))

    @property
    def changed_members(self) -> Collection[str]:
        """The names of the members that become what they were."""
        return () if self.cell is None else self.members.keys()

    @property
    def outputs_cleared(self) -> bool:
        """Whether it has outputs or a count, and had none before the edit."""
        had, has = self._outputs
        return had and not has

    @property
    def outputs_returned(self) -> bool:
        """Whether it gets outputs or a count back."""
        had, has = self._outputs
        return has and not had

    @property
    def _outputs(self) -> tuple[bool, bool]:
        """Whether the cell had outputs or a count, and has them; both False if they stay."""
        if self.cell is None or EXECUTION_MEMBERS.isdisjoint(self.members):
            return False, False
        has = any(has_value(name, self.get_member(name)) for name in EXECUTION_MEMBERS)
        return has_outputs(self.cell), has

    def compile_splices(self, _style: Style) -> list[Splice]:
        """Return the splices that make the cell what it was."""
        return [] if self.cell is None else _compile_splices(self.cell, self.pieces)

    def write_cell(self, style: Style) -> bytes:
        """Write the whole cell."""
        if self.cell is None:
            return b"".join(one for one in self.pieces if isinstance(one, bytes))
        return super().write_cell(style)


def _drop_old_execution(part: CellUndo, cell: Cell) -> CellUndo:
    """Leave what a later run gave, if the source that was run stays; it is nobody's to take."""
    kept = {piece.name for piece in part.former or () if piece.blob_range is not None}
    if not part.outputs_cleared or kept & {"source", "cell_type"}:
        return part
    if not has_outputs(cell):
        return part
    former = [
        Fragment(piece.name, None) if piece.name in EXECUTION_MEMBERS else piece
        for piece in part.former or ()
    ]
    return replace(part, former=former)


def _get_type_and_source(part: CellUndo) -> tuple[str, str]:
    """Return the type and the source that a cell had."""
    before = part.before
    return ("", "") if before is None else (before.cell_type or "", before.source or "")


def _read_kept_members(record: UndoRecord, part: CellUndo) -> dict[str, bytes | None]:
    """Return the values of members that the record has, by their names."""
    return {
        piece.name: record.read_blob(*piece.blob_range)
        for piece in part.former or ()
        if piece.name is not None and piece.blob_range is not None
    }


def _is_run_since(part: CellUndo, cell: Cell, metadata: bytes | None, style: Style) -> bytes | None:
    """Return metadata with what a run after the edit has written there; its outputs stay."""
    left = part.after.metadata if part.after else {}
    if metadata is None or is_json_equal(left.get(EXECUTION), cell.metadata.get(EXECUTION)):
        return metadata
    now = json_edit.read_values(cell.get_raw("metadata"))
    text = metadata if json_spans.is_object(metadata, Span(0, len(metadata))) else b"{}"
    return json_edit.set_members(text, {EXECUTION: now.get(EXECUTION)}, style.get_cell_style(cell))


def _fill_fragments(
    record: UndoRecord,
    part: CellUndo,
    cell: Cell,
    members: Mapping[str, bytes | None],
    style: Style,
) -> Sequence[bytes | Span]:
    """Fill the holes in a former text with what stands in the cell now."""
    pieces: list[bytes | Span] = []
    gone: list[str] = []
    for piece in part.former or ():
        if piece.blob_range is not None:
            text = members.get(piece.name) if piece.name == "metadata" else None
            pieces.append(record.read_blob(*piece.blob_range) if text is None else text)
        elif piece.name in cell.members:
            pieces.append(cell.members[piece.name].value)
        else:
            # Somebody has taken out since what the edit had left alone.
            gone.append(piece.name or "")
            pieces.append(b"null")
    known = {*part.added, *(piece.name for piece in part.former or ())}
    more = {name: cell.get_raw(name) for name in cell.members if name not in known}
    if not gone and not more:
        return pieces
    own = style.get_cell_style(cell)
    whole = b"".join(one if isinstance(one, bytes) else cell.text[slice(*one)] for one in pieces)
    changes = {**dict.fromkeys(gone), **more}
    return [json_edit.set_ranked_members(whole, changes, own, own.get_order_key)]


def _compile_splices(cell: Cell, pieces: Sequence[bytes | Span]) -> list[Splice]:
    """Return the splices that make a cell of pieces; the ranges that can stay where they are do."""
    ranges = [one for one in pieces if isinstance(one, Span)]
    if ranges != sorted(ranges):
        # Somebody has written the members in another order.
        ranges = [max(ranges, key=lambda one: one.stop - one.start)]
    staying = set(ranges)
    splices: list[Splice] = []
    at, text = cell.span.start, b""
    for one in (*pieces, Span(cell.span.stop, cell.span.stop)):
        if isinstance(one, bytes):
            text += one
        elif one in staying or one.start == cell.span.stop:
            if cell.text[at : one.start] != text:
                splices.append(Splice(at, one.start, text))
            at, text = one.stop, b""
        else:
            text += cell.text[one.start : one.stop]
    return splices
