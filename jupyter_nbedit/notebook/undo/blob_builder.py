"""Collect the bytes that an edit removes from a notebook, for its undo record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from jupyter_nbedit.notebook.document import Cell
from jupyter_nbedit.notebook.lazy.buffer import Buffer, iterate_chunks
from jupyter_nbedit.notebook.splices import Splice
from jupyter_nbedit.notebook.undo.record import ByteRange, Fragment, ReverseSplice

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
