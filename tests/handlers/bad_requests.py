"""Requests that are refused, each with its status, its reason and some of its details.

A case is written once: `test_messages` sends it, and the text of its refusal stands in
`messages.txt`. What no other place asks for are the forms of single fields; `test_bad_fields` tries
those by the schemas.
"""

from __future__ import annotations

import json
import os
import resource
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.handlers import operation_table
from tests.handlers.refused import nested, with_operation
from tests.support import samples
from tests.support.http import JSON, Client
from tests.support.waiting import wait_until

HASH = "0" * 64
LIMIT = 16 * 1024 * 1024
INSERT = {"op": "insert", "cell_type": "code", "source": "x"}
END = {**INSERT, "at": "end"}
DELETE = {"op": "delete", "cell": "alpha"}
NOTEBOOK = "nbedit/notebooks/a.ipynb"


@dataclass(frozen=True)
class Send:
    """A request; the target may have `{0}`, the number that the first answer before it gave.

    Parameters
    ----------
    body
        JSON, or bytes that are sent as they are.
    """

    target: str
    body: Any = None
    verb: str = "POST"
    headers: Mapping[str, str] = field(default_factory=dict)

    def written(self) -> bytes | None:
        """Return the body as it goes out."""
        if self.body is None or isinstance(self.body, bytes):
            return self.body
        return json.dumps(self.body).encode()


@contextmanager
def _leave_alone(_client: Client) -> Iterator[None]:
    yield


@dataclass(frozen=True)
class Case:
    """A request that is refused.

    Parameters
    ----------
    details
        What must be among the details.
    notebook
        What `a.ipynb` holds; beside it there is the text `a.txt`.
    first
        What is done before: requests, or what the notebook then holds.
    mode
        Of the server.
    token
        What is sent as the server's token; None for the right one.
    same
        Requests that are refused in the very same words.
    arranged
        Makes the world as it must be for the case, and as it was.
    """

    status: int
    reason: str
    request: Send
    details: Mapping[str, Any] = field(default_factory=dict)
    notebook: bytes = field(default_factory=samples.three_cells)
    first: Sequence[Send | bytes] = ()
    mode: str = "edit"
    server: str = "live"
    token: str | None = None
    same: Sequence[Send] = ()
    arranged: Callable[[Client], AbstractContextManager[None]] = _leave_alone


def patch(*operations: object, headers: Mapping[str, str] = JSON, **fields: Any) -> Send:
    return Send(NOTEBOOK, {"operations": operations, **fields}, "PATCH", headers)


def get(target: str, **headers: str) -> Send:
    return Send(target, None, "GET", headers)


def post(target: str, body: Any, verb: str = "POST") -> Send:
    return Send(target, body, verb, JSON)


