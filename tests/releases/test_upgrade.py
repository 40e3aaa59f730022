"""Data of an older release is readable after the upgrade."""

import json
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from jupyter_nbedit.db.database import NAME
from jupyter_nbedit.db.schema import SCHEMA
from tests.handlers.error_checks import get_error
from tests.support.driver import Notebook
from tests.support.http import Client
from tests.support.servers import run_server

#: One folder for each release that has changed the schema; `write.py` makes them.
RELEASES = sorted(Path(__file__).parent.glob("schema-*"))
_NO_LINES = {"lines_added": None, "lines_removed": None, "snippet": None}


@contextmanager
def run_upgraded_server(folder: Path, release: Path) -> Iterator[tuple[Client, dict[str, Any]]]:
    """Start a current server on the files of a release."""
    (folder / "notebooks").mkdir()
    (folder / "data" / "nbedit").mkdir(parents=True)
    for path in release.glob("*.ipynb"):
        shutil.copy(path, folder / "notebooks")
    database = folder / "data" / "nbedit" / NAME
    shutil.copy(release / NAME, database)
    expected = json.loads((release / "expected.json").read_text())
    expires = datetime.now(tz=timezone.utc) + timedelta(hours=1)
    with closing(sqlite3.connect(database)) as found:
        move_root(found, expected["root"], str((folder / "notebooks").resolve()))
        found.execute("UPDATE edits SET time = ?", (time.time(),))
        found.execute("UPDATE proposals SET expires = ?", (expires.isoformat(),))
        found.commit()
    with run_server(folder) as client:
        yield client, expected


def move_root(database: sqlite3.Connection, old: str, new: str) -> None:
    """Let a database name the notebooks of another root: by the root, or by their path on disk."""
    tables = database.execute(
        "SELECT tables.name FROM sqlite_master AS tables, pragma_table_info(tables.name)"
        " AS columns WHERE tables.type = 'table' AND columns.name = 'root'"
    ).fetchall()
    for (table,) in tables:
        moved = database.execute(f"UPDATE {table} SET root = ? WHERE root = ?", (new, old)).rowcount  # noqa: S608 -- ours
        if table not in {"roots", "link_paths"}:
            moved += database.execute(
                f"UPDATE {table} SET name = ? || substr(name, ?) WHERE root = 'file:'",  # noqa: S608 -- ours
                (new, len(old) + 1),
            ).rowcount
        assert moved > 0 or table == "link_paths", table


def remove_times(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        # The first releases did not look for later changes that prevent an undo.
        {name: value for name, value in one.items() if name not in {"time", "expires", "undoable"}}
        for one in found
    ]


def test_every_earlier_schema_version_has_a_database_file() -> None:
    with_file = [int(release.name.removeprefix("schema-")) for release in RELEASES]
    assert with_file == list(range(1, len(SCHEMA.migrations)))


@pytest.mark.parametrize("release", RELEASES, ids=lambda path: str(path.name))
def test_history_modes_and_proposals_of_an_older_release_are_kept(
    tmp_path: Path, release: Path
) -> None:
    with run_upgraded_server(tmp_path, release) as (client, expected):
        for name, mode in expected["modes"].items():
            reply = client.request("GET", f"nbedit/mode?path={name}.ipynb").json
            assert (reply["own"], reply["unreadable"]) == (mode, None)
        for name, edits in expected["history"].items():
            found = client.request("GET", f"nbedit/notebooks/{name}.ipynb/history").json["edits"]
            # The first releases did not count lines.
            with_lines = [{**_NO_LINES, "is_from_page": False, **one} for one in edits]
            assert remove_times(found) == remove_times(with_lines)
        found = client.request("GET", "nbedit/proposals?status=all").json["proposals"]
        # Schema 1 did not store the language, and none did the reason of a rejection, the edit of a
        # part and the neighbours of new places.
        proposals = [
            {
                "language": None,
                "reason": None,
                **one,
                "parts": [
                    {
                        "reason": None,
                        "edit_id": None,
                        "cell_above": None,
                        "cell_below": None,
                        **part,
                    }
                    for part in one["parts"]
                ],
            }
            for one in expected["proposals"]
        ]
        assert remove_times(found) == remove_times(proposals)

        # A notebook that was paused stays so.
        replace = {"op": "replace", "cell": "beta", "source": "# Changed"}
        get_error(client.patch("paused.ipynb", replace), 403, "plan_mode")
        assert client.patch("reviewed.ipynb", replace).status == 202
        assert client.patch("free.ipynb", replace).status == 200

        # What was done can be undone and redone.
        edited = Notebook(client, "edited.ipynb")
        undone = edited.undo(client="a client")
        assert (undone.status, undone.json["warnings"]) == (200, [])
        assert b"# Edit 1" in edited.text
        assert edited.redo(client="a client").status == 200

        # What waits can be decided, and what was decided is.
        pending = [one for one in expected["proposals"] if one["status"] == "pending"]
        (number,) = [one["proposal_id"] for one in pending]
        accepted = client.accept(number)
        assert (accepted.status, accepted.json["warnings"]) == (200, [])
        assert "# Proposed" in (client.root / "reviewed.ipynb").read_text()
        closed = [one for one in expected["proposals"] if one["status"] == "rejected"]
        for one in closed:
            again = client.accept(one["proposal_id"])
            get_error(again, 409, "proposal_closed")
    assert not list((tmp_path / "data" / "nbedit").glob("*.corrupt-*"))
    # Older releases look for the version here.
    with closing(sqlite3.connect(tmp_path / "data" / "nbedit" / NAME)) as found:
        assert found.execute("PRAGMA application_id").fetchone() == (0x6E626564,)
        assert found.execute("PRAGMA user_version").fetchone() == (len(SCHEMA.migrations),)
