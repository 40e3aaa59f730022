"""The tests can fail: each seeded bug is found by the test that must find it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.seeded_bugs import BUGS, DAY, run_tests
from tests.support.sampling import is_nightly


@pytest.mark.parametrize("name", [name for name in BUGS if is_nightly() or name in DAY])
def test_a_seeded_bug_is_found(name: str, tmp_path: Path) -> None:
    process = run_tests([BUGS[name].test], tmp_path, name)
    # One is a failed test; anything else is a rig that did not even run.
    assert process.returncode == 1, process.stdout + process.stderr
    assert "1 failed" in process.stdout, process.stdout
    assert BUGS[name].words in process.stdout, process.stdout


@pytest.mark.skipif(not is_nightly(), reason="these tests are part of each run: nightly")
def test_the_same_tests_pass_without_a_bug(tmp_path: Path) -> None:
    process = run_tests(sorted({bug.test for bug in BUGS.values()}), tmp_path)
    assert process.returncode == 0, process.stdout + process.stderr
