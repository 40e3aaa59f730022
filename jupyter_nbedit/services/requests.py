"""Requests, and the bodies of requests, that edits, proposals, tools and handlers share."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import UNSET, Meta, UnsetType

from jupyter_nbedit.errors import InvalidRequest
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.edit_plan import Kind
from jupyter_nbedit.notebook.operations import MAX_INTEGER, Operation

#: Returns the operations for the notebook as it is now. It is called again if the notebook changes
#: before the write; the errors that it raises reach the client.
OperationFactory = Callable[[Document], Sequence[Operation]]
#: By which interface a request comes: REST, which scripts and the command line use, or tools.
Way = Literal["rest", "tools"]


@dataclass(frozen=True)
class Author:
    """Who makes a change, and why.

    The server knows the user; the client and the reason are as the client states them. The session
    is the session whose reads count; see `ReadTracker`.
    """

    user: str = ""
    client: str | None = None
    message: str | None = None
    session: str = ""
    #: The user under the name that stays the same in all requests; "" for the server's token.
    account: str = ""
    #: Whether the request comes from a button of ours in an open page.
    is_person: bool = False
    #: By which interface it comes.
    way: Way = "rest"
    #: The names under which the client makes edits, if it states no name and its tools set the
    #: name.
    tool_names: tuple[str, ...] = ()

    @property
    def client_names(self) -> tuple[str | None, ...]:
        """The names of the client in the history."""
        return self.tool_names or (self.client,)

    @property
    def session_name(self) -> str:
        """The session without the name of the user; "" if the request states none."""
        return self.session.partition("\n")[2]


@dataclass
class Claim:
    """The claim of a person to decide on parts of a proposal, so that nobody else does.

    It is stored before the notebook is written, while that is locked, and is deleted when the
    decision is stored. If the server is killed in between, the next request finishes the decision.
    """

    proposal_id: int
    #: The numbers of the parts; empty if the proposal has no parts.
    parts: Collection[int]
    #: The person who decides, and their client.
    user: str
    client: str | None
    #: The number of the claim, as soon as it is stored.
    claim_id: int | None = None
    #: The notebook before the write, None for a new one, and after it.
    hash_before: str | None = None
    hash_after: str | None = None
    #: The number of the edit, as soon as the edit is in the history.
    edit_id: int | None = None

    def covers(self, parts: Collection[int]) -> bool:
        """Return whether this is about one of some parts; True if the proposal has no parts."""
        return not self.parts or not parts or not set(self.parts).isdisjoint(parts)


class ProposalOrigin(msgspec.Struct, frozen=True, kw_only=True):
    """What is stored of the request that a proposal comes from, and never sent."""

    #: The account and the session of its author. None if an older release has stored it.
    account: str | None = None
    session: str = ""
    #: What it is in the history once all of it is accepted as proposed: the kind of the edit, and
    #: the number of the edit that it undoes.
    edit_kind: Kind = "edit"
    undoes: int | None = None
    #: By which interface it came.
    way: Way = "rest"


@dataclass(frozen=True)
class WriteRequest:
    """A request to change or to create a notebook; what to change is passed beside it."""

    #: The API path of the notebook.
    path: str
    author: Author = Author()
    _: KW_ONLY
    #: Compute the reply, and write nothing.
    dry_run: bool = False
    #: The only version of the notebook that may be changed; None for any version.
    hash: str | None = None
    #: The beginning of the hash of the version that the request knows; see `Document.locate`.
    rev: str | None = None
    #: The address by which a tool names the cell, if the operations do not have it.
    cell: str | None = None
    #: Whether the session must have read the current version of the notebook; None if the setting
    #: `read_before_edit` decides.
    must_have_read: bool | None = None
    #: For how many seconds the reply waits until open tabs have reported the edit.
    wait_tabs: float = 0.0
    #: If the change is a proposal: the claim of the person who accepts it, and where it comes from.
    claim: Claim | None = None
    origin: ProposalOrigin | None = None


_Value = TypeVar("_Value")

#: The most characters of the name of a client, of a message and of a header of ours.
MAX_LABEL_LENGTH = 200
#: The most operations of one batch.
MAX_OPERATIONS = 1000
# Python's `$` also matches before a final line feed, and JSON Schema has no better anchor.
REV_PATTERN = r"^[0-9a-f]{8,64}$(?!\n)"
#: The beginning of a hash.
Rev = Annotated[
    str,
    Meta(
        pattern=REV_PATTERN,
        description="The version that you have read: at least the first 8 digits of its `hash`. "
        "Among cells with the same source, a guarded name `N:hhhhhh` or `N:hhhhhh~` means the one "
        "at index N if this is still the current version.",
    ),
]
ClientName = Annotated[
    str, Meta(max_length=MAX_LABEL_LENGTH, description="The name of your client; not verified.")
]


class ChangeMetadata(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The fields of every request that writes."""

    dry_run: Annotated[bool, Meta(description="Compute the reply, write nothing.")] = False
    client: ClientName | UnsetType = UNSET
    message: (
        Annotated[
            str,
            Meta(
                max_length=MAX_LABEL_LENGTH,
                description="The reason of the edit, for its history and the log.",
            ),
        ]
        | UnsetType
    ) = UNSET


