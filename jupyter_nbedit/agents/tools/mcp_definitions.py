"""The definitions of the toolset ``agent`` as the Model Context Protocol has them."""

from typing import Any

import msgspec

from jupyter_nbedit.agents.tools.base import build_input_schema
from jupyter_nbedit.agents.tools.toolsets import agent


def build_mcp_definitions() -> list[dict[str, Any]]:
    """Return what `jupyter_nbedit.agents.mcp.definitions.TOOLS_FILE` must have."""
    return [
        {
            "name": tool.name,
            "title": tool.title,
            "description": tool.description,
            "inputSchema": build_input_schema(tool),
            "annotations": msgspec.to_builtins(tool.annotations),
        }
        for tool in agent.TOOLS
    ]
