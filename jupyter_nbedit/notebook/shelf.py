"""The bytes that an edit took away, each of them kept once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from jupyter_nbedit.notebook.document import Cell
from jupyter_nbedit.notebook.record import Piece, Reverse, Run
from jupyter_nbedit.notebook.splices import Splice
from jupyter_nbedit.notebook.text import Text, chunks

# Smaller ranges cost less than what refers to them.
_LARGE = 64
# How many bytes are searched for what an edit only moved; what is not found by then is kept.
_MOST_SEARCHED = 1 << 30


@dataclass
class Shelf:
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

    text: Text
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

    def former(self, cell: Cell, touched: Collection[str]) -> list[Piece] | None:
        """Keep what a cell was but for what the edit did not touch; None if that is all of it."""
        if not touched:
            self._note(*cell.span, None)
            return None
        count = Counter(member.name for member in cell.all_members)
        kept: list[Piece] = []
        for name, start, stop in _pieces(cell):
            # Of a double name nobody could tell later which value is which.
            if name is None or name in touched or count[name] > 1:
                kept.append(Piece(name, self.keep(start, stop)))
            else:
                kept.append(Piece(name, None))
                self._note(start, stop, None)
        return kept

    def whole(self, cell: Cell) -> list[Piece]:
        """Keep all of a cell."""
        shift = self.keep(*cell.span)[0] - cell.span.start
        return [Piece(name, (start + shift, stop + shift)) for name, start, stop in _pieces(cell)]

    def back(self) -> list[Reverse]:
        """Give the splices that take the edit back, once all its cells are kept."""
        known, elsewhere, at = sorted(self._known, key=lambda one: one[:2]), _After(self.splices), 0
        back: list[Reverse] = []
        shift = 0
        for start, stop, text in self.splices:
            while at < len(known) and known[at][1] <= start:
                at += 1
            runs: list[Run] = []
            position, n = start, at
            while n < len(known) and known[n][0] < stop:
                first, last = max(known[n][0], start), min(known[n][1], stop)
                run = self._run(first, last, known[n], elsewhere)
                if run is not None:
                    runs += [*self._rest(position, first), run]
                    position = last
                n += 1
            runs += self._rest(position, stop)
            back.append(Reverse(start + shift, start + shift + len(text), runs))
            shift += len(text) - (stop - start)
        return back

    def _note(self, start: int, stop: int, at: int | None) -> None:
        if stop - start >= _LARGE:
            self._known.append((start, stop, at))

    def _add(self, start: int, stop: int) -> None:
        for chunk in chunks(self.text, start, stop):
            self.blob += chunk

    def _run(
        self, first: int, last: int, known: tuple[int, int, int | None], elsewhere: _After
    ) -> Run | None:
        start, _, kept = known
        if kept is not None:
            at = kept + first - start
            return Run(at, at + last - first, there=False)
        found = elsewhere.find(self.text[first:last])
        return None if found is None else Run(found, found + last - first, there=True)

    def _rest(self, start: int, stop: int) -> Iterator[Run]:
        if start < stop:
            at = len(self.blob)
            self._add(start, stop)
            yield Run(at, len(self.blob), there=False)


class _After:
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
        """Tell where a text stands in the notebook after the edit, if the edit wrote it."""
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


def _pieces(cell: Cell) -> Iterator[tuple[str | None, int, int]]:
    """Cut a cell's text into the values of its members and what stands between them."""
    at = cell.span.start
    for member in cell.all_members:
        yield None, at, member.value.start
        yield member.name, *member.value
        at = member.value.stop
    yield None, at, cell.span.stop
