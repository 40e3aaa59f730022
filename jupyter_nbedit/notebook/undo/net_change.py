"""The net change of each cell by several edits, since the version that a user has kept.

The edits are reverted one by one in memory, the newest first. Each reversal says which cells of two
successive versions are the same cell; nothing has to be guessed from the contents. If each edit
began with the version that the edit before had made, all versions are exact. If a person has saved
the notebook between two edits, only some parts of older edits are reverted: the parts whose cells
are still as the edit left them.

The baseline is the notebook with each cell as it was before the first change of the cell that the
user has not seen. A change that the user has seen ends the search for that cell.

An undo and the edit that it undoes together count as no change. In the baseline, a cell that an
undo has returned has its position from before the undone edit, among the cells that are still
deleted or moved. If cells are undone one by one, in any order, they therefore end in the order of
the baseline.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from msgspec.structs import replace as replace_members

from jupyter_nbedit.errors import InvalidNotebook
from jupyter_nbedit.notebook.apply_batch import compile_splices
from jupyter_nbedit.notebook.cell_order import FinalOrder
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.document_diff import CellMatching, compare_documents
from jupyter_nbedit.notebook.edit_plan import EditPlan
from jupyter_nbedit.notebook.sequence_diff import find_increasing_subsequence
from jupyter_nbedit.notebook.undo.part_members import RestoredCell
from jupyter_nbedit.notebook.undo.record import CellUndo, UndonePart, UndoRecord
from jupyter_nbedit.notebook.undo.revert import Reversal, revert_possible_parts
from jupyter_nbedit.notebook.working_copy import WorkingCopy


@dataclass(frozen=True, kw_only=True)
class PastChange:
    """An edit of the history, and what the user has seen of it."""

    edit_id: int
    #: The edit that it undoes, if both together count as no change; their changes of a cell cancel
    #: out.
    undoes: int | None = None
    #: Whether the user returned cells by it to what the user had seen.
    is_own_cell_undo: bool = False
    hash_before: str | None
    hash: str
    #: The encoded record of what the edit did; empty if that is not known.
    record: bytes
    #: Whether the user has made or seen all of it; else the parts that the user has seen.
    is_seen: bool = False
    seen_parts: Collection[int] = ()


@dataclass(frozen=True)
class NetChange:
    """What several edits did to a notebook together."""

    #: The notebook without the changes that the user has not seen.
    baseline: Document
    #: Undoes the net change in the notebook as it is now.
    record: UndoRecord
    #: Whether the record has the net change: too many bytes may differ, or a cell be broken.
    is_known: bool
    #: The changed cells, and the notebook's metadata: what was done to each, by the numbers of the
    #: parts of the record. The indexes are not known before the undo.
    cells: Mapping[int, UndonePart]
    #: Whether other cells were changed and are, all in all, as they were.
    has_neutral_changes: bool
    #: The parts that cannot be reverted, because their cells were changed since, by edit.
    conflicts: Sequence[tuple[int, CellUndo]]
    #: The oldest edit that was considered, or None; older edits count as seen.
    oldest_edit: int | None


def compute_net_change(
    document: Document, notebook_hash: str, edits: Sequence[PastChange]
) -> NetChange:
    """Compute the net change of each cell by edits that the user has not seen.

    ``notebook_hash`` is the hash of the document, which is the notebook as it is now. ``edits`` are
    in order without gaps, the newest first. Edits before an unreadable edit count as seen.
    """
    history = _CellHistory(document, edits)
    expected_hash: str | None = notebook_hash
    version, oldest_edit = document, None
    for edit in edits:
        # One record at a time is in memory: decoded, it may be many times as large.
        record = decode_record(edit.record)
        if record is None:
            expected_hash = None
            continue
        is_exact = expected_hash == edit.hash and record.reverse_splices is not None
        try:
            reversal = revert_possible_parts(version, record, is_exact=is_exact)
            older_version = version.apply_splices(reversal.plan.splices)
            history.add(edit, reversal, older_version)
        except InvalidNotebook:
            break
        version = older_version
        expected_hash = edit.hash_before if is_exact else None
        oldest_edit = edit.edit_id
    return history.build_net_change(version, oldest_edit)


def decode_record(record: bytes) -> UndoRecord | None:
    """Return what an edit did; None if it is not known."""
    try:
        return UndoRecord.decode(record) if record else None
    except ValueError:
        return None


class _Position:
    """A position in the notebook; a cell that is moved or restored gets another position."""


@dataclass(frozen=True)
class _Undos:
    """The edits that undo others, where both together count as no change for a user."""

    #: The edits that undo whole edits, by the edits that they undo.
    undo_ids: Mapping[int, int]
    #: By the edits that undo cells: the parts that they undo, as edits and numbers of parts.
    undone_parts: Mapping[int, Collection[tuple[int, int]]]
    #: The parts that the user has kept, by their edits. Parts that the user has undone count, too.
    kept_parts: Mapping[int, Collection[int]]

    @classmethod
    def read(cls, edits: Sequence[PastChange]) -> _Undos:
        """Find them among the edits, which are the newest first."""
        edits_by_id = {edit.edit_id: edit for edit in edits}
        kept_parts = {edit.edit_id: {*edit.seen_parts} for edit in edits}
        undone_parts: dict[int, set[tuple[int, int]]] = {}
        cancelled_ids: set[int] = set()
        for edit in edits:
            if edit.edit_id in cancelled_ids:
                continue
            if edit.undoes is not None:
                cancelled_ids.add(edit.undoes)
            record = decode_record(edit.record) if edit.is_own_cell_undo else None
            parts = (
                {source for part in record.undone_parts for source in part.sources}
                if record
                else set()
            )
            if parts and all(edit_id in edits_by_id for edit_id, _ in parts):
                undone_parts[edit.edit_id] = parts
                for edit_id, number in parts:
                    kept_parts[edit_id].discard(number)
        undo_ids: dict[int, int] = {}
        for edit in edits:
            undone = edits_by_id.get(edit.undoes or 0)
            if undone is None or edit.edit_id in undo_ids or kept_parts[undone.edit_id]:
                continue
            # If somebody else undoes an edit of the user, the user has not seen this undo.
            if edit.is_seen or not undone.is_seen:
                undo_ids.setdefault(undone.edit_id, edit.edit_id)
        in_effect = {n: parts for n, parts in undone_parts.items() if n not in undo_ids}
        return cls(undo_ids, in_effect, kept_parts)

    def is_undo(self, edit: PastChange) -> bool:
        """Return whether an edit undoes another, and both count as nothing."""
        return edit.undoes is not None and self.undo_ids.get(edit.undoes) == edit.edit_id


@dataclass(eq=False)
class _TrackedCell:
    """A cell, and its history: from now on back."""

    #: Its index now; None if it does not exist.
    index: int | None = None
    #: Its position now, without the newest undos; None if it does not exist then.
    position: _Position | None = None
    #: Whether one of the newest undos has inserted, deleted or moved it.
    is_returned: bool = False
    #: If it does not exist now: the part of an edit that has deleted it.
    deleted_by: tuple[int, int] | None = None
    #: Its position in the baseline, None if it does not exist there.
    baseline_position: _Position | None = None
    #: Whether it was changed since the baseline; its bytes in the baseline, or the bytes of the
    #: metadata.
    is_changed: bool = False
    old_data: bytes | None = None
    #: The changes that the user has not seen and nobody has undone, as edits and numbers of parts,
    #: newest first.
    sources: list[tuple[int, int]] = field(default_factory=list)
    #: Whether the user has seen the cell at this point; older changes then do not count.
    is_search_ended: bool = False
    #: By the number of an edit that was undone: how many sources there were at its undo.
    undo_counts: dict[int, int] = field(default_factory=dict)
    #: Its position before the oldest change that counts, or now.
    counted_position: _Position | None = None

    @property
    def is_in_place(self) -> bool:
        """Whether it has never been elsewhere since the baseline."""
        return self.baseline_position is self.position and not self.is_returned

    def end_search(self) -> None:
        """Let older changes count as seen."""
        self.is_search_ended = True
        self.baseline_position = self.counted_position


class _PositionAllocator:
    """Positions in an older version, among the positions in the versions after it.

    Cells that were not in the same version have no order that is certain. Cells that have not been
    moved among the others in total get their present order.
    """

    def __init__(self, positions: Sequence[_Position]) -> None:
        self._positions = positions
        self._ranks = {position: rank for rank, position in enumerate(positions)}
        self._positions_after: dict[_Position | None, list[_Position]] = defaultdict(list)
        self._positions_before: dict[_Position | None, list[_Position]] = defaultdict(list)

    def assign(
        self, cells: Sequence[_TrackedCell], first: _Position | None, last: _Position | None
    ) -> dict[_TrackedCell, _Position]:
        """Return positions between two others for cells that follow each other.

        A cell that is between these two cells now keeps its present position.
        """
        assigned: dict[_TrackedCell, _Position] = {}
        start, stop = self._get_rank(first, -1), self._get_rank(last, len(self._positions))
        ranks: list[int] = []
        for cell in cells:
            # Of a cell that was deleted and restored, or moved back, the positions may be equal.
            ranks.append(self._get_rank(cell.baseline_position, start))
            if not start < ranks[-1] < stop:
                ranks[-1] = self._get_rank(cell.position, start)
        between = [(n, rank) for n, rank in enumerate(ranks) if start < rank < stop]
        bounds = [*find_increasing_subsequence(between), (len(cells), stop)]
        number = 0
        for bound, rank in bounds:
            following = self._positions[rank] if rank < stop else last
            is_before = False
            for cell in cells[number:bound]:
                position = assigned[cell] = _Position()
                # A cell that is farther down now is put as far down as possible.
                is_before = is_before or ranks[number] > rank
                (
                    self._positions_before[following] if is_before else self._positions_after[first]
                ).append(position)
                number += 1
            if bound < len(cells):
                first = assigned[cells[bound]] = self._positions[rank]
                number = bound + 1
        return assigned

    def list_all(self) -> list[_Position]:
        """Return all positions in order."""
        positions = list(self._positions_after[None])
        for position in self._positions:
            positions += [
                *self._positions_before.get(position, ()),
                position,
                *self._positions_after.get(position, ()),
            ]
        return positions + self._positions_before[None]

    def _get_rank(self, position: _Position | None, default: int) -> int:
        return default if position is None else self._ranks[position]


class _CellHistory:
    """Which cells of the versions of a notebook are the same, from the newest version back."""

    def __init__(self, document: Document, edits: Sequence[PastChange]) -> None:
        self._document = document
        #: The cells of the version that was reached, in order.
        self._order = [_TrackedCell(index) for index in range(len(document))]
        #: All positions of all versions, in order, and the positions of the cells in that version.
        self._all_positions: list[_Position] = []
        self._positions: dict[_TrackedCell, _Position] = {}
        #: Whether only undos of cells were reverted so far. They have no influence on the order.
        self._is_at_newest_undos = True
        #: The parts that undos of cells have undone, as edits and numbers of parts: by undos that
        #: are newer than all edits (the baseline is from before these undos), and by other undos.
        self._undone_by_newest: set[tuple[int, int]] = set()
        self._undone_by_others: set[tuple[int, int]] = set()
        #: All cells that exist in one of the versions; the cells that exist now come first.
        self._cells = list(self._order)
        self._metadata = _TrackedCell()
        self._undos = _Undos.read(edits)
        #: Cells that do not exist in the version that was reached: those that an undo has inserted
        #: again by the part that had deleted them; others by their ids, and without ids by the edit
        #: that was undone and their bytes, as the records of earlier releases require.
        self._returned_cells: dict[tuple[int, int], _TrackedCell] = {}
        self._inserted_by_id: dict[str, _TrackedCell] = {}
        self._inserted_by_text: dict[tuple[int | None, bytes], deque[_TrackedCell]] = defaultdict(
            deque
        )
        self._touched_cells: set[_TrackedCell] = set()
        #: Whether all changes are to be undone; the oldest version is then the baseline.
        self._is_all_unseen = True
        self._conflicts: list[tuple[int, CellUndo]] = []

    def add(self, edit: PastChange, reversal: Reversal, version: Document) -> None:
        """Add what the reversal of an edit did; ``version`` is the notebook without the edit."""
        undone_parts = self._undos.undone_parts.get(edit.edit_id, ())
        is_newest_undo = self._is_at_newest_undos and undone_parts and not reversal.conflicts
        if self._is_at_newest_undos and not is_newest_undo:
            self._assign_positions()
        for number in reversal.conflicts:
            self._end_search(edit.edit_id, reversal.record.parts[number], reversal.plan.document)
            self._is_all_unseen = False
        cells = self._find_cells(edit, reversal, version)
        self._reorder(reversal, cells)
        self._touched_cells.update(cells.values())
        if is_newest_undo:
            self._undone_by_newest.update(undone_parts)
            for number, cell in cells.items():
                if reversal.record.parts[number].changes_position:
                    cell.is_returned = True
            return
        self._undone_by_others.update(undone_parts)
        for number, cell in cells.items():
            is_counted = self._prepend_change(cell, edit, number)
            self._is_all_unseen = self._is_all_unseen and is_counted
            if not cell.is_search_ended and reversal.record.parts[number].changes_position:
                # An undo and its edit may each have moved another cell of the two, so both cells
                # have the positions from before the edit. An edit of the contents moves nothing.
                cell.baseline_position = self._positions.get(cell)
                if is_counted:
                    cell.counted_position = cell.baseline_position
            if is_counted:
                index_before = reversal.indexes[number][1]
                cell.is_changed = True
                cell.old_data = (
                    version.written_metadata
                    if cell is self._metadata
                    else None
                    if index_before is None
                    else _read_cell(version, index_before)
                )

    def _prepend_change(self, cell: _TrackedCell, edit: PastChange, number: int) -> bool:
        """Add an older change of a cell; return whether the baseline has the state before it.

        ``number`` is the number of the part of the edit.
        """
        undos, edit_id = self._undos, edit.edit_id
        if cell.is_search_ended:
            return False
        if undos.is_undo(edit):
            cell.undo_counts[edit.undoes or 0] = len(cell.sources)
            return False
        if edit_id in undos.undo_ids and edit_id in cell.undo_counts:
            # Another change may lie between the undo and the edit that it undoes.
            return len(cell.sources) > cell.undo_counts[edit_id]
        part = (edit_id, number)
        is_skipped = edit_id in undos.undone_parts or part in self._undone_by_others
        if is_skipped or part in self._undone_by_newest:
            return not is_skipped
        if edit.is_seen or number in undos.kept_parts[edit_id]:
            cell.end_search()
            return False
        cell.sources.append(part)
        return True

    def _assign_positions(self) -> None:
        """Give the cells of the version that was reached their positions."""
        self._is_at_newest_undos = False
        self._all_positions = [_Position() for _ in self._order]
        self._positions = dict(zip(self._order, self._all_positions, strict=True))
        for cell, position in self._positions.items():
            cell.position = cell.baseline_position = cell.counted_position = position

    def _find_cells(
        self, edit: PastChange, reversal: Reversal, version: Document
    ) -> dict[int, _TrackedCell]:
        """Return the cells of the parts that were reverted."""
        parts, later_version = reversal.record.parts, reversal.plan.document
        deleted_by = {part.index: part.deleted_by for part in reversal.record.undone_parts}
        cells: dict[int, _TrackedCell] = {}
        for number, (index, index_before) in reversal.indexes.items():
            cell_id = parts[number].cell_id
            if parts[number].is_notebook_metadata:
                cells[number] = self._metadata
            elif index is not None:
                cells[number] = cell = self._order[index]
                if index_before is not None:
                    continue
                if deleting_part := deleted_by.get(parts[number].index):
                    self._returned_cells[deleting_part] = cell
                elif cell_id is not None:
                    self._inserted_by_id[cell_id] = cell
                elif edit.undoes in self._undos.undo_ids:
                    text = _read_cell(later_version, index)
                    self._inserted_by_text[edit.undoes, text].append(cell)
        for number, (index, index_before) in reversal.indexes.items():
            if index is None and index_before is not None:
                cells[number] = self._find_restored(
                    edit, number, parts[number], version, index_before
                )
        return cells

    def _end_search(self, edit_id: int, part: CellUndo, version: Document) -> None:
        """Let the changes of a part count as seen: a person has changed the same members since.

        So do older changes of a cell that was inserted, deleted or moved; others may have touched
        other members.
        """
        self._conflicts.append((edit_id, part))
        if not part.changes_position:
            return
        indexes = version.ids.get(part.cell_id or "", ())
        for index in indexes:
            self._order[index].end_search()
        if part.cell_id is not None and not indexes:
            self._inserted_by_id.setdefault(part.cell_id, _TrackedCell()).end_search()

    def _find_restored(
        self, edit: PastChange, number: int, part: CellUndo, version: Document, index: int
    ) -> _TrackedCell:
        """Return a cell that the edit deleted and a later edit inserted again, or a new one."""
        cell = self._returned_cells.get((edit.edit_id, number))
        if cell is None:
            cell = self._inserted_by_id.pop(part.cell_id or "", None)
        if cell is None and self._inserted_by_text:
            same = self._inserted_by_text.get((edit.edit_id, _read_cell(version, index)))
            cell = same.popleft() if same else None
        if cell is None:
            cell = _TrackedCell(deleted_by=(edit.edit_id, number))
            self._cells.append(cell)
        return cell

    def _reorder(self, reversal: Reversal, cells: Mapping[int, _TrackedCell]) -> None:
        """Update the order of the cells to the order of the notebook without the edit."""
        moves = [
            (cells[number], index, index_before)
            for number, (index, index_before) in reversal.indexes.items()
            if number in cells and reversal.record.parts[number].changes_position
        ]
        if not moves:
            return
        removed = {index for _, index, _ in moves}
        unmoved = iter([cell for n, cell in enumerate(self._order) if n not in removed])
        placed = {before: cell for cell, _, before in moves if before is not None}
        for cell, index, _ in moves:
            if index is not None:
                self._positions.pop(cell, None)
        order = [
            placed[index] if index in placed else next(unmoved)
            for index in range(reversal.plan.total_cells)
        ]
        self._order = order
        if self._is_at_newest_undos:
            return
        placed_cells: list[_TrackedCell] = []
        allocator = _PositionAllocator(self._all_positions)
        last_position: _Position | None = None
        for index, cell in enumerate(order):
            if index in placed:
                placed_cells.append(cell)
            else:
                position = self._positions[cell]
                self._positions |= allocator.assign(placed_cells, last_position, position)
                placed_cells, last_position = [], position
        self._positions |= allocator.assign(placed_cells, last_position, None)
        self._all_positions = allocator.list_all()

    def build_net_change(self, version: Document, oldest_edit: int | None) -> NetChange:
        """Return the difference of the baseline and the notebook as it is now.

        ``version`` is the notebook without all edits.
        """
        if self._is_at_newest_undos:
            self._assign_positions()
        self._join_equal_cells()
        baseline_order = self._compute_baseline_order()
        unmoved = self._list_unmoved(baseline_order)
        baseline = self._build_baseline(version, baseline_order, {cell for cell, _ in unmoved})
        matching = CellMatching(
            {n: cell.index for n, cell in enumerate(baseline_order) if cell.index is not None},
            [pair for _, pair in unmoved],
        )
        record = compare_documents(baseline, self._document, matching).build_record()
        is_known = record is not None
        if record is None:
            record = UndoRecord(
                parts=[], gaps=[], reverse_splices=None, total_cells=len(self._document), blob=b""
            )
        cells = self._list_cells(record, baseline_order)
        changed_count = sum(1 for cell in (*self._cells, self._metadata) if cell.sources)
        return NetChange(
            baseline,
            record,
            is_known,
            cells,
            has_neutral_changes=changed_count > len(cells),
            conflicts=self._conflicts,
            oldest_edit=oldest_edit,
        )

    def _join_equal_cells(self) -> None:
        """Treat a deleted cell and an inserted cell with the same bytes as one cell.

        By these bytes a cell without id that somebody has restored is recognized.
        """
        deleted: dict[bytes | None, deque[_TrackedCell]] = defaultdict(deque)
        for cell in self._list_by_positions():
            if cell.index is None:
                deleted[cell.old_data].append(cell)
        for cell in self._current_cells if deleted else ():
            if cell.baseline_position is None and (same := deleted.get(self._read_current(cell))):
                other = same.popleft()
                cell.is_changed = True
                cell.old_data, cell.baseline_position = other.old_data, other.baseline_position
                cell.sources = sorted({*cell.sources, *other.sources}, reverse=True)
                other.baseline_position = None

    def _compute_baseline_order(self) -> list[_TrackedCell]:
        """Return the cells of the baseline in order.

        A cell that an undo has put elsewhere, and whose changes are not listed, is where it is now.
        """
        order = self._list_by_positions()
        in_place = {cell for cell, _ in self._list_unmoved(order)}
        displaced = {
            cell
            for cell in order
            if cell.index is not None and not cell.sources and cell not in in_place
        }
        displaced_after: dict[_TrackedCell | None, list[_TrackedCell]] = defaultdict(list)
        previous = None
        for cell in self._current_cells if displaced else ():
            if cell in displaced:
                displaced_after[previous].append(cell)
            elif cell in in_place:
                previous = cell
        baseline_order = list(displaced_after[None])
        for cell in order:
            if cell not in displaced:
                baseline_order += [cell, *displaced_after.get(cell, ())]
        return baseline_order

    def _list_by_positions(self) -> list[_TrackedCell]:
        by_position = {cell.baseline_position: cell for cell in self._cells}
        return [
            by_position[position] for position in self._all_positions if position in by_position
        ]

    def _build_baseline(
        self,
        version: Document,
        baseline_order: Sequence[_TrackedCell],
        in_place: Collection[_TrackedCell],
    ) -> Document:
        if self._is_version(version, baseline_order):
            # The version has the exact bytes, also between the cells.
            return version
        document = self._document
        working_copy = WorkingCopy(document, fresh_id=str)
        if self._metadata.is_changed:
            working_copy.metadata = self._metadata.old_data
        placed: dict[int, list[int]] = defaultdict(list)
        gap = 0
        for number, cell in enumerate(baseline_order):
            token = -1 - number if cell.index is None else cell.index
            if cell in in_place:
                gap = token + 1
            else:
                placed[gap].append(token)
            if cell.is_changed:
                current = None if cell.index is None else document.get_cell(cell.index)
                cell_type = "" if current is None else current.cell_type
                working_copy.cells[token] = RestoredCell(
                    token, current, max(token, 0), None, cell_type, "", text=cell.old_data or b""
                )
            elif cell not in in_place:
                working_copy.get_cell_by_token(token)
        removed = [n for n, cell in enumerate(self._current_cells) if cell not in in_place]
        order = FinalOrder(document, removed, dict(placed))
        return document.apply_splices(compile_splices(working_copy, order))

    def _is_version(self, version: Document, order: Sequence[_TrackedCell]) -> bool:
        """Return whether the oldest version is the baseline."""
        if order != self._order or self._is_all_unseen:
            return order == self._order
        metadata = self._metadata
        old_metadata = metadata.old_data if metadata.is_changed else self._document.written_metadata
        if metadata in self._touched_cells and old_metadata != version.written_metadata:
            return False
        return all(
            _read_cell(version, index)
            == (cell.old_data if cell.is_changed else self._read_current(cell))
            for index, cell in enumerate(self._order)
            if cell in self._touched_cells
        )

    def _read_current(self, cell: _TrackedCell) -> bytes | None:
        return None if cell.index is None else _read_cell(self._document, cell.index)

    @cached_property
    def _current_cells(self) -> list[_TrackedCell]:
        """The cells as they are now, in order."""
        return self._cells[: len(self._document)]

    def _list_unmoved(
        self, order: Sequence[_TrackedCell]
    ) -> list[tuple[_TrackedCell, tuple[int, int]]]:
        """Return the cells that stay in order, with their indexes in the baseline and now.

        A cell that was moved is one of them only if it is back among the others. Those that an undo
        has returned have precedence.
        """
        numbers = [n for n, cell in enumerate(order) if cell.index is not None]
        stable = [n for n in numbers if order[n].is_in_place]
        in_place = set(stable)
        for number in sorted(numbers, key=lambda n: bool(order[n].sources)):
            if number not in in_place:
                rank = bisect_left(stable, number)
                index = order[number].index or 0
                before = order[stable[rank - 1]].index if rank else -1
                after = order[stable[rank]].index if rank < len(stable) else None
                if (before is None or before < index) and (after is None or index < after):
                    stable.insert(rank, number)
                    in_place.add(number)
        return [(order[n], (n, order[n].index or 0)) for n in stable]

    def _list_cells(
        self, record: UndoRecord, order: Sequence[_TrackedCell]
    ) -> dict[int, UndonePart]:
        changes: dict[int, UndonePart] = {}
        for number, part in enumerate(record.parts):
            if part.is_notebook_metadata:
                cell = self._metadata
            elif part.index is not None:
                cell = self._current_cells[part.index]
            else:
                cell = order[part.index_before or 0]
            if cell.sources:
                changes[number] = UndonePart(None, cell.sources[::-1], cell.deleted_by)
        return changes


def _read_cell(document: Document, index: int) -> bytes:
    span = document.cell_spans[index]
    return document.text[span.start : span.stop]


def add_undone_parts(plan: EditPlan, cells: Mapping[int, UndonePart]) -> EditPlan:
    """Return a plan with what it undoes of the edits in the history: see `NetChange.cells`."""
    undone_parts = [
        replace_members(cell, index=plan.reverted_indexes[number]) for number, cell in cells.items()
    ]
    return replace(plan, undone_parts=undone_parts)
