"""File ids of jupyter_server_fileid: an edit keeps the id of a notebook."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import pytest

from tests.setups.needs import needs
from tests.support import samples
from tests.support.http import JSON, Client
from tests.support.servers import run_server

needs("jupyter_server_fileid")

GOOD = samples.three_cells()
LOCAL = "LocalFileIdManager"
TIMES = 20


@dataclass(frozen=True)
class FileIdServer:
    """A server with one of the managers of file ids, and its database."""

    client: Client
    database: Path
    by_inode: bool

    def has_id(self, path: str) -> str:
        """Create a notebook with an id, and return it; copies are reported to the manager."""
        (self.client.root / "seed.ipynb").write_bytes(GOOD)
        body = json.dumps({"copy_from": "seed.ipynb"}).encode()
        answer = self.client.request("POST", "api/contents", body, JSON)
        assert answer.status == 201, answer.body
        self.rename(answer.json["path"], path)
        return self.get_id(path)

    def get_id(self, path: str) -> str:
        return self._query("id", path=path)

    def get_path(self, number: str) -> str:
        return self._query("path", id=number)

    def _query(self, what: str, **query: str) -> str:
        answer = self.client.request("GET", f"api/fileid/{what}?{urlencode(query)}")
        assert answer.status == 200, answer.body
        return str(answer.json[what])

    def rows(self) -> list[tuple[str, str]]:
        with closing(sqlite3.connect(self.database)) as connection:
            return connection.execute("SELECT id, path FROM Files ORDER BY id").fetchall()

    def edit(self, path: str, source: str) -> None:
        answer = self.client.patch(path, {"op": "replace", "cell": "alpha", "source": source})
        assert answer.status == 200, answer.body
        assert answer.json["warnings"] == []

    def rename(self, old: str, new: str) -> None:
        body = json.dumps({"path": new}).encode()
        answer = self.client.request("PATCH", f"api/contents/{old}", body, JSON)
        assert answer.status == 200, answer.body


@pytest.fixture(scope="module", params=["ArbitraryFileIdManager", LOCAL])
def ids(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[FileIdServer]:
    folder = tmp_path_factory.mktemp("ids")
    database = folder / "ids.db"
    options = (
        f"--FileIdExtension.file_id_manager_class=jupyter_server_fileid.manager.{request.param}",
        f"--BaseFileIdManager.db_path={database}",
    )
    with run_server(folder, *options, extensions=("jupyter_server_fileid",)) as client:
        yield FileIdServer(client, database, by_inode=request.param == LOCAL)


def test_the_file_id_survives_edits_and_a_rename(ids: FileIdServer) -> None:
    number = ids.has_id("b.ipynb")
    ids.edit("b.ipynb", "before")
    ids.rename("b.ipynb", "c.ipynb")
    assert (ids.get_id("c.ipynb"), ids.get_path(number)) == (number, "c.ipynb")
    ids.edit("c.ipynb", "after")
    assert (ids.get_id("c.ipynb"), ids.get_path(number)) == (number, "c.ipynb")


def test_an_edited_and_moved_notebook_is_found_by_its_inode(ids: FileIdServer) -> None:
    number = ids.has_id("d.ipynb")
    ids.edit("d.ipynb", "edited")
    (ids.client.root / "far").mkdir()
    (ids.client.root / "d.ipynb").rename(ids.client.root / "far" / "e.ipynb")
    # A path-based manager does not notice moves behind the server's back.
    assert ids.get_path(number) == ("far/e.ipynb" if ids.by_inode else "d.ipynb")


def test_an_edit_through_a_link_keeps_the_file_id(ids: FileIdServer) -> None:
    number = ids.has_id("target.ipynb")
    (ids.client.root / "link.ipynb").symlink_to("target.ipynb")
    ids.edit("link.ipynb", "edited")
    assert ids.get_id("target.ipynb") == number


def test_the_file_id_survives_the_reuse_of_inodes(ids: FileIdServer) -> None:
    number = ids.has_id("known.ipynb")
    for name in ("f.ipynb", "g.ipynb", "h.ipynb"):
        ids.has_id(name)
        (ids.client.root / name).unlink()
    inodes = set()
    for turn in range(TIMES):
        ids.edit("known.ipynb", f"turn = {turn}")
        inodes.add((ids.client.root / "known.ipynb").stat().st_ino)
        assert (ids.get_id("known.ipynb"), ids.get_path(number)) == (number, "known.ipynb")
    # Else the test would prove nothing.
    assert len(inodes) > 1


def test_reads_edits_and_searches_leave_no_rows_behind(ids: FileIdServer) -> None:
    (ids.client.root / "unknown.ipynb").write_bytes(GOOD)
    before = ids.rows()
    assert ids.client.read("unknown.ipynb").status == 200
    assert ids.client.read("missing.ipynb").status == 404
    ids.edit("unknown.ipynb", "edited")
    answer = ids.client.request("POST", "nbedit/search", b'{"query": "edited"}', JSON)
    assert answer.status == 200, answer.body
    assert ids.rows() == before
