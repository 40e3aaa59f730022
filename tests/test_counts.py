from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests import children
from tests.counts import Count, agreed, from_junit, from_playwright


@pytest.mark.parametrize(
    ("exit_code", "counted", "failed"),
    [
        (0, Count(passed=2), 0),
        (1, Count(passed=2, failed=1), 1),
        (1, Count(passed=2), 1),
        (0, Count(skipped=5), 1),
        (5, Count(), 1),
    ],
)
def test_a_runner_that_failed_or_ran_nothing_has_a_failure(
    exit_code: int, counted: Count, failed: int
) -> None:
    found = agreed(exit_code, counted, "the runner")

    assert (found.passed, found.failed, found.skipped) == (counted.passed, failed, counted.skipped)
    assert len(found.failures) == failed - counted.failed
    assert all("the runner" in line for line in found.failures)


def test_tests_are_counted_as_pytest_reports_them(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        """
import pytest

@pytest.fixture
def broken():
    raise OSError("no such thing")

def test_well(): pass
def test_ill(): assert "one\\ntwo" == "three"
def test_broken(broken): pass
@pytest.mark.skip
def test_skipped(): pass
"""
    )
    report = tmp_path / "report.xml"
    command = (
        sys.executable,
        "-m",
        "pytest",
        "-q",
        f"--junitxml={report}",
        "-p",
        "no:cacheprovider",
    )
    children.run((*command, "test_it.py"), cwd=tmp_path, limit=60, captured=True)

    found = from_junit(report)

    assert (found.passed, found.failed, found.skipped) == (1, 2, 1)
    ill, broken = found.failures
    assert "test_ill" in ill
    assert "three" in ill
    assert "test_broken" in broken
    assert "no such thing" in broken
    assert from_junit(tmp_path / "none.xml") == Count()


def test_tests_are_counted_as_playwright_reports_them(tmp_path: Path) -> None:
    def spec(title: str, *messages: str) -> dict[str, object]:
        results = [{"errors": [{"message": message} for message in messages]}]
        head = {"title": title, "file": "a.spec.ts", "line": 7}
        return {**head, "ok": not messages, "tests": [{"results": results}]}

    report = tmp_path / "report.json"
    stats = {"expected": 4, "unexpected": 1, "flaky": 1, "skipped": 2}
    inner = {"specs": [spec("fails", "Error: one", "Error:\x1b[2m\n  two\x1b[22m"), spec("passes")]}
    outer = {"specs": [spec("fails, too", "x" * 1000)], "suites": [inner]}
    report.write_text(
        json.dumps({"stats": stats, "errors": [{"message": "no server"}], "suites": [outer]})
    )

    found = from_playwright(report)

    assert (found.passed, found.failed, found.skipped) == (4, 2, 2)
    assert found.failures[0] == "Playwright: no server"
    assert found.failures[1].startswith("a.spec.ts:7 fails, too: xxx")
    assert len(found.failures[1]) < 400
    assert found.failures[2] == "a.spec.ts:7 fails: Error: one / Error: two"
    assert from_playwright(tmp_path / "none.json") == Count()
