"""The name of the user on a server that knows no names: its token is all that it asks for."""

import json
from pathlib import Path

import pytest

from tests.support import samples
from tests.support.http import JSON, Client
from tests.support.servers import run_server

REPLACE = {"op": "replace", "cell": "alpha", "source": "changed"}


def change_mode(client: Client, mode: str) -> None:
    body = {"mode": mode}
    assert client.send_json("PUT", "mode", body).status == 200


def test_requests_with_the_token_have_one_user_name_also_after_a_restart(tmp_path: Path) -> None:
    with run_server(tmp_path) as client:
        (client.root / "a.ipynb").write_bytes(samples.three_cells())
        for source in ("1", "2"):
            made = client.patch("a.ipynb", {**REPLACE, "source": source})
            assert made.status == 200
        call = {"path": "a.ipynb", "action": "undo", "edit_id": made.json["edit_id"]}
        tool = json.dumps(call).encode()
        answer = client.request("POST", "nbedit/tools/agent/notebook_history", tool, JSON)
        assert answer.status == 200, answer.body
        change_mode(client, "review")
        assert client.patch("a.ipynb", {**REPLACE, "source": "3"}).status == 202
        (proposal,) = client.request("GET", "nbedit/proposals").json["proposals"]
        target = f"nbedit/proposals/{proposal['proposal_id']}/accept"
        assert client.request("POST", target, b"{}", JSON).status == 200
        change_mode(client, "edit")
    with run_server(tmp_path) as client:
        assert client.patch("a.ipynb", {**REPLACE, "source": "4"}).status == 200
        edits = client.request("GET", "nbedit/notebooks/a.ipynb/history").json["edits"]
        accepted = client.request("GET", target.removesuffix("/accept")).json
        # Whoever has the token is still one person, with one set of unseen changes.
        unseen = client.request("GET", "nbedit/notebooks/a.ipynb/unseen").json

    assert [edit["user"] for edit in edits] == ["anonymous"] * 5
    assert edits[1]["accepted_by"] == "anonymous"
    assert (accepted["user"], accepted["decided_by"]) == ("anonymous", "anonymous")
    assert unseen["cells"]
    log = (tmp_path / "server.log").read_text()
    assert "The server's mode is 'review', by 'anonymous'" in log


@pytest.mark.parametrize("owner", ["anonymous", ""])
def test_nobody_without_a_name_is_an_owner(tmp_path: Path, owner: str) -> None:
    with run_server(tmp_path, configuration=f"c.SectionsToolset.owners = [{owner!r}]\n") as client:
        tool = json.dumps({"file": "reminders", "action": "read"}).encode()
        answer = client.request("POST", "nbedit/tools/sections/notebook_edit", tool, JSON)

    assert answer.status == 403


FORMER = 'c.NbEditApp.owners = ["nobody"]\n'
PRESENT = "c.SectionsToolset.owners = []\n"


@pytest.mark.parametrize(
    ("configuration", "status"), [(FORMER, 403), (FORMER + PRESENT, 200)], ids=["alone", "both"]
)
def test_the_former_name_of_the_owners_counts_without_the_present_one(
    tmp_path: Path, configuration: str, status: int
) -> None:
    with run_server(tmp_path, configuration=configuration) as client:
        (client.root / "runtime").mkdir()
        (client.root / "runtime" / "reminders.md").write_text("# A\n")
        tool = json.dumps({"file": "reminders", "action": "read"}).encode()
        answer = client.request("POST", "nbedit/tools/sections/notebook_edit", tool, JSON)

    assert answer.status == status
    log = (tmp_path / "server.log").read_text()
    assert "NbEditApp.owners is deprecated: set SectionsToolset.owners" in log
