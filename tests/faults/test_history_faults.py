"""A database that is corrupt, locked or deleted: edits are made, with a warning."""

import asyncio
import shutil
import sqlite3
from pathlib import Path

import pytest

from jupyter_nbedit.db.database import NAME as DATABASE
from tests.faults.requirements import NIGHTLY
from tests.faults.scenario import CASES, Outcome, Scenario, ScenarioServer
from tests.support.sampling import get_seed, seeded_random

TIMES = 500 if NIGHTLY else 20
# A file whose byte for who may write it is beyond what SQLite knows is one that it only reads, and
# it says no more then than on a disk that cannot be written.
WRITE_VERSION = 18
# A file of a newer release is neither read nor written.
USER_VERSION = slice(60, 64)


@pytest.fixture
def scenario(tmp_path: Path) -> Scenario:
    return Scenario(tmp_path, CASES["batch"])


async def run_scenario(scenario: Scenario, server: ScenarioServer) -> tuple[Outcome, list[str]]:
    """Run the case and the next edits; return the outcome and the problems."""
    outcome = await scenario.run_case(server)
    problems = scenario.check_file(outcome)
    if outcome.reply is None:
        problems.append(f"refused: {outcome.error!r}")
    return outcome, problems + await scenario.check_next_edits(server, outcome)


async def test_edits_are_made_and_recorded_with_any_corrupt_bytes_in_the_database(
    scenario: Scenario,
) -> None:
    await scenario.record_result()
    chance = seeded_random("bytes of the database")
    whole = scenario.folder / "whole"
    problems = []
    for time in range(TIMES):
        server = scenario.start_server()
        await scenario.reset(server)
        if time == 0:
            await scenario.run_case(server)
            await scenario.reset(server)
            await server.close()
            shutil.copytree(scenario.folder / "nbedit", whole)
        else:
            shutil.rmtree(scenario.folder / "nbedit")
            shutil.copytree(whole, scenario.folder / "nbedit")
        file = scenario.folder / "nbedit" / DATABASE
        text = bytearray(file.read_bytes())
        whole_version = text[USER_VERSION]
        for _ in range(chance.choice((1, 3, 30, 300))):
            text[chance.randrange(len(text))] = chance.randrange(256)
        text[WRITE_VERSION] = 2
        text[USER_VERSION] = whole_version
        file.write_bytes(text)
        server = scenario.start_server()
        _, found = await run_scenario(scenario, server)
        problems += [f"{get_seed()} {time}: {wrong}" for wrong in found]
        await server.close()
    assert problems == []


async def test_a_database_deleted_at_run_time_is_created_again(scenario: Scenario) -> None:
    await scenario.record_result()
    server = scenario.start_server()
    await scenario.reset(server)
    await scenario.run_case(server)
    await scenario.reset(server)
    shutil.rmtree(scenario.folder / "nbedit")
    outcome, problems = await run_scenario(scenario, server)
    assert problems == []
    assert outcome.reply is not None
    assert outcome.reply.edit_id is not None
    await server.close()


async def test_an_edit_waits_for_a_locked_database_and_then_continues_without_it(
    scenario: Scenario,
) -> None:
    await scenario.record_result()
    server = scenario.start_server()
    await scenario.reset(server)
    other = sqlite3.connect(scenario.folder / "nbedit" / DATABASE, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    outcome = await asyncio.wait_for(scenario.run_case(server), 60)
    assert scenario.check_file(outcome) == []
    assert outcome.reply is not None
    assert (outcome.reply.edit_id, len(outcome.reply.warnings)) == (None, 1)
    other.execute("ROLLBACK")
    other.close()
    assert await scenario.check_next_edits(server, outcome) == []
    await server.close()
