"""What a user has not seen over HTTP: list it, keep it, undo it by cell, restore a state."""

import gzip
import json
from typing import Any

import pytest

from tests.handlers.error_checks import get_error
from tests.handlers.requests import ODD, Visitor, replace, wait_for_events
from tests.support import samples
from tests.support.driver import Notebook
from tests.support.http import JSON, Client

TEXT = ODD


def save(notebook: Notebook, content: dict[str, Any]) -> None:
    """Save a notebook as JupyterLab does."""
    body = json.dumps({"type": "notebook", "content": content}).encode()
    assert notebook.server.request("PUT", f"api/contents/{notebook.path}", body, JSON).status == 200


def list_keys(notebook: Notebook) -> list[str]:
    return [cell["key"] for cell in notebook.list_unseen()]


def test_all_browsers_that_know_the_token_of_the_server_are_one_person(
    live: Client, notebook: Notebook
) -> None:
    notebook.edit(replace("alpha", "x = 2"), client="Claude")
    first, second = Visitor(live), Visitor(live)
    headers = {**first.cookie, "X-XSRFToken": first.xsrf, **JSON}
    answer = live.request(
        "POST", f"nbedit/notebooks/{notebook.path}/keep", b"{}", headers, token=""
    )
    assert answer.json["cells"] == []
    answer = live.request(
        "GET", f"nbedit/notebooks/{notebook.path}/unseen", b"", second.cookie, token=""
    )
    assert answer.json["cells"] == []


def test_many_unseen_changes_are_sent_compressed_to_clients_that_accept_it(
    live: Client, notebook: Notebook
) -> None:
    notebook.edit(replace("alpha", "x = 2\n" * 200), client="Claude")
    url = f"nbedit/notebooks/{notebook.path}/unseen"
    plain = live.request("GET", url)
    assert "Content-Encoding" not in plain.headers
    for answer in (plain, live.request("GET", url, headers={"Accept-Encoding": "gzip, br"})):
        assert answer.headers["Vary"] == "Accept, Accept-Encoding"
    assert answer.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(answer.body) == plain.body
    assert len(answer.body) < len(plain.body) / 2
    refused = live.request("GET", url, headers={"Accept-Encoding": "br, gzip;q=0"})
    assert "Content-Encoding" not in refused.headers


def test_changes_of_several_edits_are_one_change_of_each_cell(notebook: Notebook) -> None:
    first = notebook.edit(replace("alpha", "x = 2"), client="Claude", message="Why")
    second = notebook.edit(replace("alpha", "x = 3"), {"op": "delete", "cell": "beta"})
    third = notebook.edit({"op": "insert", "cell_type": "raw", "source": "new", "index": 2})
    reply = notebook.get_json("unseen")
    assert reply["hash"] == samples.hash_file(notebook.file)
    assert (reply["until"], reply["truncated"], reply["path"]) == (third, False, notebook.path)
    changed, deleted, inserted = reply["cells"]
    assert changed["edit_ids"] == [first, second]
    assert (changed["before"]["source"], changed["after"]["source"]) == ("x = 1\nx", "x = 3")
    assert (changed["key"], changed["gap"]) == (f"{first}.0", None)
    assert (deleted["cell_id"], deleted["index"], deleted["gap"]) == ("beta", None, 1)
    assert (inserted["index_before"], inserted["index"]) == (None, 2)
    assert [each["edit_id"] for each in reply["edits"]] == [first, second, third]
    assert (reply["edits"][0]["client"], reply["edits"][0]["message"]) == ("Claude", "Why")


def test_kept_changes_are_not_listed_and_the_others_stay(notebook: Notebook) -> None:
    notebook.edit(replace("alpha", "x = 2"), replace("beta", "text"))
    alpha, beta = list_keys(notebook)
    before = notebook.text
    reply = notebook.keep(cells=[alpha])
    assert reply.status == 200
    assert [cell["key"] for cell in reply.json["cells"]] == [beta]
    assert notebook.get_json("unseen") == reply.json
    assert notebook.text == before
    assert notebook.keep().json["cells"] == []
    notebook.edit(replace("alpha", "x = 4"))
    [cell] = notebook.list_unseen()
    assert cell["before"]["source"] == "x = 2"


