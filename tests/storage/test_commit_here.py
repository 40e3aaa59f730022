"""A file is replaced or made in this process, and the operating system says no at one place."""

from __future__ import annotations

import asyncio
import dataclasses
import errno
import fcntl
import gc
import os
import stat
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from jupyter_nbedit.errors import Forbidden, NotAPlainFile, NotebookExists, StorageFailure
from jupyter_nbedit.storage import Changed, kernel
from jupyter_nbedit.storage.commit import at_once, check_vacant, create, replace
from jupyter_nbedit.storage.folders import opened
from jupyter_nbedit.storage.snapshots import Snapshot
from jupyter_nbedit.storage.swapping import Swap, _leased
from tests.storage.conftest import EDIT, EDITED, NAME, TEXT, Place, assert_as_it_was, left_in

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has leases and /proc")

REFUSED, BROKEN = errno.ENOSYS, errno.EIO


def failing(code: int) -> Callable[..., None]:
    """Give a call of the operating system that fails."""

    def fail(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    return fail


def test_what_was_not_read_from_a_file_replaces_none(place: Place, notebook: Path) -> None:
    other = dataclasses.replace(place.read(), version=None)
    with pytest.raises(TypeError, match="read from a file, found None"):
        replace(str(notebook), other, EDIT)
    assert_as_it_was(notebook)


def test_a_file_of_two_names_is_left_alone(place: Place, notebook: Path) -> None:
    os.link(notebook, place.root / "b.ipynb")
    with pytest.raises(NotAPlainFile, match="has 2 names") as refusal:
        place.edit()
    assert refusal.value.details == {"links": 2}
    assert notebook.read_bytes() == (place.root / "b.ipynb").read_bytes() == TEXT
    assert left_in(place.root) == [NAME, "b.ipynb"]


def test_a_file_that_may_not_be_written_is_left_alone(
    place: Place, notebook: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = place.read()
    asked: list[tuple[object, int]] = []

    def access(path: str, mode: int, **_: object) -> bool:
        asked.append((path, mode))
        return False

    monkeypatch.setattr(os, "access", access)
    with pytest.raises(Forbidden, match="may not write this notebook's file"):
        replace(str(notebook), base, EDIT)
    assert asked == [(NAME, os.W_OK)]
    assert_as_it_was(notebook)


def test_in_a_folder_that_may_not_be_written_nothing_is_made(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    for attempt in (
        lambda: check_vacant(str(place.root / NAME)),
        lambda: create(str(place.root / NAME), TEXT),
    ):
        with pytest.raises(Forbidden, match="may not write to this folder"):
            attempt()
    assert left_in(place.root) == []


def test_a_file_that_is_another_by_the_time_it_is_opened_is_left_alone(
    place: Place, notebook: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = place.read()

    def access(*_: object, **__: object) -> bool:
        notebook.unlink()
        notebook.write_bytes(b"theirs")
        return True

    monkeypatch.setattr(os, "access", access)
    with pytest.raises(Changed):
        replace(str(notebook), base, EDIT)
    assert notebook.read_bytes() == b"theirs"
    assert left_in(place.root) == [NAME]


@pytest.mark.parametrize("theirs", [b"theirs", None], ids=["written", "removed"])
def test_of_a_file_that_others_touch_at_once_no_status_is_told(
    place: Place, notebook: Path, theirs: bytes | None
) -> None:
    def exchange(put: Callable[[], None], old: os.stat_result, new: os.stat_result) -> list[str]:
        assert old.st_ino != new.st_ino
        warnings = at_once(put, old, new)
        assert notebook.read_bytes() == EDITED
        notebook.unlink()
        if theirs is not None:
            notebook.write_bytes(theirs)
        return [*warnings, "as it was told"]

    written = replace(str(notebook), place.read(), EDIT, exchange)
    assert written.status is None
    assert written.warnings == ["as it was told"]


def test_of_a_file_that_nobody_touches_the_status_is_told(place: Place, notebook: Path) -> None:
    written = replace(str(notebook), place.read(), EDIT)
    now = notebook.stat()
    assert written.status is not None
    assert (written.status.st_ino, written.status.st_ctime_ns) == (now.st_ino, now.st_ctime_ns)
    assert written.warnings == []
    assert written.marks is not None
    assert written.hash == written.marks.sha256
    assert left_in(place.root) == [NAME]


@pytest.mark.parametrize(("applied", "left"), [(None, 2), (False, 1), (True, 1)])
def test_what_may_be_another_s_file_is_not_taken_away(
    place: Place, notebook: Path, *, applied: bool | None, left: int
) -> None:
    def exchange(*_: object) -> list[str]:
        raise StorageFailure("for the test", applied=applied)

    with pytest.raises(StorageFailure):
        replace(str(notebook), place.read(), EDIT, exchange)
    assert len(left_in(place.root)) == left


@on_linux
def test_who_opens_a_file_for_writing_that_was_free_is_given_way(notebook: Path) -> None:
    with notebook.open("rb") as old:
        with _leased(old.fileno(), was_free=True) as is_alone:
            assert is_alone is not None
            assert is_alone()
        with notebook.open("r+b"):
            with pytest.raises(Changed), _leased(old.fileno(), was_free=True):
                pytest.fail("it is open")
            with _leased(old.fileno(), was_free=False) as is_alone:
                assert is_alone is None
        assert fcntl.fcntl(old, fcntl.F_GETLEASE) == fcntl.F_UNLCK


@on_linux
def test_a_lease_is_held_no_longer_than_it_is_used(
    place: Place, notebook: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(time, "monotonic", lambda: sum(pauses))
    monkeypatch.setattr(time, "sleep", pauses.append)
    with notebook.open("rb") as old, opened(str(place.root)) as folder:
        status = os.fstat(old.fileno())
        swap = Swap(folder, ("b", NAME), old.fileno(), (status, status), lambda: True)
        swap.wait()
        assert pauses == []
        assert fcntl.fcntl(old, fcntl.F_GETLEASE) == fcntl.F_UNLCK
        with _leased(old.fileno(), was_free=True):
            assert fcntl.fcntl(old, fcntl.F_GETLEASE) == fcntl.F_RDLCK
        assert fcntl.fcntl(old, fcntl.F_GETLEASE) == fcntl.F_UNLCK
        with notebook.open("r+b"):
            swap.wait()
        assert sum(pauses) == pytest.approx(0.5, abs=0.1)
        # It has been free once.
        with notebook.open("r+b"), pytest.raises(Changed):
            swap.put()


def test_where_nothing_can_be_exchanged_a_last_look_keeps_what_others_wrote(
    place: Place, notebook: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "_renameat2", None)
    base = place.read()

    def exchange(put: Callable[[], None], *_: object) -> list[str]:
        notebook.write_bytes(b"theirs")
        put()
        return []

    with pytest.raises(Changed):
        replace(str(notebook), base, EDIT, exchange)
    assert notebook.read_bytes() == b"theirs"
    assert left_in(place.root) == [NAME]
    notebook.write_bytes(TEXT)
    assert replace(str(notebook), place.read(), EDIT).guard == "compare"
    assert notebook.read_bytes() == EDITED


def test_a_last_look_sees_that_a_file_of_long_ago_is_another_one(
    place: Place, notebook: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "_renameat2", None)
    base = place.read()
    assert isinstance(base.version, Snapshot)
    settled = dataclasses.replace(base.version, read_ns=base.version.read_ns + 10**10)
    base = dataclasses.replace(base, version=settled)

    def exchange(put: Callable[[], None], *_: object) -> list[str]:
        other = notebook.with_name("other")
        other.write_bytes(TEXT)
        other.replace(notebook)
        put()
        return []

    with pytest.raises(Changed):
        replace(str(notebook), base, EDIT, exchange)
    assert notebook.read_bytes() == TEXT


def test_a_pipe_in_the_place_of_the_file_is_not_waited_for(
    place: Place, notebook: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = place.read()

    def access(*_: object, **__: object) -> bool:
        notebook.unlink()
        os.mkfifo(notebook)
        return True

    monkeypatch.setattr(os, "access", access)
    with pytest.raises(Changed):
        replace(str(notebook), base, EDIT)


@on_linux
def test_no_file_stays_open(place: Place, notebook: Path) -> None:
    place.edit()
    before = len(left_in(Path("/proc/self/fd")))
    for number in range(3):
        replace(str(notebook), place.read(), EDIT)
        create(str(place.root / f"{number}.ipynb"), TEXT)
    gc.collect()
    assert len(left_in(Path("/proc/self/fd"))) == before


def test_the_time_that_is_told_is_the_file_s(place: Place, notebook: Path) -> None:
    for written in (place.edit(), create(str(place.root / "b.ipynb"), TEXT)):
        path = place.root / ("b.ipynb" if written.status is None else NAME)
        assert written.last_modified.timestamp() == pytest.approx(path.stat().st_mtime, abs=1e-5)
    assert notebook.exists()


@on_linux
def test_what_is_being_written_is_nobody_else_s(
    place: Place, notebook: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[int, int]] = []
    sync, real_open = os.fsync, os.open

    def opens(path: str, flags: int, mode: int = 0o777, **more: int) -> int:
        if flags & os.O_CREAT:
            seen.append((mode, flags & os.O_EXCL))
        return real_open(path, flags, mode, **more)

    def fsync(descriptor: int) -> None:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            again = real_open(f"/proc/self/fd/{descriptor}", os.O_RDONLY)
            with pytest.raises(BlockingIOError):
                fcntl.flock(again, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.close(again)
        sync(descriptor)

    monkeypatch.setattr(os, "open", opens)
    monkeypatch.setattr(os, "fsync", fsync)
    replace(str(notebook), place.read(), EDIT)
    create(str(place.root / "b.ipynb"), TEXT)
    assert [one for one in seen if one[0] != 0o777] == [(0o600, os.O_EXCL), (0o666, os.O_EXCL)]


# New files ---------------------------------------------------------------------------------------


def made(place: Place) -> bytes:
    create(str(place.root / NAME), TEXT)
    return (place.root / NAME).read_bytes()


def test_what_comes_to_stand_there_meanwhile_is_not_overwritten(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync = os.fsync

    def fsync(descriptor: int) -> None:
        (place.root / NAME).write_bytes(b"theirs")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(NotebookExists, match="is never overwritten"):
        create(str(place.root / NAME), TEXT)
    assert (place.root / NAME).read_bytes() == b"theirs"
    assert left_in(place.root) == [NAME]


@pytest.mark.parametrize("links", [True, False], ids=["links", "no links"])
def test_without_a_rename_that_replaces_nothing_a_file_is_made_too(
    place: Place, monkeypatch: pytest.MonkeyPatch, *, links: bool
) -> None:
    monkeypatch.setattr(kernel, "_renameat2", failing(REFUSED))
    if not links:
        monkeypatch.setattr(os, "link", failing(errno.EPERM))
    assert made(place) == TEXT
    assert left_in(place.root) == [NAME]


def test_without_renames_and_links_nothing_is_overwritten_either(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync = os.fsync

    def fsync(descriptor: int) -> None:
        (place.root / NAME).write_bytes(b"theirs")
        sync(descriptor)

    monkeypatch.setattr(kernel, "_renameat2", failing(REFUSED))
    monkeypatch.setattr(os, "link", failing(errno.EPERM))
    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(NotebookExists):
        made(place)
    assert (place.root / NAME).read_bytes() == b"theirs"
    assert left_in(place.root) == [NAME]


def test_a_temporary_name_that_cannot_go_at_once_does_no_harm(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "_renameat2", failing(REFUSED))
    monkeypatch.setattr(os, "unlink", failing(BROKEN))
    assert made(place) == TEXT
    assert len(left_in(place.root)) == 2


@pytest.mark.parametrize("what", ["rename", "link"])
def test_a_disk_that_fails_makes_no_file(
    place: Place, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.setattr(kernel, "_renameat2", failing(BROKEN if what == "rename" else REFUSED))
    monkeypatch.setattr(os, "link", failing(BROKEN))
    with pytest.raises(StorageFailure) as failure:
        made(place)
    assert failure.value.details == {"applied": False}
    assert left_in(place.root) == []


def test_a_new_file_is_written_by_nobody_else_before_it_has_its_name(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes: list[int] = []
    sync = os.fsync

    def fsync(descriptor: int) -> None:
        modes.append(os.fstat(descriptor).st_mode)
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    before = os.umask(0o022)
    try:
        made(place)
        (place.root / NAME).chmod(0o640)
        replace(str(place.root / NAME), place.read(), EDIT)
    finally:
        os.umask(before)
    files = [stat.S_IMODE(mode) for mode in modes if stat.S_ISREG(mode)]
    assert files == [0o644, 0o640]
    assert sum(map(stat.S_ISDIR, modes)) == 2


def test_a_folder_that_cannot_be_made_durable_is_told_of(
    place: Place, notebook: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync = os.fsync

    def fsync(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(BROKEN, os.strerror(BROKEN))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    [warning] = place.edit().warnings
    assert "could not be made durable" in warning
    assert os.strerror(BROKEN) in warning
    assert notebook.read_bytes() == EDITED
    [warning] = asyncio.run(place.storage.create("b.ipynb", TEXT)).warnings
    assert "could not be made durable" in warning
    assert (place.root / "b.ipynb").read_bytes() == TEXT
