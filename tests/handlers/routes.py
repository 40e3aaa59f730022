"""Every verb of every route, from the route table and the OpenAPI specifications."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tornado.web import RequestHandler

from jupyter_nbedit.agents.tools import TOOLS
from jupyter_nbedit.handlers import default_handlers
from jupyter_nbedit.handlers.openapi import DocumentedOperation, list_operations
from tests.handlers.error_checks import build_body
from tests.handlers.mcp_messages import build_call
from tests.handlers.tool_inputs import INPUTS
from tests.support import samples
from tests.support.http import JSON

#: The notebook of a successful request, and a missing one.
NAME, MISSING = "a.ipynb", "b.ipynb"
#: No test edits it.
UNEDITED = "unedited.ipynb"


@dataclass(frozen=True)
class RouteRow:
    """One verb of one route: an address, its action on contents, a body, and the status.

    In the body ``~`` is the root folder; the status is that of an authorized request.
    """

    target: str
    action: str
    body: bytes | None = None
    status: int = 200

    def build_request(
        self, root: Path, name: str = NAME
    ) -> tuple[str, bytes | None, dict[str, str]]:
        """Return target, body and headers of a request about a notebook of the root."""
        body = self.body
        if body is not None:
            body = body.replace(b"~", f"{root}/".encode()).replace(NAME.encode(), name.encode())
        return self.target.replace(NAME, name), body, {} if body is None else JSON


def write_files(root: Path) -> None:
    """Put the files into the root that the rows are about."""
    for name in (NAME, UNEDITED):
        (root / name).write_bytes(samples.three_cells())
    (root / "a.txt").write_text("as is")
    for name in ("a.md", "new.ipynb"):
        (root / name).unlink(missing_ok=True)


@dataclass(frozen=True)
class RowOverrides:
    """Parts of a row that do not follow from its route; as in `Row`."""

    body: bytes | None = None
    status: int = 200
    action: str = ""
    target: str = ""


_DRY = b'{"dry_run": true}'
_CELL = b'{"cell_type": "code", "source": "x", "at": "end", "dry_run": true}'
_EDIT = build_body(op="replace", cell="alpha", source="changed")
#: By verb and address. A verb that takes a body and is not here fails a test.
OVERRIDES = {
    "PATCH /nbedit/notebooks/{path}": RowOverrides(_EDIT),
    "PUT /nbedit/notebooks/{path}": RowOverrides(_DRY, target="nbedit/notebooks/new.ipynb"),
    "POST /nbedit/notebooks/{path}/cells": RowOverrides(_CELL),
    "PATCH /nbedit/notebooks/{path}/cells/{cell}": RowOverrides(b'{"source": "changed"}'),
    # There is nothing to undo; 409 comes after authorization.
    "POST /nbedit/notebooks/{path}/undo": RowOverrides(
        b"{}", 409, target=f"nbedit/notebooks/{UNEDITED}/undo"
    ),
    "POST /nbedit/notebooks/{path}/redo": RowOverrides(
        b"{}", 409, target=f"nbedit/notebooks/{UNEDITED}/redo"
    ),
    "POST /nbedit/notebooks/{path}/keep": RowOverrides(b"{}", action="read"),
    "POST /nbedit/notebooks/{path}/restore": RowOverrides(b'{"edit_id": 999999}', 404),
    # No edit and no proposal has the number: 404 is the route's own reply, after authorization.
    "GET /nbedit/notebooks/{path}/history/{edit_id}": RowOverrides(status=404),
    "GET /nbedit/proposals/{proposal_id}": RowOverrides(status=404),
    "POST /nbedit/proposals/{proposal_id}/accept": RowOverrides(b"{}", 404),
    "POST /nbedit/proposals/{proposal_id}/reject": RowOverrides(b"{}", 404),
    "POST /nbedit/proposals/{proposal_id}/reopen": RowOverrides(b"{}", 404),
    "PUT /nbedit/mode": RowOverrides(b'{"mode": "edit", "path": "a.ipynb"}'),
    "POST /nbedit/search": RowOverrides(b'{"query": "x"}', action="read"),
    "POST /nbedit/mcp": RowOverrides(
        json.dumps(build_call("notebook_read", path=NAME)).encode(), action="read"
    ),
    # After authorization a request that is no WebSocket's gets 400.
    "GET /nbedit/tabs": RowOverrides(status=400),
}
_PARAMETERS = {"path": NAME, "cell": "alpha", "edit_id": "999999", "proposal_id": "999999"}
# Of the two tools that ask for reading first, `NotebookEdit` is about what the row of `Read` has
# read. Nobody has read the text: 428 is the own answer of `Edit`, said behind the gate.
_TOOLS: dict[str, tuple[dict[str, Any], int]] = {
    "sections/notebook_edit": ({"file": "~a.ipynb", "action": "read"}, 200),
    "claude_code/Read": ({"file_path": "~a.ipynb"}, 200),
    "claude_code/Edit": ({"file_path": "~a.txt"}, 428),
    "agent/notebook_create": ({"path": "~new.ipynb"}, 200),
}


def _build_row(operation: DocumentedOperation) -> RouteRow:
    """Return the row of an operation; a call that only reads takes only the right to read."""
    tool = operation.path.removeprefix("/nbedit/tools/")
    if tool in INPUTS:
        more, status = _TOOLS.get(tool, ({}, 200))
        sent = RowOverrides(json.dumps({**INPUTS[tool], **more}).encode(), status)
    else:
        sent = OVERRIDES.get(f"{operation.verb} {operation.path}", RowOverrides())
    target = sent.target or operation.path.format(**_PARAMETERS).lstrip("/")
    is_read = operation.verb in {"GET", "HEAD"} or (tool in TOOLS and TOOLS[tool].right == "read")
    action = sent.action or ("read" if is_read else "write")
    return RouteRow(target, action, sent.body, sent.status)


#: By the pattern of the route, which for a tool is its address, and the verb.
OPERATIONS = {
    (operation.path if "address" in operation.pattern else operation.pattern, operation.verb): (
        operation
    )
    for operation in list_operations(default_handlers)
}
ROWS = {key: _build_row(operation) for key, operation in OPERATIONS.items()}


def list_verbs(handler: type[RequestHandler]) -> Iterator[str]:
    """List the verbs of a handler, except OPTIONS."""
    for verb in RequestHandler.SUPPORTED_METHODS:
        method = getattr(handler, verb.lower())
        if verb != "OPTIONS" and method is not RequestHandler._unimplemented_method:
            yield verb


def matches_route(pattern: str, row: RouteRow) -> bool:
    """Return whether the address of a row matches the pattern of a route."""
    return re.fullmatch(pattern, f"/{row.target}") is not None
