"""Which cells stand where after a batch, and the splices that bring them there.

A batch's positions name gaps of the notebook *as it was*: gap ``n`` is before cell ``n``, gap
``len(document)`` is the end. What is put into one gap stands there in the order of the operations.
A position beside a cell that the batch itself inserted or moved is relative to where that cell
comes to stand.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.json_style import Style
from jupyter_nbedit.notebook.splices import Splice

#: A node of the list of places; what is put there comes right before it.
Slot = int


@dataclass
class CellOrder:
    """The order of a notebook's cells while a batch is applied to it.

    Cells are named by tokens: those of the document by their index, new ones by negative numbers
    that `insert` hands out.

    All places are nodes of one linked list: ``2 * n`` is the end of gap ``n``, ``2 * n + 1`` is the
    home of cell ``n``, and each cell that is inserted or moved gets two nodes more, one for itself
    and one for the end of what is put behind it. Only what differs from that order is kept.
    """

    document: Document
    _node: dict[int, int] = field(default_factory=dict)
    _token: dict[int, int] = field(default_factory=dict)
    _next: dict[int, int] = field(default_factory=dict)
    _previous: dict[int, int] = field(default_factory=dict)
    _gap: dict[int, int] = field(default_factory=dict)
    _gone: set[int] = field(default_factory=set)
    _inserted: int = 0

    def get_slot_in_gap(self, index: int) -> Slot:
        """Return the next free place in a gap."""
        return 2 * index

    def get_slot_at_cell(self, token: int, *, after: bool) -> Slot:
        """Return the next free place before or after a cell, or where a cell was."""
        node = self._node.get(token)
        return self.get_slot_in_gap(token + after) if node is None else node + after

    def get_gap_index(self, place: Slot) -> int:
        """Return the gap that a place is in."""
        return self._gap.get(place, place // 2)

    def insert(self, place: Slot) -> int:
        """Put a new cell into a place and give its token."""
        self._inserted += 1
        self._put(-self._inserted, place)
        return -self._inserted

    def move(self, token: int, place: Slot) -> None:
        """Put a cell that is there already into another place."""
        self._leave(token)
        self._put(token, place)

    def delete(self, token: int) -> None:
        """Take a cell out; what is put beside it goes where it was."""
        self._leave(token)

    def get_next_cell(self, token: int) -> int | None:
        """Return the cell that stands behind a cell now."""
        node: int | None = self._node.get(token, 2 * token + 1)
        while node is not None:
            node = self._next.get(node, node + 1 if node < self._first_node - 1 else None)
            found = None if node is None else self._get_cell(node)
            if found is not None:
                return found
        return None

    def build_order(self) -> FinalOrder:
        """Return the order there is now."""
        placed = {
            gap: tokens
            for gap in sorted({self._gap[node] for node in self._token})
            if (tokens := self._list_in_gap(gap))
        }
        return FinalOrder(self.document, sorted(self._gone), placed)

    @property
    def _first_node(self) -> int:
        return 2 * len(self.document) + 1

    def _leave(self, token: int) -> None:
        if token >= 0:
            self._gone.add(token)
        if token in self._node:
            self._token.pop(self._node[token], None)

    def _put(self, token: int, place: Slot) -> None:
        node = self._first_node + len(self._gap)
        gap = self.get_gap_index(place)
        before = self._find_previous(place)
        for first, second in ((before, node), (node, node + 1), (node + 1, place)):
            if first is not None:
                self._next[first] = second
                self._previous[second] = first
        self._gap[node] = self._gap[node + 1] = gap
        self._node[token], self._token[node] = node, token

    def _find_previous(self, node: int) -> int | None:
        return self._previous.get(node, node - 1 if 0 < node < self._first_node else None)

    def _get_cell(self, node: int) -> int | None:
        if node < self._first_node:
            return node // 2 if node % 2 and node // 2 not in self._gone else None
        return self._token.get(node)

    def _list_in_gap(self, gap: int) -> list[int]:
        found: list[int] = []
        node = self._find_previous(self.get_slot_in_gap(gap))
        while node is not None and node >= self._first_node:
            if node in self._token:
                found.append(self._token[node])
            node = self._find_previous(node)
        return found[::-1]


@dataclass(frozen=True)
class FinalOrder:
    """The order of the cells after a batch.

    Parameters
    ----------
    document
        The notebook before it.
    gone
        The indexes of the cells that are not where they were, in order.
    placed
        What stands in the gaps, by their numbers in order.
    """

    document: Document
    gone: list[int]
    placed: dict[int, list[int]]

    def __len__(self) -> int:
        """Count the cells there are after the batch."""
        return len(self.document) - len(self.gone) + len(self._indexes)

    def get_index(self, token: int) -> int:
        """Return where a cell stands after the batch."""
        if token in self._indexes:
            return self._indexes[token]
        gaps, counts = self._counts
        # What is put into gap n stands before cell n itself.
        return token - bisect_left(self.gone, token) + counts[bisect_left(gaps, token + 1)]

    @cached_property
    def _counts(self) -> tuple[list[int], list[int]]:
        """Return the gaps that hold something, and how much the first n of them hold."""
        counts = [0]
        for tokens in self.placed.values():
            counts.append(counts[-1] + len(tokens))
        return list(self.placed), counts

    @cached_property
    def _indexes(self) -> dict[int, int]:
        return {
            token: gap - bisect_left(self.gone, gap) + before + at
            for (gap, tokens), before in zip(self.placed.items(), self._counts[1], strict=False)
            for at, token in enumerate(tokens)
        }

    @property
    def moved(self) -> set[int]:
        """The cells of the document that stand elsewhere after the batch."""
        return {
            token for each in self._iterate_changed_ranges() for token in each.tokens if token >= 0
        }

    def compile_splices(self, style: Style, written: Callable[[int], bytes]) -> list[Splice]:
        """Return the splices that put the cells in order.

        Parameters
        ----------
        style
            Tells what separates cells where the file has no example of its own.
        written
            Gives the bytes of a new or moved cell.
        """
        stretches = list(self._iterate_changed_ranges())
        # A separator that one place no longer needs serves another, so that moving a cell and
        # moving it back leaves even an oddly laid out file as it was.
        spare: deque[bytes] = deque()
        for stretch in stretches:
            spare.extend(stretch.list_spare_separators)
        return [
            splice
            for stretch in stretches
            for splice in stretch.compile_splices(self.document, style, spare, written)
        ]

    def _iterate_changed_ranges(self) -> Iterator[_ChangedRange]:
        """Group what changes into runs of neighbouring gaps, joined by cells that go."""
        gone = set(self.gone)
        touched = set(self.placed) | gone | {token + 1 for token in gone}
        done = -1
        for first in sorted(touched):
            if first <= done:
                continue
            last = first
            while last in gone:
                last += 1
            done = last
            gaps = range(first, last + 1)
            tokens = [token for gap in gaps for token in self.placed.get(gap, ())]
            if tokens != list(range(first, last)):
                yield _ChangedRange.from_cells(self.document, first, last, tokens)


@dataclass(frozen=True)
class _ChangedRange:
    """The gaps ``first`` to ``last``; every cell between them goes, and ``tokens`` come."""

    first: int
    last: int
    tokens: list[int]
    gaps: list[bytes]
    needed: int

    @classmethod
    def from_cells(
        cls, document: Document, first: int, last: int, tokens: list[int]
    ) -> _ChangedRange:
        gaps = [_read_gap(document, index) for index in range(first, last + 1)]
        if last == len(document):
            # The white space before the closing bracket stays where it is.
            gaps.pop()
        return cls(first, last, tokens, gaps, len(tokens) + (last < len(document)))

    @property
    def list_spare_separators(self) -> list[bytes]:
        return self.gaps[self.needed :]

    def compile_splices(
        self,
        document: Document,
        style: Style,
        spare: deque[bytes],
        written: Callable[[int], bytes],
    ) -> list[Splice]:
        start, _ = _get_gap_range(document, self.first)
        stop = _get_gap_range(document, self.last)[self.last < len(document)]
        cells = [written(token) for token in self.tokens]
        if not document.cell_spans:
            return [
                Splice(
                    start, stop + len(_read_gap(document, 0)), style.cells.wrap(cells, b"[]")[1:-1]
                )
            ]
        if not cells and self.first == 0 and self.last == len(document):
            return [Splice(start, _get_gap_range(document, self.last)[1], b"")]
        gaps = self.gaps[: self.needed]
        while len(gaps) < self.needed:
            gaps.append(spare.popleft() if spare else style.cells.separator)
        parts = [part for pair in zip(gaps, cells, strict=False) for part in pair]
        parts += gaps[len(cells) :]
        if self.gaps and self.needed:
            # The first gap is where it was; without it a splice is a pure insertion or deletion.
            start += len(parts.pop(0))
        return [Splice(start, stop, b"".join(parts))]


def _get_gap_range(document: Document, index: int) -> tuple[int, int]:
    """Return the range of the bytes before a cell; for the last gap, those before the bracket."""
    cells = document.cell_spans
    start = cells[index - 1].stop if index else document.cells_span.start + 1
    stop = cells[index].start if index < len(cells) else document.cells_span.stop - 1
    return start, stop


def _read_gap(document: Document, index: int) -> bytes:
    start, stop = _get_gap_range(document, index)
    return document.text[start:stop]
