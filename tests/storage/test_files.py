"""Notebooks in files, with links to them and other programs at work on them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jupyter_nbedit.errors import Busy, NbEditError, NotAPlainFile, NotebookNotFound
from jupyter_nbedit.notebook.text import CHUNK_BYTES
from jupyter_nbedit.storage import Changed, snapshots
from tests.storage.conftest import EDITED, NAME, TEXT, Place, assert_as_it_was, left_in
from tests.support.sizes import is_nightly


def test_links_stay_links_and_what_they_lead_to_is_edited(place: Place) -> None:
    target = place.root / "far" / "away.ipynb"
    target.parent.mkdir()
    target.write_bytes(TEXT)
    (place.root / "near.ipynb").symlink_to(Path("far") / "away.ipynb")
    (place.root / "door").symlink_to(place.root / "far")
    (place.root / NAME).symlink_to(place.root / "near.ipynb")
    place.edit()
    assert target.read_bytes() == EDITED
    assert (place.root / NAME).readlink() == place.root / "near.ipynb"
    assert (place.root / "near.ipynb").readlink() == Path("far") / "away.ipynb"
    place.edit("door/away.ipynb")
    assert target.read_bytes() == b'{  "cells": []}'
    assert left_in(place.root) == [NAME, "door", "far", "near.ipynb"]
    assert left_in(target.parent) == ["away.ipynb"]


def test_a_file_with_two_names_is_left_alone(place: Place, notebook: Path) -> None:
    other = place.root / "other.ipynb"
    os.link(notebook, other)
    for name in (NAME, "other.ipynb"):
        with pytest.raises(NotAPlainFile) as refused:
            place.edit(name)
        assert refused.value.details == {"links": 2}
    assert notebook.samefile(other)
    assert notebook.read_bytes() == TEXT
    assert left_in(place.root) == [NAME, "other.ipynb"]


def test_a_second_name_that_comes_after_the_read_is_noticed(place: Place, notebook: Path) -> None:
    base = place.read()
    os.link(notebook, place.root / "other.ipynb")
    with pytest.raises((Changed, NotAPlainFile)):
        place.write(base)
    assert notebook.samefile(place.root / "other.ipynb")


def rewritten(path: Path) -> None:
    """Change one character; size and time are as before."""
    before = path.stat()
    path.write_bytes(path.read_bytes().swapcase())
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def exchanged(path: Path) -> None:
    """Put another file of the same size and time in its place."""
    before = path.stat()
    other = path.with_name("other")
    other.write_bytes(path.read_bytes().swapcase())
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(path)


def appended(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"\n")


def truncated(path: Path) -> None:
    path.write_bytes(b"")


def made_a_link(path: Path) -> None:
    path.rename(path.with_name("other"))
    path.symlink_to("other")


CHANGES = [rewritten, exchanged, appended, truncated]


@pytest.mark.parametrize("text", [TEXT, TEXT + b" " * CHUNK_BYTES], ids=["small", "large"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_between_read_and_write_is_noticed(
    place: Place, notebook: Path, change: Callable[[Path], None], text: bytes
) -> None:
    notebook.write_bytes(text)
    base = place.read()
    change(notebook)
    theirs = notebook.read_bytes()
    with pytest.raises(Changed):
        place.write(base)
    assert notebook.read_bytes() == theirs
    assert left_in(place.root) == [NAME]


def test_a_large_file_that_was_written_just_now_is_edited(place: Place, notebook: Path) -> None:
    # Where each change has a time of its own, its bytes need not be looked at again; else they are.
    text = TEXT + b" " * CHUNK_BYTES
    for _ in range(3):
        notebook.write_bytes(text)
        place.edit()
        assert notebook.read_bytes() == text[:1] + b" " + text[1:]


@pytest.mark.parametrize("by_stamp", [True, False])
def test_whether_times_tell_of_each_change_is_found_out_of_the_file_system(
    place: Place, notebook: Path, monkeypatch: pytest.MonkeyPatch, *, by_stamp: bool
) -> None:
    notebook.write_bytes(TEXT + b" " * CHUNK_BYTES)
    if not by_stamp:
        # A clock that ticks so slowly that no change in this test has a time of its own.
        monkeypatch.setattr(snapshots, "_CHANGES_NS", 0)
    base = place.read()
    rewritten(notebook)
    with pytest.raises(Changed):
        place.write(base)
    place.edit()


def test_a_change_of_a_file_that_was_still_for_long_is_noticed(place: Place) -> None:
    # Such a file is compared by its times alone.
    names = [f"{change.__name__}.ipynb" for change in CHANGES]
    for name in (NAME, *names):
        (place.root / name).write_bytes(TEXT)
    time.sleep(2.2)
    for name, change in zip(names, CHANGES, strict=True):
        base = place.read(name)
        change(place.root / name)
        theirs = (place.root / name).read_bytes()
        with pytest.raises(Changed):
            place.write(base, name)
        assert (place.root / name).read_bytes() == theirs
    place.edit()
    assert left_in(place.root) == sorted((NAME, *names))


def test_the_file_that_a_new_link_leads_to_is_not_taken_for_the_old_one(
    place: Place, notebook: Path
) -> None:
    base = place.read()
    (place.root / "b.ipynb").write_bytes(TEXT)
    notebook.unlink()
    notebook.symlink_to("b.ipynb")
    with pytest.raises(Changed):
        place.write(base)
    assert (place.root / "b.ipynb").read_bytes() == TEXT


def test_a_notebook_whose_folder_was_renamed_does_not_come_back(place: Place) -> None:
    folder = place.root / "folder"
    folder.mkdir()
    (folder / NAME).write_bytes(TEXT)
    base = place.read(f"folder/{NAME}")
    folder.rename(place.root / "renamed")
    with pytest.raises(NotebookNotFound):
        place.write(base, f"folder/{NAME}")
    assert left_in(place.root) == ["renamed"]
    assert_as_it_was(place.root / "renamed" / NAME)


def test_what_became_a_folder_is_left_alone(place: Place, notebook: Path) -> None:
    base = place.read()
    notebook.unlink()
    notebook.mkdir()
    with pytest.raises((Changed, NbEditError)):
        place.write(base)
    assert left_in(place.root) == [NAME]
    assert notebook.is_dir()


# jupyter_server's own save, in slow motion: https://github.com/jupyter-server/jupyter_server,
# services/contents/fileio.py, atomic_writing.
JUPYTER_SAVES = """
import os, shutil, sys, time
path, pause = sys.argv[1], float(sys.argv[2])
folder, name = os.path.split(path)
backup = os.path.join(folder, ".~" + name)
shutil.copy2(path, backup)
with open(path, "wb") as file:
    print("begun", flush=True)
    time.sleep(pause)
    file.write(b'{"cells": [], ')
    file.flush()
    time.sleep(pause)
    file.write(b'"saved": true}')
