"""The requests of the REST API that a `Client` sends, as values; and replies.

Each function returns the request for what its docstring says; `Client` has a method of its name,
which sends the request.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

#: A value of a query; lists are repeated, None is left out.
QueryValue = str | int | bool | Sequence[str] | None


@dataclass(frozen=True)
class Request:
    """A request, without what is particular to HTTP.

    ``parts`` are the parts of the address below ``/nbedit``; the API path of a notebook is one
    part, with its slashes. Names in the query and the body are the names of the REST API.
    """

    method: str
    parts: tuple[str, ...]
    query: Mapping[str, QueryValue] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None

    @property
    def has_author(self) -> bool:
        """Whether the request states its client: if it is a change, or a dry run of a change."""
        is_reading = self.method == "GET" or self.parts[-1] in {"search", "keep"}
        return not is_reading


@dataclass(frozen=True)
class Reply:
    """A reply that is no error: ``status`` is 200, 201 or 202, as in the REST API."""

    status: int
    body: bytes
    #: The content type is ``text/plain``, else JSON.
    is_text: bool

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode("utf-8", "replace")

    @property
    def is_proposal(self) -> bool:
        """Whether the change was proposed, and is not made."""
        return self.status == 202  # noqa: PLR2004 -- HTTP's Accepted

    def decode(self) -> Any:
        """Return the decoded JSON."""
        return json.loads(self.body)


def describe_server() -> Request:
    """Get version, mode and limits of the server."""
    return Request("GET", ())


def read(path: str, **query: QueryValue) -> Request:
    """Read a notebook.

    The query is that of ``GET /nbedit/notebooks/{path}``: ``cell``, ``section``, ``start``,
    ``limit``, ``view``, ``outputs``, ``max_chars``, ``since``, ``rev``.
    """
    return Request("GET", ("notebooks", path), query)


def edit(path: str, operations: Sequence[Mapping[str, Any]], **body: Any) -> Request:
    """Apply a batch of operations; ``body`` is all but these, and ``wait_tabs`` of the query."""
    return _build("PATCH", "notebooks", path, operations=list(operations), **body)


def create(path: str, cells: Sequence[Mapping[str, Any]] = (), **body: Any) -> Request:
    """Create a notebook; ``body`` is all but the cells."""
    return _build("PUT", "notebooks", path, cells=list(cells), **body)


def search(**body: Any) -> Request:
    """Search notebooks; ``body`` is the body of ``POST /nbedit/search``."""
    return _build("POST", "search", **body)


def list_edits(path: str, **query: QueryValue) -> Request:
    """Get a page of the history of a notebook: ``limit``, ``before``."""
    return Request("GET", ("notebooks", path, "history"), query)


def read_edit(path: str, edit_id: int) -> Request:
    """Get one edit, cell by cell."""
    return Request("GET", ("notebooks", path, "history", str(edit_id)))


def undo(path: str, edit_id: int | None = None, **body: Any) -> Request:
    """Undo an edit, by default the newest."""
    return _build("POST", "notebooks", path, "undo", edit_id=edit_id, **body)


def redo(path: str, edit_id: int | None = None, **body: Any) -> Request:
    """Redo an edit, by default the one that was undone last."""
    return _build("POST", "notebooks", path, "redo", edit_id=edit_id, **body)


def undo_cells(path: str, keys: Sequence[str], **body: Any) -> Request:
    """Undo the changes of cells, across edits; `get_unseen` has their keys.

    ``until`` is the newest edit that the caller knows.
    """
    return _build("POST", "notebooks", path, "undo", cells=[*keys], **body)


def restore(path: str, edit_id: int, **body: Any) -> Request:
    """Return a notebook to what it was after an edit."""
    return _build("POST", "notebooks", path, "restore", edit_id=edit_id, **body)


def get_unseen(path: str) -> Request:
    """Get the changes of a notebook that the user has not kept."""
    return Request("GET", ("notebooks", path, "unseen"))


def list_unseen_notebooks() -> Request:
    """List the notebooks with edits that the user has not kept."""
    return Request("GET", ("unseen",))


def keep(path: str, keys: Sequence[str] | None = None, *, until: int | None = None) -> Request:
    """Keep changes, all without ``keys``, but no edits after ``until``; get what is left."""
    cells = None if keys is None else [*keys]
    return _build("POST", "notebooks", path, "keep", cells=cells, until=until)


def list_proposals(path: str | None = None, **query: QueryValue) -> Request:
    """Get the proposals of a notebook or of all: ``status``, ``limit``."""
    return Request("GET", ("proposals",), {"path": path, **query})


def read_proposal(proposal_id: int, *, wait: float = 0) -> Request:
    """Get a proposal, after waiting up to ``wait`` seconds for a decision."""
    return Request("GET", ("proposals", str(proposal_id)), {"wait": str(wait)} if wait else {})


def accept_proposal(proposal_id: int, **body: Any) -> Request:
    """Accept a proposal: ``parts``, ``merge``, ``sources``, ..."""
    return _build("POST", "proposals", str(proposal_id), "accept", **body)


def reject_proposal(proposal_id: int, **body: Any) -> Request:
    """Reject a proposal: ``parts``, ``reason``."""
    return _build("POST", "proposals", str(proposal_id), "reject", **body)


def reopen_proposal(proposal_id: int, **body: Any) -> Request:
    """Make rejected ``parts`` of a proposal pending again."""
    return _build("POST", "proposals", str(proposal_id), "reopen", **body)


def read_mode(path: str | None = None) -> Request:
    """Get the mode of a notebook or of the server."""
    return Request("GET", ("mode",), {"path": path})


def _build(method: str, *parts: str, wait_tabs: int = 0, **body: Any) -> Request:
    """Return a request with a body, without what is None."""
    query = {"wait_tabs": wait_tabs} if wait_tabs else {}
    content = {name: value for name, value in body.items() if value is not None}
    return Request(method, parts, query, content)
