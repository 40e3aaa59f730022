"""The table of threats in `docs/threats.md` is whole, and what it names is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
ROWS = {
    row[0].strip(): row[-1]
    for line in (ROOT / "docs" / "threats.md").read_text().splitlines()
    if line.startswith("| S")
    for row in [line.strip("|").split("|")]
}
TESTS = {
    name
    for path in HERE.glob("test_*.py")
    for name in re.findall(r"^(?:async )?def (test_\w+)", path.read_text(), re.MULTILINE)
}


def test_every_threat_has_its_row() -> None:
    assert list(ROWS) == [f"S{number}" for number in range(1, 31)]


@pytest.mark.parametrize("threat", ROWS)
def test_every_threat_has_tests_that_are_named_after_it_and_those_of_its_row_are_there(
    threat: str,
) -> None:
    of_it = {name for name in TESTS if name.startswith(f"test_{threat.lower()}_")}
    assert of_it
    row = ROWS[threat]
    assert re.match(rf" {threat}\b", row)
    for path in re.findall(r"`(tests/[\w/]+\.py)`", row):
        assert (ROOT / path).is_file()
