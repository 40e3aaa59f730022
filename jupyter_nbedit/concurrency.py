"""Work that is done off the loop's thread, or beside a write of which it needs nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from contextvars import ContextVar, Token
from functools import partial
from typing import Any, Generic, TypeVar

from jupyter_nbedit.errors import ChangedDuringRead

_Result = TypeVar("_Result")

#: Up to so many bytes of a notebook, handing work to another thread costs more than the work.
SMALL_BYTES = 100_000


async def run_in_thread_if_large(
    size: int, function: Callable[..., _Result], *arguments: Any
) -> _Result:
    """Work on a notebook of so many bytes, off the loop's thread if that may take long."""
    if size <= SMALL_BYTES:
        return function(*arguments)
    return await asyncio.to_thread(function, *arguments)


# What begins when the thread that writes waits for the disk: one after another, each wait one.
_DISK_WAIT_CALLBACKS: ContextVar[tuple[Callable[[], object], ...]] = ContextVar(
    "nbedit_later", default=()
)


def announce_disk_wait() -> None:
    """Run what may run while this thread, which writes, waits for the disk."""
    if later := _DISK_WAIT_CALLBACKS.get():
        _DISK_WAIT_CALLBACKS.set(later[1:])
        # A loop that is closed has nothing to do meanwhile.
        with suppress(RuntimeError):
            later[0]()


class BackgroundTask(Generic[_Result]):
    """Work that goes on beside what a context does, and that ends with it.

    Parameters
    ----------
    work
        Does it; called once more if a file that it reads is replaced meanwhile, which is what a
        write does. It may take time on the loop's thread only if that is worth no other thread.
    size
        Of how many bytes of a notebook it is work. A little begins no sooner than the thread that
        writes waits for the disk: before that the two would be in each other's way.
    """

    def __init__(
        self, work: Callable[[], Coroutine[Any, Any, _Result]], size: int = SMALL_BYTES + 1
    ) -> None:
        self._work = work
        self._size = size
        self._is_wanted = False
        self._task: asyncio.Task[_Result] | None = None
        self._token: Token[tuple[Callable[[], object], ...]] | None = None

    def __enter__(self) -> None:
        """Begin, be it at once or later."""
        self._is_wanted = True
        if self._size > SMALL_BYTES:
            self._start()
            return
        begin = partial(asyncio.get_running_loop().call_soon_threadsafe, self._start)
        self._token = _DISK_WAIT_CALLBACKS.set((*_DISK_WAIT_CALLBACKS.get(), begin))

    def _start(self) -> None:
        if self._is_wanted:
            self._task = asyncio.create_task(self._work())

    def __exit__(self, *_: object) -> None:
        """Leave it, whatever became of the write."""
        self._is_wanted = False
        if self._token is not None:
            _DISK_WAIT_CALLBACKS.reset(self._token)
        task, self._task = self._task, None
        if task is not None and not task.cancel() and not task.cancelled():
            # Of what nobody wants any more it does not matter what went wrong.
            task.exception()

    async def get_result(self) -> _Result:
        """Return what came of it, or raise what it raised."""
        self._is_wanted = False
        if self._task is not None:
            # A file that is replaced looks as if it had changed, until it is known what has
            # replaced it.
            with suppress(ChangedDuringRead):
                return await self._task
        return await self._work()
