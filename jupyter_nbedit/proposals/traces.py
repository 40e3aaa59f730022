"""Whether a notebook has what was proposed, though somebody has changed it since."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.undo.record import CellState
from jupyter_nbedit.proposals.models import Proposal, ProposedPart


def is_applied(document: Document, proposal: Proposal, parts: Collection[int]) -> bool:
    """Return whether cells look as parts of a proposal make them, and none as they were before."""
    chosen = [part for part in proposal.parts if not parts or part.part in parts]
    found = [vote for part in chosen for vote in _collect_votes(document, part)]
    return bool(found) and all(found)


def _collect_votes(document: Document, part: ProposedPart) -> Iterator[bool]:
    """Yield whether a cell is as after or as before; nothing if it is neither, or both."""
    cells = [document.get_cell(index) for index in range(len(document))]
    if part.cell_id is not None:
        cells = [cell for cell in cells if cell.id == part.cell_id]
        if part.before is None or part.after is None:
            yield bool(cells) == (part.after is not None)
            return
    said = [(cell.cell_type, cell.source) for cell in cells]
    is_after, is_before = (_is_in(said, side) for side in (part.after, part.before))
    if is_after != is_before:
        yield is_after


def _is_in(said: list[tuple[str, str]], side: CellState | None) -> bool:
    return side is not None and (side.cell_type, side.source) in said
