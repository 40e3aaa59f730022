"""The authorizer of the documentation, for users who may only read."""

import asyncio
import json
import re
from pathlib import Path

import pytest
from tornado.httpclient import HTTPClientError, HTTPRequest
from tornado.websocket import websocket_connect

from jupyter_nbedit.services.events.models import EditEvent
from tests.handlers.error_checks import get_error
from tests.support import samples
from tests.support.http import Client
from tests.support.paths import ROOT
from tests.support.servers import run_server
from tests.support.waiting import LIMIT_SECONDS

REPLACE = {"op": "replace", "cell": "alpha", "source": "changed"}
EVENTS = ', ("execute", "events")'


def read_documented() -> str:
    text = (ROOT / "docs" / "operate.md").read_text()
    (block,) = re.findall(r"```python\n(.*?class ReadersAndWriters.*?)```", text, re.DOTALL)
    assert EVENTS in block
    return str(block)


def build_request(client: Client) -> HTTPRequest:
    url = f"ws://127.0.0.1:{client.port}{client.base_url}api/events/subscribe"
    return HTTPRequest(url, headers={"Authorization": f"token {client.token}"})


async def test_a_user_who_may_only_read_gets_events_and_changes_nothing(tmp_path: Path) -> None:
    with run_server(tmp_path, configuration=read_documented()) as client:
        (client.root / "a.ipynb").write_bytes(samples.three_cells())
        socket = await websocket_connect(build_request(client))

        assert client.read("a.ipynb").status == 200
        assert client.get_json("mode")["writable"] is False
        get_error(client.patch("a.ipynb", REPLACE), 403, "forbidden")
        assert (client.root / "a.ipynb").read_bytes() == samples.three_cells()
        socket.close()


async def test_a_writer_gets_events_of_edits(tmp_path: Path) -> None:
    everybody = read_documented().replace("user.username in WRITERS", "True")
    with run_server(tmp_path, configuration=everybody) as client:
        (client.root / "a.ipynb").write_bytes(samples.three_cells())
        socket = await websocket_connect(build_request(client))

        assert client.get_json("mode")["writable"] is True
        assert client.patch("a.ipynb", REPLACE).status == 200

        schema = None
        while schema != EditEvent.get_schema_id():
            message = await asyncio.wait_for(socket.read_message(), LIMIT_SECONDS)
            schema = json.loads(message or b"{}").get("schema_id")
        socket.close()


async def test_without_the_right_to_events_the_subscription_is_refused(tmp_path: Path) -> None:
    with run_server(tmp_path, configuration=read_documented().replace(EVENTS, "")) as client:
        with pytest.raises(HTTPClientError) as refusal:
            await websocket_connect(build_request(client))
        assert refusal.value.code == 403
