"""Every refusal there is, as a tree.

::

    NbEditError
    ├── InvalidRequest              the request says something that cannot be done anywhere
    │   └── InvalidOperation        ... and one operation of it is to blame
    ├── TooLarge                    the request is larger than this server takes
    ├── UnsupportedMediaType        the request is not JSON by its own label
    ├── Forbidden                   the user may not do this
    │   ├── PlanMode                the server is set to change nothing
    │   └── CellProtected           the cell's own metadata says no
    ├── NotebookNotFound            outside the root, hidden and missing look the same
    │   └── FolderNotFound          ... for a folder to search, too
    ├── FileNotFound                the same for a file that is no notebook
    ├── NotebookExists              nothing is ever overwritten by creating it
    ├── CellNotFound                no cell answers to that address
    ├── AmbiguousCell               more than one cell does
    ├── SectionNotFound             no heading says that
    ├── AmbiguousSection            more than one heading does
    ├── TextMismatch                the text to act on is not there, or not once
    ├── CellChanged                 a guard names a cell that reads differently by now
    ├── UndoConflict                what is to be taken back has been changed since
    ├── HashMismatch                the notebook is not the version the request was made for
    ├── ReadRequired                the editor has not read what it wants to change
    ├── VersionUnknown              nobody remembers the version the reader has
    ├── IdempotencyMismatch         the key of this request was another request's
    ├── ToolNotFound                no tool has that name
    ├── NotAPlainFile               the notebook is stored in a way that is not written here
    ├── InvalidNotebook             the file is not a notebook that can be edited
    ├── Busy                        somebody else is writing; trying again helps
    ├── NoSpace                     the disk is full
    ├── NothingToUndo               there is no edit that could be taken back, or made again
    ├── EditNotFound                the history has no such edit of the notebook
    ├── ProposalNotFound            there is no such proposal, or none that may be seen
    ├── ProposalClosed              the proposal was decided already, or has expired
    ├── TooManyProposals            a person has to decide on others first
    ├── HistoryUnavailable                 the history cannot be read or written now
    ├── ModesUnreadable             nobody knows whether the notebook is paused or needs a review
    └── StorageFailure              the operating system failed; ``applied`` says what is on disk

An error knows no HTTP: which status it becomes is the handlers' business. Its message is a sentence
that says what was expected, what was found and what to do. Its ``details`` are facts for programs.
Neither ever holds an absolute path.
"""

from __future__ import annotations

from typing import Any, ClassVar


class NbEditError(Exception):
    """A refusal: nothing was written, unless the details say ``applied: true``.

    Parameters
    ----------
    message
        What was expected, what was found, and what to do about it.
    **details
        Facts a program can act on; JSON values only.
    """

    reason: ClassVar[str]

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.details = details


class InvalidRequest(NbEditError):
    """The request itself is wrong, whatever the notebook holds."""

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
    """There is no such notebook, or none that may be seen."""

    reason = "notebook_not_found"

    def __init__(self) -> None:
        # One body for outside, hidden and missing: the answer must not tell which.
        super().__init__(
            "There is no notebook at this path. Expected a path relative to the server's "
            "root, as in the Contents API, of an existing file that ends in .ipynb."
        )


class FileNotFound(NbEditError):
    """There is no such file that is no notebook, or none that may be seen."""

    reason = "file_not_found"

    def __init__(self) -> None:
        # As of notebooks: the answer must not tell outside, hidden and missing apart.
        super().__init__(
            "There is no file at this path. Expected the path of an existing file under the folder "
            "that this server serves; a new file goes into a folder that exists there."
        )


class FolderNotFound(NotebookNotFound):
    """There is no such folder or notebook to search, or none that may be seen."""

    def __init__(self) -> None:
        NbEditError.__init__(
            self,
            "There is nothing to search at this path. Expected a path relative to the server's "
            "root, as in the Contents API, of an existing folder or notebook; the root itself is "
            'the empty path, "".',
        )


class NotebookExists(NbEditError):
    """There is something at the path where a notebook is to be created."""

    reason = "notebook_exists"


class CellNotFound(NbEditError):
    """No cell has that id or index."""

    reason = "cell_not_found"


class AmbiguousCell(NbEditError):
    """Several cells have that id."""

    reason = "ambiguous_cell"


class SectionNotFound(NbEditError):
    """No heading has that text; ``details["outline"]`` lists the headings there are."""

    reason = "section_not_found"


class AmbiguousSection(NbEditError):
    """Several headings have that text."""

    reason = "ambiguous_section"


class TextMismatch(NbEditError):
    """The text to act on is absent, or stands there more often than once."""

    reason = "text_mismatch"


class CellChanged(NbEditError):
    """The cell's source is not the one the guard expects."""

    reason = "cell_changed"


class UndoConflict(NbEditError):
    """What is to be taken back was changed since; ``details["cells"]`` says where, and how.

    ``details["metadata"]`` are the names in the notebook's own metadata of which this is so.
    """

    reason = "undo_conflict"


class HashMismatch(NbEditError):
    """The notebook's hash is not the one the request was made for."""

    reason = "hash_mismatch"


class ReadRequired(NbEditError):
    """The session has not read the file it wants to change."""

    reason = "read_required"


class VersionUnknown(NbEditError):
    """The version that ``since`` names is none this server remembers."""

    reason = "version_unknown"


class IdempotencyMismatch(NbEditError):
    """The ``Idempotency-Key`` was sent before, with another request."""

    reason = "idempotency_mismatch"


class ToolNotFound(NbEditError):
    """There is no such dialect, or no such tool in it."""

    reason = "tool_not_found"


class NotAPlainFile(NbEditError):
    """The notebook is not kept in a plain file that can be replaced as a whole."""

    reason = "not_a_plain_file"


class InvalidNotebook(NbEditError):
    """The file's bytes are not a notebook of nbformat 4."""

    reason = "invalid_notebook"


class Busy(NbEditError):
    """Another writer is at work on the same file."""

    reason = "busy"


class ChangedDuringRead(Busy):
    """Somebody wrote the notebook while it was being read."""


class NoSpace(NbEditError):
    """There is no space left where the notebook is stored."""

    reason = "no_space"


class NothingToUndo(NbEditError):
    """There is no edit that could be taken back, or made again."""

    reason = "nothing_to_undo"


class EditNotFound(NbEditError):
    """The history of a notebook has no edit with that number, or has it no longer."""

    reason = "edit_not_found"


class ProposalNotFound(NbEditError):
    """There is no proposal with that number, or none for a notebook that may be seen."""

    reason = "proposal_not_found"

    def __init__(self) -> None:
        # One body for all, as of notebooks.
        super().__init__(
            "There is no proposal with this number. Expected one that GET /nbedit/proposals lists; "
            "those that were decided or have expired are forgotten after a time."
        )


class ProposalClosed(NbEditError):
    """The proposal, or a part of it that is to be decided, was decided already or has expired."""

    reason = "proposal_closed"


class TooManyProposals(NbEditError):
    """So many proposals wait for a decision that no more are kept."""

    reason = "too_many_proposals"


class HistoryUnavailable(NbEditError):
    """The file that keeps the history of edits is locked, full, or not to be read or written."""

    reason = "history_unavailable"


class ModesUnreadable(NbEditError):
    """The notebooks' own modes cannot be read, or were lost, and no person has decided since."""

    reason = "modes_unreadable"


class StorageFailure(NbEditError):
    """The operating system failed; ``details["applied"]`` says whether the edit is in."""

    reason = "io_error"
