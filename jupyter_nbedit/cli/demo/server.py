"""A Jupyter server of the demo's own: scratch files, nothing of the user's settings."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import TYPE_CHECKING, Any

from jupyter_nbedit.cli.demo import DemoError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

START_SECONDS = 60
STOP_SECONDS = 20
REQUEST_SECONDS = 60


class ServerError(DemoError):
    """The server did not start, or does not answer as a Jupyter server should."""


@dataclass(frozen=True)
class Server:
    """A running server: where it listens, its token, and the folder it serves."""

    port: int
    token: str
    root: Path

    def send_request(self, verb: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Send JSON; return the status and the JSON that came back, None if it was no JSON."""
        headers = {"Authorization": f"token {self.token}", "Content-Type": "application/json"}
        connection = HTTPConnection("127.0.0.1", self.port, timeout=REQUEST_SECONDS)
        with contextlib.closing(connection):
            content = None if body is None else json.dumps(body)
            connection.request(verb, path, body=content, headers=headers)
            response = connection.getresponse()
            answer = response.read()
        is_json = response.headers.get_content_type() == "application/json"
        return response.status, json.loads(answer) if is_json and answer else None


@contextlib.contextmanager
def run_server(
    application: str, folder: Path, *options: str, python: str = sys.executable
) -> Iterator[Server]:
    """Run a Jupyter server while the block does.

    Parameters
    ----------
    application
        The module to start: ``jupyterlab`` or ``jupyter_server``.
    folder
        Everything the server writes goes in here; it serves the folder ``notebooks`` in it.
    options
        Further command line options.
    python
        The interpreter of the environment it runs in.

    Raises
    ------
    ServerError
        The server has ended or has not answered in time; the message has the end of its log.
    """
    log = folder / "server.log"
    process = start_process(application, folder, *options, python=python, log=log)
    try:
        yield _wait_until_ready(process, folder, log)
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def start_process(
    application: str,
    folder: Path,
    *options: str,
    log: Path,
    environment: Mapping[str, str] | None = None,
    python: str = sys.executable,
) -> subprocess.Popen[bytes]:
    """Start a Jupyter server and do not wait until it answers.

    Parameters
    ----------
    application, folder, options, python
        As for `running`.
    log
        The file that its output is appended to.
    environment
        Replaces what is in its environment.
    """
    command = [
        *(python, "-m", application),
        f"--ServerApp.root_dir={folder / 'notebooks'}",
        # What does not say who may use it is for nobody.
        "--ServerApp.allow_unauthenticated_access=False",
        *options,
    ]
    if os.name == "posix" and os.geteuid() == 0:
        command.append("--allow-root")
    with log.open("ab") as output:
        return subprocess.Popen(  # noqa: S603 - our own command
            command,
            env={**_build_environment(folder), **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            # Ctrl-C is for whoever started it; the server would ask whether it is meant.
            start_new_session=True,
        )


def _build_environment(folder: Path) -> dict[str, str]:
    own = {
        "IPYTHONDIR": "ipython",
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
    }
    news = folder / "settings" / "@jupyterlab" / "apputils-extension"
    news.mkdir(parents=True, exist_ok=True)
    # JupyterLab's question about news would cover our notices.
    (news / "notification.jupyterlab-settings").write_text(
        '{"fetchNews": "false", "checkForUpdates": false}'
    )
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("IPYTHON", "JUPYTER"))
    }
    places = {variable: str(folder / name) for variable, name in own.items()}
    return {**inherited, **places, "JUPYTER_PORT": str(find_free_port())}


def find_free_port() -> int:
    """Return a port of this machine that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_until_ready(process: subprocess.Popen[bytes], folder: Path, log: Path) -> Server:
    """Wait for the server; where it is and its token it has written down itself."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        for file in (folder / "runtime").glob("jpserver-*.json"):
            # It may be there before it is written, and before the server listens.
            with contextlib.suppress(json.JSONDecodeError, ConnectionError):
                info = json.loads(file.read_text())
                server = Server(info["port"], info["token"], folder / "notebooks")
                server.send_request("GET", "/api/status")
                return server
        time.sleep(0.1)
    why = f"did not answer in {START_SECONDS} s"
    if process.poll() is not None:
        why = f"ended with exit code {process.returncode}"
    raise ServerError(f"The server {why}. The end of its log:\n{log.read_text()[-4000:]}")