BODIES = {
    "nothing": b"",
    "only white space": b"  \n",
    "not JSON": b"operations",
    "cut off": b'{"operations": [{"op": "delete"',
    "followed by something": with_operation(op="delete", cell="alpha") + b"{}",
    "with a comment": b'{"operations": [] /* none */}',
    "single quotes": b"{'operations': []}",
    "not UTF-8": with_operation(**END).replace(b"x", b"\xff"),
    "a surrogate in UTF-8": with_operation(**END).replace(b"x", b"\xed\xa0\x80"),
    "UTF-16": with_operation(**END).decode().encode("utf-16"),
    "a byte order mark": b"\xef\xbb\xbf" + with_operation(**END),
    "a lone surrogate in metadata": with_operation(**END, metadata={"x": ["\udfff"]}),
    "a lone surrogate in a name": with_operation(**END, metadata={"\udfff": 1}),
    "a lone surrogate in a label": b'{"client": "\\ud83d", "operations": []}',
    "NaN": with_operation(**END, metadata={"x": float("nan")}),
    "Infinity": with_operation(**END, metadata={"x": float("inf")}),
    "minus Infinity": with_operation(**END, metadata={"x": float("-inf")}),
    "a raw line feed in a string": with_operation(**END).replace(b"x", b"\n"),
    "nested too deeply": nested(100_000),
    "operations twice": b'{"operations": [], "operations": [{"op": "delete", "cell": 0}]}',
    "dry_run twice": with_operation(**END)[:-1] + b', "dry_run": true, "dry_run": false}',
    "a key twice by another spelling": with_operation(**END)[:-1]
    + b', "client": "a", "cl\\u0069ent": "b"}',
    "a cell twice": b'{"operations": [{"op": "delete", "cell": 0, "cell": 1}]}',
    "a key twice in metadata": with_operation(**END, metadata={"x": [{"a": 1, "b": 2}]}).replace(
        b'"b"', b'"a"'
    ),
    "a list": b"[]",
    "null": b"null",
    "an empty object": b"{}",
    "no operations": b'{"operations": []}',
    "more than 1000 operations": json.dumps({"operations": [END] * 1001}).encode(),
    "an unknown field": b'{"operations": [{"op": "delete", "cell": 0}], "force": true}',
    "a label of 201 characters": json.dumps({"operations": [END], "client": "x" * 201}).encode(),
    "a message of 201 characters": json.dumps({"operations": [END], "message": "x" * 201}).encode(),
}
OPERATIONS: dict[str, Any] = {
    "not an object": "delete",
    "without op": {"cell": "alpha"},
    "an unknown op": {"op": "execute", "cell": "alpha"},
    "op in capitals": {"op": "Delete", "cell": "alpha"},
    "an unknown field": {"op": "delete", "cell": "alpha", "force": True},
    "a field of another op": {"op": "delete", "cell": "alpha", "source": "x"},
    "delete without cell": {"op": "delete"},
    "replace without cell": {"op": "replace", "source": "x"},
    "replace with neither source nor type": {"op": "replace", "cell": "alpha"},
    "move without cell": {"op": "move", "at": "end"},
    "cell is a negative index": {"op": "delete", "cell": -1},
    "cell is a number of 5000 digits": {"op": "delete", "cell": "@5000"},
    "source is missing": {"op": "insert", "cell_type": "code", "at": "end"},
    "type is missing": {"op": "insert", "source": "x", "at": "end"},
    "type is unknown": {**END, "cell_type": "heading"},
    "no position": INSERT,
    "no position in move": {"op": "move", "cell": "alpha"},
    "two positions": {**INSERT, "at": "end", "index": 0},
    "two positions in move": {"op": "move", "cell": "alpha", "after": "beta", "before": "gamma"},
    "all positions": {**INSERT, "at": "end", "index": 0, "after": "alpha", "before": "alpha"},
    "a position beside null": {**INSERT, "at": "end", "after": None},
    "an unknown position": {**INSERT, "at": "middle"},
    "a negative index": {**INSERT, "index": -1},
    "an index beyond the end": {**INSERT, "index": 4},
    "an index of 30 digits": {**INSERT, "index": 10**30},
    "an index of 5000 digits": {**INSERT, "index": "@5000"},
    "an id that is taken": {**END, "id": "alpha"},
    "an id with a space": {**END, "id": "a b"},
    "an id with a line feed behind it": {**END, "id": "ab\n"},
    "an id of no characters": {**END, "id": ""},
    "an id of 65 characters": {**END, "id": "x" * 65},
    "an id beyond ASCII": {**END, "id": "é"},
    "outputs in an insert": {**END, "outputs": [samples.HTML_OUTPUT]},
    "outputs in a replace": {
        "op": "replace",
        "cell": "alpha",
        "source": "x",
        "outputs": [samples.HTML_OUTPUT],
    },
    "an execution count": {**END, "execution_count": 1},
    "attachments": {**END, "cell_type": "markdown", "attachments": {}},
    "metadata that says trusted": {**END, "metadata": {"trusted": True}},
    "metadata that says not trusted": {**END, "metadata": {"trusted": False}},
    "metadata that says trusted further down": {
        **END,
        "metadata": {"a": [{"b": [[{"trusted": True}]]}]},
    },
    "metadata nested 500 deep": {**END, "metadata": {"a": "@nested"}},
    "metadata with a number of 5000 digits": {**END, "metadata": {"a": "@5000"}},
    "a guard of nothing": {"op": "delete", "cell": "alpha", "expect": {}},
    "a guard of two things": {
        "op": "delete",
        "cell": "alpha",
        "expect": {"source": "x = 1\nx", "source_hash": HASH},
    },
    "a guard of something unknown": {"op": "delete", "cell": "alpha", "expect": {"id": "alpha"}},
}
CONTENT_TYPES = [
    None,
    "",
    "text/plain",
    "text/json",
    "application/jsonp",
    "application/json, text/plain",
    "application/x-www-form-urlencoded",
]
LABELS = [
    ("X-NbEdit-Session", "\u00e9t\u00e9s!"),
    ("Idempotency-Key", "a\u00a0key"),
    ("X-NbEdit-Session", "a\tb"),
    ("Idempotency-Key", "k" * 201),
    ("Idempotency-Key", ""),
]
TAGS = [HASH, f'"{HASH}", "{HASH}"', f"W/{HASH}", f'"{HASH}', "null"]
QUERIES = {
    "another name": "other=1",
    "a time with a value": "1700000000000=1",
    "nearly a time": "x17=",
    "a time and a letter": "17x",
    "a negative time": "-1",
    "twice": "view=full&view=full",
    "no choice": "view=SOURCE",
    "no number": "max_chars=x",
    "not UTF-8": "section=%FF",
}
BAD = {"tags": "slow"}
CELL = {"source": "x", "cell_type": "code", "metadata": BAD}
BAD_METADATA: dict[str, tuple[str, str, dict[str, Any], dict[str, Any]]] = {
    "of a cell": (
        "PATCH",
        "a.ipynb",
        {"operations": [{"op": "set_metadata", "cell": 0, "patch": BAD}]},
        {"operation": 0},
    ),
    "of the notebook": (
        "PATCH",
        "a.ipynb",
        {"operations": [END, {"op": "set_metadata", "patch": {"tags": "free", "title": ["x"]}}]},
        {"operation": 1, "member": "title"},
    ),
    "of a new cell": (
        "PATCH",
        "a.ipynb",
        {"operations": [{"op": "insert", "at": "end", **CELL}], "dry_run": True},
        {"operation": 0},
    ),
    "of a cell to insert": ("POST", "a.ipynb/cells", {"at": "start", **CELL}, {}),
    "of a cell to change": ("PATCH", "a.ipynb/cells/alpha", {"metadata": BAD}, {}),
    "of a new notebook": (
        "PUT",
        "new.ipynb",
        {"cells": [{"source": "x", "cell_type": "raw"}, CELL]},
        {"cell": 1},
    ),
}
NO_CELLS = [
    *(("cell", cell) for cell in ("nobody", "", "cell-3", "cell-03", "cell--1", "cell-٣", "Alpha")),
    ("after", "nobody"),
    ("before", "nobody"),
]


