"""Invalid notebooks, and paths that lead to none: each is refused and unchanged."""

import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.handlers.bad_requests import BROKEN_CELLS
from tests.handlers.error_checks import get_error, no_changes
from tests.handlers.operation_table import op
from tests.support import samples
from tests.support.driver import Notebook
from tests.support.http import Answer, Client

GOOD = samples.three_cells()
REPLACE = op("replace", cell="alpha", source="changed")
#: Paths of notebooks that are there.
HIDDEN = (
    ".hidden.ipynb",
    ".hidden/a.ipynb",
    "open/.hidden/a.ipynb",
    ".hidden/open/a.ipynb",
    ".ipynb_checkpoints/a-checkpoint.ipynb",
    ".~a.ipynb",
)
OUTSIDE = ("../outside.ipynb", "../notebooks-secret/outside.ipynb")
NOWHERE = (
    "missing.ipynb",
    "missing/a.ipynb",
    "good.ipynb/a.ipynb",
    "dangling.ipynb",
    "loop.ipynb",
    "loop/a.ipynb",
    "a" * 300 + ".ipynb",
    "a/" * 3000 + "a.ipynb",
    "a\0.ipynb",
    "good.ipynb\0.ipynb",
    "/good.ipynb",
    "open//good.ipynb",
    "./good.ipynb",
    "open/../good.ipynb",
)


@pytest.fixture
def root(live: Client) -> Iterator[Path]:
    """Fill the live server's root, and see to it that nothing in it changes."""
    root = live.root
    for name in ("good.ipynb", "good.txt", "open/good.ipynb", *HIDDEN, *OUTSIDE):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(GOOD)
    for name, target in (("loop.ipynb", "loop.ipynb"), ("loop", "loop"), ("dangling.ipynb", "no")):
        (root / name).unlink(missing_ok=True)
        (root / name).symlink_to(target)
    # The server keeps files of its own beside the root.
    with no_changes(root, root / "../outside.ipynb", root / "../notebooks-secret"):
        yield root


def read_and_edit(notebook: Notebook) -> list[Answer]:
    """Read and edit."""
    return [notebook.read(), notebook.patch(REPLACE), notebook.patch(REPLACE, dry_run=True)]


@pytest.mark.threat("S10")
def test_a_malformed_cell_does_not_prevent_edits_of_other_cells(live: Client) -> None:
    for text in BROKEN_CELLS.values():
        (live.root / "bad.ipynb").write_bytes(text)
        answer = live.patch("bad.ipynb", {"op": "replace", "cell": "beta", "source": "# New"})
        assert answer.status == 200, answer.body
        assert (live.root / "bad.ipynb").read_bytes() == text.replace(b"# Title", b"# New")


@pytest.mark.threat("S6")
def test_hidden_outside_and_missing_notebooks_get_the_same_error(live: Client, root: Path) -> None:
    assert all((root / path).is_file() for path in (*HIDDEN, *OUTSIDE))
    bodies = set()
    for path in (*HIDDEN, *OUTSIDE, *NOWHERE):
        for answer in read_and_edit(Notebook(live, path)):
            assert get_error(answer, 404, "notebook_not_found") == {}, path
            bodies.add(answer.body)
    assert len(bodies) == 1


@pytest.mark.parametrize("kind", ["folder", "pipe", "socket", "device"])
@pytest.mark.threat("S6")
def test_a_path_that_is_no_regular_file_is_refused_at_once(live: Client, kind: str) -> None:
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

    with no_changes(live.root):
        for answer in read_and_edit(Notebook(live, path.name)):
            get_error(answer, 409, "not_a_plain_file")
