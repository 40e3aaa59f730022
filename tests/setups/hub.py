"""A JupyterHub of the tests: on loopback, in a scratch folder, with real servers."""

import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from jupyter_nbedit.cli.demo.server import find_free_port
from tests.support.http import Client
from tests.support.waiting import LIMIT_SECONDS, wait_until

PROXY = Path(__file__).parent / "proxy" / "node_modules" / ".bin" / "configurable-http-proxy"
#: What may change contents on a server whose authorizer asks for more than the right to come in.
WRITE = "custom:contents:write"


@dataclass(frozen=True)
class Hub:
    """A running hub, spoken to by a service that may do anything."""

    port: int
    token: str
    homes: Path

    def request(self, verb: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Ask the hub's own API."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=LIMIT_SECONDS)
        with contextlib.closing(connection):
            connection.request(
                verb,
                f"/hub/api{path}",
                body=None if body is None else json.dumps(body),
                headers={"Authorization": f"token {self.token}"},
            )
            response = connection.getresponse()
            answer = response.read()
        return response.status, json.loads(answer) if answer else None

    def spawn(self, *names: str) -> None:
        """Start the servers of some users, all at once, and wait for them."""
        for name in names:
            status, answer = self.request("POST", f"/users/{quote(name)}/server")
            # 400: it runs.
            assert status in {201, 202, 400}, answer
        wait_until(lambda: all(self._server(name).get("ready") for name in names), "all servers")

    def stop(self, name: str) -> None:
        """Stop the server of a user, as a service that culls idle servers does."""
        status, answer = self.request("DELETE", f"/users/{quote(name)}/server")
        assert status in {202, 204}, answer
        wait_until(lambda: not self._server(name), "the end of a server")

    def create_token(self, name: str, scopes: Sequence[str], **more: Any) -> str:
        """Create a token with the given scopes of a user."""
        body = {"scopes": scopes, **more}
        status, answer = self.request("POST", f"/users/{quote(name)}/tokens", body)
        assert status == 201, answer
        token: str = answer["token"]
        return token

    def client(self, server: str, token: str) -> Client:
        """Return a client of a user's server through the proxy, with any token."""
        base_url = urlsplit(self._server(server)["url"]).path
        return Client(self.port, token, self.get_root(server), base_url)

    def get_root(self, name: str) -> Path:
        """Name the folder that a user's server serves."""
        return self.homes / name / "work"

    def configure(self, name: str, config: str) -> None:
        """Lay out a user's home, with a configuration for the server."""
        self.get_root(name).mkdir(parents=True)
        settings = self.homes / name / ".jupyter" / "jupyter_server_config.py"
        settings.parent.mkdir()
        settings.write_text(config)

    def processes(self) -> list[int]:
        """List the numbers of the users' servers."""
        _, users = self.request("GET", "/users")
        servers = [server for user in users for server in user["servers"].values()]
        return [server["state"]["pid"] for server in servers if server["state"]]

    def find_process(self, name: str) -> int:
        """Return the number of a user's server."""
        number: int = self._server(name)["state"]["pid"]
        return number

    def _server(self, name: str) -> dict[str, Any]:
        _, user = self.request("GET", f"/users/{quote(name)}")
        server: dict[str, Any] = user["servers"].get("", {})
        return server


@contextlib.contextmanager
def run_hub(folder: Path, rights: Mapping[str, Sequence[str]]) -> Iterator[Hub]:
    """Run a hub in a folder while the block runs; `rights` are the extra scopes of each user."""
    public, internal, proxied = (find_free_port() for _ in range(3))
    hub = Hub(public, secrets.token_hex(16), folder / "homes")
    settings = {
        "JupyterHub": {
            "authenticator_class": "dummy",
            "spawner_class": "simple",
            "bind_url": f"http://127.0.0.1:{public}/",
            "hub_bind_url": f"http://127.0.0.1:{internal}/hub/",
            "db_url": f"sqlite:///{folder / 'hub.sqlite'}",
            "cookie_secret_file": str(folder / "cookie_secret"),
            "services": [{"name": "tests", "api_token": hub.token}],
            # A request for a server is answered at once, so that the next one can follow.
            "tornado_settings": {"slow_spawn_timeout": 0},
            "custom_scopes": {WRITE: {"description": "change contents"}},
            "load_roles": [
                {
                    "name": "tests",
                    "services": ["tests"],
                    "scopes": ["admin:users", "admin:servers", "admin:server_state", "tokens"],
                },
                *(
                    {"name": f"rights-{number}", "users": [name], "scopes": list(scopes)}
                    for number, (name, scopes) in enumerate(rights.items())
                    if scopes
                ),
            ],
        },
        "Authenticator": {"allowed_users": list(rights)},
        "ConfigurableHTTPProxy": {
            "command": [str(PROXY)],
            "api_url": f"http://127.0.0.1:{proxied}",
            "pid_file": str(folder / "proxy.pid"),
        },
        "Spawner": {
            "cmd": [sys.executable, "-m", "jupyterhub.singleuser"],
            "args": [
                "--allow-root",
                "--ServerApp.allow_unauthenticated_access=False",
                # The servers of both users would listen on one port.
                "--MCPExtensionApp.mcp_port=0",
            ],
            "notebook_dir": str(hub.homes / "{username}" / "work"),
            "default_url": "/lab",
        },
        "SimpleLocalProcessSpawner": {"home_dir_template": str(hub.homes / "{username}")},
    }
    config = folder / "jupyterhub_config.json"
    config.write_text(json.dumps(settings))
    log = folder / "hub.log"
    inherited = {name: value for name, value in os.environ.items() if "JUPYTER" not in name}
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "jupyterhub", f"--config={config}"],
            env=inherited,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            wait_until(lambda: is_answering(hub, process), "an answer of the hub")
            yield hub
        except BaseException:
            print(f"The end of the hub's log:\n{log.read_text()[-4000:]}")
            raise
        finally:
            stop_hub(hub, process)


def is_answering(hub: Hub, process: subprocess.Popen[bytes]) -> bool:
    """Return whether the hub answers through the proxy."""
    assert process.poll() is None, "The hub has ended."
    with contextlib.suppress(OSError, json.JSONDecodeError):
        return hub.request("GET", "/users")[0] == 200
    return False


def stop_hub(hub: Hub, process: subprocess.Popen[bytes]) -> None:
    """Stop the hub, its proxy, its servers, and remaining processes."""
    servers = hub.processes() if process.poll() is None else []
    process.terminate()
    try:
        process.wait(LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for server in servers:
        with contextlib.suppress(ProcessLookupError):
            os.kill(server, signal.SIGKILL)
