"""Data about notebooks follows verified renames only."""

from __future__ import annotations

import logging

import pytest

from jupyter_nbedit.errors import HistoryUnavailable
from jupyter_nbedit.history.rename_listener import CONTENTS, ContentsEventListener
from tests.support.services import ServiceBuilder


class RecordingObserver:
    """Records its notifications."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.heard: list[tuple[str, ...]] = []
        self.failure = failure

    async def on_renamed(self, old: str, new: str) -> None:
        await self._hear("renamed", old, new)

    async def on_deleted(self, path: str) -> None:
        await self._hear("gone", path)

    async def _hear(self, *what: str) -> None:
        self.heard.append(what)
        if self.failure:
            raise self.failure


def rename(old: str, new: str) -> dict[str, str]:
    return {"action": "rename", "path": new, "source_path": old}


@pytest.mark.parametrize(
    ("event", "there", "expected"),
    [
        ({"action": "delete", "path": "a"}, [], [("gone", "a")]),
        (rename("/a/", "b/c"), ["b/c"], [("renamed", "a", "b/c")]),
        # All other events are untrue, or are not followed.
        ({"action": "delete", "path": "a"}, ["a"], []),
        ({"action": "delete", "path": "/a/"}, ["a"], []),
        ({"action": "delete", "path": ""}, [], []),
        *[({"action": "delete", "path": path}, [], []) for path in (".", "../a", "x/../a", "a\0")],
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
async def test_only_verified_renames_are_passed_on_even_if_one_observer_fails(
    services: ServiceBuilder,
    event: dict[str, str],
    there: list[str],
    expected: list[tuple[str, ...]],
) -> None:
    storages = services.build_storages()
    for name in there:
        (services.root / name).parent.mkdir(exist_ok=True)
        (services.root / name).touch()
    followers = [RecordingObserver(HistoryUnavailable("The disk is full.")), RecordingObserver()]
    listener = ContentsEventListener(storages.exists, followers, logging.getLogger("tests"))
    await listener.on_event(services.event_logger, CONTENTS, event)
    assert [follower.heard for follower in followers] == [expected, expected]
