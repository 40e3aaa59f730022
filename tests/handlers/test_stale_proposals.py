"""Proposals whose cells have changed since, and rejections with a reason that can be undone."""

import json
from typing import Any

import pytest

from tests.handlers.error_checks import get_error
from tests.handlers.requests import replace
from tests.support import samples
from tests.support.driver import Notebook
from tests.support.http import Client

ACCEPT = {"Accept": "text/plain"}
BASE = "a\nb\nc"
OURS, THEIRS, MERGED = "A\nb\nc", "a\nb\nC", "A\nb\nC"
TEXT = samples.notebook(*(samples.code(BASE, name) for name in ("alpha", "beta", "gamma")))
pytestmark = pytest.mark.usefixtures("review")


def choose(part: int, current: str, source: str | None) -> dict[str, Any]:
    return {"part": part, "source_hash": samples.compute_hash(current), "source": source}


def propose_and_change(notebook: Notebook, *changes: dict[str, Any]) -> int:
    """Propose to change all cells, and then change some of them otherwise."""
    number = notebook.propose(*(replace(cell, OURS) for cell in ("alpha", "beta", "gamma")))
    notebook.set_mode("edit")
    notebook.edit(*changes)
    notebook.set_mode("review")
    return number


def read_parts(notebook: Notebook, number: int) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = notebook.get_proposal(number)["parts"]
    return parts


STALE = [replace("alpha", THEIRS), replace("beta", "a\nb\nc, mine\nd")]


def test_a_proposal_shows_its_cells_as_they_are_now(notebook: Notebook) -> None:
    number = propose_and_change(
        notebook, *STALE, replace("gamma", "theirs"), {"op": "delete", "cell": "beta"}
    )
    alpha, beta, gamma = read_parts(notebook, number)
    assert (alpha["state"], alpha["current"]["source"]) == ("changed", THEIRS)
    assert (alpha["current_hash"], alpha["merged"]) == (samples.compute_hash(THEIRS), MERGED)
    assert beta["state"] == "gone"
    assert (gamma["state"], gamma["merged"]) == ("changed", None)
    assert not {"current", "current_hash", "merged"} & beta.keys()


def test_lists_and_decided_parts_have_no_states(notebook: Notebook) -> None:
    number = propose_and_change(notebook, *STALE)
    assert notebook.reject(number, parts=[0], reason="").json["reason"] is None
    (listed,) = notebook.list_proposals()
    assert not any("state" in part for part in listed["parts"])
    assert ["state" in part for part in read_parts(notebook, number)] == [False, True, True]


def test_a_proposal_for_an_unreadable_notebook_is_shown_without_states(notebook: Notebook) -> None:
    number = notebook.propose(replace("alpha", OURS))
    notebook.file.write_bytes(b"{}")
    assert not any("state" in part for part in read_parts(notebook, number))
    assert notebook.reject(number).json["status"] == "rejected"


def test_accept_merges_what_fits_unless_it_is_asked_not_to(notebook: Notebook) -> None:
    number = propose_and_change(notebook, STALE[0])
    before = notebook.text
    facts = get_error(notebook.accept(number, merge=False), 409, "cell_changed")
    assert [cell["cell_id"] for cell in facts["cells"]] == ["alpha"]
    assert notebook.text == before
    would = notebook.accept(number, dry_run=True).json
    assert would["edit_id"] is None
    accepted = notebook.accept(number)
    assert accepted.status == 200, accepted.body
    assert accepted.json["hash"] == would["hash"]
    assert notebook.list_sources() == [MERGED, OURS, OURS]
    assert notebook.get_proposal(number)["status"] == "accepted"
    # It is one edit, and undone like any other.
    notebook.set_mode("edit")
    assert notebook.undo().status == 200
    assert notebook.text == before


def test_accept_writes_the_sources_that_a_person_has_chosen(notebook: Notebook) -> None:
    number = propose_and_change(notebook, STALE[0], replace("beta", "theirs"))
    sources = [choose(0, THEIRS, "mine"), choose(1, "theirs", "both"), choose(2, BASE, "edited")]
    answer = notebook.accept(number, sources=sources)
    assert answer.status == 200, answer.body
    assert notebook.list_sources() == ["mine", "both", "edited"]
    edits = notebook.get_proposal(number)["edit_ids"]
    assert edits == [answer.json["edit_id"]]


def run(notebook: Notebook, cell: int) -> None:
    """Give a cell what a run leaves, as another program that saves the notebook."""
    content = json.loads(notebook.text)
    output = {"output_type": "stream", "name": "stdout", "text": "of the old source"}
    content["cells"][cell] |= {"execution_count": 7, "outputs": [output]}
    notebook.file.write_bytes(json.dumps(content).encode())


