"""Whatever the bytes: all scanners find what Python's ``json`` finds, and edits keep their word."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from jupyter_nbedit.errors import InvalidNotebook
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.windows import look_through
from tests.fuzz import chance, seeds, ways
from tests.notebook.generated import BOM
from tests.notebook.parked import Parked
from tests.support import corpora
from tests.support.paths import CACHE, ROOT
from tests.support.sizes import is_nightly

NIGHTLY = is_nightly()
FOUND = CACHE / "fuzz"
PROCESSES = 2
TEXTS = 100_000_000 if NIGHTLY else 1_000_000
# A night ends after so many texts or so long, a day after so many texts.
SECONDS = 8 * 3600 if NIGHTLY else 0
#: Only ends a test that hangs.
HANGING_SECONDS = 4 * 3600
LONGEST = 1000  # bytes


def needs_atheris() -> None:
    """Skip where there is no wheel of Atheris; where the whole of CI runs, there is one."""
    if importlib.util.find_spec("atheris") is None:
        message = "Atheris is not here: it is in the extra `test`, for Linux on x86-64 only"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)


def fuzzed(folder: Path, seed: int) -> CompletedProcess[str]:
    """Run Atheris for a share of the texts."""
    folder.mkdir(parents=True, exist_ok=True)
    seeds.lay_out(folder)
    options = {
        "runs": TEXTS // PROCESSES,
        "max_total_time": SECONDS,
        "seed": seed,
        "max_len": LONGEST,
        # For what never comes back.
        "timeout": 600,
        "artifact_prefix": f"{FOUND}{os.sep}",
        "print_final_stats": 1,
        "verbosity": 0,
    }
    return subprocess.run(
        [
            *(sys.executable, "-m", "tests.fuzz.target", str(folder)),
            *(f"-{name}={value}" for name, value in options.items()),
        ],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=SECONDS + HANGING_SECONDS,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def test_a_million_texts_find_no_difference_and_no_crash(
    tmp_path: Path,
) -> None:
    needs_atheris()
    seed = chance.seed()
    FOUND.mkdir(parents=True, exist_ok=True)
    # What one night has found out, the next goes on from.
    corpus = FOUND / "corpus" if NIGHTLY else tmp_path
    shares = range(PROCESSES)
    with ThreadPoolExecutor(PROCESSES) as pool:
        done = list(pool.map(lambda n: fuzzed(corpus / str(n), (seed + n) % 2**31), shares))
    for process in done:
        assert process.returncode == 0, told(process.stdout)
    reached = sum(number_of(process.stdout, "number_of_executed_units") for process in done)
    slowest = max(number_of(process.stdout, "slowest_unit_time_sec") for process in done)
    print(f"{reached:,} of {TEXTS:,} texts; the slowest took {slowest} s or less")
    assert reached >= (1_000_000 if NIGHTLY else TEXTS)


def number_of(output: str, name: str) -> int:
    """Read one of libFuzzer's figures."""
    found = re.search(rf"^stat::{name}:\s*(\d+)", output, re.MULTILINE)
    assert found, output[-4000:]
    return int(found[1])


def told(output: str) -> str:
    """Tell what was found, and how to see it again."""
    kept = re.search(r"Test unit written to (\S+)", output)
    if kept is None:
        return output[-4000:]
    path = Path(kept[1])
    again = f"python -m tests.fuzz.target {path.relative_to(ROOT)}"
    return f"{output[-4000:]}\n{path.read_bytes()!r}\nThe same again: {again}"


def test_the_seeds_are_found_in_every_way(tmp_path: Path) -> None:
    seeds.lay_out(tmp_path)
    by_windows: Counter[bool] = Counter()
    for path in sorted(tmp_path.iterdir()):
        text = path.read_bytes()
        start = len(BOM) if text.startswith(BOM) else 0
        ways.compare_json(text)
        if ways.compare_ways(text) is not None:
            by_windows[look_through(Parked(text), start, 100) is not None] += 1
    # Else the way of the windows would be that of the whole text, and agree with it always.
    assert by_windows[True] > by_windows[False] > 0, by_windows


@pytest.mark.parametrize("window", [64, 1000, 30_000])
def test_real_notebooks_are_found_in_every_way(window: int) -> None:
    seen = by_windows = 0
    for path in corpora.notebooks():
        text = path.read_bytes()
        try:
            document = Document.parse(text)
        except InvalidNotebook:
            continue
        seen += 1
        found = look_through(Parked(text), 0, window)
        if found is not None:
            by_windows += 1
            assert found.members == document.members, path
            assert found.cell_spans == document.cell_spans, path
        if window == 64:
            ways.compare_json(text)
            ways.compare_ways(text)
    print(f"{by_windows} of {seen} notebooks by windows of {window} bytes")
    assert seen > 300
    assert by_windows > 0.9 * seen
