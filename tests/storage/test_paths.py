"""Which API paths are notebooks, and where on disk they are."""

from __future__ import annotations

import asyncio
import errno
import ntpath
import os
from pathlib import Path

import pytest
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager
from tornado.web import HTTPError

from jupyter_nbedit.errors import InvalidRequest, NotebookNotFound
from jupyter_nbedit.storage.mapping import api_path, root_name
from jupyter_nbedit.storage.paths import (
    check_suffix,
    is_odd,
    os_path,
    real_path,
    resolved,
    resolved_vacant,
    visible,
)
from tests.storage.conftest import Place


@pytest.mark.parametrize(
    ("path", "odd"),
    [
        *((path, False) for path in ("a", "a/b c", "..a/b..")),
        *((path, True) for path in ("", "/a", "a/", "a//b", "./a", "a/..", "a/../b", "a\0")),
    ],
)
def test_a_path_has_one_spelling(path: str, *, odd: bool) -> None:
    assert is_odd(path) == odd


@pytest.mark.parametrize("path", ["", "a", "a.IPYNB", "a.ipynb/", "a.ipynb.txt", "x" * 300])
def test_a_path_of_no_notebook_is_refused_with_its_end(place: Place, path: str) -> None:
    with pytest.raises(InvalidRequest, match=r"ends in \.ipynb") as refusal:
        check_suffix(path)
    assert str(refusal.value).endswith(f"found {path[-200:]!r}.")
    with pytest.raises(InvalidRequest):
        asyncio.run(os_path(place.manager, path))


def test_a_notebook_s_path_leads_below_the_root(place: Place) -> None:
    assert asyncio.run(os_path(place.manager, "b/a.ipynb")) == str(place.root / "b" / "a.ipynb")
    assert asyncio.run(visible(place.manager, "b")) == str(place.root / "b")


def test_what_is_hidden_is_there_only_for_a_manager_that_shows_it(place: Place) -> None:
    with pytest.raises(NotebookNotFound):
        asyncio.run(visible(place.manager, ".b/a.ipynb"))
    place.manager.allow_hidden = True
    assert asyncio.run(visible(place.manager, ".b/a")) == str(place.root / ".b" / "a")


@pytest.mark.parametrize("path", ["../a", "a/../../b", "a\0", "a//b", "./a", "a/../b", "/a", ""])
def test_an_odd_path_leads_nowhere(place: Place, path: str) -> None:
    with pytest.raises(NotebookNotFound):
        asyncio.run(visible(place.manager, path))


@pytest.mark.parametrize("error", [HTTPError(404), NotADirectoryError(), PermissionError()])
def test_what_the_manager_cannot_look_into_is_not_there(place: Place, error: Exception) -> None:
    class Blind(AsyncLargeFileManager):
        async def is_hidden(self, _path: str) -> bool:
            raise error

    with pytest.raises(NotebookNotFound):
        asyncio.run(visible(Blind(root_dir=str(place.root)), "a"))


def test_what_the_manager_has_no_place_for_is_not_there(place: Place) -> None:
    class Narrow(AsyncLargeFileManager):
        def _get_os_path(self, path: str) -> str:
            raise HTTPError(404, path)

    for allow_hidden in (False, True):
        narrow = Narrow(root_dir=str(place.root), allow_hidden=allow_hidden)
        with pytest.raises(NotebookNotFound):
            asyncio.run(visible(narrow, "a"))


@pytest.mark.parametrize(
    ("code", "times", "found"),
    [(errno.EINVAL, 19, True), (errno.EINVAL, 20, False), (errno.EACCES, 1, False)],
)
def test_a_link_that_is_exchanged_meanwhile_is_looked_at_again(
    place: Place, monkeypatch: pytest.MonkeyPatch, code: int, times: int, *, found: bool
) -> None:
    real, left = os.path.realpath, [code] * times

    def realpath(path: str, *, strict: bool = False) -> str:
        if left:
            raise OSError(left.pop(), "for the test")
        return real(path, strict=strict)

    monkeypatch.setattr(os.path, "realpath", realpath)
    if found:
        assert real_path(str(place.root)) == str(place.root)
        return
    with pytest.raises(OSError, match="for the test") as failure:
        real_path(str(place.root))
    assert failure.value.errno == code
    assert not left


def test_what_must_be_there_is_looked_for(place: Place) -> None:
    missing = str(place.root / "missing")
    assert real_path(missing) == missing
    with pytest.raises(FileNotFoundError):
        real_path(missing, strict=True)


def test_links_are_followed_as_far_as_the_top(place: Place) -> None:
    root, beside = place.root, place.root.parent / "root-secret"
    for folder in (root / "far", beside):
        folder.mkdir()
        (folder / "a").touch()
    (root / "near").symlink_to("far")
    (root / "out").symlink_to(beside)
    (root / "gone").symlink_to(beside / "gone")
    top = str(root)
    assert resolved(str(root / "near" / "a"), top) == str(root / "far" / "a")
    assert resolved(str(root / "out" / "a"), None) == str(beside / "a")
    assert resolved(top, top) == top
    assert resolved(str(root / "far"), "/") == str(root / "far")
    assert resolved_vacant(str(root / "near" / "b"), top) == str(root / "far" / "b")
    assert resolved_vacant(str(root / "out" / "b"), None) == str(beside / "b")
    assert resolved_vacant(str(root / "gone"), None) == str(root / "gone")
    for path in ("out/a", "out/b", "gone"):
        with pytest.raises(NotebookNotFound):
            resolved_vacant(str(root / path), top)
    with pytest.raises(NotebookNotFound):
        resolved(str(root / "out" / "a"), top)
    with pytest.raises(FileNotFoundError):
        resolved(str(root / "far" / "b"), top)
    with pytest.raises(FileNotFoundError):
        resolved_vacant(str(root / "missing" / "b"), top)


def test_a_share_of_another_server_is_not_looked_at(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os.path, "splitdrive", ntpath.splitdrive)
    looked: list[str] = []
    monkeypatch.setattr(Path, "exists", lambda self: looked.append(str(self)))
    assert api_path(place.manager, "//server/share/a.ipynb", relative=False) is None
    assert looked == []
    inside = str(place.root / "a.ipynb")
    assert api_path(place.manager, inside, relative=False) == "a.ipynb"


def test_a_root_is_named_so_that_it_can_be_told_from_others(place: Place) -> None:
    class Bucket:
        root_dir, endpoint_url, bucket, prefix = "a", "b", "c", 4

    (place.root.parent / "door").symlink_to("root")
    linked = AsyncLargeFileManager(root_dir=str(place.root.parent / "door"))
    assert root_name(linked) == root_name(place.manager) == str(place.root)
    where = '{"root_dir": "a", "endpoint_url": "b", "bucket": "c", "prefix": "4"}'
    assert root_name(Bucket()) == f"{__name__}.{Bucket.__qualname__} {where}"
    nowhere = '{"root_dir": "", "endpoint_url": "", "bucket": "", "prefix": ""}'
    assert root_name(object()) == f"builtins.object {nowhere}"


def test_the_root_of_all_files_is_a_root_like_any_other(place: Place) -> None:
    top = AsyncLargeFileManager(root_dir="/")
    inside = str(place.root / "a.ipynb")
    assert api_path(top, inside, relative=False) == inside[1:]
    assert api_path(top, "/", relative=False) == ""
    assert api_path(place.manager, str(place.root), relative=False) == ""
