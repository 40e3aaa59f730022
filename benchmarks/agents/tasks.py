"""The notebooks and changes of the benchmark of agents."""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.agents.way import Cell, Refusal, Way, list_cells
from jupyter_nbedit.notebook.document import Document
from tests.support import samples
from tests.support.corpora import CORPORA
from tests.support.user_changes import TrackedCell, change_as_user

MIN_CELLS = 8
MIN_CHARACTERS = 800
NOTEBOOKS = 20

_ERROR = {
    "output_type": "error",
    "ename": "NameError",
    "evalue": "name 'valuess' is not defined",
    "traceback": ["NameError: name 'valuess' is not defined"],
}
_PRINTED = {"output_type": "stream", "name": "stdout", "text": "printed\n"}


def read_corpus() -> list[bytes]:
    """Return the real notebooks that can be parsed; none if there is no corpus."""
    files = sorted((CORPORA / "notebooks").rglob("*.ipynb"))
    return [content for file in files if _is_notebook(content := file.read_bytes())]


def _is_notebook(content: bytes) -> bool:
    try:
        list_cells(content)
        Document.parse(content)
    except Exception:  # noqa: BLE001 - some of the corpus are none, in all possible ways
        return False
    return True


def list_large(corpus: Sequence[bytes]) -> list[bytes]:
    """Return the notebooks that are not tiny."""
    return [content for content in corpus if _is_large(list_cells(content))]


def _is_large(cells: Sequence[Cell]) -> bool:
    characters = sum(len(cell.source) for cell in cells)
    return len(cells) >= MIN_CELLS and characters >= MIN_CHARACTERS


