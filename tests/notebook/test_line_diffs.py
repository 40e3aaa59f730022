"""The server finds the differences of lines that `tests/line_diffs.json` has for the page, too."""

from tests.notebook.line_diffs import CASES_PATH, render_cases


def test_the_table_has_what_the_server_finds() -> None:
    # After an intended change: python -m tests.notebook.line_diffs
    assert CASES_PATH.read_text("utf-8") == render_cases()
