"""The options and the reply of the read service."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from jupyter_nbedit.notebook.views import CellView, ViewOptions


class Kernelspec(msgspec.Struct, frozen=True):
    """The kernel that the metadata of the notebook names."""

    name: str | None
    display_name: str | None


class TruncationTotals(msgspec.Struct, frozen=True, kw_only=True):
    """What `max_chars` left out of the reply, in total; each cell has its own counts."""

    cells: Annotated[
        int,
        Meta(ge=0, description="Cells of the page of which nothing is shown; `next` is the first."),
    ]
    source: Annotated[int, Meta(ge=0, description="Characters of the shown cells' sources.")]
    metadata: Annotated[int, Meta(ge=0, description="Characters of their metadata as JSON.")]
    attachments: Annotated[int, Meta(ge=0, description="Characters of their attachments as JSON.")]
    outputs: Annotated[int, Meta(ge=0, description="Characters of their outputs.")]
    output_count: Annotated[
        int, Meta(ge=0, description="Outputs of theirs of which nothing is shown.")
    ]


class ChangesSince(msgspec.Struct, frozen=True, kw_only=True):
    """The difference of the whole notebook from the version that ``since`` names."""

    hash: Annotated[str, Meta(description="The version.")]
    changed: Annotated[
        int,
        Meta(
            ge=0,
            description="The number of new and changed cells, by their text in the file. `cells` "
            "has these only.",
        ),
    ]
    gone: Annotated[
        list[str], Meta(description="The ids of the version that the notebook does not have.")
    ]
    reordered: Annotated[bool, Meta(description="Whether the common cells are in another order.")]
    total_cells: Annotated[int, Meta(ge=0, description="How many cells the version had.")]


class ReadReply(msgspec.Struct, frozen=True, kw_only=True):
    """A view of a notebook; ``next`` is the ``start`` of the next page, or null.

    ``omitted`` is present if the query has ``max_chars``, ``since`` if it has ``since``.
    """

    path: str
    hash: str
    last_modified: datetime
    nbformat: int
    nbformat_minor: int
    language: str | None
    kernelspec: Kernelspec | None
    trusted: bool
    live: bool
    total_cells: int
    cells: list[CellView]
    next: int | None
    omitted: TruncationTotals | UnsetType = UNSET
    since: ChangesSince | UnsetType = UNSET


@dataclass(frozen=True)
class ReadOptions:
    """Which cells to return, and how much of them; all cells if none are named."""

    #: The addresses of cells, as text; the reply has them in the order of the notebook.
    cells: Sequence[str] = ()
    #: The headings of sections, whose cells are returned, too.
    sections: Sequence[str] = ()
    #: The hash of a version; only cells that were changed since are returned.
    since: str | None = None
    #: The smallest index of the page, and the largest number of cells.
    start: int = 0
    limit: int | None = None
    #: How much of each cell to return.
    show: ViewOptions = field(default_factory=ViewOptions)
    #: The most characters of the notebook in the reply.
    max_chars: int | None = None
    #: The session that has then read the notebook; see `ReadTracker`.
    session: str = ""