def test_a_keep_leaves_out_edits_that_the_user_did_not_know(notebook: Notebook) -> None:
    known = notebook.edit(replace("alpha", "x = 2"), replace("beta", "text"))
    [alpha, _] = list_keys(notebook)
    notebook.edit(replace("alpha", "x = 3"))
    notebook.keep(cells=[alpha], until=known)
    first, second = notebook.list_unseen()
    assert (first["before"]["source"], first["after"]["source"]) == ("x = 2", "x = 3")
    notebook.keep(until=known)
    assert list_keys(notebook) == [first["key"]]
    assert second["cell_id"] == "beta"


def test_undo_of_all_changes_restores_the_kept_bytes(
    notebook: Notebook, page: dict[str, str]
) -> None:
    notebook.edit(replace("alpha", "x = 2"), {"op": "delete", "cell": "beta"})
    notebook.edit({"op": "move", "cell": "gamma", "at": "start"})
    notebook.edit({"op": "insert", "cell_type": "raw", "source": "new", "at": "end"})
    answer = notebook.undo(cells=list_keys(notebook), message="No")
    assert answer.status == 200
    assert notebook.text == ODD
    assert list_keys(notebook) == []
    history = notebook.list_history()
    assert (history[0]["kind"], history[0]["message"]) == ("undo_cells", "No")
    # In JupyterLab it is undone like any other.
    assert notebook.undo(headers=page, whose="all").status == 200
    assert notebook.text != ODD


def test_undo_is_refused_if_a_newer_edit_has_changed_the_cell(notebook: Notebook) -> None:
    known = notebook.edit(replace("alpha", "x = 2"), replace("beta", "text"))
    alpha, beta = list_keys(notebook)
    notebook.edit(replace("alpha", "x = 3"))
    get_error(notebook.undo(cells=[alpha], until=known), 409, "cell_changed")
    assert notebook.undo(cells=[beta], until=known).status == 200


def test_an_unknown_key_is_refused_with_the_keys_there_are(notebook: Notebook) -> None:
    notebook.edit(replace("alpha", "x = 2"))
    keys = list_keys(notebook)
    for answer in (notebook.keep(cells=["1.7"]), notebook.undo(cells=["1.7"])):
        assert get_error(answer, 404, "change_not_found") == {"keys": keys}


def test_own_edits_and_undone_edits_are_not_unseen(
    notebook: Notebook, page: dict[str, str]
) -> None:
    notebook.edit(replace("alpha", "x = 2"), headers=page)
    assert list_keys(notebook) == []
    notebook.edit(replace("beta", "text"))
    notebook.undo()
    assert list_keys(notebook) == []


def test_a_cell_that_a_person_has_changed_and_saved_was_seen(notebook: Notebook) -> None:
    notebook.edit(replace("alpha", "x = 2"), {"op": "delete", "cell": "beta"})
    content = json.loads(notebook.text)
    content["cells"][0]["source"] = "x = 2  # mine"
    save(notebook, content)
    [cell] = notebook.list_unseen()
    assert (cell["cell_id"], cell["gap"]) == ("beta", 1)
    assert notebook.undo(cells=[cell["key"]]).status == 200
    assert notebook.list_sources()[:2] == ["x = 2  # mine", samples.load_cells(ODD)[1]["source"]]


def test_unseen_changes_follow_a_renamed_notebook_and_are_purged(
    live: Client, notebook: Notebook
) -> None:
    notebook.edit(replace("alpha", "x = 2"), replace("beta", "text"))
    alpha, beta = list_keys(notebook)
    notebook.keep(cells=[alpha])
    new = f"new-{notebook.path}"
    live.rename(notebook.path, new)
    wait_for_events(live)
    assert list_keys(Notebook(live, new)) == [beta]
    assert live.request("DELETE", f"nbedit/notebooks/{new}/history").status == 200
    assert Notebook(live, new).list_unseen() == []


def find_notebook(notebook: Notebook) -> Any:
    notebooks = notebook.server.get_json("unseen")["notebooks"]
    return next((each for each in notebooks if each["path"] == notebook.path), None)


def test_notebooks_with_unseen_edits_are_listed(notebook: Notebook) -> None:
    assert find_notebook(notebook) is None
    notebook.edit(replace("alpha", "x = 2"), client="Claude")
    notebook.edit(replace("beta", "text"), client="Codex")
    found = find_notebook(notebook)
    assert (found["edits"], found["clients"]) == (2, ["Codex", "Claude"])
    notebook.keep(cells=list_keys(notebook)[:1])
    assert find_notebook(notebook)["edits"] == 1
    notebook.keep()
    assert find_notebook(notebook) is None


