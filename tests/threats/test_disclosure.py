"""What replies, events and logs contain: S18, S20, S22, S24, S25 and S29."""

import contextlib
import json
import os
import stat
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.handlers.error_checks import get_error
from tests.handlers.identity_provider import AdaProvider
from tests.handlers.requests import replace
from tests.handlers.routes import NAME
from tests.services.events.listener import open_listener
from tests.support import corpora, samples
from tests.support.http import Client, Local
from tests.support.sampling import is_nightly
from tests.support.servers import run_server

GOOD = samples.three_cells()
KEPT = "for the notebook only"
CONTROLS = [
    "\n[I 2026-01-01 ServerApp] all is well",
    "\x1b[2J\x1b[31m",
    "\u202egnp.exe",
    "\r",
    "\0",
]
#: What a page must never run, wherever it is shown.
PAYLOADS = [
    "<script>window.__pwned = 1</script>",
    "<img src=x onerror=window.__pwned=1>",
    '"><svg onload=window.__pwned=1>',
    "javascript:window.__pwned=1",
    "[x](javascript:window.__pwned=1)",
    "{{constructor.constructor('window.__pwned=1')()}}",
]


@pytest.mark.threat("S20")
def test_any_request_writes_one_line_to_the_log(tmp_path: Path) -> None:
    naughty = json.loads((corpora.corpus("naughty") / "blns.json").read_text())
    every = 1 if is_nightly() else 10
    texts = [text[:190] for text in (*naughty[::every], *CONTROLS) if _is_utf_8(text)]
    with run_server(tmp_path, "--debug") as client:
        (client.root / NAME).write_bytes(GOOD)
        log = client.root.parent / "server.log"
        before = log.stat().st_size
        for number, text in enumerate(texts):
            answer = client.patch(NAME, replace("beta", str(number)), client=text, message=text)
            assert answer.status == 200, answer.body
            if number % 5 == 0:
                # Errors repeat parts of the request.
                client.patch(NAME, {"op": "delete", "cell": text or "x"})
    lines = log.read_bytes()[before:].decode().split("\n")
    refused = [line for line in lines if "cell_not_found: " in line]
    assert len(refused) == len(texts[::5])
    assert all(line.startswith("[") for line in refused)
    for line in lines:
        assert line.isprintable() or not line.startswith("["), line
        assert not line.startswith("[I 2026-01-01 ServerApp] all is well")
        assert "\x1b" not in line
        assert "\u202e" not in line


def _is_utf_8(text: str) -> bool:
    return text.encode("utf-8", "ignore").decode() == text


@pytest.mark.threat("S22")
async def test_executable_markup_is_plain_data_in_replies_and_events(
    local: Local, jp_ws_fetch: Any
) -> None:
    # The rendering in a page is tested in a browser, in ui-tests.
    async with open_listener(jp_ws_fetch) as listener:
        for number, payload in enumerate(PAYLOADS, 1):
            name = f"{payload.replace('/', '_')}.ipynb"
            (local.root / name).write_bytes(GOOD)
            edit = replace("beta", payload)
            answer = await local.patch(name, edit, client=payload, message=payload)
            error = await local.patch(name, {"op": "delete", "cell": payload})
            assert (answer.status, error.status) == (200, 404)
            for reply in (answer, error):
                assert reply.headers["Content-Type"].startswith("application/json")
                assert reply.headers["X-Content-Type-Options"] == "nosniff"
                assert "default-src 'none'" in reply.headers["Content-Security-Policy"]
            assert payload in answer.json["diff"]
            event = (await listener.wait_for(number))[-1]
            # A page is told path and client as they are, and must show them as text; it is told no
            # source and no message, as the test of the schema in tests/services/events says.
            assert (event["path"], event["client"]) == (name, payload)


@pytest.mark.threat("S24")
@pytest.mark.parametrize(
    "jp_server_config", [{"ServerApp": {"identity_provider_class": AdaProvider}}], indirect=True
)
async def test_a_stated_client_name_is_never_the_user_name(local: Local, jp_ws_fetch: Any) -> None:
    (local.root / NAME).write_bytes(GOOD)
    async with open_listener(jp_ws_fetch) as listener:
        assert (await local.patch(NAME, replace("beta", "x"), client="admin")).status == 200
        error = await local.patch(NAME, replace("beta", "x"), user="admin")
        get_error(error, 400, "invalid_request")
        (event,) = await listener.wait_for(1)
    assert (event["user"], event["client"]) == ("ada", "admin")


@pytest.mark.threat("S25")
def test_files_of_the_extension_are_readable_only_by_their_owner(live: Client) -> None:
    (live.root / NAME).write_bytes(GOOD)
    (live.root / NAME).chmod(0o600)
    assert live.patch(NAME, replace("beta", KEPT)).status == 200
    assert stat.S_IMODE((live.root / NAME).stat().st_mode) == 0o600
    assert [path.name for path in live.root.iterdir() if "a.ipynb" in path.name] == [NAME]
    locks = live.root.parent / "runtime" / "nbedit" / "locks"
    assert locks.is_dir()
    for path in (locks, *locks.rglob("*")):
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), (path, oct(mode))
        # A lock file shows that there is a lock, and nothing about notebooks; the log of writes has
        # hashes only.
        assert path.is_dir() or path.name == "writes" or path.read_bytes() == b""
        assert path.is_dir() or NAME.encode() not in path.read_bytes()


@pytest.mark.threat("S25")
def test_a_private_notebook_is_private_from_its_first_written_byte(live: Client) -> None:
    folder = live.root / "private"
    folder.mkdir()
    path = folder / NAME
    path.write_bytes(
        samples.notebook(samples.raw("x" * 4_000_000, "large"), samples.raw("", "beta"))
    )
    path.chmod(0o600)
    modes, over = set(), threading.Event()

    def look() -> None:
        while not over.is_set():
            for found in os.scandir(folder):
                with contextlib.suppress(FileNotFoundError):
                    modes.add((found.name == NAME, stat.S_IMODE(found.stat().st_mode)))

    looking = threading.Thread(target=look)
    looking.start()
    try:
        for number in range(20):
            assert live.patch(f"private/{NAME}", replace("beta", str(number))).status == 200
    finally:
        over.set()
        looking.join()
    # Temporary files were seen, and all were as private as the notebook.
    assert modes == {(True, 0o600), (False, 0o600)}
