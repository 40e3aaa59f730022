"""The power goes in the middle of edits: what was acknowledged is there, and nothing is torn."""

from __future__ import annotations

import json
from pathlib import Path

from tests.faults.requirements import NIGHTLY, need_mounts, run
from tests.support.sampling import run_seed

CYCLES = 2000 if NIGHTLY else 60


def test_acknowledged_edits_survive_a_power_loss(tmp_path: Path) -> None:
    need_mounts("mkfs.ext4")
    job = {"folder": str(tmp_path), "count": CYCLES, "seed": run_seed()}
    found = run("power_loss", json.dumps(job), mounts=True)
    print(f"{job} found {found}")
    assert found["wrongs"] == []
    assert (found["cycles"], found["acknowledged"] > CYCLES) == (CYCLES, True)
