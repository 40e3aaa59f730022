"""A clock that a test sets forward instead of waiting."""

import time
from dataclasses import dataclass, field

import pytest


@dataclass
class Clock:
    """Shifts `time.time` and `time.monotonic`, and with it the timers of the event loop."""

    shift: float = 0
    #: How much further `time.monotonic` is.
    timer_shift: float = 0
    #: Whether only `advance` lets time pass.
    is_stopped: bool = False
    _start: float = field(default_factory=time.monotonic)

    def advance(self, seconds: float) -> None:
        """Advance the clock; a negative number sets it back."""
        self.shift += seconds

    def advance_timers(self, seconds: float) -> None:
        """Advance `time.monotonic` only: the times of files stay in the past."""
        self.timer_shift += seconds

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Replace the functions of the module `time` for a test."""
        now, monotonic = time.time, time.monotonic
        monkeypatch.setattr(time, "time", lambda: now() + self.shift)
        monkeypatch.setattr(
            time,
            "monotonic",
            lambda: (
                (self._start if self.is_stopped else monotonic()) + self.shift + self.timer_shift
            ),
        )
