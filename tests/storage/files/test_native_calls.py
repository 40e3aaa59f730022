"""Alternatives where the system, a container or a file system refuses a call."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from jupyter_nbedit.errors import NoSpace, NotebookExists, StorageFailure
from jupyter_nbedit.notebook.lazy.buffer import CHUNK_BYTES
from tests.storage.conftest import EDITED, NAME, TEXT, CallHook, Root, is_file, list_names
from tests.storage.seccomp import CALLS, run_without

LARGE = b"{" + b" " * (9 * CHUNK_BYTES) + b"}"


def refuse(code: int, *calls: str) -> Callable[[Callable[[], object]], object]:
    return lambda work: run_without(dict.fromkeys(calls or CALLS, code), work)


@pytest.fixture(params=[errno.ENOSYS, errno.EPERM, errno.EINVAL, "descriptors of folders"])
def work_without(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Callable[[], object]], object]:
    """Do something where the calls of Linux are refused, or where folders cannot be opened."""
    if isinstance(request.param, int):
        return refuse(request.param)
    monkeypatch.setattr(os, "supports_dir_fd", set())
    return lambda work: work()


def test_edits_and_creates_work_without_the_system_call(
    place: Root, notebook: Path, work_without: Callable[[Callable[[], object]], object]
) -> None:
    def work() -> None:
        assert place.edit().guard == "compare"
        assert notebook.read_bytes() == EDITED
        notebook.write_bytes(LARGE)
        place.edit()
        assert notebook.read_bytes() == LARGE[:1] + b" " + LARGE[1:]
        place.create("new.ipynb")
        with pytest.raises(NotebookExists):
            place.create("new.ipynb")

    work_without(work)
    assert (place.root / "new.ipynb").read_bytes() == TEXT
    assert list_names(place.root) == [NAME, "new.ipynb"]


@pytest.mark.parametrize("links", [True, False], ids=["links", "no links"])
def test_without_exclusive_rename_a_new_file_replaces_nothing(
    place: Root, interpose: CallHook, monkeypatch: pytest.MonkeyPatch, *, links: bool
) -> None:
    def refuse_links(source: str, target: str, **_: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM), source, None, target)

    def work() -> None:
        if not links:
            monkeypatch.setattr(os, "link", refuse_links)
        place.create()
        assert (place.root / NAME).read_bytes() == TEXT
        theirs = place.root / "b.ipynb"
        interpose("fsync", is_file, lambda: theirs.write_bytes(b"theirs"))
        with pytest.raises(NotebookExists):
            place.create("b.ipynb")
        assert theirs.read_bytes() == b"theirs"

    refuse(errno.ENOSYS, "renameat2")(work)
    assert list_names(place.root) == [NAME, "b.ipynb"]


def test_a_temporary_name_that_cannot_be_removed_at_once_is_harmless(
    place: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work() -> None:
        monkeypatch.setattr(os, "unlink", _fail)
        place.create()

    refuse(errno.ENOSYS, "renameat2")(work)
    assert (place.root / NAME).read_bytes() == TEXT
    assert len(list_names(place.root)) == 2


def _fail(*_: object, **__: object) -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSYS], ids=["rename", "link"])
def test_a_failing_disk_creates_no_file(
    place: Root, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def work() -> None:
        monkeypatch.setattr(os, "link", _fail)
        with pytest.raises(StorageFailure) as failure:
            place.create()
        assert failure.value.details == {"applied": False}

    refuse(code, "renameat2")(work)
    assert list_names(place.root) == []


def test_missing_disk_space_is_reported_before_any_write(place: Root, notebook: Path) -> None:
    notebook.write_bytes(LARGE)

    def work() -> None:
        with pytest.raises(NoSpace):
            place.edit()

    refuse(errno.ENOSPC, "fallocate")(work)
    assert notebook.read_bytes() == LARGE
    assert list_names(place.root) == [NAME]


@pytest.mark.parametrize("code", [errno.EIO, errno.EBADF])
def test_a_refused_early_writeback_is_left_to_the_final_fsync(
    place: Root, notebook: Path, code: int
) -> None:
    notebook.write_bytes(LARGE)

    def work() -> None:
        if code == errno.EIO:
            place.edit()
        else:
            with pytest.raises(StorageFailure):
                place.edit()

    refuse(code, "sync_file_range")(work)
    assert notebook.stat().st_size == len(LARGE) + (code == errno.EIO)
    assert list_names(place.root) == [NAME]
