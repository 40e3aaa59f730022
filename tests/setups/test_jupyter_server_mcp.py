"""The extension jupyter_server_mcp has the tools of agents, if the settings say so."""

import json
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from tests.setups.needs import needs
from tests.support import samples
from tests.support.servers import start_server
from tests.support.waiting import wait_until

needs("jupyter_server_mcp")

HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
}
TOOLS = {
    "notebook_read",
    "notebook_edit",
    "notebook_search",
    "notebook_create",
    "notebook_history",
}


class McpClient:
    """Speaks to the server of jupyter_server_mcp, without a token: it takes none."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._headers = dict(HEADERS)
        parameters = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        }
        self.request("initialize", parameters)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def request(self, method: str, parameters: dict[str, Any]) -> Any:
        answer = self._send({"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters})
        return json.loads(answer)["result"]

    def _send(self, message: dict[str, Any]) -> str:
        request = Request(self._url, json.dumps(message).encode(), self._headers)  # noqa: S310
        with urlopen(request) as response:  # noqa: S310 -- our own server
            if session := response.headers.get("Mcp-Session-Id"):
                self._headers["Mcp-Session-Id"] = session
            text: str = response.read().decode()
        # Either JSON, or an event stream with one event.
        events = [line[6:] for line in text.splitlines() if line.startswith("data: ")]
        return events[-1] if events else text


@pytest.mark.parametrize("is_offered", [True, False])
def test_the_extension_has_the_tools_only_if_they_are_offered(
    is_offered: bool,  # noqa: FBT001 -- a parameter of the test
    tmp_path: Path,
) -> None:
    offer = "c.NbEditApp.offer_to_jupyter_server_mcp = True\n" if is_offered else ""
    server = start_server(
        tmp_path,
        extensions=["jupyter_server_mcp"],
        configuration=f"c.MCPExtensionApp.mcp_port = 0\n{offer}",
    )
    try:
        (server.client.root / "a.ipynb").write_bytes(samples.three_cells())
        info = tmp_path / "runtime" / f"jpserver-mcp-{server.process.pid}.json"
        wait_until(info.is_file, "the runtime file of jupyter_server_mcp")
        client = McpClient(json.loads(info.read_text())["url"])

        tools = {tool["name"] for tool in client.request("tools/list", {})["tools"]}
        assert tools & TOOLS == (TOOLS if is_offered else set())
        if is_offered:
            operations = [{"op": "insert", "source": "new", "at": "end"}]
            arguments = {"path": "a.ipynb", "operations": operations}
            call = {"name": "notebook_edit", "arguments": arguments}
            answer = client.request("tools/call", call)
            stale = {**arguments, "operations": [{"op": "delete", "cell": "0:000000"}]}
            failure = client.request("tools/call", {**call, "arguments": stale})
            assert answer["content"][0]["text"].startswith("a.ipynb | 4 cells")
            assert "structuredContent" not in answer
            assert failure["isError"]
            assert "cell_changed: " in failure["content"][0]["text"]
    finally:
        server.stop()
