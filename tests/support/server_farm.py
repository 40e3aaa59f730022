"""Several servers of one user, which are found by their runtime files."""

import json
import subprocess
from pathlib import Path
from typing import Any

from jupyter_nbedit.cli.demo.server import start_process
from jupyter_nbedit.client import errors, find_server
from tests.support import samples
from tests.support.servers import ServerProcess, start_server, write_configuration
from tests.support.waiting import wait_until

WITHOUT_EXTENSION = 'c.ServerApp.jpserver_extensions["jupyter_nbedit"] = False\n'
# The hash of "secret", by jupyter_server.auth.passwd.
HASHED = "sha1:1:91dfd9ddb4198affc5c194cd8ce6d338fde470e2"


class Farm:
    """Servers that are started when a test first needs them; all have one runtime folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runtime = folder / "runtime"
        self._servers: dict[str, ServerProcess] = {}
        self._processes: list[subprocess.Popen[bytes]] = []

    @property
    def environ(self) -> dict[str, str]:
        return {"JUPYTER_RUNTIME_DIR": str(self.runtime)}

    @property
    def outer(self) -> ServerProcess:
        """A server whose root holds that of `inner`."""
        return self._start("outer", self.folder, "--ServerApp.base_url=/outer/")

    @property
    def inner(self) -> ServerProcess:
        return self._start("inner", self.folder / "notebooks" / "project")

    @property
    def bare(self) -> ServerProcess:
        """A server without the extension."""
        return self._start("bare", self.folder / "bare", configuration=WITHOUT_EXTENSION)

    @property
    def locked(self) -> ServerProcess:
        """A server with a password and no token."""
        option = f"--PasswordIdentityProvider.hashed_password={HASHED}"
        return self._start("locked", self.folder / "locked", option)

    def _start(self, name: str, folder: Path, *options: str, **more: Any) -> ServerProcess:
        if name not in self._servers:
            server = start_server(folder, *options, name=name, environment=self.environ, **more)
            (server.client.root / "a.ipynb").write_bytes(samples.three_cells())
            self._servers[name] = server
        return self._servers[name]

    def start_other(self, folder: Path, *options: str) -> Path:
        """Start a server that does not listen for plain HTTP on a port; return its root."""
        write_configuration(folder)
        root = folder / "notebooks"
        (root / "a.ipynb").write_bytes(samples.three_cells())
        process = start_process(
            "jupyter_server",
            folder,
            *options,
            log=folder / "server.log",
            environment=self.environ,
        )
        self._processes.append(process)

        def is_found() -> bool:
            assert process.poll() is None, (folder / "server.log").read_text()[-4000:]
            try:
                find_server(str(root), environ=self.environ)
            except errors.NoServer:
                return False
            return True

        wait_until(is_found, "an answer of the server")
        return root

    def read_info(self, server: ServerProcess) -> dict[str, Any]:
        info: dict[str, Any] = json.loads(
            (self.runtime / f"jpserver-{server.process.pid}.json").read_text()
        )
        return info

    def stop(self) -> None:
        for process in self._processes:
            process.terminate()
            process.wait()
        for server in self._servers.values():
            server.stop()
