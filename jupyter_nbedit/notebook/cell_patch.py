"""What an edit did, cell by cell, for a notebook that is not kept as a text.

A live room keeps cells, not bytes. A script says which of them change and how; what it does not
mention stays as it is, and whoever works there notices nothing.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

from jupyter_nbedit.notebook import json_spans
from jupyter_nbedit.notebook.cell_matching import count_common_ends, get_cell_bytes, match_cells
from jupyter_nbedit.notebook.document import Cell, Document
from jupyter_nbedit.notebook.sequence_diff import find_longest_rise
from jupyter_nbedit.notebook.text_hunks import is_still_applied

#: What a script says of a member that goes.
ABSENT: Final = object()


@dataclass(frozen=True)
class PatchedCell:
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
class RemovedCell:
    """A cell that goes: where it stands before, and what it was."""

    index: int
    cell_id: str | None
    source: str
    metadata: dict[str, Any]


@dataclass(frozen=True)
class MovedCell:
    """A cell that stands elsewhere after: where, between which others, and where it stood."""

    index: int
    cell_id: str | None
    behind: str | None
    ahead: str | None
    origin: int


@dataclass(frozen=True)
class InsertedCell:
    """A cell that is new: where it stands, and all of it, with its source as one string.

    And what it was before, if it is one that had to be made anew.
    """

    index: int
    cell_id: str | None
    cell: dict[str, Any]
    was: dict[str, Any] | None = None


@dataclass(frozen=True)
class CellPatch:
    """The steps from one notebook to another.

    In this order: `changes`, at the indexes before; then `removed` and the origins of `moved` are
    taken out; then `placed` is put in, in its order, at the indexes after.
    """

    changes: list[PatchedCell]
    removed: list[RemovedCell]
    placed: list[MovedCell | InsertedCell]
    metadata: tuple[dict[str, Any], dict[str, Any]] | None
    total_cells: int

    @property
    def taken_out(self) -> list[int]:
        """The indexes, before, of what does not stay where it is."""
        moved = [step.origin for step in self.placed if isinstance(step, MovedCell)]
        return sorted([*moved, *(step.index for step in self.removed)])


def compute_patch(before: Document, after: Document, taken: Collection[int] = ()) -> CellPatch:
    """Work out the steps from one notebook to another; only their cells and metadata count.

    Parameters
    ----------
    before, after
        The notebooks.
    taken
        The indexes before of the cells that the edit took. If some must move, these do.
    """
    pairs = match_cells(before, after)
    kept = {there: here for here, there in pairs.items()}
    remade: dict[int, dict[str, Any]] = {}
    changes: list[PatchedCell] = []
    for here, there in sorted(pairs.items()):
        if get_cell_bytes(before, here) != get_cell_bytes(after, there):
            value = _read_cell(before, here)
            change = _compute_change((here, there), value, _read_cell(after, there))
            if change is None:
                del kept[there]
                remade[there] = value
            elif change.source or change.metadata or change.members:
                changes.append(change)
    staying = _find_staying(sorted(kept.items()), taken)
    gone = set(range(len(before))) - set(kept.values())
    removed = []
    for index in sorted(gone):
        cell = _read_cell(before, index)
        metadata = cell.get("metadata") or {}
        removed.append(RemovedCell(index, before.heads[index][0], cell["source"], metadata))
    placed: list[MovedCell | InsertedCell] = []
    # What is the same at both ends is neither placed nor looked at.
    first, last = count_common_ends(before, after)
    for there in range(first, len(after) - last):
        if there not in kept:
            fresh = _read_cell(after, there)
            placed.append(InsertedCell(there, after.heads[there][0], fresh, remade.get(there)))
        elif there not in staying:
            behind = after.heads[there - 1][0] if there else None
            ahead = after.heads[there + 1][0] if there + 1 < len(after) else None
            placed.append(MovedCell(there, after.heads[there][0], behind, ahead, kept[there]))
    of_notebook = (before.metadata, after.metadata)
    return CellPatch(
        changes,
        removed,
        placed,
        of_notebook if of_notebook[0] != of_notebook[1] else None,
        len(after),
    )


def is_applied(steps: CellPatch, document: Document) -> bool:
    """Return whether a notebook has what steps have done, whatever others did in it since.

    Where cells have ids, others may have come and gone as well.
    """
    placed = {step.cell_id for step in steps.placed}
    gone = {step.cell_id for step in steps.removed} - {None, *placed}
    named = all(step.cell_id is not None for step in steps.removed)
    return (
        gone.isdisjoint(document.ids)
        and (named or len(document) == steps.total_cells)
        and all(
            _is_step_applied(change, _find_cell(steps, document, change))
            for change in steps.changes
        )
        and all(
            _is_in_place(step, _find_cell(steps, document, step), document) for step in steps.placed
        )
        and (steps.metadata is None or _is_metadata_applied(*steps.metadata, document.metadata))
    )


def _find_cell(
    steps: CellPatch, document: Document, step: PatchedCell | MovedCell | InsertedCell
) -> Cell | None:
    """Find the cell that a step is about after all steps."""
    if step.cell_id is not None:
        at = next(iter(document.ids.get(step.cell_id, [])), None)
    else:
        place = step.place if isinstance(step, PatchedCell) else step.index
        at = place if len(document) == steps.total_cells else None
    return None if at is None else document.get_cell(at)


def _is_step_applied(change: PatchedCell, cell: Cell | None) -> bool:
    """Return whether a cell has what a change has done."""
    if cell is None:
        return False
    if change.source is not None:
        before, after = change.source
        # What was typed since must leave the change alone.
        if not is_still_applied(before, after, cell.source):
            return False
    if change.metadata is not None and not _is_metadata_applied(*change.metadata, cell.metadata):
        return False
    return all(cell.read_value(name, ABSENT) == value for name, value in change.members.items())


def _is_in_place(step: MovedCell | InsertedCell, cell: Cell | None, document: Document) -> bool:
    """Return whether a cell is where a step has put it."""
    if cell is None:
        return False
    if isinstance(step, InsertedCell):
        if step.was is not None and not _is_remade(step.was, step.cell, cell):
            return False
        return step.cell_id is not None or cell.source == step.cell["source"]
    behind = [] if step.behind is None else document.ids.get(step.behind, [])
    ahead = [] if step.ahead is None else document.ids.get(step.ahead, [])
    return all(at < cell.index for at in behind) and all(at > cell.index for at in ahead)


def _is_remade(before: dict[str, Any], after: dict[str, Any], now: Cell) -> bool:
    """Return whether a cell has no longer the type and outputs for which it was remade."""
    return all(
        now.read_value(name, ABSENT) != before.get(name, ABSENT)
        for name in ("cell_type", "outputs")
        if before.get(name, ABSENT) != after.get(name, ABSENT)
    )


def _compute_change(
    at: tuple[int, int], before: dict[str, Any], after: dict[str, Any]
) -> PatchedCell | None:
    """Return how a cell changes; None if it must be made anew.

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
    return PatchedCell(
        *at,
        old.get("id"),
        sources if sources[0] != sources[1] else None,
        metadata if metadata[0] != metadata[1] else None,
        members,
    )


