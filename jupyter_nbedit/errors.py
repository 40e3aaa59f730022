"""All errors of this package; `jupyter_nbedit.handlers.errors` has their HTTP statuses.

None of them ever contains an absolute path. Those in one line only have their base in common::

    NbEditError
      InvalidRequest
        InvalidOperation
      TooLarge UnsupportedMediaType IdempotencyMismatch
      Forbidden
        PlanMode CellProtected
      NotebookNotFound
        FolderNotFound
      FileNotFound CellNotFound SectionNotFound ToolNotFound
      EditNotFound ChangeNotFound ProposalNotFound
      AmbiguousCell AmbiguousSection TextMismatch CellChanged
      HashMismatch ReadRequired VersionUnknown PageUnknown
      NotebookExists NotAPlainFile InvalidNotebook
      UndoConflict NothingToUndo ProposalClosed TooManyProposals
      Busy
        ChangedDuringRead
      NoSpace HistoryUnavailable ModesUnreadable StorageFailure

This module, `jupyter_nbedit.api` and `jupyter_nbedit.client` are public; all others are private.
"""

from typing import Any, ClassVar


class NbEditError(Exception):
    """The base of all errors. Nothing was written, unless ``details["applied"]`` is true.

    ``message`` says what was expected, what was found and what to do. ``reason`` is a word for
    programs, which never changes; ``details`` are facts for programs, JSON values only.
    """

    reason: ClassVar[str]
    #: The message of an error that is raised without one. Few classes have it.
    default_message: ClassVar[str] = ""

    def __init_subclass__(cls, *, reason: str = "") -> None:
        """Set the reason; a class without a reason has the reason of its base."""
        super().__init_subclass__()
        if reason:
            cls.reason = reason

    def __init__(self, message: str = "", **details: Any) -> None:
        self.message = message or self.default_message
        super().__init__(self.message)
        self.details = details


class InvalidRequest(NbEditError, reason="invalid_request"):
    """The request is wrong, whatever the notebook contains."""


class InvalidOperation(InvalidRequest, reason="invalid_operation"):
    """One operation of a batch is wrong; ``details["operation"]`` is its index."""


class TooLarge(NbEditError, reason="too_large"):
    """The request's body exceeds ``NbEditApp.max_request_bytes`` or another limit of the server."""


class UnsupportedMediaType(NbEditError, reason="unsupported_media_type"):
    """The request's body is not labelled ``application/json``."""


class Forbidden(NbEditError, reason="forbidden"):
    """The user may not do this."""


class PlanMode(Forbidden, reason="plan_mode"):
    """The server's mode is ``plan``, and the request is not a dry run."""


class CellProtected(Forbidden, reason="cell_protected"):
    """The cell's metadata has ``editable: false`` or ``deletable: false``."""


class NotebookNotFound(NbEditError, reason="notebook_not_found"):
    """There is no notebook at the path, or the user may not see it."""

    # The same message for outside the root, hidden and missing: the reply must not tell which.
    default_message = (
        "There is no notebook at this path. Expected a path relative to the server's root, as in "
        "the Contents API, of an existing file that ends in .ipynb. To create a notebook, its "
        "folder must exist; hidden files and folders, whose names begin with a dot, are not shown."
    )


class FileNotFound(NbEditError, reason="file_not_found"):
    """There is no file at the path, or the user may not see it."""

    # The same message for outside the root, hidden and missing, as for notebooks.
    default_message = (
        "There is no file at this path. Expected the path of an existing file under the folder "
        "that this server serves. To create a file, its folder must exist."
    )


class FolderNotFound(NotebookNotFound):
    """There is no folder or notebook to search at the path, or the user may not see it."""

    default_message = (
        "There is nothing to search at this path. Expected a path relative to the server's root, "
        "as in the Contents API, of an existing folder or notebook; the root itself is the empty "
        'path, "".'
    )


