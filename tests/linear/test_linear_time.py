"""No text makes the server take more than linear time: steps are counted, and no clock is read."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.paths import ROOT
from tests.support.sizes import is_nightly

# A guard against hanging.
LIMIT_SECONDS = 900.0
TEXTS = [f"texts_are and {size}" for size in ("small", "usual", "large")]
GROUPS = [*TEXTS, "texts_that", "edits", "comparisons", "routes"]


@pytest.mark.parametrize("group", GROUPS if is_nightly() else ["not usual and not large"])
def test_nothing_that_a_request_or_a_notebook_can_hold_takes_more_than_linear_time(
    group: str,
) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-x", "--tb=short", "-p", "no:cacheprovider"),
            *("-p", "tests.linear.counting", "tests/linear/cases.py", "-k", group),
        ],
        cwd=ROOT,
        timeout=LIMIT_SECONDS,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout
