"""The order of the cells during and after a batch, and the splices that establish it.

The positions of a batch refer to gaps of the notebook *before* the batch: gap ``n`` is before cell
``n``, gap ``len(document)`` is the end. Cells that are put into one gap keep the order of the
operations. A position next to a cell that the batch inserted or moved is relative to the new
position of that cell.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.json_style import Style
from jupyter_nbedit.notebook.splices import Splice


@dataclass(eq=False)
class InsertionPoint:
    """A position for cells; a cell that is placed later follows the cells placed earlier."""

    #: The index of the gap that contains this position.
    gap: int
    placed_cells: list[_PlacedCell] = field(default_factory=list)

    def list_tokens(self) -> list[int]:
        """Return the cells that are placed here, in order."""
        tokens: list[int] = []
        pending: list[InsertionPoint | int | None] = [self]
        while pending:
            item = pending.pop()
            if isinstance(item, InsertionPoint):
                for placed_cell in reversed(item.placed_cells):
                    pending += (placed_cell.after, placed_cell.token, placed_cell.before)
            elif item is not None:
                tokens.append(item)
        return tokens


@dataclass(eq=False)
class _PlacedCell:
    """Where a cell was inserted, or moved to, and the positions beside it."""

    #: None if the cell was removed or moved again.
    token: int | None
    before: InsertionPoint
    after: InsertionPoint


@dataclass
class CellOrder:
    """The order of a notebook's cells while a batch is applied.

    Cells are named by tokens: cells of the document by their index, new cells by the negative
    numbers that `insert` returns. Only the differences from the initial order are stored.
    """

    document: Document
    _gaps: dict[int, InsertionPoint] = field(default_factory=dict)
    _placed_cells: dict[int, _PlacedCell] = field(default_factory=dict)
    _removed_indexes: set[int] = field(default_factory=set)
    _inserted_count: int = 0

    def get_point_in_gap(self, index: int) -> InsertionPoint:
        """Return the next free position in a gap."""
        return self._gaps.setdefault(index, InsertionPoint(index))

    def get_point_at_cell(self, token: int, *, is_after: bool) -> InsertionPoint:
        """Return the next free position before or after a cell, or where a removed cell was."""
        placed_cell = self._placed_cells.get(token)
        if placed_cell is None:
            return self.get_point_in_gap(token + is_after)
        return placed_cell.after if is_after else placed_cell.before

    def insert(self, point: InsertionPoint) -> int:
        """Insert a new cell at a position and return its token."""
        self._inserted_count += 1
        self._place_cell(-self._inserted_count, point)
        return -self._inserted_count

    def move(self, token: int, point: InsertionPoint) -> None:
        """Move an existing cell to another position."""
        self.remove(token)
        self._place_cell(token, point)

    def remove(self, token: int) -> None:
        """Remove a cell; positions next to it stay valid."""
        if token >= 0:
            self._removed_indexes.add(token)
        if token in self._placed_cells:
            self._placed_cells[token].token = None

    def _place_cell(self, token: int, point: InsertionPoint) -> None:
        self._placed_cells[token] = _PlacedCell(
            token, InsertionPoint(point.gap), InsertionPoint(point.gap)
        )
        point.placed_cells.append(self._placed_cells[token])

    def iterate_after(self, token: int) -> Iterator[int]:
        """Yield the cells that now follow a cell."""
        if token in self._placed_cells:
            gap = self._placed_cells[token].before.gap
            tokens = self._gaps[gap].list_tokens()
            yield from tokens[tokens.index(token) + 1 :]
        else:
            gap = token + 1
            yield from self.get_point_in_gap(gap).list_tokens()
        for index in range(gap, len(self.document)):
            if index not in self._removed_indexes:
                yield index
            yield from self.get_point_in_gap(index + 1).list_tokens()

    def build_order(self) -> FinalOrder:
        """Return the current order."""
        tokens_by_gap = {
            gap: tokens for gap in sorted(self._gaps) if (tokens := self._gaps[gap].list_tokens())
        }
        return FinalOrder(self.document, sorted(self._removed_indexes), tokens_by_gap)


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
        return {token for each in self.changed_ranges for token in each.tokens if token >= 0}

    @cached_property
    def changed_ranges(self) -> list[ChangedRange]:
        """The ranges of cells to replace; removed cells connect the gaps on both sides."""
        removed_indexes = set(self.removed_indexes)
        changed_gaps = (
            set(self.tokens_by_gap) | removed_indexes | {token + 1 for token in removed_indexes}
        )
        changed_ranges: list[ChangedRange] = []
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
                changed_ranges.append(ChangedRange(first, last, tokens))
        return changed_ranges

    def compile_splices(self, style: Style, cells: Mapping[int, bytes]) -> list[Splice]:
        """Return the splices that put the cells in order.

        ``style`` is the style of the notebook; ``cells`` has the bytes of the cells in changed
        ranges.
        """
        array, spans = self.document.cells_span, self.document.cell_spans
        if self.changed_ranges and not (spans and len(self)):
            inside = style.array_style.wrap((cells[token] for token in self._indexes), b"[]")[1:-1]
            return [Splice(array.start + 1, array.stop - 1, inside)]
        splices: list[Splice] = []
        for first, last, tokens in self.changed_ranges:
            separator = style.array_style.separator
            texts = [cells[token] for token in tokens]
            if texts and first < last:
                text = separator.join(texts)
                splices.append(Splice(spans[first].start, spans[last - 1].stop, text))
            elif last < len(spans):
                text = b"".join(text + separator for text in texts)
                splices.append(Splice(spans[first].start, spans[last].start, text))
            else:
                text = b"".join(separator + text for text in texts)
                splices.append(Splice(spans[first - 1].stop, spans[last - 1].stop, text))
        return splices


class ChangedRange(NamedTuple):
    """The cells ``first`` to ``last - 1`` are replaced by ``tokens``."""

    first: int
    last: int
    tokens: list[int]
