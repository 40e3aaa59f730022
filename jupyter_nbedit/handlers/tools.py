"""The tools of agents: what there are, and calling one."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any, get_type_hints

import msgspec
from jupyter_server.auth.decorator import authorized
from msgspec import Meta
from tornado import web

from jupyter_nbedit.errors import FileNotFound, HashMismatch, ReadRequired
from jupyter_nbedit.handlers.base import NbEditHandler, encode_json
from jupyter_nbedit.handlers.errors import ErrorBody, build_error_body
from jupyter_nbedit.handlers.idempotency import StoredResponse
from jupyter_nbedit.handlers.openapi.spec import (
    IDEMPOTENCY_KEY,
    LOCATION,
    OPERATION_ERRORS,
    READ_ERRORS,
    SESSION,
    WRITE_ERRORS,
    OperationSpec,
    Reply,
)
from jupyter_nbedit.tools import ADDRESSES, TOOLS, find
from jupyter_nbedit.tools.base import Caller, Tool, ToolError, build_input_schema


class ToolDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """A tool, as a model is told of it."""

    dialect: Annotated[str, Meta(description="Whose contract it is.")]
    name: Annotated[str, Meta(description="What the dialect calls it.")]
    description: Annotated[str, Meta(description="What it does, for a model.")]
    input_schema: Annotated[
        dict[str, Any], Meta(description="The JSON Schema of its input, without references.")
    ]


class ToolsReply(msgspec.Struct, frozen=True):
    """All tools."""

    tools: list[ToolDefinition]


class ToolsHandler(NbEditHandler):
    """``/nbedit/tools``."""

    @OperationSpec(
        "All tools there are",
        replies={
            HTTPStatus.OK: Reply(
                ToolsReply, "Their definitions, to be given to a model as they are."
            )
        },
    )
    @web.authenticated
    @authorized
    async def get(self) -> None:
        """List the definitions of all tools."""
        definitions = [
            ToolDefinition(
                dialect=tool.dialect,
                name=tool.name,
                description=tool.description,
                input_schema=build_input_schema(tool.form),
            )
            for tool in TOOLS
        ]
        self.finish_json(ToolsReply(definitions))


def _build_spec(tool: Tool[Any]) -> OperationSpec:
    """Return what a tool takes and answers, by the types of what does it."""

    def refuse(body: ErrorBody) -> msgspec.Struct:
        return tool.refuse(ToolError(body.reason, body.message, body.details, {}))

    answer = get_type_hints(tool.call)["return"]
    waiting = Reply(
        answer, "In review mode: nothing is changed, but a change is proposed.", [LOCATION]
    )
    return OperationSpec(
        f"{tool.name}, as {tool.dialect} has it",
        description=tool.description,
        body=tool.form,
        headers=[IDEMPOTENCY_KEY, SESSION],
        replies={
            HTTPStatus.OK: Reply(answer, "What the tool did, in the dialect's form."),
            **({HTTPStatus.ACCEPTED: waiting} if tool.proposes else {}),
        },
        errors=[
            *READ_ERRORS,
            *WRITE_ERRORS,
            *OPERATION_ERRORS,
            FileNotFound,
            HashMismatch,
            ReadRequired,
        ],
        refuse=refuse,
        failure=get_type_hints(tool.refuse)["return"],
    )


class ToolHandler(NbEditHandler):
    """``/nbedit/tools/{dialect}/{tool}``, whose answers and failures have the dialect's form."""

    # Nobody's input is looked at for an error, who may not call tools or sends too much.
    _is_called = False

    @OperationSpec(
        "Call a tool",
        replies={},
        addresses={address: _build_spec(tool) for address, tool in ADDRESSES.items()},
    )
    @web.authenticated
    @authorized
    async def post(self, address: str) -> None:
        """Call a tool: the body is its input."""
        tool = find(address)
        self._is_called = True

        async def call() -> StoredResponse:
            caller = Caller(self.current_user.username, self.session)
            given = await self.parse_body(tool.form, is_lenient=True)
            body = encode_json(await tool.call(self.services.tools, caller, given))
            if not caller.proposed:
                return StoredResponse(body)
            place = f"{self.base_url}nbedit/proposals/{caller.proposed[-1]}"
            return StoredResponse(body, HTTPStatus.ACCEPTED, {"Location": place})

        await self.run_idempotent(call)

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """Send a failure in the dialect's form; in ours, if no tool was called."""
        # A method that is not allowed is refused before the address is looked at.
        tool = ADDRESSES.get(getattr(self, "path_kwargs", {}).get("address", ""))
        if tool is None or status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            super().write_error(status_code, **kwargs)
            return
        body = build_error_body(kwargs.get("exc_info", (None, None, None))[1], status_code)
        self.finish(encode_json(self._build_failure(tool, body.reason, body.message, body.details)))

    def _build_failure(
        self, tool: Tool[Any], reason: str, message: str, details: Any
    ) -> msgspec.Struct:
        try:
            given = msgspec.json.decode(self.request.body) if self._is_called else None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            given = None
        known = given if isinstance(given, dict) else {}
        # A tool's input is no batch, and has no operation to blame.
        facts = {name: value for name, value in details.items() if name != "operation"}
        return tool.refuse(ToolError(reason, message, facts, known))
