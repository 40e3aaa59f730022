"""Cells that become what they were before an edit."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from jupyter_nbedit.notebook import objects, rewrite, spans
from jupyter_nbedit.notebook.document import Cell
from jupyter_nbedit.notebook.drafts import Draft
from jupyter_nbedit.notebook.record import EXECUTION, Part, Piece, Record, same
from jupyter_nbedit.notebook.spans import Span
from jupyter_nbedit.notebook.splices import Splice
from jupyter_nbedit.notebook.style import Style


@dataclass
class Restored(Draft):
    """A cell that becomes what it was.

    Parameters
    ----------
    pieces
        Its text: bytes, and ranges of the document that stay as they are.
    """

    pieces: Sequence[bytes | Span] = ()

    @classmethod
    def anew(cls, record: Record, part: Part, token: int, gap: int) -> Restored:
        """Make a cell that is not there any more."""
        cell_type, source = _said(part)
        return cls(
            token,
            None,
            gap,
            part.cell_id,
            cell_type,
            source,
            members=_kept(record, part),
            moved=part.moved,
            pieces=[record.kept(*one.kept) for one in part.former or () if one.kept is not None],
        )

    @classmethod
    def of(cls, record: Record, part: Part, cell: Cell, style: Style) -> Restored:
        """Make a cell what it was, but for what the edit did not touch."""
        part = _without_old_run(part, cell)
        members = {**dict.fromkeys(part.added), **_kept(record, part)}
        if "metadata" in members and "outputs" not in members:
            members["metadata"] = _run_since(part, cell, members["metadata"], style)
        cell_type, source = _said(part)
        return cls(
            cell.index,
            cell,
            cell.index,
            cell.id,
            cell_type if "cell_type" in members else cell.cell_type,
            source if "source" in members else cell.source,
            members=members,
            pieces=_pieces(record, part, cell, members, style),
        )

    @property
    def attachments(self) -> object:
        """Its attachments, as it had them."""
        value = self.member("attachments")
        return None if value is None else spans.decode(value, Span(0, len(value)))

    @property
    def touched(self) -> Collection[str]:
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
        if self.cell is None or rewrite.OF_A_RUN.isdisjoint(self.members):
            return False, False
        has = any(rewrite.is_left(name, self.member(name)) for name in rewrite.OF_A_RUN)
        return rewrite.has_outputs(self.cell), has

    def changes(self, _style: Style) -> list[Splice]:
        """Give the splices that make the cell what it was."""
        return [] if self.cell is None else _between(self.cell, self.pieces)

    def written(self, style: Style) -> bytes:
        """Write the whole cell."""
        if self.cell is None:
            return b"".join(one for one in self.pieces if isinstance(one, bytes))
        return super().written(style)


def _without_old_run(part: Part, cell: Cell) -> Part:
    """Leave what a later run gave, if the source that was run stays; it is nobody's to take."""
    kept = {piece.name for piece in part.former or () if piece.kept is not None}
    if not part.outputs_cleared or kept & {"source", "cell_type"}:
        return part
    if not rewrite.has_outputs(cell):
        return part
    former = [
        Piece(piece.name, None) if piece.name in rewrite.OF_A_RUN else piece
        for piece in part.former or ()
    ]
    return replace(part, former=former)


def _said(part: Part) -> tuple[str, str]:
    """Give the type and the source that a cell had."""
    before = part.before
    return ("", "") if before is None else (before.cell_type or "", before.source or "")


def _kept(record: Record, part: Part) -> dict[str, bytes | None]:
    """Give the values of members that the record has, by their names."""
    return {
        piece.name: record.kept(*piece.kept)
        for piece in part.former or ()
        if piece.name is not None and piece.kept is not None
    }


def _run_since(part: Part, cell: Cell, metadata: bytes | None, style: Style) -> bytes | None:
    """Say in metadata what the cell says of a run after the edit, whose outputs stay."""
    left = part.after.metadata if part.after else {}
    if metadata is None or same(left.get(EXECUTION), cell.metadata.get(EXECUTION)):
        return metadata
    now = objects.values(cell.written("metadata"))
    text = metadata if spans.is_object(metadata, Span(0, len(metadata))) else b"{}"
    return objects.with_members(text, {EXECUTION: now.get(EXECUTION)}, style.of_cell(cell))


def _pieces(
    record: Record, part: Part, cell: Cell, members: Mapping[str, bytes | None], style: Style
) -> Sequence[bytes | Span]:
    """Fill the holes in a former text with what stands in the cell now."""
    pieces: list[bytes | Span] = []
    gone: list[str] = []
    for piece in part.former or ():
        if piece.kept is not None:
            text = members.get(piece.name) if piece.name == "metadata" else None
            pieces.append(record.kept(*piece.kept) if text is None else text)
        elif piece.name in cell.members:
            pieces.append(cell.members[piece.name].value)
        else:
            # Somebody has taken out since what the edit had left alone.
            gone.append(piece.name or "")
            pieces.append(b"null")
    known = {*part.added, *(piece.name for piece in part.former or ())}
    more = {name: cell.written(name) for name in cell.members if name not in known}
    if not gone and not more:
        return pieces
    own = style.of_cell(cell)
    whole = b"".join(one if isinstance(one, bytes) else cell.text[slice(*one)] for one in pieces)
    changes = {**dict.fromkeys(gone), **more}
    return [objects.with_ranked_members(whole, changes, own, own.order_key)]


def _between(cell: Cell, pieces: Sequence[bytes | Span]) -> list[Splice]:
    """Give the splices that make a cell of pieces; the ranges that can stay where they are do."""
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
