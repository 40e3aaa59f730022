"""Proposals: stored, limited, reported, awaited and expired; in real SQLite files."""

import asyncio
import sqlite3
from contextlib import closing
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from jupyter_nbedit.errors import ProposalClosed, ProposalNotFound, TooManyProposals
from jupyter_nbedit.notebook.undo.record import CellState
from jupyter_nbedit.services.events.models import ProposalEvent
from jupyter_nbedit.services.proposals.models import (
    Proposal,
    ProposalContent,
    ProposedPart,
    Verdict,
)
from jupyter_nbedit.services.proposals.service import ProposalService
from jupyter_nbedit.services.requests import Author, Claim, ProposalOrigin
from tests.support import samples
from tests.support.names import FolderNames
from tests.support.sampling import is_nightly
from tests.support.services import START, ServiceBuilder
from tests.support.waiting import wait_until_async

NOTEBOOKS = ("a.ipynb", "b.ipynb", "f/c.ipynb")
CANARY = "a text of a notebook that is deleted and shall be nowhere"


@pytest.fixture
def services(services: ServiceBuilder) -> ServiceBuilder:
    services.storage.notebooks |= dict.fromkeys(NOTEBOOKS, samples.three_cells())
    return services


def build_part(number: int, source: str = "x") -> ProposedPart:
    state = CellState(cell_type="code", source=source, metadata={})
    return ProposedPart(
        part=number,
        cell_id="alpha",
        index_before=number,
        index=number,
        moved=False,
        outputs_cleared=False,
        before=state,
        after=state,
        status="pending",
    )


async def add_proposal(
    board: ProposalService,
    path: str = "a.ipynb",
    parts: int = 2,
    *,
    source: str = "x",
    work: bytes = b"work",
) -> Proposal:
    content = ProposalContent(
        kind="create" if path == "new.ipynb" else "edit",
        user="agent",
        client="a client",
        message=None,
        hash_before=None,
        operations=[],
        truncated=False,
        diff="",
    )
    return await board.add(
        path, content, [build_part(n, source) for n in range(parts)], work, ProposalOrigin()
    )


async def list_proposals(board: ProposalService, path: str | None = None, **more: Any) -> list[int]:
    found = await board.list_newest(path, **{"limit": 50, **more})
    return [proposal.proposal_id for proposal in found]


async def list_proposal_events(services: ServiceBuilder) -> list[tuple[int, str, str | None, int]]:
    return [
        (event["proposal_id"], event["status"], event["user"], event["pending"])
        for event in await services.list_events(ProposalEvent.get_schema_id())
    ]


async def decide(board: ProposalService, number: int, verdict: Verdict, *parts: int) -> Proposal:
    return await board.decide(Claim(number, parts, "ada", "JupyterLab"), verdict)


# What is kept -------------------------------------------------------------------------------------


async def test_a_proposal_is_unchanged_after_a_restart(services: ServiceBuilder) -> None:
    before = await add_proposal(
        services.build_proposals(), source="lone surrogate \ud800, \u2028 and ü"
    )
    after = services.build_proposals()
    assert await after.get(before.proposal_id) == before
    claim = Claim(before.proposal_id, [0], "ada", None)
    assert (await after.store.get_payload(claim))[:2] == (before, b"work")
    assert before.status == "pending"
    assert (before.created, before.expires) == (START, START + timedelta(hours=24))


async def test_proposals_are_separate_for_each_root(services: ServiceBuilder) -> None:
    number = (await add_proposal(services.build_proposals())).proposal_id
    other = services.build_proposals(names=FolderNames(folder="/other"))
    assert await list_proposals(other) == []
    await other.on_deleted("a.ipynb")
    with pytest.raises(ProposalNotFound):
        await other.get(number)
    assert await list_proposals(services.build_proposals()) == [number]


async def test_a_proposal_expires_although_only_servers_of_other_roots_run(
    services: ServiceBuilder,
) -> None:
    number = (await add_proposal(services.build_proposals())).proposal_id
    other = services.build_proposals(names=FolderNames(folder="/other"))
    services.now += timedelta(hours=25)
    assert await other.store.expire() == []
    with closing(sqlite3.connect(services.database_file)) as connection:
        rows = connection.execute("SELECT proposal_id, status, payload FROM proposals").fetchall()
        (version,) = connection.execute("PRAGMA data_version").fetchone()
        assert rows == [(number, "expired", None)]
        # Nothing is left to write.
        assert await other.store.expire() == []
        assert connection.execute("PRAGMA data_version").fetchone() == (version,)


