"""Ledgers for tests of what stands above one."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from jupyter_events import EventLogger
from nbformat.sign import NotebookNotary

from jupyter_nbedit.afterwards import Afterwards
from jupyter_nbedit.database import Database
from jupyter_nbedit.editor import NotebookEditor
from jupyter_nbedit.events import SCHEMA_PATH, EditEvents
from jupyter_nbedit.history import Ledger
from jupyter_nbedit.history.entries import NewEntry
from jupyter_nbedit.readings import Readings
from jupyter_nbedit.trust import Trust
from jupyter_nbedit.undoing import Undoing
from jupyter_nbedit.versions import Versions

if TYPE_CHECKING:
    from jupyter_nbedit.storage import Storages


@dataclass
class MemoryLedger:
    """Keeps what it is given, in order; the numbers count from 1."""

    kept: list[tuple[NewEntry, bytes | None]] = field(default_factory=list)

    async def add(self, entry: NewEntry, record: bytes | None) -> int:
        """Keep an edit and give its number."""
        self.kept.append((entry, record))
        return len(self.kept)


@cache
def _event_logger() -> EventLogger:
    logger = EventLogger()
    logger.register_event_schema(SCHEMA_PATH)
    return logger


def undoing(storages: Storages, folder: Path, notary: NotebookNotary) -> Undoing:
    """Build what takes edits back that its editor makes; the ledger is a file in the folder."""
    log = logging.getLogger(__name__)
    ledger = Ledger(Database(folder / "ledger", log, is_exposed=lambda _: False))
    editor = NotebookEditor(
        storages=storages,
        afterwards=Afterwards(
            ledger=ledger,
            events=EditEvents(_event_logger()),
            readings=Readings(),
            versions=Versions(),
            log=log,
        ),
        trust=Trust(lambda: notary),
    )
    return Undoing(editor, ledger)
