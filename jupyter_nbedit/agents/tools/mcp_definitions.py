"""The definitions of the toolset ``agent`` as the Model Context Protocol has them."""

from __future__ import annotations

from typing import Any

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
            "annotations": {
                "readOnlyHint": tool.is_read_only,
                "destructiveHint": tool.is_destructive,
                "idempotentHint": tool.is_idempotent,
                "openWorldHint": False,
            },
        }
        for tool in agent.TOOLS
    ]
