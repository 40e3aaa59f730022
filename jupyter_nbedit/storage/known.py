"""The files that this server has written last, known again without being read."""

from __future__ import annotations

import os
from collections import OrderedDict
from threading import Lock

from jupyter_nbedit.storage.filetext import ResumableSha256, get_stat_identity

_MOST = 256
_MICROSECOND = 1000


class OwnWriteCache:
    """Knows files again by what their ``stat`` says.

    A file that was just written may be written again within one tick of the file system's clock,
    and its times be the same. But a file of ours was given a modification time of its own, to the
    nanosecond, which whoever writes it takes away.

    May be used by several threads.
    """

    def __init__(self) -> None:
        self._marks: OrderedDict[tuple[int, ...], ResumableSha256] = OrderedDict()
        self._lock = Lock()

    def put(self, status: os.stat_result, marks: ResumableSha256) -> None:
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
            self._marks[get_stat_identity(status)] = marks
            if len(self._marks) > _MOST:
                self._marks.popitem(last=False)

    def get(self, status: os.stat_result) -> ResumableSha256 | None:
        """Return the hash of a file of ours that nobody has written since; None for all others."""
        with self._lock:
            return self._marks.get(get_stat_identity(status))
