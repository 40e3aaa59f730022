"""Run the collected tests of pytest once for each mutant, in processes of their own.

All but pytest and the mutants' code is imported once. The first process has no mutant: its tests
must pass, and say which files of tests are quick.
"""

import json
import os
import resource
import signal
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

import pytest

FOLDER = Path.cwd().parent
OUTCOMES, SECONDS = FOLDER / "outcomes.json", FOLDER / "seconds.json"
# A mutant that loops for ever is noticed after this much of the processor in a test, or of memory.
LIMIT_SECONDS, LIMIT_BYTES = 30, 6 * 1024**3
_seconds: defaultdict[str, float] = defaultdict(float)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    waiting = ["", *json.loads((FOLDER / "chosen.json").read_text())]
    running: dict[int, str] = {}
    outcomes: dict[str, int] = {}
    while running or (waiting and not outcomes.get("")):
        if waiting and len(running) < ((os.cpu_count() or 1) if outcomes else 1):
            name = waiting.pop(0)
            if outcomes:
                _sort_items(session, f"tests/{name.split('.')[1]}/")
            running[os.fork()] = name
            if 0 in running:
                os.setsid()
                os.environ["MUTANT_UNDER_TEST"] = name
                resource.setrlimit(resource.RLIMIT_AS, (LIMIT_BYTES, LIMIT_BYTES))
                # The tests run as they always do.
                return None
        else:
            process, status = os.wait()
            # Servers that its tests had no time to stop.
            with suppress(ProcessLookupError):
                os.killpg(process, signal.SIGKILL)
            outcomes[running.pop(process)] = status
            OUTCOMES.write_text(json.dumps(outcomes))
    return True


def _sort_items(session: pytest.Session, folder: str) -> None:
    """Put the tests of a folder first, and of these the files that are quick."""
    seconds = json.loads(SECONDS.read_text())
    session.items.sort(
        key=lambda item: (not item.nodeid.startswith(folder), seconds[item.nodeid.split("::")[0]])
    )


def pytest_runtest_logstart() -> None:
    # Its signal ends the process.
    signal.setitimer(signal.ITIMER_PROF, LIMIT_SECONDS)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _seconds[report.nodeid.split("::")[0]] += report.duration


def pytest_sessionfinish() -> None:
    if os.environ.get("MUTANT_UNDER_TEST") == "":
        SECONDS.write_text(json.dumps(_seconds))
