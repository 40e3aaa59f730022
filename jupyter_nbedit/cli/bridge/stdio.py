"""Pass lines of standard input to a `StdioSession`, and its answers to standard output."""

import asyncio
import os
import signal
import threading
import traceback
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, BinaryIO

from jupyter_nbedit._version import __version__
from jupyter_nbedit.agents.mcp.errors import INTERNAL_ERROR, INVALID_REQUEST, ProtocolError
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
from jupyter_nbedit.agents.mcp.server import McpServer, ToolCaller, find_era, get_client_name
from jupyter_nbedit.agents.mcp.versions import BATCH_VERSION

#: The longest line that is read, in bytes: somewhat more than servers take by default.
MAX_LINE_LENGTH = 20 * 1024 * 1024
# How many lines are answered at the same time, and how many more lines wait.
_MAX_RUNNING = 32
_MAX_WAITING = 8
# How long answers may take after the end of the input.
_LAST_SECONDS = 10.0
_CHUNK_BYTES = 64 * 1024


def serve(caller: ToolCaller) -> int:
    """Answer the lines of standard input until its end; return the exit code.

    Only answers go to standard output. Everything else that is printed goes to standard error.
    """
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    # This stream is never closed, because closing waits for the thread that reads the stream.
    # Python closes `sys.stdin` when Python ends.
    lines = open(0, "rb", closefd=False)  # noqa: SIM115 -- as said
    bridge = _Bridge(caller, output)
    # The task is cancelled if nobody reads the answers, and by Ctrl-C.
    with suppress(asyncio.CancelledError):
        asyncio.run(bridge.run(lines))
    if bridge.is_interrupted:
        raise KeyboardInterrupt
    return 0


class StdioSession:
    """Answers the lines of one client, without I/O; several lines at a time, each in a task."""

    def __init__(self, server: McpServer) -> None:
        self._server = server
        # Version and name of a legacy client, from its `initialize`.
        self._version: str | None = None
        self._client: str | None = None
        self._running: dict[RequestId, asyncio.Task[Any]] = {}

    async def answer_line(self, line: bytes) -> bytes | None:
        """Return the answer to a line, without a line end; None if nothing is to be sent.

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
        """Cancel the task that answers a request, if there is one."""
        # In Python `True` equals 1, but it is not the id of request 1.
        if type(request_id) in {int, str} and request_id in self._running:
            self._running[request_id].cancel()


class _Bridge:
    """Answers lines, several at the same time."""

    def __init__(self, caller: ToolCaller, output: BinaryIO) -> None:
        self._session = StdioSession(McpServer(caller, __version__))
        self._output = output
        self._slots = asyncio.Semaphore(_MAX_RUNNING)
        # An item is a line, None in the place of a line that is too long, or `b""` for the end.
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue(_MAX_WAITING)
        self._tasks: set[asyncio.Task[None]] = set()
        self._main: asyncio.Task[object] | None = None
        self.is_interrupted = False

    async def run(self, stream: BinaryIO) -> None:
        """Answer all lines."""
        loop = asyncio.get_running_loop()
        self._main = asyncio.current_task()
        # `asyncio.run` handles Ctrl-C, too, but it does not wake the loop if Ctrl-C comes just when
        # the loop begins to wait. On Windows a loop has no signal handlers, but Ctrl-C wakes it.
        with suppress(NotImplementedError):
            loop.add_signal_handler(signal.SIGINT, self._interrupt)
        # A thread reads the stream, because an event loop cannot wait for a regular file. On
        # Windows it cannot wait for this kind of pipe either.
        threading.Thread(target=self._read, args=(stream, loop), daemon=True).start()
        while (line := await self._lines.get()) != b"":
            await self._slots.acquire()
            task = loop.create_task(self._answer(line))
            self._tasks.add(task)
            task.add_done_callback(self._finish)
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_LAST_SECONDS)

    def _interrupt(self) -> None:
        self.is_interrupted = True
        if self._main is not None:
            self._main.cancel()

    def _read(self, stream: BinaryIO, loop: asyncio.AbstractEventLoop) -> None:
        """Put the lines into the queue, on a thread of its own."""
        try:
            for line in read_lines(stream):
                asyncio.run_coroutine_threadsafe(self._lines.put(line), loop).result()
            asyncio.run_coroutine_threadsafe(self._lines.put(b""), loop).result()
        except (RuntimeError, asyncio.CancelledError):
            # The loop is closed: nobody reads the answers, or Ctrl-C was pressed.
            return

    async def _answer(self, line: bytes | None) -> None:
        try:
            if line is None:
                message = f"This line has more than {MAX_LINE_LENGTH} bytes; it was not read."
                reply: bytes | None = _encode_error(ProtocolError(INVALID_REQUEST, message))
            else:
                reply = await self._session.answer_line(line)
        except Exception:  # noqa: BLE001 -- the next line may work
            traceback.print_exc()
            reply = _encode_error(ProtocolError(INTERNAL_ERROR, "The bridge has failed."))
        if reply is not None:
            try:
                self._output.write(reply + b"\n")
                self._output.flush()
            except BrokenPipeError:
                if self._main is not None:
                    self._main.cancel()

    def _finish(self, task: asyncio.Task[None]) -> None:
        self._slots.release()
        self._tasks.discard(task)


def read_lines(stream: BinaryIO) -> Iterator[bytes | None]:
    """Yield the lines that are not empty, without line ends; None for a line that is too long."""
    while line := stream.readline(MAX_LINE_LENGTH + 1):
        if len(line) > MAX_LINE_LENGTH:
            while line and not line.endswith(b"\n"):
                line = stream.readline(_CHUNK_BYTES)
            yield None
        elif stripped := line.strip():
            yield stripped


def _encode_error(error: ProtocolError) -> bytes:
    return encode(build_error(None, error))
