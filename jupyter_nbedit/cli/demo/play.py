"""Play the script of the demo: in JupyterLab, or with checks and without a page."""

import contextlib
import difflib
import hashlib
import importlib.util
import json
import math
import os
import shutil
import sys
import tempfile
import time
import webbrowser
from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any

from jupyter_nbedit.cli.demo.script import CLIENT, NOTEBOOK, STEPS, Operations, Step
from jupyter_nbedit.cli.demo.server import DemoError, Server, run_server

HERE = Path(__file__).parent
#: Notebooks to try more with; the documentation uses them, too.
SAMPLES = HERE / "notebooks"
# Browsers in a terminal, which `webbrowser` also finds. They cannot show JupyterLab.
_TEXT_BROWSERS = frozenset({"elinks", "links", "lynx", "w3m", "www-browser"})
#: How long a browser may take to open the notebook, in seconds.
PAGE_SECONDS = 30.0
#: How long a person can look at the notebook before the first step, in seconds.
START_SECONDS = 3.0
#: How long the agent waits until the page shows an edit, in milliseconds.
SHOWN_MILLISECONDS = 5000
ROUTE = f"/nbedit/notebooks/{NOTEBOOK}"


class NoPageError(Exception):
    """No page shows the notebook; the message says why."""


def explain_missing_browser() -> str | None:
    """Return why no browser can be opened, or None if Python has found a browser."""
    try:
        name = Path(webbrowser.get().name).name
    except webbrowser.Error:
        has_display = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
        return "no browser was found" if has_display else "this machine has no display"
    if name in _TEXT_BROWSERS:
        return f"the only browser is {name}, which cannot show JupyterLab"
    return None


def check_script() -> None:
    """Play the script on a Jupyter server without JupyterLab, and check every response."""
    with _make_folder() as folder, run_server("jupyter_server", folder, "--no-browser") as server:
        _prepare(server)
        requests = [(step, *request) for step in STEPS for request in step.requests]
        for step, message, operations in requests:
            _set_mode(server, step.mode)
            _send_and_print(server, step, message, operations)
        # In review mode, an undo by a program is a proposal.
        _set_mode(server, "edit")
        for edit_id in reversed(_list_edits(server)):
            _send(server, "POST", f"{ROUTE}/undo", {"edit_id": edit_id, "client": CLIENT})
        if (server.root / NOTEBOOK).read_bytes() != (HERE / NOTEBOOK).read_bytes():
            raise DemoError(f"{NOTEBOOK} is not as it was before the edits that are undone.")
        if not _is_trusted(server):
            raise DemoError(f"{NOTEBOOK} was trusted before the edits, and is not now.")
    print(
        f"\nAll {len(requests)} answers were as promised. After the undo of all edits the notebook"
        " is byte for byte as it was, and still trusted."
    )


def play_in_browser(
    *, open_browser: bool, waits_for_enter: bool, page_seconds: float | None = None
) -> None:
    """Play the script while the notebook is open in JupyterLab, and leave it open.

    Raise `NoPageError` if no browser can be opened, or if no page has opened the notebook after
    ``page_seconds``. The default is `PAGE_SECONDS`, or no limit if a person opens the page.
    """
    if open_browser and (problem := explain_missing_browser()):
        raise NoPageError(f"No browser can be opened: {problem}.")
    if page_seconds is None:
        page_seconds = PAGE_SECONDS if open_browser else math.inf
    if importlib.util.find_spec("jupyterlab") is None:
        raise DemoError(
            "there is no JupyterLab here to watch the edits in. Install it with\n"
            f"    {sys.executable} -m pip install 'jupyter_nbedit[lab]'\n"
            "or add `--once`, which does without."
        )
    options = [f"--LabApp.default_url=/lab/tree/{NOTEBOOK}"]
    if not open_browser:
        options.append("--no-browser")
    with _make_folder() as folder, run_server("jupyterlab", folder, *options) as server:
        _prepare(server)
        page = f"http://127.0.0.1:{server.port}/lab/tree/{NOTEBOOK}?token={server.token}"
        print(f"JupyterLab with {NOTEBOOK} is at\n    {page}")
        print("The agent begins when that page is open. Ctrl-C ends the demo.", flush=True)
        # The user may shut JupyterLab down from its File menu.
        with contextlib.suppress(ConnectionError):
            _wait_for_page(server, page_seconds)
            play_steps(server, _wait_for_enter if waits_for_enter else time.sleep)
            print(
                "\nThat was all. The notebook stays open, to try more. Ctrl-C ends JupyterLab and"
                f" removes the notebook\nand all else that the demo has written, in {folder}.",
                flush=True,
            )
            while True:
                server.send_request("GET", "/api/status")
                time.sleep(1)


