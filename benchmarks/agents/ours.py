"""The tools of this extension."""

import re
from abc import abstractmethod
from collections.abc import Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any

from benchmarks.agents.tasks import MIXED
from benchmarks.agents.way import FILE, Cell, Refusal, Way, dump, join_texts
from benchmarks.connection import Connection

_OUTLINE_NAME = re.compile(r"^(\d+:[0-9a-f]{6}~?) ", re.MULTILINE)
_CELL_NAME = re.compile(r"^<cell ([^\s>]+)", re.MULTILINE)
_REV = re.compile(r"\brev ([0-9a-f]{8})")


class OurTools(Way):
    """The five tools; how a call reaches them is the matter of subclasses."""

    def __init__(self, file: Path) -> None:
        super().__init__(file)
        self._names: Sequence[str] = ()
        self._rev = ""

    @abstractmethod
    def request(self, method: str, parameters: dict[str, Any]) -> Any:
        """Send a request of the protocol; return its result."""

    def send(self, tool: str, arguments: dict[str, Any]) -> tuple[bool, str]:
        """Call a tool; return whether it has succeeded, and the text of the answer."""
        result = self.request("tools/call", {"name": tool, "arguments": arguments})
        return not result.get("isError"), join_texts(result)

    def call(self, tool: str, **arguments: Any) -> str:
        """Call a tool, and count it; raise `Refusal` if it has not succeeded."""
        is_done, text = self.send(tool, arguments)
        self.count(tool + dump(arguments), text)
        if not is_done:
            raise Refusal(text)
        return text

    def read(self) -> str:
        text = self.call("notebook_read", path=self.file.name, view="outline")
        self._names = _OUTLINE_NAME.findall(text)
        self._rev = find(_REV, text)
        return text

    def read_automatically(self) -> str:
        """Return what a model gets that asks for nothing special."""
        return self.call("notebook_read", path=self.file.name)

    def change_lines(self, cell: Cell, known: str, old: str, new: str) -> None:
        text = self.call("notebook_search", text=known, folder=self.file.name)
        self._replace_text(find(_CELL_NAME, text), old, new)

    def fix_error(self, cell: Cell, old: str, new: str) -> None:
        where = {"folder": self.file.name, "in": "outputs"}
        text = self.call("notebook_search", text="Error", **where)
        self._replace_text(find(_CELL_NAME, text), old, new)

    def _replace_text(self, name: str, old: str, new: str) -> None:
        self._edit({"op": "replace_text", "cell": name, "old": old, "new": new})

    def _edit(self, *operations: dict[str, Any], **fields: Any) -> str:
        return self.call(
            "notebook_edit", path=self.file.name, operations=list(operations), **fields
        )

    def replace(self, cell: Cell, source: str) -> None:
        name = self._names[cell.index]
        # The version is only needed for a cell that is not the only one with its source.
        hashes = [each.partition(":")[2] for each in self._names]
        is_unique = hashes.count(name.partition(":")[2]) == 1
        version = {} if is_unique else {"rev": self._rev}
        self._edit({"op": "replace", "cell": name, "source": source}, **version)

    def replace_shown(self, refusal: Refusal, source: str) -> None:
        """Replace the source of the cell that a refusal has shown."""
        name = find(_CELL_NAME, str(refusal))
        self._edit({"op": "replace", "cell": name, "source": source})

    def change_many(self, cells: Sequence[Cell]) -> Sequence[str]:
        self._edit(*name_cells(self._names))
        return ()

    def build(self, cells: Sequence[Cell]) -> Path:
        file = self.file.with_name("built.ipynb")
        contents = [{"cell_type": cell.cell_type, "source": cell.source} for cell in cells]
        self.call("notebook_create", path=file.name, cells=contents)
        return file

    def undo(self) -> None:
        self.call("notebook_history", action="undo", path=self.file.name)


class McpEndpoint(OurTools):
    """The tools, by requests to the MCP endpoint of the Jupyter server."""

    name = "ours, MCP"

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection.server.root / FILE)
        self._connection = connection
        self._requests = 0

    def describe_tools(self) -> str:
        return dump(self.request("tools/list", {})["tools"])

    def request(self, method: str, parameters: dict[str, Any]) -> Any:
        self._requests += 1
        message = {"jsonrpc": "2.0", "id": self._requests, "method": method, "params": parameters}
        status, answer = self._connection.request("POST", "/nbedit/mcp", message)
        if status != HTTPStatus.OK or "result" not in answer:
            error = f"{method}: {status} {str(answer)[:500]}"
            raise RuntimeError(error)
        return answer["result"]


def name_cells(names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the mixed changes with the names of the cells."""

    def name(value: Any) -> Any:
        if isinstance(value, list) and value and isinstance(value[0], int):
            return [names[index] for index in value]
        return names[value] if type(value) is int else value

    return [
        {key: value if key == "at_line" else name(value) for key, value in operation.items()}
        for operation in MIXED
    ]


def find(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    if found is None:
        message = f"Expected {pattern.pattern!r} in an answer, found: {text[:500]}"
        raise RuntimeError(message)
    return found[1]
