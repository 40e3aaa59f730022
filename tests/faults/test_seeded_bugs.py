"""The tests can fail: each seeded bug is found by the test that must find it."""

from pathlib import Path

import pytest

from tests.seeded_bugs import BUGS, DAY, run_tests
from tests.support.sampling import is_nightly


@pytest.mark.parametrize("name", [name for name in BUGS if is_nightly() or name in DAY])
def test_a_seeded_bug_is_found(name: str, tmp_path: Path) -> None:
    bug = BUGS[name]
    process = run_tests([bug.test], tmp_path, name, tries_all=bug.needs_all_cases)
    # One is a failed test; anything else is a rig that did not even run.
    assert process.returncode == 1, process.stdout + process.stderr
    assert "1 failed" in process.stdout, process.stdout
    assert bug.words in process.stdout, process.stdout


@pytest.mark.skipif(not is_nightly(), reason="these tests are part of each run: nightly")
@pytest.mark.parametrize("tries_all", [False, True], ids=["cases of the day", "all cases"])
def test_the_same_tests_pass_without_a_bug(tmp_path: Path, *, tries_all: bool) -> None:
    tests = sorted({bug.test for bug in BUGS.values() if bug.needs_all_cases == tries_all})
    process = run_tests(tests, tmp_path, tries_all=tries_all)
    assert process.returncode == 0, process.stdout + process.stderr
