"""The contents of the history, its readers, and what a purge leaves."""

import itertools
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.handlers.requests import replace
from tests.handlers.routes import NAME, ROWS
from tests.support import samples
from tests.support.http import JSON, Client, Local
from tests.support.servers import run_server
from tests.support.waiting import wait_until

GOOD = samples.three_cells()
PASTED = "a secret that was pasted by mistake"
_NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """Start a server that would make its files for all to read and write."""
    folder = tmp_path_factory.mktemp("open-handed")
    before = os.umask(0)
    try:
        with run_server(folder, "--log-level=DEBUG") as client:
            yield client
    finally:
        os.umask(before)


@pytest.fixture
def name() -> str:
    """Return the path of a notebook that no other test has."""
    return f"{next(_NUMBERS)}-of-the-ledger.ipynb"


def get_history(client: Client, path: str) -> Any:
    return client.get_json(f"notebooks/{path}/history")["edits"]


def paste_and_take_out(client: Client, path: str) -> str:
    """Make a notebook whose secret is in its history alone, and return the secret."""
    secret = f"{PASTED} {path}"
    (client.root / path).write_bytes(GOOD)
    for source in (secret, "# Nothing"):
        # The author and message of a request are stored as they are; its changes, compressed.
        reply: dict[str, Any] = {}
        if source == secret:
            reply = {"client": secret, "message": secret}
        assert client.patch(path, replace("beta", source), **reply).status == 200
    assert secret.encode() not in (client.root / path).read_bytes()
    return secret


def list_files(client: Client) -> list[Path]:
    return sorted((client.root.parent / "data" / "nbedit").iterdir())


def read_stored(client: Client) -> bytes:
    return b"".join(path.read_bytes() for path in list_files(client))


@pytest.mark.threat("S25")
def test_the_history_is_readable_only_by_its_owner_under_any_umask(own: Client, name: str) -> None:
    paste_and_take_out(own, name)
    found = list_files(own)
    # The database, its log and its index.
    assert len(found) == 3
    for path in found:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    assert stat.S_IMODE(found[0].parent.stat().st_mode) == 0o700
    # The umask is the user's: files of other programs keep their modes.
    assert stat.S_IMODE((own.root.parent / "server.log").stat().st_mode) == 0o666


@pytest.fixture
def jp_root_dir(tmp_path: Path) -> Path:
    """Make the test's own server serve the folder with Jupyter's data folder."""
    return tmp_path


@pytest.mark.threat("S25")
async def test_the_history_is_not_stored_where_the_contents_api_shows_it(
    local: Local, jp_data_dir: Path
) -> None:
    (local.root / "a.ipynb").write_bytes(GOOD)
    assert jp_data_dir.parent == local.root
    assert (await local.patch("a.ipynb", replace("beta", PASTED))).json["edit_id"]
    answer = await local.request("GET", "nbedit", "notebooks", "a.ipynb", "history")
    assert len(answer.json["edits"]) == 1
    assert not (jp_data_dir / "nbedit").exists()


@pytest.mark.threat("S25")
@pytest.mark.parametrize("how", ["purged", "deleted", "deleted with its folder"])
def test_purged_text_is_in_no_byte_of_the_files(own: Client, name: str, how: str) -> None:
    path = f"folder-{name}/{name}"
    (own.root / path).parent.mkdir()
    secret = paste_and_take_out(own, path)
    assert secret.encode() in read_stored(own)
    row = get_history(own, path)[1]["hash"]
    if how == "purged":
        answer = own.request("DELETE", f"nbedit/notebooks/{path}/history")
        assert (answer.status, answer.json) == (200, {"path": path, "purged": 2})
        again = own.request("DELETE", f"nbedit/notebooks/{path}/history")
        assert again.json["purged"] == 0
    else:
        target = path if how == "deleted" else f"folder-{name}"
        assert own.request("DELETE", f"api/contents/{target}").status == 204
    wait_until(lambda: secret.encode() not in read_stored(own))
    assert row.encode() not in read_stored(own)
    assert path.encode() not in read_stored(own)


@pytest.mark.threat("S17")
def test_the_token_is_in_no_log_and_no_reply(own: Client) -> None:
    (own.root / NAME).write_bytes(GOOD)
    log = own.root.parent / "server.log"
    before = log.read_bytes().count(own.token.encode())
    for (_, verb), row in ROWS.items():
        target, body, headers = row.build_request(own.root)
        for where in (target, f"{target}?token={own.token}"):
            token = "" if "?" in where else None
            answer = own.request(verb, where, body, headers, token=token)
            assert own.token.encode() not in answer.body
            assert own.token not in str(list(answer.headers.get_all()))
    own.request("GET", f"nbedit/notebooks/missing.ipynb?token={own.token}", token="")
    # The server itself prints it once more, in the address it is to be opened at.
    masked = b"missing.ipynb?token=[secret]"
    # The answer is sent before it is logged.
    wait_until(lambda: masked in log.read_bytes(), "the last request in the log")
    assert log.read_bytes().count(own.token.encode()) == before


@pytest.mark.threat("S17")
def test_the_token_is_not_in_the_history(own: Client, name: str) -> None:
    (own.root / name).write_bytes(GOOD)
    body = json.dumps({"operations": [replace("beta", "x")], "message": f"told {name}"}).encode()
    target = f"nbedit/notebooks/{name}?token={own.token}"
    assert own.request("PATCH", target, body, JSON, token="").status == 200
    assert f"told {name}".encode() in read_stored(own)
    assert own.token.encode() not in read_stored(own)
