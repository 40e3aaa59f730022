"""A destroyed database over HTTP: no notebook is changed until a person has decided."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from jupyter_nbedit.database import NAME as DATABASE
from jupyter_nbedit.demo import server
from tests.handlers.refused import details
from tests.support import samples
from tests.support.http import JSON, Answer, Client

NAMES = ("free.ipynb", "paused.ipynb", "reviewed.ipynb", "undone.ipynb")
REPLACE = {"op": "replace", "cell": "beta", "source": "# Changed"}
TEXT = samples.three_cells()


def write_nonsense(file: Path) -> None:
    file.write_bytes(b"nonsense" * (file.stat().st_size // 8))


def empty(file: Path) -> None:
    file.write_bytes(b"")


def cut_in_half(file: Path) -> None:
    with file.open("r+b") as raw:
        raw.truncate(file.stat().st_size // 2)


def damage_schema(file: Path) -> None:
    with file.open("r+b") as raw:
        raw.seek(100)
        raw.write(b"\xff" * 3996)


# What else may be installed takes longer to start than all the rest.
_OPTIONS = [
    f"--ServerApp.jpserver_extensions={name}=False"
    for name in ("jupyter_lsp", "jupyter_server_terminals", "jupyterlab", "notebook_shim")
]
DAMAGES = (write_nonsense, empty, cut_in_half, damage_schema)


def send(client: Client, verb: str, target: str, body: Any) -> Answer:
    return client.request(verb, f"nbedit/{target}", json.dumps(body).encode(), JSON)


def choose(client: Client, mode: str | None, path: str | None = None) -> Answer:
    return send(client, "PUT", "mode", {"mode": mode, **({} if path is None else {"path": path})})


def why(client: Client, path: str | None = None) -> Any:
    query = "" if path is None else f"?path={path}"
    return client.request("GET", f"nbedit/mode{query}").json["unreadable"]


def prepare(client: Client) -> int:
    """Make notebooks, one of them paused and one with a proposal; return its number."""
    choose(client, None)
    for name in NAMES:
        (client.root / name).write_bytes(TEXT)
    assert client.patch("undone.ipynb", REPLACE).status == 200
    assert choose(client, "plan", "paused.ipynb").status == 200
    assert choose(client, "review", "reviewed.ipynb").status == 200
    number: int = client.patch("reviewed.ipynb", REPLACE).json["proposal_id"]
    return number


def changes(client: Client, number: int) -> dict[str, Answer]:
    """Try every way to change something."""
    tool = {"notebook_path": str(client.root / "free.ipynb"), "cell_id": "beta", "new_source": "x"}
    return {
        "edit": client.patch("free.ipynb", REPLACE),
        "edit of a paused notebook": client.patch("paused.ipynb", REPLACE),
        "create": send(client, "PUT", "notebooks/new.ipynb", {}),
        "undo": send(client, "POST", "notebooks/undone.ipynb/undo", {}),
        "redo": send(client, "POST", "notebooks/undone.ipynb/redo", {}),
        "accept": send(client, "POST", f"proposals/{number}/accept", {}),
        "tool": send(client, "POST", "tools/nexo/NotebookEdit", tool),
    }


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """Let a server write a database, and stop it."""
    folder = tmp_path_factory.mktemp("written")
    (folder / "notebooks").mkdir()
    with server.running("jupyter_server", folder, *_OPTIONS) as running:
        number = prepare(Client(running.port, running.token, running.root))
    return folder, number


def restored(written: tuple[Path, int]) -> tuple[Path, Path]:
    """Give the folder of a server that is stopped, as it was, and its database."""
    folder, _ = written
    kept = folder / "kept"
    if not kept.exists():
        shutil.copytree(folder / "data" / "nbedit", kept)
    shutil.rmtree(folder / "data" / "nbedit")
    shutil.copytree(kept, folder / "data" / "nbedit")
    return folder, folder / "data" / "nbedit" / DATABASE


@pytest.mark.parametrize("damage", DAMAGES)
def test_after_a_damage_while_the_server_is_stopped_nothing_is_changed_until_a_person_decides(
    written: tuple[Path, int], damage: Callable[[Path], None]
) -> None:
    folder, file = restored(written)
    number = written[1]
    damage(file)
    for name in NAMES:
        (folder / "notebooks" / name).write_bytes(TEXT)
    for is_restart in (False, True):
        with server.running("jupyter_server", folder, *_OPTIONS) as running:
            client = Client(running.port, running.token, running.root)
            assert "moved aside" in why(client)
            assert "moved aside" in why(client, "paused.ipynb")
            for how, answer in changes(client, number).items():
                if how == "accept":
                    # The proposal was in the database.
                    details(answer, 404, "proposal_not_found")
                elif how == "tool":
                    assert answer.status == 503, answer.body
                else:
                    details(answer, 503, "modes_unreadable")
            assert not (client.root / "new.ipynb").exists()
            assert {(client.root / name).read_bytes() for name in NAMES} == {TEXT}
            # What changes nothing works.
            assert client.patch("paused.ipynb", REPLACE, dry_run=True).status == 200
            assert client.read("paused.ipynb").status == 200
            assert client.request("GET", "nbedit/history").status == 200
            if not is_restart:
                continue
            # A person decides for one notebook, and then for all.
            assert choose(client, "plan", "paused.ipynb").json["unreadable"] is None
            details(client.patch("paused.ipynb", REPLACE), 403, "plan_mode")
            details(client.patch("free.ipynb", REPLACE), 503, "modes_unreadable")
            assert choose(client, None).json["unreadable"] is None
            assert client.patch("free.ipynb", REPLACE).status == 200
            details(client.patch("paused.ipynb", REPLACE), 403, "plan_mode")
            assert why(client) is None


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("running")
    (folder / "notebooks").mkdir()
    with server.running("jupyter_server", folder, *_OPTIONS) as found:
        yield Client(found.port, found.token, found.root)


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("is_written_back", [False, True], ids=["", "written back"])
def test_after_a_damage_while_the_server_runs_no_paused_notebook_is_changed(
    running: Client, damage: Callable[[Path], None], *, is_written_back: bool
) -> None:
    number = prepare(running)
    file = running.root.parent / "data" / "nbedit" / DATABASE
    if is_written_back:
        with closing(sqlite3.connect(file)) as other:
            other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    damage(file)
    # What the server still remembers is true; what it finds damaged it does not believe.
    paused, reviewed = (running.patch(name, REPLACE) for name in NAMES[1:3])
    assert paused.json["reason"] in {"plan_mode", "modes_unreadable"}
    assert reviewed.status == 202 or reviewed.json["reason"] in {
        "modes_unreadable",
        "history_unavailable",
    }
    assert (running.root / "paused.ipynb").read_bytes() == TEXT
    if damage in {write_nonsense, empty}:
        while why(running) is None:
            running.request("GET", "nbedit/history")
        answers = changes(running, number)
        assert {answers[how].json["reason"] for how in ("edit", "create", "undo", "redo")} == {
            "modes_unreadable"
        }
    assert (running.root / "paused.ipynb").read_bytes() == TEXT
    assert choose(running, None).status == 200
    assert why(running) is None
    assert running.patch("free.ipynb", REPLACE).status == 200
