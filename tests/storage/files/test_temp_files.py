"""Temporary files of a killed process are removed once it is safe."""

import os
from collections.abc import Callable

import pytest

from tests.storage.conftest import NAME, NOBODY, TEXT, Root, list_names

LEFT = ".nbedit-0123456789abcdef.tmp"
HOUR = 3600

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
pytestmark = pytest.mark.usefixtures("notebook")


def test_an_old_temporary_file_is_removed_by_the_next_edit_in_the_folder(
    place: Root, set_ahead: Callable[[float], None]
) -> None:
    (place.root / "sub").mkdir()
    (place.root / "sub" / NAME).write_bytes(TEXT)
    for folder in (place.root, place.root / "sub"):
        (folder / LEFT).write_bytes(b"{")
    set_ahead(HOUR)
    place.edit()
    assert list_names(place.root) == [NAME, "sub"]
    assert list_names(place.root / "sub") == [LEFT, NAME]
    place.edit(f"sub/{NAME}")
    assert list_names(place.root / "sub") == [NAME]


def test_a_leftover_of_a_kill_between_two_renames_does_not_prevent_edits(
    place: Root, set_ahead: Callable[[float], None]
) -> None:
    (place.root / "new.ipynb").write_bytes(b"{}")
    (place.root / LEFT).hardlink_to(place.root / "new.ipynb")
    set_ahead(HOUR)
    place.edit()
    place.edit("new.ipynb")
    assert (place.root / "new.ipynb").read_bytes() == b"{ }"


@pytest.mark.parametrize("kind", ["a folder", "a link", "somebody else's"])
def test_a_file_that_may_belong_to_another_program_stays(
    place: Root, set_ahead: Callable[[float], None], monkeypatch: pytest.MonkeyPatch, kind: str
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
    set_ahead(HOUR)
    place.edit()
    assert list_names(place.root) == [LEFT, NAME]


@as_root
def test_root_removes_its_temporary_files_that_belong_to_the_owner(
    place: Root, set_ahead: Callable[[float], None]
) -> None:
    path = place.root / LEFT
    path.write_bytes(b"{")
    os.chown(path, NOBODY, NOBODY)
    set_ahead(HOUR)
    place.edit()
    assert list_names(place.root) == [NAME]


@pytest.mark.parametrize(
    "name",
    [".nbedit-.tmp", ".nbedit-0123456789ABCDEF.tmp", "x.nbedit-0123456789abcdef.tmp", LEFT + "x"],
)
def test_a_file_with_another_name_pattern_stays(
    place: Root, set_ahead: Callable[[float], None], name: str
) -> None:
    (place.root / name).write_bytes(b"{")
    set_ahead(HOUR)
    place.edit()
    assert list_names(place.root) == sorted((NAME, name))


def test_a_folder_is_scanned_once(place: Root, set_ahead: Callable[[float], None]) -> None:
    place.edit()
    (place.root / LEFT).write_bytes(b"{")
    set_ahead(HOUR)
    place.edit()
    assert list_names(place.root) == [LEFT, NAME]


def test_a_young_temporary_file_is_removed_when_it_is_old_enough(
    place: Root, set_ahead: Callable[[float], None]
) -> None:
    (place.root / LEFT).write_bytes(b"{")
    place.edit()
    assert list_names(place.root) == [LEFT, NAME]
    set_ahead(HOUR)
    place.edit()
    assert list_names(place.root) == [NAME]
