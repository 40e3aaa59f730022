"""Clients that edit one notebook at once, and note all that they are told."""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from tests.races.async_connection import Connection
from tests.races.history import Edit, Read, Refusal, Step
from tests.races.servers import Run, Servers

NOTEBOOK = "shared.ipynb"
_TARGET = f"/nbedit/notebooks/{NOTEBOOK}"
_GIVEN_UP_SECONDS = 120.0
_PAUSE_SECONDS = 0.02
_LONGEST_PAUSE_SECONDS = 0.1
_LONGEST_CUT_SECONDS = (0.0, 0.02, 0.5)


def value_of(source: str) -> str:
    """Give the hash by which a guard goes."""
    return hashlib.sha256(source.encode()).hexdigest()


@dataclass
class Notes:
    """What all clients together have seen."""

    edits: list[Edit] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    answers: Counter[tuple[int, str]] = field(default_factory=Counter)
    #: How often a connection broke before the answer came, and how often a client has cut it.
    broken: int = 0
    cut: int = 0


@dataclass
class _Asked:
    """One intention: what is sent, again and again until it is known what came of it."""

    name: str
    steps: tuple[Step, ...]
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
    _servers: Servers
    _notes: Notes
    #: The id of the cell that it edits, and its source at first.
    _cell: str
    #: Whether nobody else edits that cell. Then it inserts and removes other cells as well.
    _is_alone: bool
    _chance: random.Random
    _inserted: list[tuple[str, str]] = field(default_factory=list)
    _count: int = 0
    _run: Run | None = None
    _connection: Connection | None = None

    def __post_init__(self) -> None:
        self._value = value_of(self._cell)

    async def work(self, times: int) -> None:
        """Make so many edits; one that is refused counts for nothing."""
        done = 0
        while done < times:
            kind = self._chance.random() if self._is_alone else 1.0
            if kind < 0.1:
                done += await self._insert()
            elif kind < 0.2 and self._inserted:
                done += await self._remove()
            else:
                done += await self._replace()
            if self._chance.random() < 0.1:
                await self._read()
        self._leave()

    async def _replace(self) -> int:
        name, step, operation = self._replacing()
        return await self._made(_Asked(name, (step,), [operation]))

    async def _remove(self) -> int:
        """Remove a cell, and say so in another, which makes a version of it that never was."""
        name, own, replacing = self._replacing()
        cell, value = self._inserted.pop()
        removing = {"op": "delete", "cell": cell, "expect": {"source_hash": value}}
        return await self._made(_Asked(name, (own, Step(cell, value, None)), [replacing, removing]))

    async def _insert(self) -> int:
        """Insert a cell: nothing but the key of the request keeps a retry from doing it again."""
        name, source = self._new_source()
        operation = {"op": "insert", "cell_type": "code", "source": source, "after": self._cell}
        value = value_of(source)
        run = await self._connected()
        asked = _Asked(name, (Step(None, None, value),), [operation])
        if self._chance.random() < 0.5:
            await self._cut(asked)
        while run.ended is None:
            try:
                await self._connected(run)
                answer = await self._answer(asked)
            except OSError:
                self._broken()
                await asyncio.sleep(_PAUSE_SECONDS)
                continue
            if answer is not None:
                cell = answer["operations"][0]["cell_id"]
                self._inserted.append((cell, value))
                self._acknowledged(replace(asked, steps=(Step(cell, None, value),)), answer)
                if self._chance.random() < 0.5:
                    await self._repeat(asked, run)
                return 1
        # The keys that a server knows die with it.
        self._notes.edits.append(Edit(asked.name, asked.steps, asked.called, run.ended))
        return 1

    async def _repeat(self, asked: _Asked, run: Run) -> None:
        """Send what was answered once more, as who sits between client and server may do."""
        if self._run is run:
            try:
                await self._answer(asked)
            except OSError:
                self._broken()

    async def _made(self, asked: _Asked) -> int:
        """Send a guarded edit to whoever is there until it is made or refused; count it if made."""
        while True:
            try:
                await self._connected()
                answer = await self._answer(asked)
            except OSError:
                self._broken()
                asked.is_doubtful = True
                await asyncio.sleep(_PAUSE_SECONDS)
                continue
            if answer is None:
                is_late = time.monotonic() > asked.called + _GIVEN_UP_SECONDS
                assert not is_late, f"{asked.name} had no answer but that the servers are busy."
                continue
            own = asked.steps[0]
            if "source_hash" not in answer:
                self._value = str(own.after)
                self._acknowledged(asked, answer)
                return 1
            self._value = answer["source_hash"]
            if asked.is_doubtful:
                # It may be that the first attempt has changed what the next one went by.
                edit = Edit(asked.name, asked.steps, asked.called, time.monotonic())
                self._notes.edits.append(edit)
            # All who were refused would else be back at once, for one of them to get in.
            await asyncio.sleep(self._chance.uniform(0, _LONGEST_PAUSE_SECONDS))
            return 0

    async def _answer(self, asked: _Asked) -> dict[str, Any] | None:
        """Send an edit and give its reply, or what its refusal tells; None to try again."""
        assert self._connection is not None
        called = time.monotonic()
        answer = await self._connection.request("PATCH", _TARGET, asked.body, asked.headers)
        reply: dict[str, Any] = answer.json
        reason = "" if answer.status == 200 else reply["reason"]
        self._notes.answers[answer.status, reason] += 1
        if answer.status == 200:
            return reply
        if reason == "cell_changed":
            details: dict[str, Any] = reply["details"]
            refusal = Refusal(details["cell"], details["source_hash"], called, time.monotonic())
            self._notes.refusals.append(refusal)
            return details
        assert answer.status >= 500, f"{asked.name}: {answer}"
        await asyncio.sleep(_PAUSE_SECONDS)
        return None

    def _acknowledged(self, asked: _Asked, reply: Mapping[str, Any]) -> None:
        assert self._run is not None
        self._notes.edits.append(
            Edit(
                name=asked.name,
                steps=asked.steps,
                called=asked.called,
                returned=time.monotonic(),
                parent=reply["hash_before"],
                hash=reply["hash"],
                edit_id=reply["edit_id"],
                server=self._run.name,
            )
        )

    async def _read(self) -> None:
        called = time.monotonic()
        with suppress(OSError):
            await self._connected()
            assert self._connection is not None
            answer = await self._connection.request("GET", f"{_TARGET}?view=outline&limit=1")
            self._notes.answers[answer.status, ""] += 1
            if answer.status == 200:
                self._notes.reads.append(Read(answer.json["hash"], called, time.monotonic()))
            return
        self._broken()

    async def _cut(self, asked: _Asked) -> None:
        """Send an edit, and be gone before it is answered."""
        assert self._connection is not None
        self._notes.cut += 1
        with suppress(OSError):
            await self._connection.send("PATCH", _TARGET, asked.body, asked.headers)
            # By then it may not have arrived, or be under way, or done.
            longest = self._chance.choice(_LONGEST_CUT_SECONDS)
            await asyncio.sleep(self._chance.uniform(0, longest))
        self._leave()

    async def _connected(self, run: Run | None = None) -> Run:
        """Have a connection: to the server that it is, or to any."""
        if self._connection is not None and self._run is not None:
            return self._run
        run = run or self._chance.choice(self._servers.alive)
        self._connection = await run.connect()
        self._run = run
        return run

    def _broken(self) -> None:
        self._notes.broken += 1
        self._leave()

    def _leave(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _new_source(self) -> tuple[str, str]:
        """Return the name of a new intention, and a source that nobody else writes."""
        self._count += 1
        name = f"{self._name}.{self._count}"
        lines = self._chance.choice((1, 1, 1, 3))
        return name, "\n".join([f"by = '{name}'", *(f"# {n}" for n in range(1, lines))])

    def _replacing(self) -> tuple[str, Step, dict[str, Any]]:
        name, source = self._new_source()
        guard = {"source_hash": self._value}
        operation = {"op": "replace", "cell": self._cell, "source": source, "expect": guard}
        return name, Step(self._cell, self._value, value_of(source)), operation
