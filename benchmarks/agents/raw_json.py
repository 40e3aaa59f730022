"""The file as a text: `grep`, and exact replacements as coding agents make them."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import msgspec

from benchmarks.agents.way import FILE, Cell, Refusal, Way, dump
from jupyter_nbedit.notebook.apply_batch import apply_operations
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.operations import Operation
from jupyter_nbedit.notebook.splices import apply_splices
from tests.support import samples

_ANSWER = "The file {} has been updated successfully."


class RawJson(Way):
    """Replaces a part of the file, given as it is, if the file has it exactly once.

    What a model would have to write is computed: the lines that differ, and as many around them
    as make them unique. A change is made alone, so that the next one is made in what it left.
    """

    name = "exact replacement in the JSON"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / FILE)
        self._text = ""

    def read(self) -> str:
        self._text = self.file.read_text()
        return self.count(f"cat {FILE}", self._text)

    def _grep(self, known: str) -> None:
        command = ("grep", "-n", "-F", "-A3", "--", known, FILE)
        found = subprocess.run(
            command, cwd=self.file.parent, capture_output=True, text=True, check=True
        )
        self.count(" ".join(command), found.stdout)
        self._text = self.file.read_text()

    def _change(self, **operation: object) -> None:
        """Make a change of the notebook as it was read."""
        document = Document.parse(self._text.encode())
        operations = msgspec.convert([operation], list[Operation])
        plan = apply_operations(document, operations, fresh_id=lambda: "abcd1234")
        after = apply_splices(document.text[:], plan.splices).decode()
        self._replace(*find_replacement(self._text, after))

    def _replace(self, old: str, new: str) -> None:
        text = self.file.read_text()
        is_made = text.count(old) == 1
        answer = _ANSWER.format(FILE) if is_made else "String to replace not found, or not unique."
        self.count("Edit" + dump({"file_path": FILE, "old_string": old, "new_string": new}), answer)
        if not is_made:
            raise Refusal(answer)
        self._text = text.replace(old, new)
        self.file.write_text(self._text)

    def change_lines(self, cell: Cell, known: str, old: str, new: str) -> None:
        self._grep(known)
        self._change(op="replace_text", cell=cell.index, old=old, new=new, outputs="keep")

    def fix_error(self, cell: Cell, old: str, new: str) -> None:
        self._grep("Error")
        # The lines around the output do not show the source.
        self._grep(old)
        self._change(op="replace_text", cell=cell.index, old=old, new=new, outputs="keep")

    def replace(self, cell: Cell, source: str) -> None:
        self._change(op="replace", cell=cell.index, source=source, outputs="keep")

    def change_many(self, cells: Sequence[Cell]) -> Sequence[str]:
        """Make each change by itself, from the last cell to the first, so that indexes hold."""
        self._text = self.file.read_text()
        self._change(op="insert", after=8, cell_type="markdown", source="- three")
        self._change(op="set_metadata", cell=7, patch={"tags": ["parameters"]})
        for cell in cells[6:8]:
            self._change(op="clear_outputs", cells=[cell.index])
        self._change(op="merge", cells=[5, 6])
        self._change(op="split", cell=4, at_line=2)
        self._change(op="delete", cell=2)
        self._change(op="insert", after=1, cell_type="code", source="y = 2")
        self.replace(cells[1], "x = 1")
        self._change(op="replace_text", cell=0, old="value_0 = 0", new="value_0 = 10")
        self._change(op="move", cell=3, at="start")
        return ()

    def build(self, cells: Sequence[Cell]) -> Path:
        file = self.file.with_name("built.ipynb")
        contents = [samples.cell(cell.cell_type, cell.source) for cell in cells]
        content = samples.notebook(*contents, minor=4)
        file.write_bytes(content)
        arguments = {"file_path": file.name, "content": content.decode()}
        self.count("Write" + dump(arguments), _ANSWER.format(file.name))
        return file


def find_replacement(before: str, after: str) -> tuple[str, str]:
    """Return whole lines that differ, and what replaces them; the old ones are there once."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    start = _count_same(old, new)
    stop = min(_count_same(old[::-1], new[::-1]), min(len(old), len(new)) - start)
    while True:
        shown = "".join(old[start : len(old) - stop])
        if shown and before.count(shown) == 1:
            return shown, "".join(new[start : len(new) - stop])
        # One more line before it, or behind it if there is none.
        start, stop = (start - 1, stop) if start else (0, stop - 1)


def _count_same(first: Sequence[str], second: Sequence[str]) -> int:
    """Return how many of the first lines are the same."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(first), len(second)))
