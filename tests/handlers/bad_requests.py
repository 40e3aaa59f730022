"""Requests that are refused, by the reasons, each with some of the details of its refusal.

A case is written once: `test_messages` sends it, and its status and its text stand in
`messages.txt`. The types of single fields are not here; `test_bad_fields` tries those by the
schemas.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jupyter_nbedit.agents.tools import TOOLS
from tests.handlers.error_checks import build_body, build_nested
from tests.handlers.faults import (
    Fault,
    fail_reads,
    limit_files,
    link_twice,
    lose_database,
    save_elsewhere,
)
from tests.handlers.operation_table import CELLS, build_texts, op
from tests.support import samples
from tests.support.http import JSON
from tests.support.samples import compute_hash, name_cell

HASH = "0" * 64
LIMIT = 16 * 1024 * 1024
NOTEBOOK = "nbedit/notebooks/a.ipynb"
GOOD = samples.three_cells()


@dataclass(frozen=True)
class Send:
    """A request.

    Parameters
    ----------
    target
        Relative to the base URL. It and the body may have `{0}`: the number of the edit or of the
        proposal that was made first before.
    body
        JSON, or bytes that are sent as they are.
    """

    target: str
    body: Any = None
    verb: str = "POST"
    headers: Mapping[str, str] = field(default_factory=lambda: JSON)

    def serialize_body(self) -> bytes | None:
        """Return the body as it goes out."""
        if self.body is None or isinstance(self.body, bytes):
            return self.body
        return json.dumps(self.body).encode()


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
    fault
        What goes wrong around the server.
    """

    request: Send
    details: Mapping[str, Any] = field(default_factory=dict)
    notebook: bytes = GOOD
    first: Sequence[Send | bytes] = ()
    mode: str = "edit"
    server: str = "live"
    token: str | None = None
    same: Sequence[Send] = ()
    fault: Fault | None = None


def patch(*operations: object, headers: Mapping[str, str] = JSON, **fields: Any) -> Send:
    return send_body({"operations": operations, **fields}, headers)


def send_body(body: Any, headers: Mapping[str, str] = JSON) -> Send:
    return Send(NOTEBOOK, body, "PATCH", headers)


def set_header(name: str, value: str, **fields: Any) -> Send:
    return patch(END, headers={**JSON, name: value}, **fields)


def get(target: str) -> Send:
    return Send(target, None, "GET", {})


def search(**fields: Any) -> Send:
    return Send("nbedit/search", fields)


def decide(decision: Send, proposed: Send, **body: Any) -> Case:
    """Return the case of a decision on a proposal."""
    return Case(Send(decision.target, body), first=[proposed], mode="review")


def row(*operations: object, **details: Any) -> Case:
    """Return the case of operations on the cells of the table of operations."""
    return Case(patch(*operations), details, samples.notebook(*CELLS))


def second(operation: object) -> Case:
    """Return the case of the second operation of a batch, with what Python's json has no way to."""
    body = json.dumps({"operations": [END, operation]}).encode()
    body = body.replace(b'"@5000"', b"1" * 5000).replace(b'"@nested"', build_nested(500))
    return Case(send_body(body), {"operation": 1})


def surrogates(text: bytes, half: bytes) -> Case:
    """Return the case of a source with one half of a pair of surrogates."""
    body = build_body(**{**END, "source": "@"}).replace(b"@", text)
    return Case(send_body(body), {"byte": body.index(half)})


