"""How many checks and tests there were, by the reports of their runners, and which have failed."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_LONGEST = 300  # characters
# Playwright writes its messages for a terminal.
_COLOR = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Count:
    """How many checks or tests there were.

    Parameters
    ----------
    passed, failed, skipped
        How many did so.
    failures
        Which have failed and why, a line each.
    """

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    failures: tuple[str, ...] = ()

    def __add__(self, other: Count) -> Count:
        return Count(
            self.passed + other.passed,
            self.failed + other.failed,
            self.skipped + other.skipped,
            self.failures + other.failures,
        )

    def __str__(self) -> str:
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        return f"{self.passed} passed, {self.failed} failed{skipped}"


def failure(name: str, reason: str) -> Count:
    """Count one failure."""
    line = " ".join(_COLOR.sub("", f"{name}: {reason}").split())
    return Count(failed=1, failures=(line[:_LONGEST],))


def from_junit(report: Path) -> Count:
    """Count the tests in a JUnit report; none if there is no report."""
    total = Count()
    if report.exists():
        for suite in ET.parse(report).getroot().findall("testsuite"):  # noqa: S314 - our own
            tests, skipped = int(suite.get("tests", 0)), int(suite.get("skipped", 0))
            failed = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
            found = [one for case in suite.findall("testcase") for one in _junit_failures(case)]
            total += Count(tests - skipped - failed, failed, skipped, tuple(found))
    return total


def _junit_failures(case: ET.Element) -> Iterator[str]:
    name = f"{case.get('classname', '')}::{case.get('name', '')}"
    for kind in ("failure", "error"):
        for found in case.findall(kind):
            yield from failure(name, found.get("message") or found.text or kind).failures


def from_playwright(report: Path) -> Count:
    """Count the tests in a report of Playwright's; none if there is no report."""
    if not report.exists():
        return Count()
    found = json.loads(report.read_text())
    stats = found["stats"]
    failures = [*_playwright_errors(found), *_playwright_failures(found.get("suites", []))]
    failed = stats["unexpected"] + stats["flaky"]
    return Count(stats["expected"], failed, stats["skipped"], tuple(failures))


def _playwright_errors(report: dict[str, Any]) -> Iterator[str]:
    """Tell what has gone wrong outside of the tests."""
    for error in report.get("errors", []):
        yield from failure("Playwright", error.get("message", "")).failures


def _playwright_failures(suites: list[dict[str, Any]]) -> Iterator[str]:
    for suite in suites:
        for spec in suite.get("specs", []):
            if not spec["ok"]:
                results = [result for test in spec["tests"] for result in test["results"]]
                reasons = [error["message"] for result in results for error in result["errors"]]
                reason = " / ".join(reasons) or "no reason given"
                name = f"{spec['file']}:{spec['line']} {spec['title']}"
                yield from failure(name, reason).failures
        yield from _playwright_failures(suite.get("suites", []))


def agreed(exit_code: int, count: Count, name: str) -> Count:
    """Count one failure more where a runner has failed without a failed or with no test."""
    if count.passed + count.failed == 0:
        return count + failure(name, "no test was run")
    if exit_code and not count.failed:
        return count + failure(name, f"exit code {exit_code}, though no test has failed")
    return count
