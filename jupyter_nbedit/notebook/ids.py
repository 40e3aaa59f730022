"""The ids of a notebook's cells, and where they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

# So many are looked for one by one, which costs a fifth of what it costs to note where all are.
_FEW = 3


class Ids(Mapping[str, Sequence[int]]):
    """The indexes of the cells that have each id, mostly one.

    Parameters
    ----------
    ids
        Those of all cells, in order; None where a cell has none.
    """

    def __init__(self, ids: Sequence[str | None]) -> None:
        self._ids = ids
        self._asked = 0

    def __getitem__(self, cell_id: str) -> Sequence[int]:
        """Return the indexes of an id, in order."""
        self._asked += 1
        if self._asked > _FEW:
            return self._doubles.get(cell_id) or [self._last[cell_id]]
        count = self._ids.count(cell_id)
        if count == 0:
            raise KeyError(cell_id)
        if count == 1:
            return [self._ids.index(cell_id)]
        return self._doubles[cell_id]

    def __iter__(self) -> Iterator[str]:
        """Go through the ids, in the order in which they stand first."""
        return iter(self._last)

    def __len__(self) -> int:
        """Count the ids."""
        return len(self._last)

    @cached_property
    def _last(self) -> dict[str, int]:
        return {one: index for index, one in enumerate(self._ids) if one is not None}

    @cached_property
    def _doubles(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        if len(self._last) + self._ids.count(None) < len(self._ids):
            for index, one in enumerate(self._ids):
                if one is not None:
                    found.setdefault(one, []).append(index)
        return found
