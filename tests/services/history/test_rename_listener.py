"""Data about notebooks follows verified renames only."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from jupyter_nbedit.errors import HistoryUnavailable
from jupyter_nbedit.services.history.rename_listener import CONTENTS, ContentsEventListener
from jupyter_nbedit.services.modes import ModeManager
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


class RecordingModes(ModeManager):
    """Records which modes are to hold at a new path."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, ...]] = []

    @contextmanager
    def expect_rename(self, old: str, new: str) -> Iterator[None]:
        self.heard.append(("begin", old, new))
        yield
        self.heard.append(("end", old, new))

    async def copy_stricter_modes(self, old: str, new: str) -> None:
        self.heard.append(("copy", old, new))


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
    modes = RecordingModes()
    listener = ContentsEventListener(storages.exists, followers, modes, logging.getLogger("tests"))
    await listener.on_event(services.event_logger, CONTENTS, event)
    assert [follower.heard for follower in followers] == [expected, expected]


@pytest.mark.parametrize(("there", "during"), [(["b"], []), (["a", "b"], [("copy", "a", "b")])])
async def test_modes_hold_at_the_new_path_at_once_and_if_the_old_one_is_in_use_again(
    services: ServiceBuilder, there: list[str], during: list[tuple[str, ...]]
) -> None:
    storages, modes = services.build_storages(), RecordingModes()
    for name in there:
        (services.root / name).touch()
    listener = ContentsEventListener(storages.exists, [], modes, logging.getLogger("tests"))
    await listener.on_event(services.event_logger, CONTENTS, rename("a", "b"))
    assert modes.heard == [("begin", "a", "b"), *during, ("end", "a", "b")]
