"""nb-cli, a command for each step."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from benchmarks.agents.way import FILE, Cell, Refusal, SingleEdits
from benchmarks.peers import NB_CLI, NbCli, PeerError


class NbCommands(SingleEdits):
    """Its commands, on files; sources come from standard input, by a here document."""

    name = NB_CLI

    def __init__(self, program: NbCli, folder: Path) -> None:
        super().__init__(folder / FILE)
        self._program = program

    def run(self, *arguments: str, source: str | None = None) -> str:
        """Run a command, and count it; raise `Refusal` if it fails."""
        command = shlex.join(("nb", *arguments))
        sent = command if source is None else f"{command} <<'END'\n{source}\nEND"
        try:
            answer = self._program.run(*arguments, folder=self.file.parent, source=source)
        except PeerError as error:
            self.count(sent, str(error))
            raise Refusal(str(error)) from error
        return self.count(sent, answer)

    def read(self) -> str:
        return self.run("read", "--no-output", FILE)

    def find(self, cell: Cell, known: str) -> None:
        self.run("search", FILE, known)

    def find_error(self, cell: Cell) -> None:
        self.run("search", "--with-errors", FILE)

    def replace(self, cell: Cell, source: str) -> None:
        self.run("cell", "update", *_name(cell), "-s", "-", FILE, source=source)

    def insert(self, index: int, cell_type: str, source: str) -> None:
        self.run("cell", "add", "-t", cell_type, "-i", str(index), "-s", "-", FILE, source=source)

    def delete(self, cell: Cell) -> None:
        self.run("cell", "delete", *_name(cell), FILE)

    def clear_outputs(self, cell: Cell) -> None:
        self.run("output", "clear", *_name(cell), FILE)

    def build(self, cells: Sequence[Cell]) -> Path:
        """Create a notebook, which has one cell, and add all others at once."""
        file = self.file.with_name("built.ipynb")
        self.run("create", file.name)
        sources = "\n".join(f"@@{cell.cell_type}\n{cell.source}" for cell in cells)
        self.run("cell", "add", "-s", "-", file.name, source=sources)
        self.run("cell", "delete", "-i", "0", file.name)
        return file


def _name(cell: Cell) -> tuple[str, str]:
    return ("-i", str(cell.index)) if cell.cell_id is None else ("-c", cell.cell_id)
