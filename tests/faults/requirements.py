"""What the rigs need of the machine: in CI it must be there, elsewhere they are skipped."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.faults import shim
from tests.support.paths import ROOT
from tests.support.sampling import is_nightly

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


def need_mounts(*tools: str) -> None:
    """Go on only where file systems can be mounted with some tools."""
    need(os.geteuid() == 0, "only root may do what this rig does")
    for tool in ("unshare", "mount", *tools):
        need(shutil.which(tool), f"{tool} is not installed")


def built(folder: Path) -> Path:
    """Build the shim."""
    need(sys.platform == "linux", "the shim stands before the libc of Linux")
    need(shim.compiler(), "there is no C compiler for the shim")
    return shim.build(folder)


def run(
    module: str, argument: str, *, preload: Path | None = None, mounts: bool = False
) -> dict[str, Any]:
    """Run a module in a process of its own, where its mounts are nobody else's; return its JSON."""
    command = [sys.executable, "-m", f"tests.faults.{module}", argument]
    loaded = {} if preload is None else {"LD_PRELOAD": str(preload)}
    done = subprocess.run(
        ["unshare", "--mount", *command] if mounts else command,
        cwd=ROOT,
        env={**os.environ, **loaded, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    need("failed to setup loop device" not in done.stderr, "no loop device is to be had")
    assert done.returncode == 0, f"{module} failed at {argument}:\n{done.stderr[-4000:]}"
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def work(library: Path, job: dict[str, Any]) -> dict[str, Any]:
    """Do a job in a worker, see `tests.faults.worker`; return what it found, and show it."""
    findings = run("worker", json.dumps(job), preload=library)
    shown = {name: value for name, value in findings.items() if name != "wrongs"}
    print(f"{job} found {shown}")
    return findings
