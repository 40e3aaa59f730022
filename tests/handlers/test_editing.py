"""Edit notebooks over HTTP: the reply and the file."""

import itertools
import json
from datetime import datetime
from typing import Any

import nbformat
import pytest

from tests.handlers.error_checks import get_error, no_changes
from tests.handlers.requests import replace
from tests.support import samples
from tests.support.driver import Notebook
from tests.support.http import JSON, Client, Local

TEXT = samples.three_cells()
REPLACE = replace("beta", "# Changed")


def test_an_edit_is_answered_as_documented_and_written(live: Client, notebook: Notebook) -> None:
    answer = notebook.patch({"op": "replace", "cell": "alpha", "source": "x = 2"})
    assert answer.status == 200
    text = notebook.text
    cell = samples.load_cells(text)[0]
    assert (cell["source"], cell["outputs"], cell["execution_count"]) == ("x = 2", [], None)
    assert answer.headers["ETag"] == f'"{samples.compute_hash(text)}"'
    assert answer.headers["Content-Type"].startswith("application/json")
    reply = answer.json
    assert reply.pop("edit_id") > 0
    assert set(reply.pop("tabs").values()) == {0}
    assert reply.pop("guard") in live.request("GET", "nbedit").json["guards"]
    model = live.request("GET", f"api/contents/{notebook.path}?hash=1").json
    assert model["hash"] == reply["hash"]
    assert model["last_modified"] == reply.pop("last_modified")
    assert reply == {
        "path": notebook.path,
        "hash_before": samples.compute_hash(TEXT),
        "hash": samples.compute_hash(text),
        "applied_via": "file",
        "bytes_preserved": True,
        "persisted": True,
        "dry_run": False,
        "total_cells": 3,
        "cells_delta": 0,
        "language": "python",
        "operations": [
            {
                "op": "replace",
                "cell_id": "alpha",
                "index": 0,
                "cell_type": "code",
                "source_hash": samples.compute_hash("x = 2"),
                "outputs_cleared": True,
            }
        ],
        "diff": f"--- {notebook.path} alpha\n+++ {notebook.path} alpha\n# outputs cleared\n"
        "@@ -1,2 +1 @@\n-x = 1\n-x\n+x = 2\n",
        "warnings": [],
    }


def test_an_edit_preserves_every_other_byte(notebook: Notebook) -> None:
    assert notebook.patch(REPLACE).status == 200
    assert notebook.text == TEXT.replace(b"# Title", b"# Changed")


def test_each_operation_of_a_batch_has_its_result_in_order(
    live: Client, notebook: Notebook
) -> None:
    answer = live.patch(
        notebook.path,
        {"op": "insert", "cell_type": "code", "source": "a", "after": "alpha", "id": "new"},
        {"op": "move", "cell": "gamma", "at": "start"},
        {"op": "delete", "cell": "beta"},
        {"op": "replace", "cell": "new", "cell_type": "markdown"},
        {"op": "insert", "cell_type": "raw", "source": "b", "before": "new"},
        {"op": "replace", "cell": "alpha", "source": "x", "outputs": "keep"},
    )
    assert answer.status == 200, answer.body
    cells = samples.load_cells(notebook.text)
    fresh = cells[2]["id"]
    assert [(cell["id"], cell["cell_type"], cell["source"]) for cell in cells] == [
        ("gamma", "raw", "as is"),
        ("alpha", "code", "x"),
        (fresh, "raw", "b"),
        ("new", "markdown", "a"),
    ]
    assert (cells[1]["outputs"], cells[1]["execution_count"]) == ([samples.HTML_OUTPUT], 3)
    nbformat.validate(json.loads(notebook.text))
    reply = answer.json
    assert (reply["total_cells"], reply["cells_delta"]) == (4, 1)
    assert [
        (
            result["op"],
            result["cell_id"],
            result["index"],
            result["cell_type"],
            result["source_hash"],
        )
        for result in reply["operations"]
    ] == [
        ("insert", "new", 3, "markdown", samples.compute_hash("a")),
        ("move", "gamma", 0, "raw", samples.compute_hash("as is")),
        ("delete", "beta", 1, "markdown", samples.compute_hash("# Title")),
        ("replace", "new", 3, "markdown", samples.compute_hash("a")),
        ("insert", fresh, 2, "raw", samples.compute_hash("b")),
        ("replace", "alpha", 1, "code", samples.compute_hash("x")),
    ]
    removed = [result.get("source") for result in reply["operations"]]
    assert removed == [None, None, "# Title", None, None, None]
    cleared = [result.get("outputs_cleared") for result in reply["operations"]]
    assert cleared == [None, None, None, False, None, False]


