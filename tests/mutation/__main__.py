"""Change the core in small ways and check whether a test fails: `python -m tests.mutation`.

Some mutants of mutmut, chosen by NBEDIT_SEED, are tried. The survivors are shown; each of them is
a missing test or a change that makes no difference. Nothing is compared with an earlier run. The
modules are in pyproject.toml, below `[tool.mutmut]`.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

from nox.project import load_toml

from tests.support.corpora import CORPORA
from tests.support.paths import CACHE, ROOT
from tests.support.sampling import get_seed

FOLDER = CACHE / "mutation"
# A guard against hanging only: of a mutant that waits for ever.
OPTIONS = ["-xqs", "--timeout=300", "-pno:cacheprovider", "-pno:xdist", "-pno:schemathesis"]
TESTS = ("tests/notebook", "tests/storage", "tests/handlers")


def main() -> None:
    """Try mutants; print the survivors, and the share that was noticed."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    count = parser.parse_args().count
    chosen = random.Random(get_seed()).sample(make_mutants(), count)  # noqa: S311
    outcomes = try_mutants(chosen)
    survivors = [name for name in chosen if outcomes[name] == 0]
    for name in survivors:
        print(run("mutmut", "show", name))
    noticed = f"{count - len(survivors)} of {count} mutants noticed"
    print(f"{noticed}: {1 - len(survivors) / count:.1%}. Again: NBEDIT_SEED={get_seed()}")


def make_mutants() -> list[str]:
    """Return the names of all mutants of a copy of the checkout."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    for part in ("jupyter_nbedit", "tests"):
        shutil.copytree(ROOT / part, FOLDER / part, ignore=shutil.ignore_patterns("node_modules"))
    shutil.copy(ROOT / "pyproject.toml", FOLDER)
    (FOLDER / CORPORA.parent.name).symlink_to(CORPORA.parent)
    # It makes the mutants of all modules, and tries none: it knows no test for them.
    mutated = load_toml(ROOT / "pyproject.toml")["tool"]["mutmut"]["only_mutate"]
    run("mutmut", "run", mutated[-1].removesuffix(".py").replace("/", ".") + ".*")
    # Tests execute the examples of the documentation.
    (FOLDER / "mutants" / "docs").symlink_to(ROOT / "docs")
    lines = run("mutmut", "results", "--all=True").splitlines()
    return sorted(line.partition(":")[0].strip() for line in lines if "__mutmut_" in line)


def try_mutants(names: list[str]) -> dict[str, int]:
    """Return how the tests have ended for each mutant; with 0 if none has noticed it."""
    (FOLDER / "chosen.json").write_text(json.dumps(names))
    output = run("pytest", *OPTIONS, "-ptests.mutation.plugin", *TESTS, folder=FOLDER / "mutants")
    outcomes: dict[str, int] = json.loads((FOLDER / "outcomes.json").read_text())
    if outcomes[""]:
        raise SystemExit(f"The tests fail without a mutant:\n{output[-4000:]}")
    return outcomes


def run(module: str, *arguments: str, folder: Path = FOLDER) -> str:
    """Return the output of a module; raise SystemExit if mutmut fails."""
    process = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if process.returncode and module == "mutmut":
        raise SystemExit(f"mutmut {arguments[0]} failed:\n{process.stdout[-4000:]}")
    return process.stdout


if __name__ == "__main__":
    main()
