"""The tools of agents: each translates the contract of one tool to operations.

A dialect is a module: the forms of its tools' inputs and answers, a description for models, and the
way from the one to the other. Nothing here knows how an edit is done.
"""

from __future__ import annotations

from typing import Any

from jupyter_nbedit.errors import ToolNotFound
from jupyter_nbedit.tools import claude_code, mycode, nexo, omp, sections
from jupyter_nbedit.tools.base import Tool

#: All there are.
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


#: By their addresses, ``dialect/name``.
ADDRESSES: dict[str, Tool[Any]] = {f"{tool.dialect}/{tool.name}": tool for tool in TOOLS}


def find(address: str) -> Tool[Any]:
    """Return the tool with an address.

    Raises
    ------
    ToolNotFound
        With the addresses there are.
    """
    if address not in ADDRESSES:
        there = list(ADDRESSES)
        message = f"There is no tool {address[:100]!r}. There are: {', '.join(there)}."
        raise ToolNotFound(message, tools=there)
    return ADDRESSES[address]
