"""The event that tells of an edit, and its emitter."""

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

_MOST_OPERATIONS = 20


class EditEvents:
    """Emits one event for each edit.

    Parameters
    ----------
    logger
        The server's event logger, which must know the schema before any listener comes: a listener
        is only told of schemas that were there when it came.
    """

    def __init__(self, logger: EventLogger) -> None:
        self._logger = logger
        self._seq = itertools.count(1)
        self._listeners: list[Callable[[Mapping[str, Any]], None]] = []
        self.epoch = uuid.uuid4().hex

    def listen(self, listener: Callable[[Mapping[str, Any]], None]) -> Callable[[], None]:
        """Tell a listener in this process of each edit; give what ends it.

        Parameters
        ----------
        listener
            Gets the data of the event, which is not its own to change. It raises nothing: the
            editor waits for it.
        """
        self._listeners.append(listener)

        def stop() -> None:
            with suppress(ValueError):
                self._listeners.remove(listener)

        return stop

    def emit(self, operations: Sequence[dict[str, Any]], **data: Any) -> None:
        """Tell everybody who listens; to be called on the loop's thread.

        Parameters
        ----------
        operations
            What was done, each as ``op``, ``cell_id``, ``index``.
        **data
            The other properties of the schema.
        """
        event = {
            "epoch": self.epoch,
            "seq": next(self._seq),
            "operations": list(operations[:_MOST_OPERATIONS]),
            "truncated": len(operations) > _MOST_OPERATIONS,
            **data,
        }
        for listener in tuple(self._listeners):
            listener(event)
        self._logger.emit(schema_id=SCHEMA_ID, data=event)
