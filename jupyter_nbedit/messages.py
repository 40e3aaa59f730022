"""What is asked of the editor, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec

from jupyter_nbedit.notebook.batch import Result
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.operations import Insert, Operation
from jupyter_nbedit.notebook.view import CellView, View

#: Decides on the operations in view of the notebook as it is when it is edited. Called again if
#: somebody else changes the notebook meanwhile; what it refuses is the answer.
Plan = Callable[[Document], Sequence[Operation]]


@dataclass(frozen=True)
class EditRequest:
    """One batch of operations on one notebook.

    Parameters
    ----------
    path
        The notebook's API path.
    operations
        At least one; or a plan that gives them.
    hash
        The only version of the notebook the batch is for; None takes whatever is there.
    dry_run
        Answer what would be, and write nothing.
    user
        The user name the server knows the editor by.
    client
        What the editor calls itself.
    message
        Why the edit is made; for the log.
    session
        Whose reading counts if the notebook must have been read; see `Readings`.
    must_have_read
        Refuse the edit unless the session has read the notebook as it is.
    """

    path: str
    operations: Sequence[Operation] | Plan
    hash: str | None = None
    dry_run: bool = False
    user: str = ""
    client: str | None = None
    message: str | None = None
    session: str = ""
    must_have_read: bool = False


@dataclass(frozen=True)
class CreateRequest:
    """A notebook to be created; what is not said here is as in `EditRequest`.

    Parameters
    ----------
    cells
        Its cells, each to be inserted at the end.
    language, kernelspec
        What its metadata say; see `blank`.
    """

    path: str
    cells: Sequence[Insert]
    language: str | None = None
    kernelspec: str | None = None
    dry_run: bool = False
    user: str = ""
    client: str | None = None
    message: str | None = None
    session: str = ""


class EditReply(msgspec.Struct, frozen=True, kw_only=True):
    """What an edit did: what is kept now, under which hash, and how it got there.

    ``edit_id`` is null if nothing was written, ``hash_before`` if the edit created the notebook.
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
    operations: list[Result]
    diff: str
    warnings: list[str]


class Kernelspec(msgspec.Struct, frozen=True):
    """The kernel the notebook's metadata names; it is never asked."""

    name: str | None
    display_name: str | None


class ReadReply(msgspec.Struct, frozen=True, kw_only=True):
    """A notebook as a reader is shown it; ``next`` is where the next page starts, or null."""

    path: str
    hash: str
    last_modified: datetime
    nbformat: int
    nbformat_minor: int
    language: str | None
    kernelspec: Kernelspec | None
    trusted: bool
    live: bool
    total_cells: int
    cells: list[CellView]
    next: int | None


@dataclass(frozen=True)
class Selection:
    """Which cells a reader wants.

    Parameters
    ----------
    cells
        The addresses of these, as text; they come in the notebook's order. Empty means all.
    start
        The first index of the page.
    limit
        How many cells at most; None means no limit.
    view
        How much of each.
    session
        Who then has read the notebook; see `Readings`.
    """

    cells: Sequence[str] = ()
    start: int = 0
    limit: int | None = None
    view: View = "source"
    session: str = ""
