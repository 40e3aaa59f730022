"""What is kept of notebooks in a folder to which a link leads, by whatever path they are called."""

from __future__ import annotations

import itertools
import json
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from jupyter_nbedit.following import CONTENTS
from tests.handlers.refused import details
from tests.support import samples
from tests.support.http import JSON, Answer, Client

TEXT = samples.three_cells()
_NUMBERS = itertools.count()
REPLACE = {"op": "replace", "cell": "beta", "source": "# Proposed"}


@dataclass(frozen=True)
class Linked:
    """A folder of a server in which ``link`` leads to ``real``; paths are relative to it."""

    client: Client
    top: str

    @property
    def root(self) -> Path:
        return self.client.root / self.top

    def send(self, verb: str, target: str, body: Any = None) -> Answer:
        sent = json.dumps(body or {}).encode()
        return self.client.request(verb, target, sent, JSON)

    def patch(self, path: str, operation: dict[str, Any]) -> Answer:
        return self.client.patch(f"{self.top}/{path}", operation)

    def choose(self, mode: str | None, path: str) -> None:
        body = {"mode": mode, "path": f"{self.top}/{path}"}
        assert self.send("PUT", "nbedit/mode", body).status == 200

    def rename(self, old: str, new: str) -> None:
        body = {"path": f"{self.top}/{new}"}
        answer = self.send("PATCH", f"api/contents/{self.top}/{old}", body)
        assert answer.status == 200, answer.body

    def accept(self, number: int) -> None:
        answer = self.send("POST", f"nbedit/proposals/{number}/accept")
        assert answer.status == 200, answer.body

    def put(self, path: str, *, mode: str = "review") -> int:
        """Make a notebook with a history, a mode and a proposal; return the proposal's number."""
        (self.root / path).write_bytes(TEXT)
        assert self.patch(path, {"op": "delete", "cell": "gamma"}).status == 200
        self.choose("review", path)
        number: int = self.patch(path, REPLACE).json["proposal_id"]
        self.choose(mode, path)
        return number

    def own(self, path: str) -> Any:
        return self.client.request("GET", f"nbedit/mode?path={self.top}/{path}").json["own"]

    def listed(self, path: str) -> list[int]:
        target = f"nbedit/proposals?path={self.top}/{path}"
        found = self.client.request("GET", target).json["proposals"]
        return [proposal["proposal_id"] for proposal in found]

    def edits(self, path: str) -> int:
        target = f"nbedit/notebooks/{self.top}/{path}/history"
        return len(self.client.request("GET", target).json["edits"])

    def wait_for_events(self) -> None:
        """Wait until the server has gone by all events so far."""
        (self.root / "marker.ipynb").write_bytes(TEXT)
        self.choose("plan", "marker.ipynb")
        self.rename("marker.ipynb", "marker2.ipynb")
        assert soon(lambda: self.own("marker2.ipynb") == "plan")


@pytest.fixture
def linked(live: Client) -> Iterator[Linked]:
    found = Linked(live, f"linked-{next(_NUMBERS)}")
    (found.root / "real").mkdir(parents=True)
    (found.root / "link").symlink_to("real")
    yield found
    shutil.rmtree(found.root)


def soon(condition: Callable[[], bool]) -> bool:
    """Wait for what follows an event of the contents manager."""
    for _ in range(200):
        if condition():
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("made", ["real", "link"])
@pytest.mark.parametrize("renamed", ["real", "link"])
def test_modes_proposals_and_history_follow_a_rename_through_any_path(
    linked: Linked, made: str, renamed: str
) -> None:
    number = linked.put(f"{made}/a.ipynb", mode="plan")
    linked.rename(f"{renamed}/a.ipynb", f"{renamed}/b.ipynb")
    assert soon(lambda: linked.own("real/b.ipynb") == "plan")
    linked.wait_for_events()
    for path in ("real/b.ipynb", "link/b.ipynb"):
        assert (linked.own(path), linked.listed(path)) == ("plan", [number])
        assert linked.edits(path) == 1
        details(linked.patch(path, REPLACE), 403, "plan_mode")
    linked.accept(number)
    assert "# Proposed" in (linked.root / "real" / "b.ipynb").read_text()


@pytest.mark.parametrize("made", ["real", "link"])
def test_what_is_deleted_through_a_link_is_forgotten(linked: Linked, made: str) -> None:
    number = linked.put(f"{made}/a.ipynb")
    target = f"api/contents/{linked.top}/link/a.ipynb"
    assert linked.client.request("DELETE", target).status == 204
    linked.wait_for_events()
    (linked.root / "real" / "a.ipynb").write_bytes(TEXT)
    assert soon(lambda: linked.own("link/a.ipynb") is None)
    assert linked.listed("real/a.ipynb") == []
    assert linked.client.request("GET", f"nbedit/proposals/{number}").status == 404
    assert linked.edits("real/a.ipynb") == 0


@pytest.mark.parametrize("made", ["real", "link"])
@pytest.mark.parametrize("how", ["renamed", "deleted"])
def test_a_link_that_is_renamed_or_deleted_takes_nothing_along(
    linked: Linked, made: str, how: str
) -> None:
    number = linked.put(f"{made}/a.ipynb")
    if how == "renamed":
        linked.rename("link", "link2")
    else:
        (linked.root / "link").unlink()
        event = {"action": "delete", "path": f"{linked.top}/link"}
        body = {"schema_id": CONTENTS, "version": "1", "data": event}
        assert linked.send("POST", "api/events", body).status == 204
    linked.wait_for_events()
    for path in ("real/a.ipynb", *(["link2/a.ipynb"] if how == "renamed" else [])):
        assert (linked.own(path), linked.listed(path)) == ("review", [number])
        assert linked.edits(path) == 1
    linked.accept(number)
    assert "# Proposed" in (linked.root / "real" / "a.ipynb").read_text()


@pytest.mark.parametrize("made", ["real", "link"])
def test_what_is_kept_follows_the_folder_to_which_a_link_leads(linked: Linked, made: str) -> None:
    number = linked.put(f"{made}/a.ipynb")
    linked.rename("real", "moved")
    assert soon(lambda: linked.own("moved/a.ipynb") == "review")
    linked.wait_for_events()
    assert linked.listed("moved/a.ipynb") == [number]
    linked.accept(number)
    assert "# Proposed" in (linked.root / "moved" / "a.ipynb").read_text()
