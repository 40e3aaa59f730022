"""Cases of differences of lines, which the server and the page must find alike.

``python -m tests.notebook.line_diffs`` writes ``tests/line_diffs.json``. Look at its changes: after
an update, an edit shows other lines as changed. Texts are lists of lines with the number of times
that each is repeated, so that the file has long ones, too.
"""

import json
import random
from collections.abc import Iterator
from typing import Any

from jupyter_nbedit.notebook.sequence_diff import list_differences
from tests.support.paths import ROOT

CASES_PATH = ROOT / "tests" / "line_diffs.json"

Runs = list[tuple[str, int]]

NAMED: dict[str, tuple[str, str]] = {
    "a line appended": ("import numpy as np\na = 1", "import numpy as np\na = 1\nb = 2"),
    "a line put first": ("a\nb", "x\na\nb"),
    "a function after another": (
        "def f():\n    return 1\n",
        "def f():\n    return 1\n\n\ndef g():\n    return 1\n",
    ),
    "blank lines are equal": ("a\n\nb\n\nc", "x\n\ny\n\nc"),
    "a block rewritten around equal lines": (
        "for x in y:\n    f(x)\n\nprint(1)",
        "while y:\n    f(x)\n\n    g()\n\nprint(2)",
    ),
    "lines swapped": ("a\nb\nc", "c\nb\na"),
    "a line feed at the end": ("a", "a\n"),
    "line ends": ("a\r\nb\r\n", "a\nb\n"),
    "other characters end no line": ("a\fb\u2028c", "a\fb\u2028d"),
    "characters outside of the BMP": ("😀\n😀\nx", "😀\nx\n😀"),
}


def expand(runs: Runs) -> list[str]:
    return [line for line, count in runs for _ in range(count)]


def _compress(lines: list[str]) -> Runs:
    runs: Runs = []
    for line in lines:
        if runs and runs[-1][0] == line:
            runs[-1] = (line, runs[-1][1] + 1)
        else:
            runs.append((line, 1))
    return runs


def _draw_pairs(chance: random.Random) -> Iterator[tuple[Runs, Runs]]:
    for _ in range(150):
        letters = "abcdefgh😀"[: chance.randint(1, 9)]
        old = chance.choices(letters, k=chance.randint(0, 12))
        new = list(old)
        for _ in range(chance.randint(1, 4)):
            at = chance.randint(0, len(new))
            new[at : at + chance.randint(0, 3)] = chance.choices(letters, k=chance.randint(0, 3))
        yield _compress(old), _compress(new)
    # So long that they are split at the lines that occur once in both, or not compared at all.
    for number in range(60):
        longest = (12, 30, 60, 400)[number % 4]
        yield _draw_long_runs(chance, longest), _draw_long_runs(chance, longest)


def _draw_long_runs(chance: random.Random, longest: int) -> Runs:
    runs = [(f"once {n}", 1) for n in chance.sample(range(5), 3)]
    for line in chance.choices(["", "x", "😀" * 9, "a line of more characters"], k=5):
        runs.insert(chance.randint(0, len(runs)), (line, chance.randint(1, longest)))
    return runs


def _list_named_pairs() -> Iterator[tuple[str, Runs, Runs]]:
    for name, (before, after) in NAMED.items():
        yield name, _compress(before.split("\n")), _compress(after.split("\n"))
    # Each part alone is within the limit, but not all of them are.
    old, new = (
        [line for n in range(8) for line in (f"once {n}", *(first + second) * 10)]
        for first, second in (("x", "y"), ("y", "x"))
    )
    yield "parts that are too long together", _compress(old), _compress(new)


def build_cases() -> list[dict[str, Any]]:
    """Return all cases with the differences that the server finds."""
    chance = random.Random(0)  # noqa: S311
    pairs = [*_list_named_pairs()]
    pairs += [(f"random {n}", *pair) for n, pair in enumerate(_draw_pairs(chance))]
    return [
        {
            "name": name,
            "before": before,
            "after": after,
            "differences": list_differences(expand(before), expand(after)),
        }
        for name, before, after in pairs
    ]


def render_cases() -> str:
    lines = (json.dumps(case, ensure_ascii=True) for case in build_cases())
    return "[\n  " + ",\n  ".join(lines) + "\n]\n"


if __name__ == "__main__":
    CASES_PATH.write_text(render_cases(), "utf-8")
