"""Out-of-band writes during edits: each is in the file, or was reported.

A version of theirs is lost if it is neither in the file nor in what we have made of it, when
nobody else writes. See `tests.races.out_of_band_writer`.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.races.edit_loop import NAME
from tests.races.out_of_band_writer import build_version
from tests.races.rig import make_shared_folder, require_system
from tests.races.users import list_users, name_user
from tests.support.paths import ROOT
from tests.support.sampling import is_nightly, seeded_random

WRITES = 10_000 if is_nightly() else 20


@dataclass(frozen=True)
class RaceResult:
    """The result of a race: both writers, and their lost writes."""

    theirs: dict[str, Any]
    ours: dict[str, Any]

    @property
    def lost_count(self) -> int:
        return len(self.theirs["lost"]) + len(self.ours["lost"])

    def __str__(self) -> str:
        counts = ", ".join(f"{name}: {count}" for name, count in self.ours.items() if count != [])
        return f"theirs: {self.theirs['writes']}, lost {len(self.theirs['lost'])}; ours: {counts}"


def run_race(top: Path, kind: str, user: int) -> RaceResult:
    """Run both writers of one notebook, as one user."""
    root, locks = top / "root", top / "locks"
    path = root / NAME
    for place in (root, locks):
        place.mkdir()
    path.write_bytes(build_version(0))
    for place in (root, path, locks):
        os.chown(place, user, user)
    insider = [sys.executable, "-m", "tests.races.edit_loop", str(root), str(locks), str(user)]
    outsider = [sys.executable, "-m", "tests.races.out_of_band_writer", kind, str(path), str(user)]
    seed = seeded_random(f"{kind} {user}").getrandbits(32)
    with subprocess.Popen(
        insider, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as us:
        assert us.stdin is not None
        assert us.stdout is not None
        assert us.stdout.readline() == "begun\n"
        them = subprocess.run(
            [*outsider, str(WRITES), str(seed)], cwd=ROOT, stdout=subprocess.PIPE, check=True
        )
        us.stdin.close()
        ours = us.stdout.readline()
    return RaceResult(json.loads(them.stdout), json.loads(ours))


@pytest.mark.parametrize("user", list_users(), ids=name_user)
@pytest.mark.parametrize("kind", ["renamed", "in_place"])
def test_no_out_of_band_write_during_edits_is_lost(kind: str, user: int) -> None:
    require_system()
    with make_shared_folder() as top:
        race = run_race(top, kind, user)
    print(f"{kind}, as user {user}, {WRITES} writes: {race}")
    assert race.lost_count == 0, race
    # They have met: some edits were made, and some were not because of what the others wrote.
    assert race.theirs["writes"] == WRITES
    assert race.ours["edits"] > 0
    assert race.ours.get("conflicts", 0) > 0 or not is_nightly()
    assert race.ours["by lease"] > race.ours["edits"] / 2
