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
from jupyter_nbedit.notebook.hunks import Hunk, hunks, rebased
from jupyter_nbedit.notebook.script import ABSENT, CellChange, Moved, Script
from jupyter_nbedit.storage import Changed

#: By whom a change was made, for those who watch a shared document.
ORIGIN = "nbedit"
_NBFORMAT = 4
# What nbformat does not write.
_TRANSIENT = frozenset(("trusted", "signature", "orig_nbformat", "orig_nbformat_minor"))


@dataclass(frozen=True)
class Sight:
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
    sound: bool


@dataclass(frozen=True)
class Sights:
    """What shared notebooks looked like when they were looked at last.

    To make a text of many cells takes long, and who reads a notebook often edits it next.
    """

    _last: WeakKeyDictionary[Any, tuple[bytes, Sight]] = field(default_factory=WeakKeyDictionary)

    async def of(self, document: Any, check_cells: Callable[[Any], bool]) -> Sight:
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
            seen = await asyncio.to_thread(_shown, type(document), update, check_cells)
            self._last[document] = update, seen
        return seen


def _shown(kind: Callable[[], Any], update: bytes, check_cells: Callable[[Any], bool]) -> Sight:
    # A document may only be used in the thread that made it, so this one is made here.
    copy = kind()
    copy.ydoc.apply_update(update)
    shared = _ids(copy)
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
    return Sight(text.encode(), shared, trusted, sound)


def mend(document: Any) -> None:
    """Make each shared cell one of the text, as the room's save means them."""
    # This gives another id to what is not the same under one, and leaves out what is. It does so
    # only where ids are the format's; where they are not, the room writes all of them.
    repeats = len(document.get()["cells"]) < len(document.ycells)
    seen: set[str] = set()
    double = []
    for index, cell_id in enumerate(_ids(document)):
        if cell_id in seen:
            double.append(index)
        seen.add(cell_id)
    with document.ydoc.transaction(origin=ORIGIN):
        for index in reversed(double):
            if repeats:
                del document.ycells[index]
            else:
                document.ycells[index]["id"] = str(uuid.uuid4())


def edit(document: Any, steps: Script, ids: Sequence[str]) -> None:
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
    Changed
        If a cell that the steps mention, or its neighbours, are not what they were; nothing was
        done.
    """
    cells = document.ycells
    sources = _checked(document, steps, ids)
    with document.ydoc.transaction(origin=ORIGIN):
        for change in steps.changes:
            _change(cells[change.index], change, sources.get(change.index, []))
        moved = {
            step.origin: cells[step.origin].to_py()
            for step in steps.placed
            if isinstance(step, Moved)
        }
        for index in reversed(steps.taken_out):
            del cells[index]
        for step in steps.placed:
            value = moved[step.origin] if isinstance(step, Moved) else step.cell
            cells.insert(step.index, document.create_ycell(value))
            if (state := value.get("execution_state")) is not None:
                # What a cell is doing is no part of the notebook, so a new cell is idle.
                cells[step.index]["execution_state"] = state
        if steps.metadata is not None:
            _merge(document.ydoc["meta"]["metadata"], *steps.metadata)


def _ids(document: Any) -> list[str]:
    return [cell.get("id") for cell in document.ycells]


def _checked(document: Any, steps: Script, ids: Sequence[str]) -> dict[int, list[Hunk]]:
    """Give the changes of sources as they fit what is there now."""
    cells = document.ycells
    if len(cells) != len(ids):
        raise Changed
    for index in _looked_at(steps, len(ids)):
        if cells[index]["id"] != ids[index]:
            raise Changed
    for gone in steps.removed:
        if str(cells[gone.index]["source"]) != gone.source:
            raise Changed
    said = [(cells[step.index]["metadata"], step.metadata) for step in steps.changes]
    said += [(cells[step.index]["metadata"], (step.metadata, {})) for step in steps.removed]
    said.append((document.ydoc["meta"]["metadata"], steps.metadata))
    if any(then is not None and _plain(now) != then[0] for now, then in said):
        raise Changed
    return {
        change.index: _fitting(change.source, str(cells[change.index]["source"]))
        for change in steps.changes
        if change.source is not None
    }


def _fitting(source: tuple[str, str], now: str) -> list[Hunk]:
    before, after = source
    found = rebased(hunks(before, after), before, now)
    if found is None:
        raise Changed
    return found


def _looked_at(steps: Script, count: int) -> set[int]:
    """Give the indexes of the cells that must be where they were: those touched, and neighbours."""
    out = set(steps.taken_out)
    order: list[int | None] = [index for index in range(count) if index not in out]
    for step in steps.placed:
        order.insert(step.index, None)
    found = {change.index for change in steps.changes} | out
    for step in steps.placed:
        around = order[max(step.index - 1, 0) : step.index + 2]
        found |= {index for index in around if index is not None}
    return found


def _change(cell: Any, change: CellChange, source: Sequence[Hunk]) -> None:
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
    for start, stop, new in _in_bytes(changes, str(shared)):
        del shared[start:stop]
        if new:
            shared.insert(start, new)


def _in_bytes(changes: Sequence[Hunk], text: str) -> list[tuple[int, int, str]]:
    """Give changes by the offsets that shared texts go by, of their UTF-8; the last one first."""
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


def _plain(metadata: Any) -> dict[str, Any]:
    """Give metadata as a file has them."""
    value: dict[str, Any] = metadata.to_py()
    return {name: item for name, item in value.items() if name not in _TRANSIENT}
