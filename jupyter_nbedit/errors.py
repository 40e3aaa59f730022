"""All errors of this package; `jupyter_nbedit.handlers.errors` has their HTTP statuses.

All classes derive from `NbEditError`, `InvalidOperation` from `InvalidRequest`, `PlanMode` and
`CellProtected` from `Forbidden`, `FolderNotFound` from `NotebookNotFound`, and `ChangedDuringRead`
from `Busy`. The message is for people, ``reason`` and ``details`` are for programs. None of them
ever contains an absolute path.

This module and `jupyter_nbedit.api` are public; all other modules are private.
"""

from __future__ import annotations

from typing import Any, ClassVar

__all__ = [
    "AmbiguousCell",
    "AmbiguousSection",
    "Busy",
    "CellChanged",
    "CellNotFound",
    "CellProtected",
    "ChangedDuringRead",
    "EditNotFound",
    "FileNotFound",
    "FolderNotFound",
    "Forbidden",
    "HashMismatch",
    "HistoryUnavailable",
    "IdempotencyMismatch",
    "InvalidNotebook",
    "InvalidOperation",
    "InvalidRequest",
    "ModesUnreadable",
    "NbEditError",
    "NoSpace",
    "NotAPlainFile",
    "NotebookExists",
    "NotebookNotFound",
    "NothingToUndo",
    "PlanMode",
    "ProposalClosed",
    "ProposalNotFound",
    "ReadRequired",
    "SectionNotFound",
    "StorageFailure",
    "TextMismatch",
    "TooLarge",
    "TooManyProposals",
    "ToolNotFound",
    "UndoConflict",
    "UnsupportedMediaType",
    "VersionUnknown",
]


class NbEditError(Exception):
    """The base of all errors. Nothing was written, unless ``details["applied"]`` is true.

    Parameters
    ----------
    message
        What was expected, what was found, and what to do.
    **details
        Facts for programs; JSON values only.

    Attributes
    ----------
    reason
        A word for programs, which never changes.
    """

    reason: ClassVar[str]

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.details = details


class InvalidRequest(NbEditError):
    """The request is wrong, whatever the notebook contains."""

    reason = "invalid_request"


class InvalidOperation(InvalidRequest):
    """One operation of a batch is wrong; ``details["operation"]`` is its index."""

    reason = "invalid_operation"


class TooLarge(NbEditError):
    """The request's body exceeds ``NbEditApp.max_request_bytes``."""

    reason = "too_large"


class UnsupportedMediaType(NbEditError):
    """The request's body is not labelled ``application/json``."""

    reason = "unsupported_media_type"


class Forbidden(NbEditError):
    """The user may not do this."""

    reason = "forbidden"


class PlanMode(Forbidden):
    """The server's mode is ``plan``, and the request is not a dry run."""

    reason = "plan_mode"


class CellProtected(Forbidden):
    """The cell's metadata has ``editable: false`` or ``deletable: false``."""

    reason = "cell_protected"


class NotebookNotFound(NbEditError):
    """There is no notebook at the path, or the user may not see it."""

    reason = "notebook_not_found"

    def __init__(self) -> None:
        # The same message for outside the root, hidden and missing: the reply must not tell which.
        super().__init__(
            "There is no notebook at this path. Expected a path relative to the server's "
            "root, as in the Contents API, of an existing file that ends in .ipynb."
        )


class FileNotFound(NbEditError):
    """There is no file at the path, or the user may not see it."""

    reason = "file_not_found"

    def __init__(self) -> None:
        # The same message for outside the root, hidden and missing, as for notebooks.
        super().__init__(
            "There is no file at this path. Expected the path of an existing file under the folder "
            "that this server serves; a new file goes into a folder that exists there."
        )


class FolderNotFound(NotebookNotFound):
    """There is no folder or notebook to search at the path, or the user may not see it."""

    def __init__(self) -> None:
        NbEditError.__init__(
            self,
            "There is nothing to search at this path. Expected a path relative to the server's "
            "root, as in the Contents API, of an existing folder or notebook; the root itself is "
            'the empty path, "".',
        )


class NotebookExists(NbEditError):
    """A file exists at the path of a notebook to be created."""

    reason = "notebook_exists"


class CellNotFound(NbEditError):
    """No cell has that id or index."""

    reason = "cell_not_found"


class AmbiguousCell(NbEditError):
    """Several cells have that id."""

    reason = "ambiguous_cell"


class SectionNotFound(NbEditError):
    """No heading has that text; ``details["outline"]`` lists the existing headings."""

    reason = "section_not_found"


class AmbiguousSection(NbEditError):
    """Several headings have that text."""

    reason = "ambiguous_section"


class TextMismatch(NbEditError):
    """The text to replace is missing, or occurs more than once."""

    reason = "text_mismatch"


class CellChanged(NbEditError):
    """A cell is not as a request (``expect``), or a proposal that is accepted, expects it."""

    reason = "cell_changed"


class UndoConflict(NbEditError):
    """The cells in ``details["cells"]`` were changed after the edit that is to be undone.

    ``details["metadata"]`` lists the names in the notebook's own metadata that were changed.
    """

    reason = "undo_conflict"


class HashMismatch(NbEditError):
    """The hash of the notebook is not the one in the request."""

    reason = "hash_mismatch"


class ReadRequired(NbEditError):
    """The session has not read the file that it is about to change."""

    reason = "read_required"


class VersionUnknown(NbEditError):
    """The server does not remember the version that ``since`` names."""

    reason = "version_unknown"


class IdempotencyMismatch(NbEditError):
    """The ``Idempotency-Key`` was sent before with another request."""

    reason = "idempotency_mismatch"


class ToolNotFound(NbEditError):
    """There is no such toolset, or no such tool in it."""

    reason = "tool_not_found"


class NotAPlainFile(NbEditError):
    """The notebook is not stored in a way that this package can write."""

    reason = "not_a_plain_file"


class InvalidNotebook(NbEditError):
    """The file's bytes are not a notebook of nbformat 4."""

    reason = "invalid_notebook"


class Busy(NbEditError):
    """Another program is writing the file; try again."""

    reason = "busy"


class ChangedDuringRead(Busy):
    """The notebook was changed while it was being read."""


class NoSpace(NbEditError):
    """There is no space left where the notebook is stored."""

    reason = "no_space"


class NothingToUndo(NbEditError):
    """No edit can be undone or redone."""

    reason = "nothing_to_undo"


class EditNotFound(NbEditError):
    """The history of the notebook does not have an edit with that number, or not any more."""

    reason = "edit_not_found"


class ProposalNotFound(NbEditError):
    """There is no proposal with that number, or the user may not see its notebook."""

    reason = "proposal_not_found"

    def __init__(self) -> None:
        # The same message for all cases, as for notebooks.
        super().__init__(
            "There is no proposal with this number. Expected one that GET /nbedit/proposals lists; "
            "those that were decided or have expired are forgotten after a time."
        )


class ProposalClosed(NbEditError):
    """The proposal, or a part of it, is decided already or has expired."""

    reason = "proposal_closed"


class TooManyProposals(NbEditError):
    """The server stores no more pending proposals."""

    reason = "too_many_proposals"


class HistoryUnavailable(NbEditError):
    """The database of the history and the proposals cannot be read or written."""

    reason = "history_unavailable"


class ModesUnreadable(NbEditError):
    """The modes of notebooks cannot be read or were lost, and no person has decided since."""

    reason = "modes_unreadable"


class StorageFailure(NbEditError):
    """The operating system failed; ``details["applied"]`` is whether the edit was written."""

    reason = "io_error"
