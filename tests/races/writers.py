"""Clients that edit one notebook concurrently, and record their observations."""

import asyncio
import json
import random
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from tests.races.async_connection import AsyncConnection
from tests.races.history import CellStep, Edit, Read, RefusedEdit
from tests.races.servers import RaceServers, ServerRun
from tests.support import samples

NOTEBOOK = "shared.ipynb"
_TARGET = f"/nbedit/notebooks/{NOTEBOOK}"
_GIVEN_UP_SECONDS = 120.0
_PAUSE_SECONDS = 0.02
_MAX_PAUSE_SECONDS = 0.1
_MAX_CUT_SECONDS = (0.0, 0.02, 0.5)


@dataclass
class Observations:
    """The observations of all clients."""

    edits: list[Edit] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    refusals: list[RefusedEdit] = field(default_factory=list)
    answers: Counter[tuple[int, str]] = field(default_factory=Counter)
    #: How often a connection broke before the answer came, and how often a client has cut it.
    broken_connections: int = 0
    cut_connections: int = 0


@dataclass
class _WriterRequest:
    """One request, which is repeated until its result is known."""

    name: str
    steps: tuple[CellStep, ...]
    operations: Sequence[Mapping[str, Any]]
    called: float = field(default_factory=time.monotonic)
    #: Whether an attempt had no answer.
    is_doubtful: bool = False

    @property
    def body(self) -> bytes:
        return json.dumps({"operations": self.operations, "client": self.name}).encode()

    @property
    def headers(self) -> dict[str, str]:
        return {"Idempotency-Key": self.name}


