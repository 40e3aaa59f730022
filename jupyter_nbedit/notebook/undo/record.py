"""What is kept of an edit, so that it can be shown and taken back later.

A record tells of each changed cell what it was and became. All bytes of the notebook that the edit
took away are in one place, its ``blob``, once; everything else refers to ranges of it. What the
edit did not touch is not kept: the former text of a cell has holes for the values that stayed.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import msgspec
from msgspec.structs import replace

from jupyter_nbedit.errors import InvalidNotebook
from jupyter_nbedit.notebook.document import Cell, Document
from jupyter_nbedit.notebook.edited_cell import decode_metadata
from jupyter_nbedit.notebook.lazy.buffer import Buffer, iterate_chunks
from jupyter_nbedit.notebook.splices import Splice, invert_splices

# Old records stay readable by this number, with which each begins.
_FORM = b"\x01"
_LENGTH = 8
# A notebook's own bytes hardly shrink more by a better level, which takes several times as long.
_LEVEL = 1
#: Where the metadata of a cell say when it was run.
EXECUTION = "execution"
# What a run of the cell, or whoever shows it, writes there: it says nothing of what the cell is.
_VOLATILE = frozenset((EXECUTION, "trusted"))


class CellState(msgspec.Struct, frozen=True, kw_only=True):
    """A cell before or after an edit; of the notebook itself only the metadata are there."""

    cell_type: str | None
    source: str | None
    metadata: dict[str, Any]


class Fragment(msgspec.Struct, frozen=True, array_like=True):
    """A piece of a cell's former text.

    Parameters
    ----------
    name
        Of the member whose value this is; None for what stands between values.
    kept
        Where it stands in the blob. None is a hole: the value did not change.
    """

    name: str | None
    blob_range: tuple[int, int] | None


class NeighbourKey(msgspec.Struct, frozen=True, array_like=True):
    """A neighbour of a cell: its id, or what tells cells without ids apart."""

    id: str | None
    key: str | None


class GapAnchor(msgspec.Struct, frozen=True, array_like=True):
    """A place that cells had before the edit, between cells that it left where they were.

    Parameters
    ----------
    behind, ahead
        The nearest of them before and after the place, from near to far; empty at the start and at
        the end of the notebook.
    gap
        How many cells stand before the place right after the edit.
    """

    behind: list[NeighbourKey]
    ahead: list[NeighbourKey]
    gap: int


class CellUndo(msgspec.Struct, kw_only=True):
    """What the edit did to one cell or, if both indexes are null, to the notebook's metadata.

    Parameters
    ----------
    cell_id
        The cell's id, if it has one.
    index_before, index
        Where it stood, and stands after the edit; None where it is not there.
    moved
        Whether it was taken to another place among those that stayed.
    outputs_cleared, outputs_returned
        Whether it had outputs and has not any more, or the other way round.
    before, after
        What it said; None where it is not there.
    former
        The text of the cell, or of the metadata, that taking back restores; None if the cell has
        only been moved, or was not there.
    added
        The members that the edit gave the cell.
    place
        The number of the place it had, if it is not there any more.
    fingerprint
        Tells whether the cell, or the text of the metadata, still is as the edit left it.
    beside
        What tells its neighbours from others, before and after it, if the cell has no id to be
        found by; empty where there is none.
    """

    cell_id: str | None = None
    index_before: int | None = None
    index: int | None = None
    moved: bool = False
    outputs_cleared: bool = False
    outputs_returned: bool = False
    before: CellState | None
    after: CellState | None
    former: list[Fragment] | None = None
    added: list[str] = []
    place: int | None = None
    fingerprint: str | None = None
    beside: tuple[str, str] | None = None

    @property
    def of_notebook(self) -> bool:
        """Whether this is about the notebook's metadata."""
        return self.index_before is None and self.index is None

    def invert(self) -> CellUndo:
        """Show the part from the other side, as of the opposite edit; good for showing only."""
        return replace(
            self,
            index_before=self.index,
            index=self.index_before,
            outputs_cleared=self.outputs_returned,
            outputs_returned=self.outputs_cleared,
            before=self.after,
            after=self.before,
        )


class ByteRange(msgspec.Struct, frozen=True, array_like=True):
    """A range of the blob or, if ``there``, of the notebook as the edit left it."""

    start: int
    stop: int
    there: bool


class ReverseSplice(msgspec.Struct, frozen=True, array_like=True):
    """A splice on the notebook as the edit left it; its text is what the runs give."""

    start: int
    stop: int
    runs: list[ByteRange]


class UndoRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What an edit did to a notebook.

    Parameters
    ----------
    parts
        One for each cell that changed, in the order of the notebook after the edit (one that is
        gone counts where it was), and at the end one for the notebook's metadata, if they did.
    places
        Where cells stood that do not stand there any more.
    back
        The splices that take the edit back, to the byte; None if the bytes they are made for were
        never kept.
    total_cells
        How many cells there were after the edit.
    blob
        All bytes that the others refer to.
    """

    parts: list[CellUndo]
    places: list[GapAnchor]
    back: list[ReverseSplice] | None
    total_cells: int
    blob: bytes

    def read_blob(self, start: int, stop: int) -> bytes:
        """Return a range of the blob."""
        return self.blob[start:stop]

    def drop_text(self) -> UndoRecord:
        """Return what it says of the order of cells, without the bytes that the edit took away."""
        return replace(self, blob=b"", back=None)

    def encode(self) -> bytes:
        """Write it down."""
        head = msgspec.to_builtins(replace(self, blob=b""))
        # Python's own JSON can say what notebooks may hold: lone surrogates, NaN, huge integers.
        written = json.dumps(head, separators=(",", ":")).encode()
        length = len(written).to_bytes(_LENGTH, "big")
        return _FORM + zlib.compress(b"".join((length, written, self.blob)), _LEVEL)

    @classmethod
    def decode(cls, text: bytes) -> UndoRecord:
        """Read what `encode` wrote.

        Raises
        ------
        ValueError
            If it is nothing of that kind.
        """
        if not text.startswith(_FORM):
            message = "This is no record of an edit, or one of a later version."
            raise ValueError(message)
        try:
            plain = zlib.decompress(text[len(_FORM) :])
        except zlib.error as error:
            message = f"The record of the edit is damaged: {error}"
            raise ValueError(message) from None
        stop = _LENGTH + int.from_bytes(plain[:_LENGTH], "big")
        head = msgspec.convert(json.loads(plain[_LENGTH:stop]), cls)
        return replace(head, blob=plain[stop:])


def compute_fingerprint(
    cell_type: str, source: str, metadata: Mapping[str, Any], attachments: object
) -> str:
    """Return a key of what a cell means: written otherwise, or run again, it keeps its key."""
    return _digest([cell_type, source, drop_execution_metadata(metadata), _join_texts(attachments)])


def drop_execution_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return a cell's metadata without what a run of the cell writes there."""
    return {name: value for name, value in metadata.items() if name not in _VOLATILE}


def _join_texts(attachments: object) -> object:
    """Write texts in one way: nbformat keeps them as strings or as lists of lines."""
    if isinstance(attachments, dict):
        return {name: _join_texts(one) for name, one in attachments.items()}
    if isinstance(attachments, list) and all(isinstance(line, str) for line in attachments):
        return "".join(attachments)
    return attachments or {}


def compute_content_key(cell_type: str, source: str) -> str:
    """Return a key of type and source, by which neighbours without ids are told apart."""
    return _digest([cell_type, source])


def compute_short_hash(text: bytes) -> str:
    """Return a short hash of a text's bytes."""
    return hashlib.blake2b(text, digest_size=12).hexdigest()


def is_json_equal(first: object, second: object) -> bool:
    """Return whether two values of JSON are the same one."""
    return _digest(first) == _digest(second)


def _digest(value: object) -> str:
    written = json.dumps(_normalize_numbers(value), sort_keys=True, separators=(",", ":"))
    return compute_short_hash(written.encode())


