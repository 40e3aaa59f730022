"""What the documentation of extensions shows is what the browser tests build and run."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "ui-tests" / "example"
LANGUAGES = {"src/index.ts": "ts", "package.json": "json", "nbedit_example.py": "python"}


@pytest.mark.parametrize("name", LANGUAGES)
def test_the_documentation_shows_the_example_as_it_is(name: str) -> None:
    shown = f"```{LANGUAGES[name]}\n{(EXAMPLE / name).read_text()}```\n"
    assert shown in (ROOT / "docs" / "extending.md").read_text()


def test_all_of_the_example_is_shown_but_for_how_it_is_compiled() -> None:
    found = {path for path in EXAMPLE.rglob("*") if path.is_file() and path.suffix != ".pyc"}
    names = {path.relative_to(EXAMPLE).as_posix() for path in found}
    assert names == {*LANGUAGES, "tsconfig.json"}
