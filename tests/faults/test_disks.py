"""Disks that are full, read-only, owned by another user or slow, and a full database disk."""

import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.faults.requirements import NIGHTLY, require_mounts, run_module, run_worker

REASONS = {
    "full": "no_space",
    "without inodes": "no_space",
    "read-only": "forbidden",
    "of small files": "no_space",
    "with few open files": "io_error",
    "of somebody else": "forbidden",
    "unchangeable": "forbidden",
}


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Any]:
    """Try all disks once; others than root get into the folder, too."""
    require_mounts("chattr")
    folder = tempfile.mkdtemp(prefix="nbedit-")
    try:
        return run_module("faulty_disks", folder, mounts=True)
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize("disk", REASONS)
def test_an_edit_on_a_faulty_disk_is_refused_and_leaves_the_notebook_unchanged(
    outcomes: dict[str, Any], disk: str
) -> None:
    expected = {"outcome": REASONS[disk], "is_unchanged": True}
    expected |= {"stray_files": [], "next_edit": "edited"}
    assert outcomes[disk] == expected


def test_an_edit_with_a_full_history_disk_is_made_with_a_warning(outcomes: dict[str, Any]) -> None:
    found = outcomes["full history disk"]
    # One of its warnings contains the reason.
    assert found["outcome"].startswith("edited; ")
    assert (found["stray_files"], found["next_edit"]) == ([], "edited")


@pytest.mark.parametrize("case", ["replace", "create", "undo", "large"] if NIGHTLY else ["replace"])
def test_a_slow_disk_does_not_block_the_loop(shim: Path, fast_folder: Path, case: str) -> None:
    job = {
        "job": "slow",
        "case": case,
        "folder": str(fast_folder),
        "milliseconds": 20 if NIGHTLY else 1,
    }
    slow = run_worker(shim, job)
    assert slow["problems"] == []
    assert slow["calls"] > 30
    # What is done on the loop's thread looks up where a path leads, and touches no file.
    assert slow["kinds"].pop("done") == 1
    assert set(slow["kinds"]) <= {"lstat", "lstat64", "stat", "stat64"}
