"""What one run of the tests tells: which lines each comes by, and how long it takes."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from functools import cache
from itertools import accumulate
from pathlib import Path

import coverage
import pytest

from tests.mutation import held
from tests.mutation.mutants import Mutant
from tests.support.paths import CACHE, ROOT

FOLDER = CACHE / "mutation"
COVERAGE, SECONDS = FOLDER / "coverage", FOLDER / "seconds.json"
# Nobody reads why a test fails, and what makes that readable would have to be imported first.
OPTIONS = (
    *("-q", "--tb=no", "--assert=plain"),
    *("-p", "no:cacheprovider", "-p", "no:schemathesis", "-p", "no:xdist"),
)


class Quickly:
    """Lets Hypothesis try little, and the same for each mutant."""

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self) -> None:
        # pytest wants to see Hypothesis first.
        from hypothesis import Phase, settings  # noqa: PLC0415

        settings.register_profile(
            "mutation",
            max_examples=15,
            derandomize=True,
            database=None,
            # That there is a failure is all there is to know.
            phases=[Phase.explicit, Phase.generate],
        )
        settings.load_profile("mutation")


class _Times(Quickly):
    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration


def learn() -> int:
    """Run the tests; return the exit code, which is not 0 if a branch is covered by none."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    os.environ["COVERAGE_FILE"] = str(COVERAGE)
    times = _Times()
    options = ("--tb=short", "--cov", "--cov-context=test", "--cov-report=")
    if failed := pytest.main([*OPTIONS, *options, *held.TESTS], plugins=[times]):
        return int(failed)
    SECONDS.write_text(json.dumps(times.seconds))
    measured = coverage.Coverage(data_file=str(COVERAGE))
    measured.load()
    covered = measured.report(
        include=[f"jupyter_nbedit/{name}" for name in held.MODULES],
        show_missing=True,
        skip_covered=True,
    )
    print(f"{covered:.2f} % of {len(held.MODULES)} modules are covered, branches included")
    return 0 if covered == 100 else 1


class Learned:
    """What the last run told."""

    def __init__(self) -> None:
        self._data = coverage.CoverageData(str(COVERAGE))
        self._data.read()
        self._seconds: dict[str, float] = json.loads(SECONDS.read_text())
        self._lines = cache(self._lines_of)

    def tests(self, mutant: Mutant) -> list[str]:
        """Name the tests that come by a mutant, the quickest first.

        By what is outside of functions comes whoever imports it: first the tests of the module,
        then those that come by anything in it.
        """
        lines = self._lines(mutant.module)
        if not mutant.function:
            own = f"/test_{held.TESTED_BY.get(mutant.module, Path(mutant.module).stem)}.py::"
            found = set().union(*lines.values(), (name for name in self._seconds if own in name))
            return sorted(found, key=lambda name: (own not in name, self._seconds_of(name)))
        at = mutant.line
        # Of a statement of several lines, the first counts.
        while at not in lines and at > 0:
            at -= 1
        return sorted(lines.get(at, set()), key=self._seconds_of)

    def within(self, names: Sequence[str], seconds: float) -> list[str]:
        """Take as many tests as take no longer together."""
        spent = accumulate(map(self._seconds_of, names))
        return [name for name, so_far in zip(names, spent, strict=True) if so_far < seconds]

    def _seconds_of(self, name: str) -> float:
        return self._seconds.get(name, 0.0)

    def _lines_of(self, module: str) -> dict[int, set[str]]:
        file = str(ROOT / "jupyter_nbedit" / module)
        return {
            line: {name for name in (one.split("|")[0] for one in contexts) if name}
            for line, contexts in self._data.contexts_by_lineno(file).items()
            if any(contexts)
        }
