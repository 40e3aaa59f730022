"""The Model Context Protocol without a transport: any message, and sessions over lines."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_nbedit.agents.mcp.errors import INVALID_REQUEST, ProtocolError
from jupyter_nbedit.agents.mcp.http import (
    PostAnswer,
    PostHeaders,
    answer_post,
    decode_session_id,
    encode_session_id,
)
from jupyter_nbedit.agents.mcp.messages import encode, parse
from jupyter_nbedit.agents.mcp.server import McpServer, ToolAnswer, ToolCall
from jupyter_nbedit.agents.mcp.versions import SUPPORTED_VERSIONS
from jupyter_nbedit.cli.bridge.stdio import StdioSession
from tests.handlers.mcp_messages import META, build_call, build_message, make_modern

READ = build_call("notebook_read", path="a.ipynb")
METHODS = ("initialize", "ping", "server/discover", "tools/call", "tools/list", "x")
STATUSES = {200, 202, 400, 404}


class Tools:
    """Remembers calls; one with `wait` waits until it is cancelled."""

    def __init__(self) -> None:
        self.calls: list[ToolCall] = []
        self.cancelled = 0
        self.called = asyncio.Event()

    async def call_tool(self, call: ToolCall) -> ToolAnswer:
        self.calls.append(call)
        self.called.set()
        if call.arguments.get("wait"):
            try:
                await asyncio.Event().wait()
            finally:
                self.cancelled += 1
        return ToolAnswer.from_text("done")


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
parameters = st.fixed_dictionaries(
    {},
    optional={
        "_meta": anything | st.fixed_dictionaries({}, optional=dict.fromkeys(META, anything)),
        "name": st.sampled_from(["notebook_read", "notebook_edit", "x"]) | anything,
        "arguments": anything,
        "protocolVersion": st.sampled_from(SUPPORTED_VERSIONS) | anything,
        "clientInfo": anything | st.fixed_dictionaries({"name": anything, "title": anything}),
        "cursor": anything,
    },
)
messages = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0") | anything, "method": st.sampled_from(METHODS) | anything},
    optional={"id": st.integers() | st.text() | anything, "params": parameters | anything},
)
header_values = st.none() | st.text(st.characters(min_codepoint=32, max_codepoint=255))
all_headers = st.builds(
    PostHeaders,
    version=st.none() | st.sampled_from(SUPPORTED_VERSIONS) | header_values,
    method=st.sampled_from(METHODS) | header_values,
    name=st.just("notebook_read") | header_values,
    session_id=header_values,
)


modern_messages = st.builds(
    lambda method, params: make_modern(build_message(method, **params)),
    st.sampled_from(METHODS),
    parameters,
)


@given(messages | modern_messages | anything | st.lists(messages, max_size=3), all_headers)
def test_every_message_gets_an_answer_of_the_protocol(content: Any, headers: PostHeaders) -> None:
    async def answer() -> tuple[PostAnswer, list[ToolCall]]:
        tools = Tools()
        # A call with `wait` would wait for ever.
        data = json.dumps(content).replace('"wait"', '"x"').encode()
        return await answer_post(McpServer(tools, "1"), parse(data), headers), tools.calls

    found, calls = asyncio.run(answer())

    assert found.status in STATUSES
    assert (found.body is None) == (found.status == 202)
    replies = [] if found.body is None else found.body
    for reply in [replies] if isinstance(replies, dict) else replies:
        assert reply["jsonrpc"] == "2.0"
        assert reply["id"] is None or type(reply["id"]) in {int, str}
        assert ("result" in reply) != ("error" in reply)
        if "error" in reply:
            assert reply["error"]["message"].endswith(".")
    encode(replies)
    for call in calls:
        assert call.client is None or (call.client.isprintable() and 0 < len(call.client) <= 100)


@given(st.text(max_size=50))
def test_a_session_id_is_the_name_of_the_client_in_visible_characters(name: str) -> None:
    shown = " ".join("".join(char if char.isprintable() else " " for char in name).split())
    session_id = encode_session_id(shown or None)
    assert decode_session_id(session_id) == (shown or None)
    assert session_id is None or (session_id.isascii() and " " not in session_id)


async def open_session(tools: Tools, version: str) -> StdioSession:
    session = StdioSession(McpServer(tools, "1"))
    client_info = {"name": "an-agent", "version": "1"}
    params = {"protocolVersion": version, "clientInfo": client_info}
    await answer(session, build_message("initialize", **params))
    return session


async def answer(session: StdioSession, message: Any) -> Any:
    line = await session.answer_line(json.dumps(message).encode())
    if line is None:
        return None
    assert b"\n" not in line
    return json.loads(line)


async def test_a_session_remembers_the_client_of_initialize_and_modern_requests_say_their_own() -> (
    None
):
    tools = Tools()
    session = await open_session(tools, "2025-11-25")
    await answer(session, READ)
    await answer(session, make_modern(READ, **{"io.modelcontextprotocol/clientInfo": None}))
    assert [call.client for call in tools.calls] == ["an-agent", None]


@pytest.mark.parametrize("version", ["2025-03-26", "2025-06-18"])
async def test_a_line_with_a_batch_is_answered_in_the_version_that_has_batches(
    version: str,
) -> None:
    session = await open_session(Tools(), version)
    replies = await answer(session, [READ, {"jsonrpc": "2.0", "method": "x"}, 5])
    if version == "2025-03-26":
        assert [reply["id"] for reply in replies] == [7, None]
    else:
        assert replies["error"]["code"] == INVALID_REQUEST


async def test_a_cancelled_call_ends_without_an_answer_and_no_other_does() -> None:
    tools = Tools()
    session = await open_session(tools, "2025-11-25")
    long_call = {**build_call("notebook_read", wait=True), "id": 1}
    waiting = asyncio.create_task(answer(session, long_call))
    await tools.called.wait()
    twice = await answer(session, {**READ, "id": 1})
    assert twice["error"]["code"] == INVALID_REQUEST

    for unknown in (8, "1", None, [1], 1.0, True):
        await answer(session, cancel(unknown))
    assert (await answer(session, {**READ, "id": 8}))["result"]["isError"] is False
    assert tools.cancelled == 0
    assert await answer(session, cancel(1)) is None
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert tools.cancelled == 1
    assert (await answer(session, {**READ, "id": 1}))["id"] == 1


def cancel(request_id: Any) -> Mapping[str, Any]:
    params = {"requestId": request_id}
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}


async def test_a_line_that_is_no_json_is_answered_without_an_id() -> None:
    line = await StdioSession(McpServer(Tools(), "1")).answer_line(b"{")
    assert json.loads(line or b"")["id"] is None


def test_parsing_never_takes_what_parsers_read_differently() -> None:
    for data in (b'{"a": 1, "a": 2}', b"NaN", b'"\xff"', b"\xef\xbb\xbf{}"):
        with pytest.raises(ProtocolError):
            parse(data)
