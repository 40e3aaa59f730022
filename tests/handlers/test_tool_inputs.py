"""Every field of every tool: refused in the form of the tool, or accepted as meant.

Of what is refused, not a byte of any file changes.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from tests.handlers.bad_requests import LIMIT
from tests.handlers.error_checks import build_nested, no_changes
from tests.handlers.tool_failures import parse_failure
from tests.handlers.tool_inputs import (
    FIELDS,
    INPUTS,
    NOTEBOOK,
    PATHS,
    SCHEMAS,
    TEXT,
    call,
    list_required,
    post,
)
from tests.support import samples
from tests.support.http import JSON, Answer, Client
from tests.support.sampling import choose

FILES = {"a.ipynb": samples.three_cells(), "a.md": b"# Title\n\n- one\n- two\n"}
#: What `notebook_create` creates.
NEW = "new.ipynb"
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
    "huge": "x" * 1_000_000,
    "with NUL": "a\0b",
    "with control characters": "\x01\x1b[31m\r\x7f\x85",
}
#: What else must be sent for a field to matter.
MORE = {("sections/notebook_edit", "entry_match"): {"action": "remove_entry"}}
#: What is no mistake: a cell may hold anything that JSON can express, and a file anything but NUL.
ALLOWED = {
    "new_source": TEXTS.keys(),
    "omp/notebook content": TEXTS.keys(),
    "content": TEXTS.keys() - {"with NUL"},
    "new_string": TEXTS.keys() - {"with NUL"},
}
# What is accepted and stored in neither file.
_ANY = TEXTS.keys() - {"huge"}
ELSEWHERE = {
    "agent/notebook_create kernelspec": _ANY - {"empty"},
    "agent/notebook_create path": {"with control characters"},
    "agent/notebook_edit message": _ANY,
    "agent/notebook_search cursor": {"empty"},
    "agent/notebook_search folder": {"empty"},
    "agent/notebook_search text": _ANY,
}
EACH_TOOL = pytest.mark.parametrize("tool", INPUTS)
EACH_FIELD = pytest.mark.parametrize(("tool", "name"), FIELDS)


@pytest.fixture
def files(live: Client) -> Iterator[Client]:
    """Write the two files that the inputs are about, and read them."""
    write_files(live)
    yield live
    for path in live.root.iterdir():
        path.unlink()


def write_files(live: Client) -> None:
    (live.root / NEW).unlink(missing_ok=True)
    for name, content in FILES.items():
        (live.root / name).write_bytes(content)
    for path in (NOTEBOOK, TEXT):
        assert call(live, "claude_code/Read", {"file_path": path}).status == 200


def assert_refused(files: Client, tool: str, answer: Answer, *statuses: int) -> None:
    assert answer.status in statuses, answer.body
    parse_failure(tool, answer, f"{files.root}/")


def list_types(schema: dict[str, Any]) -> set[str]:
    """Return the types that a schema allows."""
    found = {kind for part in schema.get("anyOf", []) for kind in list_types(part)}
    if "enum" in schema:
        found.add("string")
    if "type" in schema:
        found.add(schema["type"])
    return found


@EACH_TOOL
def test_an_input_with_all_fields_is_accepted(files: Client, tool: str) -> None:
    assert call(files, tool, INPUTS[tool]).status == 200


@EACH_FIELD
def test_a_value_outside_the_schema_is_refused(files: Client, tool: str, name: str) -> None:
    allowed = list_types(SCHEMAS[tool]["properties"][name])
    assert allowed
    assert allowed <= set(VALUES)
    # Models also send null for what they leave out, and integers as texts.
    is_optional, is_integer = name not in list_required(tool), "integer" in allowed
    allowed |= ({"null"} if is_optional else set()) | ({"string"} if is_integer else set())
    values = [value for kind, value in VALUES.items() if kind not in allowed]
    values += ["\ud800", "a\udfffb", *([-1, 10**30, 2**53] if is_integer else [])]
    with no_changes(files.root):
        for value in choose(f"{tool} {name}", values, 4):
            answer = call(files, tool, {**INPUTS[tool], name: value})
            assert_refused(files, tool, answer, 400)


@EACH_TOOL
def test_an_input_with_missing_or_unknown_fields_is_refused(files: Client, tool: str) -> None:
    fewer = [
        {other: value for other, value in INPUTS[tool].items() if other != name}
        for name in list_required(tool)
    ]
    more = [{**INPUTS[tool], name: 1} for name in ("nonsense", "", "Cell_Id", "outputs", "\0")]
    with no_changes(files.root):
        for arguments in (*fewer, *more):
            assert_refused(files, tool, call(files, tool, arguments), 400)


@EACH_FIELD
def test_an_odd_text_is_refused_or_stored_unchanged(files: Client, tool: str, name: str) -> None:
    if "string" not in list_types(SCHEMAS[tool]["properties"][name]):
        return
    allowed = ALLOWED.get(f"{tool} {name}", ALLOWED.get(name, ()))
    for kind, text in choose(f"{tool} {name}", TEXTS.items(), 2):
        value = f"~{text}{INPUTS[tool][name][-6:]}" if name in PATHS and text else text
        arguments = {**INPUTS[tool], **MORE.get((tool, name), {}), name: value}
        if kind in ELSEWHERE.get(f"{tool} {name}", ()):
            assert call(files, tool, arguments).status == 200
            write_files(files)
        elif kind in allowed:
            answer = call(files, tool, arguments)
            assert answer.status == 200, answer.body
            assert has_text(files, text)
            write_files(files)
        else:
            with no_changes(files.root):
                assert_refused(files, tool, call(files, tool, arguments), 400, 404, 409)


def has_text(files: Client, text: str) -> bool:
    """Return whether a text has arrived as it was sent, apart from its line ends."""
    notebook, file = ((files.root / name).read_bytes() for name in FILES)
    # A cell has line feeds, a section the line ends of its file.
    plain = text.replace("\r", "\n")
    sources = ["".join(cell["source"]) for cell in samples.load_cells(notebook)]
    return plain in sources or text in file.decode() or plain in file.decode()


BODIES = {
    "nothing": b"",
    "not JSON": b"new_source",
    "cut off": b'{"notebook_path": "a.ip',
    "not UTF-8": b'{"notebook_path": "\xff"}',
    "a list": b"[]",
    "null": b"null",
    "a text": b'"alpha"',
    "NaN": b'{"notebook_path": NaN}',
    "nested too deeply": build_nested(100_000),
}


@EACH_TOOL
def test_a_malformed_request_is_refused_in_the_form_of_the_tool(files: Client, tool: str) -> None:
    good = json.dumps(INPUTS[tool]).replace("~", f"{files.root}/").encode()
    with no_changes(files.root):
        for body in choose(tool, BODIES.values(), 4):
            assert_refused(files, tool, post(files, tool, body), 400)
        assert_refused(files, tool, post(files, tool, good.ljust(LIMIT + 1)), 413)
        answer = post(files, tool, good, {"Content-Type": "text/plain"})
        assert_refused(files, tool, answer, 415)
        for header in ("X-NbEdit-Session", "Idempotency-Key"):
            for value in ("", "x" * 201, "a\tb"):
                answer = post(files, tool, good, {**JSON, header: value})
                assert_refused(files, tool, answer, 400)


def get_outcome(files: Client, tool: str, arguments: Any) -> tuple[int, Any, bytes, bytes]:
    """Call a tool on fresh files; return status, answer, and the files afterwards."""
    write_files(files)
    answer = call(files, tool, arguments)
    notebook, file = ((files.root / name).read_bytes() for name in FILES)
    # Each edit has a number of its own, and each new cell an id.
    text = re.sub(rb"(edit|rev) \w+", rb"\1", answer.body)
    return answer.status, text, notebook, file


def list_members(schema: Any, value: Any, path: Sequence[str | int] = ()) -> Iterator[Any]:
    """List the members that objects in an input can have: its path, and its schema."""
    for name, inner in schema.get("properties", {}).items():
        yield (*path, name), inner
        yield from list_members(inner, value.get(name), (*path, name))
    for index, item in enumerate(value if "items" in schema and value else ()):
        yield from list_members(schema["items"], item, (*path, index))


def change_member(arguments: Any, path: Sequence[str | int], *values: object) -> Any:
    """Return an input with another value of a member, or without the member."""
    name, *rest = path
    if rest:
        items = enumerate(arguments) if isinstance(arguments, list) else arguments.items()
        changed = {
            key: change_member(item, rest, *values) if key == name else item for key, item in items
        }
        return list(changed.values()) if isinstance(arguments, list) else changed
    others = {key: item for key, item in arguments.items() if key != name}
    return {**others, **{str(name): value for value in values}}


@EACH_TOOL
def test_null_equals_an_omitted_member(files: Client, tool: str) -> None:
    members = list(list_members(SCHEMAS[tool], INPUTS[tool]))
    assert {path[0] for path, _ in members} == set(INPUTS[tool])
    for path, schema in members:
        nulls = change_member(INPUTS[tool], path, None)
        rest = change_member(INPUTS[tool], path)
        if "null" in list_types(schema):
            assert get_outcome(files, tool, nulls)[0] == 200
        else:
            assert get_outcome(files, tool, nulls) == get_outcome(files, tool, rest), path
    optional = [name for name in INPUTS[tool] if name not in list_required(tool)]
    nulls = {**list_required(tool), **dict.fromkeys(optional)}
    assert get_outcome(files, tool, nulls) == get_outcome(files, tool, list_required(tool))


@EACH_TOOL
def test_null_in_a_list_is_refused(files: Client, tool: str) -> None:
    lists = [
        name for name in INPUTS[tool] if "array" in list_types(SCHEMAS[tool]["properties"][name])
    ]
    with no_changes(files.root):
        for name in lists:
            for value in ([None], [*INPUTS[tool][name], None], "[null]"):
                answer = call(files, tool, {**INPUTS[tool], name: value})
                assert_refused(files, tool, answer, 400)


def test_an_index_may_be_a_string_or_an_integral_float(files: Client) -> None:
    arguments = {**INPUTS["omp/notebook"], "cell_type": None}
    expected = get_outcome(files, "omp/notebook", {**arguments, "cell_index": 2})
    assert expected[0] == 200
    for number in ("2", 2.0, "2.0"):
        assert get_outcome(files, "omp/notebook", {**arguments, "cell_index": number}) == expected


@pytest.mark.parametrize("number", ["2", 2.0])
def test_line_numbers_may_be_strings(files: Client, number: object) -> None:
    arguments = {"file_path": TEXT, "offset": number, "limit": number}

    (block,) = call(files, "claude_code/Read", arguments).json["content"]

    assert [line.split("\t")[0].strip() for line in block["text"].splitlines()[:2]] == ["2", "3"]


def test_a_cell_id_of_digits_has_priority_over_an_index(files: Client) -> None:
    cells = samples.code("a", "1"), samples.code("b", "x")
    (files.root / "a.ipynb").write_bytes(samples.notebook(*cells))
    for cell_id in ("1", 1.0, "0"):
        arguments = {**INPUTS["mycode/NotebookEdit"], "cell_id": cell_id}
        assert call(files, "mycode/NotebookEdit", arguments).json["cell_index"] == 0


def test_a_string_that_is_not_clearly_a_number_is_refused(files: Client) -> None:
    with no_changes(files.root):
        for number in ("two", "", " 2", "2.5", 2.5, "-1", "1e400", True, [2], "2" * 99):
            arguments = {**INPUTS["omp/notebook"], "cell_index": number}
            assert_refused(files, "omp/notebook", call(files, "omp/notebook", arguments), 400)


def test_other_routes_stay_strict(files: Client) -> None:
    replace = {"op": "replace", "cell": 0, "source": "x"}
    with no_changes(files.root):
        assert files.patch("a.ipynb", {**replace, "cell_type": None}).status == 400
        move = {"op": "move", "cell": 0, "index": "2"}
        assert files.patch("a.ipynb", move).status == 400
