"""A server killed at every call it makes: the old or the new bytes, and the next one goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.machinery import NIGHTLY, work
from tests.faults.place import CASES

# Every call is another point; by day every third of a case's, beginning somewhere else each time.
STEP = 1 if NIGHTLY else 3


@pytest.mark.parametrize("case", CASES)
def test_a_server_killed_at_any_call_leaves_the_old_or_the_new_bytes_and_the_next_one_goes_on(
    shim: Path, quick: Path, case: str
) -> None:
    found = work(shim, {"job": "kills", "case": case, "folder": str(quick), "step": STEP})
    assert found["wrongs"] == []
    # A rig that kills nobody is none.
    assert found["kinds"]["killed"] > 100 // STEP
    assert found["kinds"]["done"] == 1
