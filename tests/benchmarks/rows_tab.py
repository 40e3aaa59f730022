"""How long it takes from the answer of an edit to what a person sees."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.benchmarks.measuring import Figure
from tests.benchmarks.results import Check, Row
from tests.support.paths import ROOT

if TYPE_CHECKING:
    from pathlib import Path

# The browser test that measures it, and how it says so.
TITLE = "shows an edit within a second"
TOLD = re.compile(r"text on screen: ([-\d, ]+) ms")


def tab(environment: Path) -> list[Row]:
    """Measure a notebook of 20 cells, open in a JupyterLab.

    Parameters
    ----------
    environment
        A virtual environment with JupyterLab and our wheel.
    """
    command = (sys.executable, "ui-tests", "--env", environment, "--grep", TITLE)
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    found = TOLD.search(done.stdout)
    if found is None:
        raise RuntimeError(f"The browser test told no times:\n{done.stdout}")
    taken = Figure.of(float(time) for time in found[1].split(", "))
    # The page may be faster than the answer.
    check = Check(max(taken.median, 0.0), 150, " ms")
    name = "tab with 20 cells, from the answer of the `PATCH` to the text on screen"
    return [Row(name, [check], "polling rivals 1-3 s", {"ours": taken}, "ms")]
