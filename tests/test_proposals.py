"""Proposals: kept, bounded, told of, waited for, and over in time; in real files of SQLite."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from jupyter_events import EventLogger

from jupyter_nbedit.database import Database
from jupyter_nbedit.errors import ProposalClosed, ProposalNotFound, TooManyProposals
from jupyter_nbedit.events import PROPOSAL_SCHEMA_ID, SCHEMAS, DecisionEvents
from jupyter_nbedit.notebook.record import Side
from jupyter_nbedit.parts import Part
from jupyter_nbedit.proposals import Proposal, Proposed, Ruling, Verdict
from jupyter_nbedit.proposals import store as module
from jupyter_nbedit.proposals.board import ProposalBoard
from jupyter_nbedit.proposals.store import ProposalStore
from tests.support import samples
from tests.support.memory_storage import MemoryStorage, Only

LOG = logging.getLogger("tests")
START = datetime(2026, 11, 20, 12, tzinfo=timezone.utc)
CANARY = "a text of a notebook that is deleted and shall be nowhere"


class House:
    """Boards on one file, the notebooks they are about, a clock, and what is told."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "nbedit"
        self.now = START
        self.storage = MemoryStorage(
            {name: samples.three_cells() for name in ("a.ipynb", "b.ipynb", "f/c.ipynb")}
        )
        self.databases: list[Database] = []
        self.boards: list[ProposalBoard] = []
        self.heard: list[dict[str, Any]] = []
        self.logger = EventLogger()
        self.logger.register_event_schema(SCHEMAS[PROPOSAL_SCHEMA_ID])
        self.logger.add_listener(schema_id=PROPOSAL_SCHEMA_ID, listener=self._hear)

    async def _hear(self, logger: EventLogger, schema_id: str, data: dict[str, Any]) -> None:
        assert (logger, schema_id) == (self.logger, PROPOSAL_SCHEMA_ID)
        self.heard.append(data)

    def board(self, **options: Any) -> ProposalBoard:
        database = Database(self.folder, LOG)
        self.databases.append(database)
        kept = {"root": lambda: "/root", "name": str, "clock": lambda: self.now, **options}
        store = ProposalStore(database, **kept)
        events = DecisionEvents(self.logger, "epoch")
        board = ProposalBoard(store, Only(self.storage), events, LOG)
        self.boards.append(board)
        return board

    async def told(self) -> list[tuple[int, str, str | None, int]]:
        await asyncio.sleep(0)
        return [
            (event["proposal_id"], event["status"], event["user"], event["pending"])
            for event in self.heard
        ]

    async def close(self) -> None:
        for board in self.boards:
            board.close()
        for database in self.databases:
            await database.close()


@pytest.fixture
def house(tmp_path: Path, jp_asyncio_loop: asyncio.AbstractEventLoop) -> Iterator[House]:
    made = House(tmp_path)
    yield made
    jp_asyncio_loop.run_until_complete(made.close())


def part(number: int, source: str = "x") -> Part:
    said = Side(cell_type="code", source=source, metadata={})
    return Part(
        part=number,
        cell_id="alpha",
        index_before=number,
        index=number,
        moved=False,
        outputs_cleared=False,
        before=said,
        after=said,
    )


async def put(
    board: ProposalBoard,
    path: str = "a.ipynb",
    parts: int = 2,
    *,
    source: str = "x",
    work: bytes = b"work",
) -> Proposal:
    said = Proposed(
        kind="create" if path == "new.ipynb" else "edit",
        user="agent",
        client="a client",
        message=None,
        hash_before=None,
        operations=[],
        truncated=False,
        diff="",
    )
    return await board.add(path, said, [part(n, source) for n in range(parts)], work)


async def listed(board: ProposalBoard, path: str | None = None, **more: Any) -> list[int]:
    found = await board.newest(path, **{"limit": 50, **more})
    return [proposal.proposal_id for proposal in found]