def test_a_notebook_without_any_change_left_is_not_listed(notebook: Notebook) -> None:
    notebook.edit(replace("beta", "text"))
    notebook.edit(replace("beta", samples.load_cells(ODD)[1]["source"]))
    assert find_notebook(notebook)["edits"] == 2
    assert notebook.list_unseen() == []
    assert find_notebook(notebook) is None


def test_restore_returns_the_state_after_an_edit(notebook: Notebook, page: dict[str, str]) -> None:
    file = notebook.file
    first = notebook.edit(replace("alpha", "x = 2"))
    after = file.read_bytes()
    notebook.edit({"op": "delete", "cell": "beta"}, headers=page)
    notebook.edit({"op": "move", "cell": "gamma", "at": "start"})
    notebook.undo()
    now = file.read_bytes()
    preview = notebook.restore(edit_id=first, dry_run=True)
    assert (preview.status, file.read_bytes()) == (200, now)
    [part] = [part for part in preview.json["parts"] if part["cell_id"] == "beta"]
    assert part["before"] is None
    assert part["after"]["source"] == samples.load_cells(ODD)[1]["source"]
    answer = notebook.restore(edit_id=first, headers=page)
    assert (answer.status, file.read_bytes()) == (200, after)
    assert {result["op"] for result in answer.json["operations"]} == {"restore"}
    assert answer.json["diff"] == preview.json["diff"]
    assert answer.json["parts"] == preview.json["parts"]
    assert notebook.undo(headers=page, whose="all").status == 200
    assert file.read_bytes() == now


def test_restore_is_refused_if_a_person_has_changed_a_cell_since(notebook: Notebook) -> None:
    first = notebook.edit(replace("alpha", "x = 2"))
    notebook.edit(replace("beta", "text"))
    notebook.file.write_bytes(notebook.text.replace(b"text", b"mine"))
    answer = notebook.restore(edit_id=first)
    assert get_error(answer, 409, "undo_conflict")["cells"][0]["cell_id"] == "beta"
    get_error(notebook.restore(edit_id=99_999), 404, "edit_not_found")


@pytest.mark.parametrize("mode", ["review", "plan"])
def test_person_undoes_redoes_and_restores_in_each_mode(
    notebook: Notebook, page: dict[str, str], mode: str
) -> None:
    file = notebook.file
    first = notebook.edit(replace("alpha", "x = 2"), client="Claude")
    changed = file.read_bytes()
    notebook.set_mode(mode)
    undone = notebook.undo(cells=list_keys(notebook), headers=page).json["edit_id"]
    assert file.read_bytes() == ODD
    assert notebook.undo(edit_id=undone, headers=page).status == 200
    assert file.read_bytes() == changed
    assert notebook.redo(edit_id=undone, headers=page).status == 200
    assert file.read_bytes() == ODD
    # A redo of what a person has undone is no edit of the agent either.
    redone = notebook.list_history()[0]
    assert redone["kind"] == "redo"
    answer = notebook.undo(edit_id=redone["edit_id"], client="Claude")
    assert (answer.status, file.read_bytes()) == (403 if mode == "plan" else 202, ODD)
    answer = notebook.restore(edit_id=first, headers=page)
    assert (answer.status, file.read_bytes()) == (200, changed)
    # The newest edit is now that restore.
    assert notebook.undo(headers=page, whose="all").status == 200
    assert file.read_bytes() == ODD


@pytest.mark.parametrize("verb", ["undo", "restore"])
@pytest.mark.parametrize("mode", ["review", "plan"])
def test_what_a_person_has_undone_comes_back_only_as_the_mode_allows(
    live: Client, notebook: Notebook, page: dict[str, str], mode: str, verb: str
) -> None:
    first = notebook.edit(replace("alpha", "x = 2"))
    undone = notebook.undo(cells=list_keys(notebook), headers=page).json["edit_id"]
    text = notebook.text
    notebook.set_mode(mode)
    edit_id = undone if verb == "undo" else first
    answer = notebook.post(verb, edit_id=edit_id, client="Claude")
    assert notebook.text == text
    if mode == "plan":
        get_error(answer, 403, "plan_mode")
        return
    assert answer.status == 202
    accept = f"{answer.headers['Location'].partition('/nbedit/')[2]}/accept"
    assert live.send_json("POST", accept, {}).status == 200
    assert notebook.list_sources()[0] == "x = 2"


