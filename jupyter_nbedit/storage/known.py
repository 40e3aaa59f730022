"""The files that this server has written last, known again without being read."""

from __future__ import annotations

import os
from collections import OrderedDict
from threading import Lock

from jupyter_nbedit.storage.filetext import Marks, stamp

_MOST = 256
_MICROSECOND = 1000


class Known:
    """Knows files again by what their ``stat`` says.

    A file that was just written may be written again within one tick of the file system's clock,
    and its times be the same. But a file of ours was given a modification time of its own, to the
    nanosecond, which whoever writes it takes away.

    May be used by several threads.
    """

    def __init__(self) -> None:
        self._marks: OrderedDict[tuple[int, ...], Marks] = OrderedDict()
        self._lock = Lock()

    def note(self, status: os.stat_result, marks: Marks) -> None:
        """Remember a file of ours.

        Parameters
        ----------
        status
            What its ``stat`` says, now that it has its name and its times.
        marks
            The hash of its bytes.
        """
        # A file system that does not keep nanoseconds has cut it to what others may get as well.
        if not status.st_mtime_ns % _MICROSECOND or status.st_mtime_ns == status.st_ctime_ns:
            return
        with self._lock:
            self._marks[stamp(status)] = marks
            if len(self._marks) > _MOST:
                self._marks.popitem(last=False)

    def of(self, status: os.stat_result) -> Marks | None:
        """Give the hash of a file of ours that nobody has written since; None for all others."""
        with self._lock:
            return self._marks.get(stamp(status))
