"""Jupyter Server's own tests, run without this extension and with it: what the second run loses."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.counts import Count, failure

#: Tests that cannot pass with any extension more, and why; that they fail shows that it was there.
EXPECTED: Mapping[str, str] = {
    "tests.extension.test_app::test_stop_extension": "compares the set of loaded extensions",
}


def passed_in(report: Path) -> set[str]:
    """Return the names of the tests that have passed, by a JUnit report."""
    return {name for name, case in _cases(report) if not list(case) or _has_only_output(case)}


def reasons_in(report: Path) -> dict[str, str]:
    """Return why tests have failed, by a JUnit report."""
    return {
        name: found.get("message") or found.text or found.tag
        for name, case in _cases(report)
        for found in case
        if found.tag in {"failure", "error"}
    }


def compare(without: Path, *runs: Path) -> Count:
    """Count the tests that pass with the extension, and as failed those that it has lost.

    Parameters
    ----------
    without
        The JUnit report of the run without the extension.
    runs
        Those with it. A test is lost if none of them has passed it: another one may have been held
        up by what else the machine did.
    """
    before = passed_in(without)
    after = set[str]().union(*map(passed_in, runs))
    reasons = {name: why for run in runs for name, why in reasons_in(run).items()}
    lost = sorted(before - after - set(EXPECTED))
    count = Count(passed=len(before & after))
    for name in lost:
        count += failure(name, f"lost with the extension: {reasons.get(name, 'it was not run')}")
    for name in sorted(after & set(EXPECTED)):
        count += failure(name, f"passes, though it {EXPECTED[name]}: the extension is not loaded")
    return count


def _cases(report: Path) -> Iterator[tuple[str, ET.Element]]:
    for case in ET.parse(report).getroot().iter("testcase"):  # noqa: S314 - our own
        yield f"{case.get('classname', '')}::{case.get('name', '')}", case


def _has_only_output(case: ET.Element) -> bool:
    return all(found.tag in {"system-out", "system-err", "properties"} for found in case)
