"""The order of the cells during and after a batch, and the splices that establish it.

The positions of a batch refer to gaps of the notebook *before* the batch: gap ``n`` is before cell
``n``, gap ``len(document)`` is the end. Cells that are put into one gap keep the order of the
operations. A position next to a cell that the batch inserted or moved is relative to the new
position of that cell.
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

#: A node of the linked list of positions; a cell is placed directly before it.
Slot = int


@dataclass
class CellOrder:
    """The order of a notebook's cells while a batch is applied.

    Cells are named by tokens: cells of the document by their index, new cells by the negative
    numbers that `insert` returns.

    All positions are nodes of one linked list: ``2 * n`` is the end of gap ``n``, ``2 * n + 1`` is
    cell ``n`` itself, and each inserted or moved cell adds two nodes, one for itself and one for
    the end of what is placed after it. Only the differences from the initial list are stored.
    """

    document: Document
    _nodes: dict[int, int] = field(default_factory=dict)
    _tokens: dict[int, int] = field(default_factory=dict)
    _next: dict[int, int] = field(default_factory=dict)
    _previous: dict[int, int] = field(default_factory=dict)
    _gaps: dict[int, int] = field(default_factory=dict)
    _removed_indexes: set[int] = field(default_factory=set)
    _inserted_count: int = 0

    def get_slot_in_gap(self, index: int) -> Slot:
        """Return the next free position in a gap."""
        return 2 * index

    def get_slot_at_cell(self, token: int, *, is_after: bool) -> Slot:
        """Return the next free position before or after a cell, or where a removed cell was."""
        node = self._nodes.get(token)
        return self.get_slot_in_gap(token + is_after) if node is None else node + is_after

    def get_gap_index(self, slot: Slot) -> int:
        """Return the index of the gap that contains a position."""
        return self._gaps.get(slot, slot // 2)

    def insert(self, slot: Slot) -> int:
        """Insert a new cell at a position and return its token."""
        self._inserted_count += 1
        self._place_cell(-self._inserted_count, slot)
        return -self._inserted_count

    def move(self, token: int, slot: Slot) -> None:
        """Move an existing cell to another position."""
        self._remove_cell(token)
        self._place_cell(token, slot)

    def remove(self, token: int) -> None:
        """Remove a cell; positions next to it stay valid."""
        self._remove_cell(token)

    def get_next_cell(self, token: int) -> int | None:
        """Return the token of the cell that now follows a cell, or None at the end."""
        node: int | None = self._nodes.get(token, 2 * token + 1)
        while node is not None:
            node = self._next.get(node, node + 1 if node < self._first_node - 1 else None)
            next_token = None if node is None else self._get_cell(node)
            if next_token is not None:
                return next_token
        return None

    def build_order(self) -> FinalOrder:
        """Return the current order."""
        tokens_by_gap = {
            gap: tokens
            for gap in sorted({self._gaps[node] for node in self._tokens})
            if (tokens := self._list_in_gap(gap))
        }
        return FinalOrder(self.document, sorted(self._removed_indexes), tokens_by_gap)

    @property
    def _first_node(self) -> int:
        return 2 * len(self.document) + 1

    def _remove_cell(self, token: int) -> None:
        if token >= 0:
            self._removed_indexes.add(token)
        if token in self._nodes:
            self._tokens.pop(self._nodes[token], None)

    def _place_cell(self, token: int, slot: Slot) -> None:
        node = self._first_node + len(self._gaps)
        gap = self.get_gap_index(slot)
        previous_node = self._find_previous(slot)
        for first, second in ((previous_node, node), (node, node + 1), (node + 1, slot)):
            if first is not None:
                self._next[first] = second
                self._previous[second] = first
        self._gaps[node] = self._gaps[node + 1] = gap
        self._nodes[token], self._tokens[node] = node, token

    def _find_previous(self, node: int) -> int | None:
        return self._previous.get(node, node - 1 if 0 < node < self._first_node else None)

    def _get_cell(self, node: int) -> int | None:
        if node < self._first_node:
            return node // 2 if node % 2 and node // 2 not in self._removed_indexes else None
        return self._tokens.get(node)

    def _list_in_gap(self, gap: int) -> list[int]:
        tokens: list[int] = []
        node = self._find_previous(self.get_slot_in_gap(gap))
        while node is not None and node >= self._first_node:
            if node in self._tokens:
                tokens.append(self._tokens[node])
            node = self._find_previous(node)
        return tokens[::-1]


@dataclass(frozen=True)
class FinalOrder:
    """The order of the cells after a batch; ``document`` is the notebook before it."""

    document: Document
    #: The indexes of the cells that were removed or moved, sorted.
    removed_indexes: list[int]
    #: The cells that were put into gaps, by the index of the gap, sorted.
    tokens_by_gap: dict[int, list[int]]

    def __len__(self) -> int:
        """Return the number of cells after the batch."""
        return len(self.document) - len(self.removed_indexes) + len(self._indexes)

    def get_index(self, token: int) -> int:
        """Return the index of a cell after the batch."""
        if token in self._indexes:
            return self._indexes[token]
        gaps, counts = self._counts
        # Cells in gap n come before cell n itself.
        return (
            token - bisect_left(self.removed_indexes, token) + counts[bisect_left(gaps, token + 1)]
        )

    @cached_property
    def _counts(self) -> tuple[list[int], list[int]]:
        """Return the gaps with new cells, and how many cells the first n of these gaps contain."""
        counts = [0]
        for tokens in self.tokens_by_gap.values():
            counts.append(counts[-1] + len(tokens))
        return list(self.tokens_by_gap), counts

    @cached_property
    def _indexes(self) -> dict[int, int]:
        return {
            token: gap - bisect_left(self.removed_indexes, gap) + count + number
            for (gap, tokens), count in zip(
                self.tokens_by_gap.items(), self._counts[1], strict=False
            )
            for number, token in enumerate(tokens)
        }

    @property
    def moved_tokens(self) -> set[int]:
        """The cells of the document that have another position after the batch."""
        return {
            token for each in self._iterate_changed_ranges() for token in each.tokens if token >= 0
        }

    def compile_splices(self, style: Style, write_cell: Callable[[int], bytes]) -> list[Splice]:
        """Return the splices that put the cells in order.

        ``style`` has the separator of cells where the file has no example; ``write_cell`` returns
        the bytes of a new or moved cell by its token.
        """
        changed_ranges = list(self._iterate_changed_ranges())
        # Separators that become free in one range are reused in another, so that moving a cell and
        # moving it back restores even an unusual layout.
        spare_separators: deque[bytes] = deque()
        for changed_range in changed_ranges:
            spare_separators.extend(changed_range.spare_separators)
        return [
            splice
            for changed_range in changed_ranges
            for splice in changed_range.compile_splices(
                self.document, style, spare_separators, write_cell
            )
        ]

    def _iterate_changed_ranges(self) -> Iterator[_ChangedRange]:
        """Group changed gaps into ranges; removed cells connect the gaps on both sides."""
        removed_indexes = set(self.removed_indexes)
        changed_gaps = (
            set(self.tokens_by_gap) | removed_indexes | {token + 1 for token in removed_indexes}
        )
        last_done = -1
        for first in sorted(changed_gaps):
            if first <= last_done:
                continue
            last = first
            while last in removed_indexes:
                last += 1
            last_done = last
            gaps = range(first, last + 1)
            tokens = [token for gap in gaps for token in self.tokens_by_gap.get(gap, ())]
            if tokens != list(range(first, last)):
                yield _ChangedRange.from_cells(self.document, first, last, tokens)


@dataclass(frozen=True)
class _ChangedRange:
    """The gaps ``first`` to ``last``: all cells between them are replaced by ``tokens``."""

    first: int
    last: int
    tokens: list[int]
    gaps: list[bytes]
    separator_count: int

    @classmethod
    def from_cells(
        cls, document: Document, first: int, last: int, tokens: list[int]
    ) -> _ChangedRange:
        gaps = [_read_gap(document, index) for index in range(first, last + 1)]
        if last == len(document):
            # The white space before the closing bracket stays.
            gaps.pop()
        return cls(first, last, tokens, gaps, len(tokens) + (last < len(document)))

    @property
    def spare_separators(self) -> list[bytes]:
        return self.gaps[self.separator_count :]

    def compile_splices(
        self,
        document: Document,
        style: Style,
        spare_separators: deque[bytes],
        write_cell: Callable[[int], bytes],
    ) -> list[Splice]:
        start, _ = _get_gap_range(document, self.first)
        stop = _get_gap_range(document, self.last)[self.last < len(document)]
        cells = [write_cell(token) for token in self.tokens]
        if not document.cell_spans:
            return [
                Splice(
                    start,
                    stop + len(_read_gap(document, 0)),
                    style.array_style.wrap(cells, b"[]")[1:-1],
                )
            ]
        if not cells and self.first == 0 and self.last == len(document):
            return [Splice(start, _get_gap_range(document, self.last)[1], b"")]
        gaps = self.gaps[: self.separator_count]
        while len(gaps) < self.separator_count:
            gaps.append(
                spare_separators.popleft() if spare_separators else style.array_style.separator
            )
        parts = [part for pair in zip(gaps, cells, strict=False) for part in pair]
        parts += gaps[len(cells) :]
        if self.gaps and self.separator_count:
            # The first separator stays, which makes the splice a pure insertion or deletion.
            start += len(parts.pop(0))
        return [Splice(start, stop, b"".join(parts))]


def _get_gap_range(document: Document, index: int) -> tuple[int, int]:
    """Return the byte range before a cell; for the last gap, the range before the bracket."""
    cells = document.cell_spans
    start = cells[index - 1].stop if index else document.cells_span.start + 1
    stop = cells[index].start if index < len(cells) else document.cells_span.stop - 1
    return start, stop


def _read_gap(document: Document, index: int) -> bytes:
    start, stop = _get_gap_range(document, index)
    return document.text[start:stop]
