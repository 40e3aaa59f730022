"""Files of ours are known again by time stamps that nobody else's writing leaves."""

from __future__ import annotations

import os

import pytest

from jupyter_nbedit.storage.filetext import Marks
from jupyter_nbedit.storage.known import Known

NS = 1_795_279_388_123_456_789


class Status:
    """What counts of a ``stat``."""

    def __init__(self, mtime_ns: int, ctime_ns: int = NS + 5, inode: int = 1) -> None:
        self.st_dev, self.st_ino, self.st_size = 1, inode, 10
        self.st_mtime_ns, self.st_ctime_ns = mtime_ns, ctime_ns


def status(mtime_ns: int, ctime_ns: int = NS + 5, inode: int = 1) -> os.stat_result:
    found: os.stat_result = Status(mtime_ns, ctime_ns, inode)  # type: ignore[assignment]
    return found


def test_a_file_with_a_time_of_its_own_is_known_until_a_stamp_differs() -> None:
    known, marks = Known(), Marks()
    known.note(status(NS), marks)
    assert known.of(status(NS)) is marks
    assert known.of(status(NS + 1)) is None
    assert known.of(status(NS, NS + 6)) is None
    assert known.of(status(NS, inode=2)) is None


@pytest.mark.parametrize(
    "found", [status(NS // 1000 * 1000), status(NS // 10**9 * 10**9), status(NS, NS)]
)
def test_a_time_that_others_may_get_as_well_proves_nothing(found: os.stat_result) -> None:
    known = Known()
    known.note(found, Marks())
    assert known.of(found) is None


def test_what_was_noted_first_is_forgotten_first() -> None:
    known = Known()
    for inode in range(257):
        known.note(status(NS, inode=inode), Marks())
    assert known.of(status(NS, inode=0)) is None
    assert known.of(status(NS, inode=1)) is not None