def written(operation: object) -> bytes:
    """Write a batch whose second operation is this one, with what Python's json would not write."""
    body = json.dumps({"operations": [END, operation]}).encode()
    return body.replace(b'"@5000"', b"1" * 5000).replace(b'"@nested"', nested(500))


def invalid(request: Send, **details: Any) -> Case:
    return Case(400, "invalid_request", request, details)


def _of_forms() -> dict[str, Case]:
    forms = {
        f"body: {name}": invalid(Send(NOTEBOOK, body, "PATCH", JSON))
        for name, body in BODIES.items()
    }
    for name, operation in OPERATIONS.items():
        request = Send(NOTEBOOK, written(operation), "PATCH", JSON)
        forms[f"operation: {name}"] = Case(400, "invalid_operation", request, {"operation": 1})
    for content_type in CONTENT_TYPES:
        headers = {} if content_type is None else {"Content-Type": content_type}
        request = Send(NOTEBOOK, with_operation(**END), "PATCH", headers)
        forms[f"content type: {content_type}"] = Case(415, "unsupported_media_type", request)
    part = b'--x\r\nContent-Disposition: form-data; name="a"; filename="b"\r\n\r\n'
    form = Send(
        NOTEBOOK,
        part + with_operation(**END) + b"\r\n--x--\r\n",
        "PATCH",
        {"Content-Type": "multipart/form-data; boundary=x"},
    )
    forms["content type: a form with a file"] = Case(415, "unsupported_media_type", form)
    for header, value in LABELS:
        request = patch(END, headers={**JSON, header: value})
        forms[f"header: {header} {ascii(value)[:20]}"] = invalid(request)
    for tag in TAGS:
        forms[f"If-Match: {tag[:20]}"] = invalid(patch(END, headers={**JSON, "If-Match": tag}))
    for name, query in QUERIES.items():
        forms[f"query: {name}"] = invalid(get(f"{NOTEBOOK}?{query}"))
    return forms


