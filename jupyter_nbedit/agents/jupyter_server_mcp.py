"""The tools of the toolset ``agent`` as functions, for the extension jupyter_server_mcp.

That extension asks the entry points of the group ``jupyter_server_mcp.tools`` for functions, and
makes a tool of each: of its name, docstring and parameters. It has a port of its own without a
token, which everybody on the machine can use. So there are functions only if the setting
`offer_to_jupyter_server_mcp` says so.
"""

# Without `from __future__ import annotations`: that extension needs the types themselves.

import json
import logging
from collections.abc import Callable
from typing import Any, Literal

from jupyter_server.serverapp import ServerApp

from jupyter_nbedit.agents.tools import get_tool
from jupyter_nbedit.agents.tools.base import ToolContext, ToolError
from jupyter_nbedit.agents.tools.toolsets.agent import AgentFailure, AgentOutput
from jupyter_nbedit.errors import NbEditError
from jupyter_nbedit.notebook.decode_body import decode_body
from jupyter_nbedit.notebook.text_cells import TextOutputs, TextView
from jupyter_nbedit.services.models import Author

#: Where the settings of the web application have the `ToolContext`, if the tools are offered.
OFFERED_TOOLS = "jupyter_nbedit_offered_tools"
# Nobody has logged in, so that this stands for the user in the history.
_CALLER = "jupyter_server_mcp"
_log = logging.getLogger(__name__)


class ToolFailed(Exception):
    """A tool has failed; the message is for the model."""


def list_functions() -> list[str]:
    """Return the functions in the form ``module:function``; none if they are not offered."""
    if _get_context() is None:
        return []
    return [f"{__name__}:{function.__name__}" for function in _FUNCTIONS]


async def notebook_read(  # noqa: D103, PLR0913 -- its description and parameters are the tool's
    path: str,
    *,
    cells: list[str] | None = None,
    section: str | None = None,
    start: int | None = None,
    view: TextView | None = None,
    outputs: TextOutputs | None = None,
    max_chars: int | None = None,
    since: str | None = None,
) -> Any:
    return await _call(
        "notebook_read",
        path=path,
        cells=cells,
        section=section,
        start=start,
        view=view,
        outputs=outputs,
        max_chars=max_chars,
        since=since,
    )


async def notebook_edit(  # noqa: D103 -- its description is the tool's
    path: str,
    operations: list[dict[str, Any]],
    *,
    message: str | None = None,
    rev: str | None = None,
    dry_run: bool | None = None,
) -> Any:
    return await _call(
        "notebook_edit",
        path=path,
        operations=operations,
        message=message,
        rev=rev,
        dry_run=dry_run,
    )


async def notebook_search(  # noqa: D103, PLR0913 -- its description and parameters are the tool's
    *,
    text: str | None = None,
    regex: bool | None = None,
    ignore_case: bool | None = None,
    folder: str | None = None,
    scope: Literal["sources", "outputs", "tags", "all"] | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Any:
    # No parameter of Python can have the name `in`.
    return await _call(
        "notebook_search",
        text=text,
        regex=regex,
        ignore_case=ignore_case,
        folder=folder,
        limit=limit,
        cursor=cursor,
        **{"in": scope},
    )


async def notebook_create(  # noqa: D103 -- its description is the tool's
    path: str, cells: list[dict[str, Any]] | None = None, kernelspec: str | None = None
) -> Any:
    return await _call("notebook_create", path=path, cells=cells, kernelspec=kernelspec)


async def notebook_history(  # noqa: D103 -- its description is the tool's
    action: Literal["list", "show", "undo", "redo", "proposal"],
    *,
    path: str | None = None,
    edit_id: int | None = None,
    proposal_id: int | None = None,
    wait: int | None = None,
) -> Any:
    return await _call(
        "notebook_history",
        action=action,
        path=path,
        edit_id=edit_id,
        proposal_id=proposal_id,
        wait=wait,
    )


_FUNCTIONS: tuple[Callable[..., Any], ...] = (
    notebook_read,
    notebook_edit,
    notebook_search,
    notebook_create,
    notebook_history,
)
for _function in _FUNCTIONS:
    _function.__doc__ = get_tool(f"agent/{_function.__name__}").description


def _get_context() -> ToolContext | None:
    """Return the services of the running server, if it offers its tools."""
    if not ServerApp.initialized():
        return None
    context: ToolContext | None = ServerApp.instance().web_app.settings.get(OFFERED_TOOLS)
    return context


async def _call(name: str, **arguments: Any) -> str:
    """Run a tool and return its text; raise `ToolFailed` with the text of its failure."""
    context, tool = _get_context(), get_tool(f"agent/{name}")
    if context is None:
        message = "This server does not offer its tools to jupyter_server_mcp."
        raise ToolFailed(message)
    try:
        body = json.dumps(arguments).encode()
        decoded = decode_body(body, tool.arguments_type, is_lenient=True)
        result = await tool.run(context, Author(_CALLER, _CALLER), decoded)
    except NbEditError as error:
        failure = tool.toolset.build_failure(
            ToolError(error.reason, error.message, error.details, arguments)
        )
        raise ToolFailed(_get_text(failure)) from None
    except Exception:  # noqa: BLE001 -- its text may name paths, and would be shown
        _log.exception("The tool %s failed", name)
        message = "internal_error: The tool failed; the log of the Jupyter server says why."
        raise ToolFailed(message) from None
    return _get_text(result.output)


def _get_text(output: Any) -> str:
    if not isinstance(output, AgentOutput | AgentFailure):
        raise TypeError(output)
    return output.content[0].text
