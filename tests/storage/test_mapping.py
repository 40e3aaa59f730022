"""What agents call a path, on a file system with every trap there is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from jupyter_server.services.contents.filemanager import AsyncFileContentsManager
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager
from jupyter_server.services.contents.manager import AsyncContentsManager

from jupyter_nbedit.errors import InvalidRequest, NotAPlainFile
from jupyter_nbedit.storage.mapping import api_path, root_name, shows


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Make a root with neighbours, links and names that are traps."""
    root = tmp_path / "root"
    for folder in ("root/sub", "root/.hidden", "root_evil", "rooté", "outside"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "a.ipynb").touch()
    (root / "a.ipynb").touch()
    (root / "out").symlink_to(tmp_path / "outside")
    (root / "out.ipynb").symlink_to(tmp_path / "outside" / "a.ipynb")
    (root / "in").symlink_to(root / "sub")
    (root / "loop").symlink_to(root / "loop")
    (root / "up").symlink_to(tmp_path)
    (root / "veiled.ipynb").symlink_to(root / ".hidden" / "a.ipynb")
    (tmp_path / "alias").symlink_to(root)
    return root


@pytest.fixture
def manager(root: Path) -> AsyncLargeFileManager:
    return AsyncLargeFileManager(root_dir=str(root))


INSIDE = {
    "a.ipynb": "a.ipynb",
    "./a.ipynb": "a.ipynb",
    "sub//a.ipynb": "sub/a.ipynb",
    "sub/../a.ipynb": "a.ipynb",
    "in/a.ipynb": "sub/a.ipynb",
    "in/../a.ipynb": "a.ipynb",
    "../root/a.ipynb": "a.ipynb",
    "../alias/a.ipynb": "a.ipynb",
    "up/root/a.ipynb": "a.ipynb",
    "not/there/yet.ipynb": "not/there/yet.ipynb",
    "veiled.ipynb": ".hidden/a.ipynb",
    "..a.ipynb": "..a.ipynb",
    "a b%2e%2e%2f\\..é": "a b%2e%2e%2f\\..é",
    "loop/a.ipynb": "loop/a.ipynb",
    "": "",
}
OUTSIDE = [
    "..",
    "../outside/a.ipynb",
    "../root_evil/a.ipynb",
    "../rooté/a.ipynb",
    "../roo",
    "out/a.ipynb",
    "out.ipynb",
    "out/../a.ipynb",
    "sub/../../outside/a.ipynb",
    "up/outside/a.ipynb",
    "../../../../../../../../../../etc/passwd",
    "a\0.ipynb",
    "a\0/../../outside/a.ipynb",
]


@pytest.mark.parametrize("given", INSIDE)
def test_a_path_inside_becomes_the_one_api_path_of_what_it_means(
    manager: AsyncLargeFileManager, root: Path, given: str
) -> None:
    assert api_path(manager, f"{root}/{given}", relative=False) == INSIDE[given]
    assert api_path(manager, given, relative=True) == INSIDE[given]


@pytest.mark.parametrize("given", OUTSIDE)
def test_a_path_outside_becomes_none_by_whatever_way_it_gets_there(
    manager: AsyncLargeFileManager, root: Path, given: str
) -> None:
    assert api_path(manager, f"{root}/{given}", relative=False) is None
    assert api_path(manager, given, relative=True) is None


def test_the_name_of_the_root_that_another_folder_begins_with_is_not_the_root(
    manager: AsyncLargeFileManager, root: Path
) -> None:
    # The server's own mapping makes `_evil/a.ipynb` of this, another file inside the root.
    assert api_path(manager, f"{root}_evil/a.ipynb", relative=False) is None
    assert api_path(manager, f"{root}é/a.ipynb", relative=False) is None
    assert api_path(manager, str(root.parent), relative=False) is None
    assert api_path(manager, "/", relative=False) is None


