"""Power losses during edits: acknowledged edits are on disk, and no file is incomplete."""

import json
from pathlib import Path

from tests.faults.requirements import NIGHTLY, require_mounts, run_module
from tests.support.sampling import get_seed

CYCLES = 2000 if NIGHTLY else 60


def test_acknowledged_edits_survive_a_power_loss(tmp_path: Path) -> None:
    require_mounts("mkfs.ext4")
    job = {"folder": str(tmp_path), "count": CYCLES, "seed": get_seed()}
    found = run_module("power_loss", json.dumps(job), mounts=True)
    print(f"{job} found {found}")
    assert found["problems"] == []
    assert (found["cycles"], found["acknowledged"] > CYCLES) == (CYCLES, True)