os.remove(backup)
"""
SAVED = b'{"cells": [], "saved": true}'


@pytest.fixture
def begin() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Run a script until it says that it has begun."""
    begun: list[subprocess.Popen[str]] = []

    def start(script: str, *arguments: object) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", script, *map(str, arguments)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        begun.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        return process

    yield start
    for process in begun:
        process.kill()
        process.communicate()


def test_a_save_of_another_server_is_waited_for(
    place: Place, notebook: Path, begin: Callable[..., subprocess.Popen[str]]
) -> None:
    begin(JUPYTER_SAVES, notebook, 0.4)
    assert (place.read()).text == SAVED


def test_a_save_of_another_server_that_begins_after_the_read_is_not_written_over(
    place: Place, notebook: Path, begin: Callable[..., subprocess.Popen[str]]
) -> None:
    base = place.read()
    process = begin(JUPYTER_SAVES, notebook, 0.2)
    with pytest.raises(Changed):
        place.write(base)
    assert process.wait(30) == 0
    assert notebook.read_bytes() == SAVED
    assert left_in(place.root) == [NAME]


def test_a_save_that_does_not_end_is_not_waited_for_forever(place: Place, notebook: Path) -> None:
    backup = place.root / f".~{NAME}"
    shutil.copy2(notebook, backup)
    with pytest.raises(Busy, match="for more than 2 seconds"):
        place.read()
    assert (notebook.read_bytes(), backup.read_bytes()) == (TEXT, TEXT)


@pytest.mark.skipif(not is_nightly(), reason="takes half a minute: nightly")
def test_what_a_crash_left_is_no_save(place: Place, notebook: Path) -> None:
    backup = place.root / f".~{NAME}"
    shutil.copy2(notebook, backup)
    time.sleep(31)
    place.edit()
    assert (notebook.read_bytes(), backup.read_bytes()) == (EDITED, TEXT)
