"""The net change of each cell by several edits, since the version that a user has kept.

The edits are reverted one by one in memory, the newest first. Which cells of two successive
versions are the same is known from what each reversal did, so nothing has to be guessed from the
contents. As long as each edit began with the version that the edit before it made, all versions are
exact. A person may have saved the notebook between two edits; from there on, the parts of older
edits whose cells are still as the edit left them are reverted.

The baseline is the notebook with each cell as it was before the first change of the cell that the
user has not seen. A change that the user has seen ends the search for that cell.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from jupyter_nbedit.errors import InvalidNotebook
from jupyter_nbedit.notebook.apply_batch import compile_splices
from jupyter_nbedit.notebook.cell_order import FinalOrder
from jupyter_nbedit.notebook.document import Cell, Document
from jupyter_nbedit.notebook.document_diff import CellMatching, compare_documents
from jupyter_nbedit.notebook.sequence_diff import find_longest_rise
from jupyter_nbedit.notebook.undo.record import CellUndo, UndoRecord
from jupyter_nbedit.notebook.undo.restored_cell import RestoredCell
from jupyter_nbedit.notebook.undo.revert import Reversal, revert_possible_parts
from jupyter_nbedit.notebook.working_copy import WorkingCopy


@dataclass(frozen=True, kw_only=True)
class PastChange:
    """An edit of the history, and what the user has seen of it."""

    edit_id: int
    #: The edit that it undoes, if both are to count as nothing; their changes of a cell cancel out.
    undoes: int | None = None
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


def compute_net_change(document: Document, digest: str, edits: Sequence[PastChange]) -> NetChange:
    """Compute the net change of each cell by edits that the user has not seen.

    ``digest`` is the hash of the document, which is the notebook as it is now. ``edits`` are the
    newest first, without gaps. Edits before one that cannot be read count as seen.
    """
    lineage = _Lineage(document, edits)
    expected_hash: str | None = digest
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


@dataclass(eq=False)
class _Track:
    """A cell, and its history: from now on back."""

    #: Its index and its position now; None if it does not exist.
    index: int | None = None
    slot: _Slot | None = None
    #: Its bytes, or those of the metadata, and its position before the changes in ``sources``.
    old_text: bytes | None = None
    old_slot: _Slot | None = None
    #: The changes that the user has not seen, as edits and numbers of parts, newest first.
    sources: list[tuple[int, int]] = field(default_factory=list)
    #: Whether the user has seen the cell at this point, so that older changes do not count.
    is_closed: bool = False
    #: By the number of an edit that was undone: how many sources there were at its undo.
    undo_counts: dict[int, int] = field(default_factory=dict)

    def begin_with(self, edit: PastChange, number: int, undo_ids: Mapping[int, int]) -> bool:
        """Add an older change; return whether the state before it is that of the baseline.

        ``undo_ids`` are the edits that undo others, if both count as nothing, by those.
        """
        if self.is_closed:
            return False
        if edit.undoes is not None and undo_ids.get(edit.undoes) == edit.edit_id:
            self.undo_counts[edit.undoes] = len(self.sources)
            return False
        if edit.edit_id in undo_ids and edit.edit_id in self.undo_counts:
            # Another change may lie between the undo and the edit that it undoes.
            return len(self.sources) > self.undo_counts[edit.edit_id]
        if edit.is_seen or number in edit.seen_parts:
            self.is_closed = True
            return False
        self.sources.append((edit.edit_id, number))
        return True

    @property
    def baseline_slot(self) -> _Slot | None:
        """Its position in the baseline; None if it does not exist there."""
        return self.old_slot if self.sources else self.slot


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
        #: All positions of all versions, in order.
        self._all_slots = [_Slot() for _ in range(len(document))]
        #: The cells of the version that was reached, in order, and their positions.
        self._order = [_Track(index, slot) for index, slot in enumerate(self._all_slots)]
        self._slots = dict(zip(self._order, self._all_slots, strict=True))
        #: All cells that exist in one of the versions, those that exist now first.
        self._tracks = list(self._order)
        self._metadata = _Track()
        self._undo_ids = _list_undo_ids(edits)
        self._cancelled_edits = {*self._undo_ids, *self._undo_ids.values()}
        #: Cells that do not exist in the version that was reached: by their ids, and without ids
        #: by the edit that was undone and their bytes.
        self._inserted_by_id: dict[str, _Track] = {}
        self._inserted_by_text: dict[tuple[int | None, bytes], deque[_Track]] = defaultdict(deque)
        self._touched: set[_Track] = set()
        #: Whether all changes are to be undone, so that the oldest version is the baseline.
        self._is_all_unseen = True
        self._conflicts: list[tuple[int, CellUndo]] = []

    def add(self, edit: PastChange, reversal: Reversal, version: Document) -> None:
        """Add what the reversal of an edit did; ``version`` is the notebook without the edit."""
        later_version = reversal.plan.document
        for number in reversal.conflicts:
            self._close(edit.edit_id, reversal.record.parts[number], later_version)
        tracks = self._find_tracks(edit, reversal, version)
        self._reorder(reversal, tracks)
        self._touched.update(tracks.values())
        is_cancelled = edit.edit_id in self._cancelled_edits
        if is_cancelled or edit.is_seen or edit.seen_parts or reversal.conflicts:
            self._is_all_unseen = False
        for number, track in tracks.items():
            known_slot = track.baseline_slot
            if not track.begin_with(edit, number, self._undo_ids):
                continue
            index_before = reversal.indexes[number][1]
            if track is self._metadata:
                track.old_text = version.written_metadata
            else:
                # An edit of the contents keeps the position. The version without it may have
                # another: an undo and its edit may each have moved another cell of the two.
                changes_position = reversal.record.parts[number].changes_position
                track.old_slot = self._slots.get(track) if changes_position else known_slot
                track.old_text = None if index_before is None else _read_cell(version, index_before)

    def _find_tracks(
        self, edit: PastChange, reversal: Reversal, version: Document
    ) -> dict[int, _Track]:
        """Return the cells of the parts that were reverted."""
        parts, later_version = reversal.record.parts, reversal.plan.document
        tracks: dict[int, _Track] = {}
        for number, (index, index_before) in reversal.indexes.items():
            cell_id = parts[number].cell_id
            if parts[number].is_notebook_metadata:
                tracks[number] = self._metadata
            elif index is not None:
                tracks[number] = track = self._order[index]
                if index_before is None and cell_id is not None:
                    self._inserted_by_id[cell_id] = track
                elif index_before is None and edit.undoes in self._undo_ids:
                    text = _read_cell(later_version, index)
                    self._inserted_by_text[edit.undoes, text].append(track)
        for number, (index, index_before) in reversal.indexes.items():
            if index is None and index_before is not None:
                tracks[number] = self._find_restored(edit, parts[number], version, index_before)
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
            self._order[index].is_closed = True
        if part.cell_id is not None and not indexes:
            self._inserted_by_id.setdefault(part.cell_id, _Track()).is_closed = True

    def _find_restored(
        self, edit: PastChange, part: CellUndo, version: Document, index: int
    ) -> _Track:
        """Return a cell that the edit deleted and a later edit inserted again, or a new one."""
        track = self._inserted_by_id.pop(part.cell_id or "", None)
        if track is None and self._inserted_by_text:
            same = self._inserted_by_text.get((edit.edit_id, _read_cell(version, index)))
            track = same.popleft() if same else None
        if track is None:
            track = _Track()
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
        order: list[_Track] = []
        placed_tracks: list[_Track] = []
        new_slots = _NewSlots(self._all_slots)
        last_slot: _Slot | None = None
        for index in range(reversal.plan.total_cells):
            track = placed[index] if index in placed else next(unmoved)
            order.append(track)
            if index in placed:
                placed_tracks.append(track)
            else:
                slot = self._slots[track]
                self._slots |= new_slots.assign(placed_tracks, last_slot, slot)
                placed_tracks, last_slot = [], slot
        self._slots |= new_slots.assign(placed_tracks, last_slot, None)
        self._order, self._all_slots = order, new_slots.list_all()

    def build_net_change(self, version: Document, oldest_edit: int | None) -> NetChange:
        """Return the difference of the baseline and the notebook as it is now.

        ``version`` is the notebook without all edits.
        """
        self._join_equal_cells()
        old_order = self._compute_old_order()
        baseline = self._build_baseline(version, old_order)
        matching = self._match_cells(old_order)
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
        for track in self._compute_old_order():
            if track.index is None:
                deleted[track.old_text].append(track)
        for track in self._now if deleted else ():
            if track.baseline_slot is None and (same := deleted.get(self._read_now(track))):
                other = same.popleft()
                track.old_text, track.old_slot = other.old_text, other.old_slot
                track.sources = sorted({*track.sources, *other.sources}, reverse=True)
                other.old_slot = None

    def _compute_old_order(self) -> list[_Track]:
        """Return the cells of the baseline in order."""
        by_slot = {track.baseline_slot: track for track in self._tracks}
        return [by_slot[slot] for slot in self._all_slots if slot in by_slot]

    def _build_baseline(self, version: Document, old_order: Sequence[_Track]) -> Document:
        if self._is_version(version, old_order):
            # This has the exact bytes, between the cells, too.
            return version
        document = self._document
        working_copy = WorkingCopy(document, fresh_id=str)
        if self._metadata.sources:
            working_copy.metadata = self._metadata.old_text
        placed: dict[int, list[int]] = defaultdict(list)
        gap = 0
        in_place = self._unmoved_tracks
        for number, track in enumerate(old_order):
            token = -1 - number if track.index is None else track.index
            if track in in_place:
                gap = token + 1
            else:
                placed[gap].append(token)
            if track.sources:
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
        old_metadata = metadata.old_text if metadata.sources else self._document.written_metadata
        if metadata in self._touched and old_metadata != version.written_metadata:
            return False
        return all(
            _read_cell(version, index) == self._get_old_text(track)
            for index, track in enumerate(self._order)
            if track in self._touched
        )

    def _get_old_text(self, track: _Track) -> bytes | None:
        if track.sources:
            return track.old_text
        return self._read_now(track)

    def _read_now(self, track: _Track) -> bytes | None:
        return None if track.index is None else _read_cell(self._document, track.index)

    @cached_property
    def _now(self) -> list[_Track]:
        """The cells as they are now, in order."""
        return self._tracks[: len(self._document)]

    @cached_property
    def _unmoved_tracks(self) -> set[_Track]:
        """The cells that have the same place, among each other, in the baseline and now."""
        return {track for track, _ in self._list_unmoved(self._compute_old_order())}

    def _list_unmoved(self, old_order: Sequence[_Track]) -> list[tuple[_Track, tuple[int, int]]]:
        """Return the cells that stay in order, with their indexes in the baseline and now.

        A cell that was moved is one of them only if it is back among the others.
        """
        numbers = [n for n, track in enumerate(old_order) if track.index is not None]
        stable = [n for n in numbers if old_order[n].baseline_slot is old_order[n].slot]
        in_place = set(stable)
        for number in numbers:
            if number not in in_place:
                rank = bisect_left(stable, number)
                index = old_order[number].index or 0
                before = old_order[stable[rank - 1]].index if rank else -1
                after = old_order[stable[rank]].index if rank < len(stable) else None
                if (before is None or before < index) and (after is None or index < after):
                    stable.insert(rank, number)
                    in_place.add(number)
        return [(old_order[n], (n, old_order[n].index or 0)) for n in stable]

    def _match_cells(self, old_order: Sequence[_Track]) -> CellMatching:
        return CellMatching(
            {n: track.index for n, track in enumerate(old_order) if track.index is not None},
            [pair for _, pair in self._list_unmoved(old_order)],
        )

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
                cells.append(CellNetChange(number, track.sources[::-1], gap))
        return cells


def _list_undo_ids(edits: Sequence[PastChange]) -> dict[int, int]:
    """Return the edits that undo others, if both are to count as nothing, by those."""
    edits_by_id = {edit.edit_id: edit for edit in edits}
    undo_ids: dict[int, int] = {}
    for edit in edits:
        undone = edits_by_id.get(edit.undoes or 0)
        if undone is None or edit.edit_id in undo_ids or undone.seen_parts:
            continue
        # If somebody else undoes what the user has made, the user has not seen that.
        if edit.is_seen or not undone.is_seen:
            undo_ids.setdefault(undone.edit_id, edit.edit_id)
    return undo_ids


def _read_cell(document: Document, index: int) -> bytes:
    span = document.cell_spans[index]
    return document.text[span.start : span.stop]


def _build_cell(token: int, cell: Cell | None, text: bytes) -> RestoredCell:
    cell_type = "" if cell is None else cell.cell_type
    return RestoredCell(token, cell, max(token, 0), None, cell_type, "", text=text)
