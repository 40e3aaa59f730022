"""Clients at the address of a JupyterHub: what they see through its proxy, and without a server.

configurable-http-proxy sends the names of headers in lower case.
"""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from jupyter_nbedit import errors
from jupyter_nbedit.cli import exit_codes
from jupyter_nbedit.client import Client, find_server, requests
from jupyter_nbedit.client import errors as client_errors
from tests.setups.hub import Hub, run_hub
from tests.setups.needs import needs
from tests.support import samples
from tests.support.bridge import COMMAND, Bridge, build_environment

needs("jupyterhub")

#: The fewest extensions.
PLAIN = """
c.ServerApp.jpserver_extensions = {"jupyter_server_ydoc": False, "jupyterlab_jupytext": False}
"""
STALE = {"op": "replace", "cell": "0:000000", "source": "x"}
INSERT = {"op": "insert", "cell_type": "code", "source": "x", "at": "end"}


@dataclass(frozen=True)
class Agent:
    """A program of a user, on a machine where no Jupyter server runs."""

    hub: Hub
    user: str
    folder: Path
    token_file: Path

    @property
    def site(self) -> str:
        return f"http://127.0.0.1:{self.hub.port}"

    @property
    def url(self) -> str:
        return f"{self.site}/user/{self.user}/"

    def connect(self, url: str | None = None) -> Client:
        environ = {"JUPYTER_RUNTIME_DIR": str(self.folder / "runtime")}
        found = find_server(
            "a.ipynb", url=url or self.url, token_file=str(self.token_file), environ=environ
        )
        return Client(found.server, name="a script")

    def run(self, command: str, *arguments: str, url: str | None = None) -> tuple[int, str, str]:
        """Run a command; return its exit code and what it prints."""
        place = ("--url", url or self.url, "--token-file", str(self.token_file))
        environ = build_environment(self.folder)
        result = subprocess.run(
            [*COMMAND, command, *arguments, *place],
            cwd=self.folder,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )
        return result.returncode, result.stdout, result.stderr

    def start_bridge(self, url: str | None = None) -> Bridge:
        place = ("--url", url or self.url, "--token-file", str(self.token_file))
        return Bridge(self.folder, build_environment(self.folder), *place)


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    with run_hub(tmp_path_factory.mktemp("hub"), {"ada": [], "bob": []}) as started:
        for name in ("ada", "bob"):
            started.configure(name, PLAIN)
        started.spawn("ada", "bob")
        yield started


@pytest.fixture
def ada(hub: Hub, tmp_path: Path) -> Agent:
    """A program of Ada, whose server runs."""
    (hub.get_root("ada") / "a.ipynb").write_bytes(samples.three_cells())
    return build_agent(hub, "ada", tmp_path)


@pytest.fixture
def bob(hub: Hub, tmp_path: Path) -> Agent:
    """A program of Bob, whose server runs when the test begins."""
    hub.spawn("bob")
    (hub.get_root("bob") / "a.ipynb").write_bytes(samples.three_cells())
    return build_agent(hub, "bob", tmp_path)


def build_agent(hub: Hub, user: str, folder: Path) -> Agent:
    token_file = folder / "token"
    token_file.write_text(hub.create_token(user, [f"access:servers!user={user}"]))
    return Agent(hub, user, folder, token_file)


def test_a_client_gets_replies_and_errors_with_their_reasons_through_the_proxy(ada: Agent) -> None:
    client = ada.connect()

    assert client.read("a.ipynb")["total_cells"] == 3
    assert client.read_text("a.ipynb").startswith("a.ipynb | 3 cells")
    assert client.edit("a.ipynb", [INSERT])["total_cells"] == 4
    for as_text in (False, True):
        with pytest.raises(errors.CellChanged):
            client.send(requests.edit("a.ipynb", [STALE]), as_text=as_text)
        with pytest.raises(errors.NotebookNotFound):
            client.send(requests.read("missing.ipynb"), as_text=as_text)


def test_a_command_prints_replies_and_errors_with_their_reasons_through_the_proxy(
    ada: Agent,
) -> None:
    code, out, _ = ada.run("read", "a.ipynb")
    assert (code, out[:17]) == (0, "a.ipynb | 3 cells")
    for option in ([], ["--json"]):
        code, _, problem = ada.run(
            "edit", "a.ipynb", "--cell", "0:000000", "--source", "x", *option
        )
        assert code == exit_codes.STALE, problem
        assert "cell_changed" in problem
    code, _, problem = ada.run("read", "missing.ipynb")
    assert (code, problem.partition(":")[0]) == (exit_codes.REFUSED, "notebook_not_found")


