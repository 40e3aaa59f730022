"""Run every check there is: ``.venv/bin/python tests``.

Stages run one after another, the later ones even when an earlier one has failed; what they need is
installed in the meantime. Beside the browser's, which leaves a core idle for most of its time, run
those that can wait for one, and are shown when it has ended. A runner that executed nothing has
failed.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tests.background import Need

# `python tests` puts tests/ first.
sys.path[0] = str(Path(__file__).resolve().parent.parent)

from tests import children, toolchain  # noqa: E402 - needs the line above
from tests.background import Background  # noqa: E402
from tests.counts import (  # noqa: E402
    Count,
    agreed,
    failure,
    from_junit,
    from_playwright,
)
from tests.host.comparison import compare, passed_in, reasons_in  # noqa: E402
from tests.toolchain import CACHE, LAB, ROOT, SETUPS, UI_TESTS, MissingToolError  # noqa: E402

STEP_LIMIT = 900.0  # seconds; no step takes a third of it
NIGHTLY_LIMIT = 12 * 3600.0
OLDEST_JUPYTERLAB = "==4.2.0"
NEWEST_JUPYTERLAB = "~=4.6"
ODD_BASE_URL = "/a%40b/%C3%BC%20x%25y/"
SETUP_NAMES = ("setups", "documents")
# One more than two cores: some test always waits for a server, a disk or a clock.
WORKERS = min(4, max(3, os.cpu_count() or 1))
PARALLEL = (f"--numprocesses={WORKERS}",)
RIGS = ("tests/faults", "tests/races", "tests/fuzz", "tests/soak")
# Linux shares its time between sessions first, and each has a niceness of its own.
_POLITELY = 'echo 10 2>/dev/null >/proc/self/autogroup; exec nice -n 10 "$@"'
POLITELY = ("sh", "-c", _POLITELY, "sh")

#: What is said here is not shown before the end, and what is run leaves the cores to others.
_aside: ContextVar[list[str] | None] = ContextVar("_aside", default=None)


def main() -> int:
    """Run the stages asked for; return the exit code."""
    parser = argparse.ArgumentParser(prog="python tests", description="Run all checks and tests.")
    parser.add_argument("--only", choices=STAGES, action="append", help="run this stage alone")
    parser.add_argument(
        "--nightly", action="store_true", help="also what takes too long for every change"
    )
    arguments = parser.parse_args()
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    if arguments.nightly:
        os.environ["NBEDIT_NIGHTLY"] = "1"
    # Stopped from outside, what runs must still be stopped.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    usual = [name for name, stage in STAGES.items() if arguments.nightly or not stage.is_nightly]
    stages = arguments.only or usual
    background = Background({stage: STAGES[stage].needs for stage in stages})
    results: dict[str, tuple[Count, float]] = {}
    try:
        for stage in stages:
            if STAGES[stage].beside not in stages:
                results.update(at_once(stage, stages, background))
    finally:
        background.stop()
    return report({stage: results[stage] for stage in stages})


def at_once(
    stage: str, stages: Sequence[str], background: Background
) -> Iterator[tuple[str, tuple[Count, float]]]:
    """Run a stage and, one after another, those of all that run beside it."""
    beside = [other for other in stages if STAGES[other].beside == stage]
    with ThreadPoolExecutor(1) as pool:
        try:
            waiting = [pool.submit(aside, other, background) for other in beside]
            yield stage, result(stage, background)
            for other, future in zip(beside, waiting, strict=True):
                said, found = future.result()
                print(said, flush=True)
                yield other, found
        except (KeyboardInterrupt, SystemExit):
            # Else the pool would wait for their ends.
            children.stop()
            raise


def aside(stage: str, background: Background) -> tuple[str, tuple[Count, float]]:
    """Run a stage where nobody looks, and return what it has said, too."""
    said: list[str] = []
    _aside.set(said)
    found = result(stage, background)
    return "\n".join(said), found


def result(stage: str, background: Background) -> tuple[Count, float]:
    """Run a stage; return what came of it, and how many seconds it took."""
    began = time.monotonic()
    count = sum(checks(stage, background), start=Count())
    if count.passed + count.failed == 0:
        say(f"Nothing was executed in the stage {stage!r}.")
        count += failure(stage, "nothing was executed")
    return count, time.monotonic() - began


def say(text: str) -> None:
    """Show a text, now or when it can be read."""
    said = _aside.get()
    if said is None:
        print(text, flush=True)
    else:
        said.append(text)


def checks(stage: str, background: Background) -> Iterator[Count]:
    """Run one stage; a missing tool is a failure of that stage, not of the run."""
    say(f"\n===== {stage} " + "=" * (80 - len(stage)))
    try:
        background.wait(stage, say)
        yield from STAGES[stage].run()
    except (MissingToolError, subprocess.TimeoutExpired) as error:
        say(str(error))
        yield failure(stage, str(error))


def lint() -> Iterator[Count]:
    """Python: style, types, the direction of imports."""
    yield check("ruff", "check")
    yield check("ruff", "format", "--check")
    yield check("mypy")
    yield check("lint-imports")


def unit() -> Iterator[Count]:
    """Python: everything that needs neither a browser nor another environment."""
    # A module's tests share servers; whoever has none left takes over what another has not begun.
    others = [f"--ignore={folder}" for folder in ("tests/packaging", *RIGS)]
    yield pytest("unit", *PARALLEL, "--dist=worksteal", "tests", *others)


def rigs() -> Iterator[Count]:
    """Python: whatever may happen at any moment, made to happen at as many as there is time for."""
    # The seeded bugs are one module, and longer than all others.
    yield pytest("rigs", *PARALLEL, "--dist=worksteal", *RIGS)


def mutation() -> Iterator[Count]:
    """Python: what must be covered to the last branch; at night, changes that must be noticed."""
    yield check(sys.executable, "tests/mutation")


def lab() -> Iterator[Count]:
    """TypeScript: style, types, and the modules that need no browser."""
    lint = ("npm", "run", "lint")
    yield from together(*(partial(check, *lint, cwd=cwd, shown=False) for cwd in (LAB, UI_TESTS)))
    yield vitest()


def packaging() -> Iterator[Count]:
    """Check what is in the wheel, and what installing it does."""
    given = {
        "NBEDIT_WHEEL": str(toolchain.wheel()),
        "NBEDIT_BESIDE_LAB": str(toolchain.jupyterlab(NEWEST_JUPYTERLAB)),
    }
    yield pytest("packaging", *PARALLEL, "--dist=loadfile", "tests/packaging", env=given)


def setups() -> Iterator[Count]:
    """Python again, beside what else people have in their Jupyter."""
    for name in SETUP_NAMES:
        yield pytest(
            name,
            *PARALLEL,
            # Each module has servers and buckets of its own, which others need not start again.
            "--dist=loadfile",
            # What is skipped is what the other environment runs.
            "-rfE",
            "tests/setups",
            "tests/storage/test_contract.py",
            python=toolchain.setup(name) / "bin" / "python",
            env={"NBEDIT_SETUPS": name},
        )


def host() -> Iterator[Count]:
    """Jupyter Server's own tests: whether the extension makes one fail that passes without it."""
    plugin = ("-p", "nbedit_in_every_server")
    without = upstream("without", toolchain.jupyter_server(with_extension=False))
    environment = toolchain.jupyter_server(with_extension=True)
    runs = [upstream("with", environment, *plugin)]
    lost = passed_in(without) - passed_in(runs[0])
    if lost:
        runs.append(upstream("again", environment, *plugin, "--last-failed"))
    say(
        f"[without the extension {len(passed_in(without))} pass and {len(reasons_in(without))} "
        f"fail, with it {len(passed_in(runs[0]))} and {len(reasons_in(runs[0]))}]"
    )
    yield compare(without, *runs)


