"""Who has read what."""

from __future__ import annotations

import pytest

from jupyter_nbedit import readings
from jupyter_nbedit.errors import HashMismatch, ReadRequired
from jupyter_nbedit.readings import Readings


def test_what_was_read_as_it_is_may_be_changed() -> None:
    seen = Readings()
    seen.note("ann", "a.ipynb", "1")
    seen.require("ann", "a.ipynb", "1")


@pytest.mark.parametrize(("session", "path"), [("bob", "a.ipynb"), ("ann", "b.ipynb")])
def test_what_another_session_read_or_another_file_does_not_count(session: str, path: str) -> None:
    seen = Readings()
    seen.note("ann", "a.ipynb", "1")
    with pytest.raises(ReadRequired, match="has not been read") as refused:
        seen.require(session, path, "1")
    assert refused.value.details == {"path": path}


def test_a_file_that_changed_since_is_not_the_one_that_was_read() -> None:
    seen = Readings()
    seen.note("ann", "a.ipynb", "1")
    with pytest.raises(HashMismatch) as refused:
        seen.require("ann", "a.ipynb", "2")
    assert refused.value.details == {"expected": "1", "hash": "2"}
    seen.note("ann", "a.ipynb", "2")
    seen.require("ann", "a.ipynb", "2")


def test_a_file_that_was_read_under_one_name_may_be_changed_under_another() -> None:
    seen = Readings({"link.ipynb": "a.ipynb", "a.ipynb": "a.ipynb"}.__getitem__)
    seen.note("ann", "link.ipynb", "1")
    seen.require("ann", "a.ipynb", "1")
    seen.note("ann", "a.ipynb", "2")
    seen.require("ann", "link.ipynb", "2")


def test_the_oldest_file_and_the_oldest_session_are_forgotten_first() -> None:
    seen = Readings()
    for n in range(readings._MOST_FILES):
        seen.note("ann", f"{n}.ipynb", "1")
    seen.note("ann", "0.ipynb", "2")
    seen.note("ann", "one-more.ipynb", "1")
    seen.require("ann", "0.ipynb", "2")
    with pytest.raises(ReadRequired):
        seen.require("ann", "1.ipynb", "1")
    for n in range(readings._MOST_SESSIONS):
        seen.note(f"session {n}", "a.ipynb", "1")
    with pytest.raises(ReadRequired):
        seen.require("ann", "0.ipynb", "2")
