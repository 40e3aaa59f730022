"""The requests of the REST API that a `Client` sends, as values; and replies."""

from __future__ import annotations

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
    part, with its slashes. Names of the query and the body are those of the REST API.
    """

    method: str
    parts: tuple[str, ...]
    query: Mapping[str, QueryValue] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None

    @property
    def is_change(self) -> bool:
        """Whether the request may change a notebook."""
        is_dry_run = self.body is not None and self.body.get("dry_run", False)
        return self.has_author and not is_dry_run

    @property
    def has_author(self) -> bool:
        """Whether the request states its client: if it is a change, or a dry run of one."""
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
    """Return the request for version, mode and limits."""
    return Request("GET", ())


def read(path: str, **query: QueryValue) -> Request:
    """Return the request to read a notebook.

    The query is that of ``GET /nbedit/notebooks/{path}``: ``cell``, ``section``, ``start``,
    ``limit``, ``view``, ``outputs``, ``max_chars``, ``since``, ``rev``.
    """
    return Request("GET", ("notebooks", path), query)


def edit(
    path: str, operations: Sequence[Mapping[str, Any]], *, wait_tabs: int = 0, **body: Any
) -> Request:
    """Return the request to apply a batch; ``body`` is all but the operations."""
    query: dict[str, QueryValue] = {"wait_tabs": wait_tabs} if wait_tabs else {}
    content = {"operations": list(operations), **_leave_out_none(body)}
    return Request("PATCH", ("notebooks", path), query, content)


def create(path: str, cells: Sequence[Mapping[str, Any]] = (), **body: Any) -> Request:
    """Return the request to create a notebook; ``body`` is all but the cells."""
    return Request("PUT", ("notebooks", path), body={"cells": list(cells), **_leave_out_none(body)})


def search(**body: Any) -> Request:
    """Return the request to search; ``body`` is that of ``POST /nbedit/search``."""
    return Request("POST", ("search",), body=_leave_out_none(body))


def list_edits(path: str, **query: QueryValue) -> Request:
    """Return the request for a page of the history of a notebook: ``limit``, ``before``."""
    return Request("GET", ("notebooks", path, "history"), query)


def read_edit(path: str, edit_id: int) -> Request:
    """Return the request for one edit, cell by cell."""
    return Request("GET", ("notebooks", path, "history", str(edit_id)))


def undo(path: str, edit_id: int | None = None, *, wait_tabs: int = 0, **body: Any) -> Request:
    """Return the request to undo an edit, by default the newest."""
    return _build_undo("undo", path, edit_id, wait_tabs, body)


def redo(path: str, edit_id: int | None = None, *, wait_tabs: int = 0, **body: Any) -> Request:
    """Return the request to redo an edit, by default the one that was undone last."""
    return _build_undo("redo", path, edit_id, wait_tabs, body)


def _build_undo(
    verb: str, path: str, edit_id: int | None, wait_tabs: int, body: Mapping[str, Any]
) -> Request:
    query: dict[str, QueryValue] = {"wait_tabs": wait_tabs} if wait_tabs else {}
    content = _leave_out_none({"edit_id": edit_id, **body})
    return Request("POST", ("notebooks", path, verb), query, content)


def undo_cells(
    path: str,
    keys: Sequence[str],
    *,
    until: int | None = None,
    wait_tabs: int = 0,
    **body: Any,
) -> Request:
    """Return the request to undo the changes of cells, which `read_unseen` lists with their keys.

    ``until`` is the newest edit that the caller knows.
    """
    return _build_undo("undo", path, None, wait_tabs, {"cells": [*keys], "until": until, **body})


def restore(path: str, edit_id: int, *, wait_tabs: int = 0, **body: Any) -> Request:
    """Return the request to return a notebook to what it was after an edit."""
    return _build_undo("restore", path, edit_id, wait_tabs, body)


def read_unseen(path: str) -> Request:
    """Return the request for the changes of a notebook that the user has not kept."""
    return Request("GET", ("notebooks", path, "unseen"))


def list_unseen_notebooks() -> Request:
    """Return the request for the notebooks with edits that the user has not kept."""
    return Request("GET", ("unseen",))


def keep(path: str, keys: Sequence[str] | None = None, *, until: int | None = None) -> Request:
    """Return the request to keep changes, all without ``keys``, but no edits after ``until``."""
    cells = None if keys is None else [*keys]
    content = _leave_out_none({"cells": cells, "until": until})
    return Request("POST", ("notebooks", path, "keep"), body=content)


def read_proposal(proposal_id: int, *, wait: float = 0) -> Request:
    """Return the request for a proposal, after waiting up to ``wait`` seconds for a decision."""
    query: dict[str, QueryValue] = {"wait": str(wait)} if wait else {}
    return Request("GET", ("proposals", str(proposal_id)), query)


def accept_proposal(proposal_id: int, *, wait_tabs: int = 0, **body: Any) -> Request:
    """Return the request to accept a proposal: ``parts``, ``merge``, ``sources``, ..."""
    query: dict[str, QueryValue] = {"wait_tabs": wait_tabs} if wait_tabs else {}
    parts = ("proposals", str(proposal_id), "accept")
    return Request("POST", parts, query, _leave_out_none(body))


def reject_proposal(proposal_id: int, **body: Any) -> Request:
    """Return the request to reject a proposal: ``parts``, ``reason``."""
    return Request("POST", ("proposals", str(proposal_id), "reject"), body=_leave_out_none(body))


def reopen_proposal(proposal_id: int, **body: Any) -> Request:
    """Return the request to make rejected ``parts`` of a proposal pending again."""
    return Request("POST", ("proposals", str(proposal_id), "reopen"), body=_leave_out_none(body))


def list_proposals(path: str | None = None, **query: QueryValue) -> Request:
    """Return the request for the proposals of a notebook or of all: ``status``, ``limit``."""
    return Request("GET", ("proposals",), {"path": path, **query})


def read_mode(path: str | None = None) -> Request:
    """Return the request for the mode of a notebook or of the server."""
    return Request("GET", ("mode",), {"path": path})


def _leave_out_none(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
