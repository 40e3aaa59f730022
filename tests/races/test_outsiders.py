"""Others who write a notebook while we edit it: what they wrote is there, or we have told of it.

A version of theirs is lost if it is neither in the file nor in what we have made of it, 20 seconds
after it was written whole and before they write the next. See `tests.races.outsider`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.races.chance import seed
from tests.races.insider import NAME
from tests.races.outsider import version
from tests.races.rig import need_system
from tests.races.users import all_kinds, called
from tests.support.paths import ROOT
from tests.support.sizes import is_nightly

WRITES = 100_000 if is_nightly() else 200


@dataclass(frozen=True)
class Race:
    """What came of a race: what they wrote, what we did, and what of both is lost."""

    theirs: dict[str, Any]
    ours: dict[str, Any]

    @property
    def lost(self) -> int:
        return len(self.theirs["lost"]) + len(self.ours["lost"])

    def __str__(self) -> str:
        counts = ", ".join(f"{name}: {count}" for name, count in self.ours.items() if count != [])
        return f"theirs: {self.theirs['writes']}, lost {len(self.theirs['lost'])}; ours: {counts}"


@pytest.fixture
def root() -> Iterator[Path]:
    """Make a folder that other users can get to, which those of pytest are not."""
    top = Path(tempfile.mkdtemp(prefix="nbedit-"))
    top.chmod(0o755)
    (top / "root").mkdir()
    yield top / "root"
    shutil.rmtree(top)


def raced(root: Path, kind: str, user: int, writes: int, chosen: int) -> Race:
    """Let somebody write a notebook, and us edit it, as one user."""
    path = root / NAME
    path.write_bytes(version(0))
    locks = root.parent / "locks"
    locks.mkdir()
    if user != os.geteuid():
        for place in (root, path, locks):
            os.chown(place, user, user)
    insider = [sys.executable, "-m", "tests.races.insider", str(root), str(locks), str(user)]
    outsider = [sys.executable, "-m", "tests.races.outsider", kind, str(path)]
    with subprocess.Popen(
        insider, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as us:
        assert us.stdin is not None
        assert us.stdout is not None
        assert us.stdout.readline() == "begun\n"
        them = subprocess.run(
            [*outsider, str(user), str(writes), str(chosen)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            check=True,
        )
        us.stdin.close()
        ours = us.stdout.readline()
    return Race(json.loads(them.stdout), json.loads(ours))


@pytest.mark.parametrize("user", all_kinds(), ids=called)
@pytest.mark.parametrize("kind", ["renamed", "in_place"])
def test_nothing_that_others_write_while_we_edit_is_lost(root: Path, kind: str, user: int) -> None:
    need_system()
    race = raced(root, kind, user, WRITES, seed())
    print(f"{kind}, as user {user}, {WRITES} writes: {race}")
    assert race.lost == 0, race
    # They have met: some edits were made, and some were not because of what the others wrote.
    assert race.theirs["writes"] == WRITES
    assert race.ours["edits"] > 0
    assert race.ours["conflicts"] > 0
    assert race.ours["by lease"] > race.ours["edits"] / 2
