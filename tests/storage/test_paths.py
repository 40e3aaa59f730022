"""Paths of notebooks, on a file system with every trap."""

import asyncio
import contextlib
import errno
import ntpath
import os
from pathlib import Path
from typing import Any

import pytest
from jupyter_server.services.contents.filemanager import AsyncFileContentsManager
from jupyter_server.services.contents.largefilemanager import (
    AsyncLargeFileManager,
    LargeFileManager,
)
from jupyter_server.services.contents.manager import AsyncContentsManager
from tornado.web import HTTPError

from jupyter_nbedit.errors import (
    Forbidden,
    InvalidRequest,
    NbEditError,
    NotAPlainFile,
    NotebookNotFound,
)
from jupyter_nbedit.storage.api_paths import to_api_path
from jupyter_nbedit.storage.files.file_storage import FileStorage
from jupyter_nbedit.storage.resolver import StorageResolver
from tests.storage.conftest import NAME, TEXT, Root, build_root
from tests.support.clock import Clock

# Of API paths ------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["", "a", "a.IPYNB", "a.ipynb/", "a.ipynb.txt", "x" * 300])
def test_a_path_that_is_no_notebook_is_refused(place: Root, path: str) -> None:
    for act in (place.read, place.create, place.ensure_absent):
        with pytest.raises(InvalidRequest):
            act(path)


@pytest.mark.parametrize(
    "folder",
    [
        "../",
        "b/../../",
        "a\0/",
        "b//",
        "./",
        "b/../",
        "/",
        ".b/",
        "missing/",
        "a.ipynb/",
        "x" * 300,
    ],
)
def test_oddly_spelled_hidden_and_missing_paths_are_not_found(
    place: Root, notebook: Path, folder: str
) -> None:
    for name in ("b", ".b"):
        (place.root / name).mkdir()
        (place.root / name / NAME).write_bytes(TEXT)
    (place.root.parent / NAME).write_bytes(notebook.read_bytes())
    for act in (place.read, place.create):
        with pytest.raises(NotebookNotFound):
            act(f"{folder}{NAME}")


def test_an_odd_but_valid_name_is_a_name(place: Root) -> None:
    for path in ("a.ipynb", "b/c d.ipynb", "b..a/c...ipynb"):
        (place.root / path).parent.mkdir(exist_ok=True)
        place.create(path)
        assert (place.root / path).read_bytes() == place.read(path).text == TEXT


def test_a_hidden_path_is_found_if_the_manager_shows_it(place: Root) -> None:
    (place.root / ".b").mkdir()
    place.manager.allow_hidden = True
    place.create(".b/a.ipynb")
    assert (place.root / ".b" / NAME).read_bytes() == TEXT


@pytest.mark.parametrize("error", [HTTPError(404), NotADirectoryError(), PermissionError()])
@pytest.mark.parametrize("name", ["is_hidden", "_get_os_path"])
def test_a_path_that_the_manager_cannot_inspect_is_not_found(
    place: Root, notebook: Path, name: str, error: Exception
) -> None:
    def fail(*_: object) -> Any:
        raise error

    if name == "_get_os_path" and not isinstance(error, HTTPError):
        pytest.skip("it looks into nothing")
    kind = type("Blind", (AsyncLargeFileManager,), {name: fail})
    blind = FileStorage(kind(root_dir=str(notebook.parent)), place.locks)
    with pytest.raises(NotebookNotFound):
        asyncio.run(blind.read(NAME))


@pytest.mark.parametrize(
    ("code", "times", "error"),
    [(errno.EINVAL, 19, None), (errno.EINVAL, 20, NotebookNotFound), (errno.EACCES, 1, Forbidden)],
)
def test_a_link_that_changes_meanwhile_is_resolved_again(  # noqa: PLR0913, PLR0917 -- its cases
    place: Root,
    notebook: Path,
    monkeypatch: pytest.MonkeyPatch,
    code: int,
    times: int,
    error: type[Exception] | None,
) -> None:
    follow, left = os.path.realpath, [code] * times

    def realpath(path: str, *, strict: bool = False) -> str:
        if left:
            raise OSError(left.pop(), "for the test")
        return follow(path, strict=strict)

    monkeypatch.setattr(os.path, "realpath", realpath)
    if error is None:
        assert place.read().text == notebook.read_bytes()
        return
    with pytest.raises(error):
        place.read()
    assert not left