def test_a_root_that_is_a_link_is_the_same_root(root: Path) -> None:
    for top in ("alias", "alias/", "root/sub/.."):
        manager = AsyncLargeFileManager(root_dir=str(root.parent / top))
        for name in ("alias", "root"):
            given = f"{root.parent}/{name}/sub/a.ipynb"
            assert api_path(manager, given, relative=False) == "sub/a.ipynb"


def test_the_root_may_be_the_top_of_the_file_system(root: Path) -> None:
    manager = AsyncLargeFileManager(root_dir="/")
    real = os.path.realpath(root)
    assert api_path(manager, f"{root}/a.ipynb", relative=False) == f"{real[1:]}/a.ipynb"


def test_a_very_long_path_is_a_path(manager: AsyncLargeFileManager, root: Path) -> None:
    for name in ("x" * 10_000, "x/" * 10_000 + "x", "../" * 10_000 + "x"):
        found = api_path(manager, f"{root}/{name}", relative=False)
        assert found == (None if name.startswith("..") else name)


def test_a_relative_path_is_refused_where_only_an_absolute_one_is_clear(
    manager: AsyncLargeFileManager,
) -> None:
    with pytest.raises(InvalidRequest, match=r"absolute path.*'a\.ipynb'"):
        api_path(manager, "a.ipynb", relative=False)


class Elsewhere(AsyncContentsManager):
    """Keeps its files in no folder."""


class Inherits(AsyncFileContentsManager):
    """Has a root folder of its parent that means nothing."""

    async def file_exists(self, path: str) -> bool:
        return bool(path)


@pytest.mark.parametrize("kind", [Elsewhere, Inherits])
def test_a_manager_without_a_folder_knows_no_absolute_path_and_no_way_up(kind: type) -> None:
    manager = kind()
    with pytest.raises(NotAPlainFile, match=kind.__name__) as refused:
        api_path(manager, "/home/ada/a.ipynb", relative=True)
    assert "/home" not in str(refused.value)
    assert api_path(manager, "sub/a.ipynb", relative=True) == "sub/a.ipynb"
    for given in ("../a.ipynb", "sub/../a.ipynb", "./a.ipynb", "a\0.ipynb", "sub//a.ipynb", ""):
        assert api_path(manager, given, relative=True) is None


def test_a_root_has_one_name_however_it_is_spelled_and_another_one_than_others(
    root: Path,
) -> None:
    alias = AsyncLargeFileManager(root_dir=str(root.parent / "alias"))
    other = AsyncLargeFileManager(root_dir=str(root / "sub"))
    assert root_name(AsyncLargeFileManager(root_dir=str(root))) == str(root)
    assert root_name(alias) == str(root)
    assert root_name(other) == str(root / "sub")


def test_where_there_is_no_folder_the_root_is_named_by_class_and_place() -> None:
    class Elsewhere(AsyncContentsManager):
        bucket = "one"

    one, other = Elsewhere(), Elsewhere()
    other.bucket = "other"
    assert root_name(one) == root_name(Elsewhere())
    assert len({root_name(one), root_name(other), root_name(AsyncContentsManager())}) == 3


def test_a_folder_is_shown_if_it_is_below_the_root_and_not_hidden(root: Path) -> None:
    manager = AsyncLargeFileManager(root_dir=str(root))
    for folder in ("sub", "not/there/yet", "in", ".", "../alias/sub"):
        assert shows(manager, str(root / folder)), folder
    for folder in (".hidden", "sub/.data/nbedit", "..", "../rooté", "../root_evil", "out"):
        assert not shows(manager, str(root / folder)), folder
    assert not shows(AsyncContentsManager(), str(root))
    manager.allow_hidden = True
    assert shows(manager, str(root / ".hidden"))


def test_a_path_that_is_too_long_for_any_file_is_not_looked_at(
    manager: AsyncLargeFileManager,
) -> None:
    assert api_path(manager, "sub/../" * 10_000 + "a.ipynb", relative=True) is None
