"""The tools that agents call; each module of `toolsets` holds one toolset.

A tool translates its arguments to operations of `jupyter_nbedit.notebook.operations`, and the reply
to the form that its kind of agent expects.
"""

from typing import Any

from jupyter_nbedit.agents.tools.base import Tool
from jupyter_nbedit.agents.tools.toolsets import agent, claude_code, mycode, nexo, omp, sections
from jupyter_nbedit.errors import ToolNotFound

#: All tools by address, ``toolset/name``, in the order in which they are listed.
TOOLS: dict[str, Tool[Any]] = {
    f"{tool.toolset.name}/{tool.name}": tool
    for toolset in (agent, nexo, mycode, omp, sections, claude_code)
    for tool in toolset.TOOLS
}


def get_tool(address: str) -> Tool[Any]:
    """Return the tool with an address; raise `ToolNotFound`, which lists them, if there is none."""
    if address not in TOOLS:
        addresses = list(TOOLS)
        message = f"There is no tool {address[:100]!r}. There are: {', '.join(addresses)}."
        raise ToolNotFound(message, tools=addresses)
    return TOOLS[address]
