"""A notebook as a room shares it: shown as the text that a save would write, and edited in place.

The document is one of ``jupyter_ydoc``: an array of cells, each a map with a shared text in it.
"""

from __future__ import annotations

import asyncio
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import nbformat

from jupyter_nbedit.errors import InvalidNotebook
from jupyter_nbedit.notebook.cell_patch import ABSENT, CellPatch, MovedCell, PatchedCell
from jupyter_nbedit.notebook.text_hunks import Hunk, list_hunks, rebase_hunks
from jupyter_nbedit.storage.base import StaleContent

#: By whom a change was made, for those who watch a shared document.
ORIGIN = "nbedit"
_NBFORMAT = 4
# What nbformat does not write.
_TRANSIENT = frozenset(("trusted", "signature", "orig_nbformat", "orig_nbformat_minor"))


@dataclass(frozen=True)
class RoomSnapshot:
    """A shared notebook at one moment.

    Parameters
    ----------
    text
        The bytes that the room's save would write.
    ids
        The ids of its cells, which a room gives to those, too, that have none in the file.
    trusted
        Whether the save would sign it.
    sound
        Whether each shared cell is one of the text, under the same id.
    """

    text: bytes
    ids: list[str]
    trusted: bool
    is_consistent: bool


@dataclass(frozen=True)
class RoomSnapshotCache:
    """What shared notebooks looked like when they were looked at last.

    To make a text of many cells takes long, and who reads a notebook often edits it next.
    """

    _last: WeakKeyDictionary[Any, tuple[bytes, RoomSnapshot]] = field(
        default_factory=WeakKeyDictionary
    )

    async def get(self, document: Any, check_cells: Callable[[Any], bool]) -> RoomSnapshot:
        """Look at a shared notebook as it is now.

        Parameters
        ----------
        document
            The shared notebook; nobody may be in the middle of a change.
        check_cells
            The notary's.
        """
        update = document.ydoc.get_update()
        before, seen = self._last.get(document, (b"", None))
        if seen is None or before != update:
            seen = await asyncio.to_thread(_take_snapshot, type(document), update, check_cells)
            self._last[document] = update, seen
        return seen


def _take_snapshot(
    kind: Callable[[], Any], update: bytes, check_cells: Callable[[Any], bool]
) -> RoomSnapshot:
    # A document may only be used in the thread that made it, so this one is made here.
    copy = kind()
    copy.ydoc.apply_update(update)
    shared = _list_ids(copy)
    notebook = nbformat.from_dict(copy.get())
    if notebook.nbformat != _NBFORMAT:
        message = (
            f"What the room shares is no notebook that can be edited: its nbformat is "
            f"{notebook.nbformat}, expected {_NBFORMAT}. Close it everywhere, and mend the file."
        )
        raise InvalidNotebook(message, nbformat=notebook.nbformat)
    trusted = check_cells(notebook)
    text: str = nbformat.versions[_NBFORMAT].writes_json(notebook)
    text += "" if text.endswith("\n") else "\n"
    # Of cells with one id, `get` leaves out those that are the same, and names others anew.
    sound = len(shared) == len(notebook.cells) and max(Counter(shared).values(), default=1) == 1
    return RoomSnapshot(text.encode(), shared, trusted, sound)


def repair_ids(document: Any) -> None:
    """Make each shared cell one of the text, as the room's save means them."""
    # This gives another id to what is not the same under one, and leaves out what is. It does so
    # only where ids are the format's; where they are not, the room writes all of them.
    repeats = len(document.get()["cells"]) < len(document.ycells)
    seen: set[str] = set()
    double = []
    for index, cell_id in enumerate(_list_ids(document)):
        if cell_id in seen:
            double.append(index)
        seen.add(cell_id)
    with document.ydoc.transaction(origin=ORIGIN):
        for index in reversed(double):
            if repeats:
                del document.ycells[index]
            else:
                document.ycells[index]["id"] = str(uuid.uuid4())


