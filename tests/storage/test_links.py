"""Links are followed like in the contents manager, or not out of the root."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from jupyter_nbedit.errors import NotebookExists, NotebookNotFound
from tests.storage.conftest import EDITED, NAME, TEXT, Root, build_root, list_names


@pytest.fixture
def strict(tmp_path: Path) -> Root:
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
    strict: Root, target: str
) -> None:
    (strict.root / "door").symlink_to(target)
    top = strict.root.parent
    path = {"..": f"door/outside/{NAME}", "/": f"door{top}/outside/{NAME}"}.get(target)
    path = path or f"door/{NAME}"
    new = path.replace(NAME, "new.ipynb")
    attempts: list[tuple[Callable[[str], object], str]] = [
        (strict.read, path),
        (strict.ensure_absent, new),
        (strict.create, new),
        # An existing target gets the same error as a missing one.
        (strict.create, path),
    ]
    for attempt, of in attempts:
        with pytest.raises(NotebookNotFound):
            attempt(of)
    assert list_names(top / "outside") == [NAME]
    base = strict.read()
    (strict.root / "door").unlink()
    (strict.root / NAME).unlink()
    (strict.root / NAME).symlink_to(top / "outside" / NAME)
    with pytest.raises(NotebookNotFound):
        strict.write(base)
    assert (top / "outside" / NAME).read_bytes() == TEXT


def test_create_does_not_follow_a_dangling_link_out_of_the_root(strict: Root) -> None:
    (strict.root / "out.ipynb").symlink_to("../outside/new.ipynb")
    (strict.root / "in.ipynb").symlink_to("new.ipynb")
    with pytest.raises(NotebookNotFound):
        strict.create("out.ipynb")
    with pytest.raises(NotebookExists):
        strict.create("in.ipynb")
    assert list_names(strict.root.parent / "outside") == [NAME]


@pytest.mark.parametrize("root", ["link", "/"])
def test_the_root_may_be_a_link(strict: Root, root: str) -> None:
    link = strict.root.parent / "link"
    link.symlink_to(strict.root)
    strict.manager.root_dir = "/" if root == "/" else str(link)
    folder = f"{strict.root}/"[1:] if root == "/" else ""
    (strict.root / "near.ipynb").symlink_to(NAME)
    strict.edit(f"{folder}near.ipynb")
    assert (strict.root / NAME).read_bytes() == EDITED
    strict.create(f"{folder}new.ipynb")
    assert (strict.root / "new.ipynb").read_bytes() == TEXT