def test_a_dry_run_returns_the_result_and_writes_nothing(notebook: Notebook) -> None:
    operations = [
        REPLACE,
        {"op": "insert", "cell_type": "code", "source": "a", "at": "end", "id": "new"},
        {"op": "delete", "cell": "alpha"},
    ]
    with no_changes(notebook.root):
        dry = notebook.patch(*operations, dry_run=True)
    real = notebook.patch(*operations)
    assert (dry.status, real.status) == (200, 200)
    assert (dry.json["edit_id"], dry.json["persisted"], dry.json["dry_run"]) == (None, False, True)
    assert dry.json["hash"] == real.json["hash"] == samples.compute_hash(notebook.text)
    once_only = {"edit_id", "persisted", "dry_run", "last_modified", "guard"}
    assert {name: value for name, value in dry.json.items() if name not in once_only} == {
        name: value for name, value in real.json.items() if name not in once_only
    }


NOTHING: dict[str, list[dict[str, Any]]] = {
    "the same source": [{"op": "replace", "cell": "beta", "source": "# Title"}],
    "the same source with outputs kept": [
        {"op": "replace", "cell": "alpha", "source": "x = 1\nx", "outputs": "keep"}
    ],
    "the same type": [{"op": "replace", "cell": "beta", "cell_type": "markdown"}],
    "a move to where it is": [{"op": "move", "cell": "beta", "index": 1}],
    "a move behind its neighbour": [{"op": "move", "cell": "beta", "after": "alpha"}],
    "a move before itself": [{"op": "move", "cell": "beta", "before": "beta"}],
    "an insert that is undone": [
        {"op": "insert", "cell_type": "raw", "source": "", "at": "end", "id": "new"},
        {"op": "delete", "cell": "new"},
    ],
    "a change that is undone": [REPLACE, {**REPLACE, "source": "# Title"}],
}


@pytest.mark.parametrize("kind", NOTHING)
def test_a_batch_that_changes_nothing_writes_nothing(
    live: Client, notebook: Notebook, kind: str
) -> None:
    with no_changes(notebook.root):
        answer = notebook.patch(*NOTHING[kind])
    assert answer.status == 200, answer.body
    reply = answer.json
    assert reply["edit_id"] is None
    assert reply["hash"] == reply["hash_before"] == samples.compute_hash(TEXT)
    assert answer.headers["ETag"] == f'"{samples.compute_hash(TEXT)}"'
    assert (reply["persisted"], reply["cells_delta"], reply["diff"]) == (True, 0, "")
    model = live.request("GET", f"api/contents/{notebook.path}").json
    assert reply["last_modified"] == model["last_modified"]


def test_edits_are_numbered_and_their_hashes_form_a_chain(notebook: Notebook) -> None:
    replies = [notebook.patch({**REPLACE, "source": str(n)}).json for n in range(5)]
    numbers = [reply["edit_id"] for reply in replies]
    assert numbers == list(range(numbers[0], numbers[0] + 5))
    for earlier, later in itertools.pairwise(replies):
        assert earlier["hash"] == later["hash_before"]
        assert datetime.fromisoformat(earlier["last_modified"].replace("Z", "+00:00")) < (
            datetime.fromisoformat(later["last_modified"].replace("Z", "+00:00"))
        )


def test_any_unicode_source_is_stored(notebook: Notebook) -> None:
    for source in ("", "\0\x1b\x7f", "é😀\u2028\u2029\x85\x0c", '"\\/\b', "\n\n", "a\n" * 1000):
        assert notebook.patch({**REPLACE, "source": source}).status == 200
        assert notebook.read(cell="beta").json["cells"][0]["source"] == source
        written = samples.load_cells(notebook.text)[1]["source"]
        assert "".join(written) == source


@pytest.mark.usefixtures("local_file")
@pytest.mark.parametrize(
    "jp_server_config", [{"NbEditApp": {"max_request_bytes": 2000}}], indirect=True
)
async def test_the_size_limit_of_requests_is_configurable(local: Local) -> None:
    body = json.dumps({"operations": [REPLACE]}).encode()
    target = ("nbedit", "notebooks", "a.ipynb")
    with no_changes(local.root):
        answer = await local.request("PATCH", *target, body=body.ljust(2001), headers=JSON)
        assert get_error(answer, 413, "too_large") == {"bytes": 2001, "limit": 2000}
    assert (await local.request("GET", "nbedit")).json["limits"]["max_request_bytes"] == 2000
    answer = await local.request("PATCH", *target, body=body.ljust(2000), headers=JSON)
    assert answer.status == 200


def test_the_reply_has_the_language_that_the_edit_has_set(notebook: Notebook) -> None:
    patch = {"op": "set_metadata", "patch": {"language_info": {"name": "R"}}}
    assert notebook.patch(patch).json["language"] == "R"
    assert notebook.read().json["language"] == "R"
