"""Edits through a JupyterHub: user names and permissions of the hub apply."""

import asyncio
import http.cookiejar
import json
import sys
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tornado.httpclient import HTTPRequest
from tornado.websocket import WebSocketClientConnection, websocket_connect

from jupyter_nbedit.client import Client as ReplyClient
from jupyter_nbedit.client import find_server
from jupyter_nbedit.services.events.models import EditEvent
from tests.handlers.error_checks import get_error, no_changes
from tests.handlers.routes import ROWS, write_files
from tests.setups.hub import WRITE, Hub, run_hub
from tests.setups.needs import needs
from tests.support import samples
from tests.support.http import JSON, Answer, Client
from tests.support.waiting import LIMIT_SECONDS, wait_until

needs("jupyterhub")

ODD = "ü@b"
#: The fewest extensions; the server of `ODD` has all that are installed.
PLAIN = """
c.ServerApp.jpserver_extensions = {"jupyter_server_ydoc": False, "jupyterlab_jupytext": False}
"""
OWNERS = f'{PLAIN}\nc.SectionsToolset.owners = ["ada"]'
#: Like an administrator's authorizer that lets some people only read.
READ_ONLY = f"""{PLAIN}
from jupyterhub.singleuser.extension import JupyterHubAuthorizer


class Writers(JupyterHubAuthorizer):
    def is_authorized(self, handler, user, action, resource):
        may_write = "{WRITE}" in user.hub_user["scopes"]
        return super().is_authorized(handler, user, action, resource) and (
            action != "write" or resource != "contents" or may_write
        )


c.ServerApp.authorizer_class = Writers
"""


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    """A hub where Cleo may use Ada's server, too, and Bob's lets only some requests write."""
    rights = {"ada": [], "bob": [WRITE], "cleo": [build_scope("ada")], ODD: []}
    with run_hub(tmp_path_factory.mktemp("hub"), rights) as started:
        for name, config in (("ada", OWNERS), ("bob", READ_ONLY), (ODD, "")):
            started.configure(name, config)
        started.spawn("ada", "bob", ODD)
        yield started


@pytest.fixture(autouse=True)
def _fresh(hub: Hub) -> None:
    for name in ("ada", "bob", ODD):
        (hub.get_root(name) / "a.ipynb").write_bytes(samples.three_cells())
        (hub.get_root(name) / "a.txt").write_text("as is")


def build_scope(server: str) -> str:
    return f"access:servers!user={server}"


def get_client(hub: Hub, user: str, server: str, *more: str) -> Client:
    """Speak to a server with a user's token for it."""
    return hub.client(server, hub.create_token(user, [build_scope(server), *more]))


def send_replace(client: Client, source: str, **more: Any) -> Answer:
    return client.patch("a.ipynb", {"op": "replace", "cell": "alpha", "source": source}, **more)


def read_alpha(hub: Hub, server: str) -> Any:
    """Return the source of the first cell in the file."""
    cells = json.loads((hub.get_root(server) / "a.ipynb").read_bytes())["cells"]
    return "".join(cells[0]["source"])


async def subscribe(client: Client) -> WebSocketClientConnection:
    url = f"ws://127.0.0.1:{client.port}{client.base_url}api/events/subscribe"
    return await websocket_connect(
        HTTPRequest(url, headers={"Authorization": f"token {client.token}"})
    )


async def next_edit(socket: WebSocketClientConnection) -> Any:
    while True:
        message = await asyncio.wait_for(socket.read_message(), LIMIT_SECONDS)
        assert message is not None
        if (event := json.loads(message))["schema_id"] == EditEvent.get_schema_id():
            return event


@pytest.mark.parametrize(("user", "server"), [("ada", "ada"), ("cleo", "ada"), (ODD, ODD)])
async def test_an_edit_has_the_user_name_of_the_hub(hub: Hub, user: str, server: str) -> None:
    client = get_client(hub, user, server)
    socket = await subscribe(client)

    answer = await asyncio.to_thread(send_replace, client, "by name")

    event = await next_edit(socket)
    socket.close()
    assert answer.status == 200, answer.body
    assert (event["user"], event["path"], event["hash"]) == (user, "a.ipynb", answer.json["hash"])
    assert read_alpha(hub, server) == "by name"


