from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests import __main__ as driver
from tests import children, installer, toolchain
from tests.background import Background
from tests.counts import Count, failure
from tests.toolchain import ROOT, MissingToolError

SECONDS = 30


def failing() -> partial[Any]:
    return partial(toolchain.run, sys.executable, "-c", "print('the reason'); raise SystemExit(3)")


def test_what_a_stage_needs_is_begun_before_its_turn() -> None:
    begun = threading.Event()
    background = Background({"first": [], "second": [partial(begun.set)]})

    background.wait("first")

    assert begun.wait(SECONDS)
    background.wait("second")


def test_what_could_not_be_installed_fails_its_own_stage_with_the_output() -> None:
    background = Background({"first": [failing()], "second": [partial(str)]})

    background.wait("second")
    with pytest.raises(MissingToolError, match=r"(?s)the reason.*failed with exit code 3"):
        background.wait("first")


def test_a_stage_without_what_it_needs_does_not_run_and_has_failed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stage = driver.Stage(lambda: iter([Count(passed=1)]), [failing()])
    monkeypatch.setitem(driver.STAGES, "doomed", stage)

    counts = list(driver.checks("doomed", Background({"doomed": stage.needs})))

    assert [count.failed for count in counts] == [1]
    assert "doomed" in counts[0].failures[0]
    assert "the reason" in capsys.readouterr().out


def test_runs_at_the_same_time_are_shown_one_after_another(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    script = """
import pathlib, sys, time
own, other, code = sys.argv[1:]
print("one of", code, flush=True)
pathlib.Path(own).touch()
while not pathlib.Path(other).exists():
    time.sleep(0.01)
print("two of", code, flush=True)
sys.exit(int(code))
"""
    command = (sys.executable, "-c", script)
    runs = [
        partial(driver.check, *command, str(first), str(second), "0", shown=False),
        partial(driver.check, *command, str(second), str(first), "1", shown=False),
    ]

    counts = list(driver.together(*runs))

    assert [(count.passed, count.failed) for count in counts] == [(1, 0), (0, 1)]
    lines = capfd.readouterr().out.splitlines()
    said = [line for line in lines if line.startswith(("one of", "two of"))]
    assert said in (
        ["one of 0", "two of 0", "one of 1", "two of 1"],
        ["one of 1", "two of 1", "one of 0", "two of 0"],
    )


def test_a_stage_beside_another_is_shown_after_it_and_leaves_it_the_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    done = tmp_path / "done"
    script = "import os, pathlib; print('aside', os.nice(0)); pathlib.Path(%r).touch()"
    wait = (
        "import os, pathlib\nwhile not pathlib.Path(%r).exists(): pass\nprint('main', os.nice(0))"
    )
    runs = [
        partial(driver.check, sys.executable, "-c", text % str(done)) for text in (script, wait)
    ]
    stages = {
        "side": driver.Stage(lambda: driver.together(runs[0]), beside="main"),
        "main": driver.Stage(lambda: iter([runs[1]()])),
    }
    monkeypatch.setattr(driver, "STAGES", stages)

    found = dict(driver.at_once("main", list(stages), Background(dict.fromkeys(stages, ()))))

    assert [count for count, _ in found.values()] == [Count(passed=1)] * 2
    lines = [line.split() for line in capfd.readouterr().out.splitlines()]
    said = [line for line in lines if line and line[0] in {"=====", "main", "aside"}]
    nice = os.nice(0)
    assert [line[:2] for line in said] == [
        ["=====", "main"],
        ["main", str(nice)],
        ["=====", "side"],
        ["aside", str(min(nice + 10, 19))],
    ]


def test_at_the_end_stands_what_has_failed_and_why(capsys: pytest.CaptureFixture[str]) -> None:
    results = {
        "first": (Count(passed=2) + failure("a test", "expected 1,\n  found 2"), 1.0),
        "second": (Count(passed=1), 1.0),
    }

    assert driver.report(results) == 1

    said = capsys.readouterr().out
    assert "FAILED in first: a test: expected 1, found 2\n" in said
    assert said.count("FAILED") == 1
    assert said.endswith("\n3 passed, 1 failed\n")
    assert driver.report({"second": results["second"]}) == 0


def test_uv_is_told_what_pip_is_told() -> None:
    listed = """\
:env:.find-links='/one /two'
:env:.timeout='100'
global.index-url='https://mirror.example/simple'
global.timeout='15'
install.index-url='https://other.example/simple'
freeze.timeout='10'
list.format='json'
"""

    assert installer.as_variables(listed.splitlines()) == {
        "UV_DEFAULT_INDEX": "https://other.example/simple",
        "UV_FIND_LINKS": "/one,/two",
        "UV_HTTP_TIMEOUT": "100",
    }


def test_what_uv_cannot_install_is_left_to_pip() -> None:
    with pytest.raises(MissingToolError, match=r"(?s)no such option.*python -m pip install"):
        toolchain.install(Path(sys.prefix), "--no-such-option")


def test_every_stage_is_in_the_table_of_contributing() -> None:
    rows = (ROOT / "CONTRIBUTING.md").read_text().splitlines()
    stages = {row.split("|")[2].strip(" `") for row in rows if row.count("|") == 4}

    assert stages >= set(driver.STAGES)


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[Sleeper]:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    end = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    yield Sleeper(("sh", "-c", f"(echo; exec sleep 600) > {fifo} & wait"), end)
    os.close(end)


@dataclass(frozen=True)
class Sleeper:
    """A program that starts another one and waits for it, and one end of a pipe to the other."""

    command: tuple[str, ...]
    end: int

    def wait_until(self, said: bytes) -> None:
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            with contextlib.suppress(BlockingIOError):
                if os.read(self.end, 1) == said:
                    return
            time.sleep(0.05)
        pytest.fail(f"the program did not get as far as {said!r}")

    def wait_for_start(self) -> None:
        self.wait_until(b"\n")

    def wait_for_end(self) -> None:
        self.wait_until(b"")


def test_a_program_that_takes_too_long_is_ended_with_what_it_has_started(
    sleeper: Sleeper,
) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        children.run(sleeper.command, cwd=ROOT, limit=1)

    sleeper.wait_for_start()
    sleeper.wait_for_end()


@pytest.mark.parametrize("work", ["in the background", "shown", "together", "aside"])
def test_nothing_outlives_a_driver_that_is_told_to_end(sleeper: Sleeper, work: str) -> None:
    if work == "shown":
        stage = f"driver.Stage(lambda: iter([driver.check(*{sleeper.command!r})]))"
    elif work == "together":
        run = f"partial(driver.check, *{sleeper.command!r}, shown=False)"
        stage = f"driver.Stage(lambda: driver.together({run}))"
    elif work == "aside":
        check = f"lambda: iter([driver.check(*{sleeper.command!r})])"
        stage = f"driver.Stage({check}, beside='main'), 'main': driver.Stage({check})"
    else:
        stage = f"driver.Stage(list, [partial(driver.toolchain.run, *{sleeper.command!r})])"
    script = f"""
        import sys
        from functools import partial
        from tests import __main__ as driver
        driver.STAGES = {{"slow": {stage}}}
        sys.argv = ["python tests"]
        sys.exit(driver.main())
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], cwd=ROOT)
    try:
        sleeper.wait_for_start()

        process.send_signal(signal.SIGTERM)

        assert process.wait(SECONDS) == 128 + signal.SIGTERM
        sleeper.wait_for_end()
    finally:
        process.kill()
        process.wait()
