"""A ledger in memory, for what stands above one."""

from __future__ import annotations

from dataclasses import dataclass, field

from jupyter_nbedit.history.entries import NewEntry


@dataclass
class MemoryLedger:
    """Keeps what it is given, in order; the numbers count from 1."""

    kept: list[tuple[NewEntry, bytes | None]] = field(default_factory=list)

    async def add(self, entry: NewEntry, record: bytes | None) -> int:
        """Keep an edit and give its number."""
        self.kept.append((entry, record))
        return len(self.kept)
