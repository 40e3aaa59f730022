"""Work that a thread asks the event loop for: it ends or is cancelled, and the thread goes on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from jupyter_nbedit.errors import Busy
from jupyter_nbedit.storage.loop_calls import run_on_loop


async def run(function: Callable[[], Coroutine[Any, Any, Any]], patience: float = 60) -> Any:
    """Let another thread ask this loop."""
    loop = asyncio.get_running_loop()
    return await asyncio.to_thread(
        run_on_loop, loop, function, source="The room", patience=patience
    )


async def test_the_result_of_the_coroutine_is_returned_to_the_thread() -> None:
    assert await run(lambda: asyncio.sleep(0, result=threading.get_ident())) != 0


async def test_what_the_coroutine_raises_is_raised_in_the_thread_even_a_timeout() -> None:
    async def fail() -> None:
        message = "the store has timed out"
        raise TimeoutError(message)

    with pytest.raises(TimeoutError, match="the store has timed out"):
        await run(fail)


async def test_a_coroutine_that_takes_too_long_is_cancelled() -> None:
    events: list[str] = []

    async def wait() -> None:
        events.append("begun")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            events.append("cancelled")
            raise

    with pytest.raises(Busy) as raised:
        await run(wait, patience=0.1)
    assert raised.value.message == "The room has not answered for 0.1 seconds. Try again later."
    assert events == ["begun", "cancelled"]


async def test_a_coroutine_that_the_loop_cancels_as_it_ends_is_told_as_that() -> None:
    async def stop() -> None:
        raise asyncio.CancelledError

    with pytest.raises(Busy, match="The server is stopping"):
        await run(stop)


@pytest.mark.parametrize("has_begun", [False, True])
def test_a_loop_that_stops_in_the_middle_keeps_no_thread_waiting(*, has_begun: bool) -> None:
    loop = asyncio.new_event_loop()
    outcomes: list[BaseException] = []

    async def wait() -> None:
        loop.stop()
        await asyncio.Event().wait()

    def work() -> None:
        try:
            run_on_loop(loop, wait, source="The room", patience=3600)
        except Busy as error:
            outcomes.append(error)

    thread = threading.Thread(target=work, daemon=True)
    if has_begun:
        loop.call_soon(thread.start)
        loop.run_forever()
    else:
        thread.start()
    thread.join(60)
    assert [str(error) for error in outcomes] == [
        "The server is stopping. Try again when it has started anew."
    ]
    # What has begun is cancelled when the loop is cleared up.
    loop.run_until_complete(asyncio.sleep(0))
    loop.run_until_complete(asyncio.sleep(0))
    assert not asyncio.all_tasks(loop)
    loop.close()