def upstream(name: str, environment: Path, *options: str) -> Path:
    """Run Jupyter Server's own tests and return their report; some of them may well fail."""
    report = fresh_report(f"host-{name}.xml")
    settings = CACHE / "host-settings"
    settings.mkdir(exist_ok=True)
    # Some tests start servers of their own, which refuse to run as root.
    (settings / "jupyter_server_config.json").write_text('{"ServerApp": {"allow_root": true}}')
    execute(
        *(str(environment / "bin" / "python"), "-m", "pytest", "-q", "-rfE", "--color=no"),
        # Servers of one module share a port.
        *(f"--numprocesses={WORKERS}", "--dist=loadfile", f"--junitxml={report}"),
        # What others deprecate says nothing of the extension, and would end tests early.
        *("-W", "ignore::DeprecationWarning", "-o", "log_cli_level=ERROR", "--no-showlocals"),
        *("-o", f"cache_dir={CACHE / 'host-cache'}", *options),
        cwd=toolchain.jupyter_server_source(environment),
        env={
            "PATH": f"{environment / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT / "tests" / "host"),
            "JUPYTER_CONFIG_DIR": str(settings),
        },
    )
    return report


def browser() -> Iterator[Count]:
    """Test the same wheel in the oldest and the newest JupyterLab, and in both kinds of rooms."""
    yield galata(toolchain.jupyterlab(NEWEST_JUPYTERLAB), f"--base-url={ODD_BASE_URL}")
    brief = () if "NBEDIT_NIGHTLY" in os.environ else ("--brief",)
    yield galata(toolchain.jupyterlab(OLDEST_JUPYTERLAB), *brief)
    # In a room one test runs at a time, so there is a core for the other kind of rooms.
    rooms = (partial(galata, toolchain.setup(name), "--collaborative") for name in SETUP_NAMES)
    yield from together(*(partial(run, shown=False) for run in rooms))


