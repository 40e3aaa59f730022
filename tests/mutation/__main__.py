"""Change the code in small ways, and see whether a test notices: ``python tests/mutation``.

First the tests of what `held` names are run, which must cover its modules to the last branch. Then
come the mutants: at night or with ``--all`` all of them, else some, and others each day. One that
nobody notices must be in ``survivors.md``, with the reason.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import re
import sys
from collections.abc import Callable, Sequence
from datetime import date, datetime, timezone
from pathlib import Path

# `python tests/mutation` puts tests/mutation/ first.
sys.path[0] = str(Path(__file__).resolve().parents[2])

from tests.mutation import held, running  # noqa: E402 - needs the line above
from tests.mutation.learned import Learned, learn  # noqa: E402
from tests.mutation.mutants import Mutant, mutants  # noqa: E402
from tests.support.paths import ROOT  # noqa: E402
from tests.support.sizes import is_nightly  # noqa: E402

SURVIVORS = Path(__file__).parent / "survivors.md"
WANTED = 0.95
SOME = 12


def main() -> int:
    """Do it; return the exit code."""
    parser = argparse.ArgumentParser(prog="python tests/mutation", description=__doc__)
    parser.add_argument("--all", action="store_true", help="try all mutants: half an hour")
    parser.add_argument("--module", action="append", help="try those of this one")
    parser.add_argument("--share", default="1/1", help="n/m: every m-th mutant, from the n-th on")
    parser.add_argument("--known", action="store_true", help="take the coverage of the last run")
    arguments = parser.parse_args()
    os.chdir(ROOT)
    if not arguments.known and (failed := apart(learn)):
        return failed
    chosen = [one for name in arguments.module or held.MODULES for one in of_module(name)]
    share, shares = map(int, arguments.share.split("/"))
    chosen = chosen[share - 1 :: shares]
    if not (arguments.all or arguments.module or is_nightly()):
        chosen = some(chosen, datetime.now(tz=timezone.utc).date())
    return report(chosen, is_known=not arguments.known)


def some(mutants: Sequence[Mutant], day: date) -> list[Mutant]:
    """Take a few mutants, from everywhere, and others each day."""
    within = [one for one in mutants if one.function]
    step = max(1, len(within) // SOME)
    return within[day.toordinal() % step :: step]


def of_module(name: str) -> list[Mutant]:
    """Make the mutants of a module."""
    file = ROOT / "jupyter_nbedit" / name
    return list(mutants(name, file.read_text(), str(file)))


def apart(work: Callable[[], int]) -> int:
    """Do something in a child, so that what it imports is not imported here."""
    process = multiprocessing.get_context("fork").Process(target=lambda: sys.exit(work()))
    process.start()
    process.join()
    return process.exitcode or 0


def report(chosen: Sequence[Mutant], *, is_known: bool) -> int:
    """Try mutants, and say which nobody has noticed."""
    learned = Learned()
    within = [one for one in chosen if one.function]
    outside = [one for one in chosen if not one.function]
    survivors = running.unnoticed_outside(outside, learned)
    survivors += running.unnoticed_within(within, learned, is_known=is_known) if within else []
    explained = set(re.findall(r"^- `(.+)`$", SURVIVORS.read_text(), re.MULTILINE))
    for one in survivors:
        known = "explained" if one.name in explained else "NOT EXPLAINED"
        print(f"{known}: {one.name} (line {one.line})")
    killed = 1 - len(survivors) / len(chosen)
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} mutants noticed: {killed:.1%}")
    if any(one.name not in explained for one in survivors):
        return 1
    # Of a few, those that are explained may be more than a few in a hundred.
    return 1 if killed < WANTED and len(chosen) > 2 * SOME else 0


if __name__ == "__main__":
    sys.exit(main())
