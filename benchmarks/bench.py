"""Folders, servers and peers of one run of the benchmarks, created on demand."""

import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from benchmarks.agents.ai_tools import AI_TOOLS, JupyterAiTools
from benchmarks.connection import Connection
from benchmarks.files import Edit, Library, list_contenders
from benchmarks.peers import McpServer, NbCli, PeerError, run_mcp_server
from tests.support.servers import start_server

WITHOUT_US = "c.ServerApp.jpserver_extensions['jupyter_nbedit'] = False"


@dataclass(frozen=True)
class TabOptions:
    """What is measured of open tabs.

    `beside` is an environment with another version, or None; `sizes` names the notebooks, all of
    them if it is empty; with `is_profiled` the functions of the page are printed.
    """

    beside: Path | None = None
    sizes: Sequence[str] = ()
    is_profiled: bool = False


class Bench:
    """One run, which has a folder for itself.

    `stack` ends what the run starts; `missing` says why peers could not be had; `is_quick` measures
    less often: for a look, not for the record.
    """

    def __init__(self, root: Path, stack: ExitStack, *, tabs: TabOptions, is_quick: bool) -> None:
        self.root = root
        self.tabs = tabs
        self.missing: dict[str, str] = {}
        self._stack = stack
        self._is_quick = is_quick

    def rounds(self, number: int) -> int:
        """Return how often to measure."""
        return max(2, number // 3) if self._is_quick else number

    @cached_property
    def files(self) -> Path:
        """The folder for edits without a server."""
        return self.make_folder("files")

    def contenders(self) -> dict[str, Edit]:
        """Return the ways to edit a file in that folder."""
        return list_contenders(self._library)

    @cached_property
    def _library(self) -> Library:
        return self._stack.enter_context(closing(Library(self.files)))

    @cached_property
    def nb_cli(self) -> NbCli | None:
        try:
            return NbCli()
        except PeerError as error:
            self.missing["nb-cli"] = str(error)
            return None

    @cached_property
    def mcp_server(self) -> McpServer | None:
        try:
            return self._stack.enter_context(run_mcp_server(self.root / "mcp"))
        except PeerError as error:
            self.missing["jupyter-mcp-server"] = str(error)
            return None

    @cached_property
    def ai_tools(self) -> JupyterAiTools | None:
        try:
            tools = JupyterAiTools(self.make_folder("agents", AI_TOOLS))
        except PeerError as error:
            self.missing[AI_TOOLS] = str(error)
            return None
        return self._stack.enter_context(closing(tools))

    @cached_property
    def extended_server(self) -> Connection:
        """A server with our extension, and with an empty signature store."""
        return self._stack.enter_context(self.run_server("ours"))

    @cached_property
    def plain_server(self) -> Connection:
        """A server without our extension."""
        return self._stack.enter_context(self.run_server("plain", is_extended=False))

    @contextmanager
    def run_server(self, name: str, *, is_extended: bool = True) -> Iterator[Connection]:
        """Run a server while the block runs, with or without our extension."""
        configuration = "" if is_extended else WITHOUT_US
        server = start_server(self.root / name, configuration=configuration)
        try:
            with closing(Connection(server.client, server.process.pid)) as connection:
                yield connection
        finally:
            server.stop()

    def make_temporary_folder(self) -> Path:
        """Make a folder for what no other measurement needs."""
        return Path(tempfile.mkdtemp(dir=self.root))

    def make_folder(self, *names: str) -> Path:
        folder = self.root.joinpath(*names)
        folder.mkdir(parents=True)
        return folder


@contextmanager
def open_bench(*, tabs: TabOptions, is_quick: bool) -> Iterator[Bench]:
    """Make a run, and leave nothing of it."""
    warnings.simplefilter("ignore")  # nbformat's, of real notebooks
    with tempfile.TemporaryDirectory(prefix="nbedit-benchmarks-") as root, ExitStack() as stack:
        yield Bench(Path(root), stack, tabs=tabs, is_quick=is_quick)
