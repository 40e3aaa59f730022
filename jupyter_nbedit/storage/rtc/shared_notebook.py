"""A notebook in a room: snapshots as the bytes that a save would write, and edits in place.

The document is one of ``jupyter_ydoc``: an array of cells, each of them a map with a shared text.
"""

import asyncio
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import nbformat

from jupyter_nbedit.errors import InvalidNotebook
from jupyter_nbedit.notebook.cell_patch import ABSENT, CellPatch, MovedCell, PatchedCell
from jupyter_nbedit.notebook.sequence_diff import Hunk, list_hunks, rebase_hunks
from jupyter_nbedit.storage.base import StaleContent

#: The origin of our transactions, for observers of a shared document.
ORIGIN = "nbedit"
_NBFORMAT = 4
# Members of metadata that nbformat does not write.
_TRANSIENT = frozenset(("trusted", "signature", "orig_nbformat", "orig_nbformat_minor"))


@dataclass(frozen=True)
class RoomSnapshot:
    """A shared notebook at one moment, as the bytes that the room's save would write.

    In a room every cell has an id, also if the cell has no id in the file. `is_trusted` says
    whether the save would sign the notebook, `is_consistent` whether each shared cell is in the
    text under the same id.
    """

    text: bytes
    ids: list[str]
    is_trusted: bool
    is_consistent: bool


async def take_snapshot(document: Any, check_cells: Callable[[Any], bool]) -> RoomSnapshot:
    """Return a snapshot of a shared notebook as of now; no transaction may be open."""
    update = document.ydoc.get_update()
    return await asyncio.to_thread(_build_snapshot, type(document), update, check_cells)


def _build_snapshot(
    kind: Callable[[], Any], update: bytes, check_cells: Callable[[Any], bool]
) -> RoomSnapshot:
    # A document may only be used in the thread that created it, so the copy is created here.
    copy = kind()
    copy.ydoc.apply_update(update)
    shared_ids = _list_ids(copy)
    notebook = nbformat.from_dict(copy.get())
    if notebook.nbformat != _NBFORMAT:
        message = (
            "The shared document of the room is not a notebook that can be edited: its nbformat "
            f"is {notebook.nbformat}, expected {_NBFORMAT}. Close it everywhere, and repair the "
            "file."
        )
        raise InvalidNotebook(message, nbformat=notebook.nbformat)
    is_trusted = check_cells(notebook)
    text: str = nbformat.versions[_NBFORMAT].writes_json(notebook)
    text += "" if text.endswith("\n") else "\n"
    # `get` drops a cell that equals another cell with the same id. A different cell with a repeated
    # id gets a new id.
    is_consistent = (
        len(shared_ids) == len(notebook.cells) and max(Counter(shared_ids).values(), default=1) == 1
    )
    return RoomSnapshot(text.encode(), shared_ids, is_trusted, is_consistent)


def repair_ids(document: Any) -> None:
    """Set a unique id in each shared cell, so that the save of the room contains it."""
    # `get` gives a new id to repeated ids and drops equal cells, but only if the format has ids;
    # otherwise the room writes all cells.
    has_repeats = len(document.get()["cells"]) < len(document.ycells)
    seen_ids: set[str] = set()
    repeated_indexes = []
    for index, cell_id in enumerate(_list_ids(document)):
        if cell_id in seen_ids:
            repeated_indexes.append(index)
        seen_ids.add(cell_id)
    with document.ydoc.transaction(origin=ORIGIN):
        for index in reversed(repeated_indexes):
            if has_repeats:
                del document.ycells[index]
            else:
                document.ycells[index]["id"] = str(uuid.uuid4())


def apply_patch(document: Any, patch: CellPatch, ids: Sequence[str]) -> None:
    """Apply a patch in one transaction, so that all clients get it at once.

    `ids` are the ids of the cells in the snapshot. Raise `StaleContent`, without a change, if a
    cell of the patch, or a neighbour, is not as in the snapshot.
    """
    cells = document.ycells
    sources = _rebase_changes(document, patch, ids)
    with document.ydoc.transaction(origin=ORIGIN):
        for change in patch.changed_cells:
            _change_cell(cells[change.index_before], change, sources.get(change.index_before, []))
        moved_cells = {
            step.old_index: cells[step.old_index].to_py()
            for step in patch.insertions
            if isinstance(step, MovedCell)
        }
        for index in reversed(patch.removed_indexes):
            del cells[index]
        for step in patch.insertions:
            value = moved_cells[step.old_index] if isinstance(step, MovedCell) else step.cell
            cells.insert(step.index, document.create_ycell(value))
            if (state := value.get("execution_state")) is not None:
                # The execution state is not part of the notebook; a new cell is idle.
                cells[step.index]["execution_state"] = state
        if patch.metadata is not None:
            _update_metadata(document.ydoc["meta"]["metadata"], *patch.metadata)


