"""The net change of each cell by several edits, since the version that a user has kept.

The edits are reverted one by one in memory, the newest first. Which cells of two successive
versions are the same is known from what each reversal did, so nothing has to be guessed from the
contents. As long as each edit began with the version that the edit before it made, all versions are
exact. A person may have saved the notebook between two edits; from there on, the parts of older
edits whose cells are still as the edit left them are reverted.

The baseline is the notebook with each cell as it was before the first change of the cell that the
user has not seen. A change that the user has seen ends the search for that cell.

An undo and what it undoes count as nothing. In the baseline, cells that an undo has returned have
the positions from before the edit that was undone, among the cells that are still deleted or moved.
So cells that are undone one by one, in any order, end in the order of the baseline.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from jupyter_nbedit.errors import InvalidNotebook
from jupyter_nbedit.notebook.apply_batch import compile_splices
from jupyter_nbedit.notebook.cell_order import FinalOrder
from jupyter_nbedit.notebook.document import Cell, Document
from jupyter_nbedit.notebook.document_diff import CellMatching, compare_documents
from jupyter_nbedit.notebook.edit_plan import EditPlan
from jupyter_nbedit.notebook.sequence_diff import find_longest_rise
from jupyter_nbedit.notebook.undo.record import CellUndo, UndonePart, UndoRecord
from jupyter_nbedit.notebook.undo.restored_cell import RestoredCell
from jupyter_nbedit.notebook.undo.revert import Reversal, revert_possible_parts
from jupyter_nbedit.notebook.working_copy import WorkingCopy


@dataclass(frozen=True, kw_only=True)
class PastChange:
    """An edit of the history, and what the user has seen of it."""

    edit_id: int
    #: The edit that it undoes, if both are to count as nothing; their changes of a cell cancel out.
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
class CellNetChange:
    """What several edits did to one cell, or to the notebook's metadata."""

    #: The number of the part in the record of the net change.
    number: int
    #: The edits that did it with the number of the part in each, oldest first.
    sources: Sequence[tuple[int, int]]
    #: Of a deleted cell: the newest part that has deleted it.
    deleted_by: tuple[int, int] | None
    #: Of a deleted or moved cell: how many cells are now before the place where it was.
    gap: int | None


@dataclass(frozen=True)
class NetChange:
    """What several edits did to a notebook together."""

    #: The notebook without the changes that the user has not seen.
    baseline: Document
    #: Undoes the net change in the notebook as it is now.
    record: UndoRecord
    #: Whether the record has the net change: too many bytes may differ, or a cell be broken.
    is_known: bool
    cells: Sequence[CellNetChange]
    #: Whether other cells were changed and are, all in all, as they were.
    has_neutral_changes: bool
    #: The parts that cannot be reverted, because their cells were changed since, by edit.
    conflicts: Sequence[tuple[int, CellUndo]]
    #: The oldest edit that was considered; older ones count as seen. None if there is none.
    oldest_edit: int | None


def compute_net_change(
    document: Document, notebook_hash: str, edits: Sequence[PastChange]
) -> NetChange:
    """Compute the net change of each cell by edits that the user has not seen.

    ``notebook_hash`` is the hash of the document, which is the notebook as it is now. ``edits`` are
    the newest first, without gaps. Edits before one that cannot be read count as seen.
    """
    lineage = _Lineage(document, edits)
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
            lineage.add(edit, reversal, older_version)
        except InvalidNotebook:
            break
        version = older_version
        expected_hash = edit.hash_before if is_exact else None
        oldest_edit = edit.edit_id
    return lineage.build_net_change(version, oldest_edit)


def decode_record(record: bytes) -> UndoRecord | None:
    """Return what an edit did; None if it is not known."""
    try:
        return UndoRecord.decode(record) if record else None
    except ValueError:
        return None


class _Slot:
    """A position in the notebook; a cell that is moved or restored has another one then."""


