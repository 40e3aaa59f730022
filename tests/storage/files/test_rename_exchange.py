"""Other programs write between the last check of a file and its replacement."""

import errno
import fcntl
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from jupyter_nbedit.errors import StorageFailure
from jupyter_nbedit.storage.base import Content, StaleContent
from tests.storage.conftest import EDITED, NAME, CallHook, Root, is_file, list_names
from tests.storage.seccomp import run_without
from tests.support.waiting import wait_until

EDITED_TWICE = b'{  "cells": []}'
THEIRS, NEWER = b'{"cells": [2]}', b'{"cells": [3]}'

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has exchange here")


def replace_file(path: Path, text: bytes = THEIRS) -> None:
    """Put another file there, as most programs save."""
    other = path.with_name("theirs")
    other.write_bytes(text)
    other.replace(path)


def overwrite_file(path: Path) -> None:
    path.write_bytes(THEIRS)


@pytest.fixture
def base(place: Root, notebook: Path) -> Content:
    """Read a file that was edited before, so that only timestamps show a change."""
    assert notebook.exists()
    assert place.edit().guard == "lease"
    return place.read()


@pytest.fixture(params=["lease", "exchange"])
def guard(request: pytest.FixtureRequest) -> Iterator[str]:
    """Let there be leases or none: who listens to their signal gets it for his own purposes."""
    is_heard = request.param == "exchange"
    before = signal.signal(signal.SIGURG, (lambda *_: None) if is_heard else signal.SIG_DFL)
    yield request.param
    signal.signal(signal.SIGURG, before)


def is_last_check(name: object) -> bool:
    """Return whether a name is the backup of a save, or the replaced file."""
    return str(name).startswith((".~", ".nbedit-"))


def test_two_files_are_exchanged(place: Root, notebook: Path, base: Content, guard: str) -> None:
    assert place.write(base).guard == guard
    assert notebook.read_bytes() == EDITED_TWICE
    assert list_names(place.root) == [NAME]


def test_a_file_placed_after_the_last_check_is_restored(
    place: Root, notebook: Path, base: Content, guard: str, interpose: CallHook
) -> None:
    assert guard
    interpose("stat", is_last_check, lambda: replace_file(notebook))
    with pytest.raises(StaleContent):
        place.write(base)
    assert notebook.read_bytes() == THEIRS
    assert list_names(place.root) == [NAME]


def test_the_newest_of_files_placed_during_the_restore_is_kept(
    place: Root, notebook: Path, base: Content, interpose: CallHook
) -> None:
    turns = [lambda: replace_file(notebook), int, lambda: replace_file(notebook, NEWER)]
    interpose("stat", is_last_check, *turns)
    with pytest.raises(StaleContent):
        place.write(base)
    assert notebook.read_bytes() == NEWER
    assert list_names(place.root) == [NAME]


@pytest.mark.parametrize("guard", ["exchange"], indirect=True)
def test_in_place_write_after_last_check_is_restored_without_a_lease(
    place: Root, notebook: Path, base: Content, guard: str, interpose: CallHook
) -> None:
    assert guard
    interpose("stat", is_last_check, lambda: overwrite_file(notebook))
    with pytest.raises(StaleContent):
        place.write(base)
    assert notebook.read_bytes() == THEIRS


def test_with_a_lease_a_writer_waits_and_writes_into_the_new_file(
    place: Root, notebook: Path, base: Content, interpose: CallHook
) -> None:
    thread = threading.Thread(target=overwrite_file, args=(notebook,))
    lease = f":{notebook.stat().st_ino} "

    def is_waited_for() -> bool:
        locks = Path("/proc/locks").read_text().splitlines()
        return any("BREAKING" in line and lease in line for line in locks)

    def begin() -> None:
        thread.start()
        wait_until(is_waited_for, what="a program that waits for the lease")
        assert notebook.read_bytes() == EDITED

    interpose("stat", is_last_check, begin)
    with pytest.raises(StaleContent):
        place.write(base)
    thread.join()
    assert notebook.read_bytes() == THEIRS
    assert list_names(place.root) == [NAME]


def test_a_deleted_file_does_not_reappear(
    place: Root, notebook: Path, base: Content, interpose: CallHook
) -> None:
    interpose("stat", is_last_check, notebook.unlink)
    with pytest.raises(StaleContent):
        place.write(base)
    assert list_names(place.root) == []


