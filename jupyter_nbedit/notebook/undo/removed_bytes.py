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

# Smaller ranges are stored again: a reference to them would be larger.
_MIN_RANGE_BYTES = 64


# The limit of searching for moved bytes; those that are not found by then are stored.
_MAX_SEARCHED_BYTES = 1 << 30


@dataclass
class UndoBlobBuilder:
    """Builds the blob of an undo record: the bytes that an edit removes from a notebook.

    Parameters
    ----------
    text
        The bytes before the edit.
    splices
        The edit.
    blob
        The bytes collected so far.
    """

    text: Buffer
    splices: Sequence[Splice]
    blob: bytearray = field(default_factory=bytearray)
    #: Ranges of the text and their offsets in the blob; None if the edit left or moved them.
    _known_ranges: list[tuple[int, int, int | None]] = field(default_factory=list)

    def add_range(self, start: int, stop: int) -> tuple[int, int]:
        """Add a range of the text to the blob and return its range there."""
        offset = len(self.blob)
        self._append_bytes(start, stop)
        self._add_known_range(start, stop, offset)
        return offset, len(self.blob)

    def add_changed_members(
        self, cell: Cell, changed_members: Collection[str]
    ) -> list[Fragment] | None:
        """Add the changed members of a cell; return its fragments, or None if nothing changed."""
        if not changed_members:
            self._add_known_range(*cell.span, None)
            return None
        count = Counter(member.name for member in cell.all_members)
        fragments: list[Fragment] = []
        for name, start, stop in _split_cell(cell):
            # The values of a repeated member could not be told apart later.
            if name is None or name in changed_members or count[name] > 1:
                fragments.append(Fragment(name, self.add_range(start, stop)))
            else:
                fragments.append(Fragment(name, None))
                self._add_known_range(start, stop, None)
        return fragments

    def add_cell(self, cell: Cell) -> list[Fragment]:
        """Add a whole cell and return its fragments."""
        shift = self.add_range(*cell.span)[0] - cell.span.start
        return [
            Fragment(name, (start + shift, stop + shift)) for name, start, stop in _split_cell(cell)
        ]

    def build_reverse_splices(self) -> list[ReverseSplice]:
        """Return the splices that restore the bytes before the edit. Add all cells first."""
        known_ranges, written_texts, first_known = (
            sorted(self._known_ranges, key=lambda one: one[:2]),
            _WrittenTexts(self.splices),
            0,
        )
        reverse_splices: list[ReverseSplice] = []
        shift = 0
        for start, stop, text in self.splices:
            while first_known < len(known_ranges) and known_ranges[first_known][1] <= start:
                first_known += 1
            ranges: list[ByteRange] = []
            position, number = start, first_known
            while number < len(known_ranges) and known_ranges[number][0] < stop:
                first, last = (
                    max(known_ranges[number][0], start),
                    min(known_ranges[number][1], stop),
                )
                byte_range = self._find_range(first, last, known_ranges[number], written_texts)
                if byte_range is not None:
                    ranges += [*self._add_unknown_range(position, first), byte_range]
                    position = last
                number += 1
            ranges += self._add_unknown_range(position, stop)
            reverse_splices.append(ReverseSplice(start + shift, start + shift + len(text), ranges))
            shift += len(text) - (stop - start)
        return reverse_splices

    def _add_known_range(self, start: int, stop: int, offset: int | None) -> None:
        if stop - start >= _MIN_RANGE_BYTES:
            self._known_ranges.append((start, stop, offset))

    def _append_bytes(self, start: int, stop: int) -> None:
        for chunk in iterate_chunks(self.text, start, stop):
            self.blob += chunk

    def _find_range(
        self,
        first: int,
        last: int,
        known_range: tuple[int, int, int | None],
        written_texts: _WrittenTexts,
    ) -> ByteRange | None:
        start, _, blob_offset = known_range
        if blob_offset is not None:
            start_in_blob = blob_offset + first - start
            return ByteRange(start_in_blob, start_in_blob + last - first, is_in_notebook=False)
        position = written_texts.find(self.text[first:last])
        return (
            None
            if position is None
            else ByteRange(position, position + last - first, is_in_notebook=True)
        )

    def _add_unknown_range(self, start: int, stop: int) -> Iterator[ByteRange]:
        if start < stop:
            offset = len(self.blob)
            self._append_bytes(start, stop)
            yield ByteRange(offset, len(self.blob), is_in_notebook=False)


class _WrittenTexts:
    """Finds bytes in the texts that an edit wrote."""

    def __init__(self, splices: Sequence[Splice]) -> None:
        self._texts: list[tuple[int, bytes]] = []
        self._searched_bytes = 0
        # Cells that are moved together are next to each other in the written text.
        self._last_match = (0, 0, 0)
        shift = 0
        for start, stop, text in splices:
            if len(text) >= _MIN_RANGE_BYTES:
                self._texts.append((start + shift, text))
            shift += len(text) - (stop - start)

    def find(self, searched: bytes) -> int | None:
        """Return the position of bytes in the notebook after the edit, if the edit wrote them."""
        number, start, stop = self._last_match
        count = len(self._texts)
        for index in chain(range(number, count), range(min(number, count))):
            if self._searched_bytes > _MAX_SEARCHED_BYTES:
                return None
            offset, written_text = self._texts[index]
            first, last = (start, stop) if index == number else (0, 0)
            position = written_text.find(searched, last, last + 2 * len(searched))
            if position < 0:
                position = written_text.rfind(searched, max(0, first - 2 * len(searched)), first)
            if position < 0:
                position = written_text.find(searched)
                self._searched_bytes += len(written_text) if position < 0 else position
            if position >= 0:
                self._last_match = index, position, position + len(searched)
                return offset + position
        return None


def _split_cell(cell: Cell) -> Iterator[tuple[str | None, int, int]]:
    """Split a cell's text into the values of its members and the text between them."""
    position = cell.span.start
    for member in cell.all_members:
        yield None, position, member.value.start
        yield member.name, *member.value
        position = member.value.stop
    yield None, position, cell.span.stop
