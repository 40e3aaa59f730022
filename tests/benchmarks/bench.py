"""Where a run takes place: a folder, our library, servers and peers, each made when needed."""

from __future__ import annotations

import tempfile
import warnings
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from jupyter_nbedit.demo.server import running
from tests.benchmarks.connection import Connection
from tests.benchmarks.files import Library
from tests.benchmarks.peers import McpServer, NbCli, PeerError, mcp_server

if TYPE_CHECKING:
    from collections.abc import Iterator


class Bench:
    """One run.

    Parameters
    ----------
    root
        The folder it has for itself.
    stack
        Ends what the run has started.
    quick
        Whether to measure less often: for a look, not for the record.
    """

    def __init__(self, root: Path, stack: ExitStack, *, quick: bool) -> None:
        self.root = root
        self.missing: dict[str, str] = {}
        self._stack = stack
        self._quick = quick

    def rounds(self, number: int) -> int:
        """Give how often to measure."""
        return max(2, number // 3) if self._quick else number

    @cached_property
    def files(self) -> Path:
        """The folder of what is edited without a server."""
        return self.folder("files")

    @cached_property
    def library(self) -> Library:
        """Our library, on that folder."""
        library = Library(self.files)
        self._stack.callback(library.close)
        return library

    @cached_property
    def nb_cli(self) -> NbCli | None:
        """nb-cli, if it can be had."""
        try:
            return NbCli()
        except PeerError as error:
            self.missing["nb-cli"] = str(error)
            return None

    @cached_property
    def mcp(self) -> McpServer | None:
        """jupyter-mcp-server, running, if it can be had."""
        try:
            return self._stack.enter_context(mcp_server(self.root / "mcp"))
        except PeerError as error:
            self.missing["jupyter-mcp-server"] = str(error)
            return None

    @cached_property
    def ours(self) -> Connection:
        """A server with our extension, and with an empty signature store."""
        return self._stack.enter_context(self.server("ours"))

    @cached_property
    def plain(self) -> Connection:
        """A server without our extension."""
        return self._stack.enter_context(self.server("plain", extended=False))

    @contextmanager
    def server(self, name: str, *, extended: bool = True) -> Iterator[Connection]:
        """Run a server of its own while the block does, with or without our extension."""
        options = () if extended else ("--ServerApp.jpserver_extensions=jupyter_nbedit=False",)
        self.folder(name, "notebooks")
        with running("jupyter_server", self.root / name, "--no-browser", *options) as server:
            connection = Connection(server)
            try:
                yield connection
            finally:
                connection.close()

    def folder(self, *names: str) -> Path:
        """Make a folder."""
        folder = self.root.joinpath(*names)
        folder.mkdir(parents=True)
        return folder


@contextmanager
def begun(*, quick: bool) -> Iterator[Bench]:
    """Begin a run, and leave nothing of it."""
    warnings.simplefilter("ignore")  # nbformat's, of real notebooks
    with tempfile.TemporaryDirectory(prefix="nbedit-benchmarks-") as root, ExitStack() as stack:
        yield Bench(Path(root), stack, quick=quick)
