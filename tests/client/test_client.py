"""Requests to a server, its replies, and its errors."""

import ast
import inspect
import json
import socket
from pathlib import Path
from typing import Any

import pytest

from jupyter_nbedit import errors
from jupyter_nbedit.client import Client, Server, requests
from jupyter_nbedit.client import errors as client_errors
from jupyter_nbedit.client.errors import build_error
from jupyter_nbedit.client.server import Address
from tests.support import samples
from tests.support.fixed_server import serve
from tests.support.http import Client as HttpClient

JSON = {"Content-Type": "application/json"}
TEXT = {"Content-Type": "text/plain; charset=UTF-8"}

INSERTION = {"op": "insert", "cell_type": "code", "source": "1", "at": "end"}


def connect(port: int, token: str = "", base_url: str = "/", **more: Any) -> Client:
    return Client(Server(Address("http", "127.0.0.1", port, base_url), None, _token=token), **more)


@pytest.fixture
def client(live: HttpClient) -> Client:
    (live.root / "a.ipynb").write_bytes(samples.three_cells())
    (live.root / "new.ipynb").unlink(missing_ok=True)
    return connect(live.port, live.token, name="a script")


def test_every_request_has_the_reply_of_the_rest_api(client: Client, live: HttpClient) -> None:
    found = client.read("a.ipynb", view="outline", cell=["0", "1"], section=None)
    assert found == live.read("a.ipynb", view="outline", cell=["0", "1"]).json
    name = f"0:{found['cells'][0]['source_hash'][:6]}"
    assert client.read_text("a.ipynb", max_chars=200).startswith("a.ipynb | 3 cells")

    operation = {"op": "replace", "cell": name, "source": "x = 'é\u2028'"}
    edit = client.edit("a.ipynb", [operation], message="why", wait_tabs=10, rev=None)
    assert client.read("a.ipynb", cell="0")["cells"][0]["source"] == "x = 'é\u2028'"
    (newest,) = client.list_edits("a.ipynb", limit=1)["edits"]
    assert (newest["edit_id"], newest["client"], newest["message"]) == (
        edit["edit_id"],
        "a script",
        "why",
    )
    assert client.read_edit("a.ipynb", edit["edit_id"])["path"] == "a.ipynb"
    assert client.undo("a.ipynb", edit["edit_id"])["hash"] == edit["hash_before"]
    assert client.redo("a.ipynb")["hash"] == edit["hash"]
    unseen = client.get_unseen("a.ipynb")
    assert [cell["after"]["source"] for cell in unseen["cells"]] == ["x = 'é\u2028'"]
    [key] = [cell["key"] for cell in unseen["cells"]]
    assert client.undo_cells("a.ipynb", [key], dry_run=True)["hash"] == edit["hash_before"]
    assert client.restore("a.ipynb", edit["edit_id"])["hash"] == edit["hash"]
    assert client.keep("a.ipynb", [key], until=unseen["until"])["cells"] == []
    assert client.list_unseen_notebooks()["notebooks"] == []
    assert client.create("new.ipynb", [{"cell_type": "raw", "source": "new"}])["total_cells"] == 1
    hits = client.search(query="new", path="", ignore_case=True)["hits"]
    assert [hit["path"] for hit in hits] == ["new.ipynb"]
    assert client.describe_server()["name"] == "jupyter_nbedit"
    assert client.read_mode("a.ipynb")["mode"] == "edit"
    # Other tests may have proposed something on this server.
    reply = live.request("GET", "nbedit/proposals?path=a.ipynb")
    assert client.list_proposals("a.ipynb") == reply.json


def test_a_change_is_made_once_however_often_it_is_sent(client: Client) -> None:
    request = requests.edit("a.ipynb", [INSERTION])

    replies = [client.send(request, key="the same").decode() for _ in range(2)]

    assert replies[0] == replies[1]
    assert client.read("a.ipynb")["total_cells"] == 4


def test_a_proposal_is_a_reply_that_says_so(client: Client, live: HttpClient) -> None:
    body = {"mode": "review", "path": "a.ipynb"}
    assert live.send_json("PUT", "mode", body).status == 200
    try:
        reply = client.send(requests.edit("a.ipynb", [{"op": "delete", "cell": 0}]))
    finally:
        live.reset_modes("a.ipynb")

    assert reply.is_proposal
    number = reply.decode()["proposal_id"]
    assert client.read_proposal(number)["status"] == "pending"


def test_a_person_decides_on_a_proposal(client: Client, live: HttpClient) -> None:
    body = {"mode": "review", "path": "a.ipynb"}
    assert live.send_json("PUT", "mode", body).status == 200
    try:
        number = client.edit("a.ipynb", [{"op": "delete", "cell": 0}])["proposal_id"]
        rejected = client.reject_proposal(number, parts=[0], reason="It is needed")
        assert (rejected["status"], rejected["reason"]) == ("rejected", "It is needed")
        assert client.reopen_proposal(number)["status"] == "pending"
        would = client.accept_proposal(number, merge=True, dry_run=True)
        assert (would["cells_delta"], would["edit_id"]) == (-1, None)
        assert client.accept_proposal(number, wait_tabs=1)["cells_delta"] == -1
    finally:
        live.reset_modes("a.ipynb")


