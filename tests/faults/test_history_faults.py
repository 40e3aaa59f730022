"""A ledger that is broken, locked or gone: notebooks are edited all the same, and it is said."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from pathlib import Path

import pytest

from jupyter_nbedit.db.database import NAME as LEDGER
from tests.faults.requirements import NIGHTLY
from tests.faults.scenario import CASES, Outcome, Place, Server
from tests.support.sampling import run_seed, seeded_random

TIMES = 500 if NIGHTLY else 20
# A file whose byte for who may write it is beyond what SQLite knows is one that it only reads, and
# it says no more then than on a disk that cannot be written.
WRITE_VERSION = 18
# One that says it is of a newer release is neither read nor written.
USER_VERSION = slice(60, 64)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path, CASES["batch"])


async def tried(place: Place, server: Server) -> tuple[Outcome, list[str]]:
    """Edit and go on; give what was said, and what is wrong."""
    outcome = await place.act(server)
    wrongs = place.wrongs(outcome)
    if outcome.reply is None:
        wrongs.append(f"refused: {outcome.refusal!r}")
    return outcome, wrongs + await place.wrongs_of_going_on(server, outcome)


async def test_edits_are_made_and_recorded_with_any_corrupt_bytes_in_the_database(
    place: Place,
) -> None:
    await place.learn()
    chance = seeded_random("bytes of the ledger")
    whole = place.folder / "whole"
    wrongs = []
    for time in range(TIMES):
        server = place.server()
        await place.put(server)
        if time == 0:
            await place.act(server)
            await place.put(server)
            await server.close()
            shutil.copytree(place.folder / "nbedit", whole)
        else:
            shutil.rmtree(place.folder / "nbedit")
            shutil.copytree(whole, place.folder / "nbedit")
        file = place.folder / "nbedit" / LEDGER
        text = bytearray(file.read_bytes())
        whole_version = text[USER_VERSION]
        for _ in range(chance.choice((1, 3, 30, 300))):
            text[chance.randrange(len(text))] = chance.randrange(256)
        text[WRITE_VERSION] = 2
        text[USER_VERSION] = whole_version
        file.write_bytes(text)
        server = place.server()
        _, found = await tried(place, server)
        wrongs += [f"{run_seed()} {time}: {wrong}" for wrong in found]
        await server.close()
    assert wrongs == []


async def test_a_database_deleted_at_run_time_is_created_again(place: Place) -> None:
    await place.learn()
    server = place.server()
    await place.put(server)
    await place.act(server)
    await place.put(server)
    shutil.rmtree(place.folder / "nbedit")
    outcome, wrongs = await tried(place, server)
    assert wrongs == []
    assert outcome.reply is not None
    assert outcome.reply.edit_id is not None
    await server.close()


async def test_an_edit_waits_for_a_locked_database_and_then_continues_without_it(
    place: Place,
) -> None:
    await place.learn()
    server = place.server()
    await place.put(server)
    other = sqlite3.connect(place.folder / "nbedit" / LEDGER, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    outcome = await asyncio.wait_for(place.act(server), 60)
    assert place.wrongs(outcome) == []
    assert outcome.reply is not None
    assert (outcome.reply.edit_id, len(outcome.reply.warnings)) == (None, 1)
    other.execute("ROLLBACK")
    other.close()
    assert await place.wrongs_of_going_on(server, outcome) == []
    await server.close()
