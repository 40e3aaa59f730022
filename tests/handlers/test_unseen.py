"""What a user has not seen over HTTP: list it, keep it, undo it by cell, restore a state."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from tests.handlers.error_checks import get_error
from tests.handlers.requests import (
    ODD,
    Visitor,
    edit,
    get_json,
    list_sources,
    rename,
    replace,
    send_json,
    set_mode,
    undo,
    wait_for_events,
)
from tests.support import samples
from tests.support.http import JSON, Answer, Client

TEXT = ODD


def get_unseen(live: Client, path: str) -> Any:
    return get_json(live, f"notebooks/{path}/unseen")


def post(live: Client, path: str, verb: str, **body: Any) -> Answer:
    headers = body.pop("headers", None)
    return send_json(live, "POST", f"notebooks/{path}/{verb}", body, headers)


def save(live: Client, path: str, notebook: dict[str, Any]) -> None:
    """Save a notebook as JupyterLab does."""
    body = json.dumps({"type": "notebook", "content": notebook}).encode()
    assert live.request("PUT", f"api/contents/{path}", body, JSON).status == 200


def list_keys(live: Client, path: str) -> list[str]:
    return [cell["key"] for cell in get_unseen(live, path)["cells"]]


def test_all_browsers_that_know_the_token_of_the_server_are_one_person(
    live: Client, path: str
) -> None:
    edit(live, path, replace("alpha", "x = 2"), client="Claude")
    first, second = Visitor(live), Visitor(live)
    headers = {**first.cookie, "X-XSRFToken": first.xsrf, **JSON}
    answer = live.request("POST", f"nbedit/notebooks/{path}/keep", b"{}", headers, token="")
    assert answer.json["cells"] == []
    answer = live.request("GET", f"nbedit/notebooks/{path}/unseen", b"", second.cookie, token="")
    assert answer.json["cells"] == []


def test_many_unseen_changes_are_sent_compressed_to_clients_that_accept_it(
    live: Client, path: str
) -> None:
    edit(live, path, replace("alpha", "x = 2\n" * 200), client="Claude")
    url = f"nbedit/notebooks/{path}/unseen"
    plain = live.request("GET", url)
    assert "Content-Encoding" not in plain.headers
    for answer in (plain, live.request("GET", url, headers={"Accept-Encoding": "gzip, br"})):
        assert answer.headers["Vary"] == "Accept, Accept-Encoding"
    assert answer.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(answer.body) == plain.body
    assert len(answer.body) < len(plain.body) / 2
    refused = live.request("GET", url, headers={"Accept-Encoding": "br, gzip;q=0"})
    assert "Content-Encoding" not in refused.headers


def test_changes_of_several_edits_are_one_change_of_each_cell(live: Client, path: str) -> None:
    first = edit(live, path, replace("alpha", "x = 2"), client="Claude", message="Why")
    second = edit(live, path, replace("alpha", "x = 3"), {"op": "delete", "cell": "beta"})
    third = edit(live, path, {"op": "insert", "cell_type": "raw", "source": "new", "index": 2})
    reply = get_unseen(live, path)
    assert reply["hash"] == samples.hash_file(live.root / path)
    assert (reply["until"], reply["truncated"], reply["path"]) == (third, False, path)
    changed, deleted, inserted = reply["cells"]
    assert changed["edit_ids"] == [first, second]
    assert (changed["before"]["source"], changed["after"]["source"]) == ("x = 1\nx", "x = 3")
    assert (changed["key"], changed["gap"]) == (f"{first}.0", None)
    assert (deleted["cell_id"], deleted["index"], deleted["gap"]) == ("beta", None, 1)
    assert (inserted["index_before"], inserted["index"]) == (None, 2)
    assert [each["edit_id"] for each in reply["edits"]] == [first, second, third]
    assert (reply["edits"][0]["client"], reply["edits"][0]["message"]) == ("Claude", "Why")


def test_kept_changes_are_not_listed_and_the_others_stay(live: Client, path: str) -> None:
    edit(live, path, replace("alpha", "x = 2"), replace("beta", "text"))
    alpha, beta = list_keys(live, path)
    before = (live.root / path).read_bytes()
    reply = post(live, path, "keep", cells=[alpha])
    assert reply.status == 200
    assert [cell["key"] for cell in reply.json["cells"]] == [beta]
    assert get_unseen(live, path) == reply.json
    assert (live.root / path).read_bytes() == before
    assert post(live, path, "keep").json["cells"] == []
    edit(live, path, replace("alpha", "x = 4"))
    [cell] = get_unseen(live, path)["cells"]
    assert cell["before"]["source"] == "x = 2"


def test_a_keep_leaves_out_edits_that_the_user_did_not_know(live: Client, path: str) -> None:
    known = edit(live, path, replace("alpha", "x = 2"), replace("beta", "text"))
    [alpha, _] = list_keys(live, path)
    edit(live, path, replace("alpha", "x = 3"))
    post(live, path, "keep", cells=[alpha], until=known)
    first, second = get_unseen(live, path)["cells"]
    assert (first["before"]["source"], first["after"]["source"]) == ("x = 2", "x = 3")
    post(live, path, "keep", until=known)
    assert list_keys(live, path) == [first["key"]]
    assert second["cell_id"] == "beta"


def test_undo_of_all_changes_restores_the_kept_bytes(
    live: Client, path: str, page: dict[str, str]
) -> None:
    edit(live, path, replace("alpha", "x = 2"), {"op": "delete", "cell": "beta"})
    edit(live, path, {"op": "move", "cell": "gamma", "at": "start"})
    edit(live, path, {"op": "insert", "cell_type": "raw", "source": "new", "at": "end"})
    answer = undo(live, path, cells=list_keys(live, path), message="No")
    assert answer.status == 200
    assert (live.root / path).read_bytes() == ODD
    assert list_keys(live, path) == []
    history = get_json(live, f"notebooks/{path}/history")["edits"]
    assert (history[0]["kind"], history[0]["message"]) == ("undo_cells", "No")
    # In JupyterLab it is undone like any other.
    assert undo(live, path, headers=page, whose="all").status == 200
    assert (live.root / path).read_bytes() != ODD


def test_undo_of_one_cell_leaves_the_others(live: Client, path: str, page: dict[str, str]) -> None:
    edit(live, path, replace("alpha", "x = 2"), replace("beta", "text"))
    edit(live, path, replace("alpha", "x = 3"), {"op": "delete", "cell": "gamma"})
    alpha, beta, gamma = list_keys(live, path)
    assert undo(live, path, cells=[gamma], headers=page).status == 200
    assert list_sources(live, path)[::2] == ["x = 3", samples.load_cells(ODD)[2]["source"]]
    assert list_keys(live, path) == [alpha, beta]
    assert undo(live, path, cells=[alpha]).status == 200
    assert list_sources(live, path)[:2] == ["x = 1\nx", "text"]
    assert list_keys(live, path) == [beta]


def test_undo_is_refused_if_a_newer_edit_has_changed_the_cell(live: Client, path: str) -> None:
    known = edit(live, path, replace("alpha", "x = 2"), replace("beta", "text"))
    alpha, beta = list_keys(live, path)
    edit(live, path, replace("alpha", "x = 3"))
    get_error(undo(live, path, cells=[alpha], until=known), 409, "cell_changed")
    assert undo(live, path, cells=[beta], until=known).status == 200


def test_an_unknown_key_is_refused_with_the_keys_there_are(live: Client, path: str) -> None:
    edit(live, path, replace("alpha", "x = 2"))
    keys = list_keys(live, path)
    for answer in (post(live, path, "keep", cells=["1.7"]), undo(live, path, cells=["1.7"])):
        assert get_error(answer, 404, "change_not_found") == {"keys": keys}


def test_own_edits_and_undone_edits_are_not_unseen(
    live: Client, path: str, page: dict[str, str]
) -> None:
    edit(live, path, replace("alpha", "x = 2"), headers=page)
    assert list_keys(live, path) == []
    edit(live, path, replace("beta", "text"))
    undo(live, path)
    assert list_keys(live, path) == []


def test_an_own_edit_of_a_cell_means_that_it_was_seen(
    live: Client, path: str, page: dict[str, str]
) -> None:
    edit(live, path, replace("alpha", "x = 2"), replace("beta", "text"))
    _, beta = list_keys(live, path)
    edit(live, path, replace("alpha", "x = 3"), headers=page)
    assert list_keys(live, path) == [beta]


def test_a_cell_that_a_person_has_changed_and_saved_was_seen(live: Client, path: str) -> None:
    edit(live, path, replace("alpha", "x = 2"), {"op": "delete", "cell": "beta"})
    notebook = json.loads((live.root / path).read_bytes())
    notebook["cells"][0]["source"] = "x = 2  # mine"
    save(live, path, notebook)
    [cell] = get_unseen(live, path)["cells"]
    assert (cell["cell_id"], cell["gap"]) == ("beta", 1)
    assert undo(live, path, cells=[cell["key"]]).status == 200
    assert list_sources(live, path)[:2] == ["x = 2  # mine", samples.load_cells(ODD)[1]["source"]]


def test_unseen_changes_follow_a_renamed_notebook_and_are_purged(live: Client, path: str) -> None:
    edit(live, path, replace("alpha", "x = 2"), replace("beta", "text"))
    alpha, beta = list_keys(live, path)
    post(live, path, "keep", cells=[alpha])
    new = f"new-{path}"
    rename(live, path, new)
    wait_for_events(live)
    assert list_keys(live, new) == [beta]
    assert live.request("DELETE", f"nbedit/notebooks/{new}/history").status == 200
    assert get_unseen(live, new)["cells"] == []


def find_notebook(live: Client, path: str) -> Any:
    notebooks = get_json(live, "unseen")["notebooks"]
    return next((each for each in notebooks if each["path"] == path), None)


def test_notebooks_with_unseen_edits_are_listed(live: Client, path: str) -> None:
    assert find_notebook(live, path) is None
    edit(live, path, replace("alpha", "x = 2"), client="Claude")
    edit(live, path, replace("beta", "text"), client="Codex")
    found = find_notebook(live, path)
    assert (found["edits"], found["clients"]) == (2, ["Codex", "Claude"])
    post(live, path, "keep", cells=list_keys(live, path)[:1])
    assert find_notebook(live, path)["edits"] == 1
    post(live, path, "keep")
    assert find_notebook(live, path) is None


def test_a_notebook_without_any_change_left_is_not_listed(live: Client, path: str) -> None:
    edit(live, path, replace("beta", "text"))
    edit(live, path, replace("beta", samples.load_cells(ODD)[1]["source"]))
    assert find_notebook(live, path)["edits"] == 2
    assert get_unseen(live, path)["cells"] == []
    assert find_notebook(live, path) is None


def test_restore_returns_the_state_after_an_edit(
    live: Client, path: str, page: dict[str, str]
) -> None:
    file = live.root / path
    first = edit(live, path, replace("alpha", "x = 2"))
    after = file.read_bytes()
    edit(live, path, {"op": "delete", "cell": "beta"}, headers=page)
    edit(live, path, {"op": "move", "cell": "gamma", "at": "start"})
    undo(live, path)
    now = file.read_bytes()
    preview = post(live, path, "restore", edit_id=first, dry_run=True)
    assert (preview.status, file.read_bytes()) == (200, now)
    [part] = [part for part in preview.json["parts"] if part["cell_id"] == "beta"]
    assert part["before"] is None
    assert part["after"]["source"] == samples.load_cells(ODD)[1]["source"]
    answer = post(live, path, "restore", edit_id=first, headers=page)
    assert (answer.status, file.read_bytes()) == (200, after)
    assert {result["op"] for result in answer.json["operations"]} == {"restore"}
    assert answer.json["diff"] == preview.json["diff"]
    assert answer.json["parts"] == preview.json["parts"]
    assert undo(live, path, headers=page, whose="all").status == 200
    assert file.read_bytes() == now


def test_restore_is_refused_if_a_person_has_changed_a_cell_since(live: Client, path: str) -> None:
    first = edit(live, path, replace("alpha", "x = 2"))
    edit(live, path, replace("beta", "text"))
    (live.root / path).write_bytes((live.root / path).read_bytes().replace(b"text", b"mine"))
    answer = post(live, path, "restore", edit_id=first)
    assert get_error(answer, 409, "undo_conflict")["cells"][0]["cell_id"] == "beta"
    get_error(post(live, path, "restore", edit_id=99_999), 404, "edit_not_found")


@pytest.mark.parametrize("mode", ["review", "plan"])
def test_person_undoes_redoes_and_restores_in_each_mode(
    live: Client, path: str, page: dict[str, str], mode: str
) -> None:
    file = live.root / path
    first = edit(live, path, replace("alpha", "x = 2"), client="Claude")
    changed = file.read_bytes()
    set_mode(live, mode, path)
    undone = undo(live, path, cells=list_keys(live, path), headers=page).json["edit_id"]
    assert file.read_bytes() == ODD
    assert undo(live, path, edit_id=undone, headers=page).status == 200
    assert file.read_bytes() == changed
    assert post(live, path, "redo", edit_id=undone, headers=page).status == 200
    assert file.read_bytes() == ODD
    # A redo of what a person has undone is no edit of the agent either.
    redone = get_json(live, f"notebooks/{path}/history")["edits"][0]
    assert redone["kind"] == "redo"
    answer = undo(live, path, edit_id=redone["edit_id"], client="Claude")
    assert (answer.status, file.read_bytes()) == (403 if mode == "plan" else 202, ODD)
    answer = post(live, path, "restore", edit_id=first, headers=page)
    assert (answer.status, file.read_bytes()) == (200, changed)
    # The newest edit is now that restore.
    assert undo(live, path, headers=page, whose="all").status == 200
    assert file.read_bytes() == ODD


@pytest.mark.parametrize("verb", ["undo", "restore"])
@pytest.mark.parametrize("mode", ["review", "plan"])
def test_what_a_person_has_undone_comes_back_only_as_the_mode_allows(
    live: Client, path: str, page: dict[str, str], mode: str, verb: str
) -> None:
    first = edit(live, path, replace("alpha", "x = 2"))
    undone = undo(live, path, cells=list_keys(live, path), headers=page).json["edit_id"]
    text = (live.root / path).read_bytes()
    set_mode(live, mode, path)
    edit_id = undone if verb == "undo" else first
    answer = post(live, path, verb, edit_id=edit_id, client="Claude")
    assert (live.root / path).read_bytes() == text
    if mode == "plan":
        get_error(answer, 403, "plan_mode")
        return
    assert answer.status == 202
    accept = f"{answer.headers['Location'].partition('/nbedit/')[2]}/accept"
    assert send_json(live, "POST", accept, {}).status == 200
    assert list_sources(live, path)[0] == "x = 2"


def test_more_cells_are_kept_and_undone_at_once_than_a_batch_has_operations(
    live: Client, path: str, page: dict[str, str]
) -> None:
    cells = [samples.code(f"x = {number}", f"c{number}") for number in range(1_100)]
    (live.root / path).write_bytes(samples.notebook(*cells))
    text = (live.root / path).read_bytes()
    for start in (0, 1_000):
        numbers = range(start, min(start + 1_000, len(cells)))
        edit(live, path, *[replace(f"c{number}", "y") for number in numbers])
    keys = list_keys(live, path)
    assert len(keys) == len(cells)
    assert undo(live, path, cells=keys, dry_run=True).status == 200
    assert undo(live, path, cells=keys, headers=page).status == 200
    assert (live.root / path).read_bytes() == text
    for start in (0, 1_000):
        numbers = range(start, min(start + 1_000, len(cells)))
        edit(live, path, *[replace(f"c{number}", "z") for number in numbers])
    keys = list_keys(live, path)
    assert len(keys) == len(cells)
    assert post(live, path, "keep", cells=keys).status == 200
    assert list_keys(live, path) == []


def test_cells_and_an_edit_are_not_undone_together(live: Client, path: str) -> None:
    number = edit(live, path, replace("alpha", "x = 2"))
    keys = list_keys(live, path)
    get_error(undo(live, path, cells=keys, edit_id=number), 400, "invalid_request")
    get_error(undo(live, path, until=number), 400, "invalid_request")


def test_cells_of_a_proposed_undo_stay_unseen(live: Client, path: str) -> None:
    edit(live, path, replace("alpha", "x = 2"))
    set_mode(live, "review", path)
    keys = list_keys(live, path)
    assert undo(live, path, cells=keys).status == 202
    assert list_keys(live, path) == keys


def test_a_cell_without_id_that_a_person_has_returned_is_not_returned_again(
    live: Client, path: str, page: dict[str, str]
) -> None:
    (live.root / path).write_bytes(samples.notebook(samples.raw("a"), samples.raw("b"), minor=4))
    insert = {"op": "insert", "cell_type": "raw", "source": "x", "at": "start"}
    edit(live, path, insert, client="Claude")
    number = edit(live, path, {"op": "delete", "cell": 1}, client="Claude")
    (key,) = [cell["key"] for cell in get_unseen(live, path)["cells"] if cell["after"] is None]
    assert undo(live, path, cells=[key], headers=page).status == 200
    get_error(undo(live, path, edit_id=number), 409, "undo_conflict")
    assert list_sources(live, path) == ["a", "x", "b"]


def test_a_part_that_a_person_has_undone_is_not_undone_again(
    live: Client, path: str, page: dict[str, str]
) -> None:
    deletion = {"op": "delete", "cell": "beta"}
    edit(live, path, replace("alpha", "x = 2"), deletion, client="Claude")
    keys = {cell["cell_id"]: cell["key"] for cell in get_unseen(live, path)["cells"]}
    assert undo(live, path, cells=[keys["beta"]], headers=page).status == 200
    before = (live.root / path).read_bytes()
    get_error(undo(live, path, client="Claude"), 409, "undo_conflict")
    assert (live.root / path).read_bytes() == before


def test_what_was_undone_and_returned_is_unseen_as_before(
    live: Client, path: str, page: dict[str, str]
) -> None:
    edit(live, path, replace("alpha", "x = 2"), client="Claude")
    edit(live, path, replace("beta", "text"), {"op": "delete", "cell": "gamma"}, client="Codex")
    before = get_unseen(live, path)
    undone = undo(live, path, cells=list_keys(live, path), headers=page).json["edit_id"]
    assert list_keys(live, path) == []
    # Again and again.
    for verb, is_unseen in (("undo", True), ("redo", False), ("undo", True)):
        assert post(live, path, verb, edit_id=undone, headers=page).status == 200
        expected = before if is_unseen else {"cells": [], "edits": []}
        now = get_unseen(live, path)
        assert {name: now[name] for name in ("cells", "edits")} == {
            name: expected[name] for name in ("cells", "edits")
        }
    assert post(live, path, "keep").json["cells"] == []


@pytest.mark.parametrize("reads_between", [False, True])
def test_an_edit_that_a_person_undoes_and_redoes_is_unseen_as_before(
    live: Client,
    path: str,
    page: dict[str, str],
    reads_between: bool,  # noqa: FBT001
) -> None:
    edit(live, path, replace("alpha", "x = 2"), client="Claude")
    cells = get_unseen(live, path)["cells"]
    for _ in range(2):
        assert undo(live, path, headers=page, whose="all").status == 200
        if reads_between:
            assert list_keys(live, path) == []
        assert post(live, path, "redo", headers=page, whose="all").status == 200
        assert get_unseen(live, path)["cells"] == cells


def test_what_was_kept_stays_kept_when_an_undo_of_other_cells_is_undone(
    live: Client, path: str, page: dict[str, str]
) -> None:
    edit(live, path, replace("alpha", "x = 2"), replace("beta", "text"))
    edit(live, path, {"op": "delete", "cell": "gamma"})
    alpha, beta, gamma = list_keys(live, path)
    post(live, path, "keep", cells=[beta])
    undone = undo(live, path, cells=[alpha], headers=page).json["edit_id"]
    assert post(live, path, "keep").json["cells"] == []
    edit(live, path, {"op": "insert", "cell_type": "raw", "source": "new", "at": "end"})
    post(live, path, "keep")
    assert undo(live, path, edit_id=undone, headers=page).status == 200
    assert list_keys(live, path) == [alpha]
    assert gamma != alpha
    [notebook] = [one for one in get_json(live, "unseen")["notebooks"] if one["path"] == path]
    assert notebook["edits"] == 1


def test_a_dry_run_of_an_undo_has_the_sources_before_and_after(live: Client, path: str) -> None:
    edit_id = edit(
        live,
        path,
        replace("alpha", "x = 2"),
        {"op": "delete", "cell": "beta"},
        {"op": "insert", "cell_type": "raw", "source": "new", "at": "end", "id": "new"},
        {"op": "set_metadata", "cell": "gamma", "patch": {"tags": ["t"]}},
    )
    beta = samples.load_cells(ODD)[1]["source"]
    expected = [
        {"cell_id": "alpha", "index_before": 0, "index": 0, "before": "x = 2", "after": "x = 1\nx"},
        {
            "cell_id": "beta",
            "index_before": None,
            "index": 1,
            "before": None,
            "after": "".join(beta),
        },
        {"cell_id": "new", "index_before": 2, "index": None, "before": "new", "after": None},
    ]
    keys = list_keys(live, path)
    for body in ({"edit_id": edit_id}, {"cells": keys}):
        reply = undo(live, path, dry_run=True, **body).json
        assert sorted(reply["sources"], key=lambda cell: cell["cell_id"]) == expected
    assert "sources" not in undo(live, path, edit_id=edit_id).json
    [back] = [
        one["edit_id"]
        for one in get_json(live, f"notebooks/{path}/history")["edits"]
        if one["kind"] == "undo"
    ]
    reply = post(live, path, "redo", edit_id=back, dry_run=True).json
    assert {cell["cell_id"]: cell["after"] for cell in reply["sources"]} == {
        "alpha": "x = 2",
        "beta": None,
        "new": "new",
    }


def test_an_undone_undo_leaves_what_was_kept_before_and_after_it(
    live: Client, path: str, page: dict[str, str]
) -> None:
    edit(live, path, {"op": "insert", "cell_type": "raw", "source": "new", "at": "end"})
    edit(live, path, replace("beta", "text"))
    post(live, path, "keep")
    edit(live, path, replace("alpha", "x = 2"))
    [alpha] = list_keys(live, path)
    undone = undo(live, path, cells=[alpha], headers=page).json["edit_id"]
    assert undo(live, path, edit_id=undone, headers=page).status == 200
    assert list_keys(live, path) == [alpha]
    post(live, path, "keep")

    # Of an edit of two cells, the other one is kept after the undo.
    edit(live, path, replace("alpha", "x = 3"), replace("beta", "more"))
    alpha, beta = list_keys(live, path)
    for keys in ([beta], None):
        undone = undo(live, path, cells=[alpha], headers=page).json["edit_id"]
        post(live, path, "keep", **({} if keys is None else {"cells": keys}))
        assert list_keys(live, path) == []
        assert undo(live, path, edit_id=undone, headers=page).status == 200
        assert list_keys(live, path) == [alpha]


def test_a_change_that_an_undone_undo_has_returned_can_be_kept(
    live: Client, path: str, page: dict[str, str]
) -> None:
    edit(live, path, replace("alpha", "x = 2"), replace("beta", "text"))
    alpha, beta = list_keys(live, path)
    undone = undo(live, path, cells=[alpha], headers=page).json["edit_id"]
    assert undo(live, path, edit_id=undone, headers=page).status == 200
    assert list_keys(live, path) == [alpha, beta]
    post(live, path, "keep", cells=[alpha])
    assert list_keys(live, path) == [beta]


def test_what_an_agent_has_undone_and_redone_since_the_keep_is_unseen(
    live: Client, path: str
) -> None:
    edit_id = edit(live, path, replace("alpha", "x = 2"), replace("beta", "text"))
    [_, beta] = list_keys(live, path)
    post(live, path, "keep", cells=[beta])
    undo(live, path, edit_id=edit_id, client="Claude")
    post(live, path, "keep")
    assert post(live, path, "redo", edit_id=edit_id, client="Claude").status == 200
    cells = get_unseen(live, path)["cells"]
    assert [cell["cell_id"] for cell in cells] == ["alpha", "beta"]


def test_an_undone_restore_returns_what_was_unseen(
    live: Client, path: str, page: dict[str, str]
) -> None:
    first = edit(live, path, replace("gamma", "first"))
    post(live, path, "keep")
    edit(live, path, replace("alpha", "x = 2"), replace("beta", "text"))
    keys = list_keys(live, path)
    restored = post(live, path, "restore", edit_id=first, headers=page).json["edit_id"]
    assert list_keys(live, path) == []
    assert undo(live, path, edit_id=restored, headers=page).status == 200
    assert list_keys(live, path) == keys
