"""What the history keeps, who can read it, and what is left when it is forgotten: S17, S18, S25."""

from __future__ import annotations

import json
import os
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from jupyter_nbedit.database import NAME as DATABASE
from jupyter_nbedit.demo import server
from tests.handlers.refused import details
from tests.handlers.routes import NAME
from tests.support import samples
from tests.support.http import JSON, Client

GOOD = samples.three_cells()
CANARY = "a secret that was pasted by mistake"
SECRET = {"op": "replace", "cell": "beta", "source": CANARY}
HARMLESS = {"op": "replace", "cell": "beta", "source": "# Nothing"}


@contextmanager
def running(folder: Path, *options: str) -> Iterator[Client]:
    with server.running("jupyter_server", folder, *options) as found:
        yield Client(found.port, found.token, found.root)


@pytest.fixture(scope="module")
def _open_handed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """Start a server that would make its files for all to read and write."""
    folder = tmp_path_factory.mktemp("open-handed")
    (folder / "notebooks").mkdir()
    before = os.umask(0)
    try:
        with running(folder) as client:
            yield client
    finally:
        os.umask(before)


@pytest.fixture
def own(_open_handed: Client) -> Client:
    """Give that server without notebooks and without a history."""
    client = _open_handed
    for path in client.root.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    for path in (client.root.parent / "data").glob("nbedit/*"):
        path.unlink()
    return client


def history(client: Client, path: str = NAME) -> Any:
    answer = client.request("GET", f"nbedit/notebooks/{path}/history")
    assert answer.status == 200, answer.body
    return answer.json["edits"]


def listed(client: Client) -> set[str]:
    return {edit["path"] for edit in client.request("GET", "nbedit/history").json["edits"]}


def pasted_and_taken_out(client: Client, path: str = NAME) -> None:
    """Make a notebook whose secret is in its history alone."""
    (client.root / path).write_bytes(GOOD)
    for operation in (SECRET, HARMLESS):
        assert client.patch(path, operation, message="as told").status == 200
    assert CANARY.encode() not in (client.root / path).read_bytes()


def files(client: Client) -> list[Path]:
    return sorted((client.root.parent / "data" / "nbedit").iterdir())


# S18: who learns of it ---------------------------------------------------------------------------


def test_s18_the_history_of_a_deleted_notebook_is_not_that_of_the_next_one(own: Client) -> None:
    pasted_and_taken_out(own)
    number = history(own)[0]["edit_id"]
    assert own.request("DELETE", f"api/contents/{NAME}").status == 204
    details(own.request("GET", f"nbedit/notebooks/{NAME}/history"), 404, "notebook_not_found")
    (own.root / NAME).write_bytes(GOOD)
    for _ in range(1200):
        if not history(own):
            break
        time.sleep(0.05)
    assert history(own) == []
    one = own.request("GET", f"nbedit/notebooks/{NAME}/history/{number}")
    details(one, 404, "edit_not_found")
    assert CANARY.encode() not in one.body


def test_s18_a_moved_notebook_is_known_by_its_new_name_alone(own: Client) -> None:
    pasted_and_taken_out(own)
    numbers = [edit["edit_id"] for edit in history(own)]
    body = json.dumps({"path": "moved.ipynb"}).encode()
    assert own.request("PATCH", f"api/contents/{NAME}", body, JSON).status == 200
    for target in ("history", f"history/{numbers[0]}"):
        answer = own.request("GET", f"nbedit/notebooks/{NAME}/{target}")
        details(answer, 404, "notebook_not_found")
    for _ in range(1200):
        if history(own, "moved.ipynb"):
            break
        time.sleep(0.05)
    assert [edit["edit_id"] for edit in history(own, "moved.ipynb")] == numbers
    (own.root / NAME).write_bytes(GOOD)
    assert history(own) == []
    assert listed(own) == {"moved.ipynb"}