# Which are shown ----------------------------------------------------------------------------------


async def test_a_notebook_that_cannot_be_read_shows_no_proposals(services: ServiceBuilder) -> None:
    board = services.build_proposals()
    number = (await add_proposal(board)).proposal_id
    others = [(await add_proposal(board, "b.ipynb")).proposal_id for _ in range(3)]
    for _ in range(2):
        await add_proposal(board)
    text = services.storage.notebooks.pop("a.ipynb")
    with pytest.raises(ProposalNotFound):
        await board.get(number)
    # An invisible proposal takes no place on a page.
    assert await list_proposals(board, limit=2) == others[:0:-1]
    services.storage.notebooks["a.ipynb"] = text
    assert (await board.get(number)).proposal_id == number


# How many there are -------------------------------------------------------------------------------


async def test_pending_proposals_have_a_limit_and_none_is_dropped(services: ServiceBuilder) -> None:
    board = services.build_proposals(max_pending=2)
    numbers = [(await add_proposal(board)).proposal_id for _ in range(2)]
    with pytest.raises(TooManyProposals) as error:
        await add_proposal(board)
    assert error.value.details == {"pending": 2}
    assert sorted(await list_proposals(board)) == numbers
    await decide(board, numbers[0], "rejected", 0, 1)
    await add_proposal(board)


@pytest.mark.skipif(not is_nightly(), reason="writes 256 MiB: nightly")
async def test_pending_proposals_have_at_most_256_mib(services: ServiceBuilder) -> None:
    board = services.build_proposals()
    await add_proposal(board, work=bytes(129 * 1024 * 1024))
    with pytest.raises(TooManyProposals):
        await add_proposal(board, work=bytes(129 * 1024 * 1024))
    await add_proposal(board, work=b"w")


@pytest.mark.skipif(not is_nightly(), reason="decides a thousand proposals: nightly")
async def test_the_oldest_decided_proposals_are_deleted(services: ServiceBuilder) -> None:
    board = services.build_proposals()
    numbers = []
    for _ in range(1002):
        numbers.append((await add_proposal(board, parts=1)).proposal_id)
        await board.store.decide(Claim(numbers[-1], [0], "ada", None), "accepted")
    await board.store.expire()
    assert await list_proposals(board, only_pending=False, limit=2000) == numbers[:1:-1]


# Time ---------------------------------------------------------------------------------------------


async def test_a_proposal_expires_and_is_deleted_later(services: ServiceBuilder) -> None:
    board = services.build_proposals(hours=2)
    number, decided = [(await add_proposal(board)).proposal_id for _ in range(2)]
    await decide(board, number, "accepted", 0)
    await decide(board, decided, "rejected", 0, 1)
    services.now = START + timedelta(hours=1.99)
    assert (await board.get(number)).status == "pending"
    services.now = START + timedelta(hours=2)
    over = await board.get(number)
    assert (over.status, over.decided_by) == ("expired", "ada")
    assert [one.status for one in over.parts] == ["accepted", "pending"]
    assert (await board.get(decided)).status == "rejected"
    with pytest.raises(ProposalClosed):
        await board.store.get_payload(Claim(number, [1], "ada", None))
    assert await list_proposals(board) == []
    assert (await list_proposal_events(services))[-1] == (number, "expired", None, 1)
    services.now = START + timedelta(hours=4)
    for each in (number, decided):
        with pytest.raises(ProposalNotFound):
            await board.get(each)


async def test_a_proposal_expires_without_a_request(services: ServiceBuilder) -> None:
    board = services.build_proposals(
        hours=0.05 / 3600, get_time=lambda: datetime.now(tz=timezone.utc)
    )
    number = (await add_proposal(board)).proposal_id

    async def is_expired() -> bool:
        return (number, "expired", None, 2) in await list_proposal_events(services)

    await wait_until_async(is_expired)


@pytest.mark.parametrize(("hours", "listed"), [(24, 1), (48, 0)])
async def test_the_first_request_after_a_restart_finds_expired_proposals(
    services: ServiceBuilder, hours: int, listed: int
) -> None:
    number = (await add_proposal(services.build_proposals())).proposal_id
    services.now = START + timedelta(hours=hours)
    after = services.build_proposals()
    # It is deleted after twice its time, which may have passed while no server was running.
    assert await list_proposals(after, only_pending=False) == [number] * listed
    assert await list_proposal_events(services) == [
        (number, "pending", "agent", 2),
        (number, "expired", None, 2),
    ]


