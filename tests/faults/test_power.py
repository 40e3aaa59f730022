"""The power goes in the middle of edits: what was acknowledged is there, and nothing is torn."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.faults.machinery import LIMIT_SECONDS, NIGHTLY, need, need_root
from tests.faults.test_errors import SEED
from tests.support.paths import ROOT

CYCLES = 2000 if NIGHTLY else 150


def test_what_was_acknowledged_survives_a_loss_of_power(tmp_path: Path) -> None:
    need_root()
    for tool in ("unshare", "mkfs.ext4", "mount"):
        need(shutil.which(tool), f"{tool} is not installed")
    job = {"folder": str(tmp_path), "count": CYCLES, "seed": SEED}
    command = ["unshare", "--mount", sys.executable, "-m", "tests.faults.power", json.dumps(job)]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    need("failed to setup loop device" not in done.stderr, "no loop device is to be had")
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, Any] = json.loads(done.stdout)
    print(f"{job} found {found}")
    assert found["wrongs"] == []
    assert (found["cycles"], found["acknowledged"] > CYCLES) == (CYCLES, True)
