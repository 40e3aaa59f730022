"""The events that tell of edits, proposals and modes, and their emitters."""

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
PROPOSAL_SCHEMA_ID = "https://schema.jupyter.org/jupyter_nbedit/proposal/v1"
MODE_SCHEMA_ID = "https://schema.jupyter.org/jupyter_nbedit/mode/v1"
#: All there are, by their ids.
SCHEMAS = {
    SCHEMA_ID: SCHEMA_PATH,
    PROPOSAL_SCHEMA_ID: Path(__file__).with_name("proposal.yaml"),
    MODE_SCHEMA_ID: Path(__file__).with_name("mode.yaml"),
}

_MOST_OPERATIONS = 20


class EditEventEmitter:
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
        """Call a listener in this process for each edit; return what ends that.

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
        """Emit the event; to be called on the loop's thread.

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


class ReviewEventEmitter:
    """Emits an event for each step of a proposal and each change of a mode.

    Parameters
    ----------
    logger
        The server's event logger; see `EditEventEmitter`.
    epoch
        Names this run of the server.
    """

    def __init__(self, logger: EventLogger, epoch: str) -> None:
        self._logger = logger
        self._epoch = epoch

    def emit_proposal(self, **data: Any) -> None:
        """Emit that a proposal was made, decided in part or whole, or has expired.

        Parameters
        ----------
        **data
            The other properties of the schema.
        """
        self._logger.emit(schema_id=PROPOSAL_SCHEMA_ID, data={"epoch": self._epoch, **data})

    def emit_mode(self, **data: Any) -> None:
        """Emit that a notebook or the server has another mode.

        Parameters
        ----------
        **data
            The other properties of the schema.
        """
        self._logger.emit(schema_id=MODE_SCHEMA_ID, data={"epoch": self._epoch, **data})
