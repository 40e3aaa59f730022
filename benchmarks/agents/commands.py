"""The command line of this extension."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.agents.ours import find, name_cells
from benchmarks.agents.way import FILE, Cell, Refusal, Way, dump
from benchmarks.connection import Connection

#: `jupyter nbedit`, for `python -c`.
PROGRAM = "import sys; from jupyter_nbedit.cli import main; sys.exit(main())"
_OUTLINE_NAME = re.compile(r"^(\d+:[0-9a-f]{6}~?) ", re.MULTILINE)
_HIT_NAME = re.compile(r"(\d+:[0-9a-f]{6}~?) ")


class Commands(Way):
    """`jupyter nbedit ...`, in the root of a server that it finds by itself."""

    name = "ours, command line"

    def __init__(self, connection: Connection) -> None:
        root = connection.server.root
        super().__init__(root / FILE)
        runtime = str(root.parent / "runtime")
        self._environment = {**os.environ, "JUPYTER_RUNTIME_DIR": runtime}
        self._names: Sequence[str] = ()

    def run(self, *arguments: str, source: str | None = None) -> str:
        """Run a command, and count it; raise `Refusal` if it fails."""
        command = shlex.join(("jupyter", "nbedit", *arguments))
        sent = command if source is None else f"{command} <<'END'\n{source}\nEND"
        process = subprocess.run(
            (sys.executable, "-c", PROGRAM, *arguments),
            input=source,
            capture_output=True,
            text=True,
            check=False,
            cwd=self.file.parent,
            env=self._environment,
        )
        answer = self.count(sent, process.stdout + process.stderr)
        if process.returncode:
            raise Refusal(answer)
        return answer

    def read(self) -> str:
        text = self.run("read", "--outline", FILE)
        self._names = _OUTLINE_NAME.findall(text)
        return text

    def change_lines(self, cell: Cell, known: str, old: str, new: str) -> None:
        """Find the cell, whose text is not shown, and replace the text."""
        self.run("search", known, FILE)
        self.run("edit", FILE, "--old", old, "--new", new)

    def fix_error(self, cell: Cell, old: str, new: str) -> None:
        text = self.run("search", "--in", "outputs", "Error", FILE)
        self.run("read", FILE, find(_HIT_NAME, text))
        self.run("edit", FILE, "--old", old, "--new", new)

    def replace(self, cell: Cell, source: str) -> None:
        self.run("edit", FILE, "--cell", self._names[cell.index], "--source", "-", source=source)

    def change_many(self, cells: Sequence[Cell]) -> Sequence[str]:
        operations = [_adapt(operation) for operation in name_cells(self._names)]
        self.run("edit", FILE, "--operations", "-", source=dump(operations))
        return ()

    def build(self, cells: Sequence[Cell]) -> Path:
        file = self.file.with_name("built-by-command.ipynb")
        contents = [{"cell_type": cell.cell_type, "source": cell.source} for cell in cells]
        self.run("new", file.name, "--from", "-", source=dump(contents))
        return file

    def undo(self) -> None:
        self.run("undo", FILE)


def _adapt(operation: dict[str, Any]) -> dict[str, Any]:
    """Return an operation in the form of the REST API."""
    if operation["op"] == "set_tags":
        tags = {"tags": operation["tags"]}
        return {"op": "set_metadata", "cell": operation["cell"], "patch": tags}
    types = {"insert": "code", "append_to_section": "markdown"}
    cell_type = types.get(operation["op"])
    return operation if cell_type is None else {**operation, "cell_type": cell_type}
