"""The entries of the edit history and the differences of cells, as stored and as sent."""

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Annotated, Any, NamedTuple, TypeVar

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from jupyter_nbedit.errors import HistoryUnavailable
from jupyter_nbedit.notebook.diff import MAX_SNIPPET_LENGTH
from jupyter_nbedit.notebook.edit_plan import AffectedCell, Kind
from jupyter_nbedit.notebook.undo.record import CellState, CellUndo
from jupyter_nbedit.services.requests import Author

#: The kinds of edits that an undo takes back. An undo itself is taken back by a redo.
UNDOABLE_KINDS: tuple[Kind, ...] = ("edit", "undo_cells", "restore")

# By this name older releases knew edits by a person in JupyterLab.
_OLD_CLIENT_OF_PAGES = "JupyterLab"

_MAX_OPERATIONS = 20
# The fields of `NewEntry` that have a column of their own.
_COLUMN_FIELDS = frozenset(("path", "kind", "undoes", "claim_id", "reversed_parts", "author"))


class SeenParts(NamedTuple):
    """Parts of an edit that a user has seen, or has not."""

    edit_id: int
    numbers: Collection[int]
    #: How many parts the edit has.
    total: int


@dataclass(frozen=True, kw_only=True)
class NewEntry:
    """An edit to be stored; its fields mean the same as those of `HistoryEdit`."""

    path: str
    kind: Kind = "edit"
    undoes: int | None = None
    #: The claim on the proposal that the edit applies; it gets the number of the edit in the same
    #: transaction.
    claim_id: int | None = None
    #: Who made or proposed it.
    author: Author = field(default_factory=Author)
    #: The account and the user who accepted it, if it was a proposal.
    decided_account: str | None = None
    accepted_by: str | None = None
    operations: Sequence[AffectedCell] = ()
    cells_changed: int = 0
    hash_before: str | None = None
    hash: str = ""
    applied_via: str = ""
    total_cells: int = 0
    cells_delta: int = 0
    lines_added: int | None = None
    lines_removed: int | None = None
    snippet: str | None = None
    #: Whether the notebook was trusted before the edit.
    trusted: bool = False
    #: The parts of edits that it takes back. If this edit is undone, the parts that its author has
    #: not seen now are unseen again.
    reversed_parts: Sequence[SeenParts] = ()

    @property
    def account(self) -> str:
        """The account of the author."""
        return self.author.account

    @property
    def is_from_page(self) -> bool:
        """Whether a person made it by a button in JupyterLab."""
        return self.author.is_person and self.accepted_by is None


class EditOrigin(msgspec.Struct, frozen=True, kw_only=True):
    """Who made an edit, when and why."""

    edit_id: int
    time: Annotated[datetime, Meta(description="When it was made.")]
    kind: Annotated[
        Kind,
        Meta(
            description="`undo` and `redo` undo the edit `undoes`. `undo_cells` has returned cells "
            "to their last kept state. `restore` has returned the notebook to an earlier state. "
            "`outside` is a change of the file by a program that did not use this server."
        ),
    ]
    user: Annotated[
        str, Meta(description="The user who made it, as known by the server; empty if unknown.")
    ]
    client: Annotated[
        str | None, Meta(description="The name of the client, as it states it; not verified.")
    ]
    message: Annotated[str | None, Meta(description="The reason, as the client states it.")]
    accepted_by: Annotated[
        str | None, Meta(description="The user who accepted it, if it was a proposal.")
    ]
    is_from_page: Annotated[
        bool, Meta(description="Whether a person made it by a button in JupyterLab.")
    ]


class HistoryEdit(EditOrigin, frozen=True, kw_only=True):
    """An edit of the history."""

    path: Annotated[str, Meta(description="The current path of the notebook.")]
    operations: Annotated[
        list[AffectedCell],
        Meta(
            max_length=_MAX_OPERATIONS,
            description="The first 20; of an outside change, the `op` is `change`, `insert`, "
            "`delete` or `move`.",
        ),
    ]
    truncated: Annotated[bool, Meta(description="Whether there were more operations.")]
    cells_changed: Annotated[int, Meta(ge=0, description="The number of cells that differ.")]
    hash_before: Annotated[
        str | None, Meta(description="Null if the edit created the notebook, or it is not known.")
    ]
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
        Meta(
            description="Whether it is in effect, the history has what an undo needs, and no later "
            "change of the same members prevents the undo. The list of all notebooks does not "
            "compare later changes."
        ),
    ]
    lines_added: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        Meta(description="How many lines of sources it added; null if it is not known."),
    ] = None
    lines_removed: Annotated[
        Annotated[int, Meta(ge=0)] | None,
        Meta(description="How many lines of sources it removed; null if it is not known."),
    ] = None
    snippet: Annotated[
        Annotated[str, Meta(max_length=MAX_SNIPPET_LENGTH)] | None,
        Meta(description="The first line that it added, or else removed; null if there is none."),
    ] = None


class Entry(HistoryEdit, frozen=True, kw_only=True):
    """An edit as stored; its further fields are never sent."""

    #: Whether the notebook was trusted before.
    trusted: bool
    #: As in `NewEntry`. Older releases stored only the account of who accepted it.
    account: str = ""
    decided_account: str | None = None
    session: str = ""
    #: The parts that it took back and that its author had not seen.
    unseen_before: list[SeenParts] = []
    #: The encoded undo record; empty if it was too large to be stored.
    record: bytes = b""

    def is_by(self, account: str) -> bool:
        """Return whether a user made it in an open page, or accepted it."""
        return self.kind != "outside" and _is_decided_by(self, account)


