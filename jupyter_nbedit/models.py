"""What is asked of the editor, and what it answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from datetime import datetime
from typing import Annotated, TypeVar

import msgspec
from msgspec import UNSET, Meta, UnsetType

from jupyter_nbedit.notebook.apply import OperationResult
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.operations import Insert, Operation
from jupyter_nbedit.storage.base import Guard
from jupyter_nbedit.tabs import TabCounts

#: Decides on the operations in view of the notebook as it is when it is edited. Called again if
#: somebody else changes the notebook meanwhile; what it refuses is the answer.
OperationFactory = Callable[[Document], Sequence[Operation]]


@dataclass(frozen=True)
class Acceptance:
    """What an edit has to do with the proposal that it makes true.

    Parameters
    ----------
    claim
        The number of the claim on the proposal.
    announce
        Is called right before the write with the hashes before and after it, so that it can be
        found out whether a server that was killed has written. What it raises is the answer, and
        nothing is written then.
    """

    claim: int
    announce: Callable[[str | None, str], Awaitable[None]]


@dataclass(frozen=True)
class WriteRequest:
    """What is asked of a notebook, and by whom.

    Parameters
    ----------
    path
        The notebook's API path.
    dry_run
        Answer what would be, and write nothing.
    user
        The user name the server knows the editor by.
    client
        What the editor calls itself.
    message
        Why the edit is made.
    session
        Whose reading counts if the notebook must have been read; see `ReadTracker`.
    accepted_by
        The user who accepted the edit when it was a proposal.
    acceptance
        What it has to do with that proposal; None if it was none, or is only tried.
    """

    path: str
    _: KW_ONLY
    dry_run: bool = False
    user: str = ""
    client: str | None = None
    message: str | None = None
    session: str = ""
    accepted_by: str | None = None
    acceptance: Acceptance | None = None

    @property
    def bypasses_review(self) -> bool:
        """Whether a person has decided on it."""
        return self.accepted_by is not None


@dataclass(frozen=True)
class GuardedRequest(WriteRequest):
    """A change of a notebook that is there; what is not said here is as in `WriteRequest`.

    Parameters
    ----------
    hash
        The only version of the notebook the change is for; None takes whatever is there.
    must_have_read
        Refuse the change unless the session has read the notebook as it is.
    """

    _: KW_ONLY
    hash: str | None = None
    must_have_read: bool = False


@dataclass(frozen=True)
class EditRequest(GuardedRequest):
    """One batch of operations on one notebook; what is not said here is as in `GuardedRequest`.

    Parameters
    ----------
    operations
        At least one; or a plan that gives them.
    """

    operations: Sequence[Operation] | OperationFactory


@dataclass(frozen=True)
class UndoRequest(GuardedRequest):
    """An edit to be taken back; what is not said here is as in `GuardedRequest`.

    Parameters
    ----------
    edit_id
        The edit's number in the ledger; None for the newest that can be.
    redo
        Whether what was taken back is to be made again.
    """

    edit_id: int | None = None
    redo: bool = False

    @property
    def bypasses_review(self) -> bool:
        """Whether a person need not decide on it: taking back brings nothing new."""
        return not self.redo or super().bypasses_review


@dataclass(frozen=True)
class CreateRequest(WriteRequest):
    """A notebook to be created; what is not said here is as in `WriteRequest`.

    Parameters
    ----------
    cells
        Its cells, each to be inserted at the end.
    language, kernelspec
        What its metadata say; see `blank`.
    """

    cells: Sequence[Insert]
    _: KW_ONLY
    language: str | None = None
    kernelspec: str | None = None


class EditReply(msgspec.Struct, frozen=True, kw_only=True):
    """What an edit did: what is kept now, under which hash, and how it got there.

    ``edit_id`` is null if nothing was written or the ledger could not keep the edit, as a warning
    then says; ``hash_before`` is null if the edit created the notebook. ``proposal_id`` is there if
    nothing was written because a person decides first.
    """

    path: str
    edit_id: int | None
    hash_before: str | None
    hash: str
    last_modified: datetime
    applied_via: str
    bytes_preserved: bool
    persisted: bool
    dry_run: bool
    total_cells: int
    cells_delta: int
    language: str | None
    operations: list[OperationResult]
    diff: str
    warnings: list[str]
    proposal_id: (
        Annotated[int, Meta(description="The proposal that the edit has become.")] | UnsetType
    ) = UNSET
    guard: (
        Annotated[
            Guard,
            Meta(
                description="How other programs that write the file in the moment of the edit were "
                "kept from losing what they write; there where a file was replaced. `lease`: the "
                "old and the new file exchanged their names, and would have done so again had the "
                "old one not been what was read, while nobody could open it for writing. "
                "`exchange`: the same, but somebody may have had it open. `compare`: it was "
                "looked at just before it was replaced."
            ),
        ]
        | UnsetType
    ) = UNSET
    tabs: TabCounts = TabCounts()

    @property
    def is_written(self) -> bool:
        """Whether the notebook is another one than before."""
        is_made = not self.dry_run and self.proposal_id is UNSET
        return is_made and self.hash != self.hash_before


Value = TypeVar("Value")

#: How long what a client calls itself, its session or its request may be.
LONGEST_LABEL = 200
#: The most operations of one batch.
MOST_OPERATIONS = 1000


class ChangeMetadata(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """What any change may say of itself."""

    dry_run: Annotated[bool, Meta(description="Answer what would be, write nothing.")] = False
    client: (
        Annotated[
            str,
            Meta(max_length=LONGEST_LABEL, description="What you call yourself; not verified."),
        ]
        | UnsetType
    ) = UNSET
    message: (
        Annotated[
            str,
            Meta(
                max_length=LONGEST_LABEL,
                description="Why the edit is made; for its history and the log.",
            ),
        ]
        | UnsetType
    ) = UNSET


class ChangeBody(ChangeMetadata, frozen=True, kw_only=True):
    """What a change of a notebook that is there may say besides."""

    hash: (
        Annotated[str, Meta(description="The version the edit is for; the same as `If-Match`.")]
        | UnsetType
    ) = UNSET


def get_or_none(value: Value | UnsetType) -> Value | None:
    """Return a field's value, None if the request leaves it out."""
    return None if value is UNSET else value


class EditBody(ChangeBody, frozen=True, kw_only=True):
    """The body of a PATCH."""

    operations: Annotated[
        list[Operation],
        Meta(min_length=1, max_length=MOST_OPERATIONS, description="Done all, or none of them."),
    ]


class UndoBody(ChangeBody, frozen=True, kw_only=True):
    """The body of a request to take an edit back, or to make it again."""

    edit_id: (
        Annotated[
            int,
            Meta(
                ge=1,
                description="The edit, as in the history; without it the newest that can be.",
            ),
        ]
        | UnsetType
    ) = UNSET
