"""Play the script of the demo: in JupyterLab, or with checks and without a page."""

from __future__ import annotations

import contextlib
import importlib.util
import shutil
import sys
import tempfile
import time
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING

from jupyter_nbedit.cli.demo import DemoError, agent
from jupyter_nbedit.cli.demo.script import RICH, STEPS
from jupyter_nbedit.cli.demo.server import Server, run_server

if TYPE_CHECKING:
    from collections.abc import Iterator

SAMPLES = Path(__file__).parent / "notebooks"
PAUSE = 4.0  # seconds between two steps

__all__ = ["DemoError", "check_script", "play_in_browser"]


def check_script() -> None:
    """Play the script on a Jupyter server without JupyterLab, and check every response."""
    with _copy_samples() as folder, run_server("jupyter_server", folder, "--no-browser") as server:
        _prepare(server)
        for step in STEPS:
            agent.check(agent.send(server, step))
        for sample in SAMPLES.glob("*.ipynb"):
            if (server.root / sample.name).read_bytes() != sample.read_bytes():
                raise agent.BrokenPromiseError(f"{sample.name} did not end as it began.")
        if not _is_trusted(server):
            raise agent.BrokenPromiseError(f"{RICH} was trusted before the edits, and is not now.")
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
                    agent.send(server, step)
                _wait_for_repeat(server)


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
