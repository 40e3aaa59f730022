"""What a process holds, as the kernel counts it."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

_KIB_PER_MB = 1e6 / 1024


@dataclass(frozen=True)
class Vitals:
    """What a process holds at one moment."""

    seconds: float
    megabytes: float
    descriptors: int
    threads: int

    def __str__(self) -> str:
        return (
            f"{self.megabytes:.1f} MB, {self.descriptors} file descriptors, {self.threads} threads"
        )


@dataclass
class Patient:
    """A process that is watched."""

    pid: int
    seen: list[Vitals] = field(default_factory=list)

    def look(self) -> Vitals:
        """See what it holds now."""
        process = Path("/proc", str(self.pid))
        status = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
        vitals = Vitals(
            time.monotonic(),
            int(status["RssAnon"].split()[0]) / _KIB_PER_MB,
            len(list((process / "fd").iterdir())),
            int(status["Threads"]),
        )
        self.seen.append(vitals)
        return vitals


def slope(seen: Sequence[Vitals]) -> float:
    """Give by how many MB an hour the memory grew."""
    fitted = statistics.linear_regression(
        [vitals.seconds / 3600 for vitals in seen], [vitals.megabytes for vitals in seen]
    )
    return fitted.slope