def _list_ids(document: Any) -> list[str]:
    return [cell.get("id") for cell in document.ycells]


def _rebase_changes(document: Any, patch: CellPatch, ids: Sequence[str]) -> dict[int, list[Hunk]]:
    """Return the changes of sources, moved to fit the current sources."""
    cells = document.ycells
    if len(cells) != len(ids):
        raise StaleContent
    for index in _list_affected_indexes(patch, len(ids)):
        if cells[index]["id"] != ids[index]:
            raise StaleContent
    for removed_cell in patch.removed_cells:
        if str(cells[removed_cell.index]["source"]) != removed_cell.source:
            raise StaleContent
    expected = [(cells[cell.index]["metadata"], cell.metadata) for cell in patch.removed_cells]
    expected += [
        (cells[change.index_before]["metadata"], change.metadata[0])
        for change in patch.changed_cells
        if change.metadata is not None
    ]
    if patch.metadata is not None:
        expected.append((document.ydoc["meta"]["metadata"], patch.metadata[0]))
    if any(_convert_to_plain(shared) != metadata for shared, metadata in expected):
        raise StaleContent
    return {
        change.index_before: _rebase_source(
            change.source, str(cells[change.index_before]["source"])
        )
        for change in patch.changed_cells
        if change.source is not None
    }


def _rebase_source(source: tuple[str, str], current: str) -> list[Hunk]:
    before, after = source
    hunks = rebase_hunks(list_hunks(before, after), before, current)
    if hunks is None:
        raise StaleContent
    return hunks


def _list_affected_indexes(patch: CellPatch, count: int) -> set[int]:
    """Return the indexes of the cells that must not have moved: changed cells and neighbours."""
    removed_indexes = set(patch.removed_indexes)
    order: list[int | None] = [index for index in range(count) if index not in removed_indexes]
    for step in patch.insertions:
        order.insert(step.index, None)
    affected_indexes = {change.index_before for change in patch.changed_cells} | removed_indexes
    for step in patch.insertions:
        neighbours = order[max(step.index - 1, 0) : step.index + 2]
        affected_indexes |= {index for index in neighbours if index is not None}
    return affected_indexes


def _change_cell(cell: Any, change: PatchedCell, hunks: Sequence[Hunk]) -> None:
    apply_hunks(cell["source"], hunks)
    if change.metadata is not None:
        _update_metadata(cell["metadata"], *change.metadata)
    for name, value in change.members.items():
        if value is ABSENT:
            if name in cell:
                del cell[name]
        elif name == "outputs" and hasattr(cell.get(name), "clear"):
            # Browsers observe this array object.
            cell[name].clear()
        else:
            cell[name] = value


def apply_hunks(shared_text: Any, hunks: Sequence[Hunk]) -> None:
    """Apply hunks to a shared text; unchanged text stays in place."""
    text = str(shared_text)
    for start, stop, new in reversed(hunks):
        # Offsets in shared texts count bytes of UTF-8.
        offset = len(text[:start].encode())
        del shared_text[offset : offset + len(text[start:stop].encode())]
        if new:
            shared_text.insert(offset, new)


def _update_metadata(shared_metadata: Any, before: dict[str, Any], after: dict[str, Any]) -> None:
    """Change the metadata that differ, and nothing that is not part of the file."""
    for name in before.keys() - after.keys():
        del shared_metadata[name]
    for name, value in after.items():
        if name not in before or before[name] != value:
            shared_metadata[name] = value


def _convert_to_plain(metadata: Any) -> dict[str, Any]:
    """Return metadata as in a file."""
    value: dict[str, Any] = metadata.to_py()
    return {name: item for name, item in value.items() if name not in _TRANSIENT}