@dataclass(frozen=True)
class _Undos:
    """The edits that undo others, where both count as nothing for a user."""

    #: The edits that undo whole edits, by those.
    undo_ids: Mapping[int, int]
    #: What the user has undone by cells, by the edits that did it: as edits and numbers of parts.
    undone_parts: Mapping[int, Collection[tuple[int, int]]]
    #: The parts that the user has kept, by the edits. What the user has undone is seen, too.
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
            # If somebody else undoes what the user has made, the user has not seen that.
            if edit.is_seen or not undone.is_seen:
                undo_ids.setdefault(undone.edit_id, edit.edit_id)
        in_effect = {n: parts for n, parts in undone_parts.items() if n not in undo_ids}
        return cls(undo_ids, in_effect, kept_parts)

    def is_undo(self, edit: PastChange) -> bool:
        """Return whether an edit undoes another, and both count as nothing."""
        return edit.undoes is not None and self.undo_ids.get(edit.undoes) == edit.edit_id


@dataclass(frozen=True)
class _NewerUndos:
    """What was undone by the undos of cells that are newer than the version that was reached.

    It is named by edits and numbers of parts.
    """

    #: By the undos that are newer than all other edits. The baseline is what it was before them.
    newest_parts: set[tuple[int, int]] = field(default_factory=set)
    other_parts: set[tuple[int, int]] = field(default_factory=set)


@dataclass(eq=False)
class _Track:
    """A cell, and its history: from now on back."""

    #: Its index now; None if it does not exist.
    index: int | None = None
    #: Its position now, without the newest undos; None if it does not exist then.
    slot: _Slot | None = None
    #: Whether one of the newest undos has inserted, deleted or moved it.
    is_returned: bool = False
    #: If it does not exist now: the part of an edit that has deleted it.
    deleted_by: tuple[int, int] | None = None
    #: Its position in the baseline, None if it does not exist there.
    baseline_slot: _Slot | None = None
    #: Whether it was changed since the baseline; its bytes there, or those of the metadata.
    is_changed: bool = False
    old_text: bytes | None = None
    #: The changes that the user has not seen and nobody has undone, as edits and numbers of parts,
    #: newest first.
    sources: list[tuple[int, int]] = field(default_factory=list)
    #: Whether the user has seen the cell at this point, so that older changes do not count.
    is_closed: bool = False
    #: By the number of an edit that was undone: how many sources there were at its undo.
    undo_counts: dict[int, int] = field(default_factory=dict)
    #: Its position before the oldest change that counts, or now.
    _counted_slot: _Slot | None = None

    @property
    def is_at_its_place(self) -> bool:
        """Whether it has never been elsewhere since the baseline."""
        return self.baseline_slot is self.slot and not self.is_returned

    def begin_at(self, slot: _Slot | None) -> None:
        """Set its position now."""
        self.slot = self.baseline_slot = self._counted_slot = slot

    def begin_with(
        self, edit: PastChange, number: int, undos: _Undos, newer_undos: _NewerUndos
    ) -> bool:
        """Add an older change; return whether the state before it is that of the baseline."""
        if self.is_closed:
            return False
        if undos.is_undo(edit):
            self.undo_counts[edit.undoes or 0] = len(self.sources)
            return False
        if edit.edit_id in undos.undo_ids and edit.edit_id in self.undo_counts:
            # Another change may lie between the undo and the edit that it undoes.
            return len(self.sources) > self.undo_counts[edit.edit_id]
        part = (edit.edit_id, number)
        is_skipped = edit.edit_id in undos.undone_parts or part in newer_undos.other_parts
        if is_skipped or part in newer_undos.newest_parts:
            return not is_skipped
        if edit.is_seen or number in undos.kept_parts[edit.edit_id]:
            self.close()
            return False
        self.sources.append(part)
        return True

    def close(self) -> None:
        """Let older changes count as seen."""
        self.is_closed = True
        self.baseline_slot = self._counted_slot

    def put_back(self, slot: _Slot | None, *, is_counted: bool) -> None:
        """Set the position before a change; ``is_counted`` if that is the one in the baseline."""
        self.baseline_slot = slot
        if is_counted:
            self._counted_slot = slot


