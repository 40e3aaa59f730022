"""Notebooks in files that other programs change meanwhile."""

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from jupyter_nbedit.errors import (
    Busy,
    ChangedDuringRead,
    NbEditError,
    NotAPlainFile,
    NotebookNotFound,
)
from jupyter_nbedit.notebook.lazy.buffer import CHUNK_BYTES
from jupyter_nbedit.storage.base import StaleContent
from tests.storage.conftest import EDITED, NAME, TEXT, CallHook, Root, assert_unchanged, list_names

LARGE = TEXT + b" " * CHUNK_BYTES


def test_a_file_with_two_hard_links_is_refused(place: Root, notebook: Path) -> None:
    other = place.root / "other.ipynb"
    os.link(notebook, other)
    for name in (NAME, "other.ipynb"):
        with pytest.raises(NotAPlainFile) as error:
            place.edit(name)
        assert error.value.details == {"links": 2}
    assert notebook.samefile(other)
    assert notebook.read_bytes() == TEXT
    assert list_names(place.root) == [NAME, "other.ipynb"]


def rewrite(path: Path) -> None:
    """Change one character; size and time are as before."""
    before = path.stat()
    path.write_bytes(path.read_bytes().swapcase())
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def replace_by_copy(path: Path) -> None:
    """Put another file of the same size and time in its place."""
    before = path.stat()
    other = path.with_name("other")
    other.write_bytes(path.read_bytes().swapcase())
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(path)


def append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"\n")


def truncate(path: Path) -> None:
    path.write_bytes(b"")


CHANGES = [rewrite, replace_by_copy, append, truncate]


