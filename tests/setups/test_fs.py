"""Notebooks on drives of jupyter-fs, which stand in paths before a colon."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.handlers.refused import details, untouched
from tests.setups.needs import needs
from tests.setups.serving import assert_edited, contents, tool
from tests.support import samples
from tests.support.corpora import notebooks
from tests.support.http import JSON, Client
from tests.support.servers import run_server

needs("jupyterfs")

REPLACE = {"op": "replace", "cell": "beta", "source": "# Changed"}
TEXT = samples.three_cells()
CHANGED = TEXT.replace(b'"# Title"', b'"# Changed"')
_names = (f"{number}.ipynb" for number in itertools.count())


@dataclass(frozen=True)
class Drives:
    """A server with a drive.

    Parameters
    ----------
    client
        Of the server.
    drive
        What stands before the colon.
    folder
        Where the drive keeps its files.
    """

    client: Client
    drive: str
    folder: Path

    def keep(self, text: bytes = TEXT, folder: str = "") -> tuple[str, Path]:
        """Put a notebook on the drive."""
        name = folder + next(_names)
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text)
        return f"{self.drive}:{name}", path


@pytest.fixture(scope="module")
def drives(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Drives]:
    top = tmp_path_factory.mktemp("fs")
    folder = top / "drive"
    folder.mkdir()
    resource = {"name": "here", "url": f"file://{folder}", "type": "fsspec", "auth": "none"}
    configuration = (
        'c.ServerApp.contents_manager_class = "jupyterfs.metamanager.MetaManager"\n'
        f"c.JupyterFs.resources = [{resource!r}]\n"
    )
    with run_server(
        top / "server", configuration=configuration, extensions=("jupyterfs.extension",)
    ) as client:
        (found,) = client.request("GET", "jupyterfs/resources").json
        assert found["init"], found
        yield Drives(client, found["drive"], folder)


def test_an_edit_on_a_drive_changes_no_byte_that_it_does_not_mean(drives: Drives) -> None:
    for folder in ("", "sub/"):
        path, file = drives.keep(folder=folder)
        reply = assert_edited(drives.client.patch(path, REPLACE), "contents", preserved=True)
        assert file.read_bytes() == CHANGED
        assert reply["hash"] == samples.hash_of(file)
        assert drives.client.read(path).json["hash"] == reply["hash"]
        assert contents(drives.client, path)["content"]["cells"][1]["source"] == "# Changed"


def test_an_edit_in_the_root_of_the_server_changes_no_byte_either(drives: Drives) -> None:
    file = drives.client.root / next(_names)
    file.write_bytes(TEXT)
    assert_edited(drives.client.patch(file.name, REPLACE), "contents", preserved=True)
    assert file.read_bytes() == CHANGED


def test_a_notebook_is_created_on_a_drive_and_never_over_another(drives: Drives) -> None:
    for folder in ("", "made/"):
        (drives.folder / folder).mkdir(exist_ok=True)
        name = folder + next(_names)
        target = f"nbedit/notebooks/{drives.drive}:{name}"
        reply = assert_edited(
            drives.client.request("PUT", target, b"{}", JSON), "contents", preserved=True
        )
        assert reply["hash"] == samples.hash_of(drives.folder / name)
        refused = drives.client.request("PUT", target, b"{}", JSON)
        details(refused, 409, "notebook_exists")
    nowhere = f"nbedit/notebooks/{drives.drive}:nowhere/a.ipynb"
    details(drives.client.request("PUT", nowhere, b"{}", JSON), 404, "notebook_not_found")


def test_hidden_outside_and_missing_look_the_same_on_a_drive(drives: Drives) -> None:
    outside = drives.folder.parent / "outside.ipynb"
    for file in (outside, drives.folder / ".hidden.ipynb", drives.folder / ".git" / "a.ipynb"):
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(TEXT)
    bodies = set()
    with untouched(drives.folder):
        for name in (
            *("none.ipynb", ".hidden.ipynb", ".git/a.ipynb", "../outside.ipynb", "no/a.ipynb"),
            *("a/../../outside.ipynb", "/../outside.ipynb", "./none.ipynb", "//none.ipynb"),
        ):
            answer = drives.client.request("GET", f"nbedit/notebooks/{drives.drive}:{name}")
            details(answer, 404, "notebook_not_found")
            bodies.add(answer.body)
            assert drives.client.patch(f"{drives.drive}:{name}", REPLACE).status == 404
            target = f"nbedit/notebooks/{drives.drive}:{name}"
            if name != "none.ipynb":
                assert drives.client.request("PUT", target, b"{}", JSON).status == 404
        for path in ("nobody:a.ipynb", "a:b:c.ipynb", ":a.ipynb"):
            answer = drives.client.read(path)
            details(answer, 404, "notebook_not_found")
            bodies.add(answer.body)
    assert len(bodies) == 1
    assert outside.read_bytes() == TEXT


def test_real_notebooks_come_through_an_edit_and_back_byte_for_byte(drives: Drives) -> None:
    edited = 0
    small = [path for path in notebooks() if path.stat().st_size < 200_000]
    for source in small[::10]:
        text = source.read_bytes()
        path, file = drives.keep(text)
        marker = {"op": "insert", "cell_type": "raw", "source": "x", "at": "end"}
        answer = drives.client.patch(path, marker)
        if answer.status == 422:
            assert file.read_bytes() == text
            continue
        total = assert_edited(answer, "contents", preserved=True)["total_cells"]
        assert file.read_bytes() != text
        back = drives.client.patch(path, {"op": "delete", "cell": total - 1})
        assert_edited(back, "contents", preserved=True)
        assert file.read_bytes() == text
        edited += 1
    assert edited > 20


def test_the_search_goes_through_a_drive(drives: Drives) -> None:
    found, _ = drives.keep(CHANGED, "search/")
    drives.keep(TEXT, "search/")
    drives.keep(CHANGED, "search/.hidden/")
    for path in (f"{drives.drive}:search", f"{drives.drive}:"):
        body = json.dumps({"query": "# Changed", "path": path, "limit": 1000}).encode()
        answer = drives.client.request("POST", "nbedit/search", body, JSON)
        assert answer.status == 200, answer.body
        paths = [hit["path"] for hit in answer.json["hits"]]
        assert found in paths
        assert not [path for path in paths if "hidden" in path]
    body = json.dumps({"query": "x", "path": f"{drives.drive}:nowhere"}).encode()
    refused = drives.client.request("POST", "nbedit/search", body, JSON)
    details(refused, 404, "notebook_not_found")


def test_a_search_goes_on_where_it_ended(drives: Drives) -> None:
    for _ in range(5):
        drives.keep(CHANGED, "pages/")
    found: list[str] = []
    request = {"query": "# Changed", "path": f"{drives.drive}:pages", "max_files": 2}
    while True:
        body = json.dumps(request).encode()
        reply = drives.client.request("POST", "nbedit/search", body, JSON).json
        found += [hit["path"] for hit in reply["hits"]]
        if reply["cursor"] is None:
            break
        request["cursor"] = reply["cursor"]
    assert len(found) == len(set(found)) == 5


def test_tools_work_by_relative_paths(drives: Drives) -> None:
    path, file = drives.keep()
    answer = tool(
        drives.client, "mycode/NotebookEdit", notebook_path=path, cell_id="beta", new_source="# T"
    )
    assert answer.status == 200, answer.body
    assert b'"# T"' in file.read_bytes()
    answer = tool(
        drives.client,
        "nexo/NotebookEdit",
        notebook_path=str(file),
        cell_id="beta",
        new_source="# T",
    )
    assert answer.status == 409, answer.body


def test_an_edit_takes_what_is_there_when_it_comes(drives: Drives) -> None:
    path, file = drives.keep()
    seen = drives.client.read(path).json["hash"]
    file.write_bytes(CHANGED)
    refused = drives.client.patch(path, REPLACE, hash=seen)
    assert details(refused, 412, "hash_mismatch")["hash"] == samples.hash_of(file)
    assert file.read_bytes() == CHANGED