class _NewSlots:
    """Positions in an older version, among the positions in the versions after it.

    Cells that were not in the same version have no order that is certain. Those that have not been
    moved among the others, all in all, are to have the order that they have now.
    """

    def __init__(self, slots: Sequence[_Slot]) -> None:
        self._slots = slots
        self._ranks = {slot: rank for rank, slot in enumerate(slots)}
        self._slots_after: dict[_Slot | None, list[_Slot]] = defaultdict(list)
        self._slots_before: dict[_Slot | None, list[_Slot]] = defaultdict(list)

    def assign(
        self, tracks: Sequence[_Track], first: _Slot | None, last: _Slot | None
    ) -> dict[_Track, _Slot]:
        """Return positions between two others for cells that follow each other.

        A cell that is between these two now has the position that it has now.
        """
        assigned: dict[_Track, _Slot] = {}
        start, stop = self._get_rank(first, -1), self._get_rank(last, len(self._slots))
        ranks: list[int] = []
        for track in tracks:
            # Of a cell that was deleted and restored, or moved back, the positions may be equal.
            ranks.append(self._get_rank(track.baseline_slot, start))
            if not start < ranks[-1] < stop:
                ranks[-1] = self._get_rank(track.slot, start)
        between = [(n, rank) for n, rank in enumerate(ranks) if start < rank < stop]
        bounds = [*find_longest_rise(between), (len(tracks), stop)]
        number = 0
        for bound, rank in bounds:
            following = self._slots[rank] if rank < stop else last
            is_before = False
            for track in tracks[number:bound]:
                slot = assigned[track] = _Slot()
                # One that is farther down now is put as far down as possible.
                is_before = is_before or ranks[number] > rank
                (self._slots_before[following] if is_before else self._slots_after[first]).append(
                    slot
                )
                number += 1
            if bound < len(tracks):
                first = assigned[tracks[bound]] = self._slots[rank]
                number = bound + 1
        return assigned

    def list_all(self) -> list[_Slot]:
        """Return all positions in order."""
        slots = list(self._slots_after[None])
        for slot in self._slots:
            slots += [*self._slots_before.get(slot, ()), slot, *self._slots_after.get(slot, ())]
        return slots + self._slots_before[None]

    def _get_rank(self, slot: _Slot | None, default: int) -> int:
        return default if slot is None else self._ranks[slot]


