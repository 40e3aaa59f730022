"""jupyter-ai-tools, the tools of Jupyter AI.

They act in an open page of JupyterLab, also to read. Without a browser there are their definitions,
and the text of `read_notebook` by the function that makes it.
"""

import json
import subprocess
from pathlib import Path
from typing import Any, NoReturn

from benchmarks.agents.way import FILE, UnsupportedTask, Way
from benchmarks.peers import install_peers

AI_TOOLS = "jupyter-ai-tools"
# Jupyter AI gives them to agents over MCP; an SDK makes the schemas.
_DESCRIBE = """
import json
from jupyter_ai_tools.toolkits import jupyterlab, notebook
from mcp.server.mcpserver.tools import Tool
tools = [Tool.from_function(each) for each in (*notebook.toolkit, *jupyterlab.toolkit)]
shown = [
    {"name": each.name, "description": each.description, "inputSchema": each.parameters}
    for each in tools
]
print(json.dumps(shown, ensure_ascii=False, separators=(",", ":")))
"""
_READ = """
import json, sys
from jupyter_ai_tools.utils import notebook_json_to_md
for path in sys.stdin:
    with open(path[:-1], encoding="utf-8") as file:
        text = notebook_json_to_md(json.load(file), include_outputs=False)
    print(json.dumps(text), flush=True)
"""


class JupyterAiTools(Way):
    """What can be had without a browser: reading."""

    name = AI_TOOLS

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / FILE)
        self._python = install_peers() / "bin" / "python"
        self._reader: subprocess.Popen[str] | None = None

    def close(self) -> None:
        """End its process."""
        if self._reader is not None:
            self._reader.communicate()

    def describe_tools(self) -> str:
        command = (self._python, "-c", _DESCRIBE)
        process = subprocess.run(command, capture_output=True, text=True, check=True)
        return process.stdout.strip()

    def read(self) -> str:
        if self._reader is None:
            self._reader = subprocess.Popen(
                (self._python, "-c", _READ),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        reader = self._reader
        assert reader.stdin is not None
        assert reader.stdout is not None
        reader.stdin.write(f"{self.file}\n")
        reader.stdin.flush()
        text: str = json.loads(reader.stdout.readline())
        return self.count(f"read_notebook {FILE}", text)

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        message = "needs a browser"
        raise UnsupportedTask(message)

    change_lines = fix_error = replace = change_many = build = _refuse
