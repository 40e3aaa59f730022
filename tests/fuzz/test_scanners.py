"""For any bytes all scanners agree with Python's ``json``, and edits match the model."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from jupyter_nbedit.notebook.lazy.scan import scan_cells
from tests.fuzz import scanners
from tests.notebook.lazy.fake_buffer import FakeBuffer
from tests.notebook.strategies import BOM
from tests.support.paths import CACHE, ROOT, extend_python_path
from tests.support.sampling import get_seed, is_nightly

FOUND = CACHE / "fuzz"
NIGHT_SECONDS = 60 * float(os.environ.get("NBEDIT_FUZZ_MINUTES", "3"))
#: Only ends a test that hangs.
LIMIT_SECONDS = 2 * NIGHT_SECONDS + 300
#: How many texts Atheris tries in each process; at night it ends by time.
TEXTS, PROCESSES = (-1, 2) if is_nightly() else (15_000, 1)
LONGEST = 1000  # bytes

SMALL = (
    b'{"cells":[{"cell_type":"code","execution_count":1,"id":"a","metadata":{},"outputs":'
    b'[{"x":[{}]}],"source":["x\\n","y"]},{"attachments":{"p":{}},"cell_type":"markdown","id":"b",'
    b'"metadata":{"k":1},"source":"# T"}],"metadata":{"a":[]},"nbformat":4,"nbformat_minor":5}'
)
_CELL = b'{"cell_type":"raw","source":""}'
OTHERS = (
    # Of several windows.
    b'{"nbformat":4,"cells":[' + b",".join([_CELL] * 8) + b"]}",
    b'{"nbformat":4,"cells":[' + _CELL + b"," + b", ".join([_CELL] * 2) + b"," + _CELL + b"]}",
    b'{"nbformat":4,"cells":[' + b",".join([b", ".join([_CELL] * 2)] * 5) + b"]}",
    b"{}",
    b'{"a":[],"b":[NaN,{"c":"}"}],"\\u0061":{}}',
    b'{"a":1,"b":2,"a":"xxxxxxxx"}',
    b'{"cells":[],"metadata":{},"nbformat":4,"nbformat_minor":5}',
)
#: What fuzzing starts from.
SEEDS = [
    SMALL,
    json.dumps(json.loads(SMALL), indent=1).encode(),
    BOM + SMALL.replace(b",", b" ,\r\n"),
    SMALL.replace(b'"cells"', b'"\\u0063ells"').replace(b'"source"', b'"sourc\\u0065"'),
    SMALL.replace(b'"k":1', b'"k":NaN,"k":"\\ud800"'),
    SMALL.replace(b'"metadata":{"k":1},', b""),
    *OTHERS,
]


def run_atheris(folder: Path, seed: int) -> str:
    """Fuzz in another process; return its output."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, text in enumerate(SEEDS):
        (folder / f"seed-{number:02}").write_bytes(text)
    options = {
        "runs": TEXTS,
        "max_total_time": int(NIGHT_SECONDS) if is_nightly() else 0,
        "seed": seed % 2**31,
        "max_len": LONGEST,
        # Of one text, in seconds: only for what never comes back.
        "timeout": 120,
        "artifact_prefix": f"{FOUND}{os.sep}",
        "print_final_stats": 1,
        "verbosity": 0,
    }
    command = [sys.executable, "-m", "tests.fuzz.target", str(folder)]
    process = subprocess.run(
        [*command, *(f"-{name}={value}" for name, value in options.items())],
        cwd=ROOT,
        env=extend_python_path(os.environ, ROOT),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    assert process.returncode == 0, describe_crash(process.stdout)
    return process.stdout


def describe_crash(output: str) -> str:
    """Return the end of the output, the text, and how to try it again."""
    match = re.search(r"Test unit written to (\S+)", output)
    if match is None:
        return output[-4000:]
    path = Path(match[1])
    again = f"python -m tests.fuzz.target {path.relative_to(ROOT)}"
    return f"{output[-4000:]}\n{path.read_bytes()!r}\nThe same again: {again}"


@pytest.mark.timeout(LIMIT_SECONDS)
def test_generated_texts_find_no_difference_and_no_crash(tmp_path: Path) -> None:
    if importlib.util.find_spec("atheris") is None:
        message = "Atheris is not here: it is in the extra `test`, for Linux on x86-64 only"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(message)
    FOUND.mkdir(parents=True, exist_ok=True)
    # What one night has found out, the next goes on from.
    corpus = FOUND / "corpus" if is_nightly() else tmp_path
    with ThreadPoolExecutor(PROCESSES) as pool:
        shares = range(PROCESSES)
        outputs = pool.map(lambda n: run_atheris(corpus / str(n), get_seed() + n), shares)
        units = [
            re.search(r"^stat::number_of_executed_units:\s*(\d+)", output, re.MULTILINE)
            for output in outputs
        ]
    tried = sum(int(found[1]) for found in units if found)
    print(f"{tried:,} texts")
    assert tried >= max(TEXTS, len(SEEDS))


def test_all_scanners_agree_on_the_seeds() -> None:
    by_windows: Counter[bool] = Counter()
    for text in SEEDS:
        start = len(BOM) if text.startswith(BOM) else 0
        scanners.compare_json(text)
        if scanners.compare_scanners(text) is not None:
            by_windows[scan_cells(FakeBuffer(text), start, 100) is not None] += 1
    # Else the way of the windows would be that of the whole text, and agree with it always.
    assert by_windows[True] > by_windows[False] > 0, by_windows