async def decide(board: ProposalBoard, number: int, verdict: Verdict, *parts: int) -> Proposal:
    return await board.decide(number, Ruling(verdict, parts, "ada", "JupyterLab"))


# What is kept -------------------------------------------------------------------------------------


async def test_a_proposal_is_the_same_after_a_restart(house: House) -> None:
    before = await put(house.board(), source="lone surrogate \ud800, \u2028 and ü")
    after = house.board()
    assert await after.get(before.proposal_id) == before
    assert await after.store.work(before.proposal_id) == b"work"
    assert before.status == "pending"
    assert (before.created, before.expires) == (START, START + timedelta(hours=24))


async def test_a_proposal_waits_until_all_its_parts_are_decided(house: House) -> None:
    board = house.board()
    for verdicts, status in (
        (("accepted", "accepted"), "accepted"),
        (("rejected", "rejected"), "rejected"),
        (("accepted", "rejected"), "partly_accepted"),
        (("rejected", "accepted"), "partly_accepted"),
    ):
        number = (await put(board)).proposal_id
        first = await decide(board, number, verdicts[0], 1)  # type: ignore[arg-type] # as written
        assert (first.status, first.pending) == ("pending", [0])
        assert await board.store.work(number) == b"work"
        last = await decide(board, number, verdicts[1], 0)  # type: ignore[arg-type] # as written
        assert (last.status, last.pending, last.decided_by) == (status, [], "ada")
        with pytest.raises(ProposalClosed):
            await board.store.work(number)


async def test_a_proposal_without_parts_is_decided_as_a_whole(house: House) -> None:
    board = house.board()
    number = (await put(board, parts=0)).proposal_id
    assert (await board.get(number)).status == "pending"
    assert (await decide(board, number, "accepted")).status == "accepted"


async def test_the_edits_that_were_made_of_it_are_listed(house: House) -> None:
    board = house.board()
    number = (await put(board)).proposal_id
    for edit_id, one in ((17, 0), (None, 1)):
        await board.decide(number, Ruling("accepted", [one], "ada", edit_id=edit_id))
    assert (await board.get(number)).edit_ids == [17]


async def test_another_root_has_proposals_of_its_own(house: House) -> None:
    number = (await put(house.board())).proposal_id
    other = house.board(root=lambda: "/other")
    assert await listed(other) == []
    await other.gone("a.ipynb")
    with pytest.raises(ProposalNotFound):
        await other.get(number)
    assert await listed(house.board()) == [number]


# Which are shown ----------------------------------------------------------------------------------


async def test_the_newest_come_first_and_only_those_that_wait_unless_all_are_wanted(
    house: House,
) -> None:
    board = house.board()
    numbers = [(await put(board, path)).proposal_id for path in ("a.ipynb", "b.ipynb", "a.ipynb")]
    first, second, third = numbers
    await decide(board, first, "rejected", 0, 1)
    assert await listed(board) == [third, second]
    assert await listed(board, "a.ipynb") == [third]
    assert await listed(board, "a.ipynb", only_pending=False) == [third, first]
    assert await listed(board, limit=1) == [third]


async def test_a_notebook_that_cannot_be_read_now_has_no_proposals_to_see(house: House) -> None:
    board = house.board()
    number = (await put(board)).proposal_id
    others = [(await put(board, "b.ipynb")).proposal_id for _ in range(3)]
    for _ in range(2):
        await put(board)
    text = house.storage.notebooks.pop("a.ipynb")
    with pytest.raises(ProposalNotFound):
        await board.get(number)
    # What is not shown takes nobody's place on a page.
    assert await listed(board, limit=2) == others[:0:-1]
    house.storage.notebooks["a.ipynb"] = text
    assert (await board.get(number)).proposal_id == number


async def test_a_new_notebook_is_shown_though_it_is_not_there(house: House) -> None:
    board = house.board()
    number = (await put(board, "new.ipynb")).proposal_id
    assert await listed(board) == [number]


