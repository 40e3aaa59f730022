"""Play the script of the demo: in JupyterLab, or with checks and without a page."""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import importlib.util
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any

from jupyter_nbedit.cli.demo.script import RICH, STEPS, Step
from jupyter_nbedit.cli.demo.server import DemoError, Server, run_server

SAMPLES = Path(__file__).parent / "notebooks"
PAUSE = 4.0  # seconds between two steps


def check_script() -> None:
    """Play the script on a Jupyter server without JupyterLab, and check every response."""
    with _copy_samples() as folder, run_server("jupyter_server", folder, "--no-browser") as server:
        _prepare(server)
        for step in STEPS:
            play_step(server, step, is_checked=True)
        for sample in SAMPLES.glob("*.ipynb"):
            if (server.root / sample.name).read_bytes() != sample.read_bytes():
                raise DemoError(f"{sample.name} did not end as it began.")
        if not _is_trusted(server):
            raise DemoError(f"{RICH} was trusted before the edits, and is not now.")
    print(
        f"\nAll {len(STEPS)} answers were as promised, the files ended byte for byte as they began,"
        f" and {RICH} is still trusted."
    )


def play_in_browser(*, open_browser: bool) -> None:
    """Play the script while a notebook is open in JupyterLab, as often as the user wants."""
    if importlib.util.find_spec("jupyterlab") is None:
        raise DemoError(
            "there is no JupyterLab here to watch the edits in. Install it with\n"
            f"    {sys.executable} -m pip install 'jupyter_nbedit[lab]'\n"
            "or add `--no-browser --once`, which does without."
        )
    options = [f"--LabApp.default_url=/lab/tree/{RICH}"]
    if not open_browser:
        options.append("--no-browser")
    with _copy_samples() as folder, run_server("jupyterlab", folder, *options) as server:
        _prepare(server)
        page = f"http://127.0.0.1:{server.port}/lab/tree/{RICH}?token={server.token}"
        print(f"JupyterLab with {RICH} is at\n    {page}")
        print("The agent begins when that page is open. Ctrl-C ends the demo.", flush=True)
        # The user may shut JupyterLab down from its File menu.
        with contextlib.suppress(ConnectionError):
            _wait_for_page(server)
            while True:
                for step in STEPS:
                    time.sleep(PAUSE)
                    play_step(server, step)
                _wait_for_repeat(server)


def play_step(server: Server, step: Step, *, is_checked: bool = False) -> None:
    """Send one step, print the request, the response and the diff of the file; check them."""
    file = server.root / step.path
    route = f"/nbedit/notebooks/{step.path}"
    request = {"operations": step.operations, "client": "demo agent", "message": step.message}

    before = file.read_bytes()
    status, reply = server.send_request("PATCH", route, request)
    after = file.read_bytes()

    print(f"\n# {step.message}")
    print(f"PATCH {route}\n{json.dumps(request, indent=2)}\n")
    print(f"{status} {HTTPStatus(status).phrase}\n{json.dumps(reply, indent=2)}\n")
    print(_compute_file_diff(step.path, before, after), flush=True)
    if is_checked:
        check_promises(step, status, reply, before, after)


def check_promises(
    step: Step, status: int, reply: Mapping[str, Any], before: bytes, after: bytes
) -> None:
    """Raise `DemoError` if a response or the file is not as documented."""
    if step.expected_reason is not None:
        promises = {
            f"an error, not the status {status}": status >= HTTPStatus.BAD_REQUEST,
            f"the reason {step.expected_reason}": reply.get("reason") == step.expected_reason,
            "a file that an error leaves unchanged": after == before,
        }
    else:
        old_hash, new_hash = (hashlib.sha256(data).hexdigest() for data in (before, after))
        promises = {
            f"the status 200, not {status}": status == HTTPStatus.OK,
            "the hash the file had": reply.get("hash_before") == old_hash,
            "the hash of what is on disk": reply.get("hash") == new_hash,
            "the bytes of everything else to be kept": reply.get("bytes_preserved") is True,
        }
    for promise, is_kept in promises.items():
        if not is_kept:
            raise DemoError(f"This was promised: {promise}.")


def _compute_file_diff(path: str, before: bytes, after: bytes) -> str:
    """Return the unified diff of the file, in which CR LF is visible."""
    old, new = (
        content.decode().replace("\r\n", "\N{SYMBOL FOR CARRIAGE RETURN}\n").splitlines()
        for content in (before, after)
    )
    lines = list(difflib.unified_diff(old, new, path, path, n=1, lineterm=""))
    return "\n".join(lines) or "The file is unchanged."


@contextlib.contextmanager
def _copy_samples() -> Iterator[Path]:
    """Copy the samples to a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="nbedit-demo-", ignore_cleanup_errors=True) as folder:
        shutil.copytree(SAMPLES, Path(folder, "notebooks"))
        yield Path(folder)


def _prepare(server: Server) -> None:
    """Check that the extension is enabled, and make the server trust the notebook with outputs."""
    status, _ = server.send_request("GET", "/nbedit")
    if status != HTTPStatus.OK:
        raise DemoError(
            f"the server answers /nbedit with {status}, so the extension is not on. See what\n"
            f"    {sys.executable} -m jupyter server extension list\n"
            "says of jupyter_nbedit."
        )
    server.send_request("POST", f"/api/contents/{RICH}/trust")
    if not _is_trusted(server):
        raise DemoError(f"the server was asked to trust {RICH}, but does not.")


def _is_trusted(server: Server) -> bool:
    _, notebook = server.send_request("GET", f"/nbedit/notebooks/{RICH}")
    trusted: bool = notebook["trusted"]
    return trusted


def _wait_for_page(server: Server) -> None:
    """Wait until the notebook is open in JupyterLab, which then connects to its kernel."""
    while server.send_request("GET", "/api/status")[1]["connections"] == 0:
        time.sleep(0.5)


def _wait_for_repeat(server: Server) -> None:
    """Wait until the user wants to see the script again; forever without a terminal."""
    if sys.stdin.isatty():
        input("\nPress Enter to see it again, or Ctrl-C to end the demo. ")
        return
    print("\nThat was all. The page stays open until Ctrl-C.", flush=True)
    while True:
        server.send_request("GET", "/api/status")
        time.sleep(1)
