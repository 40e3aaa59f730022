"""A process with the shim in it: kills copies of itself, or fails itself, at every call of an edit.

Takes one job, as JSON, and prints what it found.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import random
import signal
import sys
import time
import traceback
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.faults.scenario import CASES, Outcome, Place, Server
from tests.faults.shim import ERRORS, Mode, Shim

# Longer than what a killed process leaves is left.
LATER_SECONDS = 2 * 3600
# As long as a thread may take to close a file.
PATIENCE_SECONDS = 20.0
# What is wrong so often is wrong.
ENOUGH = 5


@dataclass
class Findings:
    """How many points were tried, and what was wrong at which."""

    points: int = 0
    calls: int = 0
    wrongs: list[str] = field(default_factory=list)
    kinds: dict[str, int] = field(default_factory=dict)

    def note(self, point: str, wrongs: list[str], kind: str) -> None:
        self.points += 1
        self.kinds[kind] = self.kinds.get(kind, 0) + 1
        self.wrongs += [f"{point}: {wrong}" for wrong in wrongs]


class Kills:
    """Kills a copy of this process at each call, and restarts."""

    def __init__(self, shim: Shim, place: Place) -> None:
        self._shim = shim
        self._place = place
        self.findings = Findings()

    def all(self, first: int, step: int) -> None:
        call = first
        while self.at(call) and len(self.findings.wrongs) < ENOUGH:
            call += step
        self.findings.calls = call

    def at(self, call: int) -> bool:
        """Kill at a call; tell whether there was that call."""
        server = self._place.server()
        asyncio.run(_put(self._place, server))
        child = os.fork()
        if child == 0:
            self._act(call)
        _, status = os.waitpid(child, 0)
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        if not killed and status != 0:
            self.findings.note(f"kill at call {call}", [f"the process ended with {status}"], "?")
            return True
        outcome = None if killed else Outcome()
        wrongs = self._place.wrongs(outcome)
        self._shim.set_ahead(LATER_SECONDS)
        try:
            wrongs += asyncio.run(self._going_on())
        finally:
            self._shim.set_ahead(0)
        if strays := self._place.strays():
            wrongs.append(f"I4: left after the restart: {strays}")
        self.findings.note(f"kill at call {call}", wrongs, "killed" if killed else "done")
        return killed

    def _act(self, call: int) -> None:
        status = 1
        try:
            server = self._place.server()

            async def act() -> Outcome:
                self._shim.arm(Mode.KILL, call)
                return await self._place.act(server)

            outcome = asyncio.run(act())
            self._shim.disarm()
            status = 0 if outcome.reply is not None else 1
        except BaseException:  # noqa: BLE001 -- a copy must not go on as if it were the process
            traceback.print_exc()
        finally:
            os._exit(status)

    async def _going_on(self) -> list[str]:
        server = self._place.server()
        wrongs = await self._place.wrongs_of_going_on(server, None)
        await server.close()
        return wrongs


async def _put(place: Place, server: Server) -> None:
    await place.put(server)
    await server.close()


class Errors:
    """Lets calls of one server fail, which goes on afterwards as servers do."""

    def __init__(
        self, shim: Shim, place: Place, *, fresh: bool = False, inside: Path | None = None
    ) -> None:
        self._shim = shim
        self._place = place
        self._fresh = fresh
        self._inside = inside
        self._left: set[tuple[str, str]] = set()
        self._server = place.server()
        self.findings = Findings()

    async def count(self) -> int:
        """Count the calls of a server that has its files open, unless each is a new one."""
        await self._prepared()
        await self._place.act(self._server)
        await self._prepared()
        self._shim.arm(Mode.COUNT, inside=self._inside)
        await self._place.act(self._server)
        self.findings.calls = self._shim.disarm()
        return self.findings.calls

    async def _prepared(self) -> None:
        await self._place.put(self._server)
        if self._fresh:
            await self._restart()

    async def _restart(self) -> None:
        await self._server.close()
        self._server = self._place.server()

    async def at(self, mode: Mode, error: str, call: int) -> None:
        await self._prepared()
        self._shim.arm(mode, call, ERRORS.get(error, 0), self._inside)
        outcome = await self._place.act(self._server)
        self._shim.disarm()
        place, is_once = self._place, mode in {Mode.FAIL_ONCE, Mode.SHORT_ONCE}
        point = f"{mode.name} {error} at call {call} ({self._shim.name(call)})"
        wrongs = place.wrongs(outcome)
        if mode in {Mode.SHORT_ONCE, Mode.SHORT_ON} and outcome.reply is None:
            wrongs.append(f"too few bytes at once are no failure: {outcome.refusal!r}")
        if outcome.refusal is not None:
            # What it remembers of where it came from would keep files open.
            _forget_frames(outcome.refusal)
        wrongs += [f"left open: {path}" for path in await self._left_open()]
        if self._inside and self._shim.name(call) == "fsync" and _is_sure(outcome):
            # The system forgets that it could not write, and another try tells nothing.
            wrongs.append("I2: called durable after an fsync that failed")
        # What cannot be removed is left to the next sweep.
        removes = self._shim.name(call).startswith("unlink")
        if is_once and not removes and (strays := place.strays()):
            wrongs.append(f"I4: left: {strays}")
        wrongs += place.wrongs_of_trust(outcome)
        self._shim.set_ahead(LATER_SECONDS)
        try:
            if strays := place.strays():
                # Only a restart sweeps again.
                await self._restart()
            wrongs += await place.wrongs_of_going_on(self._server, outcome)
        finally:
            self._shim.set_ahead(0)
        if strays := place.strays():
            wrongs.append(f"I4: left after the restart: {strays}")
        if outcome.refusal is not None:
            kind = getattr(outcome.refusal, "reason", type(outcome.refusal).__name__)
        else:
            kind = "warned" if outcome.reply and outcome.reply.warnings else "done"
        self.findings.note(point, wrongs, kind)

    async def _left_open(self) -> list[str]:
        """List what was opened and never closed, be it by a thread or with what nobody needs."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while new := set(self._place.open_files().items()) - self._left:
            if time.monotonic() > deadline:
                self._left |= new
                return [path for _, path in new]
            gc.collect()
            await asyncio.sleep(0.01)
        return []

    async def close(self) -> None:
        await self._server.close()


