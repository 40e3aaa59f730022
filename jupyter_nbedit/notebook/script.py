"""What an edit did, cell by cell, for a notebook that is not kept as a text.

A live room keeps cells, not bytes. A script says which of them change and how; what it does not
mention stays as it is, and whoever works there notices nothing.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

from jupyter_nbedit.notebook import spans
from jupyter_nbedit.notebook.alignment import longest_rise
from jupyter_nbedit.notebook.document import Cell, Document
from jupyter_nbedit.notebook.hunks import outlives
from jupyter_nbedit.notebook.pairing import paired, same_ends, written

#: What a script says of a member that goes.
ABSENT: Final = object()


@dataclass(frozen=True)
class CellChange:
    """A cell that stays, and changes.

    Parameters
    ----------
    index, place
        Where it stands before, and after.
    cell_id
        Its id, if it has one.
    source
        Before and after; None if it stays.
    metadata
        Before and after; None if they stay.
    members
        What else changes, by name: the value after, or `ABSENT`.
    """

    index: int
    place: int
    cell_id: str | None
    source: tuple[str, str] | None
    metadata: tuple[dict[str, Any], dict[str, Any]] | None
    members: dict[str, Any]


@dataclass(frozen=True)
class Removed:
    """A cell that goes: where it stands before, and what it was."""

    index: int
    cell_id: str | None
    source: str
    metadata: dict[str, Any]


@dataclass(frozen=True)
class Moved:
    """A cell that stands elsewhere after: where, between which others, and where it stood."""

    index: int
    cell_id: str | None
    behind: str | None
    ahead: str | None
    origin: int


@dataclass(frozen=True)
class Inserted:
    """A cell that is new: where it stands, and all of it, with its source as one string.

    And what it was before, if it is one that had to be made anew.
    """

    index: int
    cell_id: str | None
    cell: dict[str, Any]
    was: dict[str, Any] | None = None


@dataclass(frozen=True)
class Script:
    """The steps from one notebook to another.

    In this order: `changes`, at the indexes before; then `removed` and the origins of `moved` are
    taken out; then `placed` is put in, in its order, at the indexes after.
    """

    changes: list[CellChange]
    removed: list[Removed]
    placed: list[Moved | Inserted]
    metadata: tuple[dict[str, Any], dict[str, Any]] | None
    total_cells: int

    @property
    def taken_out(self) -> list[int]:
        """The indexes, before, of what does not stay where it is."""
        moved = [step.origin for step in self.placed if isinstance(step, Moved)]
        return sorted([*moved, *(step.index for step in self.removed)])


def script(before: Document, after: Document, taken: Collection[int] = ()) -> Script:
    """Work out the steps from one notebook to another; only their cells and metadata count.

    Parameters
    ----------
    before, after
        The notebooks.
    taken
        The indexes before of the cells that the edit took. If some must move, these do.
    """
    pairs = paired(before, after)
    kept = {there: here for here, there in pairs.items()}
    remade: dict[int, dict[str, Any]] = {}
    changes: list[CellChange] = []
    for here, there in sorted(pairs.items()):
        if written(before, here) != written(after, there):
            value = _value(before, here)
            change = _change((here, there), value, _value(after, there))
            if change is None:
                del kept[there]
                remade[there] = value
            elif change.source or change.metadata or change.members:
                changes.append(change)
    staying = _staying(sorted(kept.items()), taken)
    gone = set(range(len(before))) - set(kept.values())
    removed = []
    for index in sorted(gone):
        cell = _value(before, index)
        metadata = cell.get("metadata") or {}
        removed.append(Removed(index, before.heads[index][0], cell["source"], metadata))
    placed: list[Moved | Inserted] = []
    # What is the same at both ends is neither placed nor looked at.
    first, last = same_ends(before, after)
    for there in range(first, len(after) - last):
        if there not in kept:
            fresh = _value(after, there)
            placed.append(Inserted(there, after.heads[there][0], fresh, remade.get(there)))
        elif there not in staying:
            behind = after.heads[there - 1][0] if there else None
            ahead = after.heads[there + 1][0] if there + 1 < len(after) else None
            placed.append(Moved(there, after.heads[there][0], behind, ahead, kept[there]))
    of_notebook = (before.metadata, after.metadata)
    return Script(
        changes,
        removed,
        placed,
        of_notebook if of_notebook[0] != of_notebook[1] else None,
        len(after),
    )


def is_in(steps: Script, document: Document) -> bool:
    """Tell whether a notebook has what steps have done, though others may have worked in it since.

    Where cells have ids, others may have come and gone as well.
    """
    placed = {step.cell_id for step in steps.placed}
    gone = {step.cell_id for step in steps.removed} - {None, *placed}
    named = all(step.cell_id is not None for step in steps.removed)
    return (
        gone.isdisjoint(document.ids)
        and (named or len(document) == steps.total_cells)
        and all(_has(change, _found(steps, document, change)) for change in steps.changes)
        and all(_stands(step, _found(steps, document, step), document) for step in steps.placed)
        and (steps.metadata is None or _merged(*steps.metadata, document.metadata))
    )


def _found(steps: Script, document: Document, step: CellChange | Moved | Inserted) -> Cell | None:
    """Find the cell that a step is about after all steps."""
    if step.cell_id is not None:
        at = next(iter(document.ids.get(step.cell_id, [])), None)
    else:
        place = step.place if isinstance(step, CellChange) else step.index
        at = place if len(document) == steps.total_cells else None
    return None if at is None else document.cell(at)


def _has(change: CellChange, cell: Cell | None) -> bool:
    """Tell whether a cell has what a change has done."""
    if cell is None:
        return False
    if change.source is not None:
        before, after = change.source
        # What was typed since must leave the change alone.
        if not outlives(before, after, cell.source):
            return False
    if change.metadata is not None and not _merged(*change.metadata, cell.metadata):
        return False
    return all(cell.value(name, ABSENT) == value for name, value in change.members.items())


def _stands(step: Moved | Inserted, cell: Cell | None, document: Document) -> bool:
    """Tell whether a cell is where a step has put it."""
    if cell is None:
        return False
    if isinstance(step, Inserted):
        if step.was is not None and not _remade(step.was, step.cell, cell):
            return False
        return step.cell_id is not None or cell.source == step.cell["source"]
    behind = [] if step.behind is None else document.ids.get(step.behind, [])
    ahead = [] if step.ahead is None else document.ids.get(step.ahead, [])
    return all(at < cell.index for at in behind) and all(at > cell.index for at in ahead)


def _remade(before: dict[str, Any], after: dict[str, Any], now: Cell) -> bool:
    """Tell whether a cell no longer is of the type and with the outputs for which it was remade."""
    return all(
        now.value(name, ABSENT) != before.get(name, ABSENT)
        for name in ("cell_type", "outputs")
        if before.get(name, ABSENT) != after.get(name, ABSENT)
    )


def _change(
    at: tuple[int, int], before: dict[str, Any], after: dict[str, Any]
) -> CellChange | None:
    """Say how a cell changes; None if it must be made anew.

    JupyterLab makes a cell of one type and never turns it into another, and outputs that are not
    just cleared are as much work as a new cell.
    """
    old, new = dict(before), dict(after)
    if old.get("cell_type") != new.get("cell_type") or old.get("id") != new.get("id"):
        return None
    if old.get("outputs") != new.get("outputs") and new.get("outputs") != []:
        return None
    sources = (old.pop("source"), new.pop("source"))
    metadata = (old.pop("metadata", None) or {}, new.pop("metadata", None) or {})
    members = {
        name: new.get(name, ABSENT)
        for name in sorted({*old, *new})
        if old.get(name, ABSENT) != new.get(name, ABSENT)
    }
    return CellChange(
        *at,
        old.get("id"),
        sources if sources[0] != sources[1] else None,
        metadata if metadata[0] != metadata[1] else None,
        members,
    )


def _merged(before: dict[str, Any], after: dict[str, Any], now: dict[str, Any]) -> bool:
    """Tell whether metadata have what changed from one state of them to the next."""
    return all(
        now.get(name, ABSENT) == after.get(name, ABSENT)
        for name in before.keys() | after.keys()
        if before.get(name, ABSENT) != after.get(name, ABSENT)
    )


def _staying(kept: list[tuple[int, int]], taken: Collection[int]) -> set[int]:
    """Give the places after of the cells that need not move: of those not taken, then of others."""
    staying = _longest_rise(kept)
    if len(staying) == len(kept) or not taken:
        return staying
    staying = _longest_rise([pair for pair in kept if pair[1] not in taken])
    ends = [pair for pair in kept if pair[0] in staying]
    there, here = [pair[0] for pair in ends], [pair[1] for pair in ends]
    return _longest_rise(
        [
            pair
            for pair in kept
            if pair[0] in staying
            or (pair[1] in taken and bisect_left(there, pair[0]) == bisect_left(here, pair[1]))
        ]
    )


def _longest_rise(pairs: list[tuple[int, int]]) -> set[int]:
    """Give the firsts of the most pairs whose seconds rise, so that the fewest cells move."""
    return {first for first, _ in longest_rise(pairs)}


def _value(document: Document, index: int) -> dict[str, Any]:
    value: dict[str, Any] = spans.decode(document.text, document.cell_spans[index])
    return {**value, "source": document.cell(index).source}
