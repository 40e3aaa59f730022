"""The routes of the tools of agents: list the definitions, call a tool."""

from http import HTTPStatus
from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from jupyter_nbedit import errors
from jupyter_nbedit.agents.tools import TOOLS, get_tool
from jupyter_nbedit.agents.tools.base import (
    Tool,
    ToolAnnotations,
    ToolError,
    ToolResult,
    build_input_schema,
)
from jupyter_nbedit.handlers import spec
from jupyter_nbedit.handlers.base import NbEditHandler, encode_json
from jupyter_nbedit.handlers.errors import build_error_body, remove_operation
from jupyter_nbedit.handlers.idempotency import StoredResponse
from jupyter_nbedit.handlers.spec import Header, OperationSpec, Reply, Route
from jupyter_nbedit.notebook.decode_body import decode_body
from jupyter_nbedit.services.requests import Author
from jupyter_nbedit.system.concurrency import run_in_thread_if_large


class ToolDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """The definition of a tool, to be given to a model."""

    toolset: Annotated[str, Meta(description="The toolset: a kind of agent.")]
    dialect: Annotated[str, Meta(description="The same as `toolset`, by its former name.")]
    name: Annotated[str, Meta(description="Its name in the toolset.")]
    description: Annotated[str, Meta(description="What it does, for a model.")]
    input_schema: Annotated[
        dict[str, Any], Meta(description="The JSON Schema of its input, without references.")
    ]
    title: Annotated[str | UnsetType, Meta(description="Its name for people.")] = UNSET
    annotations: Annotated[
        ToolAnnotations, Meta(description="What it may do, as in the Model Context Protocol.")
    ]


class ToolsReply(msgspec.Struct, frozen=True):
    """All tools."""

    tools: list[ToolDefinition]


class ToolsHandler(NbEditHandler):
    """``/nbedit/tools``."""

    @OperationSpec(
        "List all tools",
        replies={
            HTTPStatus.OK: Reply(
                ToolsReply, "Their definitions, to be given to a model as they are."
            )
        },
    )
    async def get(self) -> None:
        """List the definitions of all tools."""
        definitions = [
            ToolDefinition(
                toolset=tool.toolset.name,
                dialect=tool.toolset.name,
                name=tool.name,
                description=tool.description,
                input_schema=build_input_schema(tool),
                title=tool.title or UNSET,
                annotations=tool.annotations,
            )
            for tool in TOOLS.values()
        ]
        self.send_reply(ToolsReply(definitions))


_CLIENT = Header(
    spec.CLIENT.name,
    "The name of your client, for the history and JupyterLab; without it the name of the tool.",
    r"^[ -~]{1,200}$",
)


def _build_spec(tool: Tool[Any]) -> OperationSpec:
    """Return what a tool takes and answers."""
    output_type = tool.toolset.output_type
    accepted = Reply(
        output_type,
        "In review mode: nothing is changed, but a change is proposed.",
        [spec.LOCATION],
    )
    return OperationSpec(
        f"{tool.name} of {tool.toolset.name}",
        description=tool.description,
        body=tool.arguments_type,
        headers=[spec.IDEMPOTENCY_KEY, spec.SESSION, _CLIENT],
        replies={
            HTTPStatus.OK: Reply(output_type, "What the tool did, in the form of the toolset."),
            **(
                {HTTPStatus.ACCEPTED: accepted}
                if tool.can_propose and not tool.is_read_only
                else {}
            ),
        },
        errors=[
            *spec.READ_ERRORS,
            *spec.WRITE_ERRORS,
            *spec.OPERATION_ERRORS,
            errors.FileNotFound,
            errors.HashMismatch,
            errors.ReadRequired,
            errors.VersionUnknown,
            errors.NotebookExists,
            errors.EditNotFound,
            errors.NothingToUndo,
            errors.UndoConflict,
            errors.ProposalNotFound,
        ],
        error_type=tool.toolset.failure_type,
    )


def _specify_calls(right: Literal["read", "write"]) -> OperationSpec:
    """Return the specification of the calls of all tools that need this permission."""
    specs = {address: _build_spec(tool) for address, tool in TOOLS.items() if tool.right == right}
    return OperationSpec("Call a tool", replies={}, addresses=specs, action=right)


