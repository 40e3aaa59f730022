"""The known edits since an edit that is undone, and the order of the cells before these edits."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, dropwhile, pairwise, takewhile

from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.undo.record import CellUndo, NeighbourKey, UndoRecord

#: A position that a cell has had: the id of the cell, and the number of the position.
_CellPosition = tuple[str, int]

# Start and end of the notebook; no cell has an empty id.
_START: _CellPosition = ("", -1)
_END: _CellPosition = ("", -2)


@dataclass(frozen=True)
class PastEdit:
    """An edit of the history: its number, the number of the edit that it undoes, its undo record.

    ``record`` is None if it is not known what the edit did.
    """

    number: int
    undoes: int | None
    record: UndoRecord | None


@dataclass(frozen=True)
class KnownHistory:
    """The known edits since an edit that is to be undone.

    ``edits`` has the known edits of the notebook, oldest first. The edit to undo is among them,
    with the same record object. ``edits`` is empty if no other edit is known. ``reverted_parts``
    has the numbers of the parts of the record that were undone before. ``is_complete`` says whether
    nothing else has changed the notebook since the edit.
    """

    edits: Sequence[PastEdit] = ()
    reverted_parts: Collection[int] = ()
    is_complete: bool = False

    def list_open_parts(self, record: UndoRecord) -> dict[int, CellUndo]:
        """Return the parts of the edit that were not undone before, by number."""
        parts = enumerate(record.parts)
        return {number: part for number, part in parts if number not in self.reverted_parts}

    def list_undone_parts(self, record: UndoRecord) -> set[int]:
        """Return the numbers of the parts that later edits have undone, cell by cell."""
        edit_id = next((edit.number for edit in self.edits if edit.record is record), None)
        return {
            number
            for edit in self._list_effective_edits(self._list_later_edits(record))
            for part in (edit.record.undone_parts if edit.record else ())
            for source, number in part.sources
            if source == edit_id
        }

    def list_later_parts(self, record: UndoRecord) -> list[CellUndo] | None:
        """Return what later edits did to cells; None if that is not known."""
        later_edits = self._list_later_edits(record)
        if not self.edits or any(edit.record is None for edit in later_edits):
            return None
        effective_edits = self._list_effective_edits(later_edits)
        return [part for edit in effective_edits if edit.record for part in edit.record.parts]

    @staticmethod
    def _list_effective_edits(later_edits: Sequence[PastEdit]) -> list[PastEdit]:
        """Return the edits that are in effect: an edit and its undo cancel each other out."""
        numbers = {edit.number for edit in later_edits}
        cancelled_numbers: set[int] = set()
        for edit in reversed(later_edits):
            if edit.number not in cancelled_numbers and edit.undoes in numbers:
                cancelled_numbers |= {edit.number, edit.undoes or 0}
        return [edit for edit in later_edits if edit.number not in cancelled_numbers]

    def has_later_rearrangement(self, record: UndoRecord) -> bool:
        """Return whether later edits inserted, deleted or moved cells, or may have done so."""
        return any(
            edit.record is None or any(part.changes_position for part in edit.record.parts)
            for edit in self._list_later_edits(record)
        )

    def _list_later_edits(self, record: UndoRecord) -> list[PastEdit]:
        return list(dropwhile(lambda edit: edit.record is not record, self.edits))[1:]


#: The history if only the record of the edit is known.
NO_KNOWN_HISTORY = KnownHistory()


class OriginalOrder:
    """Finds which cells precede and follow the cells that an edit deleted or moved, by their ids.

    If a neighbour was deleted or moved since, the neighbours of this neighbour replace it. The
    record of the edit that deleted or moved the cell has them. Edits that are undone in any order
    therefore restore the original order. An edit that inserts or moves a cell gives the cell a new
    position; the undo returns the previous position.
    """

    def __init__(self, document: Document, record: UndoRecord, history: KnownHistory) -> None:
        self._document, self._record = document, record
        self._current_positions: dict[str, int] = {}
        # By cell id: the numbers of the positions before and after the edit.
        self._changes: dict[str, tuple[int, int]] = {}
        self._positions_at_edit: dict[str, int] = {}
        self._positions_after: dict[_CellPosition, list[_CellPosition]] = defaultdict(list)
        self._positions_before: dict[_CellPosition, list[_CellPosition]] = defaultdict(list)
        changes_by_edit: dict[int | None, dict[str, tuple[int, int]]] = {}
        undone_edits: dict[int | None, int | None] = {}
        records: dict[int, UndoRecord] = {}
        self._numbers = count(1)
        # Whether an edit has inserted, deleted or moved a cell without an id of its own.
        self._has_moved_unknown = False
        for edit in history.edits or [PastEdit(0, None, record)]:
            if edit.record is None:
                continue
            self._has_moved_unknown = self._has_moved_unknown or any(
                part.cell_id is None and part.changes_position for part in edit.record.parts
            )
            parts = [part for part in edit.record.parts if part.cell_id is not None]
            self._add_order(edit.record, parts)
            undone_changes = changes_by_edit.get(edit.undoes, {})
            if edit.undoes is None:
                undone_changes = _join_undone_changes(edit.record, records, changes_by_edit)
            records[edit.number] = edit.record
            changes = self._change_positions(parts, undone_changes)
            changes_by_edit[edit.number] = changes
            undone_edits[edit.number] = edit.undoes
            if (original := undone_edits.get(edit.undoes)) is not None:
                # A redo: a later undo of the original edit undoes this redo.
                changes_by_edit[original] = changes
            if edit.record is record:
                self._changes, self._positions_at_edit = changes, dict(self._current_positions)
        for number in history.reverted_parts:
            part = record.parts[number]
            if part.is_moved and part.cell_id is not None:
                self._current_positions[part.cell_id] = self._changes[part.cell_id][0]
        self._indexes = self._find_indexes()

    def _change_positions(
        self, parts: Sequence[CellUndo], undone_changes: Mapping[str, tuple[int, int]]
    ) -> dict[str, tuple[int, int]]:
        """Give cells their positions after an edit; return old and new positions by cell id.

        ``undone_changes`` are the changes that the edit undoes. Positions are numbers.
        """
        changes: dict[str, tuple[int, int]] = {}
        # A batch may delete a cell and insert another with its id.
        for part in sorted(parts, key=lambda part: part.index is not None):
            cell_id, old_position = self._get_position(part.cell_id)
            new_position = old_position
            undone = undone_changes.get(cell_id)
            if undone is not None and (part.changes_position or undone[1] == old_position):
                # Also if it is at its previous place without being moved.
                new_position = old_position if part.index is None else undone[0]
            elif part.index is not None and part.changes_position:
                new_position = next(self._numbers)
            changes[cell_id] = (old_position, new_position)
            self._current_positions[cell_id] = new_position
        for cell_id, (old_position, new_position) in undone_changes.items():
            # A cell that is at its previous place without being moved is in no record.
            if cell_id not in changes and self._current_positions[cell_id] == new_position:
                changes[cell_id] = (new_position, old_position)
                self._current_positions[cell_id] = old_position
        return changes

    def find_gaps(self, parts: Iterable[CellUndo]) -> list[int | None]:
        """Return the gap of each cell: after its predecessor or before its successor.

        The neighbour that was nearer at the edit decides; None if the notebook has neither of them.
        """
        indexes = sorted((index, position) for position, index in self._indexes.items())
        lower_sources = [
            *((index + 1, position) for index, position in reversed(indexes)),
            (0, _START),
        ]
        upper_sources = [*indexes, (len(self._document), _END)]
        low = _propagate_bounds(self._positions_after, self._indexes, lower_sources)
        high = _propagate_bounds(self._positions_before, self._indexes, upper_sources)
        gaps: list[int | None] = []
        for part in parts:
            position = part.cell_id or "", self._changes[part.cell_id or ""][0]
            gap = self._record.gaps[part.gap_number or 0]
            is_after_nearer = self._count_missing(gap.keys_after) < self._count_missing(
                gap.keys_before
            )
            first, second = (high, low) if is_after_nearer else (low, high)
            start, stop = low.get(position, 0), high.get(position, len(self._document))
            is_certain = not self._has_unknown_cells(start, stop)
            gaps.append(first.get(position, second.get(position)) if is_certain else None)
        return gaps

    def _has_unknown_cells(self, start: int, stop: int) -> bool:
        """Return whether a range has cells without ids, which edits may have put there."""
        if not self._has_moved_unknown:
            return False
        headers, ids = self._document.headers, self._document.ids
        return any(len(ids.get(headers[n][0] or "", ())) != 1 for n in range(start, stop))

    def is_moved_again(self, part: CellUndo) -> bool:
        """Return whether a later edit moved a cell that the edit moved."""
        cell_id, position = self._get_position(part.cell_id)
        return part.is_moved and position != self._changes[cell_id][1]

    def _count_missing(self, keys: Sequence[NeighbourKey]) -> int:
        """Count the neighbours of a gap that are nearer than the first that is still there."""
        positions = [(key.id or "", self._positions_at_edit.get(key.id or "", 0)) for key in keys]
        return sum(1 for _ in takewhile(lambda position: position not in self._indexes, positions))

    def _find_indexes(self) -> dict[_CellPosition, int]:
        """Return the indexes of the cells that are in a position of a record."""
        found: dict[_CellPosition, int] = {}
        for position in {*self._positions_after, *self._positions_before}:
            indexes = self._document.ids.get(position[0], [])
            if len(indexes) == 1 and self._get_position(position[0]) == position:
                found[position] = indexes[0]
        return found

    def _get_position(self, cell_id: str | None) -> _CellPosition:
        return cell_id or "", self._current_positions.get(cell_id or "", 0)

    def _add_order(self, record: UndoRecord, parts: Sequence[CellUndo]) -> None:
        """Add the order of cells before an edit from its record."""
        old_parts = [part for part in parts if part.index_before is not None]
        old_parts.sort(key=lambda part: part.index_before or 0)
        self._add_sequence([self._get_position(part.cell_id) for part in old_parts])
        positions_by_gap: dict[int | None, list[_CellPosition]] = defaultdict(list)
        for part in old_parts:
            positions_by_gap[part.gap_number].append(self._get_position(part.cell_id))
        for number, gap in enumerate(record.gaps):
            before = [self._get_position(key.id) for key in gap.keys_before if key.id is not None]
            after = [self._get_position(key.id) for key in gap.keys_after if key.id is not None]
            start = [] if gap.keys_before else [_START]
            end = [] if gap.keys_after else [_END]
            self._add_sequence([*start, *before[::-1], *positions_by_gap[number], *after, *end])

    def _add_sequence(self, positions: Sequence[_CellPosition]) -> None:
        for first, second in pairwise(positions):
            self._positions_after[first].append(second)
            self._positions_before[second].append(first)


def _join_undone_changes(
    record: UndoRecord,
    records: Mapping[int, UndoRecord],
    changes_by_edit: Mapping[int | None, Mapping[str, tuple[int, int]]],
) -> dict[str, tuple[int, int]]:
    """Return the positions of cells before and after all that an undo of cells has undone."""
    undone_changes: dict[str, tuple[int, int]] = {}
    for undone_part in record.undone_parts:
        positions = [
            changes_by_edit[edit_id][cell_id]
            for edit_id, number in undone_part.sources
            if edit_id in records and (cell_id := records[edit_id].parts[number].cell_id)
        ]
        edit_id, number = undone_part.sources[0]
        if edit_id in records and positions and (cell_id := records[edit_id].parts[number].cell_id):
            undone_changes[cell_id] = (positions[0][0], positions[-1][1])
    return undone_changes


def _propagate_bounds(
    edges: Mapping[_CellPosition, Sequence[_CellPosition]],
    fixed_positions: Collection[_CellPosition],
    sources: Sequence[tuple[int, _CellPosition]],
) -> dict[_CellPosition, int]:
    """Return, for each position, the value of the first source that reaches it along the edges.

    Slots of cells that are in place end a path.
    """
    bounds: dict[_CellPosition, int] = {}
    for value, source in sources:
        pending = [source]
        while pending:
            for position in edges.get(pending.pop(), ()):
                if position not in bounds and position not in fixed_positions:
                    bounds[position] = value
                    pending.append(position)
    return bounds
