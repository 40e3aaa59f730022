"""The ids of a notebook's cells, and where they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence


class Ids(Mapping[str, Sequence[int]]):
    """The indexes of the cells that have each id, mostly one.

    Parameters
    ----------
    ids
        Those of all cells, in order; None where a cell has none.
    """

    def __init__(self, ids: Sequence[str | None]) -> None:
        self._last = {one: index for index, one in enumerate(ids) if one is not None}
        self._doubles: dict[str, list[int]] = {}
        if len(self._last) + ids.count(None) < len(ids):
            for index, one in enumerate(ids):
                if one is not None:
                    self._doubles.setdefault(one, []).append(index)

    def __getitem__(self, cell_id: str) -> Sequence[int]:
        """Give the indexes of an id, in order."""
        return self._doubles.get(cell_id) or [self._last[cell_id]]

    def __contains__(self, cell_id: object) -> bool:
        """Tell whether a cell has an id."""
        return cell_id in self._last

    def __iter__(self) -> Iterator[str]:
        """Go through the ids, in the order in which they stand first."""
        return iter(self._last)

    def __len__(self) -> int:
        """Count the ids."""
        return len(self._last)
