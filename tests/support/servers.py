"""Jupyter servers in processes of their own over a temporary folder: start, stop, kill, restart."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jupyter_nbedit.cli.demo.server import start_process
from tests.support.http import Client
from tests.support.waiting import LIMIT_SECONDS, wait_until

# They may be installed, take long to start, and are not what is tested.
_OTHER_EXTENSIONS = (
    "jupyter_lsp",
    "jupyter_server_documents",
    "jupyter_server_fileid",
    "jupyter_server_terminals",
    "jupyter_server_ydoc",
    "jupyterlab",
    "jupyterlab_jupytext",
    "jupytext",
    "notebook_shim",
)


@dataclass
class ServerProcess:
    """A running server, and after its end when that was."""

    client: Client
    process: subprocess.Popen[bytes]
    log: Path
    #: In seconds of `time.monotonic`; None as long as the server runs.
    ended: float | None = None

    def kill(self) -> None:
        """End it as a crash does."""
        self.process.send_signal(signal.SIGKILL)
        self._wait()

    def stop(self) -> None:
        """End it as its user does."""
        if self.process.poll() is None:
            self.process.terminate()
        self._wait()

    def _wait(self) -> None:
        try:
            self.process.wait(LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.ended = time.monotonic()


def start_server(  # noqa: PLR0913 -- all but the folder have defaults
    folder: Path,
    *options: str,
    application: str = "jupyter_server",
    extensions: Sequence[str] = (),
    configuration: str = "",
    environment: Mapping[str, str] | None = None,
    name: str = "server",
    python: str = sys.executable,
) -> ServerProcess:
    """Start a server and wait until it answers.

    Several servers may share a folder, at the same time or one after the other.

    Parameters
    ----------
    folder
        Everything the server writes goes in here; it serves the folder ``notebooks`` in it.
    options
        Further command line options.
    application
        The module to start: ``jupyter_server`` or ``jupyterlab``.
    extensions
        The modules of other server extensions that it loads. Whatever else is installed is
        switched off if it takes long to start.
    configuration
        Further lines of ``jupyter_server_config.py``.
    environment
        Replaces what is in its environment.
    name
        Names the log, to which a restarted server appends.
    python
        The interpreter of the environment it runs in.

    Raises
    ------
    AssertionError
        If the server ends or does not answer; the message has the end of its log.
    """
    root = folder / "notebooks"
    write_configuration(folder, application, extensions, configuration)
    log = folder / f"{name}.log"
    process = start_process(
        application, folder, *options, log=log, environment=environment, python=python
    )
    runtime = (environment or {}).get("JUPYTER_RUNTIME_DIR", folder / "runtime")
    info = Path(runtime) / f"jpserver-{process.pid}.json"
    try:
        client = wait_until(lambda: _connect(process, info, root), "an answer of the server")
    except BaseException:
        process.kill()
        process.wait()
        print(f"The end of the server's log:\n{log.read_text()[-4000:]}")
        raise
    return ServerProcess(client, process, log)


def write_configuration(
    folder: Path,
    application: str = "jupyter_server",
    extensions: Sequence[str] = (),
    more: str = "",
) -> None:
    """Write the configuration of a server that loads few extensions but ours, and its folders."""
    # Other extensions expect that the data folder is there.
    for name in ("notebooks", "config", "data"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    loaded = {
        other: other in extensions or other == application
        for other in (*_OTHER_EXTENSIONS, *extensions)
    }
    (folder / "config" / "jupyter_server_config.py").write_text(
        f"c = get_config()\nc.ServerApp.jpserver_extensions = {loaded!r}\n{more}"
    )


@contextmanager
def run_server(folder: Path, *options: str, **more: Any) -> Iterator[Client]:
    """Run a server while the block runs; the parameters are those of `start_server`."""
    server = start_server(folder, *options, **more)
    try:
        yield server.client
    finally:
        server.stop()


def _connect(process: subprocess.Popen[bytes], info: Path, root: Path) -> Client | None:
    """Return a client if the server answers; its address and token it has written down itself."""
    assert process.poll() is None, f"The server ended with exit code {process.returncode}."
    try:
        connection_info = json.loads(info.read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        # It may be there before it is written.
        return None
    client = Client(
        connection_info["port"], connection_info["token"], root, connection_info["base_url"]
    )
    # It is written before the server listens.
    with suppress(ConnectionError):
        client.request("GET", "api/status")
        return client
    return None
