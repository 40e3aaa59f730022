"""What an edit did, cell by cell, and the record that is made of it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from jupyter_nbedit.errors import InvalidNotebook
from jupyter_nbedit.notebook.document import Cell, Document
from jupyter_nbedit.notebook.drafts import decoded
from jupyter_nbedit.notebook.record import (
    Anchor,
    Part,
    Piece,
    Place,
    Record,
    Side,
    fingerprint,
    likeness,
    mark,
)
from jupyter_nbedit.notebook.shelf import Shelf
from jupyter_nbedit.notebook.splices import Splice, backwards

# How many neighbours of a place are kept on either side.
_NEIGHBOURS = 3


@dataclass(frozen=True)
class State:
    """What a cell is, apart from its id and what running it gave."""

    cell_type: str
    source: str
    metadata: dict[str, Any]
    attachments: object

    @classmethod
    def of(cls, cell: Cell) -> State:
        """Tell it of a cell that is there.

        Raises
        ------
        InvalidNotebook
            As `Cell` does.
        """
        return cls(cell.cell_type, cell.source, cell.metadata, cell.value("attachments"))

    @property
    def fingerprint(self) -> str:
        """Tells it from all others."""
        return fingerprint(self.cell_type, self.source, self.metadata, self.attachments)

    @property
    def side(self) -> Side:
        """The same, as a record shows it."""
        return Side(cell_type=self.cell_type, source=self.source, metadata=self.metadata)


@dataclass(frozen=True)
class Step:
    """What an edit did to one cell.

    Parameters
    ----------
    id
        The cell's id.
    before, after
        What it was and what it is; None where it is not there.
    index
        Where it stands after the edit.
    moved
        Whether it was taken to another place among those that stayed.
    touched
        The names of the members whose values are others, where it is there before and after.
    cleared, returned
        Whether it lost its outputs, or got some.
    """

    id: str | None
    before: Cell | None
    after: State | None
    index: int | None
    moved: bool = False
    touched: Collection[str] = ()
    cleared: bool = False
    returned: bool = False

    def opposite(self, document: Document) -> Step:
        """Give the step back, from the document that the edit left."""
        return Step(
            id=self.id,
            before=None if self.index is None else document.cell(self.index),
            after=None if self.before is None else State.of(self.before),
            index=None if self.before is None else self.before.index,
            moved=self.moved,
            touched=self.touched,
            cleared=self.returned,
            returned=self.cleared,
        )


@dataclass(frozen=True)
class Edit:
    """What an edit did.

    Parameters
    ----------
    document
        The notebook before it.
    splices
        What it did to the bytes.
    steps
        What it did to each cell that changed.
    metadata
        The notebook's metadata after it, as they are written.
    total_cells
        How many cells there are after it.
    """

    document: Document
    splices: Sequence[Splice]
    steps: Sequence[Step]
    metadata: bytes | None
    total_cells: int

    def opposite(self) -> Edit:
        """Give the edit that takes this one back; parses the notebook that this one leaves."""
        base = self.document
        document = base.after(self.splices)
        steps = [step.opposite(document) for step in self.steps]
        undo = backwards(base.text, self.splices)
        return Edit(document, undo, steps, base.written_metadata, len(base))

    def record(self) -> Record:
        """Make the record; of all cells only those that changed and their neighbours are read."""
        shelf, places = Shelf(self.document.text, self.splices), _Places(self)
        parts = [_part(step, shelf, places) for step in sorted(self.steps, key=_rank)]
        if self.metadata != self.document.written_metadata:
            parts.append(_of_notebook(self, shelf))
        back = shelf.back()
        return Record(
            parts=parts,
            places=places.known,
            back=back,
            total_cells=self.total_cells,
            blob=bytes(shelf.blob),
        )


def _rank(step: Step) -> tuple[int, bool]:
    """Order the steps by where the cells stand, a cell that is gone before the one in its place."""
    if step.index is not None:
        return step.index, True
    return step.before.index if step.before else 0, False


def _part(step: Step, shelf: Shelf, places: _Places) -> Part:
    before, after = step.before, step.after
    part = Part(
        cell_id=step.id,
        index=step.index,
        moved=step.moved,
        outputs_cleared=step.cleared,
        outputs_returned=step.returned,
        before=None,
        after=None if after is None else after.side,
        fingerprint=None if after is None else after.fingerprint,
    )
    if step.id is None and step.index is not None:
        part.beside = places.beside(step.index)
    if before is not None:
        part.index_before, part.before = before.index, State.of(before).side
        if after is None:
            part.former = shelf.whole(before)
        else:
            part.former = shelf.former(before, step.touched)
            part.added = sorted(set(step.touched) - before.members.keys())
        if after is None or step.moved:
            part.place = places.of(before.index)
    return part


def _of_notebook(edit: Edit, shelf: Shelf) -> Part:
    span, after = edit.document.metadata_span, edit.metadata
    return Part(
        before=Side(cell_type=None, source=None, metadata=edit.document.metadata),
        after=Side(cell_type=None, source=None, metadata=decoded(after)),
        former=None if span is None else [Piece(None, shelf.keep(*span))],
        fingerprint=None if after is None else mark(after),
    )


class _Others:
    """All indexes but those that are taken, by their ranks."""

    def __init__(self, taken: Iterable[int]) -> None:
        self._taken = sorted(taken)
        self._ranks = [index - number for number, index in enumerate(self._taken)]

    def rank(self, index: int) -> int:
        """Count the others before an index."""
        return index - bisect_left(self._taken, index)

    def at(self, rank: int) -> int:
        """Give the index of a rank."""
        return rank + bisect_right(self._ranks, rank)


class _Places:
    """The places of cells: those they have left, each between cells that stayed where they were."""

    def __init__(self, edit: Edit) -> None:
        self.known: list[Place] = []
        self._numbers: dict[int, int] = {}
        self._document = edit.document
        self._total_cells = edit.total_cells
        self._states = {step.index: step.after for step in edit.steps if step.index is not None}
        left = [
            step.before.index
            for step in edit.steps
            if step.before is not None and (step.moved or step.after is None)
        ]
        taken = [
            step.index
            for step in edit.steps
            if step.index is not None and (step.moved or step.before is None)
        ]
        self._before, self._after = _Others(left), _Others(taken)
        self._stayed = len(edit.document) - len(left)

    def of(self, index: int) -> int:
        """Give the number of the place that a cell had."""
        rank = self._before.rank(index)
        if rank not in self._numbers:
            self._numbers[rank] = len(self.known)
            behind = range(rank - 1, max(-1, rank - 1 - _NEIGHBOURS), -1)
            ahead = range(rank, min(self._stayed, rank + _NEIGHBOURS))
            gap = self._after.at(rank - 1) + 1 if rank else 0
            self.known.append(
                Place(list(map(self._anchor, behind)), list(map(self._anchor, ahead)), gap)
            )
        return self._numbers[rank]

    def beside(self, index: int) -> tuple[str, str]:
        """Tell the neighbours that a cell has after the edit."""
        return self._key(index - 1), self._key(index + 1)

    def _anchor(self, rank: int) -> Anchor:
        cell_id, _ = self._document.heads[self._before.at(rank)]
        if cell_id is not None:
            return Anchor(cell_id, None)
        return Anchor(None, self._key(self._after.at(rank)))

    def _key(self, index: int) -> str:
        """Tell a cell apart by its index after the edit; empty if there is none to be read."""
        state = self._states.get(index)
        if state is None and 0 <= index < self._total_cells:
            # Whether the neighbours can be read is not the edit's concern.
            with suppress(InvalidNotebook):
                rank = self._after.rank(index)
                state = State.of(self._document.cell(self._before.at(rank)))
        return "" if state is None else likeness(state.cell_type, state.source)
