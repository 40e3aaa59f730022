"""The server of the tests, as an agent or another program uses it."""

import json
import urllib.parse
import urllib.request
from typing import Any

from lab_server import LabServer


def replace(cell: str, source: str) -> dict[str, str]:
    """Make the operation that replaces the source of a cell."""
    return {"op": "replace", "cell": cell, "source": source}


def make_source(index: int) -> str:
    """Make the source that a cell of a new notebook has."""
    return f"first = {index}\nsecond = {index}\nprint(first)"


class Server:
    """A JupyterLab with the extension, and the folder of its notebooks."""

    def __init__(self, lab: LabServer) -> None:
        self.lab = lab
        # JupyterLab would ask whether it may fetch news, over the notebook.
        settings = {"raw": json.dumps({"fetchNews": "false", "checkForUpdates": False})}
        self.request(
            "PUT", "lab/api/settings/@jupyterlab/apputils-extension:notification", settings
        )

    def get_login_address(self) -> str:
        """Return the address of an empty JupyterLab, for a browser that is not logged in."""
        return f"{self.lab.url}/lab?reset&token={self.lab.token}"

    def request(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        request = urllib.request.Request(  # noqa: S310 - http, and our own
            f"{self.lab.url}/{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Authorization": f"token {self.lab.token}",
                "Content-Type": "application/json",
            },
        )
        with urllib.request.urlopen(request, timeout=120) as reply:  # noqa: S310 - as above
            content = reply.read()
        return json.loads(content) if content else None

    def edit(
        self, path: str, *operations: dict[str, Any], client: str = "Claude"
    ) -> dict[str, Any]:
        body = {"operations": operations, "client": client, "message": "Tidy up"}
        address = f"nbedit/notebooks/{urllib.parse.quote(path)}"
        reply: dict[str, Any] = self.request("PATCH", address, body)
        return reply

    def set_mode(self, path: str, mode: str | None) -> None:
        """Set whether edits of a notebook are only proposed."""
        self.request("PUT", "nbedit/mode", {"path": path, "mode": mode})

    def write_notebook(self, path: str, cells: int) -> None:
        """Write a notebook with cells c0, c1 and so on, with outputs."""
        content = [_make_cell(index) for index in range(cells)]
        self.write_json(
            path, {"cells": content, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
        )
        # Another browser may have had a notebook of this name.
        self.request("DELETE", f"nbedit/notebooks/{urllib.parse.quote(path)}/history")

    def write_json(self, path: str, content: dict[str, Any]) -> None:
        """Write a file as another program does."""
        (self.lab.root / path).write_text(json.dumps(content, indent=1) + "\n")

    def change_outside(self, path: str, cell: str, source: str) -> None:
        """Change the source of a cell as another program does."""
        notebook = json.loads((self.lab.root / path).read_text())
        for found in notebook["cells"]:
            if found["id"] == cell:
                found["source"] = source
        self.write_json(path, notebook)


def _make_cell(index: int) -> dict[str, Any]:
    output = {"output_type": "stream", "name": "stdout", "text": [f"{index}\n"]}
    return {
        "cell_type": "code",
        "id": f"c{index}",
        "metadata": {},
        "source": make_source(index),
        "execution_count": index + 1,
        "outputs": [output],
    }