# Of the file system ------------------------------------------------------------------------------


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
    "x" * 10_000: "x" * 10_000,
    "x/" * 10_000 + "x": "x/" * 10_000 + "x",
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
    # Longer than any file's: each of its folders would be looked at.
    "sub/../" * 10_000 + "a.ipynb",
    "../" * 10_000 + "x",
    "y/" * 20_000 + "y",
]


@pytest.mark.parametrize("spelling", INSIDE, ids=lambda spelling: spelling[:30])
def test_a_path_inside_the_root_becomes_its_api_path(
    manager: AsyncLargeFileManager, root: Path, spelling: str
) -> None:
    assert to_api_path(manager, f"{root}/{spelling}", allow_relative=False) == INSIDE[spelling]
    assert to_api_path(manager, spelling, allow_relative=True) == INSIDE[spelling]


@pytest.mark.parametrize("spelling", OUTSIDE, ids=lambda spelling: spelling[:30])
def test_a_path_outside_the_root_becomes_none_in_any_spelling(
    manager: AsyncLargeFileManager, root: Path, spelling: str
) -> None:
    assert to_api_path(manager, f"{root}/{spelling}", allow_relative=False) is None
    assert to_api_path(manager, spelling, allow_relative=True) is None


def test_a_folder_whose_name_starts_like_the_root_is_not_the_root(
    manager: AsyncLargeFileManager, root: Path
) -> None:
    # The server's own mapping makes `_evil/a.ipynb` of this, another file inside the root.
    for spelling in (f"{root}_evil/a.ipynb", f"{root}é/a.ipynb", str(root.parent), "/"):
        assert to_api_path(manager, spelling, allow_relative=False) is None


@pytest.mark.parametrize("drive", ["//server/share", "//root"])
def test_a_windows_share_is_not_accessed(
    manager: AsyncLargeFileManager, root: Path, monkeypatch: pytest.MonkeyPatch, drive: str
) -> None:
    monkeypatch.setattr(os.path, "splitdrive", ntpath.splitdrive)
    assert to_api_path(manager, f"{drive}/a.ipynb", allow_relative=False) is None
    assert to_api_path(manager, f"{root}/a.ipynb", allow_relative=False) == "a.ipynb"


def test_a_relative_path_is_refused_where_an_absolute_one_is_required(
    manager: AsyncLargeFileManager,
) -> None:
    with pytest.raises(InvalidRequest):
        to_api_path(manager, "a.ipynb", allow_relative=False)


# Names ------------------------------------------------------------------------------------------


def test_a_name_has_no_links_and_what_cannot_be_resolved_is_joined(
    place: Root, manager: AsyncLargeFileManager, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "to-the-top").symlink_to(root)
    names = storages(place, manager).names
    for path, name in (
        ("a.ipynb", f"{root}/a.ipynb"),
        ("to-the-top/to-the-top/a.ipynb", f"{root}/a.ipynb"),
        ("x/../a.ipynb", f"{root}/x/../a.ipynb"),
        ("to-the-top/\0.ipynb", f"{root}/to-the-top/\0.ipynb"),
    ):
        assert names.find(path) == ("file:", name)
    # A share of Windows is not asked.
    drives = iter(["//server/share", "C:"])
    monkeypatch.setattr(os.path, "splitdrive", lambda path: (next(drives), path))
    assert names.find("to-the-top/a.ipynb") == ("file:", f"{root}/to-the-top/a.ipynb")


# Of the root -------------------------------------------------------------------------------------


class BucketManager(AsyncContentsManager):
    """Keeps its files in no folder."""

    bucket = "one"


class InheritingManager(AsyncFileContentsManager):
    """Has a root folder of its parent that means nothing."""

    async def file_exists(self, path: str) -> bool:
        return bool(path)


def storages(place: Root, manager: Any) -> StorageResolver:
    return StorageResolver({"contents_manager": manager}, place.locks)


