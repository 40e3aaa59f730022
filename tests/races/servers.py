"""Several servers of one user on one folder, which are killed and restarted."""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.races.async_connection import AsyncConnection
from tests.support.servers import ServerProcess, start_server


@dataclass
class ServerRun:
    """One run of a server, from its start to its end."""

    name: str
    server: ServerProcess

    @property
    def end_time(self) -> float | None:
        """When nothing it was sent can happen any more; None as long as it lives."""
        return self.server.ended

    async def connect(self) -> AsyncConnection:
        """Open a connection; raise OSError if that fails."""
        return await AsyncConnection.open(self.server.client.port, self.server.client.token)


@dataclass
class RaceServers:
    """Servers that share a root folder and all that Jupyter keeps of a user."""

    #: Everything they write goes in here; they serve the folder `notebooks` in it.
    folder: Path
    names: tuple[str, ...] = ("one", "two")
    environment: Mapping[str, str] = field(default_factory=dict)
    #: Whether they have the folder in common in which a user's servers keep their locks.
    shares_locks: bool = True
    runs: dict[str, ServerRun] = field(default_factory=dict)
    _count: int = 0

    @property
    def root(self) -> Path:
        return self.folder / "notebooks"

    @property
    def live_runs(self) -> list[ServerRun]:
        return [run for run in self.runs.values() if run.end_time is None]

    def start(self, name: str) -> ServerRun:
        """Start a server that does not run, and wait until it answers."""
        self._count += 1
        run_name = f"{name}/{self._count}"
        runtime = self.folder / f"runtime-{name}"
        own = {} if self.shares_locks else {"JUPYTER_RUNTIME_DIR": str(runtime)}
        server = start_server(self.folder, environment={**own, **self.environment}, name=name)
        self.runs[name] = ServerRun(run_name, server)
        return self.runs[name]


@contextmanager
def run_servers(servers: RaceServers) -> Iterator[RaceServers]:
    """Run servers while the block does."""
    try:
        with ThreadPoolExecutor() as pool:
            list(pool.map(servers.start, servers.names))
        yield servers
    finally:
        for run in servers.live_runs:
            run.server.stop()
