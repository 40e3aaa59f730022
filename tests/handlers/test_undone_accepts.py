"""Undo and redo of edits that accepted a proposal."""

import pytest

from tests.handlers.requests import ODD, replace
from tests.support.driver import Notebook, get_number
from tests.support.http import Client

TEXT = ODD
pytestmark = pytest.mark.usefixtures("review")
OPERATIONS = [replace("alpha", "ours"), replace("beta", "ours, too")]


def accept(notebook: Notebook, proposal: int, page: dict[str, str], *parts: int) -> int:
    body = {"parts": list(parts)} if parts else {}
    return get_number(notebook.accept(proposal, headers=page, **body), 200, "edit_id")


def list_statuses(notebook: Notebook, proposal: int) -> list[str]:
    found = notebook.get_proposal(proposal)
    return [found["status"], *(part["status"] for part in found["parts"])]


def test_an_undone_accept_is_pending_again_and_its_redo_accepts_it(
    notebook: Notebook, page: dict[str, str]
) -> None:
    proposal = notebook.propose(*OPERATIONS, client="Claude")
    number = accept(notebook, proposal, page)
    accepted = notebook.text
    for _ in range(2):
        assert notebook.undo(headers=page, edit_id=number).status == 200
        assert notebook.text == ODD
        assert list_statuses(notebook, proposal) == ["pending", "pending", "pending"]
        found = notebook.get_proposal(proposal)
        assert (found["decided_by"], found["parts"][0]["state"]) == (None, "as_proposed")
        assert notebook.redo(headers=page, edit_id=number).status == 200
        assert notebook.text == accepted
        assert list_statuses(notebook, proposal) == ["accepted", "accepted", "accepted"]
    found = notebook.get_proposal(proposal)
    assert (found["edit_ids"], bool(found["decided_by"])) == ([number], True)


def test_only_the_parts_of_the_undone_edit_are_pending_again(
    notebook: Notebook, page: dict[str, str]
) -> None:
    proposal = notebook.propose(*OPERATIONS)
    first, second = (accept(notebook, proposal, page, part) for part in (0, 1))
    # The newest of all, as by a shortcut.
    assert notebook.undo(headers=page, whose="all").json["undone"][0]["edit_id"] == second
    assert list_statuses(notebook, proposal) == ["pending", "accepted", "pending"]
    assert accept(notebook, proposal, page) > second
    assert notebook.undo(headers=page, edit_id=first).status == 200
    assert list_statuses(notebook, proposal) == ["pending", "pending", "accepted"]
    assert notebook.list_sources()[:2] == ["x = 1\nx", "ours, too"]


def test_a_redo_accepts_what_was_rejected_after_the_undo(
    notebook: Notebook, page: dict[str, str]
) -> None:
    proposal = notebook.propose(*OPERATIONS)
    number = accept(notebook, proposal, page, 0)
    assert notebook.undo(headers=page, edit_id=number).status == 200
    assert notebook.reject(proposal, reason="no").status == 200
    assert notebook.redo(headers=page, edit_id=number).status == 200
    assert notebook.list_sources()[0] == "ours"
    found = notebook.get_proposal(proposal)
    assert [(part["status"], part["edit_id"], part["reason"]) for part in found["parts"]] == [
        ("accepted", number, None),
        ("rejected", None, "no"),
    ]


def test_a_tool_that_undoes_an_accepted_edit_reopens_nothing(
    live: Client, notebook: Notebook, page: dict[str, str]
) -> None:
    proposal = notebook.propose(*OPERATIONS)
    number = accept(notebook, proposal, page)
    notebook.set_mode("edit")
    body = {"path": notebook.path, "action": "undo", "edit_id": number}
    answer = live.send_json("POST", "tools/agent/notebook_history", body)
    assert answer.status == 200, answer.body
    assert notebook.text == ODD
    # Only a person decides that the change waits for a decision again.
    assert list_statuses(notebook, proposal)[0] == "accepted"


