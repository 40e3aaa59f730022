"""What is done in a folder is done in the one that was opened, wherever its path leads by then."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from jupyter_nbedit.errors import NotebookExists, NotebookNotFound
from jupyter_nbedit.storage import Changed
from jupyter_nbedit.storage.commit import create, replace
from jupyter_nbedit.storage.folders import opened
from jupyter_nbedit.storage.snapshots import read
from tests.storage.conftest import EDIT, EDITED, NAME, TEXT, Others, Place, left_in
from tests.storage.test_commit import put, somebody

by_descriptor = pytest.mark.skipif(
    not os.supports_dir_fd, reason="this system has no descriptors of folders"
)


@pytest.fixture
def inside(place: Place) -> Path:
    """Make a folder with a notebook in it, and a folder of the same form beside it."""
    for name in ("inside", "outside"):
        (place.root / name).mkdir()
        (place.root / name / NAME).write_bytes(TEXT)
    return place.root / "inside"


def lead_elsewhere(folder: Path) -> Path:
    """Put a link to the folder ``outside`` in a folder's place; return where the folder is."""
    moved = folder.with_name("moved")
    folder.rename(moved)
    folder.symlink_to("outside")
    return moved


@by_descriptor
def test_what_is_done_in_an_open_folder_is_not_led_elsewhere(inside: Path) -> None:
    with opened(str(inside)) as folder:
        moved = lead_elsewhere(inside)
        descriptor = folder.open("new", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        os.close(descriptor)
        folder.link("new", "newer")
        folder.replace("newer", NAME)
        folder.sync()
        assert sorted(folder.names()) == left_in(moved)
        assert folder.status(NAME).st_size == 0
    assert left_in(moved) == [NAME, "new"]
    assert left_in(inside.with_name("outside")) == [NAME]
    assert (inside / NAME).read_bytes() == TEXT


@by_descriptor
@pytest.mark.parametrize("below", ["", "deep", "deep/deeper"])
def test_a_link_that_came_to_stand_on_a_path_leads_nowhere(inside: Path, below: str) -> None:
    for top in (inside, inside.with_name("outside")):
        (top / "deep" / "deeper").mkdir(parents=True)
        (top / below / NAME).write_bytes(TEXT)
    path = str(inside / below / NAME)
    base = read(path)
    assert base is not None
    lead_elsewhere(inside)
    for attempt in (
        lambda: read(path),
        lambda: replace(path, base, EDIT),
        lambda: create(str(inside / below / "new.ipynb"), TEXT),
    ):
        with pytest.raises((NotebookNotFound, Changed)):
            attempt()
    assert (inside / below / NAME).read_bytes() == TEXT
    assert not list(inside.with_name("outside").rglob("new*"))


def test_a_link_that_took_the_place_of_the_file_is_not_read_or_replaced(
    place: Place, notebook: Path
) -> None:
    base = place.read()
    (place.root / "other.ipynb").write_bytes(TEXT)
    notebook.unlink()
    notebook.symlink_to("other.ipynb")
    with pytest.raises(NotebookNotFound):
        read(str(notebook))
    with pytest.raises(Changed):
        replace(str(notebook), base, EDIT)
    assert notebook.is_symlink()
    assert (place.root / "other.ipynb").read_bytes() == TEXT
    assert left_in(place.root) == [NAME, "other.ipynb"]


def test_a_folder_on_the_way_that_may_only_be_passed_through_is(
    others: Others, public: Path
) -> None:
    path = put(public, 0o644)
    public.parent.chmod(0o711)
    assert others.do("edit", root=str(public), user=somebody()) == "edited"
    assert path.read_bytes() == EDITED


def test_all_works_without_descriptors_of_folders(
    place: Place, notebook: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "supports_dir_fd", set())
    place.edit()
    assert notebook.read_bytes() == EDITED
    create(str(place.root / "new.ipynb"), TEXT)
    with pytest.raises(NotebookExists):
        create(str(place.root / "new.ipynb"), TEXT)
    with opened(str(place.root)) as folder:
        assert sorted(folder.names()) == [NAME, "new.ipynb"]
        folder.sync()
    assert left_in(place.root) == [NAME, "new.ipynb"]
