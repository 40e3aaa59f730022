"""Bad input for every field of every tool, found in the forms themselves.

Each is refused in the form of its dialect, and not a byte of any file changes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jupyter_nbedit.tools import ADDRESSES
from jupyter_nbedit.tools.schemas import input_schema
from tests.handlers.refused import nested, untouched
from tests.handlers.tool_failures import failure
from tests.support import samples
from tests.support.http import JSON, Answer, Client

LIMIT = 16 * 1024 * 1024
NOTEBOOK, TEXT = "~a.ipynb", "~a.md"
HUGE = "x" * 1_000_000

#: For each tool an input with all its fields that it takes.
GOOD: dict[str, dict[str, Any]] = {
    "nexo/NotebookEdit": {
        "notebook_path": NOTEBOOK,
        "cell_id": "alpha",
        "new_source": "new",
        "cell_type": "code",
        "edit_mode": "replace",
    },
    "mycode/NotebookEdit": {
        "notebook_path": NOTEBOOK,
        "cell_id": "alpha",
        "new_source": "new",
        "cell_type": "code",
        "edit_mode": "replace",
        "backup": False,
    },
    "omp/notebook": {
        "action": "edit",
        "notebook_path": NOTEBOOK,
        "cell_index": 0,
        "content": "new",
        "cell_type": "code",
    },
    "sections/notebook_edit": {
        "file": TEXT,
        "action": "append_to_section",
        "section": "Title",
        "content": "new",
        "entry_match": "one",
    },
    "claude_code/Read": {"file_path": TEXT, "offset": 1, "limit": 2000},
    "claude_code/Write": {"file_path": TEXT, "content": "new"},
    "claude_code/Edit": {
        "file_path": TEXT,
        "old_string": "one",
        "new_string": "new",
        "replace_all": False,
    },
    "claude_code/NotebookEdit": {
        "notebook_path": NOTEBOOK,
        "cell_id": "alpha",
        "new_source": "new",
        "cell_type": "code",
        "edit_mode": "replace",
    },
}
FIELDS = [(tool, name) for tool, given in GOOD.items() for name in given]
#: What else must be said for a field to matter.
BESIDE = {("sections/notebook_edit", "entry_match"): {"action": "remove_entry"}}
VALUES: dict[str, Any] = {
    "null": None,
    "boolean": True,
    "number": 1.5,
    "integer": 7,
    "array": ["alpha"],
    "object": {"a": 1},
    "string": "7",
}
TEXTS = {
    "empty": "",
    "huge": HUGE,
    "with NUL": "a\0b",
    "with control characters": "\x01\x1b[31m\r\x7f\x85",
}
INTEGERS = {"negative": -1, "huge": 10**30, "just too large": 2**53}
#: What is no mistake: a cell may say anything that JSON can say, and a file anything but NUL.
FREE = {
    ("nexo/NotebookEdit", "new_source"): TEXTS.keys(),
    ("mycode/NotebookEdit", "new_source"): TEXTS.keys(),
    ("claude_code/NotebookEdit", "new_source"): TEXTS.keys(),
    ("omp/notebook", "content"): TEXTS.keys(),
    ("sections/notebook_edit", "content"): TEXTS.keys() - {"with NUL"},
    ("claude_code/Write", "content"): TEXTS.keys() - {"with NUL"},
    ("claude_code/Edit", "new_string"): TEXTS.keys() - {"with NUL"},
}


@pytest.fixture
def root(live: Client) -> Iterator[Path]:
    """Put the two files there that the good inputs are about, for sessions that have read them."""
    (live.root / "a.ipynb").write_bytes(samples.three_cells())
    (live.root / "a.md").write_bytes(b"# Title\n\n- one\n- two\n")
    for path in (NOTEBOOK, TEXT):
        assert send(live, "claude_code/Read", {"file_path": path}).status == 200
    yield live.root
    (live.root / "a.ipynb").unlink()
    (live.root / "a.md").unlink()


def spelled(given: dict[str, Any], root: Path) -> dict[str, Any]:
    return {
        name: value.replace("~", f"{root}/") if isinstance(value, str) else value
        for name, value in given.items()
    }


def send(live: Client, tool: str, given: dict[str, Any], **headers: str) -> Answer:
    body = json.dumps(spelled(given, live.root)).encode()
    return post(live, tool, body, **headers)


def post(live: Client, tool: str, body: bytes, **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return live.request("POST", f"nbedit/tools/{tool}", body, {**JSON, **named})


def types_of(schema: dict[str, Any]) -> set[str]:
    found = {kind for part in schema.get("anyOf", []) for kind in types_of(part)}
    if "enum" in schema:
        found.add("string")
    if "type" in schema:
        found.add(schema["type"])
    return found


def accepted_besides(tool: str, name: str) -> set[str]:
    """Return what the schema does not show to models, but what is taken from those that send it."""
    optional = name not in input_schema(ADDRESSES[tool].form)["required"]
    is_integer = "integer" in types_of(schema_of(tool, name))
    return ({"null"} if optional else set()) | ({"string"} if is_integer else set())


def schema_of(tool: str, name: str) -> dict[str, Any]:
    found: dict[str, Any] = input_schema(ADDRESSES[tool].form)["properties"][name]
    return found


def is_path(name: str) -> bool:
    return name in {"notebook_path", "file_path", "file"}


def assert_refused(live: Client, tool: str, given: dict[str, Any], *statuses: int) -> None:
    with untouched(live.root):
        answer = send(live, tool, given)
    assert answer.status in statuses, (given, answer.body)
    failure(tool, answer, f"{live.root}/")


def test_the_good_inputs_have_every_field_of_every_tool() -> None:
    for tool, found in ADDRESSES.items():
        assert set(GOOD[tool]) == set(input_schema(found.form)["properties"])


@pytest.mark.parametrize("tool", GOOD)
def test_the_good_inputs_are_good(live: Client, root: Path, tool: str) -> None:
    assert root == live.root
    assert send(live, tool, GOOD[tool]).status == 200


@pytest.mark.usefixtures("root")
@pytest.mark.parametrize(("tool", "name"), FIELDS)
def test_a_value_of_another_type_is_refused(live: Client, tool: str, name: str) -> None:
    allowed = types_of(schema_of(tool, name))
    assert allowed
    assert allowed <= set(VALUES)
    for kind in VALUES.keys() - allowed - accepted_besides(tool, name):
        assert_refused(live, tool, {**GOOD[tool], name: VALUES[kind]}, 400)


@pytest.mark.usefixtures("root")
@pytest.mark.parametrize("tool", GOOD)
def test_what_is_required_and_missing_is_refused(live: Client, tool: str) -> None:
    for name in input_schema(ADDRESSES[tool].form)["required"]:
        rest = {other: value for other, value in GOOD[tool].items() if other != name}
        assert_refused(live, tool, rest, 400)


@pytest.mark.usefixtures("root")
@pytest.mark.parametrize("tool", GOOD)
def test_an_unknown_field_is_refused(live: Client, tool: str) -> None:
    for name in ("nonsense", "", "Cell_Id", "outputs", "\0"):
        assert_refused(live, tool, {**GOOD[tool], name: 1}, 400)


@pytest.mark.parametrize(("tool", "name"), FIELDS)
def test_an_odd_text_is_refused_or_kept_as_it_is(
    live: Client, root: Path, tool: str, name: str
) -> None:
    if "string" not in types_of(schema_of(tool, name)):
        return
    before = {path: path.read_bytes() for path in root.iterdir()}
    for kind, text in TEXTS.items():
        value = text if not is_path(name) or not text else f"~{text}{GOOD[tool][name][-6:]}"
        given = {**GOOD[tool], **BESIDE.get((tool, name), {}), name: value}
        if kind not in FREE.get((tool, name), ()):
            assert_refused(live, tool, given, 400, 404, 409)
            continue
        answer = send(live, tool, given)
        assert answer.status == 200, answer.body
        assert holds(root, text)
        for path, content in before.items():
            path.write_bytes(content)
            assert send(live, "claude_code/Read", {"file_path": str(path)}).status == 200


def holds(root: Path, text: str) -> bool:
    """Return whether a text has arrived as it was sent, apart from its line ends."""
    sources = [
        "".join(cell["source"]) for cell in samples.cells_of((root / "a.ipynb").read_bytes())
    ]
    # A cell has line feeds, a section the line ends of its file.
    plain = text.replace("\r", "\n")
    file = (root / "a.md").read_bytes().decode()
    return plain in sources or text in file or plain in file


@pytest.mark.usefixtures("root")
@pytest.mark.parametrize(("tool", "name"), FIELDS)
def test_a_lone_surrogate_is_refused(live: Client, tool: str, name: str) -> None:
    for text in ("\ud800", "a\udfffb"):
        assert_refused(live, tool, {**GOOD[tool], name: text}, 400)


@pytest.mark.usefixtures("root")
@pytest.mark.parametrize(("tool", "name"), FIELDS)
def test_an_integer_out_of_range_is_refused(live: Client, tool: str, name: str) -> None:
    if "integer" in types_of(schema_of(tool, name)):
        for number in INTEGERS.values():
            assert_refused(live, tool, {**GOOD[tool], name: number}, 400)


BODIES = {
    "nothing": b"",
    "not JSON": b"new_source",
    "cut off": b'{"notebook_path": "a.ip',
    "not UTF-8": b'{"notebook_path": "\xff"}',
    "a list": b"[]",
    "null": b"null",
    "a text": b'"alpha"',
    "NaN": b'{"notebook_path": NaN}',
    "nested too deeply": nested(100_000),
}


@pytest.mark.usefixtures("root")
@pytest.mark.parametrize("tool", GOOD)
def test_a_body_that_is_no_object_of_json_is_refused(live: Client, tool: str) -> None:
    with untouched(live.root):
        for body in BODIES.values():
            answer = post(live, tool, body)
            assert answer.status == 400
            failure(tool, answer)


@pytest.mark.usefixtures("root")
@pytest.mark.parametrize("tool", GOOD)
def test_a_body_that_is_too_large_or_not_called_json_is_refused(live: Client, tool: str) -> None:
    body = json.dumps(spelled(GOOD[tool], live.root)).encode()
    with untouched(live.root):
        answer = post(live, tool, body.ljust(LIMIT + 1))
        assert answer.status == 413
        failure(tool, answer, f"{live.root}/")
        answer = post(live, tool, body, Content_Type="text/plain")
        assert answer.status == 415
        failure(tool, answer, f"{live.root}/")


@pytest.mark.usefixtures("root")
@pytest.mark.parametrize("tool", GOOD)
@pytest.mark.parametrize("header", ["X_NbEdit_Session", "Idempotency_Key"])
def test_a_header_that_says_too_much_or_nothing_is_refused(
    live: Client, tool: str, header: str
) -> None:
    with untouched(live.root):
        for value in ("", "x" * 201, "a\tb"):
            answer = send(live, tool, GOOD[tool], **{header: value})
            assert answer.status == 400, answer.body
            failure(tool, answer, f"{live.root}/")