@dataclass(frozen=True)
class Stage:
    """What a stage does, and what must be there before."""

    run: Callable[[], Iterator[Count]]
    needs: Sequence[Need] = ()
    #: The stage at whose time it runs, if that runs, too.
    beside: str = ""
    #: Whether it runs at night only, or when it is asked for.
    is_nightly: bool = False


STAGES = {
    "lint": Stage(lint),
    "unit": Stage(unit),
    "rigs": Stage(rigs),
    "mutation": Stage(mutation, beside="browser"),
    "lab": Stage(
        lab,
        [
            partial(toolchain.node),
            partial(toolchain.node_modules, LAB),
            partial(toolchain.node_modules, UI_TESTS),
        ],
        beside="browser",
    ),
    "packaging": Stage(
        packaging,
        [partial(toolchain.wheel), partial(toolchain.jupyterlab, NEWEST_JUPYTERLAB)],
        beside="browser",
    ),
    "setups": Stage(
        setups,
        [
            partial(toolchain.wheel),
            *(partial(toolchain.setup, name) for name in SETUP_NAMES),
            partial(toolchain.node_modules, SETUPS / "proxy"),
        ],
        beside="browser",
    ),
    "host": Stage(
        host,
        [
            partial(toolchain.wheel),
            partial(toolchain.jupyter_server, with_extension=False),
            partial(toolchain.jupyter_server, with_extension=True),
        ],
        is_nightly=True,
    ),
    "browser": Stage(
        browser,
        [
            partial(toolchain.node_modules, UI_TESTS),
            # With what is there a test builds an extension.
            partial(toolchain.node_modules, LAB),
            partial(toolchain.browser),
            partial(toolchain.wheel),
            partial(toolchain.jupyterlab, NEWEST_JUPYTERLAB),
            partial(toolchain.jupyterlab, OLDEST_JUPYTERLAB),
            *(partial(toolchain.setup, name) for name in SETUP_NAMES),
        ],
    ),
}


