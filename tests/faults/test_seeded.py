"""The rigs can fail: each seeded bug is noticed by the test that is there to notice it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.machinery import NIGHTLY
from tests.seeded import BUGS, Bug, build, run

BY_DAY = [bug for bug in BUGS if not bug.by_night]


@pytest.mark.parametrize(
    "bug", BUGS if NIGHTLY else BY_DAY, ids=lambda bug: bug.name.replace(" ", "-")
)
def test_a_seeded_bug_is_noticed(bug: Bug, tmp_path: Path) -> None:
    done = run(bug, tmp_path)
    # One is a failed test; anything else is a rig that did not even run.
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed" in done.stdout, done.stdout
    assert "1 error" not in done.stdout, done.stdout


def test_a_bug_whose_text_is_not_there_is_no_bug(tmp_path: Path) -> None:
    bug = Bug("nothing", "storage/commit.py", "no such text", "", "tests")
    with pytest.raises(ValueError, match="found 0 times"):
        build(bug, tmp_path)
