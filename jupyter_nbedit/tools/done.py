"""What an edit of one cell has done, as all dialects tell it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import UNSET, Meta

from jupyter_nbedit.messages import EditReply

_VERBS = {"replace": "Replaced", "insert": "Inserted", "delete": "Deleted"}

#: What tells a proposal from an edit, in every dialect's answer.
ProposalId = Annotated[
    int,
    Meta(
        description="There if nothing was changed yet, because a person decides first: the number "
        "of the proposal that they are shown."
    ),
]


def describe_proposal(reply: EditReply) -> str:
    """Return the text that says that an edit waits for a decision, and how to learn of that."""
    return (
        "Nothing is changed yet: a person decides first. This is proposal "
        f"{reply.proposal_id}; GET /nbedit/proposals/{reply.proposal_id}?wait=60 tells what has "
        "become of it."
    )


@dataclass(frozen=True)
class CellEditResult:
    """One operation on one cell.

    Parameters
    ----------
    op
        ``replace``, ``insert`` or ``delete``.
    cell_id
        The address of the cell: its id, or ``cell-N`` where it has none.
    index
        Where it stands afterwards; a deleted one, where it stood.
    cell_type
        Its type afterwards.
    source
        What it said, if it was deleted; else empty.
    reply
        All that is said of the edit.
    """

    op: str
    cell_id: str
    index: int
    cell_type: str
    source: str
    reply: EditReply

    @classmethod
    def from_reply(cls, reply: EditReply) -> CellEditResult:
        """Read what was done from the reply to an edit of one operation on one cell."""
        (result,) = reply.operations
        if result.index is None or result.cell_type is None:
            message = f"Expected an operation on one cell, found {result.op!r}."
            raise TypeError(message)
        return cls(
            op=result.op,
            cell_id=f"cell-{result.index}" if result.cell_id is None else result.cell_id,
            index=result.index,
            cell_type=result.cell_type,
            source="" if result.source is UNSET else result.source,
            reply=reply,
        )

    def describe(self, notebook: str, *more: str) -> str:
        """Return a sentence that describes it.

        Parameters
        ----------
        notebook
            What the caller calls the notebook.
        *more
            Further sentences; those that the edit has as warnings come behind them.
        """
        cell = f"{self.cell_type} cell {self.cell_id} (index {self.index})"
        clears = self.reply.operations[0].outputs_cleared is True
        if self.reply.proposal_id is not UNSET:
            outputs = ["Its outputs would be cleared."] if clears else []
            said = [
                f"Proposed to {self.op} {cell} of {notebook}.",
                *outputs,
                describe_proposal(self.reply),
            ]
            return " ".join([*said, *more, *self.reply.warnings])
        if self.reply.is_written:
            total = self.reply.total_cells
            said = [f"{_VERBS[self.op]} {cell} of {notebook}, which has {total} cells now."]
        else:
            said = [f"Nothing to change: {cell} of {notebook} says this already."]
        if clears:
            said.append("Its outputs were cleared.")
        return " ".join([*said, *more, *self.reply.warnings])
