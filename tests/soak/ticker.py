"""A server extension of the soak: it feels the pulse of the server's loop, from inside.

``GET /soak/loop`` gives the longest time, in milliseconds, that the loop was late since it was last
asked, and where it was then. What the machine itself kept the process waiting for a core is taken
off: other tests run at the same time, and say nothing of ours.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any

from jupyter_server.base.handlers import APIHandler
from jupyter_server.utils import url_path_join
from tornado import web

PAUSE_SECONDS = 0.02
#: Whoever holds up the loop for so long is looked at.
LONG_SECONDS = 0.06
FRAMES = 6
_TASKS = Path("/proc/self/task")
_NS_PER_SECOND = 1e9


class Pulse:
    """How late the loop was at most, and what it did then."""

    def __init__(self) -> None:
        self._longest = 0.0
        self._where = ""
        self._doing = ""
        self._beat = time.perf_counter()
        self._loop_thread = 0
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to feel it; there is a loop by now."""
        if self._task is None:
            self._loop_thread = threading.get_ident()
            self._task = asyncio.get_running_loop().create_task(self._feel())
            threading.Thread(target=self._watch, daemon=True).start()

    def taken(self) -> tuple[float, str]:
        """Give the longest delay in seconds and where the loop was, and begin anew."""
        longest, self._longest = self._longest, 0.0
        return longest, self._where

    async def _feel(self) -> None:
        while True:
            waited, self._beat = _waited_for_a_core(), time.perf_counter()
            await asyncio.sleep(PAUSE_SECONDS)
            late = time.perf_counter() - self._beat - PAUSE_SECONDS
            late -= _waited_for_a_core() - waited
            if late > self._longest:
                self._longest, self._where = late, self._doing

    def _watch(self) -> None:
        """Look at the loop from a thread of its own: while it is held up, it cannot itself."""
        while True:
            time.sleep(PAUSE_SECONDS)
            if time.perf_counter() - self._beat > LONG_SECONDS:
                frame = sys._current_frames().get(self._loop_thread)
                self._doing = "".join(traceback.format_stack(frame)[-FRAMES:])


def _waited_for_a_core() -> float:
    """Give how many seconds the threads of this process were ready to run, and did not."""
    waited = 0
    for task in _TASKS.iterdir():
        # A thread may end while they are counted.
        with suppress(OSError):
            waited += int((task / "schedstat").read_text().split()[1])
    return waited / _NS_PER_SECOND


class PulseHandler(APIHandler):
    """``/soak/loop``."""

    @web.authenticated
    async def get(self) -> None:
        """Tell, and begin anew."""
        pulse: Pulse = self.settings["soak_pulse"]
        pulse.start()
        longest, where = pulse.taken()
        self.finish({"longest": 1000 * longest, "where": where})


def _jupyter_server_extension_points() -> list[dict[str, Any]]:
    return [{"module": "tests.soak.ticker"}]


def _load_jupyter_server_extension(server: Any) -> None:
    address = url_path_join(server.web_app.settings["base_url"], "soak/loop")
    server.web_app.settings["soak_pulse"] = Pulse()
    server.web_app.add_handlers(".*$", [(address, PulseHandler)])
