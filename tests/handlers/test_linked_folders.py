"""Data about notebooks in a linked folder, under each of their paths."""

import itertools
import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from jupyter_nbedit.services.history.rename_listener import CONTENTS
from tests.handlers.error_checks import get_error
from tests.handlers.requests import replace, wait_for_events
from tests.support import samples
from tests.support.driver import Notebook
from tests.support.http import JSON, Answer, Client

TEXT = samples.three_cells()
_NUMBERS = itertools.count()
REPLACE = replace("beta", "# Proposed")


@dataclass(frozen=True)
class LinkedServer:
    """A folder of a server in which ``link`` leads to ``real``; paths are relative to it."""

    client: Client
    top: str

    @property
    def root(self) -> Path:
        return self.client.root / self.top

    def patch(self, path: str, operation: dict[str, Any]) -> Answer:
        return self.client.patch(f"{self.top}/{path}", operation)

    def rename(self, old: str, new: str) -> None:
        self.client.rename(f"{self.top}/{old}", f"{self.top}/{new}")

    def accept(self, number: int) -> None:
        assert self.client.accept(number).status == 200

    def put(self, path: str, *, mode: str = "review") -> int:
        """Make a notebook with a history, a mode and a proposal; return the proposal's number."""
        (self.root / path).write_bytes(TEXT)
        assert self.patch(path, {"op": "delete", "cell": "gamma"}).status == 200
        self.client.set_mode("review", f"{self.top}/{path}")
        number = Notebook(self.client, f"{self.top}/{path}").propose(REPLACE)
        self.client.set_mode(mode, f"{self.top}/{path}")
        return number

    def get_own_mode(self, path: str) -> Any:
        return self.client.get_json(f"mode?path={self.top}/{path}")["own"]

    def list_proposals(self, path: str) -> list[int]:
        found = self.client.get_json(f"proposals?path={self.top}/{path}")["proposals"]
        return [proposal["proposal_id"] for proposal in found]

    def list_edits(self, path: str) -> int:
        return len(self.client.get_json(f"notebooks/{self.top}/{path}/history")["edits"])

    def wait_for_events(self) -> None:
        wait_for_events(self.client, f"{self.top}/")


@pytest.fixture
def linked_server(live: Client) -> Iterator[LinkedServer]:
    found = LinkedServer(live, f"linked-{next(_NUMBERS)}")
    (found.root / "real").mkdir(parents=True)
    (found.root / "link").symlink_to("real")
    yield found
    shutil.rmtree(found.root)


@pytest.mark.parametrize("made", ["real", "link"])
@pytest.mark.parametrize("renamed", ["real", "link"])
def test_modes_proposals_and_history_follow_a_rename_through_any_path(
    linked_server: LinkedServer, made: str, renamed: str
) -> None:
    number = linked_server.put(f"{made}/a.ipynb", mode="plan")
    linked_server.rename(f"{renamed}/a.ipynb", f"{renamed}/b.ipynb")
    linked_server.wait_for_events()
    assert linked_server.get_own_mode("real/b.ipynb") == "plan"
    for path in ("real/b.ipynb", "link/b.ipynb"):
        assert (linked_server.get_own_mode(path), linked_server.list_proposals(path)) == (
            "plan",
            [number],
        )
        assert linked_server.list_edits(path) == 1
        get_error(linked_server.patch(path, REPLACE), 403, "plan_mode")
    linked_server.accept(number)
    assert "# Proposed" in (linked_server.root / "real" / "b.ipynb").read_text()


@pytest.mark.parametrize("made", ["real", "link"])
def test_data_of_a_notebook_deleted_through_a_link_is_removed(
    linked_server: LinkedServer, made: str
) -> None:
    number = linked_server.put(f"{made}/a.ipynb")
    target = f"api/contents/{linked_server.top}/link/a.ipynb"
    assert linked_server.client.request("DELETE", target).status == 204
    linked_server.wait_for_events()
    (linked_server.root / "real" / "a.ipynb").write_bytes(TEXT)
    assert linked_server.get_own_mode("link/a.ipynb") is None
    assert linked_server.list_proposals("real/a.ipynb") == []
    assert linked_server.client.request("GET", f"nbedit/proposals/{number}").status == 404
    assert linked_server.list_edits("real/a.ipynb") == 0


@pytest.mark.parametrize("made", ["real", "link"])
@pytest.mark.parametrize("how", ["renamed", "deleted"])
def test_renaming_or_deleting_a_link_moves_or_removes_no_data(
    linked_server: LinkedServer, made: str, how: str
) -> None:
    number = linked_server.put(f"{made}/a.ipynb")
    if how == "renamed":
        linked_server.rename("link", "link2")
    else:
        (linked_server.root / "link").unlink()
        event = {"action": "delete", "path": f"{linked_server.top}/link"}
        body = json.dumps({"schema_id": CONTENTS, "version": "1", "data": event}).encode()
        assert linked_server.client.request("POST", "api/events", body, JSON).status == 204
    linked_server.wait_for_events()
    for path in ("real/a.ipynb", *(["link2/a.ipynb"] if how == "renamed" else [])):
        assert (linked_server.get_own_mode(path), linked_server.list_proposals(path)) == (
            "review",
            [number],
        )
        assert linked_server.list_edits(path) == 1
    linked_server.accept(number)
    assert "# Proposed" in (linked_server.root / "real" / "a.ipynb").read_text()


@pytest.mark.parametrize("made", ["real", "link"])
def test_data_follows_the_folder_behind_a_link(linked_server: LinkedServer, made: str) -> None:
    number = linked_server.put(f"{made}/a.ipynb")
    linked_server.rename("real", "moved")
    linked_server.wait_for_events()
    assert linked_server.get_own_mode("moved/a.ipynb") == "review"
    assert linked_server.list_proposals("moved/a.ipynb") == [number]
    linked_server.accept(number)
    assert "# Proposed" in (linked_server.root / "moved" / "a.ipynb").read_text()