@pytest.mark.parametrize("is_over", [True, False], ids=["once", "on and on"])
def test_after_a_failing_call_the_old_file_is_restored_or_the_state_is_unknown(
    place: Root, notebook: Path, base: Content, interpose: CallHook, *, is_over: bool
) -> None:
    failures = [OSError(errno.EIO, "for the test")] * (1 if is_over else 9)
    interpose("stat", is_last_check, int, *failures)
    with pytest.raises(StorageFailure) as raised:
        place.write(base)
    assert raised.value.details == {"applied": False if is_over else None}
    if not is_over:
        assert str(raised.value).endswith("wrote; read it before you go on.")
        assert "failed (Input/output error) while another program was" in str(raised.value)
    if is_over:
        assert notebook.read_bytes() == EDITED
    # With unknown names none of the two files is removed.
    assert len(list_names(place.root)) == (1 if is_over else 2)


def test_the_lease_yields_to_a_program_that_opens_the_file_for_writing(
    place: Root, notebook: Path, base: Content, monkeypatch: pytest.MonkeyPatch
) -> None:
    control = fcntl.fcntl
    opened: list[BinaryIO] = []

    def give_back(descriptor: int, command: int, argument: Any = 0) -> Any:
        answer = control(descriptor, command, argument)
        if (command, argument) == (fcntl.F_SETLEASE, fcntl.F_UNLCK) and not opened:
            opened.append(notebook.open("r+b"))
        return answer

    monkeypatch.setattr(fcntl, "fcntl", give_back)
    with pytest.raises(StaleContent):
        place.write(base)
    opened[0].close()
    assert notebook.read_bytes() == EDITED


def test_an_edit_waits_for_a_program_that_has_the_file_open_for_writing(
    place: Root, notebook: Path, base: Content, monkeypatch: pytest.MonkeyPatch
) -> None:
    control, file = fcntl.fcntl, notebook.open("r+b")
    is_asked: list[bool] = []

    def ask(descriptor: int, command: int, argument: Any = 0) -> Any:
        try:
            return control(descriptor, command, argument)
        except BlockingIOError:
            if not is_asked:
                is_asked.append(True)
                file.write(THEIRS)
                file.close()
            raise

    monkeypatch.setattr(fcntl, "fcntl", ask)
    with pytest.raises(StaleContent):
        place.write(base)
    assert is_asked
    assert notebook.read_bytes() == THEIRS


@pytest.mark.usefixtures("fast_clock")
def test_the_wait_for_a_file_that_is_always_open_ends(
    place: Root, notebook: Path, base: Content
) -> None:
    with notebook.open("ab"):
        assert place.write(base).guard == "exchange"
    assert notebook.read_bytes() == EDITED_TWICE


@pytest.mark.parametrize("code", [errno.ENOSYS, errno.EPERM])
def test_without_exchange_a_last_check_keeps_out_of_band_changes(
    place: Root, notebook: Path, base: Content, interpose: CallHook, code: int
) -> None:
    interpose("fsync", is_file, lambda: overwrite_file(notebook))

    def edit() -> None:
        with pytest.raises(StaleContent):
            place.write(base)
        assert notebook.read_bytes() == THEIRS
        assert list_names(place.root) == [NAME]
        assert place.edit().guard == "compare"

    run_without({"renameat2": code}, edit)
    assert notebook.read_bytes() == THEIRS[:1] + b" " + THEIRS[1:]
    assert list_names(place.root) == [NAME]


def test_a_failing_exchange_changes_nothing(place: Root, notebook: Path, base: Content) -> None:
    def edit() -> None:
        with pytest.raises(StorageFailure) as raised:
            place.write(base)
        assert raised.value.details == {"applied": False}

    run_without({"renameat2": errno.EIO}, edit)
    assert notebook.read_bytes() == EDITED
    assert list_names(place.root) == [NAME]


def test_a_program_that_waits_for_the_lease_does_not_end_this_process(
    place: Root, notebook: Path
) -> None:
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            with notebook.open("r+b") as file:
                file.write(b"{")

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for _ in range(10):
            base: Content = place.read()
            try:
                place.write(base)
            except StaleContent:
                continue
    finally:
        stop.set()
        thread.join()
    assert list_names(place.root) == [NAME]