def edit(document: Any, steps: CellPatch, ids: Sequence[str]) -> None:
    """Do the steps in one transaction, so that everybody gets them at once.

    Parameters
    ----------
    document
        The shared notebook.
    steps
        From what it was when it was looked at.
    ids
        The ids that its cells had then.

    Raises
    ------
    StaleContent
        If a cell that the steps mention, or its neighbours, are not what they were; nothing was
        done.
    """
    cells = document.ycells
    sources = _rebase_changes(document, steps, ids)
    with document.ydoc.transaction(origin=ORIGIN):
        for change in steps.changes:
            _change(cells[change.index], change, sources.get(change.index, []))
        moved = {
            step.origin: cells[step.origin].to_py()
            for step in steps.placed
            if isinstance(step, MovedCell)
        }
        for index in reversed(steps.taken_out):
            del cells[index]
        for step in steps.placed:
            value = moved[step.origin] if isinstance(step, MovedCell) else step.cell
            cells.insert(step.index, document.create_ycell(value))
            if (state := value.get("execution_state")) is not None:
                # What a cell is doing is no part of the notebook, so a new cell is idle.
                cells[step.index]["execution_state"] = state
        if steps.metadata is not None:
            _merge(document.ydoc["meta"]["metadata"], *steps.metadata)


def _list_ids(document: Any) -> list[str]:
    return [cell.get("id") for cell in document.ycells]


def _rebase_changes(document: Any, steps: CellPatch, ids: Sequence[str]) -> dict[int, list[Hunk]]:
    """Return the changes of sources as they fit what is there now."""
    cells = document.ycells
    if len(cells) != len(ids):
        raise StaleContent
    for index in _list_touched_and_neighbours(steps, len(ids)):
        if cells[index]["id"] != ids[index]:
            raise StaleContent
    for gone in steps.removed:
        if str(cells[gone.index]["source"]) != gone.source:
            raise StaleContent
    said = [(cells[step.index]["metadata"], step.metadata) for step in steps.changes]
    said += [(cells[step.index]["metadata"], (step.metadata, {})) for step in steps.removed]
    said.append((document.ydoc["meta"]["metadata"], steps.metadata))
    if any(then is not None and _to_plain(now) != then[0] for now, then in said):
        raise StaleContent
    return {
        change.index: _rebase_source(change.source, str(cells[change.index]["source"]))
        for change in steps.changes
        if change.source is not None
    }


def _rebase_source(source: tuple[str, str], now: str) -> list[Hunk]:
    before, after = source
    found = rebase_hunks(list_hunks(before, after), before, now)
    if found is None:
        raise StaleContent
    return found


def _list_touched_and_neighbours(steps: CellPatch, count: int) -> set[int]:
    """Return the indexes of the cells that must not have moved: those touched, and neighbours."""
    out = set(steps.taken_out)
    order: list[int | None] = [index for index in range(count) if index not in out]
    for step in steps.placed:
        order.insert(step.index, None)
    found = {change.index for change in steps.changes} | out
    for step in steps.placed:
        around = order[max(step.index - 1, 0) : step.index + 2]
        found |= {index for index in around if index is not None}
    return found


def _change(cell: Any, change: PatchedCell, source: Sequence[Hunk]) -> None:
    replace(cell["source"], source)
    if change.metadata is not None:
        _merge(cell["metadata"], *change.metadata)
    for name, value in change.members.items():
        if value is ABSENT:
            if name in cell:
                del cell[name]
        elif name == "outputs" and hasattr(cell.get(name), "clear"):
            # Browsers watch this very array.
            cell[name].clear()
        else:
            cell[name] = value


def replace(shared: Any, changes: Sequence[Hunk]) -> None:
    """Change a shared text, and leave in place what does not change."""
    for start, stop, new in _convert_to_byte_offsets(changes, str(shared)):
        del shared[start:stop]
        if new:
            shared.insert(start, new)


def _convert_to_byte_offsets(changes: Sequence[Hunk], text: str) -> list[tuple[int, int, str]]:
    """Return changes by the offsets that shared texts go by, of their UTF-8; the last one first."""
    return [
        (len(text[:start].encode()), len(text[:stop].encode()), new)
        for start, stop, new in reversed(changes)
    ]


def _merge(shared: Any, before: dict[str, Any], after: dict[str, Any]) -> None:
    """Change what differs in metadata, and nothing that is not part of the file."""
    for name in before.keys() - after.keys():
        del shared[name]
    for name, value in after.items():
        if name not in before or before[name] != value:
            shared[name] = value


def _to_plain(metadata: Any) -> dict[str, Any]:
    """Return metadata as a file has them."""
    value: dict[str, Any] = metadata.to_py()
    return {name: item for name, item in value.items() if name not in _TRANSIENT}
