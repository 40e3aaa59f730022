"""What a process holds, as the kernel counts it."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

_KIB_PER_MB = 1e6 / 1024
#: File descriptors or threads that may be there for a moment, when nobody asks for anything.
FEW = 3


@dataclass(frozen=True)
class Vitals:
    """What a process holds at one moment."""

    requests: int
    megabytes: float
    descriptors: int
    threads: int

    def holds_more_than(self, other: Vitals) -> bool:
        """Tell whether there are more file descriptors or threads than before, but for a few."""
        descriptors = self.descriptors > other.descriptors + FEW
        return descriptors or self.threads > other.threads + FEW

    def __str__(self) -> str:
        return (
            f"{self.megabytes:.1f} MB, {self.descriptors} file descriptors, {self.threads} threads"
        )


@dataclass
class Patient:
    """A process that is watched."""

    pid: int
    seen: list[Vitals] = field(default_factory=list)

    def look(self, requests: int) -> Vitals:
        """See what it holds now, after so many requests."""
        process = Path("/proc", str(self.pid))
        status = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
        vitals = Vitals(
            requests,
            int(status["RssAnon"].split()[0]) / _KIB_PER_MB,
            len(list((process / "fd").iterdir())),
            int(status["Threads"]),
        )
        self.seen.append(vitals)
        return vitals


def slope(seen: Sequence[Vitals]) -> float:
    """Return by how many MB the memory grew in 100,000 requests."""
    fitted = statistics.linear_regression(
        [vitals.requests / 100_000 for vitals in seen], [vitals.megabytes for vitals in seen]
    )
    return fitted.slope
