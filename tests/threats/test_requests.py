"""Requests made to break something: S5, S7, S8, S13, S16, S17 and S30."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.handlers.error_checks import assert_no_local_names, build_body, get_error, no_changes
from tests.handlers.routes import ROWS
from tests.support import samples
from tests.support.http import JSON, Client
from tests.support.sampling import is_nightly
from tests.support.waiting import wait_until

NAME = "a.ipynb"
GOOD = samples.three_cells()
EDIT = {"op": "replace", "cell": "alpha", "source": "changed"}
END = {"op": "insert", "cell_type": "code", "source": "x", "at": "end"}
LIMIT = 16 * 1024 * 1024


@pytest.fixture
def notebook(live: Client) -> Path:
    path = live.root / NAME
    path.write_bytes(GOOD)
    return path


@contextmanager
def assert_others_are_served(live: Client) -> Iterator[None]:
    """Ask the server something small all the time; each answer has to come."""
    answers: list[int] = []
    over = threading.Event()

    def ask() -> None:
        while not over.wait(0.02):
            answers.append(live.request("GET", "nbedit").status)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        yield
        wait_until(lambda: answers)
    finally:
        over.set()
        asking.join()
    assert set(answers) == {200}


HIDDEN = [
    ".hidden.ipynb",
    ".git/a.ipynb",
    ".ssh/a.ipynb",
    "open/.hidden/a.ipynb",
    ".ipynb_checkpoints/a-checkpoint.ipynb",
    ".~a.ipynb",
]


@pytest.mark.parametrize("hidden", HIDDEN)
@pytest.mark.threat("S5")
def test_a_hidden_path_is_reported_as_missing_by_every_verb(live: Client, hidden: str) -> None:
    path = live.root / hidden
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(GOOD)
    with no_changes(live.root):
        for (pattern, verb), row in ROWS.items():
            if "/tools/" in pattern or NAME not in row.target:
                continue
            target, body, headers = row.build_request(live.root, hidden)
            there = live.request(verb, target, body, headers)
            target, body, headers = row.build_request(live.root, "missing.ipynb")
            assert there.status == 404
            assert there.body == live.request(verb, target, body, headers).body
        created = live.send_json("PUT", f"notebooks/{hidden}")
        assert get_error(created, 404, "notebook_not_found") == {}
        found = live.request("POST", "nbedit/search", b'{"query": "Title"}', JSON).json
        assert hidden not in [hit["path"] for hit in found["hits"]]
        inside = json.dumps({"query": "Title", "path": str(Path(hidden).parent)}).encode()
        if "/" in hidden:
            get_error(
                live.request("POST", "nbedit/search", inside, JSON), 404, "notebook_not_found"
            )
    # A backup of the server's own would be taken for a save that goes on.
    path.unlink()


@pytest.mark.threat("S7")
def test_too_large_requests_are_refused_and_others_served(live: Client, notebook: Path) -> None:
    with assert_others_are_served(live), no_changes(notebook.parent):
        for _ in range(3):
            answer = live.send(NAME, build_body(**END).ljust(LIMIT + 1))
            assert get_error(answer, 413, "too_large") == {"bytes": LIMIT + 1, "limit": LIMIT}
        get_error(live.patch(NAME, *[END] * 10_000), 400, "invalid_request")
        get_error(live.patch(NAME, *[END] * 100_000), 413, "too_large")


@pytest.mark.threat("S7")
def test_a_client_that_never_ends_its_request_blocks_no_other(live: Client, notebook: Path) -> None:
    head = (
        f"PATCH /nbedit/notebooks/{NAME} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"Authorization: token {live.token}\r\nContent-Type: application/json\r\n"
    )
    endings = [
        "",
        "Content-Length: 1000000\r\n\r\n{",
        "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n",
    ]
    slow = [socket.create_connection(("127.0.0.1", live.port)) for _ in range(30)]
    try:
        for number, connection in enumerate(slow):
            connection.sendall(f"{head}{endings[number % len(endings)]}".encode())
        with assert_others_are_served(live):
            assert live.patch(NAME, EDIT).status == 200
    finally:
        for connection in slow:
            connection.close()
    assert samples.load_cells(notebook.read_bytes())[0]["source"] == "changed"


LONG = 1_000_000 if is_nightly() else 100_000
EVIL = [
    "(a+)+b",
    "(a*)*b",
    "(a|aa)+b",
    "(a|a?)+b",
    "(.*a){20}b",
    "([a-zA-Z]+)*b",
    "(a?){50}a{50}b",
    "^(a+)*$b",
    "(x+x+)+y",
    "(?:a{1,100}){1,10}b",
    *(f"(a{{{n}}}|a{{{n + 1}}})*b" for n in range(1, 11)),
    *(f"({'a?' * n})*{'a' * n}b" for n in range(1, 11)),
    *("(" * n + "a*" + ")*" * n + "b" for n in range(1, 11)),
    *(f"(.*){{{n}}}b" for n in range(1, 11)),
]


@pytest.mark.threat("S13")
def test_no_expression_blocks_other_requests(live: Client) -> None:
    folder = live.root / "evil"
    folder.mkdir()
    (folder / NAME).write_bytes(samples.notebook(samples.raw("a" * LONG, "a")))
    assert len(EVIL) == 50
    with assert_others_are_served(live):
        for pattern in EVIL if is_nightly() else EVIL[::5]:
            body = {"regex": pattern, "path": "evil"}
            answer = live.send_json("POST", "search", body)
            # Some are more than RE2 takes, and are refused as they are.
            assert answer.status in {200, 400}, answer.body
            assert answer.status == 400 or answer.json["hits"] == []


# S14 to S17: pages of other sites ----------------------------------------------------------------


WEBSOCKET = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}


@pytest.mark.parametrize("origin", ["http://evil.example", "http://127.0.0.1.evil.example", "null"])
@pytest.mark.threat("S16")
def test_a_page_of_another_site_gets_no_websocket(live: Client, origin: str) -> None:
    # The server's own socket sends edit events, and authorizes listeners; ours sends nothing.
    cookies = live.request("GET", "api/status").headers.get_list("Set-Cookie")
    cookie = {"Cookie": "; ".join(cookie.split(";")[0] for cookie in cookies)}
    own = {**WEBSOCKET, "Origin": f"http://127.0.0.1:{live.port}"}
    for said, status in (
        ({**WEBSOCKET, "Origin": origin}, 403),
        (WEBSOCKET, 403),
        # A browser sends its user's cookies with what any page asks.
        ({**WEBSOCKET, **cookie, "Origin": origin}, 404),
        ({**own, **cookie, "Host": "evil.example"}, 403),
        ({**own, **cookie}, 101),
    ):
        answer = live.request("GET", "nbedit/tabs", headers=said, token="")
        assert answer.status == status, said
    headers = {**WEBSOCKET, "Origin": origin}
    for said in (headers, WEBSOCKET):
        answer = live.request("GET", "api/events/subscribe", headers=said, token="")
        # Away to the page where one logs in, or nowhere: in no case a socket.
        assert answer.status in {302, 403}


@pytest.mark.parametrize(
    "header",
    [
        {"X-Long": "x" * 60_000},
        {f"X-{n}": "x" for n in range(2_000)},
        {"If-Match": '"x", ' * 12_000},
        {"If-None-Match": "," * 60_000},
        {"Content-Type": "application/json" + ";a=b" * 15_000},
        {"Content-Type": "multipart/form-data; boundary=" + "x" * 60_000},
        {"Cookie": "a=b; " * 12_000},
        {"Idempotency-Key": "x" * 60_000},
        {"X-NbEdit-Session": "x" * 60_000},
    ],
    ids=lambda header: next(iter(header)),
)
@pytest.mark.threat("S30")
def test_headers_of_64_kilobytes_are_answered(
    live: Client, notebook: Path, header: dict[str, str]
) -> None:
    body = json.dumps({"operations": [EDIT], "dry_run": True}).encode()
    with no_changes(notebook.parent):
        answer = live.send(NAME, body, header)
    assert answer.status in {200, 400, 415, 431}
    assert_no_local_names(answer.body, answer.root)


@pytest.mark.threat("S30")
def test_a_form_of_many_parts_is_refused_before_it_is_parsed(live: Client, notebook: Path) -> None:
    part = b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n'
    with assert_others_are_served(live), no_changes(notebook.parent):
        headers = {"Content-Type": "multipart/form-data; boundary=x"}
        get_error(live.send(NAME, part * 90 + b"--x--\r\n", headers), 415, "unsupported_media_type")
        # For more parts the web server itself returns an error.
        assert live.send(NAME, part * 50_000 + b"--x--\r\n", headers).status in {400, 415}