def test_an_accepted_part_is_reopened_by_the_undo_of_its_edit_only(
    notebook: Notebook, page: dict[str, str]
) -> None:
    proposal = notebook.propose(*OPERATIONS)
    accept(notebook, proposal, page)
    answer = notebook.decide(proposal, "reopen")
    assert (answer.status, answer.json["reason"]) == (409, "proposal_closed")
    assert "undo the edit" in answer.json["message"]


def test_an_accepted_proposal_of_an_undo_makes_the_parts_pending_again(
    notebook: Notebook, page: dict[str, str]
) -> None:
    proposal = notebook.propose(*OPERATIONS, client="Claude")
    number = accept(notebook, proposal, page)
    proposed_undo = get_number(notebook.undo(edit_id=number), 202, "proposal_id")
    assert list_statuses(notebook, proposal)[0] == "accepted"
    for _ in range(2):
        undone_by = accept(notebook, proposed_undo, page)
        assert notebook.text == ODD
        assert list_statuses(notebook, proposal) == ["pending", "pending", "pending"]
        assert list_statuses(notebook, proposed_undo)[0] == "accepted"
        # The redo undoes the edit that has accepted the proposal of the undo.
        assert notebook.redo(headers=page, edit_id=number).status == 200
        assert list_statuses(notebook, proposal) == ["accepted", "accepted", "accepted"]
        assert list_statuses(notebook, proposed_undo) == ["pending", "pending", "pending"]
    assert notebook.get_proposal(proposed_undo)["edit_ids"][-1] == undone_by


def test_an_accepted_proposal_of_a_redo_accepts_the_parts_again(
    notebook: Notebook, page: dict[str, str]
) -> None:
    proposal = notebook.propose(*OPERATIONS)
    number = accept(notebook, proposal, page)
    assert notebook.undo(headers=page, edit_id=number).status == 200
    proposed_redo = get_number(notebook.redo(edit_id=number), 202, "proposal_id")
    redo = accept(notebook, proposed_redo, page)
    assert list_statuses(notebook, proposal) == ["accepted", "accepted", "accepted"]
    # The undo of the redo, by its own number.
    assert notebook.undo(headers=page, edit_id=redo).status == 200
    assert notebook.text == ODD
    assert list_statuses(notebook, proposal) == ["pending", "pending", "pending"]
    assert list_statuses(notebook, proposed_redo) == ["pending", "pending", "pending"]


def test_an_accepted_undo_that_a_tool_has_proposed_reopens_nothing(
    live: Client, notebook: Notebook, page: dict[str, str]
) -> None:
    proposal = notebook.propose(*OPERATIONS)
    number = accept(notebook, proposal, page)
    body = {"path": notebook.path, "action": "undo", "edit_id": number}
    assert live.send_json("POST", "tools/agent/notebook_history", body).status == 202
    pending = notebook.list_proposals()
    accept(notebook, pending[0]["proposal_id"], page)
    assert notebook.text == ODD
    assert list_statuses(notebook, proposal)[0] == "accepted"


def test_a_redo_of_an_older_accept_accepts_again(notebook: Notebook, page: dict[str, str]) -> None:
    proposal = notebook.propose(*OPERATIONS)
    first = accept(notebook, proposal, page, 0)
    assert notebook.undo(headers=page, edit_id=first).status == 200
    second = accept(notebook, proposal, page)
    assert notebook.undo(headers=page, edit_id=second).status == 200
    assert list_statuses(notebook, proposal) == ["pending", "pending", "pending"]
    assert notebook.redo(headers=page, edit_id=first).status == 200
    assert notebook.list_sources()[0] == "ours"
    assert list_statuses(notebook, proposal) == ["pending", "accepted", "pending"]
    assert notebook.get_proposal(proposal)["parts"][0]["edit_id"] == first
    assert notebook.undo(headers=page, edit_id=first).status == 200
    assert list_statuses(notebook, proposal) == ["pending", "pending", "pending"]