# How many there are -------------------------------------------------------------------------------


async def test_no_more_proposals_wait_than_allowed_and_none_is_dropped_for_another(
    house: House,
) -> None:
    board = house.board(most=2)
    numbers = [(await put(board)).proposal_id for _ in range(2)]
    with pytest.raises(TooManyProposals, match="2 of 2") as refused:
        await put(board)
    assert refused.value.details == {"pending": 2}
    assert sorted(await listed(board)) == numbers
    await decide(board, numbers[0], "rejected", 0, 1)
    await put(board)


async def test_all_that_wait_have_so_many_bytes_at_most(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MOST_BYTES", 20_000)
    board = house.board()
    await put(board, work=b"w" * 15_000)
    with pytest.raises(TooManyProposals):
        await put(board, work=b"w" * 15_000)
    await put(board, work=b"w")


async def test_of_those_that_were_decided_the_oldest_are_forgotten(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MOST_CLOSED", 2)
    board = house.board()
    numbers = [(await put(board, parts=1)).proposal_id for _ in range(4)]
    for number in numbers[:3]:
        await decide(board, number, "accepted", 0)
    await board.store.expire()
    assert await listed(board, only_pending=False) == numbers[:0:-1]


# Time ---------------------------------------------------------------------------------------------


async def test_a_proposal_expires_and_later_is_forgotten(house: House) -> None:
    board = house.board(hours=2)
    number = (await put(board)).proposal_id
    await decide(board, number, "accepted", 0)
    house.now = START + timedelta(hours=1.99)
    assert (await board.get(number)).status == "pending"
    house.now = START + timedelta(hours=2)
    over = await board.get(number)
    assert (over.status, over.decided_by) == ("expired", "ada")
    assert [one.status for one in over.parts] == ["accepted", "pending"]
    with pytest.raises(ProposalClosed):
        await board.store.work(number)
    assert await listed(board) == []
    assert (await house.told())[-1] == (number, "expired", None, 1)
    house.now = START + timedelta(hours=4)
    with pytest.raises(ProposalNotFound):
        await board.get(number)


async def test_what_was_decided_does_not_expire(house: House) -> None:
    board = house.board()
    number = (await put(board, parts=1)).proposal_id
    await decide(board, number, "rejected", 0)
    house.now = START + timedelta(hours=47)
    assert (await board.get(number)).status == "rejected"
    house.now = START + timedelta(hours=48)
    with pytest.raises(ProposalNotFound):
        await board.get(number)


async def test_one_expires_though_nobody_asks(house: House) -> None:
    board = house.board(hours=0.05 / 3600, clock=lambda: datetime.now(tz=timezone.utc))
    number = (await put(board)).proposal_id
    for _ in range(6000):
        await asyncio.sleep(0.01)
        if len(await house.told()) > 1:
            break
    assert (await house.told())[1:] == [(number, "expired", None, 2)]


async def test_after_a_restart_the_first_who_asks_finds_what_is_over(house: House) -> None:
    number = (await put(house.board())).proposal_id
    house.now = START + timedelta(hours=24)
    after = house.board()
    assert (await after.get(number)).status == "expired"
    assert await house.told() == [(number, "pending", "agent", 2), (number, "expired", None, 2)]


# Waiting ------------------------------------------------------------------------------------------


async def test_who_waits_is_answered_when_all_is_decided_and_not_before(house: House) -> None:
    board = house.board()
    number = (await put(board)).proposal_id
    waiting = [asyncio.ensure_future(board.wait(number, 60)) for _ in range(3)]
    await asyncio.sleep(0.05)
    await decide(board, number, "accepted", 0)
    await asyncio.sleep(0.05)
    assert not any(task.done() for task in waiting)
    await decide(board, number, "rejected", 1)
    found = await asyncio.wait_for(asyncio.gather(*waiting), 60)
    assert {proposal.status for proposal in found} == {"partly_accepted"}


async def test_who_waits_does_not_ask_the_database_meanwhile(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = house.board()
    number = (await put(board)).proposal_id
    waiting = asyncio.ensure_future(board.wait(number, 60))
    await asyncio.sleep(0.05)
    asked: list[object] = []
    monkeypatch.setattr(board.store.database, "read", asked.append)
    await asyncio.sleep(0.3)
    assert asked == []
    waiting.cancel()


async def test_who_waits_in_vain_is_told_so_when_the_time_is_up(house: House) -> None:
    board = house.board()
    number = (await put(board)).proposal_id
    assert (await board.wait(number, 0)).status == "pending"
    assert (await asyncio.wait_for(board.wait(number, 0.05), 60)).status == "pending"
    with pytest.raises(ProposalNotFound):
        await board.wait(number + 1, 60)


async def test_who_waits_is_told_of_the_end_of_the_notebook_at_once(house: House) -> None:
    board = house.board()
    number = (await put(board)).proposal_id
    waiting = asyncio.ensure_future(board.wait(number, 60))
    await asyncio.sleep(0.05)
    await board.gone("a.ipynb")
    with pytest.raises(ProposalNotFound):
        await asyncio.wait_for(waiting, 60)


# Following ----------------------------------------------------------------------------------------


async def test_proposals_follow_their_notebook_and_its_folder(house: House) -> None:
    board = house.board()
    one, other = (await put(board)), (await put(board, "f/c.ipynb"))
    house.storage.notebooks |= {"z.ipynb": b"", "g/c.ipynb": b""}
    await board.renamed("a.ipynb", "z.ipynb")
    await board.renamed("f", "g")
    assert (await board.get(one.proposal_id)).path == "z.ipynb"
    assert (await board.get(other.proposal_id)).path == "g/c.ipynb"
    assert await listed(board, "g/c.ipynb") == [other.proposal_id]


async def test_proposals_go_with_their_notebook_and_leave_no_byte(house: House) -> None:
    board = house.board()
    number = (await put(board, "f/c.ipynb", source=CANARY, work=CANARY.encode())).proposal_id
    other = (await put(board)).proposal_id
    files = b"".join(path.read_bytes() for path in house.folder.iterdir())
    assert CANARY.encode() in files
    await board.gone("f")
    assert await listed(board, only_pending=False) == [other]
    assert (await house.told())[-1] == (number, "expired", None, 0)
    files = b"".join(path.read_bytes() for path in house.folder.iterdir())
    assert CANARY.encode() not in files


async def test_what_is_purged_leaves_no_byte_but_of_what_still_waits(house: House) -> None:
    board = house.board()
    number = (await put(board, source=CANARY, parts=1)).proposal_id
    waits, other = (await put(board)).proposal_id, (await put(board, "b.ipynb")).proposal_id
    await decide(board, number, "rejected", 0)
    await board.purge("a.ipynb")
    assert await listed(board, only_pending=False) == [other, waits]
    files = b"".join(path.read_bytes() for path in house.folder.iterdir())
    assert CANARY.encode() not in files


async def test_every_step_is_told_without_any_source(house: House) -> None:
    board = house.board()
    number = (await put(board, source=CANARY)).proposal_id
    await decide(board, number, "accepted", 0)
    await decide(board, number, "rejected", 1)
    assert await house.told() == [
        (number, "pending", "agent", 2),
        (number, "pending", "ada", 1),
        (number, "partly_accepted", "ada", 0),
    ]
    assert [event["client"] for event in house.heard] == ["a client", "JupyterLab", "JupyterLab"]
    assert {(event["path"], event["parts"], event["epoch"]) for event in house.heard} == {
        ("a.ipynb", 2, "epoch")
    }
    assert CANARY not in str(house.heard)
