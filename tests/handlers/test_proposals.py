"""Proposals over HTTP: propose, decide, and the file afterwards."""

import itertools
import json
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from typing import Any
from uuid import uuid4

import pytest

from jupyter_nbedit.services.events.models import ProposalEvent
from tests.handlers.error_checks import get_error
from tests.handlers.requests import ODD, replace
from tests.services.events.listener import open_listener
from tests.support import samples
from tests.support.driver import Notebook
from tests.support.http import JSON, SECONDS, Answer, Client, Local

TEXT = ODD
pytestmark = pytest.mark.usefixtures("review")
ALPHA = replace("alpha", "ours")
BETA = replace("beta", "ours, too")
INSERT = {"op": "insert", "cell_type": "code", "source": "new", "id": "new", "after": "alpha"}


def list_sources(notebook: Notebook) -> dict[str, str]:
    cells = samples.load_cells(notebook.text)
    return {cell["id"]: "".join(cell["source"]) for cell in cells}


def send_while_open(client: Client, target: str) -> HTTPConnection:
    """Send a request that is not answered yet, and wait until the server has it."""
    connection = HTTPConnection("127.0.0.1", client.port, timeout=SECONDS)
    headers = {"Authorization": f"token {client.token}"}
    connection.request("GET", f"/nbedit/{target}", headers=headers)
    # The server has got it when it has served a later one.
    assert client.request("GET", "nbedit").status == 200
    return connection


REQUESTS = [
    ("PATCH", "", {"operations": [ALPHA]}),
    ("POST", "/cells", {"cell_type": "code", "source": "new", "at": "end"}),
    ("PATCH", "/cells/alpha", {"source": "ours"}),
    ("DELETE", "/cells/alpha", None),
]


@pytest.mark.parametrize(("verb", "below", "body"), REQUESTS)
def test_a_change_in_review_mode_is_proposed_and_not_written(
    live: Client, notebook: Notebook, verb: str, below: str, body: Any
) -> None:
    sent = None if body is None else json.dumps(body).encode()
    answer = live.request(
        verb, f"nbedit/notebooks/{notebook.path}{below}", sent, JSON if sent else {}
    )
    assert answer.status == 202
    reply = answer.json
    now = samples.compute_hash(ODD)
    assert (reply["edit_id"], reply["persisted"]) == (None, False)
    assert reply["hash"] == reply["hash_before"] == now
    assert answer.headers["ETag"] == f'"{now}"'
    assert answer.headers["Location"] == f"/nbedit/proposals/{reply['proposal_id']}"
    assert notebook.text == ODD
    proposal = live.request("GET", answer.headers["Location"].lstrip("/")).json
    assert (proposal["status"], proposal["path"]) == ("pending", notebook.path)
    assert proposal["diff"] == reply["diff"]
    members = ["op", "cell_id", "index"]
    assert proposal["operations"] == [{n: one[n] for n in members} for one in reply["operations"]]
    assert proposal["hash_before"] == now


