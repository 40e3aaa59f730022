"""The event schemas of edits, other changes, proposals and modes, and their emitters."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jupyter_events import EventLogger

SCHEMA_ID = "https://schema.jupyter.org/jupyter_nbedit/edit/v1"
SCHEMA_PATH = Path(__file__).with_name("edit.yaml")
CHANGE_SCHEMA_ID = "https://schema.jupyter.org/jupyter_nbedit/change/v1"
PROPOSAL_SCHEMA_ID = "https://schema.jupyter.org/jupyter_nbedit/proposal/v1"
MODE_SCHEMA_ID = "https://schema.jupyter.org/jupyter_nbedit/mode/v1"
SEEN_SCHEMA_ID = "https://schema.jupyter.org/jupyter_nbedit/seen/v1"
#: The files of all schemas by id.
SCHEMAS = {
    SCHEMA_ID: SCHEMA_PATH,
    CHANGE_SCHEMA_ID: Path(__file__).with_name("change.yaml"),
    PROPOSAL_SCHEMA_ID: Path(__file__).with_name("proposal.yaml"),
    MODE_SCHEMA_ID: Path(__file__).with_name("mode.yaml"),
    SEEN_SCHEMA_ID: Path(__file__).with_name("seen.yaml"),
}

_MAX_OPERATIONS = 20
_MAX_CELLS = 20


class EventEmitter:
    """Emits the events of one run of the server, which is named by ``epoch``.

    The schemas must be registered with the event logger of the server before any listener is added,
    because a listener gets no events of schemas that are registered later.
    """

    def __init__(self, logger: EventLogger) -> None:
        self._logger = logger
        self._seq = itertools.count(1)
        self._change_seq = itertools.count(1)
        self._listeners: list[Callable[[Mapping[str, Any]], None]] = []
        self.epoch = uuid.uuid4().hex

    def listen(self, listener: Callable[[Mapping[str, Any]], None]) -> Callable[[], None]:
        """Call a listener in this process for each edit; return a function that removes it.

        The listener takes the data of the event. It must not change the data, raise an exception or
        block, because the edit waits for it.
        """
        self._listeners.append(listener)

        def remove() -> None:
            with suppress(ValueError):
                self._listeners.remove(listener)

        return remove

    def emit_edit(self, operations: Sequence[dict[str, Any]], **data: Any) -> None:
        """Emit an event for an edit on the thread of the event loop; arguments as in the schema."""
        event = {
            "epoch": self.epoch,
            "seq": next(self._seq),
            "operations": list(operations[:_MAX_OPERATIONS]),
            "truncated": len(operations) > _MAX_OPERATIONS,
            **data,
        }
        for listener in tuple(self._listeners):
            listener(event)
        self._logger.emit(schema_id=SCHEMA_ID, data=event)

    def emit_change(self, cells: Sequence[dict[str, Any]], **data: Any) -> None:
        """Emit an event for a change that was not made through this server; see the schema."""
        event = {
            "epoch": self.epoch,
            "seq": next(self._change_seq),
            "cells": list(cells[:_MAX_CELLS]),
            "truncated": len(cells) > _MAX_CELLS,
            **data,
        }
        self._logger.emit(schema_id=CHANGE_SCHEMA_ID, data=event)

    def emit_proposal(self, **data: Any) -> None:
        """Emit an event for a new, decided or expired proposal; ``data`` as in the schema."""
        self._logger.emit(schema_id=PROPOSAL_SCHEMA_ID, data={"epoch": self.epoch, **data})

    def emit_mode(self, **data: Any) -> None:
        """Emit an event for a new mode of a notebook or the server; ``data`` as in the schema."""
        self._logger.emit(schema_id=MODE_SCHEMA_ID, data={"epoch": self.epoch, **data})

    def emit_seen(self, **data: Any) -> None:
        """Emit an event for changes that a user has kept or undone; ``data`` as in the schema."""
        self._logger.emit(schema_id=SEEN_SCHEMA_ID, data=data)
