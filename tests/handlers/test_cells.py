"""Single cells, each at its own address."""

from typing import Any
from urllib.parse import quote

import pytest

from tests.handlers.error_checks import get_error, no_changes
from tests.support import samples
from tests.support.driver import Notebook
from tests.support.http import Answer, Client

NEW = {"cell_type": "code", "source": "y = 2", "after": "alpha"}


def send(live: Client, verb: str, path: str, *parts: str, **body: Any) -> Answer:
    target = "/".join(["notebooks", path, "cells", *(quote(part, safe="") for part in parts)])
    if body:
        return live.send_json(verb, target, body)
    return live.request(verb, f"nbedit/{target}")


def load_cells(notebook: Notebook) -> list[tuple[str, str, str]]:
    found = samples.load_cells(notebook.text)
    return [(cell["id"], cell["cell_type"], cell["source"]) for cell in found]


def test_an_inserted_cell_is_answered_with_its_address(live: Client, notebook: Notebook) -> None:
    answer = send(live, "POST", notebook.path, **NEW, id="fresh")
    assert answer.status == 201
    assert answer.headers["Location"] == f"/nbedit/notebooks/{notebook.path}/cells/fresh"
    assert answer.json["operations"][0]["op"] == "insert"
    assert load_cells(notebook)[1] == ("fresh", "code", "y = 2")


def test_a_cell_without_an_id_is_answered_with_its_index(live: Client, notebook: Notebook) -> None:
    notebook.write(samples.raw("a"), minor=4)
    answer = send(live, "POST", notebook.path, cell_type="raw", source="b", at="end")
    assert answer.headers["Location"].endswith("/cells/cell-1")


@pytest.mark.parametrize("address", ["beta", "cell-1", "1"])
def test_a_cell_is_changed_by_any_of_its_addresses(
    live: Client, notebook: Notebook, address: str
) -> None:
    answer = send(live, "PATCH", notebook.path, address, source="changed", cell_type="raw")
    assert answer.status == 200
    assert answer.headers["ETag"] == f'"{answer.json["hash"]}"'
    assert load_cells(notebook)[1] == ("beta", "raw", "changed")


def test_a_deleted_cell_is_answered_with_its_source(live: Client, notebook: Notebook) -> None:
    answer = send(live, "DELETE", notebook.path, "beta")
    assert answer.status == 200
    assert answer.json["operations"][0]["source"] == "# Title"
    assert [cell_id for cell_id, _, _ in load_cells(notebook)] == ["alpha", "gamma"]


def test_ids_may_contain_characters_that_urls_escape(live: Client, notebook: Notebook) -> None:
    odd = "a/b c?d#é%2F"
    notebook.write(samples.raw("a", odd), samples.raw("b", "x.ipynb"))
    assert send(live, "PATCH", notebook.path, odd, source="changed").status == 200
    assert load_cells(notebook)[0] == (odd, "raw", "changed")
    # What ends in .ipynb names a notebook; such a cell is reached by its index.
    get_error(
        send(live, "PATCH", notebook.path, "x.ipynb", source="changed"), 400, "invalid_request"
    )
    assert send(live, "PATCH", notebook.path, "cell-1", source="changed").status == 200


def test_a_notebook_in_a_folder_named_like_a_route_is_found(live: Client) -> None:
    folder = live.root / "odd.ipynb" / "cells"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "a.ipynb").write_bytes(samples.three_cells())
    assert live.read("odd.ipynb/cells/a.ipynb").json["total_cells"] == 3


def test_a_dry_run_is_answered_and_writes_nothing(live: Client, notebook: Notebook) -> None:
    with no_changes(notebook.root):
        for answer in (
            send(live, "POST", notebook.path, **NEW, dry_run=True),
            send(live, "PATCH", notebook.path, "alpha", source="x = 2", dry_run=True),
            live.request("DELETE", f"nbedit/notebooks/{notebook.path}/cells/alpha?dry_run=true"),
        ):
            assert (answer.status, answer.json["dry_run"]) == (200, True)
            assert answer.json["edit_id"] is None
            assert "Location" not in answer.headers


def test_expect_and_if_match_apply_to_single_cells(live: Client, notebook: Notebook) -> None:
    read = notebook.read().json
    notebook_hash, cell = read["hash"], read["cells"][0]["source_hash"]
    with no_changes(notebook.root):
        wrong = "0" * 64
        target = f"nbedit/notebooks/{notebook.path}/cells/alpha"
        stale = {"If-Match": f'"{wrong}"'}
        get_error(
            send(live, "PATCH", notebook.path, "alpha", source="", hash=wrong), 412, "hash_mismatch"
        )
        get_error(live.request("DELETE", target, headers=stale), 412, "hash_mismatch")
        get_error(live.request("DELETE", f"{target}?source_hash={wrong}"), 409, "cell_changed")
        expect = {"source": "not this"}
        get_error(
            send(live, "PATCH", notebook.path, "alpha", source="", expect=expect),
            409,
            "cell_changed",
        )
    assert live.request("DELETE", f"{target}?source_hash={cell}&client=me").status == 200
    assert notebook.read().json["hash"] != notebook_hash


def test_a_negative_number_may_be_a_cell_id(live: Client, notebook: Notebook) -> None:
    notebook.write(samples.raw("a", "-1"))
    assert send(live, "PATCH", notebook.path, "-1", source="changed").status == 200
    answer = live.request("GET", f"nbedit/notebooks/{notebook.path}?cell=-2")
    get_error(answer, 400, "invalid_request")


def test_metadata_of_a_cell_is_changed_with_or_without_its_source(
    live: Client, notebook: Notebook
) -> None:
    assert (
        send(live, "PATCH", notebook.path, "alpha", metadata={"tags": ["a"], "x": 1}).status == 200
    )
    (alpha, *_) = samples.load_cells(notebook.text)
    assert (alpha["metadata"], alpha["source"]) == ({"tags": ["a"], "x": 1}, "x = 1\nx")
    assert alpha["outputs"] == [samples.HTML_OUTPUT]
    answer = send(live, "PATCH", notebook.path, "alpha", metadata={"x": None}, source="y")
    assert [result["op"] for result in answer.json["operations"]] == ["replace", "set_metadata"]
    (alpha, *_) = samples.load_cells(notebook.text)
    assert (alpha["metadata"], alpha["source"], alpha["outputs"]) == ({"tags": ["a"]}, "y", [])