def make_stranger(hub: Hub, kind: str) -> Client:
    """Speak to Ada's server with a token that is not for it."""
    if kind == "no token":
        return hub.client("ada", "")
    if kind == "made up":
        return hub.client("ada", "0" * 32)
    if kind == "other user":
        return hub.client("ada", hub.create_token("bob", [build_scope("bob")]))
    if kind == "wrong scope":
        return hub.client("ada", hub.create_token("ada", ["read:users!user=ada"]))
    token = hub.create_token("ada", [build_scope("ada")], expires_in=1)
    # Asked by a server, the hub's answer would be remembered there.
    asker = replace(hub, token=token)
    wait_until(lambda: asker.request("GET", "/user")[0] == 403, "the token to expire")
    return hub.client("ada", token)


@pytest.mark.parametrize("kind", ["no token", "made up", "other user", "wrong scope", "expired"])
def test_a_user_without_permission_is_refused_on_every_route(hub: Hub, kind: str) -> None:
    client = make_stranger(hub, kind)

    with no_changes(hub.get_root("ada")):
        for (_, verb), row in ROWS.items():
            target, body, headers = row.build_request(client.root)
            answer = client.request(verb, target, body, headers)

            assert answer.status == 403, (verb, target, answer.body)
            assert b"alpha" not in answer.body


def test_every_route_works_below_the_prefix_of_the_user(hub: Hub) -> None:
    client = get_client(hub, ODD, ODD)

    for (_, verb), row in ROWS.items():
        write_files(client.root)
        target, body, headers = row.build_request(client.root)
        answer = client.request(verb, target, body, headers)

        assert answer.status == row.status, (verb, target, answer.body)


@pytest.mark.parametrize(("name", "ways"), [("ada", ["file"]), (ODD, ["file", "notebook", "room"])])
def test_a_server_reports_its_storage_kinds(hub: Hub, name: str, ways: list[str]) -> None:
    client = get_client(hub, name, name)

    assert client.request("GET", "nbedit").json["storage"] == ways
    assert send_replace(client, "by file").json["applied_via"] == "file"


def test_idempotency_keys_are_separate_for_each_user(hub: Hub) -> None:
    key = {"Idempotency-Key": "once"}
    ada, cleo = get_client(hub, "ada", "ada"), get_client(hub, "cleo", "ada")

    first = send_replace(ada, "ada's", headers=key)
    others = send_replace(cleo, "cleo's", headers=key)
    again = send_replace(get_client(hub, "ada", "ada"), "ada's", headers=key)

    assert (first.status, others.status, again.status) == (200, 200, 200)
    assert first.json["edit_id"] != others.json["edit_id"]
    assert again.body == first.body
    assert read_alpha(hub, "ada") == "cleo's"


def test_a_read_by_one_user_does_not_count_for_another(hub: Hub) -> None:
    ada, cleo = get_client(hub, "ada", "ada"), get_client(hub, "cleo", "ada")
    path = str(ada.root / "read.ipynb")
    (ada.root / "read.ipynb").write_bytes(samples.three_cells())
    edit = json.dumps({"notebook_path": path, "cell_id": "alpha", "new_source": "read"}).encode()
    read = json.dumps({"file_path": path}).encode()
    tool = "nbedit/tools/claude_code/NotebookEdit"

    assert ada.request("POST", "nbedit/tools/claude_code/Read", read, JSON).status == 200
    assert cleo.request("POST", tool, edit, JSON).status == 428
    # Another token of the same user's is the same user.
    assert get_client(hub, "ada", "ada").request("POST", tool, edit, JSON).status == 200