@pytest.mark.parametrize("top", ["alias", "alias/", "root/sub/.."])
def test_a_linked_root_is_the_same_root(place: Root, root: Path, top: str) -> None:
    manager = AsyncLargeFileManager(root_dir=str(root.parent / top))
    for name in ("alias", "root"):
        spelling = f"{root.parent}/{name}/sub/a.ipynb"
        assert to_api_path(manager, spelling, allow_relative=False) == "sub/a.ipynb"
    assert storages(place, manager).names.get_root_name() == str(root)


def test_the_root_may_be_the_root_of_the_file_system(root: Path) -> None:
    manager = AsyncLargeFileManager(root_dir="/")
    real = os.path.realpath(root)
    assert to_api_path(manager, f"{root}/a.ipynb", allow_relative=False) == f"{real[1:]}/a.ipynb"
    assert to_api_path(manager, "/", allow_relative=False) == ""


def test_without_a_folder_the_root_is_identified_by_class_and_location(place: Root) -> None:
    other = BucketManager()
    other.bucket = "other"
    names = [
        storages(place, one).names.get_root_name()
        for one in (BucketManager(), BucketManager(), other, InheritingManager())
    ]
    assert names[0] == names[1]
    assert storages(place, other).names.find("/sub/a.ipynb") == (names[2], "sub/a.ipynb")
    assert len({*names, storages(place, AsyncContentsManager()).names.get_root_name()}) == 4


@pytest.mark.parametrize("kind", [BucketManager, InheritingManager])
def test_a_manager_without_a_folder_accepts_no_absolute_path(kind: type) -> None:
    manager = kind()
    with pytest.raises(NotAPlainFile) as error:
        to_api_path(manager, "/home/ada/a.ipynb", allow_relative=True)
    assert kind.__name__ in str(error.value)
    assert "/home" not in str(error.value)
    assert to_api_path(manager, "sub/a.ipynb", allow_relative=True) == "sub/a.ipynb"
    for spelling in ("../a.ipynb", "sub/../a.ipynb", "./a.ipynb", "a\0.ipynb", "sub//a.ipynb", ""):
        assert to_api_path(manager, spelling, allow_relative=True) is None


def test_a_folder_is_served_if_it_is_below_the_root_and_not_hidden(place: Root, root: Path) -> None:
    for folder in ("sub", "not/there/yet", "in", ".", "../alias/sub"):
        assert place.storages.is_served(root / folder), folder
    for folder in (".hidden", "sub/.data/nbedit", "..", "../rooté", "../root_evil", "out"):
        assert not place.storages.is_served(root / folder), folder
    assert not storages(place, AsyncContentsManager()).is_served(root)
    place.manager.allow_hidden = True
    assert place.storages.is_served(root / ".hidden")


# What can be read --------------------------------------------------------------------------------


@pytest.mark.parametrize("manager_class", [AsyncLargeFileManager, LargeFileManager])
@pytest.mark.parametrize("follows_links", [True, False])
def test_a_list_has_the_notebooks_that_a_check_accepts(
    tmp_path: Path, clock: Clock, manager_class: Any, follows_links: Any
) -> None:
    place = build_root(tmp_path, manager_class, links_outside_root=follows_links)
    (place.root / ".hidden").mkdir()
    (place.root / "folder.ipynb").mkdir()
    (tmp_path / "outside").mkdir()
    (place.root / "out").symlink_to(tmp_path / "outside")
    paths = [NAME, "b.txt", ".hidden/a.ipynb", "out/a.ipynb", "sub/../a.ipynb"]
    for path in paths[:4]:
        (place.root / path).write_bytes(TEXT)
    paths += ["folder.ipynb", "missing.ipynb", f"{NAME}/a.ipynb", "a\0.ipynb"]
    accepted: set[str] = set()
    for path in paths:
        with contextlib.suppress(NbEditError):
            asyncio.run(place.storages.check(path))
            accepted.add(path)
    assert {NAME} <= accepted < {NAME, "out/a.ipynb", "folder.ipynb"}
    assert asyncio.run(place.storages.list_readable(paths)) == accepted
    # What was readable is not checked again for some seconds.
    (place.root / NAME).unlink()
    assert asyncio.run(place.storages.list_readable(paths)) == accepted
    clock.advance(10)
    assert asyncio.run(place.storages.list_readable(paths)) == accepted - {NAME}
