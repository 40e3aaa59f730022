"""The replies about unseen changes."""

from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import Meta

from jupyter_nbedit.services.history.models import CellDiff, EditOrigin


class UnseenCell(CellDiff, frozen=True, kw_only=True):
    """The net change of one cell since the user's last Keep, when it was at ``index_before``."""

    key: Annotated[
        str,
        Meta(
            description="Names the change in requests to keep and to undo it. It stays the same as "
            "long as the first of its edits does."
        ),
    ]
    edit_ids: Annotated[list[int], Meta(description="The edits that made it, oldest first.")]
    gap: Annotated[
        int | None,
        Meta(
            description="Of a deleted or moved cell: how many cells are now before the place where "
            "it was."
        ),
    ]


class UnseenReply(msgspec.Struct, frozen=True, kw_only=True):
    """The changes of a notebook that this user has not kept."""

    path: str
    hash: Annotated[str, Meta(description="The version of the notebook that this is about.")]
    until: Annotated[
        int, Meta(ge=0, description="The newest edit that was considered; 0 if there is none.")
    ]
    cells: Annotated[
        list[UnseenCell],
        Meta(description="In the order of the notebook; one of them may be its own metadata."),
    ]
    edits: Annotated[list[EditOrigin], Meta(description="The edits of `cells`, oldest first.")]
    truncated: Annotated[
        bool,
        Meta(
            description="Whether there are more edits than are compared; older ones are left out."
        ),
    ]


class UnseenNotebook(msgspec.Struct, frozen=True, kw_only=True):
    """A notebook with edits that this user has not kept."""

    path: str
    edits: Annotated[int, Meta(ge=1, description="How many edits.")]
    clients: Annotated[
        list[str], Meta(description="The names of their clients, the newest edit's first.")
    ]
    time: Annotated[datetime, Meta(description="When the newest was made.")]


class UnseenNotebooks(msgspec.Struct, frozen=True, kw_only=True):
    """The notebooks with edits that this user has not kept."""

    notebooks: list[UnseenNotebook]
