"""Several servers of one user on one folder, which are killed and started again."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from jupyter_nbedit.demo import server
from tests.races.wire import Connection

TOKEN = "races"  # noqa: S105 -- of servers that live for a minute
_START_SECONDS = 60.0
_STOP_SECONDS = 20.0
_POLL_SECONDS = 0.05
_NOT_NEEDED = ("jupyter_lsp", "jupyter_server_terminals", "jupyterlab", "notebook_shim")


@dataclass
class Run:
    """One run of a server, from its start to its end."""

    name: str
    port: int
    process: subprocess.Popen[bytes]
    #: When nothing it was told can happen any more; None as long as it lives.
    ended: float | None = None

    def kill(self) -> None:
        """End it as a crash does."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.ended = time.monotonic()

    def stop(self) -> None:
        """End it as its user does."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.ended = time.monotonic()


@dataclass
class Servers:
    """Servers that share a root folder and all that Jupyter keeps of a user.

    Parameters
    ----------
    folder
        Everything they write goes in here; they serve the folder ``notebooks`` in it.
    names
        One for each.
    more
        Is added to their environment.
    shares_locks
        Whether they have the folder in common in which a user's servers keep their locks.
    """

    folder: Path
    names: tuple[str, ...] = ("one", "two")
    more: Mapping[str, str] = field(default_factory=dict)
    shares_locks: bool = True
    runs: dict[str, Run] = field(default_factory=dict)
    _counts: dict[str, int] = field(default_factory=dict)

    @property
    def root(self) -> Path:
        """The folder that they serve."""
        return self.folder / "notebooks"

    @property
    def alive(self) -> list[Run]:
        """Those that answer."""
        return [run for run in self.runs.values() if run.ended is None]

    async def start(self, name: str) -> Run:
        """Start a server that does not run, and wait until it answers.

        Raises
        ------
        AssertionError
            If it does not; the message has the end of its log.
        """
        count = self._counts[name] = self._counts.get(name, 0) + 1
        port = server._free_port()
        command = [
            sys.executable,
            "-m",
            "jupyter_server",
            f"--ServerApp.root_dir={self.root}",
            f"--ServerApp.port={port}",
            "--ServerApp.port_retries=0",
            f"--IdentityProvider.token={TOKEN}",
            # What else may be installed takes longer to start than all the rest.
            *(f"--ServerApp.jpserver_extensions={name}=False" for name in _NOT_NEEDED),
            *(["--allow-root"] if os.geteuid() == 0 else []),
        ]
        runtime = self.folder / f"runtime-{name}"
        own = {} if self.shares_locks else {"JUPYTER_RUNTIME_DIR": str(runtime)}
        log = self.folder / f"{name}-{count}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(  # noqa: ASYNC220 -- starting takes no time
                command,
                env={**server._environment(self.folder), **own, **self.more},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        run = Run(f"{name}/{count}", port, process)
        deadline = time.monotonic() + _START_SECONDS
        while not await _answers(run):
            if process.poll() is not None or time.monotonic() > deadline:
                run.stop()
                end = log.read_text()[-4000:]
                message = f"A server did not start; the end of its log:\n{end}"
                raise AssertionError(message)
            await asyncio.sleep(_POLL_SECONDS)
        self.runs[name] = run
        return run


async def _answers(run: Run) -> bool:
    with suppress(OSError):
        connection = await Connection.to(run.port, TOKEN)
        try:
            return (await connection.request("GET", "/nbedit")).status == 200
        finally:
            connection.close()
    return False


@asynccontextmanager
async def running(servers: Servers) -> AsyncIterator[None]:
    """Run servers while the block does."""
    servers.root.mkdir()
    try:
        await asyncio.gather(*[servers.start(name) for name in servers.names])
        yield
    finally:
        for run in servers.alive:
            run.stop()