class NotebookExists(NbEditError, reason="notebook_exists"):
    """A file exists at the path of a notebook to be created."""

    default_message = (
        "Something exists at this path already, and it is never overwritten. Choose another "
        "path, or edit the notebook with PATCH."
    )


class CellNotFound(NbEditError, reason="cell_not_found"):
    """No cell has that id or index."""


class AmbiguousCell(NbEditError, reason="ambiguous_cell"):
    """Several cells have that id, or match that guarded name."""


class SectionNotFound(NbEditError, reason="section_not_found"):
    """No heading has that text; ``details["outline"]`` lists the existing headings."""


class AmbiguousSection(NbEditError, reason="ambiguous_section"):
    """Several headings have that text."""


class TextMismatch(NbEditError, reason="text_mismatch"):
    """The text to replace is missing, or occurs more than once."""


class CellChanged(NbEditError, reason="cell_changed"):
    """A cell is not as a request (``expect``, guarded name) or a proposal expects it."""


class UndoConflict(NbEditError, reason="undo_conflict"):
    """The cells in ``details["cells"]`` were changed after the edit that is to be undone.

    ``details["metadata"]`` lists the names in the notebook's own metadata that were changed.
    """


class PageUnknown(NbEditError, reason="page_unknown"):
    """The server does not know the page that the request names, so nothing was done."""

    default_message = (
        "The server does not know the page that `X-NbEdit-Page` names, or another user opened it. "
        "Nothing was changed. Open a new connection to `nbedit/tabs`, and repeat the request with "
        "the id that it sends."
    )


class HashMismatch(NbEditError, reason="hash_mismatch"):
    """The hash of the notebook is not the one in the request."""


class ReadRequired(NbEditError, reason="read_required"):
    """The session has not read the file that it is about to change."""


class VersionUnknown(NbEditError, reason="version_unknown"):
    """The server does not remember the version that ``since`` names, or several begin with it."""


class IdempotencyMismatch(NbEditError, reason="idempotency_mismatch"):
    """The ``Idempotency-Key`` was sent before with another request."""


class ToolNotFound(NbEditError, reason="tool_not_found"):
    """There is no such toolset, or no such tool in it."""


class NotAPlainFile(NbEditError, reason="not_a_plain_file"):
    """The notebook is not stored in a way that this package can write."""


class InvalidNotebook(NbEditError, reason="invalid_notebook"):
    """The file's bytes are not a notebook of nbformat 4."""


class Busy(NbEditError, reason="busy"):
    """Another program is writing the file; try again."""


class ChangedDuringRead(Busy):
    """The notebook was changed while it was being read."""


class NoSpace(NbEditError, reason="no_space"):
    """There is no space left where the notebook is stored."""


class NothingToUndo(NbEditError, reason="nothing_to_undo"):
    """No edit can be undone or redone."""


class EditNotFound(NbEditError, reason="edit_not_found"):
    """The history of the notebook does not have an edit with that number, or not any more."""


class ChangeNotFound(NbEditError, reason="change_not_found"):
    """No change that the user has not kept has that key; ``details["keys"]`` lists all keys."""


class ProposalNotFound(NbEditError, reason="proposal_not_found"):
    """There is no proposal with that number, or the user may not see its notebook."""

    # The same message for all cases, as for notebooks.
    default_message = (
        "There is no proposal with this number. Expected one that GET /nbedit/proposals lists; "
        "decided and expired proposals are deleted after some time."
    )


class ProposalClosed(NbEditError, reason="proposal_closed"):
    """The proposal, or a part of it, is decided already or has expired."""


class TooManyProposals(NbEditError, reason="too_many_proposals"):
    """The server stores no more pending proposals."""


class HistoryUnavailable(NbEditError, reason="history_unavailable"):
    """The database of the history and the proposals cannot be read or written."""


class ModesUnreadable(NbEditError, reason="modes_unreadable"):
    """The modes of notebooks cannot be read or were lost, and no person has decided since."""


class StorageFailure(NbEditError, reason="io_error"):
    """The operating system failed; ``details["applied"]`` is whether the edit was written."""
