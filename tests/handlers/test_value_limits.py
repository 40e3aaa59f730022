"""Bodies with more JSON values than are decoded."""

import json
import socket
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from jupyter_nbedit.notebook.json_values import MAX_CREATED_JSON_VALUES, MAX_JSON_VALUES
from tests.handlers.error_checks import get_error
from tests.support import samples
from tests.support.http import JSON, Answer, Client

LARGE = 2_000_000
#: The values around those of the metadata, with room for more of them.
_AROUND = 20


def insert(metadata: str) -> str:
    return (
        '{"op": "insert", "at": "end", "cell_type": "code", "source": "x", "metadata": {"a": '
        f"{metadata}}}}}"
    )


def send(client: Client, method: str, target: str, body: str) -> Answer:
    return client.request(method, f"nbedit/{target}", body.encode(), JSON)


def patch(client: Client, metadata: str) -> Answer:
    return send(client, "PATCH", "notebooks/a.ipynb", f'{{"operations": [{insert(metadata)}]}}')


def call_tool(client: Client, metadata: str) -> Answer:
    body = f'{{"path": "a.ipynb", "operations": {metadata}}}'
    return send(client, "POST", "tools/agent/notebook_edit", body)


def call_tool_with_string(client: Client, metadata: str) -> Answer:
    return call_tool(client, json.dumps(metadata))


def ping(client: Client, metadata: str) -> Answer:
    message = f'{{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {{"a": {metadata}}}}}'
    return send(client, "POST", "mcp", message)


def create(client: Client, metadata: str) -> Answer:
    cell = f'{{"cell_type": "raw", "source": "", "metadata": {{"a": {metadata}}}}}'
    return send(client, "PUT", "notebooks/new.ipynb", f'{{"cells": [{cell}]}}')


@pytest.fixture
def client(live: Client) -> Client:
    (live.root / "a.ipynb").write_bytes(samples.three_cells())
    (live.root / "new.ipynb").unlink(missing_ok=True)
    return live


@pytest.mark.parametrize("value", ["[]", "{}", "0", '""', '{"a":0}'])
@pytest.mark.parametrize(
    ("send_values", "limit"),
    [
        (patch, MAX_JSON_VALUES),
        (call_tool, MAX_JSON_VALUES),
        (call_tool_with_string, MAX_JSON_VALUES),
        (ping, MAX_JSON_VALUES),
        (create, MAX_CREATED_JSON_VALUES),
    ],
)
def test_a_body_with_too_many_values_is_refused(
    client: Client, send_values: Any, limit: int, value: str
) -> None:
    answer = send_values(client, f"[{','.join([value] * limit)}]")
    if send_values in (call_tool, call_tool_with_string):
        assert answer.status == 413
        text = answer.json["content"][0]["text"]
        assert text.startswith(f"too_large: The request's body has more than {limit} JSON values")
    else:
        assert get_error(answer, 413, "too_large") == {"limit": limit}
        assert f"more than {limit} JSON values" in answer.json["message"]
    assert (client.root / "a.ipynb").read_bytes() == samples.three_cells()
    assert not (client.root / "new.ipynb").exists()


@pytest.mark.parametrize(
    ("send_values", "limit", "status"),
    [(patch, MAX_JSON_VALUES, 200), (ping, MAX_JSON_VALUES, 200), (create, 300_000, 201)],
)
def test_a_body_with_as_many_values_as_allowed_is_taken(
    client: Client, send_values: Any, limit: int, status: int
) -> None:
    answer = send_values(client, f"[{','.join(['0'] * (limit - _AROUND))}]")
    assert answer.status == status, answer.body


def test_commas_and_brackets_in_a_source_are_no_values(client: Client) -> None:
    source = '[{"a": 1}, \\" ' * 200_000
    operation = {"op": "insert", "at": "end", "cell_type": "code", "source": source}
    assert client.patch("a.ipynb", operation).status == 200
    assert samples.load_cells((client.root / "a.ipynb").read_bytes())[-1]["source"] == source


def test_lists_in_many_strings_count_together(client: Client) -> None:
    tags = json.dumps("[" + ",".join(["0"] * 1_000) + "]")
    operation = f'{{"op": "set_tags", "cell": "0:000000", "tags": {tags}}}'
    answer = call_tool(client, f"[{','.join([operation] * 300)}]")
    assert answer.status == 413
    assert "more than" in answer.json["content"][0]["text"]


def test_a_batch_of_messages_counts_together(client: Client) -> None:
    message = {"jsonrpc": "2.0", "method": "ping", "params": {"a": [0] * (MAX_JSON_VALUES // 10)}}
    batch = json.dumps([{**message, "id": number} for number in range(11)])
    get_error(send(client, "POST", "mcp", batch), 413, "too_large")


def test_a_large_request_waits_for_no_other_that_has_ended(client: Client) -> None:
    insert_large = {
        "operations": [{"op": "insert", "at": "end", "cell_type": "raw", "source": "x" * LARGE}]
    }
    body = json.dumps(insert_large).encode()
    target = f"{client.base_url}nbedit/notebooks/a.ipynb"
    head = (
        f"PATCH {target} HTTP/1.1\r\nHost: localhost\r\nAuthorization: token {client.token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    for _ in range(3):
        # The client is gone before there is a reply.
        with socket.create_connection(("127.0.0.1", client.port)) as connection:
            connection.sendall(head.encode() + body)
        refused = client.request(
            "PATCH", "nbedit/notebooks/a.ipynb", body.replace(b"end", b"enD"), JSON
        )
        assert refused.status == 400
        foreign = client.request(
            "PATCH", "nbedit/notebooks/a.ipynb", body, {"Content-Type": "text/plain"}
        )
        assert foreign.status == 415
    with ThreadPoolExecutor(4) as pool:
        answers = list(
            pool.map(
                lambda _: client.request("PATCH", "nbedit/notebooks/a.ipynb", body, JSON), range(8)
            )
        )
    assert [answer.status for answer in answers] == [200] * 8


def test_the_limits_are_in_the_description_of_the_server(client: Client) -> None:
    limits = client.request("GET", "nbedit").json["limits"]
    assert limits["max_json_values"] == MAX_JSON_VALUES
    assert limits["max_created_json_values"] == MAX_CREATED_JSON_VALUES
