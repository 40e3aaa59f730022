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

PATH = "a.ipynb"
OLD_ID = "https://schema.jupyter.org/jupyter_nbedit/seen/v1"
UNSEEN_ID = "urn:jupyter-nbedit:unseen:v1"
ADDED = {"epoch"}
ADDED_TO_LISTS = {"epoch", "seq", "truncated"}


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.name)
def test_the_fields_of_an_event_are_those_of_its_schema(event: type[Event]) -> None:
    schema = event.read_schema()
    assert EventSchema(schema).id == event.get_schema_id()
    added = ADDED_TO_LISTS if event in {EditEvent, OutsideChangeEvent} else ADDED
    fields = {field.name for field in msgspec.structs.fields(event)} | added
    assert fields == set(schema["properties"]) == set(schema["required"])


class NewEvent(Event, frozen=True, kw_only=True):
    """An event that earlier versions have not emitted, with the schema of another one."""

    name = "unseen"

    path: str


@pytest.mark.parametrize(
    ("event", "ids"),
    [
        (UnseenEvent(path=PATH), [OLD_ID, UNSEEN_ID]),
        (NewEvent(path=PATH), [UNSEEN_ID]),
    ],
)
async def test_an_event_is_emitted_by_its_id_and_by_that_of_earlier_versions(
    event: Event, ids: list[str]
) -> None:
    emitting, heard = EventLogger(), list[tuple[str, object]]()
    register_schemas(emitting)

    async def listen(logger: EventLogger, schema_id: str, data: dict[str, object]) -> None:
        assert logger is emitting
        heard.append((schema_id, data["path"]))

    for schema_id in {schema_id for each in EVENTS for schema_id in each.list_schema_ids()}:
        emitting.add_listener(schema_id=schema_id, listener=listen)
    EventEmitter(emitting).emit(event)
    await emitting.gather_listeners()
    assert sorted(heard) == [(schema_id, PATH) for schema_id in ids]
