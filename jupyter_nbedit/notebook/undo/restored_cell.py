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
    """A cell that is returned to its state before an edit.

    Parameters
    ----------
    pieces
        Its text: bytes, and ranges of the document that are kept.
    """

    pieces: Sequence[bytes | Span] = ()

    @classmethod
    def from_record(cls, record: UndoRecord, part: CellUndo, token: int, gap: int) -> RestoredCell:
        """Create a cell that no longer exists."""
        cell_type, source = _get_type_and_source(part)
        return cls(
            token,
            None,
            gap,
            part.cell_id,
            cell_type,
            source,
            members=_read_stored_members(record, part),
            is_moved=part.is_moved,
            pieces=[
                record.read_blob(*fragment.blob_range)
                for fragment in part.fragments or ()
                if fragment.blob_range is not None
            ],
        )

    @classmethod
    def from_cell(
        cls, record: UndoRecord, part: CellUndo, cell: Cell, style: Style
    ) -> RestoredCell:
        """Restore an existing cell; members that the edit did not change stay."""
        part = _drop_old_execution(part, cell)
        members = {**dict.fromkeys(part.added_members), **_read_stored_members(record, part)}
        if "metadata" in members and "outputs" not in members:
            members["metadata"] = _merge_later_execution(part, cell, members["metadata"], style)
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
        """The attachments before the edit."""
        value = self.get_member("attachments")
        return None if value is None else json_spans.decode(value, Span(0, len(value)))

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
        has_now = any(has_value(name, self.get_member(name)) for name in EXECUTION_MEMBERS)
        return has_outputs(self.cell), has_now

    def compile_splices(self, _style: Style) -> list[Splice]:
        """Return the splices that restore the cell in place."""
        return [] if self.cell is None else _compile_splices(self.cell, self.pieces)

    def write_cell(self, style: Style) -> bytes:
        """Return the bytes of the whole cell."""
        if self.cell is None:
            return b"".join(one for one in self.pieces if isinstance(one, bytes))
        return super().write_cell(style)


def _drop_old_execution(part: CellUndo, cell: Cell) -> CellUndo:
    """Keep the outputs of a later run if the source that was run stays."""
    stored_names = {
        fragment.name for fragment in part.fragments or () if fragment.blob_range is not None
    }
    if not part.outputs_cleared or stored_names & {"source", "cell_type"}:
        return part
    if not has_outputs(cell):
        return part
    fragments = [
        Fragment(fragment.name, None) if fragment.name in EXECUTION_MEMBERS else fragment
        for fragment in part.fragments or ()
    ]
    return replace(part, fragments=fragments)


def _get_type_and_source(part: CellUndo) -> tuple[str, str]:
    """Return the type and the source before the edit."""
    before = part.before
    return ("", "") if before is None else (before.cell_type or "", before.source or "")


def _read_stored_members(record: UndoRecord, part: CellUndo) -> dict[str, bytes | None]:
    """Return the member values that the record contains, by name."""
    return {
        fragment.name: record.read_blob(*fragment.blob_range)
        for fragment in part.fragments or ()
        if fragment.name is not None and fragment.blob_range is not None
    }


def _merge_later_execution(
    part: CellUndo, cell: Cell, metadata: bytes | None, style: Style
) -> bytes | None:
    """Return metadata with the execution times of a run after the edit, whose outputs stay."""
    metadata_after_edit = part.after.metadata if part.after else {}
    if metadata is None or is_json_equal(
        metadata_after_edit.get(EXECUTION), cell.metadata.get(EXECUTION)
    ):
        return metadata
    current_members = json_edit.read_values(cell.get_raw("metadata"))
    text = metadata if json_spans.is_object(metadata, Span(0, len(metadata))) else b"{}"
    return json_edit.set_members(
        text, {EXECUTION: current_members.get(EXECUTION)}, style.get_cell_style(cell)
    )


def _fill_fragments(
    record: UndoRecord,
    part: CellUndo,
    cell: Cell,
    members: Mapping[str, bytes | None],
    style: Style,
) -> Sequence[bytes | Span]:
    """Return the text of a cell with the current values in the holes of its fragments."""
    pieces: list[bytes | Span] = []
    missing_names: list[str] = []
    for fragment in part.fragments or ():
        if fragment.blob_range is not None:
            text = members.get(fragment.name) if fragment.name == "metadata" else None
            pieces.append(record.read_blob(*fragment.blob_range) if text is None else text)
        elif fragment.name in cell.members:
            pieces.append(cell.members[fragment.name].value)
        else:
            # The member was removed after the edit.
            missing_names.append(fragment.name or "")
            pieces.append(b"null")
    known_names = {*part.added_members, *(fragment.name for fragment in part.fragments or ())}
    new_members = {name: cell.get_raw(name) for name in cell.members if name not in known_names}
    if not missing_names and not new_members:
        return pieces
    style_of_cell = style.get_cell_style(cell)
    cell_text = b"".join(
        piece if isinstance(piece, bytes) else cell.text[slice(*piece)] for piece in pieces
    )
    changes = {**dict.fromkeys(missing_names), **new_members}
    return [
        json_edit.set_ranked_members(cell_text, changes, style_of_cell, style_of_cell.get_order_key)
    ]


def _compile_splices(cell: Cell, pieces: Sequence[bytes | Span]) -> list[Splice]:
    """Return the splices that build a cell from pieces; kept ranges stay in place if possible."""
    ranges = [piece for piece in pieces if isinstance(piece, Span)]
    if ranges != sorted(ranges):
        # Another program has reordered the members.
        ranges = [max(ranges, key=lambda piece: piece.stop - piece.start)]
    kept_ranges = set(ranges)
    splices: list[Splice] = []
    position, text = cell.span.start, b""
    for piece in (*pieces, Span(cell.span.stop, cell.span.stop)):
        if isinstance(piece, bytes):
            text += piece
        elif piece in kept_ranges or piece.start == cell.span.stop:
            if cell.text[position : piece.start] != text:
                splices.append(Splice(position, piece.start, text))
            position, text = piece.stop, b""
        else:
            text += cell.text[piece.start : piece.stop]
    return splices