def test_more_cells_are_kept_and_undone_at_once_than_a_batch_has_operations(
    notebook: Notebook, page: dict[str, str]
) -> None:
    cells = [samples.code(f"x = {number}", f"c{number}") for number in range(1_100)]
    notebook.write(*cells)
    text = notebook.text
    for start in (0, 1_000):
        numbers = range(start, min(start + 1_000, len(cells)))
        notebook.edit(*[replace(f"c{number}", "y") for number in numbers])
    keys = list_keys(notebook)
    assert len(keys) == len(cells)
    assert notebook.undo(cells=keys, dry_run=True).status == 200
    assert notebook.undo(cells=keys, headers=page).status == 200
    assert notebook.text == text
    for start in (0, 1_000):
        numbers = range(start, min(start + 1_000, len(cells)))
        notebook.edit(*[replace(f"c{number}", "z") for number in numbers])
    keys = list_keys(notebook)
    assert len(keys) == len(cells)
    assert notebook.keep(cells=keys).status == 200
    assert list_keys(notebook) == []


def test_cells_and_an_edit_are_not_undone_together(notebook: Notebook) -> None:
    number = notebook.edit(replace("alpha", "x = 2"))
    keys = list_keys(notebook)
    get_error(notebook.undo(cells=keys, edit_id=number), 400, "invalid_request")
    get_error(notebook.undo(until=number), 400, "invalid_request")


def test_cells_of_a_proposed_undo_stay_unseen(notebook: Notebook) -> None:
    notebook.edit(replace("alpha", "x = 2"))
    notebook.set_mode("review")
    keys = list_keys(notebook)
    assert notebook.undo(cells=keys).status == 202
    assert list_keys(notebook) == keys


def test_a_cell_without_id_that_a_person_has_returned_is_not_returned_again(
    notebook: Notebook, page: dict[str, str]
) -> None:
    notebook.write(samples.raw("a"), samples.raw("b"), minor=4)
    insert = {"op": "insert", "cell_type": "raw", "source": "x", "at": "start"}
    notebook.edit(insert, client="Claude")
    number = notebook.edit({"op": "delete", "cell": 1}, client="Claude")
    (key,) = [cell["key"] for cell in notebook.list_unseen() if cell["after"] is None]
    assert notebook.undo(cells=[key], headers=page).status == 200
    get_error(notebook.undo(edit_id=number), 409, "undo_conflict")
    assert notebook.list_sources() == ["a", "x", "b"]


def test_a_part_that_a_person_has_undone_is_not_undone_again(
    notebook: Notebook, page: dict[str, str]
) -> None:
    deletion = {"op": "delete", "cell": "beta"}
    notebook.edit(replace("alpha", "x = 2"), deletion, client="Claude")
    keys = {cell["cell_id"]: cell["key"] for cell in notebook.list_unseen()}
    assert notebook.undo(cells=[keys["beta"]], headers=page).status == 200
    before = notebook.text
    get_error(notebook.undo(client="Claude"), 409, "undo_conflict")
    assert notebook.text == before


def test_what_was_undone_and_returned_is_unseen_as_before(
    notebook: Notebook, page: dict[str, str]
) -> None:
    notebook.edit(replace("alpha", "x = 2"), client="Claude")
    notebook.edit(replace("beta", "text"), {"op": "delete", "cell": "gamma"}, client="Codex")
    before = notebook.get_json("unseen")
    undone = notebook.undo(cells=list_keys(notebook), headers=page).json["edit_id"]
    assert list_keys(notebook) == []
    # Again and again.
    for verb, is_unseen in (("undo", True), ("redo", False), ("undo", True)):
        assert notebook.post(verb, edit_id=undone, headers=page).status == 200
        expected = before if is_unseen else {"cells": [], "edits": []}
        now = notebook.get_json("unseen")
        assert {name: now[name] for name in ("cells", "edits")} == {
            name: expected[name] for name in ("cells", "edits")
        }
    assert notebook.keep().json["cells"] == []


@pytest.mark.parametrize("reads_between", [False, True])
def test_an_edit_that_a_person_undoes_and_redoes_is_unseen_as_before(
    notebook: Notebook,
    page: dict[str, str],
    reads_between: bool,  # noqa: FBT001
) -> None:
    notebook.edit(replace("alpha", "x = 2"), client="Claude")
    cells = notebook.list_unseen()
    for _ in range(2):
        assert notebook.undo(headers=page, whose="all").status == 200
        if reads_between:
            assert list_keys(notebook) == []
        assert notebook.redo(headers=page, whose="all").status == 200
        assert notebook.list_unseen() == cells


