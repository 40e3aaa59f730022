"""Preconditions of a request: version, expected source, protected cells, size.

The errors themselves are rows of `bad_requests`.
"""

import json
from http.client import HTTPConnection
from typing import Any

import pytest

from tests.handlers.bad_requests import END, HASH, LIMIT
from tests.handlers.error_checks import build_body, get_error, no_changes
from tests.support import samples
from tests.support.driver import Notebook
from tests.support.http import Client


@pytest.mark.parametrize(
    "content_type", ["application/json", "Application/JSON;charset=UTF-8", "application/json ; x=y"]
)
def test_any_spelling_of_the_json_media_type_is_accepted(
    notebook: Notebook, content_type: str
) -> None:
    assert notebook.send(build_body(**END), {"Content-Type": content_type}).status == 200


def test_a_body_of_exactly_the_limit_is_accepted(notebook: Notebook) -> None:
    assert notebook.send(build_body(**END).ljust(LIMIT)).status == 200


@pytest.mark.parametrize("is_current", [True, False])
@pytest.mark.parametrize("place", ["header", "body", "both"])
def test_an_edit_applies_only_to_the_version_with_the_given_hash(
    notebook: Notebook,
    place: str,
    is_current: bool,  # noqa: FBT001 -- a column
) -> None:
    current = notebook.read().json["hash"]
    sent = current if is_current else HASH
    headers = {"If-Match": f'"{sent}"'} if place != "body" else {}
    fields = {"hash": sent} if place != "header" else {}
    if is_current:
        assert notebook.patch(END, headers=headers, **fields).status == 200
        return
    with no_changes(notebook.root):
        answer = notebook.patch(END, headers=headers, **fields)
        assert get_error(answer, 412, "hash_mismatch") == {"expected": HASH, "hash": current}


def test_a_weak_etag_never_matches(notebook: Notebook) -> None:
    weak = f'W/"{notebook.read().json["hash"]}"'
    with no_changes(notebook.root):
        found = get_error(notebook.patch(END, headers={"If-Match": weak}), 412, "hash_mismatch")
        assert (found["expected"], f'W/"{found["hash"]}"') == (weak, weak)


def test_if_match_with_an_asterisk_matches_any_version(notebook: Notebook) -> None:
    assert notebook.patch(END, headers={"If-Match": "*"}).status == 200


@pytest.mark.parametrize(
    "expect", [{"source": "y"}, {"source": ""}, {"source_hash": HASH}, {"source_hash": ""}]
)
@pytest.mark.parametrize(
    "operation",
    [
        {"op": "replace", "source": "z"},
        {"op": "replace", "source": "x = 1\nx"},
        {"op": "delete"},
        {"op": "move", "at": "end"},
    ],
)
def test_a_failed_expect_is_answered_with_the_current_source(
    notebook: Notebook, operation: dict[str, Any], expect: dict[str, str]
) -> None:
    current = notebook.read().json["cells"][0]
    with no_changes(notebook.root):
        answer = notebook.patch({**operation, "cell": "alpha", "expect": expect})
        found = get_error(answer, 409, "cell_changed")
    assert (found["cell"], found["operation"]) == ("alpha", 0)
    assert {name: found[name] for name in ("source", "source_hash")} == {
        name: current[name] for name in ("source", "source_hash")
    }


@pytest.mark.threat("S26")
def test_an_outdated_index_is_detected_after_an_insert(notebook: Notebook) -> None:
    read = notebook.read().json
    assert notebook.patch({**END, "at": "start", "source": "theirs"}).status == 200
    mine = {"op": "replace", "cell": 1, "source": "mine"}
    expect = {"source_hash": read["cells"][1]["source_hash"]}
    with no_changes(notebook.root):
        answer = notebook.patch({**mine, "expect": expect})
        assert get_error(answer, 409, "cell_changed")["source"] == "x = 1\nx"
        get_error(notebook.patch(mine, hash=read["hash"]), 412, "hash_mismatch")


