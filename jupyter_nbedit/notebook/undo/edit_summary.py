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
from jupyter_nbedit.notebook.undo.removed_bytes import UndoBlobBuilder

# The number of neighbours of a gap that are stored on either side.
_NEIGHBOURS = 3


@dataclass(frozen=True)
class CellStep:
    """What an edit did to one cell; None stands for what does not exist before or after it.

    ``changed_members`` has the names of the changed members, if the cell exists before and after.
    """

    id: str | None
    before: Cell | None
    after: CellContent | None
    index: int | None
    is_moved: bool = False
    changed_members: Collection[str] = ()
    outputs_cleared: bool = False
    outputs_returned: bool = False

    def invert(self, document: Document) -> CellStep:
        """Return the step of the inverse edit; ``document`` is the notebook after this edit."""
        return CellStep(
            id=self.id,
            before=None if self.index is None else document.get_cell(self.index),
            after=None if self.before is None else CellContent.from_cell(self.before),
            index=None if self.before is None else self.before.index,
            is_moved=self.is_moved,
            changed_members=self.changed_members,
            outputs_cleared=self.outputs_returned,
            outputs_returned=self.outputs_cleared,
        )


@dataclass(frozen=True)
class EditSummary:
    """What an edit did to a notebook, in bytes (``splices``) and for each changed cell (``steps``).

    ``document`` is the notebook before the edit; ``metadata`` are its encoded metadata and
    ``total_cells`` is the number of its cells after the edit.
    """

    document: Document
    splices: Sequence[Splice]
    steps: Sequence[CellStep]
    metadata: bytes | None
    total_cells: int

    def invert(self) -> EditSummary:
        """Return the inverse edit; parses the notebook after this edit."""
        base = self.document
        document = base.apply_splices(self.splices)
        steps = [step.invert(document) for step in self.steps]
        undo = invert_splices(base.text, self.splices)
        return EditSummary(document, undo, steps, base.written_metadata, len(base))

    def build_record(self) -> UndoRecord:
        """Return the undo record; only changed cells and their neighbours are read."""
        blob_builder = UndoBlobBuilder(self.document.text, self.splices)
        anchors = _AnchorTable(self)
        parts = [
            _build_part(step, blob_builder, anchors)
            for step in sorted(self.steps, key=_get_sort_key)
        ]
        if self.metadata != self.document.written_metadata:
            parts.append(_build_metadata_part(self, blob_builder))
        return UndoRecord(
            parts=parts,
            gaps=anchors.gaps,
            reverse_splices=blob_builder.build_reverse_splices(),
            total_cells=self.total_cells,
            blob=bytes(blob_builder.blob),
        )


def _get_sort_key(step: CellStep) -> tuple[int, bool]:
    """Sort steps by index; a removed cell precedes the cell that is now at its index."""
    if step.index is not None:
        return step.index, True
    return step.before.index if step.before else 0, False


def _build_part(step: CellStep, blob_builder: UndoBlobBuilder, anchors: _AnchorTable) -> CellUndo:
    before, after = step.before, step.after
    part = CellUndo(
        cell_id=step.id,
        index=step.index,
        is_moved=step.is_moved,
        outputs_cleared=step.outputs_cleared,
        outputs_returned=step.outputs_returned,
        before=None,
        after=None if after is None else after.state,
        fingerprint=None if after is None else after.fingerprint,
    )
    if step.id is None and step.index is not None:
        part.neighbour_keys = anchors.get_neighbours(step.index)
    if before is not None:
        part.index_before, part.before = before.index, CellContent.from_cell(before).state
        if after is None:
            part.fragments = blob_builder.add_cell(before)
        else:
            part.fragments = blob_builder.add_changed_members(before, step.changed_members)
            part.added_members = sorted(set(step.changed_members) - before.members.keys())
        if after is None or step.is_moved:
            part.gap_number = anchors.get_number(before.index)
    return part


def _build_metadata_part(edit: EditSummary, blob_builder: UndoBlobBuilder) -> CellUndo:
    span, after = edit.document.metadata_span, edit.metadata
    return CellUndo(
        before=CellState(cell_type=None, source=None, metadata=edit.document.metadata),
        after=CellState(cell_type=None, source=None, metadata=decode_metadata(after)),
        fragments=None if span is None else [Fragment(None, blob_builder.add_range(*span))],
        fingerprint=None if after is None else compute_short_hash(after),
    )


class _RankMap:
    """Maps indexes to ranks among all indexes that are not excluded."""

    def __init__(self, excluded_indexes: Iterable[int]) -> None:
        self._excluded_indexes = sorted(excluded_indexes)
        self._ranks = [index - number for number, index in enumerate(self._excluded_indexes)]

    def get_rank(self, index: int) -> int:
        """Return the number of indexes before an index that are not excluded."""
        return index - bisect_left(self._excluded_indexes, index)

    def get_index(self, rank: int) -> int:
        """Return the index with a rank."""
        return rank + bisect_right(self._ranks, rank)


class _AnchorTable:
    """The gaps of removed and moved cells, between cells that the edit did not move."""

    def __init__(self, edit: EditSummary) -> None:
        self.gaps: list[GapAnchor] = []
        self._numbers: dict[int, int] = {}
        self._document = edit.document
        self._total_cells = edit.total_cells
        self._states = {step.index: step.after for step in edit.steps if step.index is not None}
        old_indexes = [
            step.before.index
            for step in edit.steps
            if step.before is not None and (step.is_moved or step.after is None)
        ]
        new_indexes = [
            step.index
            for step in edit.steps
            if step.index is not None and (step.is_moved or step.before is None)
        ]
        self._ranks_before, self._ranks_after = _RankMap(old_indexes), _RankMap(new_indexes)
        self._unmoved_count = len(edit.document) - len(old_indexes)

    def get_number(self, index: int) -> int:
        """Return the number of the gap where a cell was, adding it if necessary."""
        rank = self._ranks_before.get_rank(index)
        if rank not in self._numbers:
            self._numbers[rank] = len(self.gaps)
            ranks_before = range(rank - 1, max(-1, rank - 1 - _NEIGHBOURS), -1)
            ranks_after = range(rank, min(self._unmoved_count, rank + _NEIGHBOURS))
            gap_index = self._ranks_after.get_index(rank - 1) + 1 if rank else 0
            self.gaps.append(
                GapAnchor(
                    list(map(self._build_anchor, ranks_before)),
                    list(map(self._build_anchor, ranks_after)),
                    gap_index,
                )
            )
        return self._numbers[rank]

    def get_neighbours(self, index: int) -> tuple[str, str]:
        """Return the content keys of the neighbours of a cell after the edit."""
        return self._get_key(index - 1), self._get_key(index + 1)

    def _build_anchor(self, rank: int) -> NeighbourKey:
        cell_id, _ = self._document.headers[self._ranks_before.get_index(rank)]
        if cell_id is not None:
            return NeighbourKey(cell_id, None)
        return NeighbourKey(None, self._get_key(self._ranks_after.get_index(rank)))

    def _get_key(self, index: int) -> str:
        """Return the content key of the cell at an index after the edit; empty if it has none."""
        state = self._states.get(index)
        if state is None and 0 <= index < self._total_cells:
            # An unreadable neighbour must not prevent the edit.
            with suppress(InvalidNotebook):
                rank = self._ranks_after.get_rank(index)
                state = CellContent.from_cell(
                    self._document.get_cell(self._ranks_before.get_index(rank))
                )
        return "" if state is None else compute_content_key(state.cell_type, state.source)
