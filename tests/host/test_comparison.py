from __future__ import annotations

from pathlib import Path

from tests.host.comparison import EXPECTED, compare


def report(path: Path, **tests: str) -> Path:
    """Write a JUnit report; each test's outcome is the name of an element, or nothing."""
    expected, _ = next(iter(EXPECTED)).split("::")
    cases = [
        f'<testcase classname="{expected if name == "test_stop_extension" else "a"}" '
        f'name="{name}">{outcome}</testcase>'
        for name, outcome in tests.items()
    ]
    path.write_text(f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>")
    return path


FAILED = '<failure message="assert False"/>'
ERROR = '<error message="failed on teardown"/>'


def test_only_what_the_extension_loses_counts_as_failed(tmp_path: Path) -> None:
    before = dict.fromkeys(("both", "fails", "breaks", "gone", "skips", "test_stop_extension"), "")
    without = report(tmp_path / "without", **before, never=FAILED, later=FAILED)
    with_it = report(
        tmp_path / "with",
        both="<system-out>said</system-out>",
        fails=FAILED,
        breaks=ERROR,
        skips="<skipped/>",
        test_stop_extension=FAILED,
        never=FAILED,
        later="",
    )
    count = compare(without, with_it)
    assert (count.passed, count.failed) == (1, 4)
    assert [line.split(": lost with the extension: ") for line in count.failures] == [
        ["a::breaks", "failed on teardown"],
        ["a::fails", "assert False"],
        ["a::gone", "it was not run"],
        ["a::skips", "it was not run"],
    ]


def test_without_the_extension_in_the_servers_nothing_is_proven(tmp_path: Path) -> None:
    without = report(tmp_path / "without", one="", test_stop_extension="")
    count = compare(without, report(tmp_path / "with", one="", test_stop_extension=""))
    assert count.failed == 1
    assert count.failures[0].endswith("the extension is not loaded")


def test_what_passes_when_it_is_run_once_more_is_not_lost(tmp_path: Path) -> None:
    without = report(tmp_path / "without", one="", other="")
    with_it = report(tmp_path / "with", one="", other=FAILED)
    again = report(tmp_path / "again", other="")
    assert compare(without, with_it).failed == 1
    assert compare(without, with_it, again).failed == 0
