"""Run ``jupyter nbedit mcp`` as a client does, and talk to it line by line."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.waiting import LIMIT_SECONDS

COMMAND = (
    sys.executable,
    "-c",
    "import sys; from jupyter_nbedit.cli import main; sys.exit(main())",
)


def build_environment(folder: Path) -> dict[str, str]:
    """Return the environment in which the servers of a folder are found; see `start_server`."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("JUPYTER", "NBEDIT", "CLAUDE"))
    }
    names = {
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
    }
    return {**inherited, **{variable: str(folder / name) for variable, name in names.items()}}


class Bridge:
    """A running bridge; its standard error must stay empty."""

    def __init__(
        self, cwd: Path, environment: Mapping[str, str], *options: str, client: str = "Test Client"
    ) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, "mcp", *options],
            cwd=cwd,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._number = 0
        self._replies: dict[Any, dict[str, Any]] = {}
        info = {"name": client, "version": "1"}
        parameters = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
        assert "result" in self.request("initialize", **parameters)

    def write(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def read(self) -> Any:
        """Return the next line that it writes."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.endswith(b"\n"), line
        return json.loads(line)

    def send(self, method: str, **parameters: Any) -> int:
        """Send a request; return its id."""
        self._number += 1
        content = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": parameters}
        self.write(json.dumps(content).encode())
        return self._number

    def wait(self, number: int) -> dict[str, Any]:
        """Return the reply to a request; others may come before."""
        while number not in self._replies:
            reply = self.read()
            self._replies[reply["id"]] = reply
        return self._replies.pop(number)

    def request(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self.wait(self.send(method, **parameters))

    def call(self, tool: str, **arguments: Any) -> str:
        """Call a tool that succeeds; return its text."""
        result = self.request("tools/call", name=tool, arguments=arguments)["result"]
        text = "\n".join(block["text"] for block in result["content"])
        assert not result["isError"], text
        return text

    def fail(self, tool: str, **arguments: Any) -> str:
        """Call a tool that fails; return its text."""
        result = self.request("tools/call", name=tool, arguments=arguments)["result"]
        assert result["isError"], result
        (block,) = result["content"]
        return str(block["text"])

    def close(self) -> int:
        """End its input, and return its exit code."""
        _, errors = self.process.communicate(timeout=LIMIT_SECONDS)
        assert errors == b""
        return self.process.returncode

    def kill(self) -> None:
        """End it whatever it does."""
        self.process.kill()
        self.process.communicate()
