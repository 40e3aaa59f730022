"""Each event has a class, whose fields are those of its schema, and two ids."""

import msgspec
import pytest
from jupyter_events import EventLogger
from jupyter_events.schema import EventSchema

from jupyter_nbedit.services.events.emitter import EventEmitter, register_schemas
from jupyter_nbedit.services.events.models import (
    EVENTS,
    EditEvent,
    Event,
    OutsideChangeEvent,
    UnseenEvent,
)

ADDED = {"epoch"}
ADDED_TO_LISTS = {"epoch", "seq", "truncated"}


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.name)
def test_the_fields_of_an_event_are_those_of_its_schema(event: type[Event]) -> None:
    schema = event.read_schema()
    assert EventSchema(schema).id == event.get_schema_id()
    added = ADDED_TO_LISTS if event in {EditEvent, OutsideChangeEvent} else ADDED
    fields = {field.name for field in msgspec.structs.fields(event)} | added
    assert fields == set(schema["properties"]) == set(schema["required"])


async def test_an_event_is_emitted_by_its_id_and_by_that_of_earlier_versions() -> None:
    emitting, heard = EventLogger(), list[tuple[str, object]]()
    register_schemas(emitting)

    async def listen(logger: EventLogger, schema_id: str, data: dict[str, object]) -> None:
        assert logger is emitting
        heard.append((schema_id, data["path"]))

    for event in EVENTS:
        emitting.add_listener(schema_id=event.get_schema_id(), listener=listen)
        emitting.add_listener(schema_id=event.get_old_schema_id(), listener=listen)
    EventEmitter(emitting).emit(UnseenEvent(path="a.ipynb"))
    await emitting.gather_listeners()
    assert sorted(heard) == [
        ("https://schema.jupyter.org/jupyter_nbedit/seen/v1", "a.ipynb"),
        ("urn:jupyter-nbedit:unseen:v1", "a.ipynb"),
    ]