@dataclass
class Writer:
    """One client, which makes one edit after the other at any of some servers, and notes all."""

    _name: str
    _servers: RaceServers
    _notes: Observations
    #: The id of the cell that it edits, and its source at first.
    _cell: str
    #: Whether no other client edits that cell. Then it inserts and removes other cells as well.
    _is_alone: bool
    _chance: random.Random
    _inserted: list[tuple[str, str]] = field(default_factory=list)
    _count: int = 0
    _run: ServerRun | None = None
    _connection: AsyncConnection | None = None

    def __post_init__(self) -> None:
        self._value = samples.compute_hash(self._cell)

    async def run(self, times: int) -> None:
        """Make so many edits; one that is refused counts for nothing."""
        count = 0
        while count < times:
            kind = self._chance.random() if self._is_alone else 1.0
            if kind < 0.1:
                count += await self._insert()
            elif kind < 0.2 and self._inserted:
                count += await self._remove()
            else:
                count += await self._replace()
            if self._chance.random() < 0.1:
                await self._read()
        self._disconnect()

    async def _replace(self) -> int:
        name, step, operation = self._build_replace()
        return await self._send_until_decided(_WriterRequest(name, (step,), [operation]))

    async def _remove(self) -> int:
        """Remove a cell, and change another one, which makes the version unique."""
        name, own, replacing = self._build_replace()
        cell, value = self._inserted.pop()
        removing = {"op": "delete", "cell": cell, "expect": {"source_hash": value}}
        return await self._send_until_decided(
            _WriterRequest(name, (own, CellStep(cell, value, None)), [replacing, removing])
        )

    async def _insert(self) -> int:
        """Insert a cell: nothing but the key of the request keeps a retry from doing it again."""
        name, source = self._new_source()
        operation = {"op": "insert", "cell_type": "code", "source": source, "after": self._cell}
        value = samples.compute_hash(source)
        run = await self._connect()
        request = _WriterRequest(name, (CellStep(None, None, value),), [operation])
        if self._chance.random() < 0.5:
            await self._send_and_disconnect(request)
        while run.end_time is None:
            try:
                await self._connect(run)
                answer = await self._send(request)
            except OSError:
                self._record_broken_connection()
                await asyncio.sleep(_PAUSE_SECONDS)
                continue
            if answer is not None:
                cell = answer["operations"][0]["cell_id"]
                self._inserted.append((cell, value))
                self._record_reply(replace(request, steps=(CellStep(cell, None, value),)), answer)
                if self._chance.random() < 0.5:
                    await self._send_again(request, run)
                return 1
        # The keys that a server knows die with it.
        self._notes.edits.append(Edit(request.name, request.steps, request.called, run.end_time))
        return 1

    async def _send_again(self, request: _WriterRequest, run: ServerRun) -> None:
        """Repeat a request that was answered, as a proxy may do."""
        if self._run is run:
            try:
                await self._send(request)
            except OSError:
                self._record_broken_connection()

    async def _send_until_decided(self, request: _WriterRequest) -> int:
        """Send a guarded edit until it is made or refused; return 1 if it is made."""
        while True:
            try:
                await self._connect()
                answer = await self._send(request)
            except OSError:
                self._record_broken_connection()
                request.is_doubtful = True
                await asyncio.sleep(_PAUSE_SECONDS)
                continue
            if answer is None:
                is_late = time.monotonic() > request.called + _GIVEN_UP_SECONDS
                assert not is_late, f"{request.name} had no answer but that the servers are busy."
                continue
            own = request.steps[0]
            if "source_hash" not in answer:
                self._value = str(own.after)
                self._record_reply(request, answer)
                return 1
            self._value = answer["source_hash"]
            if request.is_doubtful:
                # It may be that the first attempt has changed what the next one went by.
                edit = Edit(request.name, request.steps, request.called, time.monotonic())
                self._notes.edits.append(edit)
            # All refused writers would else retry at once, and only one would succeed.
            await asyncio.sleep(self._chance.uniform(0, _MAX_PAUSE_SECONDS))
            return 0

    async def _send(self, request: _WriterRequest) -> dict[str, Any] | None:
        """Send an edit; return its reply or the details of its error; None to try again."""
        assert self._connection is not None
        called = time.monotonic()
        answer = await self._connection.request("PATCH", _TARGET, request.body, request.headers)
        reply: dict[str, Any] = answer.json
        reason = "" if answer.status == 200 else reply["reason"]
        self._notes.answers[answer.status, reason] += 1
        if answer.status == 200:
            return reply
        if reason == "cell_changed":
            details: dict[str, Any] = reply["details"]
            error = RefusedEdit(details["cell"], details["source_hash"], called, time.monotonic())
            self._notes.refusals.append(error)
            return details
        assert answer.status >= 500, f"{request.name}: {answer}"
        await asyncio.sleep(_PAUSE_SECONDS)
        return None

    def _record_reply(self, request: _WriterRequest, reply: Mapping[str, Any]) -> None:
        assert self._run is not None
        self._notes.edits.append(
            Edit(
                name=request.name,
                steps=request.steps,
                called_at=request.called,
                returned_at=time.monotonic(),
                parent=reply["hash_before"],
                hash=reply["hash"],
                edit_id=reply["edit_id"],
                server=self._run.name,
            )
        )

    async def _read(self) -> None:
        called = time.monotonic()
        with suppress(OSError):
            await self._connect()
            assert self._connection is not None
            answer = await self._connection.request("GET", f"{_TARGET}?view=outline&limit=1")
            self._notes.answers[answer.status, ""] += 1
            if answer.status == 200:
                self._notes.reads.append(Read(answer.json["hash"], called, time.monotonic()))
            return
        self._record_broken_connection()

    async def _send_and_disconnect(self, request: _WriterRequest) -> None:
        """Send an edit, and be gone before it is answered."""
        assert self._connection is not None
        self._notes.cut_connections += 1
        with suppress(OSError):
            await self._connection.send("PATCH", _TARGET, request.body, request.headers)
            # By then it may not have arrived, or be under way, or done.
            longest = self._chance.choice(_MAX_CUT_SECONDS)
            await asyncio.sleep(self._chance.uniform(0, longest))
        self._disconnect()

    async def _connect(self, run: ServerRun | None = None) -> ServerRun:
        """Return a connected run: the given one, or any."""
        if self._connection is not None and self._run is not None:
            return self._run
        run = run or self._chance.choice(self._servers.live_runs)
        self._connection = await run.connect()
        self._run = run
        return run

    def _record_broken_connection(self) -> None:
        self._notes.broken_connections += 1
        self._disconnect()

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _new_source(self) -> tuple[str, str]:
        """Return the name of a new request, and a unique source."""
        self._count += 1
        name = f"{self._name}.{self._count}"
        lines = self._chance.choice((1, 1, 1, 3))
        return name, "\n".join([f"by = '{name}'", *(f"# {n}" for n in range(1, lines))])

    def _build_replace(self) -> tuple[str, CellStep, dict[str, Any]]:
        name, source = self._new_source()
        guard = {"source_hash": self._value}
        operation = {"op": "replace", "cell": self._cell, "source": source, "expect": guard}
        return name, CellStep(self._cell, self._value, samples.compute_hash(source)), operation