def test_a_proposal_shows_every_cell_before_and_after(notebook: Notebook) -> None:
    number = notebook.propose(
        ALPHA,
        INSERT,
        {"op": "delete", "cell": "gamma"},
        {"op": "set_metadata", "patch": {"authors": ["ada"]}},
        client="an agent",
        message="why",
    )
    proposal = notebook.get_proposal(number)
    assert (proposal["client"], proposal["message"]) == ("an agent", "why")
    parts = [
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
    assert parts == [
        (0, "alpha", 0, 0, True, "x = 1\nx", "ours", "pending"),
        (1, "new", None, 1, False, None, "new", "pending"),
        (2, "gamma", 2, None, False, "as is", None, "pending"),
        (3, None, None, None, False, None, None, "pending"),
    ]
    assert proposal["parts"][3]["after"]["metadata"]["authors"] == ["ada"]
    assert "authors" not in proposal["parts"][3]["before"]["metadata"]


def test_new_places_are_named_by_the_cells_beside_them_that_stay(notebook: Notebook) -> None:
    number = notebook.propose(
        {"op": "insert", "at": "start", "cell_type": "raw", "source": "new"},
        {"op": "delete", "cell": "beta"},
        {"op": "move", "cell": "alpha", "at": "end"},
    )
    places = {
        part["cell_id"] or "new": (part["cell_above"], part["cell_below"])
        for part in notebook.get_proposal(number)["parts"]
        if part["after"] is not None
    }
    assert places.pop("alpha") == ("gamma", None)
    assert list(places.values()) == [(None, "gamma")]


def test_an_empty_change_and_a_dry_run_are_no_proposals(live: Client, notebook: Notebook) -> None:
    nothing = {"op": "replace", "cell": "gamma", "source": "as is"}
    for answer in (notebook.patch(nothing), notebook.patch(ALPHA, dry_run=True)):
        assert answer.status == 200
        assert "proposal_id" not in answer.json
    assert live.get_json(f"proposals?path={notebook.path}") == {"proposals": []}


def test_a_proposal_is_validated_like_an_edit(live: Client, notebook: Notebook) -> None:
    guarded = {**ALPHA, "expect": {"source": "another"}}
    get_error(notebook.patch(guarded), 409, "cell_changed")
    get_error(notebook.patch(ALPHA, hash="0" * 64), 412, "hash_mismatch")
    get_error(notebook.patch({"op": "delete", "cell": "nobody"}), 404, "cell_not_found")
    get_error(live.patch("missing.ipynb", ALPHA), 404, "notebook_not_found")
    assert live.get_json(f"proposals?path={notebook.path}") == {"proposals": []}


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
def test_an_accepted_proposal_writes_the_bytes_of_the_edit(
    notebook: Notebook, operation: dict[str, Any]
) -> None:
    would = notebook.patch(operation, dry_run=True).json
    number = notebook.propose(operation)
    answer = notebook.accept(number)
    assert answer.status == 200, answer.body
    if operation["op"] != "split":
        # Of a split the new half has another id each time.
        assert answer.json["hash"] == would["hash"]
    assert answer.json["diff"] == notebook.get_proposal(number)["diff"]
    text = notebook.text
    assert answer.json["hash"] == samples.compute_hash(text)
    assert text.startswith(b"{\r\n\t")
    assert {one["op"] for one in answer.json["operations"]} == {"accept"}
    assert answer.json["edit_id"] is not None
    proposal = notebook.get_proposal(number)
    assert (proposal["status"], proposal["edit_ids"]) == ("accepted", [answer.json["edit_id"]])
    assert proposal["decided_by"]


def test_the_history_says_what_an_accepted_proposal_did_to_each_cell(notebook: Notebook) -> None:
    gamma = {"op": "move", "cell": "gamma", "at": "start"}
    number = notebook.propose(ALPHA, INSERT, gamma, {"op": "delete", "cell": "beta"})
    assert notebook.accept(number).status == 200
    edit = notebook.list_history()[0]
    assert {entry["cell_id"]: entry["op"] for entry in edit["operations"]} == {
        "alpha": "replace",
        "new": "insert",
        "gamma": "move",
        "beta": "delete",
    }


def test_the_history_tells_a_deleted_cell_without_id_from_the_next_one(notebook: Notebook) -> None:
    text = samples.notebook(samples.code("a"), samples.code("b"), minor=4)
    notebook.file.write_bytes(text)
    change = {"op": "replace", "cell": 1, "source": "c"}
    assert notebook.accept(notebook.propose({"op": "delete", "cell": 0}, change)).status == 200
    edit = notebook.list_history()[0]
    assert [(entry["op"], entry["index"]) for entry in edit["operations"]] == [
        ("delete", 0),
        ("replace", 0),
    ]


def test_cells_are_accepted_and_rejected_one_by_one(notebook: Notebook) -> None:
    number = notebook.propose(ALPHA, INSERT, BETA)
    assert notebook.accept(number, parts=[1]).status == 200
    assert list_sources(notebook)["new"] == "new"
    assert list_sources(notebook)["alpha"] != "ours"
    rejected = notebook.reject(number, parts=[0]).json
    assert [part["status"] for part in rejected["parts"]] == ["rejected", "accepted", "pending"]
    assert rejected["status"] == "pending"
    assert notebook.accept(number).status == 200
    assert list_sources(notebook)["beta"] == "ours, too"
    assert list_sources(notebook)["alpha"] != "ours"
    proposal = notebook.get_proposal(number)
    assert proposal["status"] == "partly_accepted"
    assert len(proposal["edit_ids"]) == 2


#: The ids of the cells A, B, C and so on, and a batch. Its parts depend on each other's places.
DEPENDENT_PARTS: dict[str, tuple[list[str | None], list[dict[str, Any]]]] = {
    "a cell beside one that stays at its place": (
        ["a"],
        [
            {"op": "move", "cell": 0, "at": "start"},
            {"op": "insert", "cell_type": "raw", "source": "new", "at": "end"},
        ],
    ),
    "deleted cells with one id": (
        ["c", "b", "c", "d", "c"],
        [{"op": "delete", "cells": [0, 1, 2]}, {"op": "replace", "cell": 4, "source": "new"}],
    ),
    "moved cells with one id": (["c", "c", "b"], [{"op": "move", "cells": [2, 0, 1], "at": "end"}]),
    "cells without ids": (
        [None, None, None],
        [
            {"op": "move", "cells": [1, 2, 0], "at": "end"},
            {"op": "move", "cell": 2, "at": "end"},
        ],
    ),
}


@pytest.mark.parametrize("case", DEPENDENT_PARTS)
def test_parts_that_are_accepted_in_any_order_end_as_if_all_were_accepted_at_once(
    notebook: Notebook, case: str
) -> None:
    ids, batch = DEPENDENT_PARTS[case]
    cells = [samples.raw(chr(ord("A") + index), cell_id) for index, cell_id in enumerate(ids)]
    file = notebook.file

    def start() -> int:
        file.write_bytes(samples.notebook(*cells, minor=4 if None in ids else 5))
        return notebook.propose(*batch)

    def read_sources() -> list[str]:
        return ["".join(cell["source"]) for cell in samples.load_cells(file.read_bytes())]

    assert notebook.accept(start()).status == 200
    expected = read_sources()
    for order in itertools.permutations(range(len(notebook.get_proposal(start())["parts"]))):
        number = start()
        for part in order:
            assert notebook.get_proposal(number)["parts"][part]["state"] == "as_proposed"
            assert notebook.accept(number, parts=[part]).status == 200
        assert read_sources() == expected, order


def test_edits_of_other_cells_are_no_conflict(notebook: Notebook) -> None:
    number = notebook.propose(ALPHA, INSERT)
    notebook.set_mode("edit")
    between = {"op": "insert", "cell_type": "raw", "source": "theirs", "id": "t", "at": "start"}
    assert notebook.patch(BETA, between).status == 200
    assert notebook.accept(number).status == 200
    assert list(list_sources(notebook).items()) == [
        ("t", "theirs"),
        ("alpha", "ours"),
        ("new", "new"),
        ("beta", "ours, too"),
        ("gamma", "as is"),
    ]


def test_a_cell_changed_since_is_not_overwritten(notebook: Notebook) -> None:
    number = notebook.propose(ALPHA, BETA)
    notebook.set_mode("edit")
    notebook.patch({"op": "replace", "cell": "alpha", "source": "theirs"})
    before = notebook.text
    facts = get_error(notebook.accept(number), 409, "cell_changed")
    assert facts["proposal_id"] == number
    (cell,) = facts["cells"]
    assert (cell["cell_id"], cell["why"], cell["source"]) == ("alpha", "changed", "theirs")
    assert notebook.text == before
    proposal = notebook.get_proposal(number)
    assert (proposal["status"], proposal["decided_by"]) == ("pending", None)
    # The rest still can be had.
    assert notebook.accept(number, parts=[1]).status == 200
    assert (list_sources(notebook)["alpha"], list_sources(notebook)["beta"]) == (
        "theirs",
        "ours, too",
    )


def test_accept_has_a_dry_run_and_applies_to_the_given_version(notebook: Notebook) -> None:
    number = notebook.propose(ALPHA)
    would = notebook.accept(number, dry_run=True)
    assert (would.status, would.json["edit_id"]) == (200, None)
    assert "+ours" in would.json["diff"]
    get_error(notebook.accept(number, hash="0" * 64), 412, "hash_mismatch")
    stale = {"If-Match": f'"{"0" * 64}"'}
    get_error(notebook.accept(number, headers=stale), 412, "hash_mismatch")
    assert notebook.text == ODD
    assert notebook.get_proposal(number)["status"] == "pending"
    assert notebook.accept(number, hash=samples.compute_hash(ODD)).status == 200


def test_a_retry_proposes_and_accepts_nothing_twice(notebook: Notebook) -> None:
    key = {"Idempotency-Key": f"propose {notebook.path}"}
    first, again = (notebook.patch(ALPHA, headers=key) for _ in range(2))
    assert first.body == again.body
    assert first.headers["Location"] == again.headers["Location"]
    assert len(notebook.list_proposals()) == 1
    number, key = first.json["proposal_id"], {"Idempotency-Key": f"accept {notebook.path}"}
    first, again = (notebook.accept(number, headers=key) for _ in range(2))
    assert first.status == 200
    assert first.body == again.body
    assert len(notebook.get_proposal(number)["edit_ids"]) == 1


def test_one_of_many_concurrent_accepts_succeeds(notebook: Notebook) -> None:
    number = notebook.propose(ALPHA)
    with ThreadPoolExecutor(4) as people:
        answers = list(people.map(lambda _: notebook.accept(number).status, range(4)))
    assert sorted(answers) == [200, 409, 409, 409]
    assert len(notebook.get_proposal(number)["edit_ids"]) == 1


def test_a_decision_is_final(notebook: Notebook) -> None:
    number = notebook.propose(ALPHA, BETA)
    notebook.reject(number, parts=[1])
    facts = get_error(notebook.accept(number, parts=[0, 1]), 409, "proposal_closed")
    assert facts == {"proposal_id": number, "status": "pending", "parts": [1]}
    notebook.reject(number)
    for verb in ("accept", "reject"):
        facts = get_error(notebook.decide(number, verb), 409, "proposal_closed")
        assert facts == {"proposal_id": number, "status": "rejected"}
    assert notebook.text == ODD


def create(client: Client, name: str, language: str = "python") -> Answer:
    cells = [{"cell_type": "code", "source": f"{n}"} for n in range(2)]
    return client.send_json("PUT", f"notebooks/{name}", {"cells": cells, "language": language})


def test_a_proposed_notebook_is_created_when_it_is_accepted(
    live: Client, notebook: Notebook
) -> None:
    live.set_mode("review")
    name = f"new-{notebook.path}"
    answer = create(live, name, language="julia")
    assert (answer.status, answer.json["persisted"]) == (202, False)
    assert not (notebook.root / name).exists()
    proposal = notebook.get_proposal(answer.json["proposal_id"])
    assert (proposal["kind"], proposal["hash_before"]) == ("create", None)
    assert proposal["language"] == "julia"
    assert [part["after"]["source"] for part in proposal["parts"]] == ["0", "1"]
    assert not any("state" in part for part in proposal["parts"])
    accepted = notebook.accept(answer.json["proposal_id"], merge=True)
    assert accepted.status == 200
    # Just what was shown, fresh ids included.
    assert accepted.json["hash"] == answer.json["hash"]
    text = (notebook.root / name).read_bytes()
    assert samples.compute_hash(text) == answer.json["hash"]
    assert [part["cell_id"] for part in proposal["parts"]] == list(
        list_sources(Notebook(live, name))
    )


def test_a_proposed_notebook_is_decided_whole_and_replaces_nothing(
    live: Client, notebook: Notebook
) -> None:
    live.set_mode("review")
    name = f"new-{notebook.path}"
    number = create(live, name).json["proposal_id"]
    for verb in ("accept", "reject"):
        get_error(notebook.decide(number, verb, parts=[0]), 400, "invalid_request")
    get_error(notebook.accept(number, hash="0" * 64), 400, "invalid_request")
    (notebook.root / name).write_bytes(TEXT)
    get_error(notebook.accept(number), 409, "notebook_exists")
    assert (notebook.root / name).read_bytes() == TEXT
    assert notebook.get_proposal(number)["status"] == "pending"
    assert notebook.reject(number).json["status"] == "rejected"


def test_a_trusted_notebook_stays_trusted_and_no_other_becomes_trusted(
    live: Client, notebook: Notebook
) -> None:
    def is_trusted_now() -> bool:
        found: bool = notebook.read().json["trusted"]
        return found

    # Signatures depend on the content, and no other test may have signed this one.
    notebook.file.write_bytes(ODD.replace(b"as is", str(uuid4()).encode()))
    number, other = notebook.propose(ALPHA), notebook.propose(BETA)
    assert notebook.accept(number).status == 200
    assert not is_trusted_now()
    assert live.request("POST", f"api/contents/{notebook.path}/trust", b"").status == 201
    assert is_trusted_now()
    assert notebook.accept(other).status == 200
    assert is_trusted_now()


def test_a_paused_notebook_accepts_proposals_by_a_person(notebook: Notebook) -> None:
    number = notebook.propose(ALPHA)
    notebook.set_mode("plan")
    get_error(notebook.patch(BETA), 403, "plan_mode")
    assert notebook.accept(number, parts=[0]).status == 200


def test_in_plan_mode_proposals_can_only_be_rejected(live: Client, notebook: Notebook) -> None:
    number, other = notebook.propose(ALPHA), notebook.propose(BETA)
    notebook.set_mode(None)
    live.set_mode("plan")
    get_error(notebook.accept(number), 403, "plan_mode")
    assert notebook.reject(other).json["status"] == "rejected"
    assert notebook.text == ODD


def test_a_person_undoes_an_accepted_proposal_in_review_mode(
    notebook: Notebook, page: dict[str, str]
) -> None:
    number = notebook.propose(ALPHA, client="Claude")
    notebook.accept(number, headers=page)
    after = notebook.text
    # What a person has accepted, its proposer takes back with a person's consent only.
    assert notebook.undo(client="Claude").status == 202
    assert notebook.text == after
    assert notebook.undo(headers=page, whose="all").status == 200
    assert notebook.text == ODD


def test_an_agent_waits_for_the_decision(live: Client, notebook: Notebook) -> None:
    number = notebook.propose(ALPHA)
    assert live.get_json(f"proposals/{number}?wait=0.1")["status"] == "pending"
    waiting = send_while_open(live, f"proposals/{number}?wait=50")
    notebook.reject(number)
    assert json.loads(waiting.getresponse().read())["status"] == "rejected"
    waiting.close()


def test_proposals_are_listed_for_one_notebook_or_for_all(live: Client, notebook: Notebook) -> None:
    first, second = notebook.propose(ALPHA), notebook.propose(BETA)
    notebook.reject(first)

    def list_numbers(query: str) -> list[int]:
        found = live.get_json(f"proposals?{query}")["proposals"]
        return [proposal["proposal_id"] for proposal in found]

    assert list_numbers(f"path={notebook.path}") == [second]
    assert list_numbers(f"path={notebook.path}&status=all") == [second, first]
    assert list_numbers(f"path={notebook.path}&status=all&limit=1") == [second]
    assert list_numbers("")[0] == second
    assert list_numbers("path=missing.ipynb") == []
    for query in ("status=rejected", "limit=0", "limit=201", "sort=up"):
        get_error(live.request("GET", f"nbedit/proposals?{query}"), 400, "invalid_request")


@pytest.mark.usefixtures("local_file")
@pytest.mark.parametrize("jp_server_config", [{"NbEditApp": {"mode": "review"}}], indirect=True)
async def test_every_page_gets_the_events_of_the_proposal_and_the_edit(
    local: Local, jp_ws_fetch: Any
) -> None:
    async with open_listener(jp_ws_fetch) as listener:
        author = {"client": "an agent", "message": "why"}
        number = (await local.patch("a.ipynb", ALPHA, BETA, **author)).json["proposal_id"]
        target = f"proposals/{number}"
        body = {"parts": [1], "client": "JupyterLab"}
        accepted = await local.send_json("POST", f"{target}/accept", body)
        proposal = (await local.request("GET", "nbedit", target)).json
        await local.send_json("POST", f"{target}/reject")
        events = await listener.wait_for(3, ProposalEvent.get_schema_id())
        (edit,) = await listener.wait_for(1)
    changes = [
        (event["status"], event["client"], event["parts"], event["pending"]) for event in events
    ]
    assert changes == [
        ("pending", "an agent", 2, 2),
        ("pending", "JupyterLab", 2, 1),
        ("partly_accepted", None, 2, 0),
    ]
    assert (edit["client"], edit["edit_id"]) == ("an agent", accepted.json["edit_id"])
    assert "ours" not in json.dumps(listener.heard)
    # The history has the author of the edit, and the person who accepted it.
    history = await local.request("GET", "nbedit", "notebooks", "a.ipynb", "history")
    (entry,) = history.json["edits"]
    assert entry["kind"] == "edit"
    assert {name: entry[name] for name in ("user", *author)} == {"user": proposal["user"], **author}
    assert entry["accepted_by"] == proposal["decided_by"] == "anonymous"
