"""jupyter-mcp-server in a Jupyter server."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.agents.way import Cell, Refusal, SingleEdits, dump, join_texts
from benchmarks.peers import MCP, McpServer, PeerError

# The name under which the server knows the notebook from its start.
_NOTEBOOK = "default"


class JupyterMcpServer(SingleEdits):
    """Its tools. They take ids of cells, but no answer shows a model one, so that indexes remain.

    An answer is its structured content, as Claude Code and VS Code give it to the model.
    """

    name = MCP

    def __init__(self, server: McpServer) -> None:
        super().__init__(server.file)
        self._server = server

    def describe_tools(self) -> str:
        return dump(self._server.request("tools/list", {})["tools"])

    def call(self, tool: str, **arguments: Any) -> str:
        """Call a tool, and count it; raise `Refusal` if it has not succeeded."""
        sent = tool + dump(arguments)
        try:
            result = self._server.request("tools/call", {"name": tool, "arguments": arguments})
        except PeerError as error:
            # What a tool refuses is an error of the protocol.
            raise Refusal(self.count(sent, str(error))) from error
        structured = result.get("structuredContent")
        text = join_texts(result) if structured is None else dump(structured)
        self.count(sent, text)
        if result.get("isError"):
            raise Refusal(text)
        return text

    def read(self) -> str:
        return self.call("read_notebook", notebook_name=_NOTEBOOK, limit=0)

    def find(self, cell: Cell, known: str) -> None:
        """Find it in the first lines of all cells; only then its other lines can be seen."""
        self.read()
        self.call("read_cell", cell_index=cell.index, include_outputs=False)

    def find_error(self, cell: Cell) -> None:
        self.call("read_notebook", notebook_name=_NOTEBOOK, limit=0, response_format="detailed")

    def replace_text(self, cell: Cell, old: str, new: str) -> None:
        self.call("edit_cell_source", cell_index=cell.index, old_string=old, new_string=new)

    def replace(self, cell: Cell, source: str) -> None:
        self.call("overwrite_cell_source", cell_index=cell.index, cell_source=source)

    def insert(self, index: int, cell_type: str, source: str) -> None:
        self.call("insert_cell", cell_index=index, cell_type=cell_type, cell_source=source)

    def delete(self, cell: Cell) -> None:
        self.call("delete_cell", cell_indices=[cell.index], include_source=False)

    def move(self, cell: Cell, index: int) -> None:
        self.call("move_cell", source_index=cell.index, target_index=index)

    def clear_outputs(self, cell: Cell) -> None:
        self.call("clear_cell_output", cell_index=cell.index)

    def build(self, cells: Sequence[Cell]) -> Path:
        """Create a notebook, which has one cell, and insert the others."""
        file = self.file.with_name("built.ipynb")
        self.call("use_notebook", notebook_name="built", notebook_path=file.name, mode="create")
        for cell in cells:
            self.insert(-1, cell.cell_type, cell.source)
        self.delete(Cell(0, None, "markdown", ""))
        self.call("use_notebook", notebook_name=_NOTEBOOK, notebook_path=self.file.name)
        return file