def test_an_error_of_the_server_is_raised_as_on_the_server(client: Client) -> None:
    operation = {"op": "replace_text", "cell": "0:000000", "old": "a", "new": "b"}
    with pytest.raises(errors.CellChanged) as changed:
        client.edit("a.ipynb", [operation])
    assert changed.value.details["operation"] == 0
    assert changed.value.reason == "cell_changed"
    with pytest.raises(errors.CellChanged) as as_text:
        client.send(requests.edit("a.ipynb", [operation]), as_text=True)
    assert as_text.value.message.startswith(changed.value.message[:60])
    assert "<cell 0:" in as_text.value.message
    for path in ("../a.ipynb", "missing.ipynb", "no\ud800.ipynb"):
        with pytest.raises((errors.NotebookNotFound, errors.InvalidRequest)):
            client.read(path)
    with pytest.raises(errors.TooLarge):
        client.edit("a.ipynb", [{**INSERTION, "source": "x" * 20_000_000}])


def list_reasons() -> list[str]:
    tree = ast.parse(Path(inspect.getfile(errors)).read_text())
    return sorted(
        keyword.value.value
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for keyword in node.keywords
        if isinstance(keyword.value, ast.Constant) and isinstance(keyword.value.value, str)
    )


@pytest.mark.parametrize("reason", list_reasons())
def test_every_reason_of_the_rest_api_has_its_class(reason: str) -> None:
    # A detail may have the name of an argument.
    error = build_error(reason, "why", {"message": 1, "self": 2})

    assert isinstance(error, errors.NbEditError)
    assert (error.reason, error.message, str(error)) == (reason, "why", "why")
    assert error.details == {"message": 1, "self": 2}


@pytest.mark.parametrize(
    ("status", "headers", "body", "kind", "words"),
    [
        (502, {"Content-Type": "text/html"}, b"<h1>Bad", client_errors.ResponseError, "502"),
        (502, {}, b"", client_errors.ResponseError, "502"),
        (404, {"Content-Type": "text/html"}, b"", client_errors.ExtensionMissing, "without"),
        (403, JSON, b'{"message": "Forbidden"}', client_errors.AccessDenied, "token"),
        (418, JSON, b"[" * 100_000, client_errors.ResponseError, "418"),
        (400, JSON, b'["reason"]', client_errors.ResponseError, "400"),
        (400, TEXT, b"no reason here", client_errors.ResponseError, "400"),
        (302, {"Location": "http://x/y"}, b"", client_errors.Redirected, "http://x/y"),
        (0, {}, b"", client_errors.ConnectionLost, "before the response"),
    ],
)
def test_an_answer_that_is_not_of_the_rest_api_has_an_error_of_its_own(
    status: int,
    headers: dict[str, str],
    body: bytes,
    kind: type[client_errors.ClientError],
    words: str,
) -> None:
    with serve(status, headers, body) as server, pytest.raises(kind) as caught:
        connect(server.port, "not-the-token").edit("a.ipynb", [])

    assert type(caught.value) is kind
    assert words in caught.value.message
    assert "not-the-token" not in caught.value.message


@pytest.mark.parametrize("name", ["content-type", "CONTENT-TYPE"])
def test_names_of_headers_are_looked_up_in_any_case(name: str) -> None:
    # Proxies of Node send the names in lower case, as HTTP/2 does.
    with (
        serve(409, {name: TEXT["Content-Type"]}, b"cell_changed: It says so.\n") as server,
        pytest.raises(errors.CellChanged) as caught,
    ):
        connect(server.port).send(requests.read("a.ipynb"), as_text=True)
    with serve(200, {name: TEXT["Content-Type"]}, b"a.ipynb | 3 cells\n") as server:
        reply = connect(server.port).send(requests.read("a.ipynb"), as_text=True)

    assert caught.value.message == "It says so."
    assert reply.is_text
    with (
        serve(302, {"location": "http://x/y"}) as server,
        pytest.raises(client_errors.Redirected, match="http://x/y"),
    ):
        connect(server.port).read("a.ipynb")


def test_an_error_with_an_unknown_reason_keeps_what_the_server_says() -> None:
    body = json.dumps({"reason": "tired", "message": "No.", "details": {"a": 1}}).encode()
    with serve(500, JSON, body) as server, pytest.raises(client_errors.ServerError) as caught:
        connect(server.port).read("a.ipynb")

    assert (caught.value.reason, caught.value.message) == ("tired", "No.")
    assert caught.value.details == {"a": 1}


def test_a_client_waits_for_an_answer_only_so_long() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        client = connect(silent.getsockname()[1], seconds=0.01)
        with pytest.raises(client_errors.ResponseTimeout):
            client.read("a.ipynb")
