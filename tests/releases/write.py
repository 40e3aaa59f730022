"""Write a database with the release that is installed, for the tests of later releases.

``python -m tests.releases.write FOLDER`` starts a server with the installed jupyter_nbedit, edits
notebooks over HTTP, and leaves in the folder what the server has written: ``history.sqlite3`` and
the notebooks. Run it before a change of the schema, with the code as it is then, and commit the
folder. ``expected.json`` has what a later release must still find there.
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from jupyter_nbedit.cli.demo import server
from tests.support import samples
from tests.support.driver import Notebook
from tests.support.http import JSON, Answer, Client

NAMES = ("edited", "paused", "reviewed", "free")


def write(folder: Path) -> None:
    """Fill a folder, which must not be there yet."""
    with tempfile.TemporaryDirectory() as parent:
        work = Path(parent)
        (work / "notebooks").mkdir()
        for name in NAMES:
            (work / "notebooks" / f"{name}.ipynb").write_bytes(samples.three_cells())
        with server.run_server("jupyter_server", work) as running:
            client = Client(running.port, running.token, running.root)
            expected = _make_changes(client)
        expected["root"] = str((work / "notebooks").resolve())
        folder.mkdir(parents=True)
        for name in NAMES:
            shutil.copy(work / "notebooks" / f"{name}.ipynb", folder)
        # The server has closed it, so that nothing is left in a write-ahead log.
        shutil.copy(work / "data" / "nbedit" / "history.sqlite3", folder)
    (folder / "expected.json").write_text(json.dumps(expected, indent=1, sort_keys=True) + "\n")


def _make_changes(client: Client) -> dict[str, Any]:
    for number in (1, 2, 3):
        client.patch("edited.ipynb", _replace("beta", f"# Edit {number}"), client="a client")
    _check(Notebook(client, "edited.ipynb").undo(client="a client"))
    _send(client, "PUT", "nbedit/mode", {"mode": "plan", "path": "paused.ipynb"})
    _send(client, "PUT", "nbedit/mode", {"mode": "review", "path": "reviewed.ipynb"})
    proposals = [
        client.patch("reviewed.ipynb", *operations).json["proposal_id"]
        for operations in (
            (_replace("alpha", "x = 2"), _replace("beta", "# Proposed")),
            (_replace("gamma", "rejected"),),
        )
    ]
    _send(client, "POST", f"nbedit/proposals/{proposals[0]}/accept", {"parts": [0]})
    _send(client, "POST", f"nbedit/proposals/{proposals[1]}/reject", {})
    return {
        "history": {
            name: client.request("GET", f"nbedit/notebooks/{name}.ipynb/history").json["edits"]
            for name in NAMES
        },
        "modes": {
            name: client.request("GET", f"nbedit/mode?path={name}.ipynb").json["own"]
            for name in NAMES
        },
        "proposals": client.request("GET", "nbedit/proposals?status=all").json["proposals"],
    }


def _replace(cell: str, source: str) -> dict[str, Any]:
    return {"op": "replace", "cell": cell, "source": source}


def _send(client: Client, verb: str, target: str, body: dict[str, Any]) -> None:
    _check(client.request(verb, target, json.dumps(body).encode(), JSON))


def _check(answer: Answer) -> None:
    if answer.status != 200:
        message = f"{answer.status} {answer.body!r}"
        raise RuntimeError(message)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
