"""Links are followed like in the contents manager, or not out of the root."""

from collections.abc import Callable
from pathlib import Path

import pytest

from jupyter_nbedit.errors import NotebookExists, NotebookNotFound
from tests.storage.conftest import EDITED, NAME, TEXT, Root, build_root, list_names


@pytest.fixture
def strict_root(tmp_path: Path) -> Root:
    """Build storages that follow no link out of the root."""
    for folder in ("root", "root-secret", "outside"):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / NAME).write_bytes(TEXT)
    return build_root(tmp_path, links_outside_root=False)


def test_links_stay_links_and_their_targets_are_edited(place: Root) -> None:
    target = place.root.parent / "far" / "away.ipynb"
    target.parent.mkdir()
    target.write_bytes(TEXT)
    (place.root / "near.ipynb").symlink_to(Path("..") / "far" / "away.ipynb")
    (place.root / "door").symlink_to(target.parent)
    (place.root / NAME).symlink_to(place.root / "near.ipynb")
    place.edit()
    assert target.read_bytes() == EDITED
    assert (place.root / NAME).readlink() == place.root / "near.ipynb"
    assert (place.root / "near.ipynb").readlink() == Path("..") / "far" / "away.ipynb"
    place.edit("door/away.ipynb")
    assert target.read_bytes() == b'{  "cells": []}'
    place.create("door/new.ipynb")
    assert list_names(place.root) == [NAME, "door", "near.ipynb"]
    assert list_names(target.parent) == ["away.ipynb", "new.ipynb"]


@pytest.mark.parametrize("target", ["../outside", "../root-secret", "..", "/"])
def test_nothing_outside_the_root_is_read_written_or_created_through_a_link(
    strict_root: Root, target: str
) -> None:
    (strict_root.root / "door").symlink_to(target)
    top = strict_root.root.parent
    path = {"..": f"door/outside/{NAME}", "/": f"door{top}/outside/{NAME}"}.get(target)
    path = path or f"door/{NAME}"
    new = path.replace(NAME, "new.ipynb")
    attempts: list[tuple[Callable[[str], object], str]] = [
        (strict_root.read, path),
        (strict_root.ensure_absent, new),
        (strict_root.create, new),
        # An existing target gets the same error as a missing one.
        (strict_root.create, path),
    ]
    for attempt, of in attempts:
        with pytest.raises(NotebookNotFound):
            attempt(of)
    assert list_names(top / "outside") == [NAME]
    base = strict_root.read()
    (strict_root.root / "door").unlink()
    (strict_root.root / NAME).unlink()
    (strict_root.root / NAME).symlink_to(top / "outside" / NAME)
    with pytest.raises(NotebookNotFound):
        strict_root.write(base)
    assert (top / "outside" / NAME).read_bytes() == TEXT


def test_create_does_not_follow_a_dangling_link_out_of_the_root(strict_root: Root) -> None:
    (strict_root.root / "out.ipynb").symlink_to("../outside/new.ipynb")
    (strict_root.root / "in.ipynb").symlink_to("new.ipynb")
    with pytest.raises(NotebookNotFound):
        strict_root.create("out.ipynb")
    with pytest.raises(NotebookExists):
        strict_root.create("in.ipynb")
    assert list_names(strict_root.root.parent / "outside") == [NAME]


@pytest.mark.parametrize("root", ["link", "/"])
def test_the_root_may_be_a_link(strict_root: Root, root: str) -> None:
    link = strict_root.root.parent / "link"
    link.symlink_to(strict_root.root)
    strict_root.manager.root_dir = "/" if root == "/" else str(link)
    folder = f"{strict_root.root}/"[1:] if root == "/" else ""
    (strict_root.root / "near.ipynb").symlink_to(NAME)
    strict_root.edit(f"{folder}near.ipynb")
    assert (strict_root.root / NAME).read_bytes() == EDITED
    strict_root.create(f"{folder}new.ipynb")
    assert (strict_root.root / "new.ipynb").read_bytes() == TEXT
