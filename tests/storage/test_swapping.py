"""Other programs write between a last look at a file and the moment in which it is replaced."""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import pytest

from jupyter_nbedit.errors import StorageFailure
from jupyter_nbedit.storage import Changed
from jupyter_nbedit.storage.folders import Folder, opened
from jupyter_nbedit.storage.swapping import GUARDS, Swap
from tests.storage.conftest import EDIT, EDITED, NAME, TEXT, Place, left_in

OURS, THEIRS, NEWER = b'{"cells": [1]}', b'{"cells": [2]}', b'{"cells": [3]}'
TEMPORARY = ".nbedit-0123456789abcdef.tmp"

can_exchange = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has exchange here")


def replaced(path: Path, text: bytes = THEIRS) -> None:
    """Put another file there, as most programs save."""
    other = path.with_name("theirs")
    other.write_bytes(text)
    other.replace(path)


def overwritten(path: Path) -> None:
    path.write_bytes(THEIRS)


def nothing(_path: Path) -> None:
    """Keep still."""


class Watched(Folder):
    """A folder in which others do something before each exchange, in turn, and disks fail."""

    def __init__(self, folder: Folder, root: Path, *turns: Callable[[Path], None]) -> None:
        super().__init__(str(root), folder.descriptor)
        self._root, self._turns = root, list(turns)
        self.failures = 0

    def status(self, name: str) -> os.stat_result:
        self.failures -= 1
        if self.failures >= 0:
            raise OSError(errno.EIO, "for the test")
        return super().status(name)

    def exchange(self, one: str, other: str) -> None:
        self._turns.pop(0)(self._root / NAME)
        super().exchange(one, other)


@contextmanager
def swap_in(root: Path, *turns: Callable[[Path], None], leased: bool = True) -> Iterator[Swap]:
    """Prepare to put `OURS` in the place of `TEXT`; others have their turns meanwhile."""
    (root / NAME).write_bytes(TEXT)
    (root / TEMPORARY).write_bytes(OURS)
    old = os.open(root / NAME, os.O_RDONLY)
    statuses = os.fstat(old), (root / TEMPORARY).stat()
    try:
        with opened(str(root)) as folder:
            watched = Watched(folder, root, *turns)
            yield Swap(watched, (TEMPORARY, NAME), old if leased else None, statuses, lambda: True)
    finally:
        os.close(old)


@can_exchange
@pytest.mark.parametrize(("leased", "guard"), [(True, "lease"), (False, "exchange")])
def test_two_files_exchange_their_names(tmp_path: Path, guard: str, *, leased: bool) -> None:
    with swap_in(tmp_path, nothing, leased=leased) as swap:
        swap.put()
    assert swap.guard == guard
    assert (tmp_path / NAME).read_bytes() == OURS
    assert (tmp_path / TEMPORARY).read_bytes() == TEXT


@can_exchange
@pytest.mark.parametrize("leased", [True, False])
def test_a_file_that_was_put_there_after_the_last_look_comes_back(
    tmp_path: Path, *, leased: bool
) -> None:
    with swap_in(tmp_path, replaced, nothing, leased=leased) as swap, pytest.raises(Changed):
        swap.put()
    assert (tmp_path / NAME).read_bytes() == THEIRS
    assert (tmp_path / TEMPORARY).read_bytes() == OURS


@can_exchange
def test_of_what_others_put_there_while_it_comes_back_the_newest_stays(tmp_path: Path) -> None:
    def again(path: Path) -> None:
        replaced(path, NEWER)

    with swap_in(tmp_path, replaced, again, nothing) as swap, pytest.raises(Changed):
        swap.put()
    assert (tmp_path / NAME).read_bytes() == NEWER


@can_exchange
def test_without_a_lease_what_is_written_into_the_file_after_the_last_look_comes_back(
    tmp_path: Path,
) -> None:
    with swap_in(tmp_path, overwritten, nothing, leased=False) as swap, pytest.raises(Changed):
        swap.put()
    assert (tmp_path / NAME).read_bytes() == THEIRS


