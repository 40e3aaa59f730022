"""A corrupt database over HTTP: no notebook changes until a person has decided."""

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from jupyter_nbedit.db.database import NAME as DATABASE
from tests.handlers.error_checks import get_error
from tests.handlers.requests import replace
from tests.support import samples
from tests.support.driver import Notebook
from tests.support.http import Answer, Client
from tests.support.sampling import is_nightly
from tests.support.servers import run_server
from tests.support.waiting import wait_until

NAMES = ("free.ipynb", "paused.ipynb", "reviewed.ipynb", "undone.ipynb")
REPLACE = replace("beta", "# Changed")
TEXT = samples.three_cells()


def write_nonsense(file: Path) -> None:
    file.write_bytes(b"nonsense" * (file.stat().st_size // 8))


def truncate(file: Path) -> None:
    file.write_bytes(b"")


def cut_in_half(file: Path) -> None:
    with file.open("r+b") as raw:
        raw.truncate(file.stat().st_size // 2)


def damage_schema(file: Path) -> None:
    with file.open("r+b") as raw:
        raw.seek(100)
        raw.write(b"\xff" * 3996)


DAMAGES = (write_nonsense, truncate, cut_in_half, damage_schema)


def get_error_reason(client: Client, path: str | None = None) -> Any:
    return client.get_json("mode" if path is None else f"mode?path={path}")["unreadable"]


def prepare(client: Client) -> int:
    """Make notebooks, one of them paused and one with a proposal; return its number."""
    client.set_mode(None)
    for name in NAMES:
        (client.root / name).write_bytes(TEXT)
    assert client.patch("undone.ipynb", REPLACE).status == 200
    client.set_mode("plan", "paused.ipynb")
    client.set_mode("review", "reviewed.ipynb")
    return Notebook(client, "reviewed.ipynb").propose(REPLACE)


def try_changes(client: Client, number: int) -> dict[str, Answer]:
    """Try every way to change something."""
    tool = {"notebook_path": str(client.root / "free.ipynb"), "cell_id": "beta", "new_source": "x"}
    return {
        "edit": client.patch("free.ipynb", REPLACE),
        "edit of a paused notebook": client.patch("paused.ipynb", REPLACE),
        "create": client.send_json("PUT", "notebooks/new.ipynb"),
        "undo": client.send_json("POST", "notebooks/undone.ipynb/undo"),
        "redo": client.send_json("POST", "notebooks/undone.ipynb/redo"),
        "accept": client.send_json("POST", f"proposals/{number}/accept"),
        "tool": client.send_json("POST", "tools/nexo/NotebookEdit", tool),
    }


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with run_server(tmp_path_factory.mktemp("running")) as client:
        yield client


# tests/services/edits/test_modes.py tries each of them with the service by day, with a restart.
@pytest.mark.parametrize("damage", DAMAGES if is_nightly() else DAMAGES[:1])
def test_after_corruption_while_stopped_nothing_changes_until_a_person_decides(
    running: Client, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    number = prepare(running)
    shutil.copytree(running.root, tmp_path / "notebooks")
    (tmp_path / "data" / "nbedit").mkdir(parents=True)
    with closing(sqlite3.connect(running.root.parent / "data" / "nbedit" / DATABASE)) as source:
        source.execute("VACUUM INTO ?", [str(tmp_path / "data" / "nbedit" / DATABASE)])
    damage(tmp_path / "data" / "nbedit" / DATABASE)
    before = {name: (running.root / name).read_bytes() for name in NAMES}
    with run_server(tmp_path) as client:
        assert get_error_reason(client) is not None
        assert get_error_reason(client, "paused.ipynb") is not None
        for how, answer in try_changes(client, number).items():
            if how == "accept":
                # The proposal was in the database.
                get_error(answer, 404, "proposal_not_found")
            elif how == "tool":
                assert answer.status == 503, answer.body
            else:
                get_error(answer, 503, "modes_unreadable")
        assert not (client.root / "new.ipynb").exists()
        assert {name: (client.root / name).read_bytes() for name in NAMES} == before
        # What changes nothing works.
        assert client.patch("paused.ipynb", REPLACE, dry_run=True).status == 200
        assert client.read("paused.ipynb").status == 200
        assert client.get_json("history")["edits"] == []
        # A person decides for one notebook, and then for all.
        assert client.set_mode("plan", "paused.ipynb")["unreadable"] is None
        get_error(client.patch("paused.ipynb", REPLACE), 403, "plan_mode")
        get_error(client.patch("free.ipynb", REPLACE), 503, "modes_unreadable")
        assert client.set_mode(None)["unreadable"] is None
        assert client.patch("free.ipynb", REPLACE).status == 200
        get_error(client.patch("paused.ipynb", REPLACE), 403, "plan_mode")
        assert get_error_reason(client) is None


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("is_written_back", [False, True], ids=["", "written back"])
def test_after_corruption_while_running_no_paused_notebook_is_changed(
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
    unreadable = {"modes_unreadable", "history_unavailable"}
    assert reviewed.status == 202 or reviewed.json["reason"] in unreadable
    assert (running.root / "paused.ipynb").read_bytes() == TEXT
    if damage in {write_nonsense, truncate}:
        wait_until(
            lambda: running.request("GET", "nbedit/history").status and get_error_reason(running)
        )
        answers = try_changes(running, number)
        assert {answers[how].json["reason"] for how in ("edit", "create", "undo", "redo")} == {
            "modes_unreadable"
        }
    assert (running.root / "paused.ipynb").read_bytes() == TEXT
    assert running.set_mode(None)["unreadable"] is None
    assert get_error_reason(running) is None
    assert running.patch("free.ipynb", REPLACE).status == 200