class ToolRunner(NbEditHandler):
    """Runs tools, for the routes below."""

    # Only programs call tools.
    is_for_pages: ClassVar[bool] = False

    async def run_tool(
        self, tool: Tool[Any], address: str, arguments: bytes, client: str | None
    ) -> ToolResult:
        """Run a tool with arguments in JSON. The caller has checked `Tool.right`.

        A client that does not state its name gets the name of the tool.

        Raises
        ------
        NbEditError
            If the arguments do not have the form, the user may not do this, or the tool fails.
        """
        decoded = await run_in_thread_if_large(
            len(arguments), _decode_arguments, arguments, tool.arguments_type
        )
        if tool.is_change is not None and tool.is_change(decoded):
            await self.check_write_right()
        author = Author(
            self.user_name,
            client or address,
            session=self.session,
            account=self.account,
            way="tools",
            tool_names=() if client else _list_addresses(tool),
        )
        return await tool.run(self.context.tools, author, decoded)

    def build_failure(
        self, tool: Tool[Any], error: BaseException | None, status: int, arguments: dict[str, Any]
    ) -> msgspec.Struct:
        """Return an error in the form of the toolset; ``status`` is the status of an HTTP error."""
        body = build_error_body(error, status)
        if "operations" not in tool.arguments_type.__struct_fields__:
            body = remove_operation(body)
        return tool.toolset.build_failure(
            ToolError(body.reason, body.message, body.details, arguments)
        )


def _list_addresses(tool: Tool[Any]) -> tuple[str, ...]:
    """Return the addresses of all tools of a toolset."""
    return tuple(address for address, each in TOOLS.items() if each.toolset is tool.toolset)


def _decode_arguments(arguments: bytes, arguments_type: type[msgspec.Struct]) -> msgspec.Struct:
    return decode_body(arguments, arguments_type, is_lenient=True)


class ToolHandler(ToolRunner):
    """``/nbedit/tools/{toolset}/{tool}``; results and errors have the form of the toolset."""

    # Errors show arguments only of a call that was authorized and not too large.
    _is_called = False

    async def call_tool(self, address: str) -> None:
        """Call a tool with the arguments in the body, and send its result."""
        tool = get_tool(address)
        self._is_called = True

        if await self.replay_response():
            return
        self.check_media_type()
        client = self.read_label(_CLIENT.name)
        result = await self.run_tool(tool, address, await self.read_body(), client)
        response = StoredResponse(encode_json(result.output))
        if result.proposal_id is not UNSET:
            location = f"{self.base_url}nbedit/proposals/{result.proposal_id}"
            response = StoredResponse(response.body, HTTPStatus.ACCEPTED, {"Location": location})
        self.send_response(response)

    post = _specify_calls("write")(call_tool)

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """Send an error in the form of the toolset, or of the REST API if there is no tool."""
        # Tornado checks the method before it parses the address: `path_kwargs` may be missing.
        path_arguments = getattr(self, "path_kwargs", None) or {}
        tool = TOOLS.get(path_arguments.get("address", ""))
        if tool is None or status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            super().write_error(status_code, **kwargs)
            return
        error = kwargs.get("exc_info", (None, None, None))[1]
        # A body that is too large is not decoded, not even for the text of an error.
        arguments = {} if isinstance(error, errors.TooLarge) else self._parse_arguments()
        failure = self.build_failure(tool, error, status_code, arguments)
        self.finish(encode_json(failure))

    def _parse_arguments(self) -> dict[str, Any]:
        """Return the arguments for an error, without null; empty if the body is no JSON object."""
        try:
            arguments = msgspec.json.decode(self.body) if self._is_called else None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            arguments = None
        if not isinstance(arguments, dict):
            return {}
        return {name: value for name, value in arguments.items() if value is not None}


class ReadingToolHandler(ToolHandler):
    """The addresses of tools of which some calls, or all, only read."""

    post = _specify_calls("read")(ToolHandler.call_tool)


_READING_TOOLS = "|".join(address for address, tool in TOOLS.items() if tool.right == "read")
routes: list[Route] = [
    (r"/nbedit/tools", ToolsHandler),
    (rf"/nbedit/tools/(?P<address>{_READING_TOOLS})", ReadingToolHandler),
    (r"/nbedit/tools/(?P<address>.*)", ToolHandler),
]
