"""A notebook that two servers know by different paths has one history and one mode."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.handlers.error_checks import get_error
from tests.support import samples
from tests.support.driver import Notebook
from tests.support.http import Client
from tests.support.sampling import is_nightly
from tests.support.servers import run_server
from tests.support.waiting import wait_until

CHANGE = {"op": "replace", "cell": "beta", "source": "# Changed"}


@dataclass(frozen=True)
class Pair:
    """Two servers of one user: the root of one lies in the root of the other."""

    outer: Client
    inner: Client
    #: A folder outside of both roots.
    elsewhere: Path

    @property
    def folder(self) -> Path:
        """The root of the inner server."""
        return self.outer.root / "project"


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    top = tmp_path_factory.mktemp("pair").resolve()
    project = top / "outer" / "notebooks" / "project"
    project.mkdir(parents=True)
    (top / "inner").mkdir()
    (top / "elsewhere").mkdir()
    # The root of the inner server is a link, too.
    (top / "inner" / "notebooks").symlink_to(project)
    environment = {
        "JUPYTER_DATA_DIR": str(top / "data"),
        "JUPYTER_RUNTIME_DIR": str(top / "runtime"),
    }
    (top / "data").mkdir()
    with (
        run_server(top / "outer", environment=environment) as outer,
        run_server(top / "inner", environment=environment) as inner,
    ):
        yield Pair(outer, inner, top / "elsewhere")


def get_mode(client: Client, path: str) -> str:
    mode: str = client.get_json(f"mode?path={path}")["mode"]
    return mode


def list_edits(client: Client, path: str) -> list[int]:
    return [edit["edit_id"] for edit in Notebook(client, path).list_history()]


def list_all(client: Client) -> dict[int, str]:
    """Return the paths of all edits that a server shows, by number."""
    edits = client.get_json("history?limit=200")["edits"]
    return {edit["edit_id"]: edit["path"] for edit in edits}


def write(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(samples.three_cells())


#: How a notebook can be called: the file below the folder of all, and links made before, as pairs
#: of a link and what it leads to; then the path at the outer and at the inner server.
PLACES: dict[str, tuple[str, list[tuple[str, str]], str, str]] = {
    "in both roots": ("outer/notebooks/project/{name}", [], "project/{name}", "{name}"),
    "a link to the notebook in the root": (
        "outer/notebooks/project/{name}",
        [("outer/notebooks/link-{name}", "outer/notebooks/project/{name}")],
        "link-{name}",
        "{name}",
    ),
    "a link to a folder in the root": (
        "outer/notebooks/project/{name}",
        [("outer/notebooks/folder-{name}", "outer/notebooks/project")],
        "folder-{name}/{name}",
        "{name}",
    ),
    "links to a notebook outside of the roots": (
        "elsewhere/{name}",
        [
            ("outer/notebooks/one-{name}", "elsewhere/{name}"),
            ("outer/notebooks/project/two-{name}", "elsewhere/{name}"),
        ],
        "one-{name}",
        "two-{name}",
    ),
    "links to a folder outside of the roots": (
        "elsewhere/{name}",
        [
            ("outer/notebooks/far-{name}", "elsewhere"),
            ("outer/notebooks/project/near-{name}", "elsewhere"),
        ],
        "far-{name}/{name}",
        "near-{name}/{name}",
    ),
    "a link to a link": (
        "elsewhere/{name}",
        [
            ("outer/notebooks/project/first-{name}", "elsewhere/{name}"),
            ("outer/notebooks/second-{name}", "outer/notebooks/project/first-{name}"),
        ],
        "second-{name}",
        "first-{name}",
    ),
}


@pytest.fixture(params=list(PLACES.values()), ids=list(PLACES))
def paths(pair: Pair, request: pytest.FixtureRequest) -> tuple[Path, str, str]:
    """Make a notebook, and return the file and its paths at the outer and the inner server."""
    file, links, outer, inner = request.param
    top = pair.elsewhere.parent
    name = f"n{len(list(top.rglob('*.ipynb')))}.ipynb"
    write(top / file.format(name=name))
    for link, target in links:
        (top / link.format(name=name)).symlink_to(top / target.format(name=name))
    return top / file.format(name=name), outer.format(name=name), inner.format(name=name)


def test_both_servers_have_one_history(pair: Pair, paths: tuple[Path, str, str]) -> None:
    file, outer, inner = paths
    first = pair.inner.patch(inner, CHANGE).json["edit_id"]
    second = pair.outer.patch(outer, {**CHANGE, "source": "# Again"}).json["edit_id"]
    assert list_edits(pair.outer, outer) == list_edits(pair.inner, inner) == [second, first]
    for place in (Notebook(pair.outer, outer), Notebook(pair.inner, inner)):
        assert [cell["cell_id"] for cell in place.list_unseen()] == ["beta"]
    assert Notebook(pair.inner, inner).undo(edit_id=second).status == 200
    assert Notebook(pair.outer, outer).undo(edit_id=first).status == 200
    assert file.read_bytes() == samples.three_cells()
    # Each calls it by a path of its own.
    for client, path in ((pair.outer, outer), (pair.inner, inner)):
        shown = list_all(client)[first]
        assert os.path.realpath(client.root / shown) == os.path.realpath(client.root / path)


@pytest.mark.parametrize(("mode", "setter_name"), [("review", "outer"), ("plan", "inner")])
def test_a_mode_that_is_set_at_one_server_holds_at_the_other(
    pair: Pair, paths: tuple[Path, str, str], mode: str, setter_name: str
) -> None:
    file, outer, inner = paths
    ways = [(pair.outer, outer), (pair.inner, inner)]
    setter, obeyer = ways if setter_name == "outer" else ways[::-1]
    Notebook(*setter).set_mode(mode)
    # It holds within a second.
    wait_until(lambda: get_mode(*obeyer) == mode, "the mode of the other server")
    answer = obeyer[0].patch(obeyer[1], CHANGE)
    if mode == "plan":
        get_error(answer, 403, "plan_mode")
    else:
        number = answer.json["proposal_id"]
        found = setter[0].request("GET", f"nbedit/proposals/{number}").json
        shown = os.path.realpath(setter[0].root / found["path"])
        assert shown == os.path.realpath(file)
        assert setter[0].reject(number).status == 200
    assert file.read_bytes() == samples.three_cells()
    Notebook(*obeyer).set_mode(None)
    wait_until(lambda: get_mode(*setter) == "edit", "the mode of the first server")


def test_work_without_a_server_has_the_same_history_and_obeys(
    pair: Pair, paths: tuple[Path, str, str]
) -> None:
    file, outer, _ = paths
    if file.parent != pair.elsewhere and outer.startswith("folder-") and not is_nightly():
        pytest.skip("each command takes a second: nightly")
    environment = {
        **os.environ,
        "JUPYTER_DATA_DIR": str(pair.elsewhere.parent / "data"),
        # No server is found.
        "JUPYTER_RUNTIME_DIR": str(pair.elsewhere.parent / "no-runtime"),
    }

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(Path(sys.executable).parent / "jupyter-nbedit"), *arguments]
        return subprocess.run(
            command, env=environment, cwd=file.parent, capture_output=True, text=True, check=False
        )

    edited = run("edit", file.name, "--cell", "beta", "--source", "# Without a server")
    assert edited.returncode == 0, edited.stderr
    (number,) = list_edits(pair.outer, outer)
    pair.outer.set_mode("plan", outer)
    refused = run("edit", file.name, "--cell", "beta", "--source", "# Refused")
    assert "plan_mode" in refused.stderr
    pair.outer.set_mode(None, outer)
    assert Notebook(pair.outer, outer).undo(edit_id=number).status == 200
    assert file.read_bytes() == samples.three_cells()


# Renames and deletions -------------------------------------------------------------------------


def test_renames_by_both_servers_are_followed_by_both(pair: Pair) -> None:
    write(pair.folder / "before.ipynb")
    number = pair.outer.patch("project/before.ipynb", CHANGE).json["edit_id"]
    pair.inner.set_mode("review", "before.ipynb")
    pair.inner.rename("before.ipynb", "between.ipynb")
    wait_until(lambda: list_edits(pair.outer, "project/between.ipynb") == [number], "the rename")
    pair.outer.rename("project/between.ipynb", "after.ipynb")
    wait_until(lambda: list_edits(pair.outer, "after.ipynb") == [number], "the second rename")
    wait_until(lambda: get_mode(pair.outer, "after.ipynb") == "review", "the mode")
    # It is in the root of the inner server no more.
    assert number not in list_all(pair.inner)


def test_a_renamed_folder_takes_its_notebooks_along_at_both_servers(pair: Pair) -> None:
    write(pair.folder / "old" / "a.ipynb")
    number = pair.inner.patch("old/a.ipynb", CHANGE).json["edit_id"]
    pair.outer.rename("project/old", "project/new")
    wait_until(lambda: list_edits(pair.inner, "new/a.ipynb") == [number], "the rename")


@pytest.mark.parametrize("kind", ["notebook", "folder"])
def test_a_link_that_is_renamed_or_deleted_changes_no_name(pair: Pair, kind: str) -> None:
    name = f"linked-{kind}.ipynb"
    write(pair.elsewhere / name)
    link = "link" if kind == "folder" else "link.ipynb"
    target, tail = (pair.elsewhere, f"/{name}") if kind == "folder" else (pair.elsewhere / name, "")
    (pair.folder / link).symlink_to(target)
    number = pair.outer.patch(f"project/{link}{tail}", CHANGE).json["edit_id"]
    pair.outer.set_mode("review", f"project/{link}{tail}")
    other = f"other-{link}"
    pair.outer.rename(f"project/{link}", f"project/{other}")
    wait_until(lambda: list_all(pair.outer).get(number) == f"project/{other}{tail}", "the new path")
    assert list_edits(pair.inner, f"{other}{tail}") == [number]
    wait_until(lambda: get_mode(pair.inner, f"{other}{tail}") == "review", "the mode")
    # Without the link, nothing leads there any more; with a new one, all is there again.
    (pair.folder / other).unlink()
    assert number not in list_all(pair.outer)
    (pair.folder / link).symlink_to(target)
    assert list_edits(pair.inner, f"{link}{tail}") == [number]
    assert get_mode(pair.inner, f"{link}{tail}") == "review"


def test_a_notebook_that_a_server_cannot_reach_is_not_listed_there(pair: Pair) -> None:
    write(pair.outer.root / "apart.ipynb")
    number = pair.outer.patch("apart.ipynb", CHANGE).json["edit_id"]
    assert number in list_all(pair.outer)
    assert number not in list_all(pair.inner)
    pair.outer.set_mode("review", "apart.ipynb")
    proposal = pair.outer.patch("apart.ipynb", {**CHANGE, "source": "# 2"}).json["proposal_id"]
    answer = pair.inner.request("GET", f"nbedit/proposals/{proposal}")
    get_error(answer, 404, "proposal_not_found")


@pytest.mark.parametrize("kind", ["edit", "create"])
def test_proposals_go_with_their_notebook_or_its_link(pair: Pair, kind: str) -> None:
    folder = pair.elsewhere / f"proposed-{kind}"
    write(folder / "a.ipynb")
    link = f"proposed-{kind}"
    (pair.outer.root / link).symlink_to(folder)
    if kind == "edit":
        pair.outer.set_mode("review", f"{link}/a.ipynb")
        number = pair.outer.patch(f"{link}/a.ipynb", CHANGE).json["proposal_id"]
        deleted = pair.outer.request("DELETE", f"api/contents/{link}/a.ipynb")
        assert deleted.status == 204
        wait_until(lambda: not find_proposal(pair, number), "the end of the proposal")
        return
    pair.outer.set_mode("review")
    number = pair.outer.send_json("PUT", f"notebooks/{link}/new.ipynb").json["proposal_id"]
    pair.outer.set_mode(None)
    assert pair.outer.request("GET", f"nbedit/proposals/{number}").status == 200
    (pair.outer.root / link).unlink()
    # Without the link no path leads to its folder.
    get_error(pair.outer.request("GET", f"nbedit/proposals/{number}"), 404, "proposal_not_found")


def find_proposal(pair: Pair, number: int) -> bool:
    """Return whether the database has a proposal, whoever may see it."""
    file = pair.elsewhere.parent / "data" / "nbedit" / "history.sqlite3"
    with closing(sqlite3.connect(file)) as connection:
        select = "SELECT count(*) FROM proposals WHERE proposal_id = ?"
        (count,) = connection.execute(select, (number,)).fetchone()
    return bool(count)


# Other spellings -------------------------------------------------------------------------------


def mount_again(folder: Path, place: Path) -> None:
    """Mount a folder at another place, too."""
    place.mkdir()
    try:
        subprocess.run(["mount", "--bind", folder, place], check=True, capture_output=True)  # noqa: S607 -- the system's
    except (FileNotFoundError, subprocess.CalledProcessError):
        pytest.skip("folders cannot be mounted here")


def test_a_mode_holds_at_another_mount_of_the_folder(pair: Pair) -> None:
    folder = pair.elsewhere / "mounted"
    write(folder / "a.ipynb")
    (pair.folder / "to-mounted").symlink_to(folder)
    mount_again(folder, pair.folder / "mount")
    try:
        pair.outer.set_mode("plan", "project/to-mounted/a.ipynb")
        wait_until(lambda: get_mode(pair.inner, "mount/a.ipynb") == "plan", "the mode")
        get_error(pair.inner.patch("mount/a.ipynb", CHANGE), 403, "plan_mode")
        pair.inner.set_mode(None, "mount/a.ipynb")
        wait_until(lambda: get_mode(pair.outer, "project/to-mounted/a.ipynb") == "edit", "the end")
    finally:
        subprocess.run(["umount", pair.folder / "mount"], check=True)  # noqa: S607 -- the system's
