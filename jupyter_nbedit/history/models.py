"""What is told of an edit, and how it is kept."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from jupyter_nbedit.errors import LedgerError
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.undo import record
from jupyter_nbedit.notebook.undo.record import CellState

Kind = Literal["edit", "create", "undo", "redo"]

_MOST_OPERATIONS = 20


class TouchedCellEntry(msgspec.Struct, frozen=True):
    """One cell that an operation was about; nulls as in the event that tells of an edit."""

    op: str
    cell_id: str | None
    index: int | None


class _EntryPayload(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept of an edit and never asked for by itself."""

    user: str
    client: str | None
    message: str | None
    accepted_by: str | None
    operations: list[TouchedCellEntry]
    truncated: bool
    cells_changed: int
    hash_before: str | None
    hash: str
    applied_via: str
    total_cells: int
    cells_delta: int
    trusted: bool


@dataclass(frozen=True, kw_only=True)
class NewEntry:
    """An edit that was made.

    Parameters
    ----------
    path
        The notebook's API path.
    kind
        What sort of edit.
    user
        Who made it, as the server knows them.
    client, message
        What they said of themselves and of the edit.
    accepted_by
        The user who accepted it, if it was a proposal.
    claim
        The number of the claim on that proposal, which learns the edit's number with it.
    operations
        What was done: for each cell ``op``, ``cell_id`` and ``index``.
    cells_changed
        How many cells are different.
    hash_before, hash
        Of the notebook; the first is None if the edit created it.
    applied_via
        The way in which the notebook is kept.
    total_cells, cells_delta
        How many cells it has now, and how many more than before.
    undoes
        The edit that this one takes back.
    trusted
        Whether the notebook was trusted before.
    """

    path: str
    kind: Kind = "edit"
    user: str = ""
    client: str | None = None
    message: str | None = None
    accepted_by: str | None = None
    claim: int | None = None
    operations: Sequence[Mapping[str, Any]] = field(default_factory=list)
    cells_changed: int = 0
    hash_before: str | None = None
    hash: str = ""
    applied_via: str = ""
    total_cells: int = 0
    cells_delta: int = 0
    undoes: int | None = None
    trusted: bool = False


class HistoryEdit(msgspec.Struct, frozen=True, kw_only=True):
    """An edit of the history."""

    edit_id: int
    time: Annotated[datetime, Meta(description="When it was made.")]
    path: Annotated[str, Meta(description="Of the notebook, as it is called now.")]
    kind: Annotated[Kind, Meta(description="`undo` and `redo` take back the edit `undoes`.")]
    user: Annotated[str, Meta(description="Who made it, as the server knows them.")]
    client: Annotated[str | None, Meta(description="What they call themselves; not verified.")]
    message: Annotated[str | None, Meta(description="Why it was made, in their words.")]
    accepted_by: Annotated[
        str | None, Meta(description="Who accepted it, as the server knows them, if proposed.")
    ]
    operations: Annotated[
        list[TouchedCellEntry], Meta(max_length=_MOST_OPERATIONS, description="The first 20.")
    ]
    truncated: Annotated[bool, Meta(description="Whether there were more operations.")]
    cells_changed: Annotated[int, Meta(ge=0, description="How many cells are different.")]
    hash_before: Annotated[str | None, Meta(description="Null if the edit created the notebook.")]
    hash: Annotated[str, Meta(description="Of the notebook after the edit.")]
    applied_via: str
    total_cells: Annotated[int, Meta(ge=0, description="How many cells the notebook then had.")]
    cells_delta: Annotated[int, Meta(description="How many more than before.")]
    undoes: Annotated[int | None, Meta(description="The edit that this one takes back.")]
    undone_by: Annotated[
        int | None, Meta(description="The edit that took this one back, if it is not in effect.")
    ]
    undoable: Annotated[
        bool,
        Meta(description="Whether it is in effect and what it takes to take it back is kept."),
    ]


class Entry(HistoryEdit, frozen=True, kw_only=True):
    """An edit, and what only the server needs to know: whether the notebook was trusted before."""

    trusted: bool


def encode_entry(entry: NewEntry) -> bytes:
    """Return what is kept of an edit as one value."""
    said = {
        name: getattr(entry, name)
        for name in _EntryPayload.__struct_fields__
        if name != "truncated"
    }
    said["truncated"] = len(entry.operations) > _MOST_OPERATIONS
    said["operations"] = list(entry.operations[:_MOST_OPERATIONS])
    try:
        return msgspec.json.encode(said)
    except UnicodeEncodeError:
        # An id with lone surrogates: JSON can say them, as escapes, though UTF-8 cannot.
        return json.dumps(said).encode()


def _decode_payload(said: bytes) -> _EntryPayload:
    try:
        return msgspec.json.decode(said, type=_EntryPayload)
    except ValueError:
        pass
    try:
        return msgspec.convert(json.loads(said), _EntryPayload)
    except ValueError:
        message = (
            "The history of edits cannot be read: an edit in it is broken. DELETE the notebook's "
            "`history` to begin a new one."
        )
        raise LedgerError(message) from None


def build_entry_from_row(row: Sequence[Any], path: str) -> Entry:
    """Return the edit of a row.

    Parameters
    ----------
    row
        Number, time, kind, which it undoes, which undid it, what is kept, whether it has a record.
    path
        What the notebook is called.

    Raises
    ------
    LedgerError
        If it is broken.
    """
    number, when, kind, undoes, undone_by, said, has_record = row
    return Entry(
        edit_id=number,
        time=datetime.fromtimestamp(when, tz=timezone.utc),
        path=path,
        kind=kind,
        undoes=undoes,
        undone_by=undone_by,
        undoable=bool(has_record) and undone_by is None and kind != "create",
        **msgspec.structs.asdict(_decode_payload(said)),
    )


class CellDiff(msgspec.Struct, frozen=True, kw_only=True):
    """What happens to one cell, or to the notebook's own metadata: then all addresses are null."""

    part: Annotated[int, Meta(ge=0, description="Its number, from 0.")]
    cell_id: str | None
    index_before: Annotated[
        int | None, Meta(description="Where the cell stands before the edit; null if it is new.")
    ]
    index: Annotated[
        int | None, Meta(description="Where it stands after it; null if it is deleted.")
    ]
    moved: Annotated[
        bool, Meta(description="Whether the cell is taken to another place among the others.")
    ]
    outputs_cleared: Annotated[bool, Meta(description="Whether the cell loses its outputs.")]
    before: CellState | None
    after: CellState | None


def build_cell_diffs(changed: Iterable[record.CellUndo]) -> list[CellDiff]:
    """Show the parts of a record, numbered as they come."""
    return [
        CellDiff(
            part=number,
            cell_id=one.cell_id,
            index_before=one.index_before,
            index=one.index,
            moved=one.is_moved,
            outputs_cleared=one.outputs_cleared,
            before=one.before,
            after=one.after,
        )
        for number, one in enumerate(changed)
    ]


def build_cell_diffs_of_new(document: Document) -> list[CellDiff]:
    """Show the cells of a new notebook."""
    return [
        CellDiff(
            part=cell.index,
            cell_id=cell.id,
            index_before=None,
            index=cell.index,
            moved=False,
            outputs_cleared=False,
            before=None,
            after=CellState(cell_type=cell.cell_type, source=cell.source, metadata=cell.metadata),
        )
        for cell in map(document.get_cell, range(len(document)))
    ]
