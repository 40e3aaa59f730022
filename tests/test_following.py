"""What is kept of notebooks goes where they go, and nowhere because somebody says so."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from jupyter_nbedit.app import NbEditApp
from jupyter_nbedit.errors import LedgerError
from jupyter_nbedit.following import CONTENTS, Following
from jupyter_nbedit.history import Ledger
from jupyter_nbedit.history.entries import NewEntry
from tests.support import samples
from tests.support.http import JSON, Local
from tests.support.services import ServiceBuilder
from tests.support.waiting import wait_until_async

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


def rename(old: str, new: str) -> dict[str, str]:
    return {"action": "rename", "path": new, "source_path": old}


@pytest.mark.parametrize(
    ("event", "there", "told"),
    [
        ({"action": "delete", "path": "a"}, [], [("gone", "a")]),
        (rename("/a/", "b/c"), ["b/c"], [("renamed", "a", "b/c")]),
        # Whatever else is said is not true, or is nothing that is followed.
        ({"action": "delete", "path": "a"}, ["a"], []),
        ({"action": "delete", "path": "/a/"}, ["a"], []),
        ({"action": "delete", "path": ""}, [], []),
        ({"action": "delete", "path": "../a"}, [], []),
        (rename("a", "b"), [], []),
        (rename("a", "b"), ["a"], []),
        (rename("a", "b"), ["a", "b"], []),
        (rename("a", "../b"), [], []),
        (rename("../a", "b"), ["b"], []),
        (rename("", "b"), ["b"], []),
        ({"action": "rename", "path": "b"}, ["b"], []),
        ({"action": "get", "path": "a"}, [], []),
        ({"action": "save", "path": "a"}, [], []),
        ({"action": "copy", "path": "b", "source_path": "a"}, ["b"], []),
    ],
)
async def test_only_what_is_true_is_passed_on_and_to_all_even_if_one_fails(
    services: ServiceBuilder,
    event: dict[str, str],
    there: list[str],
    told: list[tuple[str, ...]],
) -> None:
    storages = services.build_storages()
    for name in there:
        (services.root / name).parent.mkdir(exist_ok=True)
        (services.root / name).touch()
    followers = [Told(LedgerError("The disk is full.")), Told()]
    following = Following(storages, followers, logging.getLogger("tests"))
    await following.heard(services.event_logger, CONTENTS, event)
    assert [follower.heard for follower in followers] == [told, told]


# In a server -------------------------------------------------------------------------------------


@pytest.fixture
def ledger(jp_serverapp: Any) -> Ledger:
    points = jp_serverapp.extension_manager.extensions["jupyter_nbedit"].extension_points
    app = points["jupyter_nbedit"].app
    assert isinstance(app, NbEditApp)
    return app.ledger


async def paths(ledger: Ledger) -> list[str]:
    return sorted({entry.path for entry in await ledger.page(None, limit=100)})


async def wait_for_paths(ledger: Ledger, *expected: str) -> None:
    """Wait for what follows an event, which comes after the answer."""

    async def is_there() -> bool:
        return await paths(ledger) == list(expected)

    await wait_until_async(is_there)


async def keep(local: Local, ledger: Ledger, *names: str) -> None:
    for name in names:
        (local.root / name).parent.mkdir(exist_ok=True)
        (local.root / name).write_bytes(GOOD)
        await ledger.add(NewEntry(path=name), b"record")


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
    await wait_for_paths(ledger, "a.ipynb", "b.ipynb", "x/a.ipynb")
