"""Failing system calls: the reply is true, nothing is left, and the next edit works."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.faults.requirements import NIGHTLY, run_worker
from tests.faults.scenario import SELECTED_CASES
from tests.support.sampling import get_seed

MODES = ("FAIL_ONCE", "FAIL_ON")
# Points for each case and mode by day, chosen by the seed; by night all there are. Those inside the
# folder of the notebook are few.
LIMIT, LIMIT_LARGE, LIMIT_INSIDE = (10**9, 10**9, 10**9) if NIGHTLY else (40, 10, 20)
#: One point to see again, as ``["FAIL_ON", "EIO", 17]``.
ONLY = json.loads(os.environ.get("NBEDIT_POINT", "null"))


def run_failures(shim: Path, folder: Path, case: str, **more: Any) -> dict[str, Any]:
    job = {"job": "errors", "case": case, "folder": str(folder), "seed": get_seed(), "only": ONLY}
    return run_worker(shim, {**job, "limit": LIMIT, **more})


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", SELECTED_CASES)
def test_after_any_failing_call_the_reply_is_true_and_the_next_edit_works(
    shim: Path, fast_folder: Path, case: str, mode: str
) -> None:
    limit = LIMIT_LARGE if case == "large" else LIMIT
    found = run_failures(shim, fast_folder, case, modes=[mode], limit=limit)
    assert found["problems"] == []
    if ONLY is None:
        assert found["points"] >= min(limit, 200)
        # Errors without an effect prove nothing. Few points may miss some kinds.
        assert len({"io_error", "no_space", "forbidden"} & set(found["kinds"])) >= (
            3 if NIGHTLY else 1
        )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", SELECTED_CASES if NIGHTLY else ["replace"])
def test_a_database_that_fails_to_open_is_opened_again(
    shim: Path, fast_folder: Path, case: str, mode: str
) -> None:
    # Where locks fail from some call on, SQLite tries ten seconds long.
    limit = LIMIT if mode == "FAIL_ONCE" or NIGHTLY else 5
    found = run_failures(shim, fast_folder, case, modes=[mode], fresh=True, limit=limit)
    assert found["problems"] == []
    # An undo needs the history, and an edit does not.
    assert found["kinds"]["history_unavailable" if case == "undo" else "warned"]


def test_a_database_that_is_read_only_at_first_is_written_afterwards(
    shim: Path, fast_folder: Path
) -> None:
    # SQLite opens it for reading then, and never for writing again.
    options: dict[str, Any] = {"errors": ["EACCES"], "calls": "open", "limit": 100}
    found = run_failures(shim, fast_folder, "replace", modes=["FAIL_ONCE"], fresh=True, **options)
    assert found["problems"] == []


@pytest.mark.parametrize("case", SELECTED_CASES)
def test_bytes_after_a_failed_fsync_are_not_reported_as_durable(
    shim: Path, fast_folder: Path, case: str
) -> None:
    found = run_failures(
        shim,
        fast_folder,
        case,
        modes=["FAIL_ONCE"],
        inside=True,
        limit=LIMIT_INSIDE,
        errors=["EIO"],
    )
    assert found["problems"] == []
    assert found["kinds"]["io_error"]


@pytest.mark.parametrize("case", SELECTED_CASES)
def test_short_reads_and_writes_are_completed(shim: Path, fast_folder: Path, case: str) -> None:
    # Seventeen bytes at a time from some call on make a large file slow.
    mode = "SHORT_ONCE" if case == "large" else "SHORT_ON"
    found = run_failures(shim, fast_folder, case, modes=[mode], limit=LIMIT_INSIDE)
    assert found["problems"] == []
    assert set(found["kinds"]) == {"done"}