class _Lineage:
    """Which cells of the versions of a notebook are the same, from the newest version back."""

    def __init__(self, document: Document, edits: Sequence[PastChange]) -> None:
        self._document = document
        #: The cells of the version that was reached, in order.
        self._order = [_Track(index) for index in range(len(document))]
        #: All positions of all versions, in order, and those of the cells in that version.
        self._all_slots: list[_Slot] = []
        self._slots: dict[_Track, _Slot] = {}
        #: Whether nothing but undos of cells was reverted. These have no influence on the order.
        self._is_at_newest_undos = True
        self._newer_undos = _NewerUndos()
        #: All cells that exist in one of the versions, those that exist now first.
        self._tracks = list(self._order)
        self._metadata = _Track()
        self._undos = _Undos.read(edits)
        #: Cells that do not exist in the version that was reached: those that an undo has inserted
        #: again by the part that had deleted them; others by their ids, and without ids by the edit
        #: that was undone and their bytes, as the records of earlier releases require.
        self._returned: dict[tuple[int, int], _Track] = {}
        self._inserted_by_id: dict[str, _Track] = {}
        self._inserted_by_text: dict[tuple[int | None, bytes], deque[_Track]] = defaultdict(deque)
        self._touched: set[_Track] = set()
        #: Whether all changes are to be undone, so that the oldest version is the baseline.
        self._is_all_unseen = True
        self._conflicts: list[tuple[int, CellUndo]] = []

    def add(self, edit: PastChange, reversal: Reversal, version: Document) -> None:
        """Add what the reversal of an edit did; ``version`` is the notebook without the edit."""
        undone_parts = self._undos.undone_parts.get(edit.edit_id, ())
        is_newest_undo = self._is_at_newest_undos and undone_parts and not reversal.conflicts
        if self._is_at_newest_undos and not is_newest_undo:
            self._begin_slots()
        for number in reversal.conflicts:
            self._close(edit.edit_id, reversal.record.parts[number], reversal.plan.document)
            self._is_all_unseen = False
        tracks = self._find_tracks(edit, reversal, version)
        self._reorder(reversal, tracks)
        self._touched.update(tracks.values())
        if is_newest_undo:
            self._newer_undos.newest_parts.update(undone_parts)
            for number, track in tracks.items():
                if reversal.record.parts[number].changes_position:
                    track.is_returned = True
            return
        self._newer_undos.other_parts.update(undone_parts)
        for number, track in tracks.items():
            is_counted = track.begin_with(edit, number, self._undos, self._newer_undos)
            self._is_all_unseen = self._is_all_unseen and is_counted
            if not track.is_closed and reversal.record.parts[number].changes_position:
                # An undo and its edit may each have moved another cell of the two, so both cells
                # have the positions from before the edit. An edit of the contents moves nothing.
                track.put_back(self._slots.get(track), is_counted=is_counted)
            if is_counted:
                index_before = reversal.indexes[number][1]
                track.is_changed = True
                track.old_text = (
                    version.written_metadata
                    if track is self._metadata
                    else None
                    if index_before is None
                    else _read_cell(version, index_before)
                )

    def _begin_slots(self) -> None:
        """Give the cells of the version that was reached their positions."""
        self._is_at_newest_undos = False
        self._all_slots = [_Slot() for _ in self._order]
        self._slots = dict(zip(self._order, self._all_slots, strict=True))
        for track, slot in self._slots.items():
            track.begin_at(slot)

    def _find_tracks(
        self, edit: PastChange, reversal: Reversal, version: Document
    ) -> dict[int, _Track]:
        """Return the cells of the parts that were reverted."""
        parts, later_version = reversal.record.parts, reversal.plan.document
        deleted_by = {part.index: part.deleted_by for part in reversal.record.undone_parts}
        tracks: dict[int, _Track] = {}
        for number, (index, index_before) in reversal.indexes.items():
            cell_id = parts[number].cell_id
            if parts[number].is_notebook_metadata:
                tracks[number] = self._metadata
            elif index is not None:
                tracks[number] = track = self._order[index]
                if index_before is not None:
                    continue
                if deleting_part := deleted_by.get(parts[number].index):
                    self._returned[deleting_part] = track
                elif cell_id is not None:
                    self._inserted_by_id[cell_id] = track
                elif edit.undoes in self._undos.undo_ids:
                    text = _read_cell(later_version, index)
                    self._inserted_by_text[edit.undoes, text].append(track)
        for number, (index, index_before) in reversal.indexes.items():
            if index is None and index_before is not None:
                tracks[number] = self._find_restored(
                    edit, number, parts[number], version, index_before
                )
        return tracks

    def _close(self, edit_id: int, part: CellUndo, version: Document) -> None:
        """Let the changes of a part count as seen: a person has changed the same members since.

        So do older changes of a cell that was inserted, deleted or moved; others may have touched
        other members.
        """
        self._conflicts.append((edit_id, part))
        if not part.changes_position:
            return
        indexes = version.ids.get(part.cell_id or "", ())
        for index in indexes:
            self._order[index].close()
        if part.cell_id is not None and not indexes:
            self._inserted_by_id.setdefault(part.cell_id, _Track()).close()

    def _find_restored(
        self, edit: PastChange, number: int, part: CellUndo, version: Document, index: int
    ) -> _Track:
        """Return a cell that the edit deleted and a later edit inserted again, or a new one."""
        track = self._returned.get((edit.edit_id, number))
        if track is None:
            track = self._inserted_by_id.pop(part.cell_id or "", None)
        if track is None and self._inserted_by_text:
            same = self._inserted_by_text.get((edit.edit_id, _read_cell(version, index)))
            track = same.popleft() if same else None
        if track is None:
            track = _Track(deleted_by=(edit.edit_id, number))
            self._tracks.append(track)
        return track

    def _reorder(self, reversal: Reversal, tracks: Mapping[int, _Track]) -> None:
        """Update the order of the cells to that of the notebook without the edit."""
        positions = [
            (tracks[number], index, index_before)
            for number, (index, index_before) in reversal.indexes.items()
            if number in tracks and reversal.record.parts[number].changes_position
        ]
        if not positions:
            return
        removed = {index for _, index, _ in positions}
        unmoved = iter([track for n, track in enumerate(self._order) if n not in removed])
        placed = {before: track for track, _, before in positions if before is not None}
        for track, index, _ in positions:
            if index is not None:
                self._slots.pop(track, None)
        order = [
            placed[index] if index in placed else next(unmoved)
            for index in range(reversal.plan.total_cells)
        ]
        self._order = order
        if self._is_at_newest_undos:
            return
        placed_tracks: list[_Track] = []
        new_slots = _NewSlots(self._all_slots)
        last_slot: _Slot | None = None
        for index, track in enumerate(order):
            if index in placed:
                placed_tracks.append(track)
            else:
                slot = self._slots[track]
                self._slots |= new_slots.assign(placed_tracks, last_slot, slot)
                placed_tracks, last_slot = [], slot
        self._slots |= new_slots.assign(placed_tracks, last_slot, None)
        self._all_slots = new_slots.list_all()

    def build_net_change(self, version: Document, oldest_edit: int | None) -> NetChange:
        """Return the difference of the baseline and the notebook as it is now.

        ``version`` is the notebook without all edits.
        """
        if self._is_at_newest_undos:
            self._begin_slots()
        self._join_equal_cells()
        old_order = self._compute_old_order()
        unmoved = self._list_unmoved(old_order)
        baseline = self._build_baseline(version, old_order, {track for track, _ in unmoved})
        matching = CellMatching(
            {n: track.index for n, track in enumerate(old_order) if track.index is not None},
            [pair for _, pair in unmoved],
        )
        record = compare_documents(baseline, self._document, matching).build_record()
        is_known = record is not None
        if record is None:
            record = UndoRecord(
                parts=[], gaps=[], reverse_splices=None, total_cells=len(self._document), blob=b""
            )
        cells = self._list_cells(record, old_order)
        changed_count = sum(1 for track in (*self._tracks, self._metadata) if track.sources)
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
        """Take a deleted cell and an inserted one with the same bytes for one cell.

        By these bytes a cell without id that somebody has restored is recognized.
        """
        deleted: dict[bytes | None, deque[_Track]] = defaultdict(deque)
        for track in self._list_by_slots():
            if track.index is None:
                deleted[track.old_text].append(track)
        for track in self._now if deleted else ():
            if track.baseline_slot is None and (same := deleted.get(self._read_now(track))):
                other = same.popleft()
                track.is_changed = True
                track.old_text, track.baseline_slot = other.old_text, other.baseline_slot
                track.sources = sorted({*track.sources, *other.sources}, reverse=True)
                other.baseline_slot = None

    def _compute_old_order(self) -> list[_Track]:
        """Return the cells of the baseline in order.

        A cell that an undo has put elsewhere, and whose changes are not listed, is where it is now.
        """
        order = self._list_by_slots()
        in_place = {track for track, _ in self._list_unmoved(order)}
        displaced = {
            track
            for track in order
            if track.index is not None and not track.sources and track not in in_place
        }
        displaced_after: dict[_Track | None, list[_Track]] = defaultdict(list)
        previous = None
        for track in self._now if displaced else ():
            if track in displaced:
                displaced_after[previous].append(track)
            elif track in in_place:
                previous = track
        old_order = list(displaced_after[None])
        for track in order:
            if track not in displaced:
                old_order += [track, *displaced_after.get(track, ())]
        return old_order

    def _list_by_slots(self) -> list[_Track]:
        by_slot = {track.baseline_slot: track for track in self._tracks}
        return [by_slot[slot] for slot in self._all_slots if slot in by_slot]

    def _build_baseline(
        self, version: Document, old_order: Sequence[_Track], in_place: Collection[_Track]
    ) -> Document:
        if self._is_version(version, old_order):
            # This has the exact bytes, between the cells, too.
            return version
        document = self._document
        working_copy = WorkingCopy(document, fresh_id=str)
        if self._metadata.is_changed:
            working_copy.metadata = self._metadata.old_text
        placed: dict[int, list[int]] = defaultdict(list)
        gap = 0
        for number, track in enumerate(old_order):
            token = -1 - number if track.index is None else track.index
            if track in in_place:
                gap = token + 1
            else:
                placed[gap].append(token)
            if track.is_changed:
                cell = None if track.index is None else document.get_cell(track.index)
                working_copy.cells[token] = _build_cell(token, cell, track.old_text or b"")
            elif track not in in_place:
                working_copy.get_cell_by_token(token)
        removed = [n for n, track in enumerate(self._now) if track not in in_place]
        order = FinalOrder(document, removed, dict(placed))
        return document.apply_splices(compile_splices(working_copy, order))

    def _is_version(self, version: Document, old_order: Sequence[_Track]) -> bool:
        """Return whether the oldest version is the baseline."""
        if old_order != self._order or self._is_all_unseen:
            return old_order == self._order
        metadata = self._metadata
        old_metadata = metadata.old_text if metadata.is_changed else self._document.written_metadata
        if metadata in self._touched and old_metadata != version.written_metadata:
            return False
        return all(
            _read_cell(version, index) == self._get_old_text(track)
            for index, track in enumerate(self._order)
            if track in self._touched
        )

    def _get_old_text(self, track: _Track) -> bytes | None:
        if track.is_changed:
            return track.old_text
        return self._read_now(track)

    def _read_now(self, track: _Track) -> bytes | None:
        return None if track.index is None else _read_cell(self._document, track.index)

    @cached_property
    def _now(self) -> list[_Track]:
        """The cells as they are now, in order."""
        return self._tracks[: len(self._document)]

    def _list_unmoved(self, old_order: Sequence[_Track]) -> list[tuple[_Track, tuple[int, int]]]:
        """Return the cells that stay in order, with their indexes in the baseline and now.

        A cell that was moved is one of them only if it is back among the others. Those that an undo
        has returned have precedence.
        """
        numbers = [n for n, track in enumerate(old_order) if track.index is not None]
        stable = [n for n in numbers if old_order[n].is_at_its_place]
        in_place = set(stable)
        for number in sorted(numbers, key=lambda n: bool(old_order[n].sources)):
            if number not in in_place:
                rank = bisect_left(stable, number)
                index = old_order[number].index or 0
                before = old_order[stable[rank - 1]].index if rank else -1
                after = old_order[stable[rank]].index if rank < len(stable) else None
                if (before is None or before < index) and (after is None or index < after):
                    stable.insert(rank, number)
                    in_place.add(number)
        return [(old_order[n], (n, old_order[n].index or 0)) for n in stable]

    def _list_cells(self, record: UndoRecord, old_order: Sequence[_Track]) -> list[CellNetChange]:
        cells: list[CellNetChange] = []
        for number, part in enumerate(record.parts):
            if part.is_notebook_metadata:
                track = self._metadata
            elif part.index is not None:
                track = self._now[part.index]
            else:
                track = old_order[part.index_before or 0]
            gap = None if part.gap_number is None else record.gaps[part.gap_number].gap_index
            if track.sources:
                cells.append(CellNetChange(number, track.sources[::-1], track.deleted_by, gap))
        return cells


def _read_cell(document: Document, index: int) -> bytes:
    span = document.cell_spans[index]
    return document.text[span.start : span.stop]


def _build_cell(token: int, cell: Cell | None, text: bytes) -> RestoredCell:
    cell_type = "" if cell is None else cell.cell_type
    return RestoredCell(token, cell, max(token, 0), None, cell_type, "", text=text)


def add_undone_parts(plan: EditPlan, cells: Iterable[CellNetChange]) -> EditPlan:
    """Return a plan with what it undoes of the edits in the history."""
    undone_parts = [
        UndonePart(plan.reverted_indexes[cell.number], [*cell.sources], cell.deleted_by)
        for cell in cells
    ]
    return replace(plan, undone_parts=undone_parts)