@pytest.mark.parametrize("change", [{}, {"source": THEIRS}])
def test_a_cell_that_was_run_since_loses_the_outputs_of_its_old_source(
    notebook: Notebook, change: dict[str, str]
) -> None:
    number = propose_and_change(notebook, replace("alpha", change.get("source", BASE)))
    run(notebook, 0)
    run(notebook, 1)
    accepted = notebook.accept(number, parts=[0], merge=True)
    assert accepted.status == 200
    assert accepted.json["operations"][0]["outputs_cleared"]
    alpha, beta, _ = json.loads(notebook.text)["cells"]
    assert (alpha["source"], alpha["outputs"], alpha["execution_count"]) == (
        MERGED if change else OURS,
        [],
        None,
    )
    assert beta["execution_count"] == 7


def test_a_proposed_redo_clears_the_outputs_of_the_source_that_it_replaces(
    notebook: Notebook,
) -> None:
    notebook.set_mode("edit")
    notebook.edit(replace("alpha", OURS))
    notebook.undo()
    notebook.set_mode("review")
    answer = notebook.redo()
    run(notebook, 0)
    assert answer.status == 202
    assert notebook.accept(answer.json["proposal_id"]).status == 200
    alpha = json.loads(notebook.text)["cells"][0]
    assert (alpha["source"], alpha["outputs"], alpha["execution_count"]) == (OURS, [], None)


@pytest.mark.parametrize("was_run", ["before", "since"])
def test_outputs_that_a_proposal_keeps_stay_also_if_a_cell_was_run_since(
    notebook: Notebook, was_run: str
) -> None:
    if was_run == "before":
        run(notebook, 0)
    number = notebook.propose({**replace("alpha", OURS), "outputs": "keep"})
    run(notebook, 0 if was_run == "since" else 1)
    assert notebook.accept(number).status == 200
    alpha = json.loads(notebook.text)["cells"][0]
    assert (alpha["source"], alpha["execution_count"]) == (OURS, 7)


@pytest.mark.parametrize("changes", [[], [replace("gamma", "theirs")]])
def test_a_person_chooses_the_source_of_a_new_cell(
    notebook: Notebook, changes: list[dict[str, Any]]
) -> None:
    cell = {"cell_type": "code", "source": "1\n2", "id": "new", "metadata": {"tags": ["t"]}}
    number = notebook.propose(replace("alpha", OURS), {"op": "insert", "after": "beta", **cell})
    if changes:
        notebook.set_mode("edit")
        notebook.edit(*changes)
    before = notebook.text
    for stale in (choose(1, "1\n2", "mine"), {"part": 0, "source_hash": None, "source": "mine"}):
        get_error(notebook.accept(number, sources=[stale]), 409, "cell_changed")
    assert notebook.text == before
    chosen = {"part": 1, "source_hash": None, "source": "one\ntwo\n"}
    answer = notebook.accept(number, sources=[chosen])
    assert answer.status == 200, answer.body
    after = json.loads(notebook.text)["cells"]
    assert [one["source"] for one in after[:3]] == [OURS, BASE, "one\ntwo\n"]
    new = {"cell_type": "code", "id": "new", "metadata": {"tags": ["t"]}, "outputs": []}
    assert after[2] == {**new, "execution_count": None, "source": "one\ntwo\n"}
    assert "+one" in answer.json["diff"]
    notebook.set_mode("edit")
    assert notebook.undo(edit_id=answer.json["edit_id"]).status == 200
    assert notebook.text == before


# Reasons ------------------------------------------------------------------------------------------


def test_an_agent_reads_why_its_proposal_was_rejected(live: Client, notebook: Notebook) -> None:
    number = notebook.propose(replace("alpha", OURS), replace("beta", OURS))
    assert notebook.get_proposal(number)["reason"] is None
    notebook.reject(number, parts=[1], reason="Too long")
    notebook.reject(number, reason="Use pandas,\nplease")
    waited = live.get_json(f"proposals/{number}?wait=60")
    assert (waited["status"], waited["reason"]) == ("rejected", "Use pandas,\nplease")
    assert [part["reason"] for part in waited["parts"]] == ["Use pandas,\nplease", "Too long"]
    text = live.request("GET", f"nbedit/proposals/{number}", headers=ACCEPT).body.decode()
    assert "reason: Use pandas, please\npart 0: rejected\npart 1: rejected: Too long\n" in text


# Undo of a rejection ------------------------------------------------------------------------------


