"""Work in a folder uses the folder that was opened, wherever its path leads later."""

import asyncio
import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from jupyter_nbedit.errors import Busy, NotebookNotFound
from jupyter_nbedit.storage.base import StaleContent
from tests.storage.conftest import EDITED, NAME, TEXT, Root, build_root, is_file, list_names
from tests.storage.seccomp import run_without

pytestmark = pytest.mark.skipif(
    not os.supports_dir_fd, reason="this system has no descriptors of folders"
)


@pytest.fixture
def place(tmp_path: Path) -> Root:
    return build_root(tmp_path, links_outside_root=False)


@pytest.fixture
def inside(place: Root) -> Path:
    """Make a folder with a notebook in it, and a folder of the same form outside the root."""
    for folder in (place.root / "inside", place.root.parent / "outside"):
        for below in ("", "deep", "deep/deeper"):
            (folder / below).mkdir(parents=True)
            (folder / below / NAME).write_bytes(TEXT)
    return place.root / "inside"


def lead_elsewhere(folder: Path) -> None:
    """Put a link to the folder outside the root in a folder's place."""
    folder.rename(folder.with_name("moved"))
    folder.symlink_to("../outside")


def test_an_opened_folder_is_used_although_its_path_leads_elsewhere(
    place: Root, inside: Path, interpose: Callable[..., None]
) -> None:
    interpose("fsync", is_file, lambda: lead_elsewhere(inside))
    place.edit(f"inside/{NAME}")
    moved = place.root / "moved"
    assert (moved / NAME).read_bytes() == EDITED
    assert list_names(moved) == [NAME, "deep"]
    assert (inside / NAME).read_bytes() == TEXT
    assert list_names(inside) == [NAME, "deep"]


@pytest.mark.parametrize("errors", [{}, {"openat2": errno.ENOSYS}], ids=["openat2", "openat"])
@pytest.mark.parametrize("below", ["", "deep/", "deep/deeper/"])
@pytest.mark.parametrize("act", ["read", "write", "create"])
def test_a_link_placed_on_the_path_meanwhile_is_not_followed(  # noqa: PLR0913, PLR0917 -- every case of it
    place: Root,
    inside: Path,
    monkeypatch: pytest.MonkeyPatch,
    act: str,
    below: str,
    errors: dict[str, int],
) -> None:
    path, new = f"inside/{below}{NAME}", f"inside/{below}new.ipynb"
    base = place.read(path)
    acts: dict[str, Callable[[], object]] = {
        "read": lambda: place.read(path),
        "write": lambda: place.write(base, path),
        "create": lambda: place.create(new),
    }
    follow = os.path.realpath

    def exchange_then(path: str, *, strict: bool = False) -> str:
        found = follow(path, strict=strict)
        if strict and not inside.is_symlink():
            lead_elsewhere(inside)
        return found

    def work() -> None:
        monkeypatch.setattr(os.path, "realpath", exchange_then)
        with pytest.raises((NotebookNotFound, StaleContent)):
            acts[act]()

    run_without(errors, work)
    assert inside.is_symlink()
    assert (inside / below / NAME).read_bytes() == TEXT
    assert list_names(inside) == [NAME, "deep"]
    assert not (inside / below / "new.ipynb").exists()


def test_a_link_placed_on_a_locked_path_is_not_followed(place: Root, inside: Path) -> None:
    async def read() -> None:
        async with place.storages.lock(f"inside/{NAME}") as storage:
            lead_elsewhere(inside)
            with pytest.raises(Busy):
                await storage.read(f"inside/{NAME}")

    asyncio.run(read())


def test_a_link_that_replaces_the_file_is_not_read_or_replaced(
    place: Root, notebook: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = place.read()
    (place.root / "other.ipynb").write_bytes(TEXT)
    follow = os.path.realpath

    def exchange_then(path: str, *, strict: bool = False) -> str:
        found = follow(path, strict=strict)
        if found == str(notebook) and not notebook.is_symlink():
            notebook.unlink()
            notebook.symlink_to("other.ipynb")
        return found

    monkeypatch.setattr(os.path, "realpath", exchange_then)
    with pytest.raises(StaleContent):
        place.write(base)
    assert notebook.is_symlink()
    assert (place.root / "other.ipynb").read_bytes() == TEXT
    assert list_names(place.root) == [NAME, "other.ipynb"]
