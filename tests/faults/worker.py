"""A process with the shim: kills copies of itself, or lets its calls fail, during an edit.

Takes one job, as JSON, and prints what it found.
"""

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

from tests.faults.scenario import CASES, NAME, Outcome, Scenario, ScenarioServer
from tests.faults.shim import ERRORS, Mode, Shim

# Longer than what a killed process leaves is left.
LATER_SECONDS = 2 * 3600
# As long as a thread may take to close a file.
TIMEOUT_SECONDS = 20.0
# What is wrong so often is wrong.
ENOUGH = 5


@dataclass
class Findings:
    """The number of points, and the problems of each."""

    points: int = 0
    calls: int = 0
    problems: list[str] = field(default_factory=list)
    kinds: dict[str, int] = field(default_factory=dict)

    def add(self, point: str, problems: list[str], kind: str) -> None:
        self.points += 1
        self.kinds[kind] = self.kinds.get(kind, 0) + 1
        self.problems += [f"{point}: {wrong}" for wrong in problems]


class KillRunner:
    """Kills a copy of this process at each call, and restarts."""

    def __init__(self, shim: Shim, scenario: Scenario) -> None:
        self._shim = shim
        self._scenario = scenario
        self.findings = Findings()

    def run_all(self, first: int, step: int) -> None:
        call = first
        while self.kill_at_call(call) and len(self.findings.problems) < ENOUGH:
            call += step
        self.findings.calls = call

    def kill_at_call(self, call: int) -> bool:
        """Kill at a call; return whether there was that call."""
        server = self._scenario.start_server()
        asyncio.run(_reset(self._scenario, server))
        child = os.fork()
        if child == 0:
            self._run_child(call)
        _, status = os.waitpid(child, 0)
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        if not killed and status != 0:
            self.findings.add(f"kill at call {call}", [f"the process ended with {status}"], "?")
            return True
        outcome = None if killed else Outcome()
        problems = self._scenario.check_file(outcome)
        self._shim.set_clock_ahead(LATER_SECONDS)
        try:
            problems += asyncio.run(self._check_next_edits())
        finally:
            self._shim.set_clock_ahead(0)
        if strays := self._scenario.list_stray_files():
            problems.append(f"I4: left after the restart: {strays}")
        self.findings.add(f"kill at call {call}", problems, "killed" if killed else "done")
        return killed

    def _run_child(self, call: int) -> None:
        status = 1
        try:
            server = self._scenario.start_server()

            async def act() -> Outcome:
                self._shim.arm(Mode.KILL, call)
                return await self._scenario.run_case(server)

            outcome = asyncio.run(act())
            self._shim.disarm()
            status = 0 if outcome.reply is not None else 1
        except BaseException:  # noqa: BLE001 -- a copy must not go on as if it were the process
            traceback.print_exc()
        finally:
            os._exit(status)

    async def _check_next_edits(self) -> list[str]:
        server = self._scenario.start_server()
        problems = await self._scenario.check_next_edits(server, None)
        await server.close()
        return problems


async def _reset(scenario: Scenario, server: ScenarioServer) -> None:
    # A longer history takes more calls, of which each is tried.
    await server.services.history.purge(NAME)
    await scenario.reset(server)
    await server.close()


class FailureRunner:
    """Lets calls of one server fail, which goes on afterwards as servers do."""

    def __init__(
        self, shim: Shim, scenario: Scenario, *, fresh: bool = False, inside: Path | None = None
    ) -> None:
        self._shim = shim
        self._scenario = scenario
        self._fresh = fresh
        self._inside = inside
        self._left: set[tuple[str, str]] = set()
        self._server = scenario.start_server()
        self.findings = Findings()

    async def count_calls(self) -> int:
        """Count the calls of a server that has its files open, unless each is a new one."""
        await self._prepare()
        await self._scenario.run_case(self._server)
        await self._prepare()
        self._shim.arm(Mode.COUNT, inside=self._inside)
        await self._scenario.run_case(self._server)
        self.findings.calls = self._shim.disarm()
        return self.findings.calls

    async def _prepare(self) -> None:
        await self._scenario.reset(self._server)
        if self._fresh:
            await self._restart()

    async def _restart(self) -> None:
        await self._server.close()
        self._server = self._scenario.start_server()

    async def fail_at_call(self, mode: Mode, error: str, call: int) -> None:
        await self._prepare()
        self._shim.arm(mode, call, ERRORS.get(error, 0), self._inside)
        outcome = await self._scenario.run_case(self._server)
        self._shim.disarm()
        scenario, is_once = self._scenario, mode in {Mode.FAIL_ONCE, Mode.SHORT_ONCE}
        point = f"{mode.name} {error} at call {call} ({self._shim.get_call_name(call)})"
        problems = scenario.check_file(outcome)
        if mode in {Mode.SHORT_ONCE, Mode.SHORT_ON} and outcome.reply is None:
            problems.append(f"too few bytes at once are no failure: {outcome.error!r}")
        if outcome.error is not None:
            # What it remembers of where it came from would keep files open.
            _forget_frames(outcome.error)
        problems += [f"left open: {path}" for path in await self._list_unclosed_files()]
        if self._inside and self._shim.get_call_name(call) == "fsync" and _is_success(outcome):
            # The system forgets the failed write, so another fsync proves nothing.
            problems.append("I2: called durable after an fsync that failed")
        # What cannot be removed is left to the next sweep.
        removes = self._shim.get_call_name(call).startswith("unlink")
        if is_once and not removes and (strays := scenario.list_stray_files()):
            problems.append(f"I4: left: {strays}")
        problems += scenario.check_trust(outcome)
        self._shim.set_clock_ahead(LATER_SECONDS)
        try:
            if strays := scenario.list_stray_files():
                # Only a restart sweeps again.
                await self._restart()
            problems += await scenario.check_next_edits(self._server, outcome)
        finally:
            self._shim.set_clock_ahead(0)
        if strays := scenario.list_stray_files():
            problems.append(f"I4: left after the restart: {strays}")
        if outcome.error is not None:
            kind = getattr(outcome.error, "reason", type(outcome.error).__name__)
        else:
            kind = "warned" if outcome.reply and outcome.reply.warnings else "done"
        self.findings.add(point, problems, kind)

    async def _list_unclosed_files(self) -> list[str]:
        """List files that were opened and never closed."""
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while new := set(self._scenario.list_open_files().items()) - self._left:
            if time.monotonic() > deadline:
                self._left |= new
                return [path for _, path in new]
            gc.collect()
            await asyncio.sleep(0.01)
        return []

    async def close(self) -> None:
        await self._server.close()