def test_s18_what_is_hidden_or_outside_by_now_has_no_history(tmp_path: Path) -> None:
    (tmp_path / "notebooks" / "folder").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    with running(tmp_path, "--NbEditApp.links_outside_root=False") as client:
        for path in (NAME, "folder/a.ipynb", "b.ipynb"):
            pasted_and_taken_out(client, path)
        (client.root / NAME).rename(client.root / f".{NAME}")
        (client.root / "folder").rename(tmp_path / "outside" / "folder")
        (client.root / "folder").symlink_to(tmp_path / "outside" / "folder")
        missing = client.request("GET", "nbedit/notebooks/missing.ipynb/history")
        for path in (NAME, f".{NAME}", "folder/a.ipynb", "../outside/folder/a.ipynb"):
            for verb in ("GET", "DELETE"):
                answer = client.request(verb, f"nbedit/notebooks/{path}/history")
                assert (answer.status, answer.body) == (404, missing.body), path
        assert listed(client) == {"b.ipynb"}
        # Nobody has lost anything: they are there again as soon as they can be read.
        (client.root / f".{NAME}").rename(client.root / NAME)
        assert len(history(client)) == 2


# S25, S17: what lies about -----------------------------------------------------------------------


def test_s25_the_history_is_its_owners_alone_under_any_umask(own: Client) -> None:
    pasted_and_taken_out(own)
    found = files(own)
    assert {path.name for path in found} == {DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm"}
    for path in found:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    assert stat.S_IMODE(found[0].parent.stat().st_mode) == 0o700
    # The umask is none of ours: what others make is as they made it.
    assert stat.S_IMODE((own.root.parent / "server.log").stat().st_mode) == 0o666


def test_s25_the_history_is_not_kept_where_the_contents_api_would_show_it(tmp_path: Path) -> None:
    # The folder that is served holds Jupyter's data folder.
    (tmp_path / "notebooks").symlink_to(tmp_path)
    with running(tmp_path) as client:
        pasted_and_taken_out(client)
        assert len(history(client)) == 2
        assert client.request("GET", "api/contents/data").status == 200
        assert client.request("GET", "api/contents/data/nbedit").status == 404
    assert not (tmp_path / "data" / "nbedit").exists()
    assert "The history of edits is kept in memory" in (tmp_path / "server.log").read_text()


@pytest.mark.parametrize("how", ["purged", "deleted", "deleted with its folder"])
def test_s25_what_is_forgotten_is_in_no_byte_of_the_files(own: Client, how: str) -> None:
    path = f"folder/{NAME}"
    (own.root / "folder").mkdir()
    (own.root / path).write_bytes(GOOD)
    # What a request says of itself is kept as it is; what it did, compressed.
    assert own.patch(path, SECRET, client=CANARY, message=CANARY).status == 200
    assert own.patch(path, HARMLESS).status == 200
    assert CANARY.encode() in b"".join(found.read_bytes() for found in files(own))
    (row,) = {edit["hash"] for edit in history(own, path) if edit["client"]}
    if how == "purged":
        answer = own.request("DELETE", f"nbedit/notebooks/{path}/history")
        assert (answer.status, answer.json["purged"]) == (200, 2)
    else:
        target = path if how == "deleted" else "folder"
        assert own.request("DELETE", f"api/contents/{target}").status == 204
    for _ in range(1200):
        left = b"".join(found.read_bytes() for found in files(own))
        if CANARY.encode() not in left:
            break
        time.sleep(0.05)
    assert CANARY.encode() not in left
    assert row.encode() not in left
    assert path.encode() not in left


def test_s17_the_token_is_not_in_the_history(own: Client) -> None:
    (own.root / NAME).write_bytes(GOOD)
    body = json.dumps({"operations": [SECRET], "message": "as told"}).encode()
    target = f"nbedit/notebooks/{NAME}?token={own.token}"
    assert own.request("PATCH", target, body, JSON, token="").status == 200
    left = b"".join(found.read_bytes() for found in files(own))
    assert b"as told" in left
    assert own.token.encode() not in left