def test_a_rejected_proposal_is_reopened_and_accepted(notebook: Notebook) -> None:
    number = notebook.propose(replace("alpha", OURS), replace("beta", OURS))
    notebook.reject(number, reason="no")
    reopened = notebook.decide(number, "reopen")
    assert reopened.status == 200, reopened.body
    proposal = reopened.json
    assert (proposal["status"], proposal["reason"], proposal["decided_by"]) == (
        "pending",
        None,
        None,
    )
    assert [(part["status"], part["reason"]) for part in proposal["parts"]] == [
        ("pending", None)
    ] * 2
    assert notebook.accept(number).status == 200
    assert notebook.list_sources() == [OURS, OURS, BASE]


def test_parts_are_reopened_one_by_one(notebook: Notebook) -> None:
    cells = ("alpha", "beta", "gamma")
    number = notebook.propose(*(replace(cell, OURS) for cell in cells))
    notebook.accept(number, parts=[0])
    notebook.reject(number, parts=[1], reason="first")
    notebook.reject(number, parts=[2], reason="second")
    assert notebook.get_proposal(number)["status"] == "partly_accepted"
    proposal = notebook.decide(number, "reopen", parts=[2]).json
    statuses = [part["status"] for part in proposal["parts"]]
    assert (proposal["status"], statuses) == ("pending", ["accepted", "rejected", "pending"])
    assert (proposal["reason"], bool(proposal["decided_by"])) == ("first", True)
    assert notebook.accept(number, parts=[2]).status == 200
    assert notebook.list_sources() == [OURS, BASE, OURS]


def test_what_is_not_rejected_cannot_be_reopened(notebook: Notebook) -> None:
    number = notebook.propose(replace("alpha", OURS), replace("beta", OURS))
    facts = get_error(notebook.decide(number, "reopen"), 409, "proposal_closed")
    assert facts == {"proposal_id": number, "status": "pending", "parts": []}
    notebook.reject(number, parts=[1])
    facts = get_error(notebook.decide(number, "reopen", parts=[0, 1]), 409, "proposal_closed")
    assert facts == {"proposal_id": number, "status": "pending", "parts": [1]}
    get_error(notebook.decide(number, "reopen", parts=[2]), 400, "invalid_request")
    notebook.accept(number, parts=[0])
    notebook.decide(number, "reopen")
    notebook.accept(number)
    facts = get_error(notebook.decide(number, "reopen"), 409, "proposal_closed")
    assert facts == {"proposal_id": number, "status": "accepted", "parts": []}


def test_a_rejected_notebook_is_reopened_whole(live: Client, notebook: Notebook) -> None:
    live.set_mode("review")
    for cells in ([], [{"cell_type": "code", "source": "1"}]):
        name = f"new-{len(cells)}-{notebook.path}"
        number = live.send_json("PUT", f"notebooks/{name}", {"cells": cells}).json["proposal_id"]
        assert notebook.reject(number, reason="no").json["reason"] == "no"
        get_error(notebook.decide(number, "reopen", parts=[0]), 400, "invalid_request")
        assert notebook.decide(number, "reopen").json["status"] == "pending"
        assert notebook.accept(number).status == 200
        assert len(json.loads((notebook.root / name).read_bytes())["cells"]) == len(cells)


# Text ---------------------------------------------------------------------------------------------


def test_the_text_says_in_few_words_what_has_changed(live: Client, notebook: Notebook) -> None:
    number = notebook.propose(
        *(replace(cell, OURS) for cell in ("alpha", "beta", "gamma")),
        {"op": "insert", "at": "end", "cell_type": "raw", "source": "new", "id": "new"},
        {"op": "set_metadata", "patch": {"k": 1}},
    )
    notebook.set_mode("edit")
    notebook.edit(
        STALE[0],
        replace("beta", "theirs"),
        {"op": "delete", "cell": "gamma"},
        {"op": "insert", "at": "start", "cell_type": "raw", "source": "x", "id": "new"},
        {"op": "set_metadata", "patch": {"k": 2}},
    )
    text = live.request("GET", f"nbedit/proposals/{number}", headers=ACCEPT).body.decode()
    lines = [line for line in text.splitlines() if line.startswith("part ")]
    assert lines == [
        "part 0: the cell has changed since; both changes can be merged",
        "part 1: the cell has changed since; the changes conflict",
        "part 2: the cell is gone",
        "part 3: the cell or its place is not certain any more",
        "part 4: these metadata have changed since",
    ]


@pytest.mark.parametrize("verb", ["reject", "reopen"])
def test_a_decision_is_answered_as_text(notebook: Notebook, verb: str) -> None:
    number = notebook.propose(replace("alpha", OURS))
    if verb == "reopen":
        notebook.reject(number)
    answer = notebook.decide(number, verb, headers=ACCEPT)
    status = "rejected" if verb == "reject" else "pending"
    assert answer.body.decode().startswith(f"{notebook.path} | proposal {number} | {status}\n")