#: What a source has, and the half of a pair of surrogates in it that is refused.
SURROGATES = [
    (rb"\ud800", rb"\ud800"),
    (rb"a\udfffb", rb"\udfff"),
    (rb"\uD83D is half", rb"\uD83D"),
    (rb"\ud83d\ud83d\ude00", rb"\ud83d"),
    (rb"\ud83d\\ude00", rb"\ud83d"),
    (rb"\\ud800 \ud83d\ude00 \udead", rb"\udead"),
]


def _of_surrogates() -> dict[str, Case]:
    found = {}
    for text, half in SURROGATES:
        body = with_operation(**{**END, "source": "@"}).replace(b"@", text)
        request = Send(NOTEBOOK, body, "PATCH", JSON)
        found[f"surrogates: {text.decode()}"] = invalid(request, byte=body.index(half))
    return found


def _of_operations() -> dict[str, Case]:
    cells = samples.notebook(*operation_table.CELLS)
    found = {
        f"row: {name}": Case(status, reason, patch(*operations), facts, cells)
        for name, (operations, status, reason, facts) in operation_table.REFUSED.items()
    }
    for name, (verb, target, body, facts) in BAD_METADATA.items():
        request = post(f"nbedit/notebooks/{target}", body, verb)
        found[f"metadata: {name}"] = Case(
            400, "invalid_operation", request, {"member": "tags", **facts}
        )
    for member, cell in NO_CELLS:
        operation = {"op": "delete"} if member == "cell" else INSERT
        facts = {
            "cell": cell,
            "available_ids": ["alpha", "beta", "gamma"],
            "total_cells": 3,
            "operation": 0,
        }
        request = patch({**operation, member: cell})
        found[f"no cell: {member} {cell!r}"] = Case(404, "cell_not_found", request, facts)
    return found


REPLACE = {"op": "replace", "cell": "alpha", "source": "changed"}
EDIT = patch(REPLACE)
OTHERS = samples.notebook(samples.code("theirs", "alpha"), samples.markdown("# Title", "beta"))
CREATE = post("nbedit/notebooks/new.ipynb", {}, "PUT")
UNDO, REDO = f"{NOTEBOOK}/undo", f"{NOTEBOOK}/redo"
ACCEPT, REJECT = (post(f"nbedit/proposals/{{0}}/{verb}", {}) for verb in ("accept", "reject"))
KEY = {**JSON, "Idempotency-Key": "a key of a case"}
TWINS = samples.notebook(samples.raw("x", "x"), samples.raw("a", "twin"), samples.raw("b", "twin"))
SECTIONS = samples.notebook(
    samples.markdown("# One\n\nwords\n\n# Two", "both"), samples.markdown("# Two", "again")
)
PICTURES = samples.notebook(
    *(
        samples.markdown("![](a)", cell, attachments={"a": {"image/png": data}})
        for cell, data in (("one", "YQ=="), ("two", "Yg=="))
    )
)


def search(**fields: Any) -> Send:
    return post("nbedit/search", fields)


