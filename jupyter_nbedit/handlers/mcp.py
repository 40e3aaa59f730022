"""The endpoint of the Model Context Protocol: the toolset ``agent`` for clients of MCP.

`jupyter_nbedit.agents.mcp` knows the protocol. Refusals before a message is read (permissions,
size, media type) have the form of all errors; all other refusals have the form of the protocol.
"""

import json
from asyncio import Future
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType
from tornado import web

from jupyter_nbedit._version import __version__
from jupyter_nbedit.agents.mcp.errors import INVALID_REQUEST, MessageTooLarge, ProtocolError
from jupyter_nbedit.agents.mcp.http import PostAnswer, PostHeaders, answer_post, build_error_answer
from jupyter_nbedit.agents.mcp.messages import Batch, Message, encode, parse
from jupyter_nbedit.agents.mcp.server import McpServer, ToolAnswer, ToolCall
from jupyter_nbedit.agents.mcp.versions import SUPPORTED_VERSIONS
from jupyter_nbedit.agents.tools import get_tool
from jupyter_nbedit.errors import Forbidden, InvalidRequest, TooLarge
from jupyter_nbedit.handlers import spec
from jupyter_nbedit.handlers.base import NbEditHandler, encode_json
from jupyter_nbedit.handlers.errors import get_status
from jupyter_nbedit.handlers.idempotency import StoredResponse
from jupyter_nbedit.handlers.spec import Header, OperationSpec, Reply, Route
from jupyter_nbedit.handlers.tools import ToolRunner
from jupyter_nbedit.system.concurrency import run_in_thread_if_large

_TOOLSET = "agent"


class McpMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message of JSON-RPC 2.0."""

    jsonrpc: Literal["2.0"]
    method: Annotated[
        str,
        Meta(description="`tools/list`, `tools/call`, `server/discover`, `initialize`, `ping`."),
    ]
    id: Annotated[int | str | UnsetType, Meta(description="Without it, there is no reply.")] = UNSET
    params: dict[str, Any] | UnsetType | None = UNSET


class McpError(msgspec.Struct, frozen=True, kw_only=True):
    """Why a message has no result. That a tool has failed is no such error, but a result."""

    code: Annotated[int, Meta(description="As in JSON-RPC and in the specification of MCP.")]
    message: str
    data: dict[str, Any] | UnsetType = UNSET


class McpReply(msgspec.Struct, frozen=True, kw_only=True):
    """The reply to a message: a result or an error."""

    jsonrpc: Literal["2.0"]
    id: int | str | None
    result: dict[str, Any] | UnsetType = UNSET
    error: McpError | UnsetType = UNSET


_VERSION = Header(
    "MCP-Protocol-Version",
    "The version of the protocol. `2026-07-28` requires it, and the next two headers.",
    f"^({'|'.join(SUPPORTED_VERSIONS)})$",
)
_METHOD = Header("Mcp-Method", "The same as `method` of the body.")
_NAME = Header("Mcp-Name", "The same as `params.name` of the body.")
_SESSION_ID = Header(
    "Mcp-Session-Id", "What the response to `initialize` had: the name of your client, encoded."
)


class McpHandler(ToolRunner):
    """``/nbedit/mcp``."""

    # Decides whether a thread encodes the arguments of a call.
    _message_bytes = 0
    # Some messages only list the tools, so this needs only `read`; each call is checked itself.
    contents_actions: ClassVar[Mapping[str, str]] = {"POST": "read"}
    request_headers: ClassVar[Sequence[str]] = (
        *NbEditHandler.request_headers,
        *(header.name for header in (_VERSION, _METHOD, _NAME, _SESSION_ID)),
    )

    def skip_check_origin(self) -> bool:
        """Return whether a page of any site may send the request: only to ask what is allowed.

        As MCP demands, a page of another site is refused even if it has the token.
        """
        return self.request.method == "OPTIONS"

    async def check_request(self) -> None:
        """Refuse the pages of other sites, which Jupyter Server would answer with 404."""
        if not self.check_origin():
            # What follows an error looks for it.
            self.current_user = None
            raise Forbidden(
                "The header `Origin` names another site than this server, and the setting "
                "`ServerApp.allow_origin` does not allow it."
            )
        await super().check_request()

    def finish(self, *args: Any, **kwargs: Any) -> Future[Any]:
        """Send the response; pages of allowed sites may read the header of the protocol."""
        self.set_header("Access-Control-Expose-Headers", _SESSION_ID.name)
        return super().finish(*args, **kwargs)

    @OperationSpec(
        "Model Context Protocol",
        body=McpMessage,
        headers=[_VERSION, _METHOD, _NAME, _SESSION_ID, spec.IDEMPOTENCY_KEY, spec.SESSION],
        replies={
            HTTPStatus.OK: Reply(McpReply, "The reply. In version 2025-03-26 it may be a list."),
            HTTPStatus.ACCEPTED: Reply(None, "The message was a notification."),
            HTTPStatus.BAD_REQUEST: Reply(
                McpReply, "The body is not a message, or does not agree with the headers."
            ),
            HTTPStatus.NOT_FOUND: Reply(
                McpReply, "Version 2026-07-28 has no such method, or this server has not."
            ),
        },
        action="read",
    )
    async def post(self) -> None:
        """Answer a message of a client of the Model Context Protocol.

        The tools are those of the toolset ``agent``. A tool that changes something needs permission
        to write; everything else only permission to read. In version 2025-03-26 the body may be a
        list of messages.
        """
        self.check_media_type()
        headers = self.request.headers
        answer = await self._answer(
            PostHeaders(
                version=headers.get("MCP-Protocol-Version"),
                method=headers.get("Mcp-Method"),
                name=headers.get("Mcp-Name"),
                session_id=headers.get("Mcp-Session-Id"),
            )
        )
        self.set_status(answer.status)
        if answer.session_id is not None:
            self.set_header("Mcp-Session-Id", answer.session_id)
        if answer.body is None:
            self.finish()
        else:
            self.finish(encode(answer.body))

    async def _answer(self, headers: PostHeaders) -> PostAnswer:
        body = await self.read_body()
        self._message_bytes, self.body = len(body), b""
        try:
            # Only calls of tools need them, but a client should know early.
            self.read_label(spec.IDEMPOTENCY_KEY.name)
            self.read_label(spec.SESSION.name)
            content: Message | Batch = await run_in_thread_if_large(len(body), parse, body)
            del body
        except InvalidRequest as error:
            return build_error_answer(ProtocolError(INVALID_REQUEST, error.message))
        except MessageTooLarge as error:
            raise TooLarge(error.message, **(error.data or {})) from None
        except ProtocolError as error:
            return build_error_answer(error)
        if isinstance(content, Batch) and spec.IDEMPOTENCY_KEY.name in self.request.headers:
            message = (
                f"A batch cannot have an `{spec.IDEMPOTENCY_KEY.name}`. Send each message alone."
            )
            return build_error_answer(ProtocolError(INVALID_REQUEST, message))
        return await answer_post(McpServer(self, __version__), content, headers)

    async def call_tool(self, call: ToolCall) -> ToolAnswer:
        """Call a tool; a failure of any kind is an answer, which a model can read."""
        address = f"{_TOOLSET}/{call.name}"
        tool = get_tool(address)
        try:
            if tool.right == "write":
                await self.check_write_right()
            arguments = await run_in_thread_if_large(
                self._message_bytes, _encode_arguments, call.arguments
            )
            name = f"{self.request.path}\n{call.name}\n".encode()
            response = await self.find_response(name, arguments)
            if response is not None:
                output = msgspec.json.decode(response.body)
            else:
                result = await self.run_tool(tool, address, arguments, call.client)
                output = msgspec.to_builtins(result.output)
                self.store_response(StoredResponse(encode_json(output)))
        except Exception as error:  # noqa: BLE001 - a failure must not end the rest of a batch
            self.log_exception(type(error), error, error.__traceback__)
            status = get_status(error, HTTPStatus.INTERNAL_SERVER_ERROR)
            if isinstance(error, web.HTTPError):
                status = error.status_code
            output = msgspec.to_builtins(self.build_failure(tool, error, status, {}))
        return ToolAnswer(output["content"], is_error=output.get("isError", False))


def _encode_arguments(arguments: Mapping[str, Any]) -> bytes:
    """Return arguments as the body of a request to a tool, which checks them."""
    try:
        return json.dumps(arguments).encode()
    except RecursionError:
        raise InvalidRequest("The arguments are nested too deeply.") from None


routes: list[Route] = [(r"/nbedit/mcp/?", McpHandler)]