class EditAuthor(msgspec.Struct, frozen=True, kw_only=True):
    """Who made an edit: the members of a payload that a list of notebooks needs."""

    client: str | None
    account: str = ""
    accepted_by: str | None = None
    decided_account: str | None = None
    is_from_page: bool | None = None

    def is_by(self, account: str, kind: str) -> bool:
        """Return whether a user made the edit, of some kind, in an open page, or accepted it."""
        return kind != "outside" and _is_decided_by(self, account)


def decode_author(payload: bytes) -> EditAuthor:
    """Return who made an edit; raise `HistoryUnavailable` if the payload cannot be decoded."""
    try:
        try:
            author = msgspec.json.decode(payload, type=EditAuthor)
        except ValueError:
            # `json` also reads lone surrogates.
            author = msgspec.convert(json.loads(payload), EditAuthor)
    except (TypeError, ValueError):
        raise _build_damaged_error() from None
    if author.is_from_page is None:
        author = replace(author, is_from_page=author.client == _OLD_CLIENT_OF_PAGES)
    return author


def _is_decided_by(edit: Entry | EditAuthor, account: str) -> bool:
    is_own = edit.is_from_page or edit.accepted_by is not None
    return is_own and get_deciding_account(edit) == account


def get_deciding_account(entry: NewEntry | Entry | EditAuthor) -> str:
    """Return the user who accepted an edit, or else made it."""
    return entry.account if entry.decided_account is None else entry.decided_account


_Edit = TypeVar("_Edit", bound=HistoryEdit)


def encode_entry(entry: NewEntry, unseen_before: Sequence[SeenParts] = ()) -> bytes:
    """Return the fields of an edit that have no column of their own, as JSON."""
    author = entry.author
    payload = {
        "user": author.user,
        "account": author.account,
        "client": author.client,
        "session": author.session_name,
        "message": author.message,
        "is_from_page": entry.is_from_page,
        **{name: value for name, value in vars(entry).items() if name not in _COLUMN_FIELDS},
    }
    payload["operations"] = entry.operations[:_MAX_OPERATIONS]
    payload["truncated"] = len(entry.operations) > _MAX_OPERATIONS
    if unseen_before:
        payload["unseen_before"] = unseen_before
    try:
        return msgspec.json.encode(payload)
    except UnicodeEncodeError:
        # An id with lone surrogates cannot be UTF-8, but JSON can escape them.
        return json.dumps(msgspec.to_builtins(payload)).encode()


def build_edit_from_row(row: Sequence[Any], path: str, model: type[_Edit]) -> _Edit:
    """Return the edit of a row of the history, either a `HistoryEdit` or an `Entry`.

    The row has ``edit_id``, ``time`` (seconds since 1970), ``kind``, ``undoes``, ``undone_by``,
    ``payload`` and ``has_record``. Raise `HistoryUnavailable` if the payload cannot be decoded.
    """
    edit_id, seconds, kind, undoes, undone_by, payload, has_record = row
    columns = {
        "edit_id": edit_id,
        "time": datetime.fromtimestamp(seconds, tz=timezone.utc),
        "path": path,
        "kind": kind,
        "undoes": undoes,
        "undone_by": undone_by,
        "undoable": bool(has_record) and undone_by is None and kind != "create",
    }
    try:
        fields = json.loads(payload)
        fields.setdefault("is_from_page", fields["client"] == _OLD_CLIENT_OF_PAGES)
        return msgspec.convert({**fields, **columns}, model)
    except (KeyError, TypeError, ValueError):
        raise _build_damaged_error() from None


def _build_damaged_error() -> HistoryUnavailable:
    return HistoryUnavailable(
        "The edit history cannot be read: an entry is damaged. DELETE the notebook's `history` to "
        "begin a new one."
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


def build_cell_diffs(cell_undos: Iterable[CellUndo]) -> list[CellDiff]:
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


_NEXT = "The value of `before` for the next page; null if there is none."


class HistoryReply(msgspec.Struct, frozen=True, kw_only=True):
    """A page of a notebook's history, newest first."""

    path: str
    edits: list[HistoryEdit]
    next: Annotated[int | None, Meta(description=_NEXT)]


class AllHistoryReply(msgspec.Struct, frozen=True, kw_only=True):
    """A page of the history of all notebooks that can be read now, newest first."""

    edits: list[HistoryEdit]
    next: Annotated[
        int | None,
        Meta(description=f"{_NEXT} A page may have fewer edits than asked for and yet a next one."),
    ]


class DetailedEdit(HistoryEdit, frozen=True, kw_only=True):
    """An edit, and the difference of each cell that it changed."""

    parts: Annotated[
        list[CellDiff], Meta(description="Empty if the edit was too large to be stored completely.")
    ]


class PurgeReply(msgspec.Struct, frozen=True, kw_only=True):
    """The number of edits that were deleted."""

    path: str
    purged: Annotated[int, Meta(ge=0, description="How many edits.")]
