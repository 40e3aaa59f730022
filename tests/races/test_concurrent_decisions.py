"""Two servers decide on the same proposal: one succeeds, the other reports it."""

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import pytest

from jupyter_nbedit.db.database import NAME as DATABASE
from tests.races.async_connection import AsyncAnswer, AsyncConnection
from tests.races.servers import RaceServers, run_servers
from tests.support import samples
from tests.support.sampling import is_nightly, seeded_random

TRIALS = 100 if is_nightly() else 3
KILLS = 20 if is_nightly() else 1
NAME = "decided.ipynb"
NEW = "# Accepted"
INSERT = {"op": "insert", "cell_type": "code", "source": NEW, "at": "end"}


@dataclass
class ServerPair:
    """Two servers on one folder, each with a connection, and a notebook in review mode."""

    servers: RaceServers
    connections: dict[str, AsyncConnection] = field(default_factory=dict)

    async def connect(self, name: str) -> None:
        self.connections[name] = await self.servers.runs[name].connect()

    async def restart(self, name: str) -> None:
        self.connections[name].close()
        await asyncio.to_thread(self.servers.start, name)
        await self.connect(name)

    async def send(self, name: str, verb: str, target: str, body: Any = None) -> AsyncAnswer:
        sent = json.dumps({} if body is None else body).encode()
        return await self.connections[name].request(verb, f"/nbedit/{target}", sent)

    async def propose(self, minor: int = 5, *operations: dict[str, Any]) -> int:
        """Write the notebook anew and propose a change of it; return the proposal's number."""
        named = minor >= 5
        cells = [samples.code(f"c{n}", f"i{n}" if named else None) for n in range(3)]
        (self.servers.root / NAME).write_bytes(samples.notebook(*cells, minor=minor))
        await self.send("one", "PUT", "mode", {"mode": "review", "path": NAME})
        body = {"operations": operations or [INSERT]}
        answer = await self.send("one", "PATCH", f"notebooks/{NAME}", body)
        assert answer.status == 202, answer.body
        number: int = answer.json["proposal_id"]
        return number

    async def decide(
        self, name: str, number: int, verb: str = "accept", **body: Any
    ) -> AsyncAnswer:
        return await self.send(name, "POST", f"proposals/{number}/{verb}", body)

    async def get_proposal(self, name: str, number: int) -> Any:
        answer = await self.send(name, "GET", f"proposals/{number}")
        assert answer.status == 200, answer.body
        return answer.json

    def sources(self) -> list[str]:
        found = json.loads((self.servers.root / NAME).read_bytes())
        return ["".join(cell["source"]) for cell in found["cells"]]

    def open_database(self) -> closing[sqlite3.Connection]:
        file = self.servers.folder / "data" / "nbedit" / DATABASE
        return closing(sqlite3.connect(file, isolation_level=None, timeout=20))

    def insert_claim(self, number: int, *, has_hashes: bool) -> None:
        """Store the claim of a server that was killed before it wrote."""
        notebook_hash = samples.compute_hash((self.servers.root / NAME).read_bytes())
        hashes = (notebook_hash, "never written") if has_hashes else (None, None)
        with self.open_database() as found:
            found.execute(
                "INSERT INTO claims (proposal_id, parts, server, user, hash_before, hash_after)"
                " VALUES (?, '[0]', '', 'ada', ?, ?)",
                (number, *hashes),
            )

    @contextmanager
    def fail_statements(self, *whats: str) -> Iterator[None]:
        """Make some statements of the database fail, as on a read-only disk."""
        names = [f"failing_{number}" for number in range(len(whats))]
        with self.open_database() as found:
            for name, what in zip(names, whats, strict=True):
                found.execute(
                    f"CREATE TRIGGER {name} BEFORE {what} BEGIN SELECT RAISE(ABORT, 'no disk'); END"
                )
            try:
                yield
            finally:
                for name in names:
                    found.execute(f"DROP TRIGGER {name}")


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RaceServers]:
    with run_servers(RaceServers(tmp_path_factory.mktemp("servers"))) as running:
        yield running