def test_a_matching_expect_passes_whatever_changed_in_other_cells(notebook: Notebook) -> None:
    guarded = notebook.read().json["cells"][0]
    assert notebook.patch({"op": "replace", "cell": "beta", "source": "# Other"}).status == 200
    by_hash = {"source_hash": guarded["source_hash"]}
    answer = notebook.patch({"op": "replace", "cell": 0, "source": "y", "expect": by_hash})
    assert answer.status == 200
    by_source = {"source": "y"}
    assert notebook.patch({"op": "delete", "cell": 0, "expect": by_source}).status == 200


REPLACE = {"op": "replace", "cell": "locked", "source": "y"}
DELETE = {"op": "delete", "cell": "locked"}
RETYPE = {"op": "replace", "cell": "locked", "cell_type": "raw"}
FREE = {"op": "set_metadata", "cell": "locked", "patch": {"editable": True, "tags": []}}
LOCK = {"op": "set_metadata", "cell": "locked", "patch": {"editable": False, "tags": ["new"]}}
UNFREE: list[dict[str, Any]] = [
    {"tags": []},
    {"editable": False},
    {"editable": False, "tags": []},
]
PATCHES = [{**FREE, "patch": patch} for patch in UNFREE]


@pytest.mark.parametrize(
    ("metadata", "forbidden", "allowed"),
    [
        ({"editable": False, "tags": ["keep"]}, [REPLACE, RETYPE, *PATCHES], [DELETE]),
        ({"editable": False}, [], [FREE, LOCK]),
        ({"deletable": False}, [DELETE], [REPLACE]),
        ({"editable": None, "deletable": 0}, [], [REPLACE, DELETE]),
    ],
)
def test_a_protected_cell_allows_the_operations_that_its_metadata_permit(
    notebook: Notebook,
    metadata: dict[str, Any],
    forbidden: list[dict[str, Any]],
    allowed: list[dict[str, Any]],
) -> None:
    cell = samples.code("x", "locked", metadata=metadata)
    notebook.write(cell)
    with no_changes(notebook.root):
        for operation in forbidden:
            found = get_error(notebook.patch(operation), 403, "cell_protected")
            assert found == {"cell": "locked", "operation": 0}
    for operation in allowed:
        assert notebook.patch(operation).status == 200


def test_valid_metadata_are_stored_and_shown_by_the_contents_api(
    live: Client, notebook: Notebook
) -> None:
    patch = {"tags": ["slow"], "collapsed": True, "scrolled": "auto", "name": "n", "mine": {}}

    assert notebook.patch({"op": "set_metadata", "cell": 0, "patch": patch}).status == 200

    model = live.request("GET", f"api/contents/{notebook.path}").json
    assert model.get("message") is None
    assert patch.items() <= model["content"]["cells"][0]["metadata"].items()


def test_surrogate_pairs_and_escaped_backslashes_are_accepted(notebook: Notebook) -> None:
    body = rb'{"operations": [{"op": "replace", "cell": 0, "source": "\ud83d\ude00 \\ud800"}]}'

    assert notebook.send(body).status == 200

    source = samples.load_cells(notebook.text)[0]["source"]
    assert source == "\N{GRINNING FACE} \\ud800"


@pytest.mark.parametrize("target", ["notebooks/a.ipynb", "mcp", "tools/agent/notebook_edit", "x"])
def test_an_unknown_method_is_refused_as_one_that_a_route_has_not(
    live: Client, target: str
) -> None:
    connection = HTTPConnection("127.0.0.1", live.port, timeout=60)
    headers = {"Authorization": f"token {live.token}"}
    connection.request("BREW", f"{live.base_url}nbedit/{target}", headers=headers)
    answer = connection.getresponse()
    assert (answer.status, json.loads(answer.read())["reason"]) == (405, "invalid_request")
    connection.close()
