"""Find out whether a proposal was applied to a notebook that has changed since."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.undo.record import CellState
from jupyter_nbedit.proposals.models import Proposal, ProposedPart


def is_applied(document: Document, proposal: Proposal, parts: Collection[int]) -> bool:
    """Return whether the document has cells as the parts make them, and none as they were before.

    Parameters
    ----------
    document
        The notebook.
    proposal
        The proposal.
    parts
        The numbers of the parts to look for; empty for all.
    """
    selected_parts = [part for part in proposal.parts if not parts or part.part in parts]
    votes = [vote for part in selected_parts for vote in _collect_votes(document, part)]
    return bool(votes) and all(votes)


def _collect_votes(document: Document, part: ProposedPart) -> Iterator[bool]:
    """Yield whether the part was applied; nothing if its cell has both states, or none of them."""
    cells = [document.get_cell(index) for index in range(len(document))]
    if part.cell_id is not None:
        cells = [cell for cell in cells if cell.id == part.cell_id]
        if part.before is None or part.after is None:
            yield bool(cells) == (part.after is not None)
            return
    states = [(cell.cell_type, cell.source) for cell in cells]
    has_after, has_before = (_has_state(states, state) for state in (part.after, part.before))
    if has_after != has_before:
        yield has_after


def _has_state(states: list[tuple[str, str]], state: CellState | None) -> bool:
    return state is not None and (state.cell_type, state.source) in states
