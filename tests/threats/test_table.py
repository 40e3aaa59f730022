"""The table of threats in `docs/threats.md` is complete, and each row has marked tests."""

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROWS = {
    row[0].strip(): row[-1]
    for line in (ROOT / "docs" / "threats.md").read_text().splitlines()
    if line.startswith("| S")
    for row in [line.strip("|").split("|")]
}


@pytest.fixture(scope="module")
def marked_threats() -> set[str]:
    """Return the threats that tests are marked with."""
    modules = [
        importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
        for folder in ("agents", "cli", "client", "handlers", "notebook", "services", "threats")
        for path in (ROOT / "tests" / folder).rglob("test_*.py")
    ]
    marks = [
        mark
        for module in modules
        for value in vars(module).values()
        for mark in getattr(value, "pytestmark", ())
    ]
    return {mark.args[0] for mark in marks if mark.name == "threat"}


def test_every_threat_has_a_row_and_a_marked_test(marked_threats: set[str]) -> None:
    assert list(ROWS) == [f"S{number}" for number in range(1, 36)]
    assert marked_threats == set(ROWS)


@pytest.mark.parametrize("threat", ROWS)
def test_the_tests_named_by_a_row_exist(threat: str) -> None:
    assert re.match(rf" {threat}\b", ROWS[threat])
    for path in re.findall(r"`(tests/[\w/]+\.py)`", ROWS[threat]):
        assert (ROOT / path).is_file()
