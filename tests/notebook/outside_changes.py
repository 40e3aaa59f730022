"""What another program makes of a notebook, from random numbers."""

from typing import Any

from jupyter_nbedit.errors import NbEditError
from jupyter_nbedit.notebook.document import Document
from tests.notebook.oracle import edit
from tests.notebook.random_operations import CELL_OPERATIONS, RandomOperations, rewrite
from tests.notebook.strategies import FileLayout


def change_at_random(text: bytes, layout: FileLayout, seed: int) -> bytes:
    """Change a notebook as another program does: some of its cells, and maybe all white space."""
    document = Document.parse(text)
    drawn = RandomOperations(seed, len(document))
    for _ in range(drawn.random.randrange(4)):
        try:
            plan = edit(document, drawn.operation(drawn.random.choice(CELL_OPERATIONS)))
        except NbEditError:
            continue
        document = document.apply_splices(plan.splices)
        drawn.total = len(document)

    def rearrange(cells: list[Any]) -> None:
        if drawn.random.random() < 0.3:
            drawn.random.shuffle(cells)
        if cells and drawn.random.random() < 0.2:
            cells.append(cells[0])

    text = document.text[:]
    return text if drawn.random.random() < 0.4 else rewrite(text, layout, rearrange)