def _normalize_numbers(value: object) -> object:
    """Write whole numbers in one way: JavaScript knows no other, and saves 1.0 as 1."""
    if isinstance(value, dict):
        return {name: _normalize_numbers(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_normalize_numbers(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


# Smaller ranges cost less than what refers to them.
_LARGE = 64
# How many bytes are searched for what an edit only moved; what is not found by then is kept.
_MOST_SEARCHED = 1 << 30


@dataclass
class UndoBlobBuilder:
    """What a record keeps of a notebook's bytes.

    Parameters
    ----------
    text
        The bytes before the edit.
    splices
        What the edit did to them.
    blob
        What is kept.
    """

    text: Buffer
    splices: Sequence[Splice]
    blob: bytearray = field(default_factory=bytearray)
    #: Ranges of the text, and where in the blob they are; None if the edit left or moved them.
    _known: list[tuple[int, int, int | None]] = field(default_factory=list)

    def keep(self, start: int, stop: int) -> tuple[int, int]:
        """Keep a range of the bytes, and tell where in the blob it is."""
        at = len(self.blob)
        self._add(start, stop)
        self._note(start, stop, at)
        return at, len(self.blob)

    def keep_former(self, cell: Cell, touched: Collection[str]) -> list[Fragment] | None:
        """Keep what a cell was but for what the edit did not touch; None if that is all of it."""
        if not touched:
            self._note(*cell.span, None)
            return None
        count = Counter(member.name for member in cell.all_members)
        kept: list[Fragment] = []
        for name, start, stop in _split_cell(cell):
            # Of a double name nobody could tell later which value is which.
            if name is None or name in touched or count[name] > 1:
                kept.append(Fragment(name, self.keep(start, stop)))
            else:
                kept.append(Fragment(name, None))
                self._note(start, stop, None)
        return kept

    def keep_whole(self, cell: Cell) -> list[Fragment]:
        """Keep all of a cell."""
        shift = self.keep(*cell.span)[0] - cell.span.start
        return [
            Fragment(name, (start + shift, stop + shift)) for name, start, stop in _split_cell(cell)
        ]

    def build_reverse(self) -> list[ReverseSplice]:
        """Return the splices that take the edit back, once all its cells are kept."""
        known, elsewhere, at = (
            sorted(self._known, key=lambda one: one[:2]),
            _TextAfterEdit(self.splices),
            0,
        )
        back: list[ReverseSplice] = []
        shift = 0
        for start, stop, text in self.splices:
            while at < len(known) and known[at][1] <= start:
                at += 1
            runs: list[ByteRange] = []
            position, n = start, at
            while n < len(known) and known[n][0] < stop:
                first, last = max(known[n][0], start), min(known[n][1], stop)
                run = self._find_range(first, last, known[n], elsewhere)
                if run is not None:
                    runs += [*self._find_rest(position, first), run]
                    position = last
                n += 1
            runs += self._find_rest(position, stop)
            back.append(ReverseSplice(start + shift, start + shift + len(text), runs))
            shift += len(text) - (stop - start)
        return back

    def _note(self, start: int, stop: int, at: int | None) -> None:
        if stop - start >= _LARGE:
            self._known.append((start, stop, at))

    def _add(self, start: int, stop: int) -> None:
        for chunk in iterate_chunks(self.text, start, stop):
            self.blob += chunk

    def _find_range(
        self, first: int, last: int, known: tuple[int, int, int | None], elsewhere: _TextAfterEdit
    ) -> ByteRange | None:
        start, _, kept = known
        if kept is not None:
            at = kept + first - start
            return ByteRange(at, at + last - first, there=False)
        found = elsewhere.find(self.text[first:last])
        return None if found is None else ByteRange(found, found + last - first, there=True)

    def _find_rest(self, start: int, stop: int) -> Iterator[ByteRange]:
        if start < stop:
            at = len(self.blob)
            self._add(start, stop)
            yield ByteRange(at, len(self.blob), there=False)


class _TextAfterEdit:
    """What an edit wrote, as far as it is worth searching there."""

    def __init__(self, splices: Sequence[Splice]) -> None:
        self._texts: list[tuple[int, bytes]] = []
        self._searched = 0
        # What is moved together is found one behind the other, or one before the other.
        self._at = (0, 0, 0)
        shift = 0
        for start, stop, text in splices:
            if len(text) >= _LARGE:
                self._texts.append((start + shift, text))
            shift += len(text) - (stop - start)

    def find(self, wanted: bytes) -> int | None:
        """Return where a text stands in the notebook after the edit, if the edit wrote it."""
        number, start, stop = self._at
        count = len(self._texts)
        for n in chain(range(number, count), range(min(number, count))):
            if self._searched > _MOST_SEARCHED:
                return None
            offset, text = self._texts[n]
            first, last = (start, stop) if n == number else (0, 0)
            found = text.find(wanted, last, last + 2 * len(wanted))
            if found < 0:
                found = text.rfind(wanted, max(0, first - 2 * len(wanted)), first)
            if found < 0:
                found = text.find(wanted)
                self._searched += len(text) if found < 0 else found
            if found >= 0:
                self._at = n, found, found + len(wanted)
                return offset + found
        return None


def _split_cell(cell: Cell) -> Iterator[tuple[str | None, int, int]]:
    """Cut a cell's text into the values of its members and what stands between them."""
    at = cell.span.start
    for member in cell.all_members:
        yield None, at, member.value.start
        yield member.name, *member.value
        at = member.value.stop
    yield None, at, cell.span.stop


# How many neighbours of a place are kept on either side.
_NEIGHBOURS = 3


@dataclass(frozen=True)
class CellContent:
    """What a cell is, apart from its id and what running it gave."""

    cell_type: str
    source: str
    metadata: dict[str, Any]
    attachments: object

    @classmethod
    def from_cell(cls, cell: Cell) -> CellContent:
        """Return the content of a cell.

        Raises
        ------
        InvalidNotebook
            As `Cell` does.
        """
        return cls(cell.cell_type, cell.source, cell.metadata, cell.read_value("attachments"))

    @property
    def fingerprint(self) -> str:
        """Tells it from all others."""
        return compute_fingerprint(self.cell_type, self.source, self.metadata, self.attachments)

    @property
    def side(self) -> CellState:
        """The same, as a record shows it."""
        return CellState(cell_type=self.cell_type, source=self.source, metadata=self.metadata)


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
