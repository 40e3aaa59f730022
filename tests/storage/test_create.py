"""New files: nothing is overwritten, nothing is invented, nothing lies beside them."""

from __future__ import annotations

import asyncio
import errno
import os
import stat
import sys
from pathlib import Path

import pytest

from jupyter_nbedit.errors import InvalidRequest, NotebookExists, NotebookNotFound
from jupyter_nbedit.storage import Written
from tests.storage.conftest import NAME, TEXT, Place, left_in


def create(place: Place, path: str = NAME) -> Written:
    return asyncio.run(place.storage.create(path, TEXT))


def test_a_new_file_has_the_mode_that_new_files_get(place: Place) -> None:
    create(place)
    usual = place.root / "usual"
    usual.touch()
    path = place.root / NAME
    assert path.read_bytes() == TEXT
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(usual.stat().st_mode)
    assert path.stat().st_nlink == 1
    assert left_in(place.root) == [NAME, "usual"]


def test_a_file_a_folder_and_a_link_to_nowhere_are_in_the_way(place: Place) -> None:
    (place.root / "file.ipynb").write_bytes(b"old")
    (place.root / "folder.ipynb").mkdir()
    (place.root / "link.ipynb").symlink_to(place.root / "nowhere.ipynb")
    before = left_in(place.root)
    for name in before:
        with pytest.raises(NotebookExists):
            create(place, name)
        with pytest.raises(NotebookExists):
            asyncio.run(place.storage.check_vacant(name))
    assert left_in(place.root) == before
    assert (place.root / "file.ipynb").read_bytes() == b"old"


@pytest.mark.parametrize(
    "path", ["missing/a.ipynb", "file.txt/a.ipynb", ".hidden.ipynb", ".dir/a.ipynb", "../a.ipynb"]
)
def test_no_folder_is_invented_and_none_seen_that_is_hidden(place: Place, path: str) -> None:
    (place.root / "file.txt").touch()
    (place.root / ".dir").mkdir()
    with pytest.raises(NotebookNotFound):
        create(place, path)
    with pytest.raises(NotebookNotFound):
        asyncio.run(place.storage.check_vacant(path))
    assert left_in(place.root) == [".dir", "file.txt"]
    assert left_in(place.root.parent) == ["root"]


def test_only_notebooks_are_created(place: Place) -> None:
    with pytest.raises(InvalidRequest):
        create(place, "a.py")


def test_through_a_link_to_a_folder_it_goes_where_the_link_leads(place: Place) -> None:
    (place.root / "far").mkdir()
    (place.root / "door").symlink_to("far")
    create(place, "door/a.ipynb")
    assert left_in(place.root / "far") == ["a.ipynb"]


@pytest.mark.skipif(sys.platform == "win32", reason="NTFS has links")
def test_without_links_nothing_is_overwritten_either(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(source: str, target: str, **_: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM), source, None, target)

    monkeypatch.setattr(os, "link", refuse)
    create(place)
    with pytest.raises(NotebookExists):
        create(place)
    path: Path = place.root / NAME
    assert path.read_bytes() == TEXT
    assert left_in(place.root) == [NAME]
