"""Run the JupyterLab of a virtual environment with nothing of this user's own settings in it."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from process import Process

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
START_SECONDS = 60


class ServerError(Exception):
    """JupyterLab did not start; the message carries the end of its log."""


@dataclass(frozen=True)
class LabServer:
    """A JupyterLab: where it is, who may in, and where its files are."""

    url: str
    token: str
    root: Path
    version: str
    port: int
    _process: Process

    @property
    def process_id(self) -> int:
        return self._process.popen.pid

    def start(self) -> None:
        """Start it, also after a stop, and wait until it answers."""
        self._process.start()
        _wait_until_it_answers(self, self._process.popen, self._process.log)

    def stop(self) -> None:
        """Stop it, and wait until it has ended."""
        self._process.stop()


def python_of(env: Path) -> Path:
    """Answer the interpreter of a virtual environment."""
    return env / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


@contextlib.contextmanager
def running(
    env: Path, folder: Path, base_url: str, application: str = "jupyterlab"
) -> Iterator[LabServer]:
    """Serve while the block runs; everything the server writes goes under `folder`.

    `base_url` is the path below which all addresses are, written as it is in addresses;
    `application` is the module to start, ``jupyterlab`` or ``notebook``.

    Raises
    ------
    ServerError
        It ended, or did not answer in time.
    """
    python = python_of(env)
    version = subprocess.run(
        [python, "-c", f"import {application}; print({application}.__version__)"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout.strip()
    port = find_free_port()
    token = secrets.token_hex(16)
    config = HERE / "jupyter_server_test_config.py"
    command = [str(python), "-m", application, f"--config={config}"]
    command.append(f"--ServerApp.base_url={base_url}")
    server = LabServer(
        url=f"http://127.0.0.1:{port}{base_url.rstrip('/')}",
        token=token,
        root=folder / "root",
        version=version,
        port=port,
        _process=Process(
            command, _environment(token, port, folder), folder, folder / "jupyterlab.log"
        ),
    )
    try:
        server.start()
        yield server
    finally:
        server.stop()


def find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _environment(token: str, port: int, folder: Path) -> dict[str, str]:
    places = {
        "HOME": "home",
        "IPYTHONDIR": "ipython",
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "JUPYTERLAB_GALATA_ROOT_DIR": "root",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
        "TMPDIR": "tmp",
    }
    for name in places.values():
        (folder / name).mkdir()
    # What the caller's Jupyter is set to must not reach the one under test.
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("JUPYTER", "IPYTHON", "PYTHON"))
    }
    return {
        **inherited,
        **{variable: str(folder / name) for variable, name in places.items()},
        "NBEDIT_PORT": str(port),
        "NBEDIT_TOKEN": token,
    }


def _wait_until_it_answers(server: LabServer, process: subprocess.Popen[bytes], log: Path) -> None:
    request = urllib.request.Request(  # noqa: S310 - http, and our own
        f"{server.url}/api/status", headers={"Authorization": f"token {server.token}"}
    )
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(urllib.error.URLError, ConnectionError, TimeoutError):
            urllib.request.urlopen(request, timeout=5).close()  # noqa: S310 - as above
            return
        time.sleep(0.1)
    end = log.read_text(errors="replace")[-4000:]
    why = (
        f"did not answer within {START_SECONDS} s"
        if process.poll() is None
        else f"ended with {process.returncode}"
    )
    raise ServerError(f"The server of {server.version} {why}. The end of its log:\n{end}")
