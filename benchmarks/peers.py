"""Installed peers, each called through its own interface."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any

from benchmarks.connection import Connection
from benchmarks.files import Cell, check_edit
from jupyter_nbedit.cli.demo.server import run_server
from tests.support.http import Client
from tests.support.paths import CACHE

NB_CLI = "nb-cli"
MCP = "jupyter-mcp-server"
LIMIT = 120.0  # seconds, for one edit
_EDITED = "edited.ipynb"


class PeerError(Exception):
    """A peer cannot be had, or did not make the edit."""


@cache
def install_peers() -> Path:
    """Return the environment of the peers; install it unless it is complete."""
    folder = CACHE / "peers"
    requirements = Path(__file__).with_name("peers.txt")
    installed = folder / ".peers"
    if not installed.exists() or installed.read_text() != requirements.read_text():
        python = str(folder / "bin" / "python")
        try:
            subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
            subprocess.run([python, "-m", "pip", "install", "-q", "-r", requirements], check=True)
        except subprocess.CalledProcessError as error:
            raise PeerError(f"could not be installed: {error}") from error
        installed.write_text(requirements.read_text())
    return folder


class NbCli:
    """nb-cli, on files: a program that is started for each edit."""

    def __init__(self) -> None:
        self._folder = install_peers() / "bin"
        # It looks for kernels there.
        self._environment = {**os.environ, "PATH": f"{self._folder}:{os.environ['PATH']}"}

    def edit(self, file: Path, cell: Cell, text: str) -> float:
        """Edit the cell."""
        named = ("--cell-index", str(cell)) if isinstance(cell, int) else ("--cell", cell)
        began = time.perf_counter()
        self.run("cell", "update", str(file), *named, "--source", text, folder=file.parent)
        took = time.perf_counter() - began
        check_edit(file, cell, text)
        return took

    def run(self, *arguments: str, folder: Path, source: str | None = None) -> str:
        """Run it in a folder, with a source as its input; return its output."""
        process = subprocess.run(
            (self._folder / "nb", *arguments),
            input=source,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
            cwd=folder,
            env=self._environment,
        )
        if process.returncode:
            raise PeerError(f"{NB_CLI} failed: {process.stderr.strip()[-300:]}")
        return process.stdout


class McpServer:
    """jupyter-mcp-server as an extension of a Jupyter server; no tab has the notebook open."""

    def __init__(self, connection: Connection, root: Path) -> None:
        self._connection = connection
        #: The notebook that it edits.
        self.file = root / _EDITED
        self._requests = 0

    def edit(self, content: bytes, cell: str, text: str) -> float:
        """Edit the cell in a notebook."""
        self.file.write_bytes(content)
        return self.edit_again(cell, text)

    def edit_again(self, cell: str, text: str) -> float:
        """Edit the cell in the notebook that was edited last."""
        call = {
            "name": "overwrite_cell_source",
            "arguments": {"cell_id": cell, "cell_source": text},
        }
        began = time.perf_counter()
        result = self.request("tools/call", call)
        took = time.perf_counter() - began
        if result.get("isError"):
            raise PeerError(f"{MCP} failed: {str(result)[:300]}")
        check_edit(self.file, cell, text)
        return took

    def request(self, method: str, parameters: dict[str, Any]) -> Any:
        """Send a request of the Model Context Protocol; return its result."""
        self._requests += 1
        message = {"jsonrpc": "2.0", "id": self._requests, "method": method, "params": parameters}
        status, answer = self._connection.request("POST", "/mcp", message)
        if status != HTTPStatus.OK or "result" not in answer:
            raise PeerError(f"{MCP} failed: {str(answer)[:300]}")
        return answer["result"]


@contextmanager
def run_mcp_server(folder: Path) -> Iterator[McpServer]:
    """Run jupyter-mcp-server while the block runs; no kernel is started."""
    root = folder / "notebooks"
    root.mkdir(parents=True)
    options = (
        f"--JupyterMCPServerExtensionApp.document_id={_EDITED}",
        "--JupyterMCPServerExtensionApp.jupyterlab=False",
        "--ServerApp.jpserver_extensions=jupyter_mcp_server=True",
        "--no-browser",
    )
    python = str(install_peers() / "bin" / "python")
    # `tests.support.servers` switches off extensions that this one needs.
    with (
        run_server("jupyter_server", folder, *options, python=python) as server,
        closing(Connection(Client(server.port, server.token, root), 0)) as connection,
    ):
        yield McpServer(connection, root)