def _is_metadata_applied(
    before: dict[str, Any], after: dict[str, Any], now: dict[str, Any]
) -> bool:
    """Return whether metadata have what changed from one state of them to the next."""
    return all(
        now.get(name, ABSENT) == after.get(name, ABSENT)
        for name in before.keys() | after.keys()
        if before.get(name, ABSENT) != after.get(name, ABSENT)
    )


def _find_staying(kept: list[tuple[int, int]], taken: Collection[int]) -> set[int]:
    """Return where the cells are that need not move: those not taken first, then others."""
    staying = _find_longest_rise(kept)
    if len(staying) == len(kept) or not taken:
        return staying
    staying = _find_longest_rise([pair for pair in kept if pair[1] not in taken])
    ends = [pair for pair in kept if pair[0] in staying]
    there, here = [pair[0] for pair in ends], [pair[1] for pair in ends]
    return _find_longest_rise(
        [
            pair
            for pair in kept
            if pair[0] in staying
            or (pair[1] in taken and bisect_left(there, pair[0]) == bisect_left(here, pair[1]))
        ]
    )


def _find_longest_rise(pairs: list[tuple[int, int]]) -> set[int]:
    """Return the firsts of the most pairs whose seconds rise, so that the fewest cells move."""
    return {first for first, _ in find_longest_rise(pairs)}


def _read_cell(document: Document, index: int) -> dict[str, Any]:
    value: dict[str, Any] = json_spans.decode(document.text, document.cell_spans[index])
    return {**value, "source": document.get_cell(index).source}