def _of_notebooks() -> dict[str, Case]:
    """Return the cases that depend on what the notebook holds, or that something was done."""
    no_ids = samples.notebook(samples.raw("x"), samples.raw("y"), minor=4)
    many = samples.notebook(*(samples.raw("x", f"id-{n}") for n in range(50)))
    lone = samples.three_cells().replace(b'"beta"', b'"\\ud800"')
    nobody = patch({"op": "delete", "cell": "nobody"})
    conflict = (EDIT, OTHERS)
    return {
        "cell: an index of none": Case(
            404, "cell_not_found", patch({"op": "delete", "cell": 2**53 - 1}), {"total_cells": 3}
        ),
        "cell: one of fifty": Case(
            404,
            "cell_not_found",
            nobody,
            {"available_ids": [f"id-{n}" for n in range(10)], "total_cells": 50},
            many,
        ),
        "cell: without ids": Case(
            404, "cell_not_found", nobody, {"available_ids": ["cell-0", "cell-1"]}, no_ids
        ),
        "cell: an id that UTF-8 cannot say": Case(
            404, "cell_not_found", nobody, {"available_ids": ["alpha", "\ud800", "gamma"]}, lone
        ),
        "cell: an id of two": Case(
            409, "ambiguous_cell", patch({**DELETE, "cell": "twin"}), {"indexes": [1, 2]}, TWINS
        ),
        "cell: after an id of two": Case(
            409, "ambiguous_cell", patch({**INSERT, "after": "twin"}), {"indexes": [1, 2]}, TWINS
        ),
        "cell: to be read": Case(404, "cell_not_found", get(f"{NOTEBOOK}/cells/nobody")),
        "cell: an id where the format has none": Case(
            400, "invalid_operation", patch({**END, "id": "new"}), {"id": "new"}, no_ids
        ),
        "cell: two new ones with one id": Case(
            400, "invalid_operation", patch(*[{**END, "id": "new"}] * 2), {"operation": 1}
        ),
        "cell: an index of one that is gone": Case(
            400, "invalid_operation", patch(DELETE, {**DELETE, "cell": 0}), {"operation": 1}
        ),
        "cell: its number where one is gone": Case(
            400, "invalid_operation", patch(DELETE, {**DELETE, "cell": "cell-0"}), {"operation": 1}
        ),
        "batch: the first that is refused": Case(
            404, "cell_not_found", patch(END, END, {**DELETE, "cell": "x"}, END), {"operation": 2}
        ),
        "guard: a source that UTF-8 cannot say": Case(
            409,
            "cell_changed",
            patch({**DELETE, "cell": "beta", "expect": {"source": ""}}),
            {"cell": "beta", "source": "\ud800", "operation": 0},
            samples.three_cells().replace(b"# Title", b"\\ud800"),
        ),
        "guard: a hash": Case(
            409, "cell_changed", patch({**DELETE, "expect": {"source_hash": HASH}})
        ),
        "merge: attachments of one name": Case(
            400, "invalid_operation", patch({"op": "merge", "cells": ["one", "two"]}), {}, PICTURES
        ),
        "section: two of one name": Case(
            409,
            "ambiguous_section",
            patch({"op": "append_to_section", "section": "Two", "source": "z"}),
            notebook=SECTIONS,
        ),
        "section: code in the midst of a cell": Case(
            400,
            "invalid_operation",
            patch(
                {"op": "append_to_section", "section": "One", "source": "z", "cell_type": "code"}
            ),
            notebook=SECTIONS,
        ),
        "section: a name that is too long": invalid(get(f"{NOTEBOOK}?section={'x' * 5000}")),
        "cells: nothing to change": Case(
            400, "invalid_operation", post(f"{NOTEBOOK}/cells/alpha", {}, "PATCH")
        ),
        "cells: outputs of metadata": Case(
            400,
            "invalid_operation",
            post(f"{NOTEBOOK}/cells/alpha", {"metadata": {}, "outputs": "keep"}, "PATCH"),
        ),
        "cells: a body of DELETE": invalid(post(f"{NOTEBOOK}/cells/alpha", {}, "DELETE")),
        "hash: in the header": Case(
            412,
            "hash_mismatch",
            patch(END, headers={**JSON, "If-Match": f'"{HASH}"'}),
            {"expected": HASH},
        ),
        "hash: in the body": Case(412, "hash_mismatch", patch(END, hash=HASH), {"expected": HASH}),
        "hash: of the body, any in the header": Case(
            412, "hash_mismatch", patch(END, hash=HASH, headers={**JSON, "If-Match": "*"})
        ),
        "hash: another one in the header": invalid(
            patch(END, hash="1" * 64, headers={**JSON, "If-Match": f'"{HASH}"'})
        ),
        "since: no version": Case(410, "version_unknown", get(f"{NOTEBOOK}?since={HASH}")),
        "retry: another request": Case(
            422,
            "idempotency_mismatch",
            patch(END, END, headers=KEY),
            first=[patch(END, headers=KEY)],
        ),
        "size: a byte too much": Case(
            413,
            "too_large",
            Send(NOTEBOOK, with_operation(**END).ljust(LIMIT + 1), "PATCH", JSON),
            {"bytes": LIMIT + 1, "limit": LIMIT},
        ),
        "create: over something": Case(409, "notebook_exists", post(NOTEBOOK, {}, "PUT")),
        "create: in no folder": Case(
            404, "notebook_not_found", post("nbedit/notebooks/no/new.ipynb", {}, "PUT")
        ),
        "create: a version to match": invalid(
            Send(CREATE.target, {}, "PUT", {**JSON, "If-Match": f'"{HASH}"'})
        ),
        "create: a version not to match": invalid(
            Send(CREATE.target, {}, "PUT", {**JSON, "If-None-Match": f'"{HASH}"'})
        ),
        "undo: nothing": Case(409, "nothing_to_undo", post(UNDO, {})),
        "redo: nothing": Case(409, "nothing_to_undo", post(REDO, {})),
        "undo: an edit that is not": Case(
            404, "edit_not_found", post(UNDO, {"edit_id": 10**9}), {"edit_id": 10**9}
        ),
        "undo: twice": Case(
            409, "nothing_to_undo", post(UNDO, {"edit_id": "{0}"}), first=[EDIT, post(UNDO, {})]
        ),
        "undo: an undo": Case(
            409, "nothing_to_undo", post(UNDO, {"edit_id": "{1}"}), first=[EDIT, post(UNDO, {})]
        ),
        "undo: a creation": Case(
            409,
            "nothing_to_undo",
            post("nbedit/notebooks/new.ipynb/undo", {"edit_id": "{0}"}),
            first=[CREATE],
        ),
        "redo: what is in effect": Case(
            409, "nothing_to_undo", post(REDO, {"edit_id": "{0}"}), first=[EDIT]
        ),
        "undo: what was changed since": Case(409, "undo_conflict", post(UNDO, {}), first=conflict),
        "history: an edit that is not": Case(
            404, "edit_not_found", get(f"{NOTEBOOK}/history/9999999")
        ),
        "proposal: none": Case(404, "proposal_not_found", get("nbedit/proposals/999999")),
        "proposal: none to accept": Case(
            404, "proposal_not_found", post("nbedit/proposals/999999/accept", {})
        ),
        "proposal: decided already": Case(
            409, "proposal_closed", ACCEPT, first=[EDIT, REJECT], mode="review"
        ),
        "proposal: a part that is not": invalid_in_review(
            post(ACCEPT.target, {"parts": [999]}), EDIT
        ),
        "proposal: a part of a new notebook": invalid_in_review(
            post(ACCEPT.target, {"parts": [0]}), CREATE
        ),
        "proposal: a version of a new notebook": invalid_in_review(
            Send(ACCEPT.target, {}, "POST", {**JSON, "If-Match": f'"{HASH}"'}), CREATE
        ),
        "proposal: changed since": Case(409, "cell_changed", ACCEPT, first=conflict, mode="review"),
        "proposals: too many": Case(
            409, "too_many_proposals", EDIT, first=[EDIT], mode="review", server="owners"
        ),
        "mode: plan": Case(403, "plan_mode", EDIT, mode="plan"),
        "mode: a paused notebook": Case(
            403,
            "plan_mode",
            EDIT,
            first=[post("nbedit/mode", {"mode": "plan", "path": "a.ipynb"}, "PUT")],
        ),
        "mode: of no notebook": Case(
            404,
            "notebook_not_found",
            post("nbedit/mode", {"mode": "plan", "path": "no.ipynb"}, "PUT"),
        ),
        "mode: fixed": Case(
            403, "forbidden", post("nbedit/mode", {"mode": "plan"}, "PUT"), server="nobody"
        ),
        "read first": Case(428, "read_required", EDIT, server="nobody"),
        "search: nothing": invalid(search()),
        "search: a text and an expression": invalid(search(query="x", regex="x")),
        "search: several lines": invalid(search(query="x\ny")),
        "search: no expression": invalid(search(regex="(")),
        "search: an expression that is too large": invalid(search(regex=r"\pL{100}")),
        "search: another's cursor": invalid(search(query="x", cursor="?")),
        "search: in no folder": Case(404, "notebook_not_found", search(query="x", path="no")),
        "tabs: no WebSocket": invalid(get("nbedit/tabs")),
        "path: no notebook": Case(404, "notebook_not_found", get("nbedit/notebooks/no.ipynb")),
        "path: no name of a notebook": invalid(get("nbedit/notebooks/a.txt")),
        "path: no route": Case(404, "invalid_request", get("nbedit/nothing")),
        "verb: none of the route": Case(405, "invalid_request", post("nbedit/mode", {})),
        "token: wrong": Case(403, "forbidden", get(NOTEBOOK), token="wrong"),  # noqa: S106 -- it is
        "tool: none of this name": Case(404, "tool_not_found", post("nbedit/tools/nexo/Read", {})),
    }