def play_steps(server: Server, pause: Callable[[float], object]) -> None:
    """Play all steps, and say for each what to try.

    An error of a step does not end the demo: a person may have deleted a cell.
    """
    pause(START_SECONDS)
    for number, step in enumerate(STEPS, 1):
        print(f"\n{number} of {len(STEPS)}: {step.title}\n    {step.hint}", flush=True)
        _set_mode(server, step.mode)
        for message, operations in step.requests:
            route = f"{ROUTE}?wait_tabs={SHOWN_MILLISECONDS}"
            status, reply = server.send_request("PATCH", route, _make_body(message, operations))
            if status >= HTTPStatus.BAD_REQUEST:
                print(f"    The agent could not do it: {reply['message']}", flush=True)
            pause(step.seconds)
        if not step.requests:
            pause(step.seconds)


def check_promises(
    step: Step, status: int, reply: Mapping[str, Any], before: bytes, after: bytes
) -> None:
    """Raise `DemoError` if a response or the file is not as documented."""
    old_hash, new_hash = (hashlib.sha256(data).hexdigest() for data in (before, after))
    if step.mode == "review":
        promises = {
            f"the status 202, not {status}": status == HTTPStatus.ACCEPTED,
            "a proposal": "proposal_id" in reply,
            "a file that a proposal leaves unchanged": after == before,
        }
    else:
        promises = {
            f"the status 200, not {status}": status == HTTPStatus.OK,
            "the hash the file had": reply.get("hash_before") == old_hash,
            "the hash of what is on disk": reply.get("hash") == new_hash,
            "the bytes of everything else to be kept": reply.get("bytes_preserved") is True,
        }
    for promise, is_kept in promises.items():
        if not is_kept:
            raise DemoError(f"This was promised: {promise}.")


def _send_and_print(server: Server, step: Step, message: str, operations: Operations) -> None:
    """Send a request; print and check the response and the diff of the file."""
    file = server.root / NOTEBOOK
    body = _make_body(message, operations)

    before = file.read_bytes()
    status, reply = server.send_request("PATCH", ROUTE, body)
    after = file.read_bytes()

    print(f"\n# {message}")
    print(f"PATCH {ROUTE}\n{json.dumps(body, indent=2)}\n")
    print(f"{status} {HTTPStatus(status).phrase}\n{json.dumps(reply, indent=2)}\n")
    print(_compute_file_diff(before, after), flush=True)
    check_promises(step, status, reply, before, after)


def _make_body(message: str, operations: Operations) -> dict[str, Any]:
    return {"operations": operations, "client": CLIENT, "message": message}


def _compute_file_diff(before: bytes, after: bytes) -> str:
    """Return the unified diff of the file."""
    old, new = (content.decode().splitlines() for content in (before, after))
    lines = list(difflib.unified_diff(old, new, NOTEBOOK, NOTEBOOK, n=1, lineterm=""))
    return "\n".join(lines) or "The file is unchanged."


@contextlib.contextmanager
def _make_folder() -> Iterator[Path]:
    """Make a temporary folder with copies of the notebooks."""
    with tempfile.TemporaryDirectory(prefix="nbedit-demo-", ignore_cleanup_errors=True) as folder:
        notebooks = shutil.copytree(SAMPLES, Path(folder, "notebooks"))
        shutil.copy(HERE / NOTEBOOK, notebooks)
        yield Path(folder)


def _prepare(server: Server) -> None:
    """Check that the extension is enabled, and make the server trust the notebook."""
    status, _ = server.send_request("GET", "/nbedit")
    if status != HTTPStatus.OK:
        raise DemoError(
            f"the server answers /nbedit with {status}, so the extension is not on. See what\n"
            f"    {sys.executable} -m jupyter server extension list\n"
            "says of jupyter_nbedit."
        )
    server.send_request("POST", f"/api/contents/{NOTEBOOK}/trust")
    if not _is_trusted(server):
        raise DemoError(f"the server was asked to trust {NOTEBOOK}, but does not.")


def _is_trusted(server: Server) -> bool:
    trusted: bool = _send(server, "GET", ROUTE)["trusted"]
    return trusted


def _set_mode(server: Server, mode: str) -> None:
    _send(server, "PUT", "/nbedit/mode", {"path": NOTEBOOK, "mode": mode})


def _list_edits(server: Server) -> list[int]:
    """Return the ids of all edits, oldest first."""
    edits = _send(server, "GET", f"{ROUTE}/history")["edits"]
    return [edit["edit_id"] for edit in reversed(edits)]


def _send(server: Server, verb: str, path: str, body: Any = None) -> Any:
    """Send a request that must succeed; return the decoded body of the response."""
    status, reply = server.send_request(verb, path, body)
    if status >= HTTPStatus.BAD_REQUEST:
        raise DemoError(f"{verb} {path} was answered with {status}: {reply}")
    return reply


def _wait_for_page(server: Server, seconds: float) -> None:
    """Wait until the notebook is open in JupyterLab; raise `NoPageError` if that takes too long."""
    question = {"operations": [{"op": "clear_outputs", "all": True}], "dry_run": True}
    deadline = time.monotonic() + seconds
    while _send(server, "PATCH", ROUTE, question)["tabs"]["open"] == 0:
        if time.monotonic() >= deadline:
            raise NoPageError(f"No page has opened the notebook within {seconds:g} seconds.")
        time.sleep(0.5)


def _wait_for_enter(_: float) -> None:
    print("Press Enter to go on. ", end="", flush=True)
    sys.stdin.readline()
