"""The observations of many clients that edited one notebook: the input of the checker.

A history is data alone. Times are those of one clock that never steps back, in seconds; values are
the hashes of cells' sources, each of which is written only once, so that a value names its edit.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

NEVER = math.inf


@dataclass(frozen=True)
class CellStep:
    """The effect of an edit on one cell."""

    #: Its id; None for a new cell whose id is unknown.
    cell: str | None
    #: The value that it must have; None if the cell is new.
    before: str | None
    #: The value that it then has; None if the cell is removed.
    after: str | None


@dataclass(frozen=True)
class Edit:
    """An edit that a client has sent, once or repeatedly, until it had a reply."""

    #: Of the intention; retries have the same.
    name: str
    steps: tuple[CellStep, ...]
    #: When it was sent first.
    called_at: float
    #: The time of the reply. Without one: the time after which it cannot be made any more.
    returned_at: float = NEVER
    #: The notebook's versions before and after it, of its answer.
    parent: str | None = None
    hash: str | None = None
    edit_id: int | None = None
    #: The run of a server that has answered it.
    server: str | None = None

    @property
    def is_acknowledged(self) -> bool:
        return self.server is not None


@dataclass(frozen=True)
class Read:
    """A version that a client has read."""

    hash: str
    called_at: float
    returned_at: float


@dataclass(frozen=True)
class RefusedEdit:
    """An edit that was refused because a cell had another value, which the reply contains."""

    cell: str
    value: str
    called_at: float
    returned_at: float


@dataclass(frozen=True)
class HistoryRow:
    """An edit as the history has it."""

    edit_id: int
    name: str
    parent: str
    hash: str


@dataclass(frozen=True)
class Event:
    """An edit event of a subscriber."""

    seq: int
    edit_id: int | None
    parent: str
    hash: str


@dataclass(frozen=True)
class Feed:
    """All events of a subscriber of one run of a server, in order."""

    server: str
    #: The time from which the subscription was active.
    since: float
    events: Sequence[Event]
    #: Whether the server was killed, so that its last events may be missing.
    is_truncated: bool = False


@dataclass(frozen=True)
class ObservedHistory:
    """All that was seen of one notebook."""

    #: The notebook's first and last version, and the ids and values of their cells.
    start: str
    final: str
    start_cells: Sequence[tuple[str, str]]
    final_cells: Sequence[tuple[str, str]]
    #: Acknowledged edits, and those without a reply; no refused ones.
    edits: Sequence[Edit]
    reads: Sequence[Read] = ()
    refusals: Sequence[RefusedEdit] = ()
    #: What the history has when all is over, in any order.
    rows: Sequence[HistoryRow] = ()
    feeds: Sequence[Feed] = ()
    #: How often which status and reason was answered.
    answers: Mapping[tuple[int, str], int] = field(default_factory=dict)
    #: Whether all servers share the lock under which an edit gets its number, so that numbers go
    #: up along the chain.
    is_locked: bool = True
