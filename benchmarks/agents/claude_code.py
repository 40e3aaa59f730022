"""What Claude Code does without any server: `Read` and `NotebookEdit`.

They are re-enacted with the toolset `claude_code` of this extension, which has their names, fields
and rules: a cell has an id or is `cell-N`, and a file that has changed since it was read must be
read again. Its descriptions are our own, and are not counted.
"""

from collections.abc import Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any

from benchmarks.agents.way import FILE, Cell, Refusal, SingleEdits, dump, join_texts
from benchmarks.connection import Connection
from tests.support import samples


class ClaudeCode(SingleEdits):
    """Calls the toolset over its own route; outputs are what `Read` shows of them."""

    name = "Claude Code's NotebookEdit"

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection.server.root / FILE)
        self._connection = connection

    def call(self, tool: str, **arguments: Any) -> str:
        """Call a tool, and count it; raise `Refusal` if it has not succeeded."""
        status, answer = self._connection.request(
            "POST", f"/nbedit/tools/claude_code/{tool}", arguments
        )
        text = self.count(tool + dump(arguments), join_texts(answer))
        if status != HTTPStatus.OK:
            raise Refusal(text)
        return text

    def _edit(self, **arguments: Any) -> None:
        self.call("NotebookEdit", notebook_path=str(self.file), **arguments)

    def read(self) -> str:
        return self.call("Read", file_path=str(self.file))

    def find(self, cell: Cell, known: str) -> None:
        self.read()

    def find_error(self, cell: Cell) -> None:
        self.read()

    def replace(self, cell: Cell, source: str) -> None:
        self._edit(cell_id=_name(cell), new_source=source)

    def insert(self, index: int, cell_type: str, source: str) -> None:
        # After the cell before it. Notebooks of this task have no ids.
        after = {"cell_id": f"cell-{index - 1}"} if index else {}
        self._edit(**after, new_source=source, cell_type=cell_type, edit_mode="insert")

    def delete(self, cell: Cell) -> None:
        self._edit(cell_id=_name(cell), new_source="", edit_mode="delete")

    def clear_outputs(self, cell: Cell) -> None:
        # Any edit clears them.
        self.replace(cell, cell.source)

    def build(self, cells: Sequence[Cell]) -> Path:
        """Write the notebook as JSON, in one call."""
        file = self.file.with_name("built-by-claude-code.ipynb")
        contents = [samples.cell(cell.cell_type, cell.source) for cell in cells]
        content = samples.notebook(*contents, minor=4).decode()
        self.call("Write", file_path=str(file), content=content)
        return file


def _name(cell: Cell) -> str:
    return cell.cell_id or f"cell-{cell.index}"