@can_exchange
def test_with_a_lease_who_writes_into_the_file_waits_and_writes_into_what_has_the_name(
    tmp_path: Path,
) -> None:
    begun: list[threading.Thread] = []

    def begins(path: Path) -> None:
        thread = threading.Thread(target=overwritten, args=(path,))
        begun.append(thread)
        thread.start()
        # It cannot get further than to wait for the lease.
        time.sleep(0.2)
        assert path.read_bytes() == TEXT

    with swap_in(tmp_path, begins, nothing) as swap, pytest.raises(Changed):
        swap.put()
    begun[0].join(10)
    assert (tmp_path / NAME).read_bytes() == THEIRS
    assert (tmp_path / TEMPORARY).read_bytes() == OURS


@can_exchange
def test_a_file_that_has_gone_does_not_come_back(tmp_path: Path) -> None:
    with swap_in(tmp_path, Path.unlink) as swap, pytest.raises(FileNotFoundError):
        swap.put()
    assert left_in(tmp_path) == [TEMPORARY]


@can_exchange
@pytest.mark.parametrize("failures", [1, 9])
def test_when_the_system_fails_in_between_the_old_file_comes_back_or_nothing_is_claimed(
    tmp_path: Path, failures: int
) -> None:
    def fails(_path: Path) -> None:
        watched.failures = failures

    with swap_in(tmp_path, fails, nothing) as swap:
        watched = cast("Watched", swap.folder)
        with pytest.raises((OSError, StorageFailure)) as raised:
            swap.put()
    if failures == 1:
        assert isinstance(raised.value, OSError)
        assert (tmp_path / NAME).read_bytes() == TEXT
    else:
        assert isinstance(raised.value, StorageFailure)
        assert raised.value.details == {"applied": None}
    assert len(left_in(tmp_path)) == 2


@can_exchange
def test_it_is_told_how_others_were_kept_away(place: Place, notebook: Path) -> None:
    assert place.edit().guard == GUARDS[0] == "lease"
    base = place.read()
    # No lease is given on a file that somebody may write to already.
    with notebook.open("ab"):
        assert place.write(base).guard == "exchange"


def test_where_names_cannot_be_exchanged_a_last_look_is_all(
    place: Place, notebook: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "supports_dir_fd", set())
    assert place.edit().guard == "compare"
    assert notebook.read_bytes() == EDITED
    assert left_in(place.root) == [NAME]


@can_exchange
def test_who_has_the_file_open_for_writing_is_waited_for(place: Place, notebook: Path) -> None:
    base = place.read()
    file = notebook.open("r+b")

    def write() -> None:
        with file:
            time.sleep(0.1)
            file.write(THEIRS)

    thread = threading.Thread(target=write)
    thread.start()
    with pytest.raises(Changed):
        place.write(base)
    thread.join(10)
    assert notebook.read_bytes() == THEIRS


@can_exchange
def test_a_signal_that_somebody_listens_to_is_not_sent(place: Place, notebook: Path) -> None:
    before = signal.signal(signal.SIGURG, lambda *_: None)
    try:
        assert place.edit().guard == "exchange"
    finally:
        signal.signal(signal.SIGURG, before)
    assert notebook.read_bytes() == EDITED


def test_another_program_that_waits_for_the_lease_does_not_end_this_process(
    place: Place, notebook: Path
) -> None:
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            with notebook.open("r+b") as file:
                file.write(b"{")

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for _ in range(50):
            base = place.read()
            try:
                place.write(base, splices=EDIT)
            except Changed:
                continue
    finally:
        stop.set()
        thread.join(10)
    assert left_in(place.root) == [NAME]


def test_the_ways_there_are_are_those_of_the_system() -> None:
    everywhere = ("compare",)
    assert (("lease", "exchange", *everywhere) if sys.platform == "linux" else everywhere) == GUARDS
