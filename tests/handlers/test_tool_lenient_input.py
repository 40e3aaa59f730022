"""Inputs of tools as models write them: null for what is left out, numbers as texts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jupyter_nbedit.tools import ADDRESSES
from jupyter_nbedit.tools.schemas import input_schema
from tests.handlers.refused import untouched
from tests.handlers.test_tool_bad_input import GOOD
from tests.support import samples
from tests.support.http import JSON, Answer, Client

OPTIONAL = [
    (tool, name)
    for tool, given in GOOD.items()
    for name in given
    if name not in input_schema(ADDRESSES[tool].form)["required"]
]


def send(live: Client, tool: str, given: dict[str, Any]) -> Answer:
    spelled = {
        name: value.replace("~", f"{live.root}/") if isinstance(value, str) else value
        for name, value in given.items()
    }
    body = json.dumps(spelled).encode()
    return live.request("POST", f"nbedit/tools/{tool}", body, JSON)


@pytest.fixture
def files(live: Client) -> Client:
    (live.root / "a.ipynb").write_bytes(samples.three_cells())
    (live.root / "a.md").write_bytes(b"# Title\n\n- one\n- two\n")
    read(live)
    return live


def read(live: Client) -> None:
    for name in ("~a.ipynb", "~a.md"):
        assert send(live, "claude_code/Read", {"file_path": name}).status == 200


def outcome(live: Client, tool: str, given: dict[str, Any]) -> tuple[int, bytes, bytes]:
    """Call a tool on files as they were, and return the status and what they hold then."""
    (live.root / "a.ipynb").write_bytes(samples.three_cells())
    (live.root / "a.md").write_bytes(b"# Title\n\n- one\n- two\n")
    read(live)
    answer = send(live, tool, given)
    return answer.status, (live.root / "a.ipynb").read_bytes(), (live.root / "a.md").read_bytes()


@pytest.mark.parametrize(("tool", "name"), OPTIONAL)
def test_null_stands_for_an_optional_field_that_is_left_out(
    files: Client, tool: str, name: str
) -> None:
    rest = {other: value for other, value in GOOD[tool].items() if other != name}

    assert outcome(files, tool, {**GOOD[tool], name: None}) == outcome(files, tool, rest)


@pytest.mark.parametrize("tool", GOOD)
def test_all_optional_fields_may_be_null_at_once(files: Client, tool: str) -> None:
    names = [name for one, name in OPTIONAL if one == tool]
    rest = {name: value for name, value in GOOD[tool].items() if name not in names}

    assert outcome(files, tool, {**rest, **dict.fromkeys(names)}) == outcome(files, tool, rest)


@pytest.mark.parametrize("tool", GOOD)
def test_a_required_field_must_not_be_null(files: Client, tool: str) -> None:
    for name in input_schema(ADDRESSES[tool].form)["required"]:
        with untouched(files.root):
            assert send(files, tool, {**GOOD[tool], name: None}).status == 400


@pytest.mark.parametrize("number", ["2", 2.0, "2.0"])
def test_an_index_may_be_written_as_a_text_or_with_a_fraction_of_zero(
    files: Client, number: object
) -> None:
    given = {**GOOD["omp/notebook"], "cell_type": None}

    found = outcome(files, "omp/notebook", {**given, "cell_index": number})

    assert found == outcome(files, "omp/notebook", {**given, "cell_index": 2})
    assert found[0] == 200


@pytest.mark.parametrize("number", ["2", 2.0])
def test_lines_to_read_may_be_numbers_as_texts(files: Client, number: object) -> None:
    given = {"file_path": "~a.md", "offset": number, "limit": number}

    (block,) = send(files, "claude_code/Read", given).json["content"]

    assert [line.split("\t")[0].strip() for line in block["text"].splitlines()[:2]] == ["2", "3"]


def test_a_cell_id_of_digits_is_an_id_before_it_is_an_index(files: Client) -> None:
    (files.root / "a.ipynb").write_bytes(
        samples.notebook(samples.code("a", "1"), samples.code("b", "x"))
    )
    given = {**GOOD["mycode/NotebookEdit"], "notebook_path": "a.ipynb"}

    assert send(files, "mycode/NotebookEdit", {**given, "cell_id": "1"}).json["cell_index"] == 0
    assert send(files, "mycode/NotebookEdit", {**given, "cell_id": 1.0}).json["cell_index"] == 0
    assert send(files, "mycode/NotebookEdit", {**given, "cell_id": "0"}).json["cell_index"] == 0


@pytest.mark.parametrize(
    "number", ["two", "", " 2", "2.5", 2.5, "-1", "1e400", True, [2], "2" * 99]
)
def test_a_text_that_is_no_number_for_certain_is_refused(files: Client, number: object) -> None:
    with untouched(files.root):
        answer = send(files, "omp/notebook", {**GOOD["omp/notebook"], "cell_index": number})

    assert answer.status == 400, answer.body
    assert "cell_index" in answer.json["content"][0]["text"]


def test_other_routes_stay_strict(files: Client) -> None:
    replace = {"op": "replace", "cell": 0, "source": "x"}
    with untouched(files.root):
        assert files.patch("a.ipynb", {**replace, "cell_type": None}).status == 400
        move = {"op": "move", "cell": 0, "index": "2"}
        assert files.patch("a.ipynb", move).status == 400


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (rb"\ud800", rb"\ud800"),
        (rb"a\udfffb", rb"\udfff"),
        (rb"\uD83D is half", rb"\uD83D"),
        (rb"\ud83d\ud83d\ude00", rb"\ud83d"),
        (rb"\ud83d\\ude00", rb"\ud83d"),
        (rb"\\ud800 \ud83d\ude00 \udead", rb"\udead"),
    ],
)
@pytest.mark.parametrize("target", ["nbedit/notebooks/a.ipynb", "nbedit/tools/nexo/NotebookEdit"])
def test_half_of_a_surrogate_pair_is_refused_with_its_place(
    files: Client, target: str, text: bytes, found: bytes
) -> None:
    if "tools" in target:
        verb, body = (
            "POST",
            json.dumps(
                {
                    "notebook_path": str(files.root / "a.ipynb"),
                    "cell_id": "alpha",
                    "new_source": "@",
                }
            ),
        )
    else:
        operation = {"op": "replace", "cell": 0, "source": "@"}
        verb, body = "PATCH", json.dumps({"operations": [operation]})
    sent = body.encode().replace(b"@", text)

    with untouched(files.root):
        answer = files.request(verb, target, sent, JSON)

    assert answer.status == 400
    message = answer.json["message"]
    at = sent.rindex(found) if text.startswith(rb"\\") else sent.index(found)
    assert f"`{found.decode()}` at byte {at}" in message
    assert "surrogate" in message
    assert "truncated" not in message


def test_pairs_of_surrogates_and_escaped_backslashes_are_taken(files: Client) -> None:
    body = rb'{"operations": [{"op": "replace", "cell": 0, "source": "\ud83d\ude00 \\ud800"}]}'

    assert files.send("a.ipynb", body).status == 200

    source = samples.cells_of((files.root / "a.ipynb").read_bytes())[0]["source"]
    assert source == "\N{GRINNING FACE} \\ud800"