def _is_success(outcome: Outcome) -> bool:
    return outcome.reply is not None and not outcome.reply.warnings


def _forget_frames(error: BaseException | None) -> None:
    while error is not None:
        error.__traceback__ = None
        error = error.__context__


def run_kills(job: dict[str, Any], shim: Shim, scenario: Scenario) -> Findings:
    """Kill at each call, or at each ``step``-th from ``first`` on."""
    kills = KillRunner(shim, scenario)
    kills.run_all(job.get("first", 1), job.get("step", 1))
    return kills.findings


def run_failures(job: dict[str, Any], shim: Shim, scenario: Scenario) -> Findings:
    """Fail at calls, as often as ``limit`` says, chosen by ``seed``; each once and from then on.

    Only ``calls`` whose names begin like that, if there is such a member.
    """

    async def main() -> Findings:
        inside = scenario.root if job.get("inside") else None
        errors = FailureRunner(shim, scenario, fresh=job.get("fresh", False), inside=inside)
        calls = await errors.count_calls()
        points = [
            (Mode[mode], error, call)
            for mode in job["modes"]
            for error in (job.get("errors", ERRORS) if mode.startswith("FAIL") else [""])
            for call in range(1, calls + 1)
            # For its own locks SQLite tries ten seconds long.
            if mode != "FAIL_ON" or not shim.get_call_name(call).startswith("fcntl")
            if shim.get_call_name(call).startswith(job.get("calls", ""))
        ]
        if job.get("only"):
            mode, error, call = job["only"]
            points = [(Mode[mode], error, call)]
        elif len(points) > job["limit"]:
            points = random.Random(job["seed"]).sample(points, job["limit"])  # noqa: S311
        for point in points:
            await errors.fail_at_call(*point)
            if len(errors.findings.problems) >= ENOUGH:
                break
        await errors.close()
        return errors.findings

    return asyncio.run(main())


def run_on_slow_disk(job: dict[str, Any], shim: Shim, scenario: Scenario) -> Findings:
    """Edit on a disk that takes its time for each call, and count those that hold up the loop."""
    findings = Findings()

    async def main() -> None:
        server = scenario.start_server()
        await scenario.reset(server)
        shim.arm(Mode.DELAY, 1, job["milliseconds"], scenario.root)
        outcome = await scenario.run_case(server)
        findings.calls = shim.disarm()
        # The loop runs on this thread, which is the process's first.
        calls = filter(shim.is_on_main_thread, range(1, findings.calls + 1))
        findings.kinds = dict(Counter(map(shim.get_call_name, calls)))
        findings.add(
            "a slow disk", scenario.check_file(outcome), "done" if outcome.reply else "refused"
        )
        await server.close()

    asyncio.run(main())
    return findings


JOBS = {"kills": run_kills, "errors": run_failures, "slow": run_on_slow_disk}


def main() -> None:
    """Do the job."""
    # What each fault leaves in the log would fill the screen.
    logging.disable()
    job = json.loads(sys.argv[1])
    scenario = Scenario(Path(job["folder"]), CASES[job["case"]])
    # Once before, so that nothing is left to import.
    asyncio.run(scenario.record_result())
    gc.collect()
    gc.freeze()
    began, cpu = time.monotonic(), time.process_time()
    findings = JOBS[job["job"]](job, Shim(), scenario)
    took = {"seconds": time.monotonic() - began, "cpu": time.process_time() - cpu}
    print(json.dumps({**asdict(findings), **took}))


if __name__ == "__main__":
    main()
