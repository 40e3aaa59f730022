"""Run a temporary Jupyter server that uses none of the user's files and settings."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

START_SECONDS = 60
STOP_SECONDS = 20
REQUEST_SECONDS = 60


class DemoError(Exception):
    """The demo cannot continue; the message says what to do."""


@dataclass(frozen=True)
class Server:
    """A running server: its port on this machine, its token, and its root folder."""

    port: int
    token: str
    root: Path

    def send_request(self, verb: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Send a body as JSON; return the status and the decoded body, None if it is not JSON."""
        headers = {"Authorization": f"token {self.token}", "Content-Type": "application/json"}
        connection = HTTPConnection("127.0.0.1", self.port, timeout=REQUEST_SECONDS)
        with contextlib.closing(connection):
            content = None if body is None else json.dumps(body)
            connection.request(verb, path, body=content, headers=headers)
            response = connection.getresponse()
            data = response.read()
        is_json = response.headers.get_content_type() == "application/json"
        return response.status, json.loads(data) if is_json and data else None


@contextlib.contextmanager
def run_server(
    application: str, folder: Path, *options: str, python: str = sys.executable
) -> Iterator[Server]:
    """Run a Jupyter server as long as the context is open; see `start_process`.

    Raise `DemoError` with the end of its log if it has ended or has not responded in time.
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
    """Start a Jupyter server, and do not wait until it responds.

    ``application`` is the module to start, ``jupyterlab`` or ``jupyter_server``. All files of the
    server are in the folder; its root is the folder ``notebooks`` in it. Its output is appended to
    the file ``log``. The variables of ``environment`` replace those of this process.
    """
    command = [
        *(python, "-m", application),
        f"--ServerApp.root_dir={folder / 'notebooks'}",
        # Deny access to handlers that do not declare their permissions.
        "--ServerApp.allow_unauthenticated_access=False",
        *options,
    ]
    if sys.platform != "win32" and os.geteuid() == 0:
        command.append("--allow-root")
    with log.open("ab") as output:
        return subprocess.Popen(  # noqa: S603 - our own command
            command,
            env={**_build_environment(folder), **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            # Ctrl-C must not reach the server, which would ask for a confirmation.
            start_new_session=True,
        )


def _build_environment(folder: Path) -> dict[str, str]:
    folders = {
        "IPYTHONDIR": "ipython",
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
    }
    settings = folder / "settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True, exist_ok=True)
    # The question of JupyterLab about news would cover the notifications of the extension.
    (settings / "notification.jupyterlab-settings").write_text(
        '{"fetchNews": "false", "checkForUpdates": false}', encoding="utf-8"
    )
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("IPYTHON", "JUPYTER"))
    }
    paths = {variable: str(folder / name) for variable, name in folders.items()}
    return {**inherited, **paths, "JUPYTER_PORT": str(find_free_port())}


def find_free_port() -> int:
    """Return a free port of this machine."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_until_ready(process: subprocess.Popen[bytes], folder: Path, log: Path) -> Server:
    """Wait until the server responds; its own file in the runtime folder has port and token."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        for file in (folder / "runtime").glob("jpserver-*.json"):
            # The file may be incomplete, and the server may not listen yet.
            with contextlib.suppress(json.JSONDecodeError, ConnectionError):
                info = json.loads(file.read_text(encoding="utf-8"))
                server = Server(info["port"], info["token"], folder / "notebooks")
                server.send_request("GET", "/api/status")
                return server
        time.sleep(0.1)
    problem = f"did not answer in {START_SECONDS} s"
    if process.poll() is not None:
        problem = f"ended with exit code {process.returncode}"
    end = log.read_bytes()[-4000:].decode(errors="replace")
    raise DemoError(f"The server {problem}. The end of its log:\n{end}")
