"""What an edit of one cell has done, as all dialects tell it."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec import UNSET

from jupyter_nbedit.messages import EditReply

_VERBS = {"replace": "Replaced", "insert": "Inserted", "delete": "Deleted"}


@dataclass(frozen=True)
class Done:
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
    def of(cls, reply: EditReply) -> Done:
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

    def sentence(self, notebook: str, *more: str) -> str:
        """Tell it to people.

        Parameters
        ----------
        notebook
            What the caller calls the notebook.
        *more
            Further sentences; those that the edit has as warnings come behind them.
        """
        cell = f"{self.cell_type} cell {self.cell_id} (index {self.index})"
        if self.reply.edit_id is None:
            said = [f"Nothing to change: {cell} of {notebook} says this already."]
        else:
            total = self.reply.total_cells
            said = [f"{_VERBS[self.op]} {cell} of {notebook}, which has {total} cells now."]
        if self.reply.operations[0].outputs_cleared is True:
            said.append("Its outputs were cleared.")
        return " ".join([*said, *more, *self.reply.warnings])
