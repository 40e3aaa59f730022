"""The tools that agents call; each module of `toolsets` holds one toolset.

A tool translates its arguments to operations of `jupyter_nbedit.notebook.operations`, and the reply
to the form that its kind of agent expects.
"""

from __future__ import annotations

from typing import Any

from jupyter_nbedit.errors import ToolNotFound
from jupyter_nbedit.tools.base import Tool
from jupyter_nbedit.tools.toolsets import claude_code, mycode, nexo, omp, sections

#: All tools, in the order in which they are listed.
TOOLS: tuple[Tool[Any], ...] = (
    nexo.NOTEBOOK_EDIT,
    mycode.NOTEBOOK_EDIT,
    omp.NOTEBOOK,
    sections.NOTEBOOK_EDIT,
    claude_code.READ,
    claude_code.WRITE,
    claude_code.EDIT,
    claude_code.NOTEBOOK_EDIT,
)


#: Tools by address, ``toolset/name``.
ADDRESSES: dict[str, Tool[Any]] = {f"{tool.toolset}/{tool.name}": tool for tool in TOOLS}


def get_tool(address: str) -> Tool[Any]:
    """Return the tool with an address.

    Raises
    ------
    ToolNotFound
        If there is none; its ``details`` list the addresses.
    """
    if address not in ADDRESSES:
        addresses = list(ADDRESSES)
        message = f"There is no tool {address[:100]!r}. There are: {', '.join(addresses)}."
        raise ToolNotFound(message, tools=addresses)
    return ADDRESSES[address]
