"""What an edit did, cell by cell, and the undo record that is built from it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from jupyter_nbedit.errors import InvalidNotebook
from jupyter_nbedit.notebook.document import Cell, Document
from jupyter_nbedit.notebook.edited_cell import decode_metadata
from jupyter_nbedit.notebook.splices import Splice, invert_splices
from jupyter_nbedit.notebook.undo.blob_builder import UndoBlobBuilder
from jupyter_nbedit.notebook.undo.record import (
    CellContent,
    CellState,
    CellUndo,
    Fragment,
    GapAnchor,
    NeighbourKey,
    UndoRecord,
    compute_content_key,
    compute_short_hash,
)

# How many neighbours of a place are kept on either side.
_NEIGHBOURS = 3


@dataclass(frozen=True)
class CellStep:
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
    after: CellContent | None
    index: int | None
    moved: bool = False
    touched: Collection[str] = ()
    cleared: bool = False
    returned: bool = False

    def invert(self, document: Document) -> CellStep:
        """Return the step back, from the document that the edit left."""
        return CellStep(
            id=self.id,
            before=None if self.index is None else document.get_cell(self.index),
            after=None if self.before is None else CellContent.from_cell(self.before),
            index=None if self.before is None else self.before.index,
            moved=self.moved,
            touched=self.touched,
            cleared=self.returned,
            returned=self.cleared,
        )


@dataclass(frozen=True)
class EditSummary:
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
    steps: Sequence[CellStep]
    metadata: bytes | None
    total_cells: int

    def invert(self) -> EditSummary:
        """Return the edit that takes this one back; parses the notebook that this one leaves."""
        base = self.document
        document = base.apply_splices(self.splices)
        steps = [step.invert(document) for step in self.steps]
        undo = invert_splices(base.text, self.splices)
        return EditSummary(document, undo, steps, base.written_metadata, len(base))

    def build_record(self) -> UndoRecord:
        """Make the record; of all cells only those that changed and their neighbours are read."""
        shelf, places = UndoBlobBuilder(self.document.text, self.splices), _AnchorTable(self)
        parts = [_build_part(step, shelf, places) for step in sorted(self.steps, key=_get_rank)]
        if self.metadata != self.document.written_metadata:
            parts.append(_build_metadata_part(self, shelf))
        back = shelf.build_reverse()
        return UndoRecord(
            parts=parts,
            places=places.known,
            back=back,
            total_cells=self.total_cells,
            blob=bytes(shelf.blob),
        )


def _get_rank(step: CellStep) -> tuple[int, bool]:
    """Order the steps by where the cells stand, a cell that is gone before the one in its place."""
    if step.index is not None:
        return step.index, True
    return step.before.index if step.before else 0, False


def _build_part(step: CellStep, shelf: UndoBlobBuilder, places: _AnchorTable) -> CellUndo:
    before, after = step.before, step.after
    part = CellUndo(
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
        part.beside = places.get_neighbours(step.index)
    if before is not None:
        part.index_before, part.before = before.index, CellContent.from_cell(before).side
        if after is None:
            part.former = shelf.keep_whole(before)
        else:
            part.former = shelf.keep_former(before, step.touched)
            part.added = sorted(set(step.touched) - before.members.keys())
        if after is None or step.moved:
            part.place = places.get_number(before.index)
    return part


def _build_metadata_part(edit: EditSummary, shelf: UndoBlobBuilder) -> CellUndo:
    span, after = edit.document.metadata_span, edit.metadata
    return CellUndo(
        before=CellState(cell_type=None, source=None, metadata=edit.document.metadata),
        after=CellState(cell_type=None, source=None, metadata=decode_metadata(after)),
        former=None if span is None else [Fragment(None, shelf.keep(*span))],
        fingerprint=None if after is None else compute_short_hash(after),
    )


class _RankMap:
    """All indexes but those that are taken, by their ranks."""

    def __init__(self, taken: Iterable[int]) -> None:
        self._taken = sorted(taken)
        self._ranks = [index - number for number, index in enumerate(self._taken)]

    def count_before(self, index: int) -> int:
        """Count the others before an index."""
        return index - bisect_left(self._taken, index)

    def get_index(self, rank: int) -> int:
        """Return the index of a rank."""
        return rank + bisect_right(self._ranks, rank)


class _AnchorTable:
    """The places of cells: those they have left, each between cells that stayed where they were."""

    def __init__(self, edit: EditSummary) -> None:
        self.known: list[GapAnchor] = []
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
        self._before, self._after = _RankMap(left), _RankMap(taken)
        self._stayed = len(edit.document) - len(left)

    def get_number(self, index: int) -> int:
        """Return the number of the place that a cell had."""
        rank = self._before.count_before(index)
        if rank not in self._numbers:
            self._numbers[rank] = len(self.known)
            behind = range(rank - 1, max(-1, rank - 1 - _NEIGHBOURS), -1)
            ahead = range(rank, min(self._stayed, rank + _NEIGHBOURS))
            gap = self._after.get_index(rank - 1) + 1 if rank else 0
            self.known.append(
                GapAnchor(
                    list(map(self._build_anchor, behind)), list(map(self._build_anchor, ahead)), gap
                )
            )
        return self._numbers[rank]

    def get_neighbours(self, index: int) -> tuple[str, str]:
        """Return the neighbours that a cell has after the edit."""
        return self._get_key(index - 1), self._get_key(index + 1)

    def _build_anchor(self, rank: int) -> NeighbourKey:
        cell_id, _ = self._document.heads[self._before.get_index(rank)]
        if cell_id is not None:
            return NeighbourKey(cell_id, None)
        return NeighbourKey(None, self._get_key(self._after.get_index(rank)))

    def _get_key(self, index: int) -> str:
        """Return the content key of a cell by its index after the edit; empty if it has none."""
        state = self._states.get(index)
        if state is None and 0 <= index < self._total_cells:
            # Whether the neighbours can be read is not the edit's concern.
            with suppress(InvalidNotebook):
                rank = self._after.count_before(index)
                state = CellContent.from_cell(self._document.get_cell(self._before.get_index(rank)))
        return "" if state is None else compute_content_key(state.cell_type, state.source)
