"""New files: nothing is overwritten, no folder is created, nothing is left."""

import os
import stat

import pytest

from jupyter_nbedit.errors import Forbidden, NotebookExists, NotebookNotFound
from tests.storage.conftest import NAME, TEXT, CallHook, Root, is_file, list_names


def test_a_new_file_has_the_default_mode_and_its_time_is_returned(place: Root) -> None:
    result = place.create()
    usual = place.root / "usual"
    usual.touch()
    path = place.root / NAME
    assert path.read_bytes() == TEXT
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(usual.stat().st_mode)
    assert path.stat().st_nlink == 1
    assert result.last_modified.timestamp() == pytest.approx(path.stat().st_mtime, abs=1e-5)
    assert list_names(place.root) == [NAME, "usual"]


def test_an_existing_file_folder_or_dangling_link_is_refused(place: Root) -> None:
    (place.root / "file.ipynb").write_bytes(b"old")
    (place.root / "folder.ipynb").mkdir()
    (place.root / "link.ipynb").symlink_to(place.root / "nowhere.ipynb")
    before = list_names(place.root)
    for name in before:
        for attempt in (place.create, place.ensure_absent):
            with pytest.raises(NotebookExists):
                attempt(name)
    assert list_names(place.root) == before
    assert (place.root / "file.ipynb").read_bytes() == b"old"


def test_a_file_created_meanwhile_is_not_overwritten(place: Root, interpose: CallHook) -> None:
    interpose("fsync", is_file, lambda: (place.root / NAME).write_bytes(b"theirs"))
    with pytest.raises(NotebookExists):
        place.create()
    assert (place.root / NAME).read_bytes() == b"theirs"
    assert list_names(place.root) == [NAME]


@pytest.mark.parametrize(
    "path", ["missing/a.ipynb", "file.txt/a.ipynb", ".hidden.ipynb", ".dir/a.ipynb", "../a.ipynb"]
)
def test_no_folder_is_created_and_no_hidden_folder_is_visible(place: Root, path: str) -> None:
    (place.root / "file.txt").touch()
    (place.root / ".dir").mkdir()
    for attempt in (place.create, place.ensure_absent):
        with pytest.raises(NotebookNotFound):
            attempt(path)
    assert list_names(place.root) == [".dir", "file.txt"]
    assert list_names(place.root.parent) == ["root"]


def test_no_file_is_created_in_a_read_only_folder(
    place: Root, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    for attempt in (place.create, place.ensure_absent):
        with pytest.raises(Forbidden, match=r"^No file is created, .* in the folder 'root', which"):
            attempt()
    assert list_names(place.root) == []