INSERT = op("insert", cell_type="code", source="x")
END = {**INSERT, "at": "end"}
DELETE = op("delete", cell="alpha")
EDIT = patch(op("replace", cell="alpha", source="changed"))
EDIT_AGAIN = patch(op("replace", cell="alpha", source="changed again"))
SLOW = {"tags": "slow"}
CREATE = Send("nbedit/notebooks/new.ipynb", {}, "PUT")
CELL, UNDO, REDO = f"{NOTEBOOK}/cells/alpha", f"{NOTEBOOK}/undo", f"{NOTEBOOK}/redo"
ACCEPT, REJECT, REOPEN = (
    Send(f"nbedit/proposals/{{0}}/{verb}", {}) for verb in ("accept", "reject", "reopen")
)
SOURCE = {"part": 0, "source_hash": HASH, "source": "x"}
KEEP, RESTORE = f"{NOTEBOOK}/keep", f"{NOTEBOOK}/restore"
PAUSE = Send("nbedit/mode", {"mode": "plan", "path": "a.ipynb"}, "PUT")
KEY = {**JSON, "Idempotency-Key": "a key of a case"}
OTHERS = samples.notebook(samples.code("theirs", "alpha"), samples.markdown("# Title", "beta"))
TWINS = samples.notebook(samples.raw("x", "x"), samples.raw("a", "twin"), samples.raw("b", "twin"))
NO_IDS = samples.notebook(samples.raw("x"), samples.raw("y"), minor=4)
MANY = samples.notebook(*(samples.raw("x", f"id-{n}") for n in range(50)))
SECTIONS = samples.notebook(
    samples.markdown("# One\n\nwords\n\n# Two", "both"), samples.markdown("# Two", "again")
)
PICTURES = samples.notebook(
    *(
        samples.markdown("![](a)", cell, attachments={"a": {"image/png": data}})
        for cell, data in (("one", "YQ=="), ("two", "Yg=="))
    )
)
FORM = b'--x\r\nContent-Disposition: form-data; name="a"; filename="b"\r\n\r\n{}\r\n--x--\r\n'