def choose_notebooks(notebooks: Sequence[bytes]) -> Sequence[bytes]:
    """Return some of the notebooks, evenly distributed."""
    return notebooks[:: max(1, len(notebooks) // NOTEBOOKS)][:NOTEBOOKS]


@dataclass(frozen=True)
class LineChange:
    """Two lines of a cell to change, and a text that only this cell has."""

    cell: Cell
    known: str
    old: str
    new: str


def choose_change(content: bytes) -> LineChange | None:
    """Return a change of the first two lines of a short code cell; None if there is none."""
    cells = list_cells(content)
    for cell in cells:
        lines = cell.source.strip().split("\n")
        known, old = lines[0].strip()[:40], "\n".join(lines[:2])
        is_short = cell.cell_type == "code" and 2 <= len(lines) <= 12
        # A text with quotes would be a matter of the shell's rules.
        is_plain = not set(old) & set("\"'\\`$!\r")
        if (
            is_short
            and is_plain
            and all(line.strip() for line in lines[:2])
            and cell.source.count(old) == 1
            and sum(known in other.source for other in cells) == 1
        ):
            new = "\n".join(f"{line}  # new" for line in lines[:2])
            return LineChange(cell, known, old, new)
    return None


def count_changed_outside(before: bytes, after: bytes, index: int) -> int:
    """Return the bytes of the lines that differ outside of a cell, which is no other cell now."""
    old, new = (Counter(_list_outside(content, index)) for content in (before, after))
    return sum(len(line) * count for line, count in ((old - new) + (new - old)).items())


def _list_outside(content: bytes, index: int) -> Iterator[bytes]:
    start, end = Document.parse(content).get_cell(index).span
    yield from content[:start].splitlines(keepends=True)
    yield from content[end:].splitlines(keepends=True)


# Ten mixed changes --------------------------------------------------------------------------------

#: The changes, as operations of this extension; a number stands for a cell.
MIXED: Sequence[dict[str, object]] = (
    {"op": "replace_text", "cell": 0, "old": "value_0 = 0", "new": "value_0 = 10"},
    {"op": "replace", "cell": 1, "source": "x = 1"},
    {"op": "insert", "after": 1, "source": "y = 2"},
    {"op": "delete", "cell": 2},
    {"op": "move", "cell": 3, "at": "start"},
    {"op": "split", "cell": 4, "at_line": 2},
    {"op": "merge", "cells": [5, 6]},
    {"op": "clear_outputs", "all": True},
    {"op": "set_tags", "cell": 7, "tags": ["parameters"]},
    {"op": "append_to_section", "section": "Results", "source": "- three"},
)


def build_mixed() -> bytes:
    """Make the notebook for these changes, without ids, as most notebooks are."""
    printed = {6: [_PRINTED], 7: [_PRINTED]}
    cells = [
        samples.code(f"value_{n} = {n}\nprint(value_{n})", outputs=printed.get(n, []))
        for n in range(8)
    ]
    cells += [samples.markdown("# Results\n- one\n- two"), samples.markdown("# End")]
    return samples.notebook(*cells, minor=4)


def check_mixed(content: bytes, unsupported: Sequence[str]) -> None:
    """Raise RuntimeError if the changes were not made, apart from those that cannot be made."""
    cells = samples.load_cells(content)
    expected = [
        "value_3 = 3\nprint(value_3)",
        "value_0 = 10\nprint(value_0)",
        "x = 1",
        "y = 2",
        "value_4 = 4",
        "print(value_4)",
        "value_5 = 5\nprint(value_5)\nvalue_6 = 6\nprint(value_6)",
        "value_7 = 7\nprint(value_7)",
        "# Results\n- one\n- two",
        "- three",
        "# End",
    ]
    found = ["".join(cell["source"]) for cell in cells]
    tags = cells[7]["metadata"].get("tags")
    if (
        found != expected
        or ("tags" not in unsupported and tags != ["parameters"])
        or any(cell.get("outputs") for cell in cells)
    ):
        message = f"The ten changes were not made: {found}, {tags}"
        raise RuntimeError(message)


# An error, and a new notebook ---------------------------------------------------------------------

WRONG, RIGHT = "valuess", "values"
_FAILED = 17


def build_failed() -> tuple[bytes, Cell]:
    """Make a notebook of 30 cells, one of which has failed."""
    cells = [
        samples.code(f"values = list(range({n}))\nlen(values)")
        if n % 3
        else samples.markdown(f"## Step {n}\nOf the long calculation.")
        for n in range(30)
    ]
    source = f"values = [1, 2, 3]\ntotal = sum({WRONG})\ntotal"
    cells[_FAILED] = samples.code(source, outputs=[_ERROR], execution_count=4)
    return samples.notebook(*cells, minor=4), Cell(_FAILED, None, "code", source)


def list_new_cells() -> list[Cell]:
    """Return twelve cells for a new notebook."""
    return [
        Cell(n, None, "code", f"part_{n} = {n}\npart_{n}")
        if n % 2
        else Cell(n, None, "markdown", f"## Part {n}\nA line of text.")
        for n in range(12)
    ]


# Races --------------------------------------------------------------------------------------------


def race(way: Way, chance: random.Random) -> str:
    """Let an agent edit what it has read, after the user has changed the notebook.

    Return what happened: `right`, `refused`, `copy` (the cell that was read is changed or deleted,
    and the edit went to another one with the same source), `overwritten` (the user has typed into
    the cell since, and that is lost) or `wrong cell`.
    """
    has_ids = chance.random() < 0.5
    cells = [TrackedCell(number, chance.choice("abcdefgh")) for number in range(6)]
    read = _write(way, cells, has_ids=has_ids)
    way.read()
    index = chance.randrange(len(cells))
    meant = cells[index]
    before = read
    # Two cells with the same source, without ids, may have been swapped: that is no change.
    while before == read:
        for step in range(chance.randint(1, 4)):
            change_as_user(cells, chance, 100 + step)
        before = _write(way, cells, has_ids=has_ids)
    try:
        way.replace(list_cells(read)[index], "by the agent")
    except Refusal:
        if way.file.read_bytes() != before:
            message = f"{way.name} refused an edit, and has written."
            raise RuntimeError(message) from None
        return "refused"
    after = [cell.source for cell in list_cells(way.file.read_bytes())]
    (edited,) = [i for i, cell in enumerate(cells) if after[i] != cell.source]
    if cells[edited] == meant:
        return "right"
    if cells[edited].number == meant.number:
        return "overwritten"
    is_copy = cells[edited].source == meant.source and meant not in cells
    return "copy" if is_copy else "wrong cell"


def _write(way: Way, cells: Sequence[TrackedCell], *, has_ids: bool) -> bytes:
    parts = [samples.code(cell.source, f"id-{cell.number}" if has_ids else None) for cell in cells]
    content = samples.notebook(*parts, minor=5 if has_ids else 4)
    way.file.write_bytes(content)
    return content
