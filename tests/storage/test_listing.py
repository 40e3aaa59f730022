"""What a walk through a folder brings: what the Contents API shows, and no more."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from jupyter_nbedit.errors import FolderNotFound, Forbidden, NotAPlainFile, NotebookNotFound
from jupyter_nbedit.storage import Found, PassedOver, listing
from tests.storage.conftest import TEXT, Place

TREE = ("a.ipynb", "b/a.ipynb", "b/c/d.ipynb", "b-c.ipynb", "b.ipynb/x.ipynb", "d/e/f/g.ipynb")


@pytest.fixture
def tree(place: Place) -> Place:
    make(place.root, *TREE, "b/notes.txt", "c.py")
    return place


def make(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(TEXT)


def entries(place: Place, path: str = "", start: str = "", *, recursive: bool = True) -> list[Any]:
    walk = asyncio.run(listing.walk(place.manager, path, recursive=recursive))
    return list(walk(start))


def found(place: Place, path: str = "", start: str = "", *, recursive: bool = True) -> list[str]:
    everything = entries(place, path, start, recursive=recursive)
    return [entry.path for entry in everything if isinstance(entry, Found)]


def passed_over(place: Place, path: str = "") -> list[tuple[str, str]]:
    everything = entries(place, path)
    return [(entry.path, entry.reason) for entry in everything if isinstance(entry, PassedOver)]


def test_notebooks_come_in_the_order_of_their_paths_components(tree: Place) -> None:
    assert found(tree) == sorted(TREE, key=lambda path: path.split("/"))
    assert found(tree, "b") == ["b/a.ipynb", "b/c/d.ipynb"]
    assert found(tree, "/b/c/") == ["b/c/d.ipynb"]
    assert found(tree, recursive=False) == ["a.ipynb", "b-c.ipynb"]
    assert found(tree, "b", recursive=False) == ["b/a.ipynb"]
    assert found(tree, "b/c/d.ipynb") == ["b/c/d.ipynb"]
    assert found(tree, "b.ipynb") == ["b.ipynb/x.ipynb"]
    assert [entry.read() for entry in entries(tree, "b") if isinstance(entry, Found)] == [TEXT] * 2


def test_a_walk_begins_wherever_it_is_told_to(tree: Place) -> None:
    everything = found(tree)
    starts = {*TREE, "b", "b/c", "b/c/d", "a", "b.ipynb", "c", "z", "b/z", "a.ipynb/x", "d/e/f"}
    for start in starts:
        after = [path for path in everything if path.split("/") >= start.split("/")]
        assert found(tree, start=start) == after


def test_folders_on_the_way_to_the_start_are_not_told_of_again(tree: Place) -> None:
    def entered(start: str) -> list[str]:
        told = entries(tree, start=start)
        return [one.path for one in told if not isinstance(one, (Found, PassedOver))]

    assert entered("") == ["b", "b/c", "b.ipynb", "d", "d/e", "d/e/f"]
    assert entered("b/c") == ["b.ipynb", "d", "d/e", "d/e/f"]
    assert entered("d/e/f/g.ipynb") == []


def test_hidden_things_are_not_looked_into_and_have_no_reason_but_that(tree: Place) -> None:
    hidden = [".a.ipynb", ".b/a.ipynb", "b/.ipynb_checkpoints/a.ipynb", "__pycache__/a.ipynb"]
    make(tree.root, *hidden)
    assert found(tree) == sorted(TREE, key=lambda path: path.split("/"))
    assert {reason for _, reason in passed_over(tree)} == {"hidden"}
    assert len(passed_over(tree)) == len(hidden)


def test_what_the_server_shows_of_hidden_things_is_found_but_for_checkpoints(tree: Place) -> None:
    make(tree.root, ".a.ipynb", ".b/a.ipynb", "b/.ipynb_checkpoints/a.ipynb", "__pycache__/a.ipynb")
    tree.manager.allow_hidden = True
    assert set(found(tree)) == {*TREE, ".a.ipynb", ".b/a.ipynb"}
    assert found(tree, ".b") == [".b/a.ipynb"]
    tree.manager.hide_globs = ["b*"]
    assert set(found(tree)) == {".a.ipynb", ".b/a.ipynb", "__pycache__/a.ipynb", "a.ipynb"} | {
        "d/e/f/g.ipynb"
    }


@pytest.mark.parametrize(
    "path",
    [
        *("nobody", ".b", ".b/c", "b/.c", "..", "../root", "b/..", ".", "b/./c", "b//c"),
        *("c.py", "c.py/x", "a.ipynb/x", "nobody.ipynb", "../outside.ipynb", "C:/x", "~"),
        *("b\\c", "\0", "\ud800", "b/\ud800.ipynb", "x" * 5000),
    ],
)
def test_what_may_not_be_seen_is_not_there(tree: Place, path: str) -> None:
    make(tree.root, ".b/c/a.ipynb", "b/.c/a.ipynb")
    make(tree.root.parent, "outside.ipynb")
    with pytest.raises(FolderNotFound) as refused:
        entries(tree, path)
    assert refused.value.reason == NotebookNotFound.reason
    assert not refused.value.details


def test_links_are_passed_over_and_so_lead_neither_out_nor_in_circles(tree: Place) -> None:
    outside = tree.root.parent / "outside"
    make(outside, "secret.ipynb")
    links = {
        "b/up": tree.root,
        "b/out": outside,
        "b/self": Path("self"),
        "b/same.ipynb": tree.root / "a.ipynb",
        "b/secret.ipynb": outside / "secret.ipynb",
        "b/broken.ipynb": tree.root / "nobody.ipynb",
        "b/circle.ipynb": Path("circle.ipynb"),
        "b/text": tree.root / "c.py",
    }
    for name, target in links.items():
        (tree.root / name).symlink_to(target)
    assert found(tree) == sorted(TREE, key=lambda path: path.split("/"))
    told = ["broken.ipynb", "out", "same.ipynb", "secret.ipynb", "up"]
    assert passed_over(tree) == [(f"b/{name}", "link") for name in told]


def test_a_link_that_is_named_is_followed_as_the_contents_api_follows_it(tree: Place) -> None:
    outside = tree.root.parent / "outside"
    make(outside, "given.ipynb")
    (tree.root / "link").symlink_to(outside)
    (tree.root / "link.ipynb").symlink_to(outside / "given.ipynb")
    assert found(tree, "link") == ["link/given.ipynb"]
    (only,) = entries(tree, "link.ipynb")
    assert (only.path, only.read()) == ("link.ipynb", TEXT)


def test_what_is_no_regular_file_is_refused_when_it_is_read(tree: Place) -> None:
    os.mkfifo(tree.root / "pipe.ipynb")
    (entry,) = [one for one in entries(tree) if one.path == "pipe.ipynb"]
    with pytest.raises(NotAPlainFile):
        entry.read()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_refused_when_it_is_read(tree: Place) -> None:
    (tree.root / "a.ipynb").chmod(0)
    (entry,) = [one for one in entries(tree) if one.path == "a.ipynb"]
    with pytest.raises(Forbidden):
        entry.read()


def test_a_name_that_is_not_utf8_is_passed_over(tree: Place) -> None:
    os.close(os.open(os.fsencode(tree.root) + b"/b/\xff.ipynb", os.O_CREAT))
    assert passed_over(tree) == [("b/?.ipynb", "invalid_request")]


def test_a_notebook_that_has_gone_since_it_was_listed_is_not_found(tree: Place) -> None:
    (first, *_) = [entry for entry in entries(tree) if isinstance(entry, Found)]
    (tree.root / first.path).unlink()
    with pytest.raises(NotebookNotFound):
        first.read()


def test_folders_may_nest_deep(place: Place) -> None:
    # Not deeper, or pytest could not remove them.
    deep = "/".join(["f"] * 300)
    make(place.root, f"{deep}/a.ipynb")
    assert found(place) == [f"{deep}/a.ipynb"]
    assert found(place, start=deep) == [f"{deep}/a.ipynb"]
