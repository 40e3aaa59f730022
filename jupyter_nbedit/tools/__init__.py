"""The contracts that agents already speak, each one a translation to what the house does.

A dialect is a module: the forms of its tools' inputs and answers, a description for models, and the
way from the one to the other. Nothing here knows how an edit is done.
"""

from __future__ import annotations

from typing import Any

from jupyter_nbedit.errors import ToolNotFound
from jupyter_nbedit.tools import mycode, nexo, omp
from jupyter_nbedit.tools.tool import Tool

#: All there are.
TOOLS: tuple[Tool[Any], ...] = (
    nexo.NOTEBOOK_EDIT,
    mycode.NOTEBOOK_EDIT,
    omp.NOTEBOOK,
)


def find(address: str) -> Tool[Any]:
    """Give a tool.

    Parameters
    ----------
    address
        Its dialect and its name, as ``dialect/name``.

    Raises
    ------
    ToolNotFound
        With the addresses there are.
    """
    there = {f"{tool.dialect}/{tool.name}": tool for tool in TOOLS}
    if address not in there:
        message = f"There is no tool {address[:100]!r}. There are: {', '.join(there)}."
        raise ToolNotFound(message, tools=list(there))
    return there[address]