def invalid_in_review(request: Send, proposed: Send) -> Case:
    return Case(400, "invalid_request", request, first=[proposed], mode="review")


GOOD = samples.three_cells()
NOT_NOTEBOOKS = {
    "not JSON": b"not a notebook",
    "truncated": GOOD[: len(GOOD) // 2],
    "followed by something": GOOD + b"x",
    "with conflict markers": GOOD.replace(b' "metadata"', b'<<<<<<< HEAD\n "metadata"'),
    "empty": b"",
    "only white space": b" \r\n\t",
    "only a byte order mark": b"\xef\xbb\xbf",
    "Latin-1": GOOD.replace(b"# Title", b"# Caf\xe9"),
    "UTF-16": GOOD.decode().encode("utf-16"),
    "overlong UTF-8": GOOD.replace(b"# Title", b"\xc0\xae"),
    "a surrogate in UTF-8": GOOD.replace(b"# Title", b"\xed\xa0\x80"),
    "a UTF-8 sequence cut off": GOOD.replace(b"# Title", b"\xe2\x82"),
    "a list": b"[]",
    "null": b"null",
    "a number": b"1",
    "nested too deeply": GOOD.replace(
        b'"nbformat": 4', b'"x": ' + nested(100_000) + b', "nbformat": 4'
    ),
    "without cells": b'{"metadata": {}, "nbformat": 4, "nbformat_minor": 5}',
    "cells are an object": b'{"cells": {}, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}',
    "cells are null": b'{"cells": null, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}',
    "cells twice": GOOD.replace(b'{\n "cells"', b'{\n "cells": [],\n "cells"'),
    "nbformat 3": b'{"metadata": {}, "nbformat": 3, "nbformat_minor": 0, "worksheets": []}',
    "nbformat 3 with cells": GOOD.replace(b'"nbformat": 4', b'"nbformat": 3'),
    "nbformat 5": GOOD.replace(b'"nbformat": 4', b'"nbformat": 5'),
    "nbformat as text": GOOD.replace(b'"nbformat": 4', b'"nbformat": "4"'),
    "nbformat true": GOOD.replace(b'"nbformat": 4', b'"nbformat": true'),
    "nbformat of 5000 digits": GOOD.replace(b'"nbformat": 4', b'"nbformat": ' + b"4" * 5000),
    "without nbformat": GOOD.replace(b'"nbformat": 4,', b""),
    "nbformat twice": GOOD.replace(b'"nbformat": 4', b'"nbformat": 4, "nbformat": 4'),
    "a cell is a number": GOOD.replace(b'"cells": [', b'"cells": [1,'),
    "a cell without a type": GOOD.replace(b'"cells": [', b'"cells": [{},'),
}
BROKEN_CELLS = {
    "two sources": GOOD.replace(b'"source": "x', b'"source": "y", "source": "x'),
    "two ids": GOOD.replace(b'"id": "alpha"', b'"id": "beth", "id": "alpha"'),
    "two metadata": GOOD.replace(b'"outputs"', b'"metadata": {"trusted": true}, "outputs"'),
    "a number for source": GOOD.replace(b'"source": "x = 1\\nx"', b'"source": 1'),
    "a list with a number for source": GOOD.replace(
        b'"source": "x = 1\\nx"', b'"source": ["x", 1]'
    ),
}


@contextmanager
def _hard_link(client: Client) -> Iterator[None]:
    os.link(client.root / "a.ipynb", client.root / "linked.ipynb")
    yield


@contextmanager
def _being_saved(client: Client) -> Iterator[None]:
    # What Jupyter Server puts beside a file while it writes it in place.
    (client.root / ".~a.ipynb").write_bytes(b"")
    yield


@contextmanager
def _failing_disk(client: Client) -> Iterator[None]:
    (client.root / "a.ipynb").unlink()
    # Reading the memory of a process at 0 fails as a broken disk does.
    (client.root / "a.ipynb").symlink_to("/proc/self/mem")
    yield


@contextmanager
def _full_disk(client: Client) -> Iterator[None]:
    (info,) = client.root.parent.glob("runtime/jpserver-*.json")
    process = json.loads(info.read_bytes())["pid"]
    soft, hard = resource.prlimit(process, resource.RLIMIT_FSIZE)
    resource.prlimit(process, resource.RLIMIT_FSIZE, (1, hard))
    try:
        yield
    finally:
        resource.prlimit(process, resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def _no_database(client: Client) -> Iterator[None]:
    """Put a folder in the place of the file with the history and the modes."""

    def is_unreadable() -> bool:
        return client.request("GET", "nbedit/mode").json["unreadable"] is not None

    assert client.patch("a.ipynb", DELETE).status == 200
    (client.root / "a.ipynb").write_bytes(samples.three_cells())
    database = client.root.parent / "data" / "nbedit" / "history.sqlite3"
    aside = database.rename(database.with_suffix(".aside"))
    database.mkdir()
    try:
        # A server may go by what it has read a moment ago.
        wait_until(is_unreadable, what="the modes are unreadable")
        yield
    finally:
        database.rmdir()
        aside.rename(database)
        wait_until(lambda: not is_unreadable(), what="the modes are readable")


def _of_the_world() -> dict[str, Case]:
    """Return the cases in which something else than the request is to blame."""
    found = {
        f"file: {name}": Case(
            422,
            "invalid_notebook",
            get(NOTEBOOK),
            notebook=text,
            same=[EDIT, patch(REPLACE, dry_run=True)],
        )
        for name, text in NOT_NOTEBOOKS.items()
    }
    for name, text in BROKEN_CELLS.items():
        others = ({**DELETE, "cell": 0}, {"op": "replace", "cell": 0, "cell_type": "raw"})
        found[f"cell: {name}"] = Case(
            422,
            "invalid_notebook",
            EDIT if text.count(b"alpha") else patch(others[0]),
            {"index": 0, "operation": 0},
            text,
            same=[patch(other) for other in others],
        )
    found |= {
        "file: of two names": Case(409, "not_a_plain_file", EDIT, arranged=_hard_link),
        "file: being saved": Case(503, "busy", EDIT, arranged=_being_saved),
        "disk: full": Case(507, "no_space", EDIT, arranged=_full_disk),
        "disk: failing": Case(500, "io_error", get(NOTEBOOK), arranged=_failing_disk),
        "database: the history": Case(
            503, "history_unavailable", get(f"{NOTEBOOK}/history"), arranged=_no_database
        ),
        "database: the modes": Case(503, "modes_unreadable", EDIT, arranged=_no_database),
    }
    return found


CASES: dict[str, Case] = {
    **_of_forms(),
    **_of_surrogates(),
    **_of_operations(),
    **_of_notebooks(),
    **_of_the_world(),
}