@pytest.mark.parametrize("text", [TEXT, LARGE], ids=["small", "large"])
@pytest.mark.parametrize("age", ["young", "ours", "old"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_between_read_and_write_is_detected(  # noqa: PLR0913, PLR0917 -- every case of it
    place: Root,
    notebook: Path,
    set_ahead: Callable[[float], None],
    change: Callable[[Path], None],
    age: str,
    text: bytes,
) -> None:
    notebook.write_bytes(text)
    if age == "ours":
        # Such a file, and one that was left alone for long, is compared by its times alone.
        place.edit()
    if age == "old":
        set_ahead(3)
    base = place.read()
    change(notebook)
    theirs = notebook.read_bytes()
    with pytest.raises(StaleContent):
        place.write(base)
    assert notebook.read_bytes() == theirs
    assert list_names(place.root) == [NAME]
    # A file changed by others is edited like any other file.
    place.edit()
    assert notebook.read_bytes() == theirs[:1] + b" " + theirs[1:]


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_during_the_write_is_detected(
    place: Root, notebook: Path, interpose: CallHook, change: Callable[[Path], None]
) -> None:
    notebook.write_bytes(LARGE)
    base = place.read()
    interpose("access", NAME, lambda: change(notebook))
    with pytest.raises(StaleContent):
        place.write(base)
    assert notebook.read_bytes() != LARGE
    assert list_names(place.root) == [NAME]


@pytest.mark.parametrize("clock", ["of the file system", "slow"])
def test_the_reliability_of_timestamps_is_detected_per_file_system(
    place: Root, notebook: Path, monkeypatch: pytest.MonkeyPatch, clock: str
) -> None:
    if clock == "slow":
        # Where changes share their times, the bytes of a large file are looked at again.
        chmod, stopwatch = os.fchmod, time.monotonic_ns
        seconds = [0]
        monkeypatch.setattr(time, "monotonic_ns", lambda: stopwatch() + seconds[0])

        def wait(descriptor: int, mode: int) -> None:
            chmod(descriptor, mode)
            seconds[0] += 10**9

        monkeypatch.setattr(os, "fchmod", wait)
    for _ in range(3):
        notebook.write_bytes(LARGE)
        place.edit()
        assert notebook.read_bytes() == LARGE[:1] + b" " + LARGE[1:]
    base = place.read()
    rewrite(notebook)
    with pytest.raises(StaleContent):
        place.write(base)


@pytest.mark.parametrize("change", CHANGES)
def test_a_large_file_is_read_only_as_it_was_opened(
    place: Root, notebook: Path, change: Callable[[Path], None]
) -> None:
    notebook.write_bytes(LARGE)
    content = place.read()
    assert content.data[: len(TEXT)] == TEXT
    change(notebook)
    with pytest.raises(ChangedDuringRead):
        _ = content.text


def test_a_replaced_large_file_stays_readable_as_it_was(place: Root, notebook: Path) -> None:
    notebook.write_bytes(LARGE)
    base = place.read()
    place.write(base)
    assert base.text == LARGE


@pytest.mark.parametrize("state", ["ours", "touched", "replaced", "clock of seconds"])
def test_the_hash_of_an_own_write_is_reused_until_another_writer_changes_the_file(
    place: Root, notebook: Path, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    notebook.write_bytes(LARGE)
    if state == "clock of seconds":
        set_times = os.utime

        def cut(path: int, *, ns: tuple[int, int]) -> None:
            set_times(path, ns=(ns[0], ns[1] // 10**9 * 10**9))

        monkeypatch.setattr(os, "utime", cut)
        monkeypatch.setattr(os, "supports_fd", {*os.supports_fd, cut})
    before = notebook.stat().st_mtime_ns
    result = place.edit()
    assert notebook.stat().st_mtime_ns > before
    if state == "touched":
        rewrite(notebook)
    if state == "replaced":
        replace_by_copy(notebook)
    # Times that others may get as well prove nothing.
    assert place.read().hash == (result.hash if state == "ours" else None)
    assert place.read().text == notebook.read_bytes()


def test_a_notebook_in_a_renamed_folder_does_not_reappear(place: Root) -> None:
    folder = place.root / "folder"
    folder.mkdir()
    (folder / NAME).write_bytes(TEXT)
    base = place.read(f"folder/{NAME}")
    folder.rename(place.root / "renamed")
    with pytest.raises(NotebookNotFound):
        place.write(base, f"folder/{NAME}")
    assert list_names(place.root) == ["renamed"]
    assert_unchanged(place.root / "renamed" / NAME)


def test_a_path_that_became_a_folder_is_unchanged(place: Root, notebook: Path) -> None:
    base = place.read()
    notebook.unlink()
    notebook.mkdir()
    with pytest.raises((StaleContent, NbEditError)):
        place.write(base)
    assert list_names(place.root) == [NAME]
    assert notebook.is_dir()


# A server that saves: jupyter_server copies the notebook to `.~name` and writes it in place.

HALF, SAVED = b'{"cells": [], ', b'{"cells": [], "saved": true}'


@pytest.fixture
def backup(notebook: Path) -> Path:
    path = notebook.with_name(f".~{NAME}")
    shutil.copy2(notebook, path)
    return path


def test_an_edit_waits_for_a_save_of_another_server(
    place: Root, notebook: Path, backup: Path, interpose: CallHook
) -> None:
    def save() -> None:
        notebook.write_bytes(SAVED)
        backup.unlink()

    notebook.write_bytes(HALF)
    interpose("stat", backup.name, int, int, save)
    assert place.read().text == SAVED


def test_a_save_of_another_server_after_the_read_is_not_overwritten(
    place: Root, notebook: Path, interpose: CallHook
) -> None:
    base = place.read()
    backup = notebook.with_name(f".~{NAME}")
    interpose("access", NAME, lambda: shutil.copy2(notebook, backup))
    with pytest.raises(StaleContent):
        place.write(base)
    assert list_names(place.root) == sorted((NAME, backup.name))
    assert notebook.read_bytes() == TEXT


@pytest.mark.usefixtures("fast_clock")
def test_the_wait_for_an_endless_save_ends(place: Root, notebook: Path, backup: Path) -> None:
    with pytest.raises(Busy):
        place.read()
    assert (notebook.read_bytes(), backup.read_bytes()) == (TEXT, TEXT)


def test_a_backup_left_by_a_crash_is_not_mistaken_for_a_save(
    place: Root, notebook: Path, backup: Path, set_ahead: Callable[[float], None]
) -> None:
    set_ahead(31)
    place.edit()
    assert (notebook.read_bytes(), backup.read_bytes()) == (EDITED, TEXT)
