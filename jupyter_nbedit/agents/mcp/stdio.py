"""What a process that talks over its standard streams remembers: version, client, calls."""

import asyncio
from typing import Any

from jupyter_nbedit.agents.mcp.errors import INVALID_REQUEST, ProtocolError
from jupyter_nbedit.agents.mcp.messages import (
    Batch,
    ClientReply,
    InvalidMessage,
    Message,
    Notification,
    Reply,
    Request,
    RequestId,
    build_error,
    build_result,
    encode,
    parse,
)
from jupyter_nbedit.agents.mcp.server import McpServer, find_era, get_client_name
from jupyter_nbedit.agents.mcp.versions import BATCH_VERSION


class StdioSession:
    """Answers the lines of one client. Lines may be answered at the same time, each in a task."""

    def __init__(self, server: McpServer) -> None:
        self._server = server
        # Of a legacy client.
        self._version: str | None = None
        self._client: str | None = None
        self._running: dict[RequestId, asyncio.Task[Any]] = {}

    async def answer_line(self, line: bytes) -> bytes | None:
        """Return the line to send, without its end, for a line that was read; None for no line.

        The task that runs this is cancelled if the client cancels the request.
        """
        try:
            content = parse(line)
        except ProtocolError as error:
            return encode(build_error(None, error))
        if not isinstance(content, Batch):
            reply = await self._answer_message(content)
            return None if reply is None else encode(reply)
        if self._version != BATCH_VERSION:
            refusal = ProtocolError(INVALID_REQUEST, f"Only version {BATCH_VERSION} has batches.")
            return encode(build_error(None, refusal))
        replies = [
            reply
            for message in content.messages
            if (reply := await self._answer_message(message, is_batched=True)) is not None
        ]
        return encode(replies) if replies else None

    async def _answer_message(self, message: Message, *, is_batched: bool = False) -> Reply | None:
        if isinstance(message, Notification):
            if message.method == "notifications/cancelled":
                self._cancel(message.params.get("requestId"))
            return None
        if isinstance(message, ClientReply):
            return None
        try:
            if isinstance(message, InvalidMessage):
                raise message.error
            return build_result(
                message.id, await self._answer_request(message, is_batched=is_batched)
            )
        except ProtocolError as error:
            return build_error(message.id, error)

    async def _answer_request(self, request: Request, *, is_batched: bool) -> dict[str, Any]:
        if request.method == "initialize" and find_era(request) == "legacy":
            if is_batched:
                raise ProtocolError(INVALID_REQUEST, "Send `initialize` alone, not in a batch.")
            result = await self._server.answer(request, None)
            self._version = result["protocolVersion"]
            self._client = get_client_name(request.params.get("clientInfo"))
            return result
        task = asyncio.current_task()
        if request.id in self._running or task is None:
            message = "A request with this `id` is still being answered. Send another id."
            raise ProtocolError(INVALID_REQUEST, message)
        self._running[request.id] = task
        try:
            return await self._server.answer(request, self._client)
        finally:
            del self._running[request.id]

    def _cancel(self, request_id: Any) -> None:
        """Cancel the task that answers a request; do nothing if it is not being answered."""
        # `True` would find the request 1.
        if type(request_id) in {int, str} and request_id in self._running:
            self._running[request_id].cancel()
