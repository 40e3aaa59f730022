"""Every verb of every route, as the application's own table and contracts have them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tornado.web import RequestHandler

from jupyter_nbedit.handlers import default_handlers
from jupyter_nbedit.handlers.contract import contract_of
from tests.handlers.refused import with_operation
from tests.support.http import JSON

_NOTEBOOK = "nbedit/notebooks/a.ipynb"
_ROOT = "~/"
#: What a request is about that does what it says, and what the same request is about in vain.
NAME, MISSING = "a.ipynb", "b.ipynb"


@dataclass(frozen=True)
class Row:
    """One verb of one route: an address of it, what is sent there, and the right it takes.

    Parameters
    ----------
    target
        The address, from the base URL on.
    action
        What it does to the contents.
    body
        What is sent; ``~/`` stands for the folder that the server serves.
    status
        Of the answer to who may do it, where all is as it should be.
    """

    target: str
    action: str
    body: bytes | None = None
    status: int = 200

    def sent(self, root: Path, name: str = NAME) -> tuple[str, bytes | None, dict[str, str]]:
        """Give target, body and headers of a request about a notebook of the root."""
        body = self.body
        if body is not None:
            body = body.replace(_ROOT.encode(), f"{root}/".encode()).replace(
                NAME.encode(), name.encode()
            )
        return self.target.replace(NAME, name), body, {} if body is None else JSON


def _edit(path: str, **more: Any) -> bytes:
    return json.dumps({"notebook_path": path, **more}).encode()


_CELLS = r"/nbedit/notebooks/(?P<path>.*\.ipynb)/cells"
_CELL = r"/nbedit/notebooks/(?P<path>.*\.ipynb)/cells/(?P<cell>[^/]+)(?<!\.ipynb)"
_UNDO = r"/nbedit/notebooks/(?P<path>.*\.ipynb)/undo"
_REDO = r"/nbedit/notebooks/(?P<path>.*\.ipynb)/redo"
_PROPOSAL = r"/nbedit/proposals/(?P<proposal_id>[0-9]+)"
_HISTORY = r"/nbedit/notebooks/(?P<path>.*\.ipynb)/history"
_EDIT = r"/nbedit/notebooks/(?P<path>.*\.ipynb)/history/(?P<edit_id>[^/]+)(?<!\.ipynb)"
_NEW = {"cell_id": "alpha", "new_source": "changed"}
#: A route or verb that is not here, or a tool, fails a test.
ROWS = {
    (r"/nbedit/?", "GET"): Row("nbedit", "read"),
    (r"/nbedit/openapi\.json", "GET"): Row("nbedit/openapi.json", "read"),
    (r"/nbedit/notebooks/(?P<path>.*)", "GET"): Row(_NOTEBOOK, "read"),
    (r"/nbedit/notebooks/(?P<path>.*)", "PATCH"): Row(
        _NOTEBOOK, "write", with_operation(op="replace", cell="alpha", source="changed")
    ),
    (r"/nbedit/notebooks/(?P<path>.*)", "PUT"): Row(
        "nbedit/notebooks/new.ipynb", "write", b'{"dry_run": true}'
    ),
    (_CELLS, "POST"): Row(
        f"{_NOTEBOOK}/cells",
        "write",
        b'{"cell_type": "code", "source": "x", "at": "end", "dry_run": true}',
    ),
    (_CELL, "GET"): Row(f"{_NOTEBOOK}/cells/alpha", "read"),
    (_CELL, "PATCH"): Row(f"{_NOTEBOOK}/cells/alpha", "write", b'{"source": "changed"}'),
    (_CELL, "DELETE"): Row(f"{_NOTEBOOK}/cells/gamma", "write"),
    # The only edit there is has made the notebook; that is said behind the gate.
    (_UNDO, "POST"): Row(f"{_NOTEBOOK}/undo", "write", b"{}", 409),
    (_REDO, "POST"): Row(f"{_NOTEBOOK}/redo", "write", b"{}", 409),
    (r"/nbedit/mode", "GET"): Row("nbedit/mode", "read"),
    (r"/nbedit/mode", "PUT"): Row("nbedit/mode", "write", b'{"mode": "edit", "path": "a.ipynb"}'),
    (r"/nbedit/proposals", "GET"): Row("nbedit/proposals", "read"),
    # There is none; 404 is the route's own word, said behind the gate.
    (_PROPOSAL, "GET"): Row("nbedit/proposals/1", "read", status=404),
    (f"{_PROPOSAL}/accept", "POST"): Row("nbedit/proposals/1/accept", "write", b"{}", 404),
    (f"{_PROPOSAL}/reject", "POST"): Row("nbedit/proposals/1/reject", "write", b"{}", 404),
    (_HISTORY, "GET"): Row(f"{_NOTEBOOK}/history", "read"),
    # A number that no edit has: what is there is said behind the gate.
    (_EDIT, "GET"): Row(f"{_NOTEBOOK}/history/999999", "read", status=404),
    (_HISTORY, "DELETE"): Row(f"{_NOTEBOOK}/history", "write"),
    (r"/nbedit/history", "GET"): Row("nbedit/history", "read"),
    (r"/nbedit/search", "POST"): Row("nbedit/search", "read", b'{"query": "x"}'),
    # Behind the gate a request that is no WebSocket's is told so.
    (r"/nbedit/tabs", "GET"): Row("nbedit/tabs", "read", status=400),
    (r"/nbedit/tools", "GET"): Row("nbedit/tools", "read"),
    ("/nbedit/tools/nexo/NotebookEdit", "POST"): Row(
        "nbedit/tools/nexo/NotebookEdit", "write", _edit("~/a.ipynb", **_NEW)
    ),
    ("/nbedit/tools/mycode/NotebookEdit", "POST"): Row(
        "nbedit/tools/mycode/NotebookEdit", "write", _edit("a.ipynb", **_NEW)
    ),
    ("/nbedit/tools/omp/notebook", "POST"): Row(
        "nbedit/tools/omp/notebook", "write", _edit("a.ipynb", action="delete", cell_index=0)
    ),
    ("/nbedit/tools/sections/notebook_edit", "POST"): Row(
        "nbedit/tools/sections/notebook_edit",
        "write",
        b'{"file": "a.ipynb", "action": "read", "section": "Title"}',
    ),
    # A tool that only reads is called like all others: with POST, which takes the right to write.
    ("/nbedit/tools/claude_code/Read", "POST"): Row(
        "nbedit/tools/claude_code/Read", "write", b'{"file_path": "~/a.ipynb"}'
    ),
    ("/nbedit/tools/claude_code/Write", "POST"): Row(
        "nbedit/tools/claude_code/Write", "write", b'{"file_path": "~/a.md", "content": "x"}'
    ),
    # Of the two that ask for reading first, the one has been read by the row of `Read`. Nobody has
    # read the other: 428 is the tool's own word, said behind the gate.
    ("/nbedit/tools/claude_code/Edit", "POST"): Row(
        "nbedit/tools/claude_code/Edit",
        "write",
        b'{"file_path": "~/a.txt", "old_string": "as is", "new_string": "changed"}',
        428,
    ),
    ("/nbedit/tools/claude_code/NotebookEdit", "POST"): Row(
        "nbedit/tools/claude_code/NotebookEdit", "write", _edit("~/a.ipynb", **_NEW)
    ),
}


def verbs(handler: type[RequestHandler]) -> Iterator[str]:
    """List the verbs of a handler, but for OPTIONS, which only tells a browser what it may ask."""
    for verb in RequestHandler.SUPPORTED_METHODS:
        method = getattr(handler, verb.lower())
        if verb != "OPTIONS" and method is not RequestHandler._unimplemented_method:
            yield verb


def mounted() -> Iterator[tuple[str, str]]:
    """List what there is: for each route its verbs, and for the tools' route each tool."""
    for pattern, handler in default_handlers:
        for verb in verbs(handler):
            contract = contract_of(getattr(handler, verb.lower()))
            for address in (contract.addresses if contract else {}) or [None]:
                yield (pattern if address is None else f"/nbedit/tools/{address}"), verb


def is_row_of(pattern: str, row: Row) -> bool:
    """Tell whether a row's address is one of its route's."""
    return re.fullmatch(pattern, f"/{row.target}") is not None