@asynccontextmanager
async def connect(servers: RaceServers) -> AsyncIterator[ServerPair]:
    pair = ServerPair(servers)
    for name in servers.names:
        await pair.connect(name)
    try:
        yield pair
    finally:
        for connection in pair.connections.values():
            connection.close()


def assert_closed(answer: AsyncAnswer) -> None:
    assert (answer.status, answer.json["reason"]) == (409, "proposal_closed"), answer.body


async def test_one_of_two_servers_decides(servers: RaceServers) -> None:
    async with connect(servers) as both:
        for trial in range(TRIALS):
            for minor in (4, 5):
                await _accept_twice(both, minor)
                await _accept_and_reject(both, minor, ("one", "two")[trial % 2])


async def _accept_twice(both: ServerPair, minor: int) -> None:
    number = await both.propose(minor)
    answers = await asyncio.gather(*[both.decide(name, number) for name in ("one", "two")])
    won, lost = sorted(answers, key=lambda answer: answer.status)
    assert (won.status, lost.status) == (200, 409), f"accepted: {won.body!r}, {lost.body!r}"
    assert_closed(lost)
    assert both.sources().count(NEW) == 1
    for name in ("one", "two"):
        after = await both.get_proposal(name, number)
        assert (after["status"], after["edit_ids"]) == ("accepted", [won.json["edit_id"]])


async def _accept_and_reject(both: ServerPair, minor: int, accepting: str) -> None:
    rejecting = "two" if accepting == "one" else "one"
    number = await both.propose(minor)
    accepted, rejected = await asyncio.gather(
        both.decide(accepting, number), both.decide(rejecting, number, "reject")
    )
    assert sorted([accepted.status, rejected.status]) == [200, 409], (accepted, rejected)
    assert_closed(accepted if accepted.status == 409 else rejected)
    assert both.sources().count(NEW) == (accepted.status == 200)
    status = "accepted" if accepted.status == 200 else "rejected"
    assert {(await both.get_proposal(name, number))["status"] for name in ("one", "two")} == {
        status
    }


async def test_parts_accepted_at_once_by_two_servers_are_all_made(
    servers: RaceServers,
) -> None:
    async with connect(servers) as both:
        operations = [{"op": "replace", "cell": f"i{n}", "source": f"new {n}"} for n in range(3)]
        for _ in range(TRIALS):
            number = await both.propose(5, *operations)
            answers = await asyncio.gather(
                both.decide("one", number, parts=[0, 1]),
                both.decide("two", number, parts=[2]),
            )
            assert [answer.status for answer in answers] == [200, 200], answers
            assert both.sources() == ["new 0", "new 1", "new 2"]
            assert (await both.get_proposal("one", number))["status"] == "accepted"


async def test_an_interrupted_accept_is_finished_or_can_be_decided_again(
    servers: RaceServers,
) -> None:
    chance = seeded_random("deciding")
    async with connect(servers) as both:
        for trial in range(KILLS):
            number = await both.propose(chance.choice([4, 5]))
            accepting = asyncio.ensure_future(both.decide("one", number))
            # By then it may not have arrived, or be under way, or done.
            await asyncio.sleep(chance.uniform(0, 0.06))
            both.servers.runs["one"].server.kill()
            first: AsyncAnswer | None = None
            with suppress(OSError):
                first = await accepting
            verb = chance.choice(["accept", "accept", "reject"])
            second = await both.decide("two", number, verb)
            after = await both.get_proposal("two", number)
            description = f"{trial}: {first} {verb} {second} {after['status']}"
            if second.status == 200:
                assert first is None, description
                expected = "accepted" if verb == "accept" else "rejected"
            else:
                assert_closed(second)
                expected = "accepted"
            assert after["status"] == expected, description
            assert both.sources().count(NEW) == (expected == "accepted"), description
            await both.restart("one")


