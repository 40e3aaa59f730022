"""The emitter of events."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from jupyter_nbedit.services.events.models import EVENTS, EditEvent, Event, OutsideChangeEvent

if TYPE_CHECKING:
    from jupyter_events import EventLogger

# How many operations or cells an event lists.
_MAX_LISTED = 20


def register_schemas(logger: EventLogger) -> None:
    """Register the schemas of all events, each by all of its ids.

    Do this before any listener is added: a listener gets no events of schemas that are registered
    later.
    """
    for event in EVENTS:
        # Tests start several servers in one process, and a schema can be registered only once.
        if event.get_schema_id() not in logger.schemas:
            schema = event.read_schema()
            for schema_id in event.list_schema_ids():
                logger.register_event_schema({**schema, "$id": schema_id})


class EventEmitter:
    """Emits the events of one run of the server, which is named by ``epoch``."""

    def __init__(self, logger: EventLogger) -> None:
        self._logger = logger
        self._counters = {event: itertools.count(1) for event in (EditEvent, OutsideChangeEvent)}
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

    def emit(self, event: Event) -> None:
        """Emit an event on the thread of the event loop."""
        data: dict[str, Any] = {"epoch": self.epoch, **msgspec.to_builtins(event)}
        if isinstance(event, (EditEvent, OutsideChangeEvent)):
            key = "operations" if isinstance(event, EditEvent) else "cells"
            entries = data[key]
            data[key], data["truncated"] = entries[:_MAX_LISTED], len(entries) > _MAX_LISTED
            data["seq"] = next(self._counters[type(event)])
        if isinstance(event, EditEvent):
            for listener in tuple(self._listeners):
                listener(data)
        for schema_id in event.list_schema_ids():
            self._logger.emit(schema_id=schema_id, data=data)
