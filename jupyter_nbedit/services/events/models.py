"""The data of the events, a class for each schema; the schemas describe the fields."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from jupyter_nbedit.notebook.edit_plan import AffectedCell


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """What all events have in common: a schema, in the file with the name of the event."""

    name: ClassVar[str]
    #: The name in the id below schema.jupyter.org, which is for Jupyter's own events; None for an
    #: event that never had such an id. Until the release after 0.1, the event has both ids.
    old_name: ClassVar[str | None] = None

    @classmethod
    def get_schema_id(cls) -> str:
        """Return the id of the schema, a URI."""
        return f"urn:jupyter-nbedit:{cls.name}:v1"

    @classmethod
    def list_schema_ids(cls) -> list[str]:
        """Return all ids by which the event is emitted."""
        old_name = cls.old_name
        old_id = f"https://schema.jupyter.org/jupyter_nbedit/{old_name}/v1"
        return [cls.get_schema_id(), *([] if old_name is None else [old_id])]

    @classmethod
    def read_schema(cls) -> dict[str, Any]:
        """Return the schema, with its id."""
        # It takes long to import, and work without a server emits no events.
        from jupyter_events.yaml import load  # noqa: PLC0415

        schema: dict[str, Any] = load(Path(__file__).with_name(f"{cls.name}.yaml"))
        return schema


class EditEvent(Event, frozen=True, kw_only=True):
    """A notebook was edited through this server."""

    name = "edit"
    old_name = "edit"

    edit_id: int | None
    path: str
    hash_before: str | None
    hash: str
    last_modified: datetime
    user: str
    client: str | None
    total_cells: int
    #: All of them; the event has the first ones.
    operations: Sequence[AffectedCell]


class OutsideChangeEvent(Event, frozen=True, kw_only=True):
    """The file of an open notebook was changed, and not through this server."""

    name = "outside-change"
    old_name = "change"

    kind: str
    path: str
    new_path: str | None = None
    is_outside: bool = False
    hash_before: str | None
    hash: str | None = None
    last_modified: datetime | None = None
    edit_id: int | None = None
    undoable: bool = False
    #: All of them; the event has the first ones.
    cells: Sequence[AffectedCell] = []
    cells_changed: int | None = None
    metadata_changed: bool = False
    total_cells: int | None = None
    mode: str | None = None
    message: str | None = None


class ProposalEvent(Event, frozen=True, kw_only=True):
    """A proposal was made, decided or reopened, or has expired."""

    name = "proposal"
    old_name = "proposal"

    proposal_id: int
    path: str
    status: str
    user: str | None
    client: str | None
    parts: int
    pending: int


class ModeEvent(Event, frozen=True, kw_only=True):
    """The mode of a notebook or of the server has changed."""

    name = "mode"
    old_name = "mode"

    path: str | None
    mode: str
    user: str


class UnseenEvent(Event, frozen=True, kw_only=True):
    """A user has kept or undone changes of a notebook."""

    name = "unseen"
    old_name = "seen"

    path: str


#: The classes of all events.
EVENTS: tuple[type[Event], ...] = (
    EditEvent,
    OutsideChangeEvent,
    ProposalEvent,
    ModeEvent,
    UnseenEvent,
)
