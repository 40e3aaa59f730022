"""One cell at an address of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.handlers.refused import details, untouched
from tests.support import samples
from tests.support.http import JSON, Answer, Client

NAME = "cells.ipynb"
NEW = {"cell_type": "code", "source": "y = 2", "after": "alpha"}


@pytest.fixture
def path(live: Client) -> Path:
    path = live.root / NAME
    path.write_bytes(samples.three_cells())
    return path


def send(live: Client, verb: str, *parts: str, **body: Any) -> Answer:
    target = "/".join(["nbedit/notebooks", NAME, "cells", *(quote(p, safe="") for p in parts)])
    return live.request(verb, target, json.dumps(body).encode() if body else None, JSON)


def cells(path: Path) -> list[tuple[str, str, str]]:
    found = samples.cells_of(path.read_bytes())
    return [(cell["id"], cell["cell_type"], cell["source"]) for cell in found]


def test_a_cell_is_inserted_and_its_address_told(live: Client, path: Path) -> None:
    answer = send(live, "POST", **NEW, id="fresh")
    assert answer.status == 201
    assert answer.headers["Location"] == f"/nbedit/notebooks/{NAME}/cells/fresh"
    assert answer.json["operations"][0]["op"] == "insert"
    assert cells(path)[1] == ("fresh", "code", "y = 2")


def test_a_cell_without_an_id_is_told_by_its_index(live: Client, path: Path) -> None:
    path.write_bytes(samples.notebook(samples.raw("a"), minor=4))
    answer = send(live, "POST", cell_type="raw", source="b", at="end")
    assert answer.headers["Location"].endswith("/cells/cell-1")


@pytest.mark.parametrize("address", ["beta", "cell-1", "1"])
def test_a_cell_is_changed_by_any_of_its_addresses(live: Client, path: Path, address: str) -> None:
    answer = send(live, "PATCH", address, source="changed", cell_type="raw")
    assert answer.status == 200
    assert answer.headers["ETag"] == f'"{answer.json["hash"]}"'
    assert cells(path)[1] == ("beta", "raw", "changed")


def test_a_cell_is_deleted_and_the_answer_has_its_source(live: Client, path: Path) -> None:
    answer = send(live, "DELETE", "beta")
    assert answer.status == 200
    assert answer.json["operations"][0]["source"] == "# Title"
    assert [cell_id for cell_id, _, _ in cells(path)] == ["alpha", "gamma"]


def test_ids_may_hold_what_addresses_must_escape(live: Client, path: Path) -> None:
    odd = "a/b c?d#é%2F"
    path.write_bytes(samples.notebook(samples.raw("a", odd), samples.raw("b", "x.ipynb")))
    assert send(live, "PATCH", odd, source="changed").status == 200
    assert cells(path)[0] == (odd, "raw", "changed")
    # What ends in .ipynb names a notebook; such a cell is reached by its index.
    details(send(live, "PATCH", "x.ipynb", source="changed"), 400, "invalid_request")
    assert send(live, "PATCH", "cell-1", source="changed").status == 200


def test_a_notebook_in_folders_called_like_a_route_is_a_notebook(live: Client) -> None:
    folder = live.root / "odd.ipynb" / "cells"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "a.ipynb").write_bytes(samples.three_cells())
    assert live.read("odd.ipynb/cells/a.ipynb").json["total_cells"] == 3


def test_a_dry_run_answers_and_writes_nothing(live: Client, path: Path) -> None:
    with untouched(path.parent):
        for answer in (
            send(live, "POST", **NEW, dry_run=True),
            send(live, "PATCH", "alpha", source="x = 2", dry_run=True),
            live.request("DELETE", f"nbedit/notebooks/{NAME}/cells/alpha?dry_run=true"),
        ):
            assert (answer.status, answer.json["dry_run"]) == (200, True)
            assert answer.json["edit_id"] is None
            assert "Location" not in answer.headers


def test_guards_and_versions_hold_here_too(live: Client, path: Path) -> None:
    read = live.read(NAME).json
    digest, cell = read["hash"], read["cells"][0]["source_hash"]
    with untouched(path.parent):
        wrong = "0" * 64
        target = f"nbedit/notebooks/{NAME}/cells/alpha"
        stale = {"If-Match": f'"{wrong}"'}
        details(send(live, "PATCH", "alpha", source="", hash=wrong), 412, "hash_mismatch")
        details(live.request("DELETE", target, headers=stale), 412, "hash_mismatch")
        details(live.request("DELETE", f"{target}?source_hash={wrong}"), 409, "cell_changed")
        expect = {"source": "not this"}
        details(send(live, "PATCH", "alpha", source="", expect=expect), 409, "cell_changed")
    assert live.request("DELETE", f"{target}?source_hash={cell}&client=me").status == 200
    assert live.read(NAME).json["hash"] != digest


REFUSED: dict[str, tuple[str, tuple[str, ...], dict[str, Any], int, str]] = {
    "no position": ("POST", (), {"cell_type": "code", "source": ""}, 400, "invalid_operation"),
    "two positions": ("POST", (), {**NEW, "at": "end"}, 400, "invalid_operation"),
    "an unknown field": ("POST", (), {**NEW, "op": "insert"}, 400, "invalid_request"),
    "outputs": ("POST", (), {**NEW, "outputs": []}, 400, "invalid_request"),
    "a neighbour that is not": ("POST", (), {**NEW, "after": "nobody"}, 404, "cell_not_found"),
    "nothing to change": ("PATCH", ("alpha",), {"client": "me"}, 400, "invalid_operation"),
    "a cell in the body": ("PATCH", ("alpha",), {"cell": "beta"}, 400, "invalid_request"),
    "a cell that is not": ("PATCH", ("nobody",), {"source": ""}, 404, "cell_not_found"),
    "an index beyond": ("DELETE", ("3",), {}, 404, "cell_not_found"),
    "a negative index": ("DELETE", ("-1",), {}, 400, "invalid_request"),
    "outputs of a change that leaves them alone": (
        "PATCH",
        ("alpha",),
        {"metadata": {"x": 1}, "outputs": "clear"},
        400,
        "invalid_operation",
    ),
    "metadata that says trusted": (
        "PATCH",
        ("alpha",),
        {"metadata": {"trusted": True}},
        400,
        "invalid_operation",
    ),
}


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_done_is_refused_and_nothing_is_written(live: Client, kind: str) -> None:
    verb, parts, body, status, reason = REFUSED[kind]
    with untouched(live.root):
        answer = send(live, verb, *parts, **body)
        found = details(answer, status, reason)
    # The request is no batch, and knows neither its number in one nor what a batch would call it.
    assert "operation" not in found
    for word in ("`replace`", "`patch`", "set_metadata"):
        assert word not in answer.json["message"]


def test_a_number_below_zero_may_be_an_id_all_the_same(live: Client, path: Path) -> None:
    path.write_bytes(samples.notebook(samples.raw("a", "-1")))
    assert send(live, "PATCH", "-1", source="changed").status == 200
    answer = live.request("GET", f"nbedit/notebooks/{NAME}?cell=-2")
    details(answer, 400, "invalid_request")


def test_the_metadata_of_a_cell_is_changed_with_or_without_its_source(
    live: Client, path: Path
) -> None:
    assert send(live, "PATCH", "alpha", metadata={"tags": ["a"], "x": 1}).status == 200
    (alpha, *_) = samples.cells_of(path.read_bytes())
    assert (alpha["metadata"], alpha["source"]) == ({"tags": ["a"], "x": 1}, "x = 1\nx")
    assert alpha["outputs"] == [samples.HTML_OUTPUT]
    answer = send(live, "PATCH", "alpha", metadata={"x": None}, source="y")
    assert [done["op"] for done in answer.json["operations"]] == ["replace", "set_metadata"]
    (alpha, *_) = samples.cells_of(path.read_bytes())
    assert (alpha["metadata"], alpha["source"], alpha["outputs"]) == ({"tags": ["a"]}, "y", [])


def test_a_body_that_deleting_would_not_heed_is_refused(live: Client, path: Path) -> None:
    with untouched(path.parent):
        for body in ({"dry_run": True}, {"hash": "0" * 64}, {"expect": {"source": "not this"}}):
            details(send(live, "DELETE", "alpha", **body), 400, "invalid_request")
