"""Many clients, two servers, one notebook, and kills: each edit is made once, one after the other.

What must hold is said in `tests.races.checker`.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from tests.races.chance import seed
from tests.races.checker import violations
from tests.races.load import Load, Outcome, ran
from tests.support.sizes import is_nightly

IS_NIGHTLY = is_nightly()


def outcome(load: Load, folder: Path) -> Outcome:
    """Let clients work, tell the figures, and see to it that what they saw can be."""
    found = asyncio.run(ran(load, folder))
    print(found.told())
    began = time.monotonic()
    wrong = violations(found.history)
    print(f"checked in {time.monotonic() - began:.1f} s")
    assert wrong == [], "\n".join([f"{len(wrong)} violations:", *wrong[:20]])
    return found


def test_64_writers_and_16_on_one_cell_over_two_servers_that_are_killed_lose_and_double_nothing(
    tmp_path: Path,
) -> None:
    times, together, kills = (1000, 500, 40) if IS_NIGHTLY else (60, 30, 4)
    load = Load(64, times, 16, together, kills=kills, seed=seed())
    found = outcome(load, tmp_path)
    assert found.kills == load.kills
    acknowledged = sum(edit.is_acknowledged for edit in found.history.edits)
    assert acknowledged > 0.9 * (64 * load.times + 16 * load.times_together)


def test_edits_over_two_servers_are_linearizable(tmp_path: Path) -> None:
    outcome(Load(16, 12, 4, 8, kills=0, seed=seed()), tmp_path)


def test_two_servers_without_a_lock_in_common_lose_and_double_nothing_either(
    tmp_path: Path,
) -> None:
    outcome(Load(16, 12, 4, 8, kills=0, seed=seed(), is_locked=False), tmp_path)
