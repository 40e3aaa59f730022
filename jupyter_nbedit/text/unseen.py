"""What a user has not seen, as text."""

from collections.abc import Iterator, Mapping

from jupyter_nbedit.notebook.shown_text import make_line, quote_name
from jupyter_nbedit.services.history.models import EditOrigin
from jupyter_nbedit.services.unseen.models import UnseenCell, UnseenNotebooks, UnseenReply
from jupyter_nbedit.text.history import (
    MAX_LABEL_LENGTH,
    MAX_PATH_LENGTH,
    cut_lines,
    describe_author,
    describe_part,
)

_REV_DIGITS = 8


def render_unseen(reply: UnseenReply) -> str:
    """Return what a user has not seen: each change with its key and its edits, as a diff."""
    count = len(reply.cells)
    head = (
        f"{quote_name(reply.path, MAX_PATH_LENGTH)} | {count} change{'' if count == 1 else 's'}"
        f" that you have not kept | until {reply.until} | rev {reply.hash[:_REV_DIGITS]}"
    )
    edits = {edit.edit_id: edit for edit in reply.edits}
    lines = [line for cell in reply.cells for line in _describe_cell(cell, edits)]
    note = ["<note>Older edits are left out.</note>"] if reply.truncated else []
    return "\n".join([head, *cut_lines(iter(lines)), *note])


def _describe_cell(cell: UnseenCell, edits: Mapping[int, EditOrigin]) -> Iterator[str]:
    authors = dict.fromkeys(describe_author(edits[number]) for number in cell.edit_ids)
    numbers = ", ".join(map(str, cell.edit_ids))
    noun = "edit" if len(cell.edit_ids) == 1 else "edits"
    yield f"change {cell.key} | {noun} {numbers} | {'; '.join(authors)}"
    if cell.gap is not None:
        yield f"# it was after {cell.gap} of the cells"
    yield from describe_part(cell)


def render_unseen_notebooks(reply: UnseenNotebooks) -> str:
    """Return the notebooks with unseen edits, one line for each."""
    count = len(reply.notebooks)
    lines = [f"{count} notebook{'' if count == 1 else 's'} with edits that you have not kept"]
    for notebook in reply.notebooks:
        facts = [
            quote_name(notebook.path, MAX_PATH_LENGTH),
            f"{notebook.edits} edit{'' if notebook.edits == 1 else 's'}",
            f"{notebook.time:%Y-%m-%d %H:%M}",
            *(make_line(client, MAX_LABEL_LENGTH) for client in notebook.clients),
        ]
        lines.append(" | ".join(facts))
    return "\n".join(lines)
