"""The tools of the toolset ``agent`` as functions, for the extension jupyter_server_mcp.

That extension asks the entry points of the group ``jupyter_server_mcp.tools`` for functions, and
makes a tool of each: of its name, docstring and parameters. It has a port of its own without a
token, which everybody on the machine can use. There are functions only if the setting
`offer_to_jupyter_server_mcp` is on.
"""

import inspect
import json
import keyword
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, get_args, get_origin

import msgspec
from jupyter_server.serverapp import ServerApp

from jupyter_nbedit.agents.tools.base import Tool, ToolContext, ToolError
from jupyter_nbedit.agents.tools.toolsets.agent import TOOLS, AgentOutput
from jupyter_nbedit.errors import NbEditError
from jupyter_nbedit.notebook.decode_body import decode_body
from jupyter_nbedit.services.requests import Author

#: Where the settings of the web application have the `ToolContext`, if the tools are offered.
OFFERED_TOOLS = "jupyter_nbedit_offered_tools"
# Nobody has logged in: this name stands for the user in the history.
_CALLER = "jupyter_server_mcp"
_log = logging.getLogger(__name__)


class ToolFailed(Exception):
    """A tool has failed; the message is for the model."""


def list_functions() -> list[str]:
    """Return the functions in the form ``module:function``; none if they are not offered."""
    if _get_context() is None:
        return []
    return [f"{__name__}:{tool.name}" for tool in TOOLS]


def _build_function(tool: Tool[Any]) -> Callable[..., Awaitable[str]]:
    """Return a tool as a function, whose parameters are the fields of its input."""
    names, parameters = dict[str, str](), list[inspect.Parameter]()
    for field in msgspec.structs.fields(tool.arguments_type):
        # No parameter of Python can have the name `in`.
        is_keyword = keyword.iskeyword(field.encode_name)
        parameter_name = field.name if is_keyword else field.encode_name
        names[parameter_name] = field.encode_name
        kind = _simplify_type(field.type)
        parameters.append(
            inspect.Parameter(
                parameter_name,
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                default=inspect.Parameter.empty if field.required else None,
                annotation=kind if field.required else kind | None,
            )
        )
    signature = inspect.Signature(parameters, return_annotation=Any)

    async def call(*positional: Any, **named: Any) -> str:
        given = signature.bind(*positional, **named).arguments
        return await _call(tool, {names[name]: value for name, value in given.items()})

    call.__name__ = call.__qualname__ = tool.name
    call.__doc__ = tool.description
    # That extension reads both.
    vars(call)["__signature__"] = signature
    call.__annotations__ = {each.name: each.annotation for each in parameters} | {"return": Any}
    return call


def _simplify_type(kind: Any) -> Any:
    """Return a type without what only msgspec knows; a struct is any object there."""
    if get_origin(kind) is Annotated:
        return _simplify_type(get_args(kind)[0])
    if get_origin(kind) is list:
        return list[_simplify_type(get_args(kind)[0])]  # type: ignore[misc] # computed
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return dict[str, Any]
    given = [each for each in get_args(kind) if each is not msgspec.UnsetType]
    return _simplify_type(given[0]) if msgspec.UnsetType in get_args(kind) else kind


def _get_context() -> ToolContext | None:
    """Return the services of the running server, if it offers its tools."""
    if not ServerApp.initialized():
        return None
    context: ToolContext | None = ServerApp.instance().web_app.settings.get(OFFERED_TOOLS)
    return context


async def _call(tool: Tool[Any], arguments: Mapping[str, Any]) -> str:
    """Run a tool and return its text; raise `ToolFailed` with the text of its failure."""
    context = _get_context()
    if context is None:
        raise ToolFailed("This server does not offer its tools to jupyter_server_mcp.")
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
        _log.exception("The tool %s failed", tool.name)
        message = "internal_error: The tool failed; the log of the Jupyter server says why."
        raise ToolFailed(message) from None
    return _get_text(result.output)


def _get_text(output: Any) -> str:
    if not isinstance(output, AgentOutput):
        raise TypeError(output)
    return output.content[0].text


# That extension looks for each function in this module.
globals().update({tool.name: _build_function(tool) for tool in TOOLS})