async def test_rejected_parts_can_be_reopened_until_the_proposal_expires(
    services: ServiceBuilder,
) -> None:
    board = services.build_proposals(hours=2)
    author = Author("ada", "JupyterLab")
    numbers = [(await add_proposal(board, work=CANARY.encode())).proposal_id for _ in range(2)]
    for number in numbers:
        await board.reject(number, None, author, "no")
    assert CANARY.encode() in services.read_database_files()
    services.now = START + timedelta(hours=1.99)
    reopened = await board.reopen(numbers[0], [1], author)
    assert (reopened.status, reopened.pending, reopened.reason) == ("pending", [1], "no")
    assert (await list_proposal_events(services))[-1] == (numbers[0], "pending", "ada", 1)
    assert (await board.store.get_payload(Claim(numbers[0], [1], "ada", None)))[1]
    services.now = START + timedelta(hours=2)
    for number in numbers:
        with pytest.raises(ProposalClosed):
            await board.reopen(number, None, author)
    # Nothing can be decided any more, so that the changes are not kept.
    assert CANARY.encode() not in services.read_database_files()


async def test_a_proposal_is_not_reopened_beyond_the_limit_of_pending_ones(
    services: ServiceBuilder,
) -> None:
    board = services.build_proposals(max_pending=1)
    author = Author("ada")
    number = (await add_proposal(board)).proposal_id
    await board.reject(number, [0], author)
    # It is pending already, so that it takes no place of another.
    assert (await board.reopen(number, None, author)).pending == [0, 1]
    await board.reject(number, None, author)
    other = (await add_proposal(board)).proposal_id
    with pytest.raises(TooManyProposals):
        await board.reopen(number, None, author)
    await board.reject(other, None, author)
    assert (await board.reopen(number, None, author)).status == "pending"


@pytest.mark.skipif(not is_nightly(), reason="writes 34 MiB: nightly")
async def test_the_changes_of_rejected_proposals_have_at_most_32_mib(
    services: ServiceBuilder,
) -> None:
    board = services.build_proposals()
    author = Author("ada")
    numbers = []
    for _ in range(2):
        proposal = await add_proposal(board, work=bytes(17 * 1024 * 1024))
        numbers.append(proposal.proposal_id)
        await board.reject(proposal.proposal_id, None, author)
    with pytest.raises(ProposalClosed):
        await board.reopen(numbers[0], None, author)
    assert (await board.get(numbers[0])).status == "rejected"
    assert (await board.reopen(numbers[1], None, author)).status == "pending"


# Waiting ------------------------------------------------------------------------------------------


async def test_a_waiting_request_is_notified_of_the_end_of_the_notebook(
    services: ServiceBuilder,
) -> None:
    board = services.build_proposals()
    number = (await add_proposal(board)).proposal_id
    # Without a notification it would wait for ever.
    waiting = asyncio.create_task(board.wait(number, 1e6))
    await asyncio.sleep(0)
    # The database answers one after the other: the task has asked for the proposal before.
    await board.get(number)
    await board.on_deleted("a.ipynb")
    with pytest.raises(ProposalNotFound):
        await waiting


# Following ----------------------------------------------------------------------------------------


async def test_proposals_are_deleted_with_their_notebook_and_leave_no_bytes(
    services: ServiceBuilder,
) -> None:
    board = services.build_proposals()
    number = (
        await add_proposal(board, "f/c.ipynb", source=CANARY, work=CANARY.encode())
    ).proposal_id
    other = (await add_proposal(board)).proposal_id
    assert CANARY.encode() in services.read_database_files()
    await board.on_deleted("f")
    assert await list_proposals(board, only_pending=False) == [other]
    assert (await list_proposal_events(services))[-1] == (number, "expired", None, 0)
    assert CANARY.encode() not in services.read_database_files()


async def test_a_purge_leaves_only_the_bytes_of_pending_proposals(services: ServiceBuilder) -> None:
    board = services.build_proposals()
    number = (await add_proposal(board, source=CANARY, parts=1)).proposal_id
    waits, other = (
        (await add_proposal(board)).proposal_id,
        (await add_proposal(board, "b.ipynb")).proposal_id,
    )
    await decide(board, number, "rejected", 0)
    await board.store.purge("a.ipynb")
    assert await list_proposals(board, only_pending=False) == [other, waits]
    assert CANARY.encode() not in services.read_database_files()
