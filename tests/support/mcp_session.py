"""What the official client of the Model Context Protocol does with our tools."""

from pathlib import Path
from typing import Any

from mcp.client import Client, Transport
from mcp.types import CallToolResult, Implementation, TextContent

from jupyter_nbedit.agents.mcp.definitions import INSTRUCTIONS, load_definitions
from tests.support import samples

#: How the client begins: it asks for the era of the server, or speaks one.
MODES = ("auto", "legacy", "2026-07-28")
NEW_NAME = f"0:{samples.compute_hash(b'x = 2')[:6]}"
CLIENT = Implementation(name="test-client", title="Test Client", version="1")


def build_client(transport: Transport, mode: str) -> Client:
    return Client(transport, mode=mode, client_info=CLIENT, raise_exceptions=True)


def get_text(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    assert result.structured_content is None
    return block.text


async def call(client: Client, tool: str, **arguments: Any) -> str:
    """Call a tool that succeeds, and return its text."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result
    return get_text(result)


async def check_session(client: Client, mode: str, root: Path) -> None:
    """List the tools, and let each of them read or change notebooks of the folder."""
    path = f"session-{mode}.ipynb"
    assert client.protocol_version == ("2025-11-25" if mode == "legacy" else "2026-07-28")
    # In this mode the client asks the server for nothing before the first call.
    assert client.instructions == (None if mode == "2026-07-28" else INSTRUCTIONS)
    listed = await client.list_tools()
    definitions = [
        tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in listed.tools
    ]
    assert definitions == list(load_definitions())

    cells = [{"source": "x = 1"}, {"source": "# Title", "cell_type": "markdown"}]
    assert path in await call(client, "notebook_create", path=path, cells=cells)
    assert "x = 1" in await call(client, "notebook_search", text="x = 1", folder=path)
    text = await call(client, "notebook_read", path=path)
    (name,) = (line.split()[1] for line in text.splitlines() if line.startswith("<cell 0:"))

    edit = {"path": path, "operations": [{"op": "replace", "cell": name, "source": "x = 2"}]}
    assert (await call(client, "notebook_edit", **edit)).endswith(f"replace {NEW_NAME}")
    stale = await client.call_tool("notebook_edit", edit)
    assert stale.is_error
    assert get_text(stale).startswith("cell_changed: ")
    assert "Test Client" in await call(client, "notebook_history", action="list", path=path)
    await call(client, "notebook_history", action="undo", path=path)
    first, _ = samples.load_cells((root / path).read_bytes())
    assert "".join(first["source"]) == "x = 1"