class ChangeBody(ChangeMetadata, frozen=True, kw_only=True):
    """The fields of every request that changes an existing notebook."""

    hash: Annotated[
        str | UnsetType, Meta(description="The version the edit is for; the same as `If-Match`.")
    ] = UNSET


def get_or_none(value: _Value | UnsetType) -> _Value | None:
    """Return the value of a field; None if the request does not have the field."""
    return None if value is UNSET else value


class CellChangeBody(ChangeBody, frozen=True, kw_only=True):
    """The fields of every request that changes cells."""

    rev: Rev | UnsetType = UNSET


class EditBody(CellChangeBody, frozen=True, kw_only=True):
    """The body of a PATCH."""

    operations: Annotated[
        list[Operation],
        Meta(min_length=1, max_length=MAX_OPERATIONS, description="All are applied, or none."),
    ]


#: Whose edits an undo or redo without a number chooses from.
Whose = Literal["own", "all"]


class RedoBody(ChangeBody, frozen=True, kw_only=True):
    """The body of a request to redo an edit."""

    edit_id: (
        Annotated[
            int,
            Meta(
                ge=1,
                le=MAX_INTEGER,
                description="The number of the edit; without it the newest possible of `whose`.",
            ),
        ]
        | UnsetType
    ) = UNSET
    whose: Annotated[
        Whose | UnsetType,
        Meta(
            description="Without `edit_id`: `own`, the default, is the newest edit of the same "
            "account and client, also if others edited later; of the same session, if both "
            "edits state one in `X-NbEdit-Session`. `all` is the newest of all."
        ),
    ] = UNSET


#: The name of a net change.
ChangeKey = Annotated[
    str, Meta(max_length=MAX_LABEL_LENGTH, description="The `key` of a change in `unseen`.")
]
#: The newest edit that the user knows.
Until = Annotated[
    int,
    Meta(
        ge=0,
        le=MAX_INTEGER,
        description="The newest edit that you know: the `until` of the reply that you show.",
    ),
]


#: A notebook may have more cells than a batch may have operations.
_MAX_CHANGE_KEYS = 100_000


class UndoBody(RedoBody, frozen=True, kw_only=True):
    """The body of a request to undo an edit, or the changes of cells."""

    cells: (
        Annotated[
            list[ChangeKey],
            Meta(
                min_length=1,
                max_length=_MAX_CHANGE_KEYS,
                description="Undo the changes of these cells since your last Keep, whichever edits "
                "made them, instead of one edit.",
            ),
        ]
        | UnsetType
    ) = UNSET
    until: Until | UnsetType = UNSET


def check_redo_body(body: RedoBody) -> None:
    """Raise `InvalidRequest` if the fields of a request to redo do not go together."""
    if body.whose is not UNSET and body.edit_id is not UNSET:
        raise InvalidRequest("Expected either `edit_id` or `whose`, found both. Send one of them.")


def check_undo_body(body: UndoBody) -> None:
    """Raise `InvalidRequest` if the fields of a request to undo do not go together."""
    check_redo_body(body)
    if body.cells is not UNSET and body.whose is not UNSET:
        raise InvalidRequest("Expected either `cells` or `whose`, found both. Send one of them.")
    if body.cells is UNSET and body.until is not UNSET:
        message = "`until` can only be sent with `cells`. Leave it out, or send `cells`."
        raise InvalidRequest(message)
    if body.cells is not UNSET and body.edit_id is not UNSET:
        raise InvalidRequest(
            "Expected either `cells` or `edit_id`, found both. Send `cells` to undo the changes of "
            "cells across edits, and `edit_id` to undo one edit."
        )


class RestoreBody(ChangeBody, frozen=True, kw_only=True):
    """The body of a request to restore an earlier state of a notebook."""

    edit_id: Annotated[
        int,
        Meta(
            ge=1,
            le=MAX_INTEGER,
            description="The edit after which the notebook was as it is to be again.",
        ),
    ]


class KeepBody(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The body of a request to keep changes."""

    cells: (
        Annotated[
            list[ChangeKey],
            Meta(
                min_length=1,
                max_length=_MAX_CHANGE_KEYS,
                description="The changes to keep; without it all.",
            ),
        ]
        | UnsetType
    ) = UNSET
    until: Until | UnsetType = UNSET
