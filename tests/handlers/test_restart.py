"""What outlasts a restart of the server."""

from __future__ import annotations

from typing import Any

import pytest

from tests.handlers.actions import (
    ODD,
    decide,
    edit,
    get_json,
    list_sources,
    propose,
    replace,
    set_mode,
    undo,
)
from tests.support.servers import run_server

INSERT = {"op": "insert", "cell_type": "code", "source": "new", "id": "new", "after": "alpha"}


@pytest.fixture(scope="module")
def restarted(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("restarted")
    with run_server(folder) as client:
        for name in ("edited", "paused", "proposed"):
            (client.root / f"{name}.ipynb").write_bytes(ODD)
        numbers = [edit(client, "edited.ipynb", replace(cell, "x")) for cell in ("alpha", "beta")]
        set_mode(client, "plan", "paused.ipynb")
        set_mode(client, "review")
        number = propose(client, "proposed.ipynb", replace("alpha", "ours"), INSERT)
        proposal = get_json(client, f"proposals/{number}")
    with run_server(folder) as client:
        yield client, numbers, proposal


def test_a_notebooks_mode_outlasts_a_restart_and_the_servers_does_not(restarted: Any) -> None:
    mode = get_json(restarted[0], "mode?path=paused.ipynb")
    assert (mode["own"], mode["server"]) == ("plan", "edit")


def test_edits_are_undone_after_a_restart(restarted: Any) -> None:
    client, numbers, _ = restarted
    newest = undo(client, "edited.ipynb")
    assert newest.status == 200
    assert newest.json["edit_id"] > max(numbers)
    assert undo(client, "edited.ipynb").status == 200
    assert (client.root / "edited.ipynb").read_bytes() == ODD


def test_a_proposal_outlasts_a_restart_and_can_be_accepted_then(restarted: Any) -> None:
    client, _, proposal = restarted
    number = proposal["proposal_id"]
    assert get_json(client, f"proposals/{number}") == proposal
    assert decide(client, number).status == 200
    assert list_sources(client, "proposed.ipynb")[:2] == ["ours", "new"]
    assert get_json(client, f"proposals/{number}")["status"] == "accepted"
