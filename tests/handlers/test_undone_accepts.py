"""Undo and redo of edits that accepted a proposal."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.handlers.requests import (
    ODD,
    decide,
    get_json,
    get_number,
    list_sources,
    propose,
    replace,
    send_json,
    set_mode,
    undo,
)
from tests.support.http import Client

TEXT = ODD
OPERATIONS = [replace("alpha", "ours"), replace("beta", "ours, too")]


@pytest.fixture(autouse=True)
def _review(live: Client, path: str) -> Iterator[None]:
    set_mode(live, "review", path)
    yield
    set_mode(live, None, path)


def accept(live: Client, proposal: int, page: dict[str, str], *parts: int) -> int:
    body = {"parts": list(parts)} if parts else {}
    return get_number(decide(live, proposal, headers=page, **body), 200, "edit_id")


def list_statuses(live: Client, proposal: int) -> list[str]:
    found = get_json(live, f"proposals/{proposal}")
    return [found["status"], *(part["status"] for part in found["parts"])]


def test_an_undone_accept_is_pending_again_and_its_redo_accepts_it(
    live: Client, path: str, page: dict[str, str]
) -> None:
    proposal = propose(live, path, *OPERATIONS, client="Claude")
    number = accept(live, proposal, page)
    accepted = (live.root / path).read_bytes()
    for _ in range(2):
        assert undo(live, path, headers=page, edit_id=number).status == 200
        assert (live.root / path).read_bytes() == ODD
        assert list_statuses(live, proposal) == ["pending", "pending", "pending"]
        found = get_json(live, f"proposals/{proposal}")
        assert (found["decided_by"], found["parts"][0]["state"]) == (None, "as_proposed")
        assert undo(live, path, "redo", headers=page, edit_id=number).status == 200
        assert (live.root / path).read_bytes() == accepted
        assert list_statuses(live, proposal) == ["accepted", "accepted", "accepted"]
    found = get_json(live, f"proposals/{proposal}")
    assert (found["edit_ids"], bool(found["decided_by"])) == ([number], True)


def test_only_the_parts_of_the_undone_edit_are_pending_again(
    live: Client, path: str, page: dict[str, str]
) -> None:
    proposal = propose(live, path, *OPERATIONS)
    first, second = (accept(live, proposal, page, part) for part in (0, 1))
    # The newest of all, as by a shortcut.
    assert undo(live, path, headers=page, whose="all").json["undone"][0]["edit_id"] == second
    assert list_statuses(live, proposal) == ["pending", "accepted", "pending"]
    assert accept(live, proposal, page) > second
    assert undo(live, path, headers=page, edit_id=first).status == 200
    assert list_statuses(live, proposal) == ["pending", "pending", "accepted"]
    assert list_sources(live, path)[:2] == ["x = 1\nx", "ours, too"]


def test_a_redo_accepts_what_was_rejected_after_the_undo(
    live: Client, path: str, page: dict[str, str]
) -> None:
    proposal = propose(live, path, *OPERATIONS)
    number = accept(live, proposal, page, 0)
    assert undo(live, path, headers=page, edit_id=number).status == 200
    assert decide(live, proposal, "reject", reason="no").status == 200
    assert undo(live, path, "redo", headers=page, edit_id=number).status == 200
    assert list_sources(live, path)[0] == "ours"
    found = get_json(live, f"proposals/{proposal}")
    assert [(part["status"], part["edit_id"], part["reason"]) for part in found["parts"]] == [
        ("accepted", number, None),
        ("rejected", None, "no"),
    ]


def test_a_tool_that_undoes_an_accepted_edit_reopens_nothing(
    live: Client, path: str, page: dict[str, str]
) -> None:
    proposal = propose(live, path, *OPERATIONS)
    number = accept(live, proposal, page)
    set_mode(live, "edit", path)
    body = {"path": path, "action": "undo", "edit_id": number}
    answer = send_json(live, "POST", "tools/agent/notebook_history", body)
    assert answer.status == 200, answer.body
    assert (live.root / path).read_bytes() == ODD
    # Only a person decides that the change waits for a decision again.
    assert list_statuses(live, proposal)[0] == "accepted"


def test_an_accepted_part_is_reopened_by_the_undo_of_its_edit_only(
    live: Client, path: str, page: dict[str, str]
) -> None:
    proposal = propose(live, path, *OPERATIONS)
    accept(live, proposal, page)
    answer = decide(live, proposal, "reopen")
    assert (answer.status, answer.json["reason"]) == (409, "proposal_closed")
    assert "undo the edit" in answer.json["message"]


def test_an_accepted_proposal_of_an_undo_makes_the_parts_pending_again(
    live: Client, path: str, page: dict[str, str]
) -> None:
    proposal = propose(live, path, *OPERATIONS, client="Claude")
    number = accept(live, proposal, page)
    proposed_undo = get_number(undo(live, path, edit_id=number), 202, "proposal_id")
    assert list_statuses(live, proposal)[0] == "accepted"
    for _ in range(2):
        undone_by = accept(live, proposed_undo, page)
        assert (live.root / path).read_bytes() == ODD
        assert list_statuses(live, proposal) == ["pending", "pending", "pending"]
        assert list_statuses(live, proposed_undo)[0] == "accepted"
        # The redo undoes the edit that has accepted the proposal of the undo.
        assert undo(live, path, "redo", headers=page, edit_id=number).status == 200
        assert list_statuses(live, proposal) == ["accepted", "accepted", "accepted"]
        assert list_statuses(live, proposed_undo) == ["pending", "pending", "pending"]
    assert get_json(live, f"proposals/{proposed_undo}")["edit_ids"][-1] == undone_by


def test_an_accepted_proposal_of_a_redo_accepts_the_parts_again(
    live: Client, path: str, page: dict[str, str]
) -> None:
    proposal = propose(live, path, *OPERATIONS)
    number = accept(live, proposal, page)
    assert undo(live, path, headers=page, edit_id=number).status == 200
    proposed_redo = get_number(undo(live, path, "redo", edit_id=number), 202, "proposal_id")
    redo = accept(live, proposed_redo, page)
    assert list_statuses(live, proposal) == ["accepted", "accepted", "accepted"]
    # The undo of the redo, by its own number.
    assert undo(live, path, headers=page, edit_id=redo).status == 200
    assert (live.root / path).read_bytes() == ODD
    assert list_statuses(live, proposal) == ["pending", "pending", "pending"]
    assert list_statuses(live, proposed_redo) == ["pending", "pending", "pending"]


def test_an_accepted_undo_that_a_tool_has_proposed_reopens_nothing(
    live: Client, path: str, page: dict[str, str]
) -> None:
    proposal = propose(live, path, *OPERATIONS)
    number = accept(live, proposal, page)
    body = {"path": path, "action": "undo", "edit_id": number}
    assert send_json(live, "POST", "tools/agent/notebook_history", body).status == 202
    pending = get_json(live, f"proposals?path={path}")["proposals"]
    accept(live, pending[0]["proposal_id"], page)
    assert (live.root / path).read_bytes() == ODD
    assert list_statuses(live, proposal)[0] == "accepted"


def test_a_redo_of_an_older_accept_accepts_again(
    live: Client, path: str, page: dict[str, str]
) -> None:
    proposal = propose(live, path, *OPERATIONS)
    first = accept(live, proposal, page, 0)
    assert undo(live, path, headers=page, edit_id=first).status == 200
    second = accept(live, proposal, page)
    assert undo(live, path, headers=page, edit_id=second).status == 200
    assert list_statuses(live, proposal) == ["pending", "pending", "pending"]
    assert undo(live, path, "redo", headers=page, edit_id=first).status == 200
    assert list_sources(live, path)[0] == "ours"
    assert list_statuses(live, proposal) == ["pending", "accepted", "pending"]
    assert get_json(live, f"proposals/{proposal}")["parts"][0]["edit_id"] == first
    assert undo(live, path, headers=page, edit_id=first).status == 200
    assert list_statuses(live, proposal) == ["pending", "pending", "pending"]
