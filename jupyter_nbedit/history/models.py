"""The entries of the edit history and the differences of cells, as stored and as sent."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from jupyter_nbedit.errors import HistoryUnavailable
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.undo import record
from jupyter_nbedit.notebook.undo.record import CellState

Kind = Literal["edit", "create", "undo", "redo"]

_MOST_OPERATIONS = 20


class TouchedCellEntry(msgspec.Struct, frozen=True):
    """One cell that an operation affected; null fields mean the same as in the edit event."""

    op: str
    cell_id: str | None
    index: int | None


class _EntryPayload(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of an edit that no query selects by; they are stored as one JSON value."""

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
    """An edit to be stored.

    Parameters
    ----------
    path
        The API path of the notebook.
    kind
        The kind of the edit.
    user
        The user who made it, as known by the server.
    client, message
        The client and the reason, as the client states them.
    accepted_by
        The user who accepted it, if it was a proposal.
    claim_id
        The number of the claim on that proposal; the number of the edit is stored with the claim
        in the same transaction.
    operations
        For each affected cell ``op``, ``cell_id`` and ``index``.
    cells_changed
        The number of cells that differ.
    hash_before, hash
        The hash of the notebook before and after; ``hash_before`` is None for a new notebook.
    applied_via
        The storage kind.
    total_cells, cells_delta
        The number of cells after the edit, and how many more than before.
    undoes
        The number of the edit that this one undoes.
    trusted
        Whether the notebook was trusted before the edit.
    """

    path: str
    kind: Kind = "edit"
    user: str = ""
    client: str | None = None
    message: str | None = None
    accepted_by: str | None = None
    claim_id: int | None = None
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
    path: Annotated[str, Meta(description="The current path of the notebook.")]
    kind: Annotated[Kind, Meta(description="`undo` and `redo` undo the edit `undoes`.")]
    user: Annotated[str, Meta(description="The user who made it, as known by the server.")]
    client: Annotated[
        str | None, Meta(description="The name of the client, as it states it; not verified.")
    ]
    message: Annotated[str | None, Meta(description="The reason, as the client states it.")]
    accepted_by: Annotated[
        str | None, Meta(description="The user who accepted it, if it was a proposal.")
    ]
    operations: Annotated[
        list[TouchedCellEntry], Meta(max_length=_MOST_OPERATIONS, description="The first 20.")
    ]
    truncated: Annotated[bool, Meta(description="Whether there were more operations.")]
    cells_changed: Annotated[int, Meta(ge=0, description="The number of cells that differ.")]
    hash_before: Annotated[str | None, Meta(description="Null if the edit created the notebook.")]
    hash: Annotated[str, Meta(description="The hash of the notebook after the edit.")]
    applied_via: str
    total_cells: Annotated[int, Meta(ge=0, description="The number of cells after the edit.")]
    cells_delta: Annotated[int, Meta(description="How many more cells than before.")]
    undoes: Annotated[int | None, Meta(description="The edit that this one undoes.")]
    undone_by: Annotated[
        int | None, Meta(description="The edit that has undone this one, if it is not in effect.")
    ]
    undoable: Annotated[
        bool,
        Meta(description="Whether it is in effect and the history has what an undo needs."),
    ]


class Entry(HistoryEdit, frozen=True, kw_only=True):
    """An edit as stored. ``trusted``: whether the notebook was trusted before; never sent."""

    trusted: bool


def encode_entry(entry: NewEntry) -> bytes:
    """Return the payload of an edit as JSON."""
    payload = {
        name: getattr(entry, name)
        for name in _EntryPayload.__struct_fields__
        if name != "truncated"
    }
    payload["truncated"] = len(entry.operations) > _MOST_OPERATIONS
    payload["operations"] = list(entry.operations[:_MOST_OPERATIONS])
    try:
        return msgspec.json.encode(payload)
    except UnicodeEncodeError:
        # An id with lone surrogates cannot be UTF-8, but JSON can escape them.
        return json.dumps(payload).encode()


def _decode_payload(payload: bytes) -> _EntryPayload:
    try:
        return msgspec.json.decode(payload, type=_EntryPayload)
    except ValueError:
        pass
    try:
        return msgspec.convert(json.loads(payload), _EntryPayload)
    except ValueError:
        message = (
            "The history of edits cannot be read: an edit in it is broken. DELETE the notebook's "
            "`history` to begin a new one."
        )
        raise HistoryUnavailable(message) from None


def build_entry_from_row(row: Sequence[Any], path: str) -> Entry:
    """Return the edit of a row of the history.

    Parameters
    ----------
    row
        The columns that the store selects: ``edit_id``, ``time`` (seconds since 1970), ``kind``,
        ``undoes``, ``undone_by``, ``payload`` and ``has_record``.
    path
        The path of the notebook.

    Raises
    ------
    HistoryUnavailable
        If the payload cannot be decoded.
    """
    edit_id, seconds, kind, undoes, undone_by, payload, has_record = row
    return Entry(
        edit_id=edit_id,
        time=datetime.fromtimestamp(seconds, tz=timezone.utc),
        path=path,
        kind=kind,
        undoes=undoes,
        undone_by=undone_by,
        undoable=bool(has_record) and undone_by is None and kind != "create",
        **msgspec.structs.asdict(_decode_payload(payload)),
    )


class CellDiff(msgspec.Struct, frozen=True, kw_only=True):
    """The change of one cell, or of the notebook's own metadata: then all addresses are null."""

    part: Annotated[int, Meta(ge=0, description="Its number, from 0.")]
    cell_id: str | None
    index_before: Annotated[
        int | None, Meta(description="The index before the edit; null if the cell is new.")
    ]
    index: Annotated[
        int | None, Meta(description="The index after the edit; null if the cell is deleted.")
    ]
    moved: Annotated[bool, Meta(description="Whether the cell is moved among the other cells.")]
    outputs_cleared: Annotated[bool, Meta(description="Whether the cell loses its outputs.")]
    before: CellState | None
    after: CellState | None


def build_cell_diffs(cell_undos: Iterable[record.CellUndo]) -> list[CellDiff]:
    """Return the differences of the cells in an undo record, numbered in its order."""
    return [
        CellDiff(
            part=number,
            cell_id=cell_undo.cell_id,
            index_before=cell_undo.index_before,
            index=cell_undo.index,
            moved=cell_undo.is_moved,
            outputs_cleared=cell_undo.outputs_cleared,
            before=cell_undo.before,
            after=cell_undo.after,
        )
        for number, cell_undo in enumerate(cell_undos)
    ]


def build_cell_diffs_of_new(document: Document) -> list[CellDiff]:
    """Return the differences that a new notebook makes: all of its cells are added."""
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