def test_the_bridge_learns_through_the_proxy_what_is_decided_on_its_proposal(ada: Agent) -> None:
    client = ada.connect()
    server = ada.hub.client("ada", ada.token_file.read_text())
    body = json.dumps({"mode": "review", "path": "a.ipynb"}).encode()
    headers = {"Content-Type": "application/json"}
    assert server.request("PUT", "nbedit/mode", body, headers).status == 200
    bridge = ada.start_bridge()
    try:
        refusal = bridge.fail("notebook_edit", path="a.ipynb", operations=[STALE])
        assert refusal.startswith("cell_changed: ")
        bridge.call("notebook_edit", path="a.ipynb", operations=[INSERT])
        (proposal,) = client.list_proposals("a.ipynb")["proposals"]
        ask = {"action": "proposal", "proposal_id": proposal["proposal_id"]}
        assert "pending" in bridge.call("notebook_history", **ask)

        client.reject_proposal(proposal["proposal_id"], reason="It is needed")

        text = bridge.call("notebook_history", **ask)
        assert "rejected" in text
        assert "It is needed" in text
        assert bridge.close() == 0
    finally:
        bridge.kill()
        server.reset_modes("a.ipynb")


def test_a_culled_server_is_said_to_be_stopped_and_where_to_start_it(bob: Agent) -> None:
    client, bridge = bob.connect(), bob.start_bridge()
    try:
        assert bridge.call("notebook_read", path="a.ipynb")

        bob.hub.stop("bob")

        start = f"{bob.site}/hub/spawn/bob"
        # It was found before; the Hub forbids what is no GET.
        for request in (requests.read("a.ipynb"), requests.edit("a.ipynb", [INSERT])):
            with pytest.raises(client_errors.ServerNotRunning, match=start):
                client.send(request)
        for url in (bob.url, f"{bob.site}/hub/user/bob/"):
            with pytest.raises(client_errors.ServerNotRunning, match=start):
                bob.connect(url)
        code, _, problem = bob.run("edit", "a.ipynb", "--insert", "x", "--at", "end")
        assert code == exit_codes.NO_SERVER
        assert problem.startswith("server_not_running: ")
        assert start in problem
        code, out, problem = bob.run("status")
        assert code == exit_codes.NO_SERVER
        assert start in out + problem
        refusal = bridge.fail("notebook_edit", path="a.ipynb", operations=[INSERT])
        assert refusal.startswith("server_not_running: ")
        assert start in refusal
        assert (bob.hub.get_root("bob") / "a.ipynb").read_bytes() == samples.three_cells()

        bob.hub.spawn("bob")

        assert bridge.call("notebook_read", path="a.ipynb")
        assert bridge.close() == 0
    finally:
        bridge.kill()


def test_a_server_that_has_crashed_is_said_not_to_answer(bob: Agent) -> None:
    os.kill(bob.hub.find_process("bob"), signal.SIGKILL)

    with pytest.raises(client_errors.ServerNotRunning, match=f"{bob.site}/hub/home"):
        bob.connect()


def test_an_address_of_the_hub_is_refused_with_the_address_of_a_server(ada: Agent) -> None:
    for page, right in (
        ("", "/user/NAME/"),
        ("user/", "/user/NAME/"),
        ("hub/", "/user/NAME/"),
        ("hub/home", "/user/NAME/"),
        ("hub/spawn/ada", "/user/NAME/"),
        ("hub/user/ada/", "/user/ada/"),
    ):
        url = f"{ada.site}/{page}"
        with pytest.raises(client_errors.InvalidAddress, match=f" Give {ada.site}{right}"):
            ada.connect(url)
        code, _, problem = ada.run("read", "a.ipynb", url=url)
        assert code == exit_codes.NO_SERVER
        assert problem.startswith("invalid_address: ")
    bridge = ada.start_bridge(f"{ada.site}/")
    try:
        assert bridge.fail("notebook_read", path="a.ipynb").startswith("invalid_address: ")
        assert bridge.close() == 0
    finally:
        bridge.kill()
