"""Requirements of the rigs: in CI they must be met, elsewhere the rigs are skipped."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.faults import shim
from tests.support.paths import ROOT, extend_python_path
from tests.support.sampling import is_nightly

NIGHTLY = is_nightly()
# A worker that hangs has found something, too.
LIMIT_SECONDS = 3 * 3600.0 if NIGHTLY else 300.0


def require(is_there: object, what: str) -> None:
    """Skip the test unless a requirement is met; in CI fail it."""
    if is_there:
        return
    if os.environ.get("CI"):
        pytest.fail(f"{what}, and in CI this rig must run", pytrace=False)
    pytest.skip(what)


def require_mounts(*tools: str) -> None:
    """Skip the test where file systems cannot be mounted with some tools."""
    require(os.geteuid() == 0, "only root may do what this rig does")
    for tool in ("unshare", "mount", *tools):
        require(shutil.which(tool), f"{tool} is not installed")


def build_shim(folder: Path) -> Path:
    """Build the shim."""
    require(sys.platform == "linux", "the shim stands before the libc of Linux")
    require(shim.find_compiler(), "there is no C compiler for the shim")
    return shim.build(folder)


def run_module(
    module: str, argument: str, *, preload: Path | None = None, mounts: bool = False
) -> dict[str, Any]:
    """Run a module in another process with private mounts; return its JSON."""
    command = [sys.executable, "-m", f"tests.faults.{module}", argument]
    loaded = {} if preload is None else {"LD_PRELOAD": str(preload)}
    process = subprocess.run(
        ["unshare", "--mount", *command] if mounts else command,
        cwd=ROOT,
        env={**extend_python_path(os.environ, ROOT), **loaded},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    require("failed to setup loop device" not in process.stderr, "no loop device is to be had")
    assert process.returncode == 0, f"{module} failed at {argument}:\n{process.stderr[-4000:]}"
    found: dict[str, Any] = json.loads(process.stdout)
    return found


def run_worker(library: Path, job: dict[str, Any]) -> dict[str, Any]:
    """Run a job in a worker, see `tests.faults.worker`; return and print its findings."""
    findings = run_module("worker", json.dumps(job), preload=library)
    summary = {name: value for name, value in findings.items() if name != "problems"}
    print(f"{job} found {summary}")
    return findings