def _is_sure(outcome: Outcome) -> bool:
    return outcome.reply is not None and not outcome.reply.warnings


def _forget_frames(error: BaseException | None) -> None:
    while error is not None:
        error.__traceback__ = None
        error = error.__context__


def kills(job: dict[str, Any], shim: Shim, place: Place) -> Findings:
    """Kill at each call, or at each ``step``-th from ``first`` on."""
    kills = Kills(shim, place)
    kills.all(job.get("first", 1), job.get("step", 1))
    return kills.findings


def errors(job: dict[str, Any], shim: Shim, place: Place) -> Findings:
    """Fail at calls, as often as ``limit`` says, chosen by ``seed``; each once and from then on.

    Only ``calls`` whose names begin like that, if there is such a member.
    """

    async def main() -> Findings:
        inside = place.root if job.get("inside") else None
        errors = Errors(shim, place, fresh=job.get("fresh", False), inside=inside)
        calls = await errors.count()
        points = [
            (Mode[mode], error, call)
            for mode in job["modes"]
            for error in (job.get("errors", ERRORS) if mode.startswith("FAIL") else [""])
            for call in range(1, calls + 1)
            # For its own locks SQLite tries ten seconds long.
            if mode != "FAIL_ON" or not shim.name(call).startswith("fcntl")
            if shim.name(call).startswith(job.get("calls", ""))
        ]
        if job.get("only"):
            mode, error, call = job["only"]
            points = [(Mode[mode], error, call)]
        elif len(points) > job["limit"]:
            points = random.Random(job["seed"]).sample(points, job["limit"])  # noqa: S311
        for point in points:
            await errors.at(*point)
            if len(errors.findings.wrongs) >= ENOUGH:
                break
        await errors.close()
        return errors.findings

    return asyncio.run(main())


def slow(job: dict[str, Any], shim: Shim, place: Place) -> Findings:
    """Edit on a disk that takes its time for each call, and count those that hold up the loop."""
    findings = Findings()

    async def main() -> None:
        server = place.server()
        await place.put(server)
        shim.arm(Mode.DELAY, 1, job["milliseconds"], place.root)
        outcome = await place.act(server)
        findings.calls = shim.disarm()
        # The loop runs on this thread, which is the process's first.
        calls = filter(shim.is_on_main_thread, range(1, findings.calls + 1))
        findings.kinds = dict(Counter(map(shim.name, calls)))
        findings.note("a slow disk", place.wrongs(outcome), "done" if outcome.reply else "refused")
        await server.close()

    asyncio.run(main())
    return findings


JOBS = {"kills": kills, "errors": errors, "slow": slow}


def main() -> None:
    """Do the job."""
    # What each fault leaves in the log would fill the screen.
    logging.disable()
    job = json.loads(sys.argv[1])
    place = Place(Path(job["folder"]), CASES[job["case"]])
    # Once before, so that nothing is left to import.
    asyncio.run(place.learn())
    gc.collect()
    gc.freeze()
    began, cpu = time.monotonic(), time.process_time()
    findings = JOBS[job["job"]](job, Shim(), place)
    took = {"seconds": time.monotonic() - began, "cpu": time.process_time() - cpu}
    print(json.dumps({**asdict(findings), **took}))


if __name__ == "__main__":
    main()
