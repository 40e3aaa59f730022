"""Links out of the root, for a storage that follows none of them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable
from pathlib import Path

import pytest

from jupyter_nbedit.errors import NotebookExists, NotebookNotFound
from jupyter_nbedit.storage.files import FileStorage
from jupyter_nbedit.storage.paths import resolved, resolved_vacant
from tests.storage.conftest import EDIT, EDITED, NAME, TEXT, Place, left_in


@pytest.fixture
def strict(place: Place) -> FileStorage:
    for folder in ("root", "root-secret", "outside"):
        (place.root.parent / folder).mkdir(exist_ok=True)
        (place.root.parent / folder / NAME).write_bytes(TEXT)
    return FileStorage(place.manager, place.locks, links_outside_root=False)


async def edited(storage: FileStorage, path: str) -> None:
    await storage.write(path, await storage.read(path), EDIT)


@pytest.mark.parametrize("target", ["../outside", "../root-secret", "..", "/"])
def test_nothing_is_read_written_or_made_through_a_link_out(
    place: Place, strict: FileStorage, target: str
) -> None:
    (place.root / "door").symlink_to(target)
    top = str(place.root.parent)
    path = {"..": f"door/outside/{NAME}", "/": f"door{top}/outside/{NAME}"}.get(target)
    path = path or f"door/{NAME}"
    new = path.replace(NAME, "new.ipynb")
    attempts: list[Awaitable[object]] = [
        strict.read(path),
        strict.check_vacant(new),
        strict.create(new, TEXT),
        # What is there is told as little as what is not.
        strict.create(path, TEXT),
    ]
    for attempt in attempts:
        with pytest.raises(NotebookNotFound):
            asyncio.run(attempt)  # type: ignore[arg-type]
    assert left_in(place.root.parent / "outside") == [NAME]
    base = asyncio.run(strict.read(NAME))
    (place.root / "door").unlink()
    (place.root / NAME).unlink()
    (place.root / NAME).symlink_to(place.root.parent / "outside" / NAME)
    with pytest.raises(NotebookNotFound):
        asyncio.run(strict.write(NAME, base, EDIT))
    assert (place.root.parent / "outside" / NAME).read_bytes() == TEXT


def test_what_a_link_to_nowhere_outside_would_make_is_not_made(
    place: Place, strict: FileStorage
) -> None:
    (place.root / "out.ipynb").symlink_to("../outside/new.ipynb")
    (place.root / "in.ipynb").symlink_to("new.ipynb")
    with pytest.raises(NotebookNotFound):
        asyncio.run(strict.create("out.ipynb", TEXT))
    with pytest.raises(NotebookExists):
        asyncio.run(strict.create("in.ipynb", TEXT))
    assert left_in(place.root.parent / "outside") == [NAME]


def test_a_root_that_is_a_link_itself_is_the_root(place: Place, strict: FileStorage) -> None:
    link = place.root.parent / "link"
    link.symlink_to(place.root)
    place.manager.root_dir = str(link)
    (place.root / "near.ipynb").symlink_to(NAME)
    asyncio.run(edited(strict, "near.ipynb"))
    assert (place.root / NAME).read_bytes() == EDITED
    asyncio.run(strict.create("new.ipynb", TEXT))
    assert (place.root / "new.ipynb").read_bytes() == TEXT


def test_below_the_root_of_the_system_is_everything(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_bytes(TEXT)
    real = os.path.realpath(path)
    assert resolved(str(path), "/") == real
    assert resolved_vacant(str(tmp_path / "new"), "/") == str(Path(real).with_name("new"))
