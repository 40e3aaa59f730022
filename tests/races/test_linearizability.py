"""Many clients, two servers, one notebook, and kills: each edit is made once.

What must hold is said in `tests.races.checker`.
"""

import asyncio
from pathlib import Path

import pytest

from tests.races.checker import find_violations
from tests.races.load import RaceLoad, run_load
from tests.support.sampling import is_nightly, seeded_random

_FEW = (16, 12, 4, 8)
_KILLED = RaceLoad(64, 400, 16, 200, kills=20) if is_nightly() else RaceLoad(12, 10, 4, 5, kills=1)


def assert_is_linearizable(load: RaceLoad, folder: Path) -> None:
    outcome = asyncio.run(run_load(load, folder, seeded_random(str(load))))
    print(outcome)
    wrong = find_violations(outcome.history)
    assert wrong == [], "\n".join([f"{len(wrong)} violations:", *wrong[:20]])
    assert outcome.kills == load.kills
    assert outcome.acknowledged_count > 0.9 * load.edits


@pytest.mark.skipif(not is_nightly(), reason="all of it holds with kills, too: nightly")
@pytest.mark.parametrize("is_locked", [True, False], ids=["one lock", "no lock in common"])
def test_edits_over_two_servers_are_linearizable(tmp_path: Path, *, is_locked: bool) -> None:
    assert_is_linearizable(RaceLoad(*_FEW, is_locked=is_locked), tmp_path)


def test_edits_over_two_killed_servers_are_linearizable(tmp_path: Path) -> None:
    assert_is_linearizable(_KILLED, tmp_path)
