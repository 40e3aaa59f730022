"""What the rigs need of the machine: in CI it must be there, elsewhere they are skipped."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.faults import shim
from tests.support.paths import ROOT
from tests.support.sizes import is_nightly

NIGHTLY = is_nightly()
# A worker that hangs has found something, too.
LIMIT_SECONDS = 3 * 3600.0 if NIGHTLY else 300.0


def need(is_there: object, what: str) -> None:
    """Go on only if it is there."""
    if is_there:
        return
    if os.environ.get("CI"):
        pytest.fail(f"{what}, and in CI this rig must run", pytrace=False)
    pytest.skip(what)


def need_root() -> None:
    need(os.geteuid() == 0, "only root may do what this rig does")


def built(folder: Path) -> Path:
    """Build the shim."""
    need(sys.platform == "linux", "the shim stands before the libc of Linux")
    need(shim.compiler(), "there is no C compiler for the shim")
    return shim.build(folder)


def work(library: Path, job: dict[str, Any]) -> dict[str, Any]:
    """Do a job in a worker, see `tests.faults.worker`; give what it found, and show it."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.worker", json.dumps(job)],
        cwd=ROOT,
        env={**os.environ, "LD_PRELOAD": str(library), "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"the worker failed at {job}:\n{done.stderr[-4000:]}"
    findings: dict[str, Any] = json.loads(done.stdout)
    shown = {name: value for name, value in findings.items() if name != "wrongs"}
    print(f"{job} found {shown}")
    return findings