def test_owners_have_the_names_of_the_hub(hub: Hub) -> None:
    runtime = hub.get_root("ada") / "runtime"
    runtime.mkdir(exist_ok=True)
    (runtime / "reminders.md").write_text("# Today\n\n- Rest\n")
    body = b'{"file": "reminders", "action": "read"}'
    tool = "nbedit/tools/sections/notebook_edit"

    assert get_client(hub, "ada", "ada").request("POST", tool, body, JSON).status == 200
    assert get_client(hub, "cleo", "ada").request("POST", tool, body, JSON).status == 403


def test_a_read_only_authorizer_applies_on_every_route(hub: Hub) -> None:
    reader, writer = get_client(hub, "bob", "bob"), get_client(hub, "bob", "bob", WRITE)

    with no_changes(reader.root):
        for (_, verb), row in ROWS.items():
            target, body, headers = row.build_request(reader.root)
            answer = reader.request(verb, target, body, headers)

            expected = row.status if row.action == "read" else 403
            assert answer.status == expected, (verb, target, answer.body)
    assert send_replace(writer, "may").status == 200


class HubBrowser:
    """A browser with cookies of the hub, and without a token."""

    def __init__(self, hub: Hub, name: str) -> None:
        self.jar = http.cookiejar.CookieJar()
        self.client = hub.client(name, "")
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.jar))
        site = f"http://127.0.0.1:{hub.port}"
        with opener.open(f"{site}{self.client.base_url}lab", timeout=LIMIT_SECONDS) as page:
            login = page.url
        form = {"username": name, "password": "", "_xsrf": self.cookie("_xsrf", "/hub/")}
        with opener.open(
            login, urllib.parse.urlencode(form).encode(), timeout=LIMIT_SECONDS
        ) as page:
            assert urllib.parse.urlsplit(page.url).path == f"{self.client.base_url}lab"

    def cookie(self, name: str, path: str) -> str:
        (value,) = (
            cookie.value for cookie in self.jar if (cookie.name, cookie.path) == (name, path)
        )
        assert value is not None
        return value

    def replace(self, source: str, headers: dict[str, str]) -> Answer:
        own = [cookie for cookie in self.jar if self.client.base_url.startswith(cookie.path)]
        cookies = "; ".join(f"{cookie.name}={cookie.value}" for cookie in own)
        return send_replace(self.client, source, headers={"Cookie": cookies, **headers})


async def test_a_logged_in_browser_may_edit_with_the_xsrf_token(hub: Hub) -> None:
    browser = await asyncio.to_thread(HubBrowser, hub, "ada")
    socket = await subscribe(get_client(hub, "ada", "ada"))

    with no_changes(hub.get_root("ada")):
        forged = await asyncio.to_thread(browser.replace, "forged", {})
    token = browser.cookie("_xsrf", browser.client.base_url)
    answer = await asyncio.to_thread(browser.replace, "signed in", {"X-XSRFToken": token})

    event = await next_edit(socket)
    socket.close()
    get_error(forged, 403, "forbidden")
    assert answer.status == 200, answer.body
    assert event["user"] == "ada"
    assert read_alpha(hub, "ada") == "signed in"


@pytest.mark.skipif(sys.platform != "linux", reason="reads the environment of another process")
def test_a_program_in_a_server_of_the_hub_finds_that_server(hub: Hub, tmp_path: Path) -> None:
    # A terminal and a kernel inherit the environment of their server.
    for pid in hub.processes():
        content = Path(f"/proc/{pid}/environ").read_text()
        environ = dict(each.split("=", 1) for each in content.split("\0") if each)
        user = environ["JUPYTERHUB_USER"]
        notebook = str(hub.get_root(user) / "a.ipynb")
        runtime = hub.homes / user / ".local" / "share" / "jupyter" / "runtime"
        for folder in (runtime, tmp_path):
            environ["JUPYTER_RUNTIME_DIR"] = str(folder)

            server = find_server(notebook, environ=environ).server

            path = server.to_api_path(notebook)
            assert (path, ReplyClient(server).read(path)["total_cells"]) == ("a.ipynb", 3)
            assert environ["JUPYTERHUB_API_TOKEN"] not in repr(server)