def pytest(
    name: str,
    *arguments: str,
    python: str | Path = sys.executable,
    env: dict[str, str] | None = None,
) -> Count:
    """Run pytest and count its tests."""
    report = fresh_report(f"{name}.xml")
    command = (str(python), "-m", "pytest", "-q", f"--junitxml={report}", *arguments)
    return agreed(execute(*command, env=env), from_junit(report), name)


def vitest() -> Count:
    """Run vitest and count its tests."""
    report = fresh_report("lab.xml")
    reporters = ("--reporter=default", "--reporter=junit", f"--outputFile.junit={report}")
    exit_code = execute("npm", "test", "--", *reporters, cwd=LAB)
    return agreed(exit_code, from_junit(report), "vitest")


def galata(environment: Path, *options: str, shown: bool = True) -> Count:
    """Run the browser tests in one environment and count them."""
    report = UI_TESTS / "test-results" / environment.name / "report.json"
    report.unlink(missing_ok=True)
    nightly = ("--nightly",) if "NBEDIT_NIGHTLY" in os.environ else ()
    command = (sys.executable, "ui-tests", "--env", str(environment), *options, *nightly)
    exit_code = execute(*command, shown=shown)
    return agreed(exit_code, from_playwright(report), f"galata, {environment.name}")


def check(*command: str, cwd: Path = ROOT, shown: bool = True) -> Count:
    """Run a command that is one check: its exit code is the result."""
    exit_code = execute(*command, cwd=cwd, shown=shown)
    return failure(" ".join(command), f"exit code {exit_code}") if exit_code else Count(passed=1)


def together(*runs: Callable[[], Count]) -> Iterator[Count]:
    """Run at the same time what keeps one core busy each."""
    with ThreadPoolExecutor(len(runs)) as pool:
        try:
            contexts = [copy_context() for _ in runs]
            yield from pool.map(lambda context, run: context.run(run), contexts, runs)
        except (KeyboardInterrupt, SystemExit):
            # Else the pool would wait for their ends.
            children.stop()
            raise


def execute(
    *command: str, cwd: Path = ROOT, env: dict[str, str] | None = None, shown: bool = True
) -> int:
    """Run a command and say how long it took, its output shown meanwhile, or when it has ended."""
    line = f"\n$ {' '.join(command)}".replace(f"{ROOT}{os.sep}", "")
    where = "" if cwd == ROOT else f"  # in {cwd.relative_to(ROOT)}"
    is_aside = _aside.get() is not None
    shown = shown and not is_aside
    if shown:
        say(line + where)
    began = time.monotonic()
    done = children.run(
        (*POLITELY, *command) if is_aside else command,
        cwd=cwd,
        env={**os.environ, **(env or {})},
        limit=NIGHTLY_LIMIT if "NBEDIT_NIGHTLY" in os.environ else STEP_LIMIT,
        captured=not shown,
    )
    outcome = f"exit code {done.returncode}" if done.returncode else "ok"
    before = "" if shown else f"{line}{where}\n{done.stdout}"
    say(f"{before}[{outcome}, {time.monotonic() - began:.1f} s]")
    return done.returncode


def fresh_report(name: str) -> Path:
    """Return where a report goes, with the former one out of the way."""
    report = CACHE / "reports" / name
    report.parent.mkdir(parents=True, exist_ok=True)
    report.unlink(missing_ok=True)
    return report


def report(results: dict[str, tuple[Count, float]]) -> int:
    """Print what has failed, the stages and the total; return the exit code."""
    print("\n" + "=" * 87)
    # Whoever sees only the end of the output sees what to look for.
    for stage, (count, _) in results.items():
        for line in count.failures:
            print(f"FAILED in {stage}: {line}")
    for stage, (count, seconds) in results.items():
        print(f"{stage:<10} {count!s:<50} {seconds:7.1f} s")
    total = sum((count for count, _ in results.values()), start=Count())
    print(f"\n{total}")
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