@pytest.mark.parametrize("minor", [4, 5] if is_nightly() else [5])
async def test_a_claim_of_a_killed_server_is_resolved_from_the_notebook(
    servers: RaceServers, minor: int
) -> None:
    async with connect(servers) as both:
        # It was killed before it wrote; the first claim is one of an older release.
        for has_hashes in (False, True):
            number = await both.propose(minor)
            both.insert_claim(number, has_hashes=has_hashes)
            assert (await both.get_proposal("two", number))["status"] == "pending"
            assert (await both.decide("two", number)).status == 200
            assert both.sources().count(NEW) == 1

        # It had written, and was killed before anything of that was stored.
        for is_changed in (False, True) if is_nightly() else (True,):
            number = await both.propose(minor)
            with both.fail_statements("INSERT ON edits", "UPDATE ON proposals"):
                answer = await both.decide("one", number)
                assert (answer.status, len(answer.json["warnings"])) == (200, 2)
                assert (await both.decide("two", number, "reject")).status == 503
                both.servers.runs["one"].server.kill()
            if is_changed:
                file = both.servers.root / NAME
                file.write_bytes(file.read_bytes().replace(b'"c0"', b'"changed by hand"'))
            assert_closed(await both.decide("two", number))
            assert (await both.get_proposal("two", number))["status"] == "accepted"
            assert both.sources().count(NEW) == 1
            await both.restart("one")


async def test_a_request_that_cannot_be_stored_is_refused(servers: RaceServers) -> None:
    async with connect(servers) as both:
        number = await both.propose()
        body = {"operations": [INSERT]}
        with both.fail_statements("INSERT ON proposals", "UPDATE ON proposals", "INSERT ON modes"):
            for verb, target, sent in (
                ("PATCH", f"notebooks/{NAME}", body),
                ("POST", f"proposals/{number}/reject", {}),
                ("PUT", "mode", {"mode": "plan", "path": NAME}),
            ):
                answer = await both.send("one", verb, target, sent)
                assert (answer.status, answer.json["reason"]) == (503, "history_unavailable")
        assert (await both.get_proposal("two", number))["status"] == "pending"


async def test_an_unstored_decision_is_stored_by_the_next_request(servers: RaceServers) -> None:
    async with connect(servers) as both:
        number = await both.propose()
        with both.fail_statements("UPDATE ON proposals"):
            answer = await both.decide("one", number)
            assert answer.status == 200, answer.body
            assert len(answer.json["warnings"]) == 1
            # There is no other decision meanwhile.
            for name in ("one", "two"):
                assert (await both.decide(name, number, "reject")).status in {409, 503}
        after = await both.get_proposal("one", number)
        assert (after["status"], after["edit_ids"]) == ("accepted", [answer.json["edit_id"]])
        assert_closed(await both.decide("two", number))
        assert both.sources().count(NEW) == 1


async def test_an_undone_accept_whose_decision_was_not_stored_is_pending(
    servers: RaceServers,
) -> None:
    async with connect(servers) as both:
        number = await both.propose()
        with both.fail_statements("UPDATE ON proposals"):
            answer = await both.decide("one", number)
            assert len(answer.json["warnings"]) == 1
        await both.send("two", "PUT", "mode", {"mode": "edit", "path": NAME})
        edit_id = answer.json["edit_id"]
        undone = await both.send("two", "POST", f"notebooks/{NAME}/undo", {"edit_id": edit_id})
        assert (undone.status, undone.json["warnings"]) == (200, [])
        assert both.sources().count(NEW) == 0
        assert (await both.get_proposal("one", number))["status"] == "pending"
        accepted = await both.decide("one", number)
        assert (accepted.status, both.sources().count(NEW)) == (200, 1)


async def test_an_undo_and_what_becomes_of_its_proposal_are_stored_together(
    servers: RaceServers,
) -> None:
    async with connect(servers) as both:
        number = await both.propose()
        edit_id = (await both.decide("one", number)).json["edit_id"]
        await both.send("one", "PUT", "mode", {"mode": "edit", "path": NAME})
        with both.fail_statements("UPDATE ON proposals"):
            undone = await both.send("one", "POST", f"notebooks/{NAME}/undo", {"edit_id": edit_id})
        (warning,) = undone.json["warnings"]
        assert "not in the history" in warning
        history = await both.send("one", "GET", f"notebooks/{NAME}/history")
        undone_by = {edit["edit_id"]: edit["undone_by"] for edit in history.json["edits"]}
        assert undone_by[edit_id] is None
        assert (await both.get_proposal("one", number))["status"] == "accepted"
