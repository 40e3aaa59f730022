"""Deciding first, over HTTP: what is proposed, what a person then does, and what is on disk."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from jupyter_nbedit.demo import server
from jupyter_nbedit.events import PROPOSAL_SCHEMA_ID, SCHEMA_ID
from tests.events.test_events import listening
from tests.handlers.refused import details
from tests.support import samples
from tests.support.http import JSON, Answer, Client, Local

TEXT = samples.three_cells()
# As people have them: CRLF, tabs, escapes, keys in odd order and no newline at the end.
ODD = TEXT.replace(b"\n ", b"\r\n\t").replace(b"# Title", b"# T\\u00eftle \\/")[:-1]
ALPHA = {"op": "replace", "cell": "alpha", "source": "ours"}
BETA = {"op": "replace", "cell": "beta", "source": "ours, too"}
INSERT = {"op": "insert", "cell_type": "code", "source": "new", "id": "new", "after": "alpha"}


@pytest.fixture
def path(live: Client, request: pytest.FixtureRequest) -> Iterator[str]:
    """Put the notebook of three cells to the live server, in review mode, for one test."""
    name = f"{request.node.originalname}.ipynb"
    (live.root / name).write_bytes(ODD)
    mode(live, "review", name)
    yield name
    mode(live, None)


def mode(client: Client, to: str | None, path: str | None = None) -> None:
    body = {"mode": to} if path is None else {"mode": to, "path": path}
    answer = client.request("PUT", "nbedit/mode", json.dumps(body).encode(), JSON)
    assert answer.status == 200, answer.body


def proposed(live: Client, path: str, *operations: dict[str, Any], **fields: Any) -> int:
    answer = live.patch(path, *operations, **fields)
    assert answer.status == 202, answer.body
    number: int = answer.json["proposal_id"]
    return number


def decide(client: Client, number: int, verb: str = "accept", **body: Any) -> Answer:
    headers = {**JSON, **body.pop("headers", {})}
    target = f"nbedit/proposals/{number}/{verb}"
    return client.request("POST", target, json.dumps(body).encode(), headers)


def get(client: Client, number: int, query: str = "") -> Any:
    answer = client.request("GET", f"nbedit/proposals/{number}{query}")
    assert answer.status == 200, answer.body
    return answer.json


def sources(client: Client, path: str) -> dict[str, str]:
    cells = samples.cells_of((client.root / path).read_bytes())
    return {cell["id"]: "".join(cell["source"]) for cell in cells}


# Proposing ----------------------------------------------------------------------------------------

REQUESTS = [
    ("PATCH", "", {"operations": [ALPHA]}),
    ("POST", "/cells", {"cell_type": "code", "source": "new", "at": "end"}),
    ("PATCH", "/cells/alpha", {"source": "ours"}),
    ("DELETE", "/cells/alpha", None),
]


@pytest.mark.parametrize(("verb", "below", "body"), REQUESTS)
def test_a_change_in_review_mode_is_proposed_and_not_made(
    live: Client, path: str, verb: str, below: str, body: Any
) -> None:
    sent = None if body is None else json.dumps(body).encode()
    answer = live.request(verb, f"nbedit/notebooks/{path}{below}", sent, JSON if sent else {})
    assert answer.status == 202
    reply = answer.json
    now = hashlib.sha256(ODD).hexdigest()
    assert (reply["edit_id"], reply["persisted"]) == (None, False)
    assert reply["hash"] == reply["hash_before"] == now
    assert answer.headers["ETag"] == f'"{now}"'
    assert answer.headers["Location"] == f"/nbedit/proposals/{reply['proposal_id']}"
    assert (live.root / path).read_bytes() == ODD
    proposal = live.request("GET", answer.headers["Location"].lstrip("/")).json
    assert (proposal["status"], proposal["path"]) == ("pending", path)
    assert proposal["diff"] == reply["diff"]
    told = ["op", "cell_id", "index"]
    assert proposal["operations"] == [{n: one[n] for n in told} for one in reply["operations"]]
    assert proposal["hash_before"] == now


def test_a_proposal_shows_every_cell_before_and_after(live: Client, path: str) -> None:
    number = proposed(
        live,
        path,
        ALPHA,
        INSERT,
        {"op": "delete", "cell": "gamma"},
        {"op": "set_metadata", "patch": {"authors": ["ada"]}},
        client="an agent",
        message="why",
    )
    proposal = get(live, number)
    assert (proposal["client"], proposal["message"]) == ("an agent", "why")
    shown = [
        (
            part["part"],
            part["cell_id"],
            part["index_before"],
            part["index"],
            part["outputs_cleared"],
            part["before"] and part["before"]["source"],
            part["after"] and part["after"]["source"],
            part["status"],
        )
        for part in proposal["parts"]
    ]
    assert shown == [
        (0, "alpha", 0, 0, True, "x = 1\nx", "ours", "pending"),
        (1, "new", None, 1, False, None, "new", "pending"),
        (2, "gamma", 2, None, False, "as is", None, "pending"),
        (3, None, None, None, False, None, None, "pending"),
    ]
    assert proposal["parts"][3]["after"]["metadata"]["authors"] == ["ada"]
    assert "authors" not in proposal["parts"][3]["before"]["metadata"]


def test_what_changes_nothing_and_what_is_only_tried_is_no_proposal(
    live: Client, path: str
) -> None:
    nothing = {"op": "replace", "cell": "gamma", "source": "as is"}
    for answer in (live.patch(path, nothing), live.patch(path, ALPHA, dry_run=True)):
        assert answer.status == 200
        assert "proposal_id" not in answer.json
    assert live.request("GET", f"nbedit/proposals?path={path}").json == {"proposals": []}


def test_what_an_edit_is_checked_for_is_checked_when_it_is_proposed(
    live: Client, path: str
) -> None:
    guarded = {**ALPHA, "expect": {"source": "another"}}
    details(live.patch(path, guarded), 409, "cell_changed")
    details(live.patch(path, ALPHA, hash="0" * 64), 412, "hash_mismatch")
    details(live.patch(path, {"op": "delete", "cell": "nobody"}), 404, "cell_not_found")
    details(live.patch("missing.ipynb", ALPHA), 404, "notebook_not_found")
    assert live.request("GET", f"nbedit/proposals?path={path}").json == {"proposals": []}


def test_a_retry_proposes_nothing_twice(live: Client, path: str) -> None:
    headers = {"Idempotency-Key": path}
    first, again = (live.patch(path, ALPHA, headers=headers) for _ in range(2))
    assert first.body == again.body
    assert first.headers["Location"] == again.headers["Location"]
    assert len(live.request("GET", f"nbedit/proposals?path={path}").json["proposals"]) == 1


# Accepting ----------------------------------------------------------------------------------------


OPERATIONS = [
    ALPHA,
    INSERT,
    {"op": "replace", "cell": "alpha", "source": "# now text", "cell_type": "markdown"},
    {"op": "replace_text", "cell": "alpha", "old": "1", "new": "2"},
    {"op": "delete", "cells": ["alpha", "gamma"]},
    {"op": "move", "cell": "gamma", "at": "start"},
    {"op": "split", "cell": "alpha", "at_line": 2},
    {"op": "clear_outputs", "all": True},
    {"op": "set_metadata", "cell": "beta", "patch": {"tags": ["ü"]}},
    {"op": "set_metadata", "patch": {"authors": ["ada"], "kernelspec": None}},
]


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation["op"])
def test_what_is_accepted_leaves_the_bytes_that_the_edit_would_have_left(
    live: Client, path: str, operation: dict[str, Any]
) -> None:
    would = live.patch(path, operation, dry_run=True).json
    number = proposed(live, path, operation)
    answer = decide(live, number)
    assert answer.status == 200, answer.body
    if operation["op"] != "split":
        # Of a split the new half has another id each time.
        assert answer.json["hash"] == would["hash"]
    assert answer.json["diff"] == get(live, number)["diff"]
    text = (live.root / path).read_bytes()
    assert answer.json["hash"] == hashlib.sha256(text).hexdigest()
    assert text.startswith(b"{\r\n\t")
    assert {one["op"] for one in answer.json["operations"]} == {"accept"}
    assert answer.json["edit_id"] is not None
    proposal = get(live, number)
    assert (proposal["status"], proposal["edit_ids"]) == ("accepted", [answer.json["edit_id"]])
    assert proposal["decided_by"]


def test_cells_are_accepted_and_rejected_one_by_one(live: Client, path: str) -> None:
    number = proposed(live, path, ALPHA, INSERT, BETA)
    assert decide(live, number, parts=[1]).status == 200
    assert sources(live, path)["new"] == "new"
    assert sources(live, path)["alpha"] != "ours"
    rejected = decide(live, number, "reject", parts=[0]).json
    assert [part["status"] for part in rejected["parts"]] == ["rejected", "accepted", "pending"]
    assert rejected["status"] == "pending"
    assert decide(live, number).status == 200
    assert sources(live, path)["beta"] == "ours, too"
    assert sources(live, path)["alpha"] != "ours"
    proposal = get(live, number)
    assert proposal["status"] == "partly_accepted"
    assert len(proposal["edit_ids"]) == 2


def test_edits_of_other_cells_are_not_in_the_way(live: Client, path: str) -> None:
    number = proposed(live, path, ALPHA, INSERT)
    mode(live, "edit", path)
    between = {"op": "insert", "cell_type": "raw", "source": "theirs", "id": "t", "at": "start"}
    assert live.patch(path, BETA, between).status == 200
    assert decide(live, number).status == 200
    assert list(sources(live, path).items()) == [
        ("t", "theirs"),
        ("alpha", "ours"),
        ("new", "new"),
        ("beta", "ours, too"),
        ("gamma", "as is"),
    ]


def test_a_cell_that_was_changed_since_is_not_overwritten(live: Client, path: str) -> None:
    number = proposed(live, path, ALPHA, BETA)
    mode(live, "edit", path)
    live.patch(path, {"op": "replace", "cell": "alpha", "source": "theirs"})
    before = (live.root / path).read_bytes()
    facts = details(decide(live, number), 409, "cell_changed")
    assert facts["proposal_id"] == number
    (cell,) = facts["cells"]
    assert (cell["cell_id"], cell["why"], cell["source"]) == ("alpha", "changed", "theirs")
    assert (live.root / path).read_bytes() == before
    proposal = get(live, number)
    assert (proposal["status"], proposal["decided_by"]) == ("pending", None)
    # The rest still can be had.
    assert decide(live, number, parts=[1]).status == 200
    assert (sources(live, path)["alpha"], sources(live, path)["beta"]) == ("theirs", "ours, too")


def test_nothing_is_accepted_for_another_version_than_was_seen(live: Client, path: str) -> None:
    number = proposed(live, path, ALPHA)
    details(decide(live, number, hash="0" * 64), 412, "hash_mismatch")
    stale = {"If-Match": f'"{"0" * 64}"'}
    details(decide(live, number, headers=stale), 412, "hash_mismatch")
    assert (live.root / path).read_bytes() == ODD
    assert decide(live, number, hash=hashlib.sha256(ODD).hexdigest()).status == 200


def test_accepting_can_be_tried(live: Client, path: str) -> None:
    number = proposed(live, path, ALPHA)
    would = decide(live, number, dry_run=True)
    assert (would.status, would.json["edit_id"]) == (200, None)
    assert "+ours" in would.json["diff"]
    assert (live.root / path).read_bytes() == ODD
    assert get(live, number)["status"] == "pending"


def test_a_retry_accepts_nothing_twice(live: Client, path: str) -> None:
    number = proposed(live, path, ALPHA)
    headers = {"Idempotency-Key": path}
    first, again = (decide(live, number, headers=headers) for _ in range(2))
    assert first.status == 200
    assert first.body == again.body
    assert len(get(live, number)["edit_ids"]) == 1


def test_of_many_who_accept_at_once_one_does(live: Client, path: str) -> None:
    number = proposed(live, path, ALPHA)
    with ThreadPoolExecutor(4) as people:
        answers = list(people.map(lambda _: decide(live, number).status, range(4)))
    assert sorted(answers) == [200, 409, 409, 409]
    assert len(get(live, number)["edit_ids"]) == 1


def test_what_is_decided_stays_decided(live: Client, path: str) -> None:
    number = proposed(live, path, ALPHA, BETA)
    decide(live, number, "reject", parts=[1])
    facts = details(decide(live, number, parts=[0, 1]), 409, "proposal_closed")
    assert facts == {"proposal_id": number, "status": "pending", "parts": [1]}
    decide(live, number, "reject")
    for verb in ("accept", "reject"):
        facts = details(decide(live, number, verb), 409, "proposal_closed")
        assert facts == {"proposal_id": number, "status": "rejected"}
    assert (live.root / path).read_bytes() == ODD


@pytest.mark.parametrize(
    "body", [{"parts": [2]}, {"parts": []}, {"parts": [-1]}, {"parts": "all"}, {"part": 0}]
)
@pytest.mark.parametrize("verb", ["accept", "reject"])
def test_what_is_no_part_of_it_is_refused(
    live: Client, path: str, verb: str, body: dict[str, Any]
) -> None:
    number = proposed(live, path, ALPHA, BETA)
    details(decide(live, number, verb, **body), 400, "invalid_request")
    assert get(live, number)["status"] == "pending"


def test_a_proposal_that_is_not_there_is_not_found(live: Client) -> None:
    for number in (0, 10**9, 10**30):
        for answer in (
            live.request("GET", f"nbedit/proposals/{number}"),
            decide(live, number),
            decide(live, number, "reject"),
        ):
            details(answer, 404, "proposal_not_found")


# New notebooks ------------------------------------------------------------------------------------


def create(client: Client, name: str, language: str = "python") -> Answer:
    cells = [{"cell_type": "code", "source": f"{n}"} for n in range(2)]
    body = json.dumps({"cells": cells, "language": language}).encode()
    return client.request("PUT", f"nbedit/notebooks/{name}", body, JSON)


def test_a_new_notebook_is_proposed_and_created_when_it_is_accepted(
    live: Client, path: str
) -> None:
    mode(live, "review")
    name = path.replace("test", "new")
    answer = create(live, name)
    assert (answer.status, answer.json["persisted"]) == (202, False)
    assert not (live.root / name).exists()
    proposal = get(live, answer.json["proposal_id"])
    assert (proposal["kind"], proposal["hash_before"]) == ("create", None)
    assert [part["after"]["source"] for part in proposal["parts"]] == ["0", "1"]
    accepted = decide(live, answer.json["proposal_id"])
    assert accepted.status == 200
    # Just what was shown, fresh ids included.
    assert accepted.json["hash"] == answer.json["hash"]
    text = (live.root / name).read_bytes()
    assert hashlib.sha256(text).hexdigest() == answer.json["hash"]
    assert [part["cell_id"] for part in proposal["parts"]] == list(sources(live, name))


def test_a_proposal_names_the_language_of_the_code(live: Client, path: str) -> None:
    assert get(live, proposed(live, path, ALPHA))["language"] == "python"
    mode(live, "review")
    answer = create(live, path.replace("test", "new"), language="julia")
    assert get(live, answer.json["proposal_id"])["language"] == "julia"


def test_a_new_notebook_is_decided_whole_and_overwrites_nothing(live: Client, path: str) -> None:
    mode(live, "review")
    name = path.replace("test", "new")
    number = create(live, name).json["proposal_id"]
    for verb in ("accept", "reject"):
        details(decide(live, number, verb, parts=[0]), 400, "invalid_request")
    details(decide(live, number, hash="0" * 64), 400, "invalid_request")
    (live.root / name).write_bytes(TEXT)
    details(decide(live, number), 409, "notebook_exists")
    assert (live.root / name).read_bytes() == TEXT
    assert get(live, number)["status"] == "pending"
    assert decide(live, number, "reject").json["status"] == "rejected"


def test_a_notebook_that_cannot_be_created_is_not_proposed(live: Client, path: str) -> None:
    mode(live, "review")
    details(create(live, path), 409, "notebook_exists")
    details(create(live, "nowhere/new.ipynb"), 404, "notebook_not_found")


def test_a_trusted_notebook_stays_trusted_and_no_other_becomes_so(live: Client, path: str) -> None:
    def trusted() -> bool:
        found: bool = live.read(path).json["trusted"]
        return found

    number, other = proposed(live, path, ALPHA), proposed(live, path, BETA)
    assert decide(live, number).status == 200
    assert not trusted()
    assert live.request("POST", f"api/contents/{path}/trust", b"").status == 201
    assert trusted()
    assert decide(live, other).status == 200
    assert trusted()


# Modes --------------------------------------------------------------------------------------------


def test_a_paused_notebook_still_takes_what_a_person_accepts(live: Client, path: str) -> None:
    number = proposed(live, path, ALPHA)
    mode(live, "plan", path)
    details(live.patch(path, BETA), 403, "plan_mode")
    assert decide(live, number, parts=[0]).status == 200


def test_a_server_in_plan_mode_accepts_nothing_and_lets_reject(live: Client, path: str) -> None:
    number, other = proposed(live, path, ALPHA), proposed(live, path, BETA)
    mode(live, None, path)
    mode(live, "plan")
    details(decide(live, number), 403, "plan_mode")
    assert decide(live, other, "reject").json["status"] == "rejected"
    assert (live.root / path).read_bytes() == ODD


def test_what_was_proposed_can_be_taken_back_though_review_goes_on(live: Client, path: str) -> None:
    number = proposed(live, path, ALPHA)
    decide(live, number)
    target = f"nbedit/notebooks/{path}/undo"
    undone = live.request("POST", target, b"{}", JSON)
    assert undone.status == 200, undone.body
    assert (live.root / path).read_bytes() == ODD


# Waiting ------------------------------------------------------------------------------------------


def test_an_agent_waits_for_the_decision(live: Client, path: str) -> None:
    number = proposed(live, path, ALPHA)
    with ThreadPoolExecutor(1) as agent:
        waiting = agent.submit(get, live, number, "?wait=50")
        time.sleep(0.5)
        assert not waiting.done()
        decide(live, number, "reject")
        assert waiting.result(20)["status"] == "rejected"


def test_nobody_waits_longer_than_asked_or_than_a_minute(live: Client, path: str) -> None:
    number = proposed(live, path, ALPHA)
    assert get(live, number, "?wait=0.3")["status"] == "pending"
    for wait in ("61", "-1", "nan", "soon"):
        answer = live.request("GET", f"nbedit/proposals/{number}?wait={wait}")
        details(answer, 400, "invalid_request")


def test_whoever_goes_while_waiting_leaves_nothing_behind(live: Client, path: str) -> None:
    number = proposed(live, path, ALPHA)
    connection = HTTPConnection("127.0.0.1", live.port)
    headers = {"Authorization": f"token {live.token}"}
    connection.request("GET", f"/nbedit/proposals/{number}?wait=60", headers=headers)
    time.sleep(0.2)
    connection.close()
    assert decide(live, number).status == 200


# Over a restart, renames, pages -------------------------------------------------------------------


def test_a_proposal_outlasts_a_restart_and_can_be_accepted_then(tmp_path: Path) -> None:
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / "a.ipynb").write_bytes(ODD)
    with server.running("jupyter_server", tmp_path, "--NbEditApp.mode=review") as running:
        client = Client(running.port, running.token, running.root)
        number = proposed(client, "a.ipynb", ALPHA, INSERT)
        before = get(client, number)
    with server.running("jupyter_server", tmp_path) as running:
        client = Client(running.port, running.token, running.root)
        assert get(client, number) == before
        assert decide(client, number).status == 200
        assert sources(client, "a.ipynb")["new"] == "new"
        assert get(client, number)["status"] == "accepted"


def test_a_proposal_follows_a_rename(live: Client, path: str) -> None:
    number = proposed(live, path, ALPHA)
    name = path.replace("test", "new")
    body = json.dumps({"path": name}).encode()
    assert live.request("PATCH", f"api/contents/{path}", body, JSON).status == 200
    for _ in range(1200):
        answer = live.request("GET", f"nbedit/proposals/{number}")
        if answer.status == 200:
            break
        time.sleep(0.05)
    assert answer.json["path"] == name
    assert decide(live, number).status == 200
    assert sources(live, name)["alpha"] == "ours"


def test_purging_the_history_forgets_what_was_decided(live: Client, path: str) -> None:
    decided, waiting = proposed(live, path, ALPHA), proposed(live, path, BETA)
    decide(live, decided)
    assert live.request("DELETE", f"nbedit/notebooks/{path}/history").status == 200
    details(live.request("GET", f"nbedit/proposals/{decided}"), 404, "proposal_not_found")
    assert get(live, waiting)["status"] == "pending"


def test_proposals_are_listed_for_a_notebook_or_for_all(live: Client, path: str) -> None:
    first, second = proposed(live, path, ALPHA), proposed(live, path, BETA)
    decide(live, first, "reject")

    def listed(query: str) -> list[int]:
        answer = live.request("GET", f"nbedit/proposals?{query}")
        assert answer.status == 200, answer.body
        return [proposal["proposal_id"] for proposal in answer.json["proposals"]]

    assert listed(f"path={path}") == [second]
    assert listed(f"path={path}&status=all") == [second, first]
    assert listed(f"path={path}&status=all&limit=1") == [second]
    assert listed("")[0] == second
    assert listed("path=missing.ipynb") == []
    for query in ("status=rejected", "limit=0", "limit=201", "sort=up"):
        details(live.request("GET", f"nbedit/proposals?{query}"), 400, "invalid_request")


@pytest.mark.parametrize("jp_server_config", [{"NbEditApp": {"mode": "review"}}], indirect=True)
async def test_every_page_is_told_of_each_step_and_of_the_edit(
    local: Local, jp_ws_fetch: Any
) -> None:
    (local.root / "a.ipynb").write_bytes(ODD)
    heard: list[dict[str, Any]] = []
    async with listening(jp_ws_fetch) as listener:
        reply = (await local.patch("a.ipynb", ALPHA, BETA, client="an agent")).json
        target = ("nbedit", "proposals", str(reply["proposal_id"]))
        body = b'{"parts": [1], "client": "JupyterLab"}'
        accepted = await local.request("POST", *target, "accept", body=body, headers=JSON)
        await local.request("POST", *target, "reject", body=b"{}", headers=JSON)
        while sum(event["schema_id"] == PROPOSAL_SCHEMA_ID for event in heard) < 3:
            heard.append(json.loads(await asyncio.wait_for(listener._socket.read_message(), 20)))
    told = [
        (event["status"], event["client"], event["parts"], event["pending"])
        for event in heard
        if event["schema_id"] == PROPOSAL_SCHEMA_ID
    ]
    assert told == [
        ("pending", "an agent", 2, 2),
        ("pending", "JupyterLab", 2, 1),
        ("partly_accepted", None, 2, 0),
    ]
    (edit,) = [event for event in heard if event["schema_id"] == SCHEMA_ID]
    assert (edit["client"], edit["edit_id"]) == ("an agent", accepted.json["edit_id"])
    assert "ours" not in json.dumps(heard)


@pytest.mark.parametrize(
    "jp_server_config",
    [{"NbEditApp": {"mode": "review", "read_before_edit": True, "max_proposals": 1}}],
    indirect=True,
)
async def test_who_proposes_must_have_read_and_proposals_are_counted(local: Local) -> None:
    (local.root / "a.ipynb").write_bytes(ODD)
    details(await local.patch("a.ipynb", ALPHA), 428, "read_required")
    await local.read("a.ipynb")
    number = (await local.patch("a.ipynb", ALPHA)).json["proposal_id"]
    details(await local.patch("a.ipynb", BETA), 409, "too_many_proposals")
    # The person who accepts has seen the proposal, and need not have read the notebook.
    target = ("nbedit", "proposals", str(number), "accept")
    answer = await local.request("POST", *target, body=b"{}", headers=JSON)
    assert answer.status == 200
    assert (await local.contents("a.ipynb"))["content"]["cells"][0]["source"] == "ours"


@pytest.mark.parametrize("jp_server_config", [{"NbEditApp": {"mode": "review"}}], indirect=True)
async def test_the_ledger_knows_whose_edit_it_was_and_who_accepted_it(
    local: Local, jp_serverapp: Any
) -> None:
    (local.root / "a.ipynb").write_bytes(ODD)
    reply = (await local.patch("a.ipynb", ALPHA, client="an agent", message="why")).json
    target = ("nbedit", "proposals", str(reply["proposal_id"]))
    proposal = (await local.request("GET", *target)).json
    await local.request("POST", *target, "accept", body=b"{}", headers=JSON)
    (app,) = jp_serverapp.extension_manager.extension_apps["jupyter_nbedit"]
    (entry,) = await app.ledger.page("a.ipynb", limit=10)
    assert (entry.kind, entry.user, entry.client, entry.message) == (
        "edit",
        proposal["user"],
        "an agent",
        "why",
    )
    assert entry.accepted_by == (await local.request("GET", *target)).json["decided_by"]
    assert entry.accepted_by != entry.user
