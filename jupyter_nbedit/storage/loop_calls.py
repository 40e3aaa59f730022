"""Work for the event loop's thread, asked for by a thread that waits for it, but not for ever."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import wait
from typing import Any, TypeVar

from jupyter_nbedit.errors import Busy

_Result = TypeVar("_Result")

# How often it is checked whether the loop still runs.
_CHECK_SECONDS = 0.2


def run_on_loop(
    loop: asyncio.AbstractEventLoop,
    function: Callable[[], Coroutine[Any, Any, _Result]],
    *,
    source: str,
    patience: float,
) -> _Result:
    """Run a coroutine function on an event loop, and return its result to this other thread.

    Parameters
    ----------
    loop
        The event loop.
    function
        What to run.
    source
        Who answers, as the beginning of a sentence.
    patience
        How many seconds to wait; then the coroutine is cancelled.

    Raises
    ------
    Busy
        If there is no result in that time, or the loop has stopped.
    """
    coroutine = function()
    try:
        future = asyncio.run_coroutine_threadsafe(coroutine, loop)
    except RuntimeError:
        # The loop is closed.
        coroutine.close()
        raise _build_stopping_error() from None
    deadline = time.monotonic() + patience
    while not future.done():
        left = deadline - time.monotonic()
        wait([future], max(0.0, min(left, _CHECK_SECONDS)))
        is_stopped = not loop.is_running()
        # A future that is done meanwhile cannot be cancelled, and has the result.
        if (is_stopped or left <= 0) and future.cancel():
            if is_stopped and inspect.getcoroutinestate(coroutine) == inspect.CORO_CREATED:
                # The loop will not begin it any more.
                coroutine.close()
            raise _build_stopping_error() if is_stopped else _build_timeout_error(source, patience)
    if future.cancelled():
        # The loop cancels what it runs when it ends.
        raise _build_stopping_error()
    return future.result()


def _build_timeout_error(source: str, patience: float) -> Busy:
    return Busy(f"{source} has not answered for {patience:g} seconds. Try again later.")


def _build_stopping_error() -> Busy:
    return Busy("The server is stopping. Try again when it has started anew.")
