"""Work beside a write: much of it begins at once, a little when the disk is waited for."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Coroutine

from jupyter_nbedit.beside import SMALL_BYTES, Beside, waiting

A_LITTLE, MUCH = SMALL_BYTES, SMALL_BYTES + 1


class Work:
    """Some work, and which parts of it were begun."""

    def __init__(self) -> None:
        self.begun: list[str] = []

    def of(self, name: str) -> Callable[[], Coroutine[None, None, str]]:
        """Give one part."""

        async def work() -> str:
            self.begun.append(name)
            return name

        return work


async def turns() -> None:
    """Let the loop do what it is to do."""
    for _ in range(3):
        await asyncio.sleep(0)


def test_much_begins_at_once_and_a_little_when_the_thread_that_writes_waits() -> None:
    work = Work()
    much, little = Beside(work.of("much"), MUCH), Beside(work.of("little"), A_LITTLE)

    async def write() -> None:
        with much, little:
            await turns()
            assert work.begun == ["much"]
            await asyncio.to_thread(waiting)
            await turns()
            assert work.begun == ["much", "little"]
            assert [await much.answer(), await little.answer()] == work.begun

    asyncio.run(write())
    assert work.begun == ["much", "little"]


def test_each_wait_begins_one_thing_and_one_too_many_nothing() -> None:
    work, seen = Work(), []

    async def write() -> None:
        loop = asyncio.get_running_loop()

        def writing() -> None:
            for _ in range(3):
                waiting()
                asyncio.run_coroutine_threadsafe(turns(), loop).result(5)
                seen.append(list(work.begun))

        with Beside(work.of("one"), A_LITTLE), Beside(work.of("other"), A_LITTLE):
            await asyncio.to_thread(writing)

    asyncio.run(write())
    assert seen == [["one"], ["one", "other"], ["one", "other"]]


def test_what_nothing_has_waited_for_is_done_when_it_is_asked_for_and_once() -> None:
    work = Work()
    beside = Beside(work.of("it"), A_LITTLE)

    async def write() -> str:
        with beside:
            await asyncio.to_thread(contextvars.copy_context().run, waiting)
            # The loop has not come to it yet.
            answer = await beside.answer()
            await turns()
            return answer

    assert asyncio.run(write()) == "it"
    assert work.begun == ["it"]


def test_what_has_not_begun_when_the_write_ends_never_does() -> None:
    work = Work()

    async def write() -> None:
        with Beside(work.of("it"), A_LITTLE):
            waiting()
        await turns()
        waiting()
        await turns()

    asyncio.run(write())
    assert work.begun == []


def test_a_thread_that_goes_on_after_its_loop_has_ended_is_not_stopped_by_that() -> None:
    work = Work()

    async def write() -> contextvars.Context:
        with Beside(work.of("it"), A_LITTLE):
            return contextvars.copy_context()

    asyncio.run(write()).run(waiting)
    assert work.begun == []
