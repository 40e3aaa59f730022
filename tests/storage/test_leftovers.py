"""What a process that was killed has left: removed when it is sure that it is that, and soon."""

from __future__ import annotations

import asyncio
import fcntl
import os
import time
from pathlib import Path

import pytest

from jupyter_nbedit.storage import leftovers
from jupyter_nbedit.storage.files import FileStorage
from jupyter_nbedit.storage.leftovers import Leftovers
from tests.storage.conftest import EDIT, NAME, NOBODY, Place, left_in

LEFT = ".nbedit-0123456789abcdef.tmp"
AGE = 0.05


@pytest.fixture
def storage(place: Place, notebook: Path, monkeypatch: pytest.MonkeyPatch) -> FileStorage:
    assert notebook.exists()
    # Nobody can set the time that is looked at, and an hour is long.
    monkeypatch.setattr(leftovers, "_AGE_SECONDS", AGE)
    return FileStorage(place.manager, place.locks, leftovers=Leftovers())


def edit(storage: FileStorage, path: str = NAME) -> None:
    async def work() -> None:
        await storage.write(path, await storage.read(path), EDIT)

    asyncio.run(work())


def test_what_was_left_long_ago_is_removed_with_the_next_edit_in_the_folder(
    place: Place, storage: FileStorage
) -> None:
    (place.root / "sub").mkdir()
    (place.root / "sub" / NAME).write_bytes(b"{}")
    for folder in (place.root, place.root / "sub"):
        (folder / LEFT).write_bytes(b"{")
    time.sleep(2 * AGE)
    edit(storage)
    assert left_in(place.root) == [NAME, "sub"]
    assert left_in(place.root / "sub") == [LEFT, NAME]
    edit(storage, f"sub/{NAME}")
    assert left_in(place.root / "sub") == [NAME]


def test_what_a_kill_between_two_names_left_does_not_keep_a_new_notebook_from_edits(
    place: Place, storage: FileStorage
) -> None:
    (place.root / "new.ipynb").write_bytes(b"{}")
    (place.root / LEFT).hardlink_to(place.root / "new.ipynb")
    time.sleep(2 * AGE)
    edit(storage)
    edit(storage, "new.ipynb")
    assert (place.root / "new.ipynb").read_bytes() == b"{ }"


@pytest.mark.parametrize("kind", ["young", "held", "a folder", "a link", "somebody else's"])
def test_what_may_be_something_else_stays(
    place: Place, storage: FileStorage, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    path = place.root / LEFT
    match kind:
        case "a folder":
            path.mkdir()
        case "a link":
            path.symlink_to(NAME)
        case _:
            path.write_bytes(b"{")
    if kind == "somebody else's":
        if os.geteuid() != 0:
            pytest.skip("only root may give files away")
        os.chown(path, NOBODY, NOBODY)
        # Root removes those of everybody.
        monkeypatch.setattr(os, "geteuid", lambda: 1234)
    if kind == "young":
        monkeypatch.setattr(leftovers, "_AGE_SECONDS", 3600)
    with (path if path.is_file() else Path(os.devnull)).open() as file:
        if kind == "held":
            fcntl.flock(file, fcntl.LOCK_EX)
        time.sleep(2 * AGE)
        edit(storage)
    assert left_in(place.root) == [LEFT, NAME]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_root_removes_what_it_had_given_away_when_it_was_killed(
    place: Place, storage: FileStorage
) -> None:
    path = place.root / LEFT
    path.write_bytes(b"{")
    os.chown(path, NOBODY, NOBODY)
    time.sleep(2 * AGE)
    edit(storage)
    assert left_in(place.root) == [NAME]


@pytest.mark.parametrize(
    "name",
    [".nbedit-.tmp", ".nbedit-0123456789ABCDEF.tmp", "x.nbedit-0123456789abcdef.tmp", LEFT + "x"],
)
def test_what_is_not_called_like_ours_stays(place: Place, storage: FileStorage, name: str) -> None:
    (place.root / name).write_bytes(b"{")
    time.sleep(2 * AGE)
    edit(storage)
    assert left_in(place.root) == sorted((NAME, name))


def test_a_folder_is_looked_through_once(place: Place, storage: FileStorage) -> None:
    edit(storage)
    (place.root / LEFT).write_bytes(b"{")
    time.sleep(2 * AGE)
    edit(storage)
    assert left_in(place.root) == [LEFT, NAME]


@pytest.mark.skipif("os.geteuid() != 0", reason="only root may give files away")
def test_what_root_has_given_to_the_notebooks_owner_is_removed_by_root(
    place: Place, storage: FileStorage
) -> None:
    (place.root / LEFT).write_bytes(b"{")
    os.chown(place.root / LEFT, NOBODY, NOBODY)
    time.sleep(2 * AGE)
    edit(storage)
    assert left_in(place.root) == [NAME]


def test_what_was_too_young_is_removed_when_it_has_come_of_age(
    place: Place, storage: FileStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leftovers, "_AGE_SECONDS", 1.0)
    (place.root / LEFT).write_bytes(b"{")
    edit(storage)
    assert left_in(place.root) == [LEFT, NAME]
    time.sleep(1.1)
    edit(storage)
    assert left_in(place.root) == [NAME]


def test_our_own_files_are_held_while_they_are_written(place: Place, notebook: Path) -> None:
    assert notebook.exists()
    (place.root / LEFT).write_bytes(b"{")
    descriptor = os.open(place.root / LEFT, os.O_WRONLY)
    try:
        leftovers.show_as_held(descriptor)
        with (place.root / LEFT).open() as other, pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(descriptor)
