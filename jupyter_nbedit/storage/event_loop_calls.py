"""Run coroutines on the event loop from another thread, with a timeout."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import wait
from typing import Any, TypeVar

from jupyter_nbedit.errors import Busy

_Result = TypeVar("_Result")

# The interval of checks whether the loop still runs.
_CHECK_SECONDS = 0.2


def run_on_loop(
    loop: asyncio.AbstractEventLoop,
    function: Callable[[], Coroutine[Any, Any, _Result]],
    *,
    source: str,
    timeout: float,
) -> _Result:
    """Run a coroutine function on an event loop and return its result to another thread.

    Raise `Busy` if there is no result after `timeout` seconds, or the loop has stopped. `source` is
    the component that answers, as the beginning of a sentence.
    """
    coroutine = function()
    try:
        future = asyncio.run_coroutine_threadsafe(coroutine, loop)
    except RuntimeError:
        # The loop is closed.
        coroutine.close()
        raise _build_stopping_error() from None
    deadline = time.monotonic() + timeout
    while not future.done():
        remaining_seconds = deadline - time.monotonic()
        wait([future], max(0.0, min(remaining_seconds, _CHECK_SECONDS)))
        is_stopped = not loop.is_running()
        # A future that has finished meanwhile cannot be cancelled and has a result.
        if (is_stopped or remaining_seconds <= 0) and future.cancel():
            if is_stopped and inspect.getcoroutinestate(coroutine) == inspect.CORO_CREATED:
                # The loop will never start it.
                coroutine.close()
            raise _build_stopping_error() if is_stopped else _build_timeout_error(source, timeout)
    if future.cancelled():
        # A stopping loop cancels its tasks.
        raise _build_stopping_error()
    return future.result()


def _build_timeout_error(source: str, timeout: float) -> Busy:
    return Busy(f"{source} has not answered for {timeout:g} seconds. Try again later.")


def _build_stopping_error() -> Busy:
    return Busy("The server is stopping. Try again when it has started anew.")
