"""Wait for a condition, with a time limit that only ends an endless wait."""

import asyncio
import inspect
import time
from collections.abc import Callable
from time import monotonic
from typing import Any, TypeVar

LIMIT_SECONDS = 120.0
_POLL_SECONDS = 0.01

Result = TypeVar("Result")


def wait_until(condition: Callable[[], Result | None], what: str | None = None) -> Result:
    """Call a condition until it returns something true, and return that.

    Raise AssertionError after two minutes; it names `what`, or the source of the condition.
    """
    deadline = monotonic() + LIMIT_SECONDS
    while not (result := condition()):
        _check(deadline, condition, what, result)
        time.sleep(_POLL_SECONDS)
    return result


async def wait_until_async(condition: Callable[[], Any], what: str | None = None) -> Any:
    """Do the same on the event loop, where the condition may be a coroutine function."""
    deadline = monotonic() + LIMIT_SECONDS
    while True:
        result = condition()
        if inspect.isawaitable(result):
            result = await result
        if result:
            return result
        _check(deadline, condition, what, result)
        await asyncio.sleep(_POLL_SECONDS)


def _check(
    deadline: float, condition: Callable[[], object], what: str | None, result: object
) -> None:
    code = getattr(condition, "__code__", None)
    place = f"{code.co_filename}:{code.co_firstlineno}" if code else repr(condition)
    message = f"Waited {LIMIT_SECONDS:g} s for {what or place}; the last result is {result!r}."
    assert monotonic() < deadline, message
