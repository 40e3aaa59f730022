"""What each way to edit notebooks is asked for, and what it costs an agent."""

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from tests.support.samples import load_cells

#: The notebook that is edited, in the root of each way.
FILE = "edited.ipynb"


class UnsupportedTask(Exception):
    """A way cannot do something; the message says why."""


class Refusal(Exception):
    """An edit was refused, and nothing was written; the message is what the agent gets."""


@dataclass(frozen=True)
class Cell:
    """A cell as the agent has read it; the id is None if it has none."""

    index: int
    cell_id: str | None
    cell_type: str
    source: str


def list_cells(content: bytes) -> list[Cell]:
    """Return the cells of a notebook."""
    return [
        # A few real notebooks have cells without a source.
        Cell(index, cell.get("id"), cell["cell_type"], "".join(cell.get("source", "")))
        for index, cell in enumerate(load_cells(content))
    ]


def dump(value: Any) -> str:
    """Return compact JSON, as it is counted."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def join_texts(result: Any) -> str:
    """Return the text blocks of the answer of a tool, as a model gets them."""
    return "\n".join(block["text"] for block in result["content"] if block["type"] == "text")


@dataclass(frozen=True)
class Cost:
    """What a task costs: round trips, and the characters of calls and answers."""

    trips: int
    characters: int


class Way(ABC):
    """A way in which an agent reads and edits a notebook: `file`, which the benchmark writes.

    A method is a task. An answer counts as the model gets it, and a call with the name of the tool
    and its arguments, or with the whole command.
    """

    name: ClassVar[str]

    def __init__(self, file: Path) -> None:
        self.file = file
        self._trips = 0
        self._characters = 0

    def take_cost(self) -> Cost:
        """Return what was counted since the last time."""
        cost = Cost(self._trips, self._characters)
        self._trips = self._characters = 0
        return cost

    def count(self, sent: str, answer: str) -> str:
        """Count one round trip; return the answer."""
        self._trips += 1
        self._characters += len(sent) + len(answer)
        return answer

    def describe_tools(self) -> str:
        """Return what a model is told of the tools before it calls one."""
        message = "no tools of its own"
        raise UnsupportedTask(message)

    @abstractmethod
    def read(self) -> str:
        """Return the notebook in the shortest form that shows each cell with its address."""

    @abstractmethod
    def change_lines(self, cell: Cell, known: str, old: str, new: str) -> None:
        """Replace `old` in the cell, of which only the text `known` is known before."""

    @abstractmethod
    def fix_error(self, cell: Cell, old: str, new: str) -> None:
        """Replace `old` in the cell whose output is an error, which must be found first."""

    @abstractmethod
    def replace(self, cell: Cell, source: str) -> None:
        """Replace the source of a cell that `read` has shown; raise `Refusal` if it is refused."""

    @abstractmethod
    def change_many(self, cells: Sequence[Cell]) -> Sequence[str]:
        """Make the changes of `tasks.MIXED`; return those that cannot be made."""

    @abstractmethod
    def build(self, cells: Sequence[Cell]) -> Path:
        """Create a notebook of these cells."""

    def undo(self) -> None:
        """Return to the notebook before `change_many`."""
        message = "no undo"
        raise UnsupportedTask(message)


class SingleEdits(Way):
    """A way that changes one cell in one call, and none that knows tags."""

    @abstractmethod
    def find(self, cell: Cell, known: str) -> None:
        """Find the cell, and see its source."""

    @abstractmethod
    def find_error(self, cell: Cell) -> None:
        """Find the cell whose output is an error, and see its source."""

    @abstractmethod
    def insert(self, index: int, cell_type: str, source: str) -> None: ...

    @abstractmethod
    def delete(self, cell: Cell) -> None: ...

    @abstractmethod
    def clear_outputs(self, cell: Cell) -> None: ...

    def replace_text(self, cell: Cell, old: str, new: str) -> None:
        self.replace(cell, cell.source.replace(old, new))

    def move(self, cell: Cell, index: int) -> None:
        """Move a cell; by default a new one takes its place, which loses its outputs."""
        self.delete(cell)
        self.insert(index, cell.cell_type, cell.source)

    def change_lines(self, cell: Cell, known: str, old: str, new: str) -> None:
        self.find(cell, known)
        self.replace_text(cell, old, new)

    def fix_error(self, cell: Cell, old: str, new: str) -> None:
        self.find_error(cell)
        self.replace_text(cell, old, new)

    def change_many(self, cells: Sequence[Cell]) -> Sequence[str]:
        """Make each change by itself, from the last cell to the first, so that indexes hold."""
        self.insert(9, "markdown", "- three")
        for cell in cells[6:8]:
            self.clear_outputs(cell)
        self.replace(cells[5], f"{cells[5].source}\n{cells[6].source}")
        self.delete(cells[6])
        first, _, second = cells[4].source.partition("\n")
        self.replace(cells[4], first)
        self.insert(5, "code", second)
        self.delete(cells[2])
        self.insert(2, "code", "y = 2")
        self.replace(cells[1], "x = 1")
        self.replace_text(cells[0], "value_0 = 0", "value_0 = 10")
        self.move(cells[3], 0)
        return ["tags"]
