"""A server killed at each system call: old or new bytes, and the next server works."""

from pathlib import Path

import pytest

from tests.faults.requirements import NIGHTLY, run_worker
from tests.faults.scenario import SELECTED_CASES
from tests.support.sampling import seeded_random

# Every call is another point; by day every twentieth of a case's.
STEP = 1 if NIGHTLY else 20
FIRST = 1 + seeded_random("kills").randrange(STEP)


@pytest.mark.parametrize("case", SELECTED_CASES)
def test_a_kill_at_any_call_leaves_old_or_new_bytes_and_the_next_edit_works(
    shim: Path, fast_folder: Path, case: str
) -> None:
    found = run_worker(
        shim,
        {"job": "kills", "case": case, "folder": str(fast_folder), "step": STEP, "first": FIRST},
    )
    assert found["problems"] == []
    # A rig without kills proves nothing.
    assert found["kinds"]["killed"] > 60 // STEP
    assert found["kinds"]["done"] == 1
