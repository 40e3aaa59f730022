"""What is kept of notebooks goes where they go, and nowhere because somebody says so."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jupyter_nbedit.app import NbEditApp
from jupyter_nbedit.errors import LedgerError, NotebookNotFound
from jupyter_nbedit.following import CONTENTS, Following
from jupyter_nbedit.history import Ledger
from jupyter_nbedit.history.entries import NewEntry
from tests.support import samples
from tests.support.http import JSON, Local

GOOD = samples.three_cells()


class Told:
    """Remembers what it was told."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.heard: list[tuple[str, ...]] = []
        self.failure = failure

    async def renamed(self, old: str, new: str) -> None:
        await self._hear("renamed", old, new)

    async def gone(self, path: str) -> None:
        await self._hear("gone", path)

    async def _hear(self, *what: str) -> None:
        self.heard.append(what)
        if self.failure:
            raise self.failure


class Only:
    """A server on which there are these paths; nobody can tell of `?`."""

    def __init__(self, *paths: str) -> None:
        self.paths = set(paths)

    async def is_there(self, path: str) -> bool:
        if path in {"", "?"}:
            raise NotebookNotFound
        return path in self.paths


async def told(event: dict[str, str], *there: str) -> list[tuple[str, ...]]:
    follower = Told()
    following = Following(Only(*there), [follower], logging.getLogger("tests"))
    await following.heard(None, CONTENTS, event)  # type: ignore[arg-type] # which it does not use
    return follower.heard


def rename(old: str, new: str) -> dict[str, str]:
    return {"action": "rename", "path": new, "source_path": old}


async def test_what_is_true_is_passed_on() -> None:
    assert await told({"action": "delete", "path": "a"}) == [("gone", "a")]
    assert await told(rename("/a/", "b/c"), "b/c") == [("renamed", "a", "b/c")]


@pytest.mark.parametrize(
    ("event", "there"),
    [
        ({"action": "delete", "path": "a"}, ["a"]),
        ({"action": "delete", "path": "/a/"}, ["a"]),
        ({"action": "delete", "path": ""}, []),
        ({"action": "delete", "path": "?"}, []),
        (rename("a", "b"), []),
        (rename("a", "b"), ["a"]),
        (rename("a", "b"), ["a", "b"]),
        (rename("a", "?"), []),
        (rename("?", "b"), ["b"]),
        (rename("", "b"), ["b"]),
        ({"action": "rename", "path": "b"}, ["b"]),
        ({"action": "get", "path": "a"}, []),
        ({"action": "save", "path": "a"}, []),
        ({"action": "copy", "path": "b", "source_path": "a"}, ["b"]),
    ],
)
async def test_what_is_not_true_is_not(event: dict[str, str], there: list[str]) -> None:
    assert await told(event, *there) == []


async def test_who_fails_keeps_it_from_nobody(caplog: pytest.LogCaptureFixture) -> None:
    followers = [Told(LedgerError("The disk is full.")), Told()]
    following = Following(Only("b"), followers, logging.getLogger("tests"))
    await following.heard(None, CONTENTS, {"action": "delete", "path": "a"})  # type: ignore[arg-type]
    await following.heard(None, CONTENTS, rename("a", "b"))  # type: ignore[arg-type]
    assert followers[1].heard == [("gone", "a"), ("renamed", "a", "b")]
    assert caplog.text.count("The disk is full.") == 2


# In a server -------------------------------------------------------------------------------------


@pytest.fixture
def ledger(jp_serverapp: Any) -> Ledger:
    points = jp_serverapp.extension_manager.extensions["jupyter_nbedit"].extension_points
    app = points["jupyter_nbedit"].app
    assert isinstance(app, NbEditApp)
    return app.ledger


async def until(condition: Callable[[], Any]) -> None:
    """Wait for what follows an event; the event comes after the answer."""
    for _ in range(3000):
        if await condition():
            return
        await asyncio.sleep(0.02)
    message = "It did not come to be."
    raise AssertionError(message)


async def paths(ledger: Ledger) -> list[str]:
    return sorted({entry.path for entry in await ledger.page(None, limit=100)})


async def keep(local: Local, ledger: Ledger, *names: str) -> None:
    for name in names:
        (local.root / name).parent.mkdir(exist_ok=True)
        (local.root / name).write_bytes(GOOD)
        await ledger.add(NewEntry(path=name), b"record")


async def test_a_notebook_that_is_deleted_has_no_history_left(local: Local, ledger: Ledger) -> None:
    await keep(local, ledger, "a.ipynb", "b.ipynb", "x/a.ipynb", "x/y.ipynb")
    await local.request("DELETE", "api", "contents", "a.ipynb")

    async def only_b_and_x() -> bool:
        return await paths(ledger) == ["b.ipynb", "x/a.ipynb", "x/y.ipynb"]

    await until(only_b_and_x)
    await local.request("DELETE", "api", "contents", "x")

    async def only_b() -> bool:
        return await paths(ledger) == ["b.ipynb"]

    await until(only_b)


async def test_a_notebook_that_is_renamed_takes_its_history_along(
    local: Local, ledger: Ledger
) -> None:
    await keep(local, ledger, "a.ipynb", "x/a.ipynb")
    for old, new in (("a.ipynb", "b.ipynb"), ("x", "z"), ("b.ipynb", "z/c.ipynb")):
        body = json.dumps({"path": new}).encode()
        answer = await local.request("PATCH", "api", "contents", old, body=body, headers=JSON)
        assert answer.status == 200, answer.body

    async def followed() -> bool:
        return await paths(ledger) == ["z/a.ipynb", "z/c.ipynb"]

    await until(followed)


async def test_a_forged_event_changes_nothing(local: Local, ledger: Ledger, tmp_path: Path) -> None:
    await keep(local, ledger, "a.ipynb", "b.ipynb", "x/a.ipynb")
    (tmp_path / "outside.ipynb").write_bytes(GOOD)
    forged = [
        {"action": "delete", "path": "a.ipynb"},
        {"action": "delete", "path": "x"},
        {"action": "delete", "path": ""},
        {"action": "delete", "path": "."},
        {"action": "delete", "path": "x/../gone"},
        {"action": "delete", "path": "a.ipynb\0"},
        rename("a.ipynb", "b.ipynb"),
        rename("x", "z"),
        rename("a.ipynb", "../outside.ipynb"),
        rename("gone.ipynb", "b.ipynb"),
        {"action": "rename", "path": "b.ipynb"},
        # This one is true: it shows that the others have been heard.
        {"action": "delete", "path": "c.ipynb"},
    ]
    await ledger.add(NewEntry(path="c.ipynb"), b"record")
    for data in forged:
        body = json.dumps({"schema_id": CONTENTS, "version": "1", "data": data}).encode()
        answer = await local.request("POST", "api", "events", body=body, headers=JSON)
        assert answer.status == 204, answer.body

    async def heard() -> bool:
        return "c.ipynb" not in await paths(ledger)

    await until(heard)
    assert await paths(ledger) == ["a.ipynb", "b.ipynb", "x/a.ipynb"]
