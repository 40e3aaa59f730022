"""Lines of standard input to a `StdioSession`, and its answers to standard output."""

import asyncio
import os
import signal
import threading
import traceback
from collections.abc import Iterator
from contextlib import suppress
from typing import BinaryIO

from jupyter_nbedit._version import __version__
from jupyter_nbedit.agents.mcp.errors import INTERNAL_ERROR, INVALID_REQUEST, ProtocolError
from jupyter_nbedit.agents.mcp.messages import build_error, encode
from jupyter_nbedit.agents.mcp.server import McpServer, ToolCaller
from jupyter_nbedit.agents.mcp.stdio import StdioSession

#: The longest line that is read, in bytes: somewhat more than a server takes.
MAX_LINE_LENGTH = 20 * 1024 * 1024
# Lines that are answered at the same time, and that wait for it.
_MAX_RUNNING = 32
_MAX_WAITING = 8
# How long answers may take after the end of the input.
_LAST_SECONDS = 10.0
_CHUNK_BYTES = 64 * 1024


def serve(caller: ToolCaller) -> int:
    """Answer the lines of standard input until its end; return the exit code.

    Nothing but answers goes to standard output: what else is printed goes to standard error.
    """
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    # It is never closed, and is not `sys.stdin`: both would wait for the thread that reads it.
    lines = open(0, "rb", closefd=False)  # noqa: SIM115 -- as said
    bridge = _Bridge(caller, output)
    # The task is cancelled if nobody reads the answers, and by Ctrl-C.
    with suppress(asyncio.CancelledError):
        asyncio.run(bridge.run(lines))
    if bridge.is_interrupted:
        raise KeyboardInterrupt
    return 0


class _Bridge:
    """Answers lines, several at the same time."""

    def __init__(self, caller: ToolCaller, output: BinaryIO) -> None:
        self._session = StdioSession(McpServer(caller, __version__))
        self._output = output
        self._slots = asyncio.Semaphore(_MAX_RUNNING)
        # A line, None for one that is too long; `b""` for the end.
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue(_MAX_WAITING)
        self._tasks: set[asyncio.Task[None]] = set()
        self._main: asyncio.Task[object] | None = None
        self.is_interrupted = False

    async def run(self, stream: BinaryIO) -> None:
        """Answer all lines."""
        loop = asyncio.get_running_loop()
        self._main = asyncio.current_task()
        # `asyncio.run` handles the signal, too, but a loop that begins to wait just then stays
        # asleep. On Windows there are no such handlers, and the loop wakes up.
        with suppress(NotImplementedError):
            loop.add_signal_handler(signal.SIGINT, self._interrupt)
        # A thread, because standard input may be a file, and on Windows a pipe.
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
            # The loop is closed, because nobody reads the answers.
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
    """Yield the lines that are not empty, without their ends; None for one that is too long."""
    while line := stream.readline(MAX_LINE_LENGTH + 1):
        if len(line) > MAX_LINE_LENGTH:
            while line and not line.endswith(b"\n"):
                line = stream.readline(_CHUNK_BYTES)
            yield None
        elif stripped := line.strip():
            yield stripped


def _encode_error(error: ProtocolError) -> bytes:
    return encode(build_error(None, error))
