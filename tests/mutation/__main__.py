"""Change the core in small ways and see whether a test notices: `python -m tests.mutation`.

Some mutants of mutmut, chosen by a seed, are tried. The survivors are reported with their diffs;
each of them shows a missing test or a change that makes no difference. Nothing is compared with
an earlier run. The modules and the tests are in pyproject.toml, below `[tool.mutmut]`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from tests.support.paths import ROOT
from tests.support.sizes import run_seed

MUTANTS = ROOT / "mutants"
# What mutmut writes down for a mutant: the exit code of pytest.
_SURVIVED = 0
_UNTRIED = (None, 33)
# Few mutants, made first: mutmut makes those of all modules and runs all tests with them.
_FIRST = "jupyter_nbedit.notebook.splices.*"


def main() -> None:
    """Try mutants; print the share that was noticed, and the others."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    seed = run_seed() if arguments.seed is None else arguments.seed
    shutil.rmtree(MUTANTS, ignore_errors=True)
    run_mutmut("run", f"--max-children={arguments.processes}", _FIRST)
    names = sorted(read_results())
    chosen = random.Random(seed).sample(names, min(arguments.count, len(names)))  # noqa: S311
    run_mutmut("run", f"--max-children={arguments.processes}", *chosen)
    results = read_results()
    tried = [name for name in chosen if results[name] not in _UNTRIED]
    survivors = [name for name in tried if results[name] == _SURVIVED]
    for name in survivors:
        run_mutmut("show", name)
    untried = sorted(set(chosen) - set(tried))
    print(f"Seed {seed}: {len(chosen)} of {len(names)} mutants; without a test: {untried}")
    noticed = len(tried) - len(survivors)
    print(f"{noticed} of {len(chosen)} mutants noticed: {noticed / len(chosen):.1%}")


def run_mutmut(*arguments: str) -> None:
    """Run mutmut on the checkout, quietly but for what it shows."""
    output = None if arguments[0] == "show" else subprocess.PIPE
    done = subprocess.run(
        [sys.executable, "-m", "mutmut", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": ""},
        stdout=output,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"mutmut {arguments[0]} failed:\n{(done.stdout or '')[-4000:]}")


def read_results() -> dict[str, int | None]:
    """Return the exit code of pytest for each mutant; None for one that was not tried."""
    found: dict[str, int | None] = {}
    for file in _metas():
        found.update(json.loads(file.read_text())["exit_code_by_key"])
    return found


def _metas() -> Iterable[Path]:
    return MUTANTS.rglob("*.py.meta")


if __name__ == "__main__":
    main()