def test_what_was_kept_stays_kept_when_an_undo_of_other_cells_is_undone(
    notebook: Notebook, page: dict[str, str]
) -> None:
    notebook.edit(replace("alpha", "x = 2"), replace("beta", "text"))
    notebook.edit({"op": "delete", "cell": "gamma"})
    alpha, beta, gamma = list_keys(notebook)
    notebook.keep(cells=[beta])
    undone = notebook.undo(cells=[alpha], headers=page).json["edit_id"]
    assert notebook.keep().json["cells"] == []
    notebook.edit({"op": "insert", "cell_type": "raw", "source": "new", "at": "end"})
    notebook.keep()
    assert notebook.undo(edit_id=undone, headers=page).status == 200
    assert list_keys(notebook) == [alpha]
    assert gamma != alpha
    assert find_notebook(notebook)["edits"] == 1


def test_a_dry_run_of_an_undo_has_the_sources_before_and_after(notebook: Notebook) -> None:
    edit_id = notebook.edit(
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
    keys = list_keys(notebook)
    for body in ({"edit_id": edit_id}, {"cells": keys}):
        reply = notebook.undo(dry_run=True, **body).json
        assert sorted(reply["sources"], key=lambda cell: cell["cell_id"]) == expected
    assert "sources" not in notebook.undo(edit_id=edit_id).json
    [back] = [one["edit_id"] for one in notebook.list_history() if one["kind"] == "undo"]
    reply = notebook.redo(edit_id=back, dry_run=True).json
    assert {cell["cell_id"]: cell["after"] for cell in reply["sources"]} == {
        "alpha": "x = 2",
        "beta": None,
        "new": "new",
    }


def test_an_undone_undo_leaves_what_was_kept_before_and_after_it(
    notebook: Notebook, page: dict[str, str]
) -> None:
    notebook.edit({"op": "insert", "cell_type": "raw", "source": "new", "at": "end"})
    notebook.edit(replace("beta", "text"))
    notebook.keep()
    notebook.edit(replace("alpha", "x = 2"))
    [alpha] = list_keys(notebook)
    undone = notebook.undo(cells=[alpha], headers=page).json["edit_id"]
    assert notebook.undo(edit_id=undone, headers=page).status == 200
    assert list_keys(notebook) == [alpha]
    notebook.keep()

    # Of an edit of two cells, the other one is kept after the undo.
    notebook.edit(replace("alpha", "x = 3"), replace("beta", "more"))
    alpha, beta = list_keys(notebook)
    for keys in ([beta], None):
        undone = notebook.undo(cells=[alpha], headers=page).json["edit_id"]
        notebook.keep(**({} if keys is None else {"cells": keys}))
        assert list_keys(notebook) == []
        assert notebook.undo(edit_id=undone, headers=page).status == 200
        assert list_keys(notebook) == [alpha]


def test_a_change_that_an_undone_undo_has_returned_can_be_kept(
    notebook: Notebook, page: dict[str, str]
) -> None:
    notebook.edit(replace("alpha", "x = 2"), replace("beta", "text"))
    alpha, beta = list_keys(notebook)
    undone = notebook.undo(cells=[alpha], headers=page).json["edit_id"]
    assert notebook.undo(edit_id=undone, headers=page).status == 200
    assert list_keys(notebook) == [alpha, beta]
    notebook.keep(cells=[alpha])
    assert list_keys(notebook) == [beta]


def test_what_an_agent_has_undone_and_redone_since_the_keep_is_unseen(notebook: Notebook) -> None:
    edit_id = notebook.edit(replace("alpha", "x = 2"), replace("beta", "text"))
    [_, beta] = list_keys(notebook)
    notebook.keep(cells=[beta])
    notebook.undo(edit_id=edit_id, client="Claude")
    notebook.keep()
    assert notebook.redo(edit_id=edit_id, client="Claude").status == 200
    cells = notebook.list_unseen()
    assert [cell["cell_id"] for cell in cells] == ["alpha", "beta"]


def test_an_undone_restore_returns_what_was_unseen(
    notebook: Notebook, page: dict[str, str]
) -> None:
    first = notebook.edit(replace("gamma", "first"))
    notebook.keep()
    notebook.edit(replace("alpha", "x = 2"), replace("beta", "text"))
    keys = list_keys(notebook)
    restored = notebook.restore(edit_id=first, headers=page).json["edit_id"]
    assert list_keys(notebook) == []
    assert notebook.undo(edit_id=restored, headers=page).status == 200
    assert list_keys(notebook) == keys