BODIES: dict[str, bytes] = {
    "nothing": b"",
    "only white space": b"  \n",
    "not JSON": b"operations",
    "cut off": b'{"operations": [{"op": "delete"',
    "followed by something": build_body(**DELETE) + b"{}",
    "single quotes": b"{'operations': []}",
    "not UTF-8": build_body(**END).replace(b"x", b"\xff"),
    "a surrogate in UTF-8": build_body(**END).replace(b"x", b"\xed\xa0\x80"),
    "UTF-16": build_body(**END).decode().encode("utf-16"),
    "a byte order mark": b"\xef\xbb\xbf" + build_body(**END),
    "a lone surrogate in a name": build_body(**END, metadata={"\udfff": 1}),
    "NaN": build_body(**END, metadata={"x": float("nan")}),
    "a raw line feed in a string": build_body(**END).replace(b"x", b"\n"),
    "nested too deeply": build_nested(100_000),
    "dry_run twice": build_body(**END)[:-1] + b', "dry_run": true, "dry_run": false}',
    "a key twice by another spelling": build_body(**END)[:-1]
    + b', "client": "a", "cl\\u0069ent": "b"}',
    "a cell twice": b'{"operations": [{"op": "delete", "cell": 0, "cell": 1}]}',
    "a key twice in metadata": build_body(**END, metadata={"x": [{"a": 1, "b": 2}]}).replace(
        b'"b"', b'"a"'
    ),
    "a list": b"[]",
    "no operations": b'{"operations": []}',
    "more than 1000 operations": json.dumps({"operations": [END] * 1001}).encode(),
    "a label of 201 characters": json.dumps({"operations": [END], "client": "x" * 201}).encode(),
}
#: What the second operation of a batch is.
OPERATIONS: dict[str, Any] = {
    "not an object": "delete",
    "without op": {"cell": "alpha"},
    "an unknown op": op("execute", cell="alpha"),
    "an unknown field": {**DELETE, "force": True},
    "a field of another op": {**DELETE, "source": "x"},
    "cell of none": op("delete"),
    "replace without anything": op("replace", cell="alpha"),
    "a negative index of a cell": op("delete", cell=-1),
    "a cell of 5000 digits": op("delete", cell="@5000"),
    "an unknown type": {**END, "cell_type": "heading"},
    "no position": INSERT,
    "no position to move to": op("move", cell="alpha"),
    "two positions": {**INSERT, "at": "end", "index": 0},
    "all positions": {**INSERT, "at": "end", "index": 0, "after": "alpha", "before": "alpha"},
    "an index beyond the end": {**INSERT, "index": 4},
    "an index of 5000 digits": {**INSERT, "index": "@5000"},
    "an id that is taken": {**END, "id": "alpha"},
    "an id with a space": {**END, "id": "a b"},
    "an id with a line feed behind it": {**END, "id": "ab\n"},
    "an id of no characters": {**END, "id": ""},
    "an id of 65 characters": {**END, "id": "x" * 65},
    "outputs to insert": {**END, "outputs": [samples.HTML_OUTPUT]},
    "outputs to replace": op("replace", cell="alpha", source="x", outputs=[samples.HTML_OUTPUT]),
    "metadata with trust": {**END, "metadata": {"trusted": True}},
    "metadata without trust": {**END, "metadata": {"trusted": False}},
    "metadata with trust inside": {**END, "metadata": {"a": [{"b": [[{"trusted": True}]]}]}},
    "metadata that are deep": {**END, "metadata": {"a": "@nested"}},
    "metadata with 5000 digits": {**END, "metadata": {"a": "@5000"}},
    "a guard of nothing": {**DELETE, "expect": {}},
    "a guard of two things": {**DELETE, "expect": {"source": "x = 1\nx", "source_hash": HASH}},
}
NOT_NOTEBOOKS = {
    "not JSON": b"not a notebook",
    "truncated": GOOD[: len(GOOD) // 2],
    "followed by something": GOOD + b"x",
    "with conflict markers": GOOD.replace(b' "metadata"', b'<<<<<<< HEAD\n "metadata"'),
    "empty": b"",
    "only a byte order mark": b"\xef\xbb\xbf",
    "Latin-1": GOOD.replace(b"# Title", b"# Caf\xe9"),
    "UTF-16": GOOD.decode().encode("utf-16"),
    "a surrogate in UTF-8": GOOD.replace(b"# Title", b"\xed\xa0\x80"),
    "a list": b"[]",
    "nested too deeply": GOOD.replace(b"{", b'{"x": ' + build_nested(100_000) + b", ", 1),
    "without cells": b'{"metadata": {}, "nbformat": 4, "nbformat_minor": 5}',
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
}
#: Notebooks whose first cell cannot be read in one way only.
BROKEN_CELLS = {
    "two sources": GOOD.replace(b'"source": "x', b'"source": "y", "source": "x'),
    "two ids": GOOD.replace(b'"id": "alpha"', b'"id": "beth", "id": "alpha"'),
    "two metadata": GOOD.replace(b'"outputs"', b'"metadata": {"trusted": true}, "outputs"'),
    "a number for source": GOOD.replace(b'"source": "x = 1\\nx"', b'"source": 1'),
    "no type": GOOD.replace(b'"cell_type": "code"', b'"kind": "code"'),
    "a number as type": GOOD.replace(b'"cell_type": "code"', b'"cell_type": 1'),
    "a number in source": GOOD.replace(b'"source": "x = 1\\nx"', b'"source": ["x", 1]'),
}


def _no_cell(cell: str, member: str = "cell") -> Case:
    operation = op("delete") if member == "cell" else INSERT
    there = {"available_ids": ["alpha", "beta", "gamma"], "total_cells": 3}
    return Case(patch({**operation, member: cell}), {"cell": cell, **there, "operation": 0})


#: By the reasons; a request alone is a case without details.
REFUSED: dict[str, Mapping[str, Send | Case]] = {
    "invalid_request": {
        **{f"body: {name}": send_body(body) for name, body in BODIES.items()},
        "surrogates: one": surrogates(rb"\ud800", rb"\ud800"),
        "surrogates: a low one": surrogates(rb"a\udfffb", rb"\udfff"),
        "surrogates: a high one": surrogates(rb"\uD83D is half", rb"\uD83D"),
        "surrogates: one before a pair": surrogates(rb"\ud83d\ud83d\ude00", rb"\ud83d"),
        "surrogates: two that are apart": surrogates(rb"\ud83d x \ude00", rb"\ud83d"),
        "surrogates: one before a backslash": surrogates(rb"\ud83d\\ude00", rb"\ud83d"),
        "surrogates: one behind a pair": surrogates(rb"\\ud800 \ud83d\ude00 \udead", rb"\udead"),
        "session: beyond ASCII": set_header("X-NbEdit-Session", "\u00e9t\u00e9s!"),
        "session: with a tab": set_header("X-NbEdit-Session", "a\tb"),
        "key: too long": set_header("Idempotency-Key", "k" * 201),
        "key: empty": set_header("Idempotency-Key", ""),
        "If-Match: no quotes": set_header("If-Match", HASH),
        "If-Match: two": set_header("If-Match", f'"{HASH}", "{HASH}"'),
        "If-Match: one quote": set_header("If-Match", f'"{HASH}'),
        "If-Match: another hash than the body's": set_header(
            "If-Match", f'"{HASH}"', hash="1" * 64
        ),
        "query: another name": get(f"{NOTEBOOK}?other=1"),
        "query: a time with a value": get(f"{NOTEBOOK}?1700000000000=1"),
        "query: nearly a time": get(f"{NOTEBOOK}?17x"),
        "query: twice": get(f"{NOTEBOOK}?view=full&view=full"),
        "query: no choice": get(f"{NOTEBOOK}?view=SOURCE"),
        "query: no number": get(f"{NOTEBOOK}?max_chars=x"),
        "query: not UTF-8": get(f"{NOTEBOOK}?section=%FF"),
        "query: too long a wait for tabs": Send(
            f"{NOTEBOOK}?wait_tabs=10001", {"operations": [END]}, "PATCH"
        ),
        "query: too long a wait for a decision": get("nbedit/proposals/1?wait=61"),
        "query: too long a page": get(f"{NOTEBOOK}/history?limit=201"),
        "query: no URL": get("nbedit/agents?url=hub/nbedit/mcp"),
        "query: a URL in two lines": get("nbedit/agents?url=http://hub/%0Aa"),
        "query: a URL that is no address of HTTP": get("nbedit/agents?url=javascript:alert(1)"),
        "mode: none of the modes": Send("nbedit/mode", {"mode": "off"}, "PUT"),
        "section: a name that is too long": get(f"{NOTEBOOK}?section={'x' * 5000}"),
        "delete: a body": Send(CELL, {}, "DELETE"),
        "delete: an index below zero": Send(f"{NOTEBOOK}/cells/-1", None, "DELETE", {}),
        "create: If-Match": Send(CREATE.target, {}, "PUT", {**JSON, "If-Match": f'"{HASH}"'}),
        "create: If-None-Match": Send(
            CREATE.target, {}, "PUT", {**JSON, "If-None-Match": f'"{HASH}"'}
        ),
        "accept: a part that is not": decide(ACCEPT, EDIT, parts=[999]),
        "reject: a part that is not": decide(REJECT, EDIT, parts=[-1]),
        "accept: a source of a part that is not": decide(
            ACCEPT, EDIT, sources=[{**SOURCE, "part": 1}]
        ),
        "accept: a source of a part that is not accepted": decide(
            ACCEPT, patch(DELETE, {**DELETE, "cell": "beta"}), parts=[1], sources=[SOURCE]
        ),
        "accept: a source twice": decide(ACCEPT, EDIT, sources=[SOURCE, SOURCE]),
        "accept: no source for a cell that stays": decide(
            ACCEPT, EDIT, sources=[{**SOURCE, "source": None}]
        ),
        "accept: no source for a new cell": decide(
            ACCEPT,
            patch(END),
            sources=[{**SOURCE, "source_hash": compute_hash("x"), "source": None}],
        ),
        "accept: a source for a cell that is deleted": decide(
            ACCEPT, patch(DELETE), sources=[SOURCE]
        ),
        "accept: a source for the metadata of the notebook": decide(
            ACCEPT, patch({"op": "set_metadata", "patch": {"k": 1}}), sources=[SOURCE]
        ),
        "accept: a source for a new notebook": decide(ACCEPT, CREATE, sources=[SOURCE]),
        "accept: a reason": decide(ACCEPT, EDIT, reason="x"),
        "reject: too long a reason": decide(REJECT, EDIT, reason="x" * 1001),
        "accept: a part of a new notebook": decide(ACCEPT, CREATE, parts=[0]),
        "accept: If-Match of a new notebook": Case(
            Send(ACCEPT.target, {}, headers={**JSON, "If-Match": f'"{HASH}"'}),
            first=[CREATE],
            mode="review",
        ),
        "search: nothing": search(),
        "search: a text and an expression": search(query="x", regex="x"),
        "search: several lines": search(query="x\ny"),
        "search: no expression": search(regex="("),
        "search: an expression that is too large": search(regex=r"\pL{100}"),
        "search: an expression that looks around": search(regex="(?=x)"),
        "search: another's cursor": search(query="x", cursor="?"),
        "tabs: no WebSocket": get("nbedit/tabs"),
        "path: no name of a notebook": get("nbedit/notebooks/a.txt"),
        "path: no route (404)": get("nbedit/nothing"),
        "verb: none of the route (405)": Send("nbedit/mode", {}),
    },
    "invalid_operation": {
        **{f"form: {name}": second(operation) for name, operation in OPERATIONS.items()},
        "metadata of a cell": Case(
            patch(op("set_metadata", cell=0, patch=SLOW)), {"operation": 0, "member": "tags"}
        ),
        "metadata of the notebook": Case(
            patch(END, op("set_metadata", patch={"tags": "free", "title": ["x"]})),
            {"operation": 1, "member": "title"},
        ),
        "metadata of a new cell": Case(
            patch({**END, "metadata": SLOW}, dry_run=True), {"operation": 0, "member": "tags"}
        ),
        "metadata of a cell to insert": Case(
            Send(
                f"{NOTEBOOK}/cells",
                {"source": "x", "cell_type": "code", "at": "start", "metadata": SLOW},
            ),
            {"member": "tags"},
        ),
        "metadata of a cell to change": Case(
            Send(CELL, {"metadata": SLOW}, "PATCH"), {"member": "tags"}
        ),
        "metadata of a new notebook": Case(
            Send(
                CREATE.target,
                {"cells": [{"source": "x", "cell_type": "raw", "metadata": SLOW}]},
                "PUT",
            ),
            {"member": "tags", "cell": 0},
        ),
        "an id where the format has none": Case(patch({**END, "id": "new"}), {"id": "new"}, NO_IDS),
        "two new cells with one id": Case(patch(*[{**END, "id": "new"}] * 2), {"operation": 1}),
        "a cell that is gone": Case(patch(DELETE, {**DELETE, "cell": 0}), {"operation": 1}),
        "attachments of one name": Case(patch(op("merge", cells=["one", "two"])), {}, PICTURES),
        "code in the midst of a cell": Case(
            patch(op("append_to_section", section="One", source="z", cell_type="code")),
            {},
            SECTIONS,
        ),
        "a cell is not to be changed": Send(CELL, {}, "PATCH"),
        "outputs of metadata": Send(CELL, {"metadata": {}, "outputs": "keep"}, "PATCH"),
        "a guard of none": row(op("set_metadata", patch={}, expect={"source": "z"})),
        "a guard of several": row(op("delete", cells=["raw"], expect={"source": "z"})),
        "old without new": row(op("replace_text", cell="raw", old="as")),
        "old and edits": row(
            op("replace_text", cell="raw", old="as", new="", edits=build_texts(("a", "")))
        ),
        "an empty old": row(op("replace_text", cell="raw", old="", new="z")),
        "cell and cells": row(op("delete", cell="raw", cells=["code"])),
        "a cell named twice": row(op("delete", cells=["raw", 2]), cell=2),
        "split at the first line": row(op("split", cell="code", at_line=1)),
        "split behind the last line": row(op("split", cell="code", at_line=4), lines=3),
        "merge of one": row(op("merge", cells=["code"])),
        "merge of two types": row(op("merge", cells=["code", "text"]), cell="text"),
        "merge of no neighbours": row(op("merge", cells=["code", "locked"]), cell="locked"),
        "clear_outputs of nothing": row(op("clear_outputs")),
        "clear_outputs, all false": row(op("clear_outputs", all=False)),
        "trust of the notebook": row(op("set_metadata", patch={"trusted": None})),
        "trust of a cell": row(op("set_metadata", cell="raw", patch={"a": [{"trusted": True}]})),
        "no position of a cell to insert": Send(
            f"{NOTEBOOK}/cells", {"source": "x", "cell_type": "code"}
        ),
        "two cells of a new notebook with one id": Case(
            Send(
                CREATE.target, {"cells": [{"source": "", "cell_type": "raw", "id": "a"}] * 2}, "PUT"
            ),
            {"cell": 1},
        ),
    },
    "unsupported_media_type": {
        "none": send_body(build_body(**END), {}),
        "another": send_body(build_body(**END), {"Content-Type": "text/json"}),
        "nearly": send_body(build_body(**END), {"Content-Type": "application/jsonp"}),
        "two": send_body(build_body(**END), {"Content-Type": "application/json, text/plain"}),
        "a form": send_body(FORM, {"Content-Type": "multipart/form-data; boundary=x"}),
    },
    "too_large": {
        "a byte": Case(
            send_body(build_body(**END).ljust(LIMIT + 1)), {"bytes": LIMIT + 1, "limit": LIMIT}
        ),
    },
    "forbidden": {
        "a wrong token": Case(get(NOTEBOOK), token="wrong"),  # noqa: S106 -- it is none
        "a fixed mode": Case(Send("nbedit/mode", {"mode": "plan"}, "PUT"), server="nobody"),
    },
    "plan_mode": {
        "of the server": Case(EDIT, mode="plan"),
        "of the notebook": Case(EDIT, first=[PAUSE]),
        "to create": Case(CREATE, mode="plan"),
        "to undo": Case(Send(UNDO, {}), mode="plan"),
    },
    "cell_protected": {
        "replace": row(op("replace", cell="locked", source="z"), cell="locked"),
        "replace_text": row(op("replace_text", cell="locked", old="l", new="z")),
        "split": row(op("split", cell="locked", at_line=2)),
        "clear_outputs": row(op("clear_outputs", cell="locked")),
        "clear_outputs of all": row(op("clear_outputs", all=True), cell="locked"),
        "set_metadata": row(op("set_metadata", cell="locked", patch={"tags": []})),
        "delete": row(op("delete", cell="kept"), cell="kept"),
        "merge": row(op("move", cell="kept", after="raw"), op("merge", cells=["raw", "kept"])),
        "replace_section": row(op("replace_section", section="Title", source="z"), cell="kept"),
    },
    "notebook_not_found": {
        "to read": get("nbedit/notebooks/no.ipynb"),
        "to pause": Send("nbedit/mode", {"mode": "plan", "path": "no.ipynb"}, "PUT"),
        "to create": Send("nbedit/notebooks/no/new.ipynb", {}, "PUT"),
        "to search": search(query="x", path="no"),
        "to undo": Send("nbedit/notebooks/no.ipynb/undo", {}),
    },
    "notebook_exists": {
        "anything": Send(NOTEBOOK, {}, "PUT"),
        "in review mode": Case(Send(NOTEBOOK, {}, "PUT"), mode="review"),
    },
    "cell_not_found": {
        **{f"id {cell!r}": _no_cell(cell) for cell in ("", "cell-3", "cell-03", "cell-٣", "Alpha")},
        "to insert after": _no_cell("nobody", "after"),
        "to insert before": _no_cell("nobody", "before"),
        "to read": get(f"{NOTEBOOK}/cells/nobody"),
        "an index": Case(patch(op("delete", cell=2**53 - 1)), {"total_cells": 3}),
        "one of fifty": Case(
            patch(DELETE),
            {"available_ids": [f"id-{n}" for n in range(10)], "total_cells": 50},
            MANY,
        ),
        "one of those without ids": Case(
            patch(DELETE), {"available_ids": ["cell-0", "cell-1"]}, NO_IDS
        ),
        "beside an id that UTF-8 cannot say": Case(
            patch(op("delete", cell="nobody")),
            {"available_ids": ["alpha", "\ud800", "gamma"]},
            GOOD.replace(b'"beta"', b'"\\ud800"'),
        ),
        "the third of four": Case(patch(END, END, op("delete", cell="x"), END), {"operation": 2}),
    },
    "ambiguous_cell": {
        "to delete": Case(patch(op("delete", cell="twin")), {"indexes": [1, 2]}, TWINS),
        "to insert after": Case(patch({**INSERT, "after": "twin"}), {"indexes": [1, 2]}, TWINS),
        "a guarded name": Case(
            patch(op("delete", cell=name_cell(1, "x"))),
            {"indexes": [0, 1], "candidates": [f"{name_cell(n, 'x')}~" for n in (0, 1)]},
            samples.notebook(samples.raw("x"), samples.raw("x"), minor=4),
        ),
    },
    "section_not_found": {
        "no such": row(
            op("append_to_section", section="Tit", source=""),
            outline=[{"level": 1, "text": "Title", "line": 1, "cell_id": "text", "index": 1}],
        ),
        "of another level": row(
            op("replace_section", section="## Title", source=""), section="## Title"
        ),
    },
    "ambiguous_section": {
        "two": Case(patch(op("replace_section", section="Two", source="z")), {}, SECTIONS)
    },
    "text_mismatch": {
        "absent": row(op("replace_text", cell="code", old="X", new=""), count=0, lines=[]),
        "not unique": row(
            op("replace_text", cell="code", old="x", new=""), count=3, lines=[1, 2, 3]
        ),
        "overlapping": row(
            op("replace", cell="raw", source="aaa"),
            op("replace_text", cell="raw", old="aa", new=""),
            count=2,
            lines=[1],
            operation=1,
        ),
        "the second edit": row(
            op("replace_text", cell="raw", edits=build_texts(("as", "is"), ("is", ""))),
            count=2,
            edit=1,
        ),
        "no such entry": row(op("remove_entry", section="Title", match="words"), count=0),
    },
    "cell_changed": {
        "a guard": row(
            op("clear_outputs", cell="raw", expect={"source": "z"}),
            source="as is",
            source_hash=compute_hash("as is"),
        ),
        "a guarded name": Case(
            patch(op("delete", cell="1:000000")),
            {"index": 1, "name": name_cell(1, "# Title"), "source": "# Title"},
        ),
        "a guarded name of a cell beyond the end": Case(
            patch(op("delete", cell="3:000000")), {"cell": "3:000000", "total_cells": 3}
        ),
        "a source that UTF-8 cannot say": Case(
            patch(op("delete", cell="beta", expect={"source": ""})),
            {"cell": "beta", "source": "\ud800", "operation": 0},
            GOOD.replace(b"# Title", b"\\ud800"),
        ),
        "since it was proposed": Case(ACCEPT, first=[EDIT, OTHERS], mode="review"),
    },
    "hash_mismatch": {
        "of the header": Case(set_header("If-Match", f'"{HASH}"'), {"expected": HASH}),
        "of the body": Case(patch(END, hash=HASH), {"expected": HASH}),
        "of the body, any in the header": set_header("If-Match", "*", hash=HASH),
    },
    # The session has read nothing, whatever other cases have read before.
    "read_required": {
        "anything": Case(set_header("X-NbEdit-Session", "of this case"), server="owners")
    },
    "version_unknown": {
        "since": Case(get(f"{NOTEBOOK}?since={HASH}"), {"since": HASH}),
        "since a rev": Case(get(f"{NOTEBOOK}?since={HASH[:8]}"), {"since": HASH[:8]}),
        "since too short a rev": Case(get(f"{NOTEBOOK}?since={HASH[:7]}"), {"since": HASH[:7]}),
    },
    "idempotency_mismatch": {
        "another request": Case(patch(END, END, headers=KEY), first=[patch(END, headers=KEY)])
    },
    "undo_conflict": {
        "changed since": Case(Send(UNDO, {}), first=[EDIT, OTHERS]),
        "restore what was changed since": Case(
            Send(RESTORE, {"edit_id": "{0}"}), first=[EDIT, EDIT_AGAIN, OTHERS]
        ),
    },
    "page_unknown": {
        "no such page": Case(Send(UNDO, {}, headers={"X-NbEdit-Page": "0" * 32})),
        "no id": Case(Send(UNDO, {}, headers={"X-NbEdit-Page": ""})),
    },
    "nothing_to_undo": {
        "undo": Send(UNDO, {}),
        "redo": Send(REDO, {}),
        "undo twice": Case(Send(UNDO, {"edit_id": "{0}"}), first=[EDIT, Send(UNDO, {})]),
        "undo an undo": Case(Send(UNDO, {"edit_id": "{1}"}), first=[EDIT, Send(UNDO, {})]),
        "undo where nothing but a creation was": Case(
            Send("nbedit/notebooks/new.ipynb/undo", {}), first=[CREATE]
        ),
        "undo a creation": Case(
            Send("nbedit/notebooks/new.ipynb/undo", {"edit_id": "{0}"}), first=[CREATE]
        ),
        "redo what is in effect": Case(Send(REDO, {"edit_id": "{0}"}), first=[EDIT]),
    },
    "edit_not_found": {
        "to undo": Case(Send(UNDO, {"edit_id": 10**9}), {"edit_id": 10**9}),
        "to restore": Case(Send(RESTORE, {"edit_id": 10**9}), {"edit_id": 10**9}),
        "to read": get(f"{NOTEBOOK}/history/9999999"),
        "of another notebook": Case(
            Send("nbedit/notebooks/new.ipynb/undo", {"edit_id": "{0}"}), first=[EDIT, CREATE]
        ),
    },
    "change_not_found": {
        "to keep": Case(Send(KEEP, {"cells": ["0.7"]}), {"keys": []}),
        "to undo": Case(Send(UNDO, {"cells": ["0.7"]}), {"keys": []}),
    },
    "proposal_not_found": {
        "to read": get("nbedit/proposals/999999"),
        "of 30 digits": get(f"nbedit/proposals/{'9' * 30}"),
        "of 5000 digits": get(f"nbedit/proposals/{'9' * 5_000}"),
        "to accept": Send("nbedit/proposals/999999/accept", {}),
        "to reject": Send("nbedit/proposals/999999/reject", {}),
        "to reopen": Send("nbedit/proposals/999999/reopen", {}),
    },
    "proposal_closed": {
        "rejected": Case(ACCEPT, first=[EDIT, REJECT], mode="review"),
        "to reopen": Case(REOPEN, first=[EDIT], mode="review"),
    },
    "too_many_proposals": {
        "one": Case(EDIT, first=[get(NOTEBOOK), EDIT], mode="review", server="owners")
    },
    "tool_not_found": {
        name: Case(Send(f"nbedit/tools/{tool}", {}), {"tools": list(TOOLS)})
        for name, tool in {
            "a name": "nexo/Read",
            "a dialect": "Nexo/NotebookEdit",
            "a dialect alone": "nexo",
            "more than a name": "nexo/NotebookEdit/x",
        }.items()
    },
    "invalid_notebook": {
        **{
            f"file: {name}": Case(get(NOTEBOOK), {}, text, same=[EDIT, patch(DELETE, dry_run=True)])
            for name, text in NOT_NOTEBOOKS.items()
        },
        **{
            f"cell: {name}": Case(
                patch(op("delete", cell=0)),
                {"index": 0, "operation": 0},
                text,
                same=[
                    patch(op("replace", cell=0, **new))
                    for new in ({"source": "y"}, {"cell_type": "raw"})
                ],
            )
            for name, text in BROKEN_CELLS.items()
        },
    },
    "not_a_plain_file": {"a hard link": Case(EDIT, {"links": 2}, fault=link_twice)},
    "busy": {"being saved": Case(EDIT, fault=save_elsewhere)},
    "no_space": {"a full disk": Case(EDIT, fault=limit_files(1))},
    "io_error": {"a failing disk": Case(get(NOTEBOOK), fault=fail_reads)},
    "history_unavailable": {"no database": Case(get(f"{NOTEBOOK}/history"), fault=lose_database)},
    "modes_unreadable": {"no database": Case(EDIT, fault=lose_database)},
}
#: By the names that they have in `messages.txt`.
CASES: dict[str, tuple[str, Case]] = {
    f"{reason}, {name}": (reason, case if isinstance(case, Case) else Case(case))
    for reason, cases in REFUSED.items()
    for name, case in cases.items()
}
