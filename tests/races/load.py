"""Sixty-four clients that edit one notebook, sixteen that share a cell, and killed servers."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tornado.httpclient import HTTPRequest
from tornado.websocket import WebSocketClientConnection, websocket_connect

from jupyter_nbedit.services.events.models import EditEvent
from tests.races.history import Edit, Event, Feed, HistoryRow, ObservedHistory
from tests.races.servers import RaceServers, ServerRun, run_servers
from tests.races.writers import NOTEBOOK, Observations, Writer
from tests.support import samples
from tests.support.waiting import wait_until_async

SHARED = "shared"


@dataclass(frozen=True)
class RaceLoad:
    """How many clients edit how often."""

    #: How many have a cell of their own, and how many edits each of them makes.
    separate_writers: int
    edits_of_separate: int
    #: How many edit one cell, and how often each of them gets an edit in.
    shared_writers: int
    edits_of_shared: int
    #: How many times a server is killed and started again meanwhile.
    kills: int = 0
    #: Whether the servers share the locks of one user. Without, nothing but looking at what they
    #: exchange keeps one from losing what the other writes.
    is_locked: bool = True

    @property
    def edits(self) -> int:
        return (
            self.separate_writers * self.edits_of_separate
            + self.shared_writers * self.edits_of_shared
        )


@dataclass
class LoadResult:
    """The observations of the clients."""

    history: ObservedHistory
    notes: Observations
    seconds: float
    kills: int

    @property
    def acknowledged_count(self) -> int:
        return sum(edit.is_acknowledged for edit in self.history.edits)

    def __str__(self) -> str:
        history, notes = self.history, self.notes
        events = sum(len(feed.events) for feed in history.feeds)
        return (
            f"{self.acknowledged_count} of {len(history.edits)} edits acknowledged "
            f"in {self.seconds:.1f} s, {len(history.reads)} reads, {events} events, "
            f"{self.kills} kills, {notes.cut_connections} connections cut, "
            f"{notes.broken_connections} broken; "
            f"answers: {dict(history.answers)}"
        )


@dataclass
class _Subscriber:
    """Listens to one run of a server."""

    run: ServerRun
    socket: WebSocketClientConnection
    since: float
    events: list[Event] = field(default_factory=list)

    @classmethod
    async def join(cls, run: ServerRun) -> _Subscriber:
        client = run.server.client
        url = f"ws://127.0.0.1:{client.port}/api/events/subscribe"
        headers = {"Authorization": f"token {client.token}"}
        socket = await websocket_connect(HTTPRequest(url, headers=headers))
        # Its answer comes before the server has begun to listen to itself.
        connection = await run.connect()
        await connection.request("GET", "/nbedit")
        connection.close()
        return cls(run, socket, time.monotonic())

    def has_all(self, expected: set[str | None]) -> bool:
        return self.run.end_time is not None or expected <= {event.hash for event in self.events}

    async def listen(self) -> None:
        while (message := await self.socket.read_message()) is not None:
            event = json.loads(message)
            if event["schema_id"] == EditEvent.get_schema_id() and event["path"] == NOTEBOOK:
                self.events.append(
                    Event(event["seq"], event["edit_id"], event["hash_before"], event["hash"])
                )


class Subscribers:
    """The subscribers of the servers, one for each run."""

    def __init__(self) -> None:
        self._all: list[tuple[_Subscriber, asyncio.Task[None]]] = []

    async def join(self, run: ServerRun) -> None:
        """Listen to a run of a server from now on."""
        subscriber = await _Subscriber.join(run)
        self._all.append((subscriber, asyncio.create_task(subscriber.listen())))

    async def collect_feeds(self, edits: Sequence[Edit]) -> list[Feed]:
        """Wait for the remaining events of live servers, and return all events."""
        for subscriber, task in self._all:
            run = subscriber.run
            expected = {
                edit.hash
                for edit in edits
                if edit.server == run.name and edit.called_at >= subscriber.since
            }
            with suppress(AssertionError):
                # What never comes is for the checker to report.
                await wait_until_async(partial(subscriber.has_all, expected))
            subscriber.socket.close()
            await task
        return [
            Feed(one.run.name, one.since, one.events, is_truncated=bool(one.run.end_time))
            for one, _ in self._all
        ]


async def run_load(load: RaceLoad, folder: Path, chance: random.Random) -> LoadResult:
    """Run all clients, and return their observations."""
    cells = [*(f"own-{n}" for n in range(load.separate_writers)), SHARED]
    before = samples.notebook(*[samples.code(cell, cell) for cell in cells])
    notes = Observations()
    servers = RaceServers(folder, shares_locks=load.is_locked)
    with run_servers(servers):
        path = servers.root / NOTEBOOK
        path.write_bytes(before)
        subscribers = Subscribers()
        for run in servers.live_runs:
            await subscribers.join(run)
        work = [
            (
                Writer(
                    f"alone-{n}"
                    if n < load.separate_writers
                    else f"together-{n - load.separate_writers}",
                    servers,
                    notes,
                    cells[min(n, load.separate_writers)],
                    n < load.separate_writers,
                    random.Random(chance.random()),  # noqa: S311 -- no secret
                ),
                load.edits_of_separate if n < load.separate_writers else load.edits_of_shared,
            )
            for n in range(load.separate_writers + load.shared_writers)
        ]
        began = time.monotonic()
        async with _kill_servers(servers, subscribers, load, notes, chance) as killed:
            await asyncio.gather(*[writer.run(times) for writer, times in work])
            seconds = time.monotonic() - began
        rows = await _read_history(servers.live_runs[0])
        feeds = await subscribers.collect_feeds(notes.edits)
        after = path.read_bytes()
    history = ObservedHistory(
        start=samples.compute_hash(before),
        final=samples.compute_hash(after),
        start_cells=_list_cells(before),
        final_cells=_list_cells(after),
        edits=notes.edits,
        reads=notes.reads,
        refusals=notes.refusals,
        rows=rows,
        feeds=feeds,
        answers=notes.answers,
        is_locked=load.is_locked,
    )
    return LoadResult(history, notes, seconds, len(killed))


@asynccontextmanager
async def _kill_servers(
    servers: RaceServers,
    subscribers: Subscribers,
    load: RaceLoad,
    notes: Observations,
    chance: random.Random,
) -> AsyncIterator[list[str]]:
    """Kill a server now and then while the block runs, never all of them at once."""
    killed: list[str] = []

    async def kill() -> None:
        while len(killed) < load.kills:
            due = (len(killed) + chance.random()) * load.edits / load.kills
            while len(notes.edits) < min(due, 0.9 * load.edits):  # noqa: ASYNC110 - others edit
                await asyncio.sleep(0.01)
            name = servers.names[len(killed) % len(servers.names)]
            servers.runs[name].server.kill()
            killed.append(name)
            await subscribers.join(await asyncio.to_thread(servers.start, name))

    task = asyncio.create_task(kill())
    try:
        yield killed
        # The first writers that end must not have been spared.
        await task
    finally:
        task.cancel()


def _list_cells(text: bytes) -> list[tuple[str, str]]:
    return [
        (cell["id"], samples.compute_hash("".join(cell["source"])))
        for cell in samples.load_cells(text)
    ]


async def _read_history(run: ServerRun) -> list[HistoryRow]:
    connection = await run.connect()
    rows: list[HistoryRow] = []
    before = ""
    while True:
        target = f"/nbedit/notebooks/{NOTEBOOK}/history?limit=200{before}"
        page = (await connection.request("GET", target)).json
        rows.extend(
            HistoryRow(edit["edit_id"], edit["client"], edit["hash_before"], edit["hash"])
            for edit in page["edits"]
        )
        if page["next"] is None:
            connection.close()
            return rows
        before = f"&before={page['next']}"
