"""Collect the bytes that an edit removes from a notebook, for its undo record."""

from collections import Counter, deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import islice

from jupyter_nbedit.notebook.document import Cell
from jupyter_nbedit.notebook.lazy.buffer import CHUNK_BYTES, Buffer
from jupyter_nbedit.notebook.splices import Splice
from jupyter_nbedit.notebook.undo.record import ByteRange, Fragment, ReverseSplice

# Smaller ranges are stored again: a reference to them would be larger.
_MIN_RANGE_BYTES = 64
# The limit of searching for moved bytes; bytes that are not found by then are stored.
_MAX_SEARCHED_BYTES = 1 << 28


@dataclass
class UndoBlobBuilder:
    """Builds the blob of an undo record: the bytes that an edit removes from a notebook.

    ``text`` is the notebook before the edit, ``blob`` the bytes collected so far.
    """

    text: Buffer
    splices: Sequence[Splice]
    blob: bytearray = field(default_factory=bytearray)
    #: Ranges of the text and their offsets in the blob; None if the edit left or moved them.
    _known_ranges: list[tuple[int, int, int | None]] = field(default_factory=list)

    def add_range(self, start: int, stop: int) -> tuple[int, int]:
        """Add a range of the text to the blob and return its range there."""
        offset = len(self.blob)
        self._store(start, stop)
        self._add_known_range(start, stop, offset)
        return offset, len(self.blob)

    def add_changed_members(
        self, cell: Cell, changed_members: Collection[str]
    ) -> list[Fragment] | None:
        """Add the changed members of a cell; return its fragments, or None if nothing changed."""
        if not changed_members:
            self._add_known_range(*cell.span, None)
            return None
        count = Counter([member.name for member in cell.all_members])
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
        known_ranges = sorted(self._known_ranges, key=lambda known: known[:2])
        written_texts = _WrittenTexts(self.splices)
        reverse_splices: list[ReverseSplice] = []
        shift = first = 0
        for start, stop, text in self.splices:
            while first < len(known_ranges) and known_ranges[first][1] <= start:
                first += 1
            ranges: list[ByteRange] = []
            position = start
            for known_start, known_stop, offset in islice(known_ranges, first, None):
                if known_start >= stop:
                    break
                left, right = max(known_start, start), min(known_stop, stop)
                source = None if offset is None else offset + left - known_start
                if offset is None:
                    source = written_texts.find(self.text[left:right])
                if source is not None:
                    ranges += self._store(position, left)
                    ranges.append(ByteRange(source, source + right - left, offset is None))
                    position = right
            ranges += self._store(position, stop)
            reverse_splices.append(ReverseSplice(start + shift, start + shift + len(text), ranges))
            shift += len(text) - (stop - start)
        return reverse_splices

    def _add_known_range(self, start: int, stop: int, offset: int | None) -> None:
        if stop - start >= _MIN_RANGE_BYTES:
            self._known_ranges.append((start, stop, offset))

    def _store(self, start: int, stop: int) -> list[ByteRange]:
        """Append a range of the text to the blob; return it unless it is empty."""
        offset = len(self.blob)
        for first in range(start, stop, CHUNK_BYTES):
            self.blob += self.text[first : min(first + CHUNK_BYTES, stop)]
        return [ByteRange(offset, len(self.blob), is_in_notebook=False)] if start < stop else []


class _WrittenTexts:
    """Finds bytes in the texts that an edit wrote."""

    def __init__(self, splices: Sequence[Splice]) -> None:
        self._texts: deque[tuple[int, bytes]] = deque()
        self._position = self._searched_bytes = 0
        shift = 0
        for start, stop, text in splices:
            if len(text) >= _MIN_RANGE_BYTES:
                self._texts.append((start + shift, text))
            shift += len(text) - (stop - start)

    def find(self, searched: bytes) -> int | None:
        """Return the position of bytes in the notebook after the edit, if the edit wrote them.

        The search begins after the last match, because cells that are moved together are next to
        each other in the written text.
        """
        # The text where the last match was is searched again from its beginning at the end.
        for _ in range(len(self._texts) + 1 if self._texts else 0):
            offset, text = self._texts[0]
            position = text.find(searched, self._position)
            self._searched_bytes += (position if position >= 0 else len(text)) - self._position
            if self._searched_bytes > _MAX_SEARCHED_BYTES:
                return None
            if position >= 0:
                self._position = position + len(searched)
                return offset + position
            self._texts.rotate(-1)
            self._position = 0
        return None


def _split_cell(cell: Cell) -> list[tuple[str | None, int, int]]:
    """Split a cell's text into the values of its members and the text between them."""
    position, stop = cell.span
    parts: list[tuple[str | None, int, int]] = []
    for name, _, value in cell.all_members:
        parts += [(None, position, value.start), (name, *value)]
        position = value.stop
    return [*parts, (None, position, stop)]
