"""Work that is done off the loop's thread, or beside a write of which it needs nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Generic, TypeVar

from jupyter_nbedit.errors import Overtaken

_Answer = TypeVar("_Answer")

#: Up to so many bytes of a notebook, handing work to another thread costs more than the work.
SMALL_BYTES = 100_000


async def away(size: int, function: Callable[..., _Answer], *arguments: Any) -> _Answer:
    """Work on a notebook of so many bytes, off the loop's thread if that may take long."""
    if size <= SMALL_BYTES:
        return function(*arguments)
    return await asyncio.to_thread(function, *arguments)


class Beside(Generic[_Answer]):
    """Work that begins with a context, as soon as that waits, and that ends with it.

    Parameters
    ----------
    work
        Does it; called once more if a file that it reads is replaced meanwhile, which is what a
        write does. It may take time on the loop's thread only if that is worth no other thread.
    """

    def __init__(self, work: Callable[[], Coroutine[Any, Any, _Answer]]) -> None:
        self._work = work
        self._task: asyncio.Task[_Answer] | None = None

    def __enter__(self) -> None:
        """Begin."""
        self._task = asyncio.create_task(self._work())

    def __exit__(self, *_: object) -> None:
        """Leave it, whatever became of the write."""
        task, self._task = self._task, None
        if task is not None and not task.cancel() and not task.cancelled():
            # Of what nobody wants any more it does not matter what went wrong.
            task.exception()

    async def answer(self) -> _Answer:
        """Give what came of it, or raise what it raised."""
        if self._task is not None:
            # A file that is replaced looks as if it had changed, until it is known what has
            # replaced it.
            with suppress(Overtaken):
                return await self._task
        return await self._work()
