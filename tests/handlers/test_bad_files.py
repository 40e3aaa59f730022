"""Files that are no notebooks, paths that lead to none: each is refused and left alone."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.handlers.bad_requests import BROKEN_CELLS
from tests.handlers.refused import details, untouched
from tests.support import samples
from tests.support.http import Answer, Client
from tests.support.ratios import least_ratio

GOOD = samples.three_cells()
REPLACE = {"op": "replace", "cell": "alpha", "source": "changed"}
HIDDEN = (
    ".hidden.ipynb",
    ".hidden/a.ipynb",
    "open/.hidden/a.ipynb",
    ".hidden/open/a.ipynb",
    ".git/hooks/a.ipynb",
    ".ipynb_checkpoints/a-checkpoint.ipynb",
    ".~a.ipynb",
)
NOWHERE = {
    "missing": "missing.ipynb",
    "in a folder that is missing": "missing/a.ipynb",
    "below a file": "good.ipynb/a.ipynb",
    "a link to nowhere": "dangling.ipynb",
    "a link to itself": "loop.ipynb",
    "through a link to itself": "loop/a.ipynb",
    "300 characters long": "a" * 300 + ".ipynb",
    "3000 folders deep": "a/" * 3000 + "a.ipynb",
    "with a NUL": "a\0.ipynb",
    "with a NUL behind a good name": "good.ipynb\0.ipynb",
    "absolute": "/good.ipynb",
    "with two slashes": "open//good.ipynb",
    "with a dot": "./good.ipynb",
    "through the parent": "open/../good.ipynb",
    "outside": "../outside.ipynb",
    "in a sibling whose name begins like the root's": "../notebooks-secret/outside.ipynb",
}
NOT_NAMED_LIKE_NOTEBOOKS = (
    "",
    "good",
    "good.txt",
    "good.ipynb.txt",
    "good.IPYNB",
    "good.ipynb/",
    "open",
)


@pytest.fixture
def root(live: Client) -> Iterator[Path]:
    """Fill the live server's root, and see to it that nothing in it changes."""
    root = live.root
    for name in (
        "good.ipynb",
        "good.txt",
        "open/good.ipynb",
        *HIDDEN,
        "../notebooks-secret/outside.ipynb",
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(GOOD)
    (root / "../outside.ipynb").write_bytes(GOOD)
    for name in ("loop.ipynb", "loop"):
        if not (root / name).is_symlink():
            (root / name).symlink_to(name)
    if not (root / "dangling.ipynb").is_symlink():
        (root / "dangling.ipynb").symlink_to("missing")
    # The server keeps files of its own beside the root.
    with untouched(root, root / "../outside.ipynb", root / "../notebooks-secret"):
        yield root


def both(live: Client, path: str) -> list[Answer]:
    """Read and edit."""
    return [live.read(path), live.patch(path, REPLACE), live.patch(path, REPLACE, dry_run=True)]


@pytest.mark.threat("S10")
def test_a_cell_that_cannot_be_read_does_not_keep_others_from_being_changed(live: Client) -> None:
    for text in BROKEN_CELLS.values():
        (live.root / "bad.ipynb").write_bytes(text)
        answer = live.patch("bad.ipynb", {"op": "replace", "cell": "beta", "source": "# New"})
        assert answer.status == 200, answer.body
        assert (live.root / "bad.ipynb").read_bytes() == text.replace(b"# Title", b"# New")


@pytest.mark.parametrize("kind", NOWHERE)
@pytest.mark.threat("S6")
def test_where_no_notebook_is_to_be_seen_there_is_none(live: Client, root: Path, kind: str) -> None:
    assert root.is_dir()
    for answer in both(live, NOWHERE[kind]):
        assert details(answer, 404, "notebook_not_found") == {}


@pytest.mark.parametrize("path", HIDDEN)
def test_a_hidden_notebook_is_as_if_it_was_not_there(live: Client, root: Path, path: str) -> None:
    assert (root / path).is_file()
    for answer in both(live, path):
        details(answer, 404, "notebook_not_found")


def test_hidden_outside_and_missing_look_exactly_the_same(live: Client, root: Path) -> None:
    assert root.is_dir()
    bodies = {
        answer.body
        for path in (
            "missing.ipynb",
            ".hidden.ipynb",
            ".hidden/a.ipynb",
            "../outside.ipynb",
            "a\0.ipynb",
        )
        for answer in both(live, path)
    }
    assert len(bodies) == 1


@pytest.mark.parametrize("path", NOT_NAMED_LIKE_NOTEBOOKS)
def test_a_path_that_does_not_end_in_ipynb_is_refused(live: Client, root: Path, path: str) -> None:
    assert root.is_dir()
    for answer in both(live, path):
        details(answer, 400, "invalid_request")


@pytest.mark.parametrize("kind", ["folder", "pipe", "socket", "device"])
@pytest.mark.threat("S6")
def test_what_is_no_regular_file_is_left_alone_and_not_waited_for(live: Client, kind: str) -> None:
    path = live.root / f"{kind}.ipynb"
    match kind:
        case "folder":
            path.mkdir()
            (path / "a.ipynb").write_bytes(GOOD)
        case "pipe":
            os.mkfifo(path)
        case "socket":
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(os.path.relpath(path))
        case "device":
            if os.geteuid() != 0:
                pytest.skip("only root can make a device")
            os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 5))

    def ask() -> None:
        for answer in both(live, path.name):
            details(answer, 409, "not_a_plain_file")

    with untouched(live.root):
        # Who waited would take some hundred times as long as who asks what the server is.
        assert least_ratio(ask, partial(live.request, "GET", "nbedit")) < 100
