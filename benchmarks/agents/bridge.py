"""The bridge of this extension: MCP on standard input and output."""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.agents.commands import PROGRAM
from benchmarks.agents.ours import OurTools
from benchmarks.agents.way import FILE

_INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "benchmark", "version": "1"},
}


class Bridge(OurTools):
    """The tools, by `jupyter nbedit mcp`, which finds the server of a folder by itself."""

    name = "ours, bridge"

    def __init__(self, root: Path) -> None:
        super().__init__(root / FILE)
        self._process = subprocess.Popen(
            (sys.executable, "-c", PROGRAM, "mcp", "--root", root),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={
                **os.environ,
                "JUPYTER_CONFIG_DIR": str(root.parent / "config"),
                "JUPYTER_DATA_DIR": str(root.parent / "data"),
                "JUPYTER_RUNTIME_DIR": str(root.parent / "runtime"),
            },
        )
        self._requests = 0

    def close(self) -> None:
        """End the bridge as its client does."""
        self._process.communicate()

    def start(self) -> int:
        """Do what a client does at its start; return the number of tools."""
        self.request("initialize", _INITIALIZE)
        return len(self.request("tools/list", {})["tools"])

    def request(self, method: str, parameters: dict[str, Any]) -> Any:
        self._requests += 1
        message = {"jsonrpc": "2.0", "id": self._requests, "method": method, "params": parameters}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{json.dumps(message)}\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        if "result" not in answer:
            error = f"{method}: {str(answer)[:500]}"
            raise RuntimeError(error)
        return answer["result"]


def measure_start(root: Path) -> float:
    """Return the seconds of CPU of a bridge that is started, lists its tools, and is ended."""
    before = _measure_children()
    bridge = Bridge(root)
    bridge.start()
    bridge.close()
    return _measure_children() - before


def _measure_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
