"""Requests for one notebook, named as in the REST API, and its file."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support import samples
from tests.support.http import Answer, Client


def get_number(answer: Answer, status: int, name: str) -> int:
    """Check the status of an answer and return one of its numbers."""
    assert answer.status == status, answer.body
    number: int = answer.json[name]
    return number


@dataclass(frozen=True)
class Notebook:
    """A notebook on a server; members of a body are keyword arguments, as are ``headers``."""

    server: Client
    path: str

    # Requests ----------------------------------------------------------------------------------

    def patch(self, *operations: Mapping[str, Any], **fields: Any) -> Answer:
        """Send a batch of operations."""
        return self.server.patch(self.path, *operations, **fields)

    def send(self, body: bytes, headers: Mapping[str, str] | None = None) -> Answer:
        """Send a batch as it is."""
        return self.server.send(self.path, body, headers)

    def edit(self, *operations: Mapping[str, Any], **fields: Any) -> int:
        """Send a batch, which must be written; return the number of the edit."""
        return get_number(self.patch(*operations, **fields), 200, "edit_id")

    def propose(self, *operations: Mapping[str, Any], **fields: Any) -> int:
        """Send a batch in mode ``review``; return the number of the proposal."""
        return get_number(self.patch(*operations, **fields), 202, "proposal_id")

    def read(self, headers: Mapping[str, str] | None = None, **query: Any) -> Answer:
        """Read the notebook."""
        return self.server.read(self.path, headers, **query)

    def post(self, verb: str, **body: Any) -> Answer:
        """Send what is done with the whole notebook: ``undo`` and the like."""
        headers = body.pop("headers", None)
        return self.send_json("POST", verb, body, headers)

    def undo(self, **body: Any) -> Answer:
        """Undo an edit, or what is unseen of some cells."""
        return self.post("undo", **body)

    def redo(self, **body: Any) -> Answer:
        """Redo what was undone."""
        return self.post("redo", **body)

    def restore(self, **body: Any) -> Answer:
        """Restore the state after an edit."""
        return self.post("restore", **body)

    def keep(self, **body: Any) -> Answer:
        """Keep unseen changes."""
        return self.post("keep", **body)

    def get(self, below: str, headers: Mapping[str, str] | None = None) -> Answer:
        """Read a route below the notebook."""
        return self.server.request("GET", f"nbedit/notebooks/{self.path}/{below}", headers=headers)

    def get_json(self, below: str) -> Any:
        """Return the JSON of a route below the notebook."""
        return self.server.get_json(f"notebooks/{self.path}/{below}")

    def send_json(self, verb: str, below: str, *more: Any) -> Answer:
        """Send a value as JSON to a route below the notebook; headers may follow."""
        return self.server.send_json(verb, f"notebooks/{self.path}/{below}", *more)

    def list_unseen(self) -> list[dict[str, Any]]:
        """Return the cells with unseen changes."""
        cells: list[dict[str, Any]] = self.get_json("unseen")["cells"]
        return cells

    def list_history(self) -> list[dict[str, Any]]:
        """Return the newest edits, newest first."""
        edits: list[dict[str, Any]] = self.get_json("history")["edits"]
        return edits

    def list_proposals(self) -> list[dict[str, Any]]:
        """Return the pending proposals."""
        proposals: list[dict[str, Any]] = self.server.get_json(f"proposals?path={self.path}")[
            "proposals"
        ]
        return proposals

    def set_mode(self, mode: str | None) -> Any:
        """Set the mode; None removes it."""
        return self.server.set_mode(mode, self.path)

    # Its proposals -----------------------------------------------------------------------------

    def decide(self, number: int, verb: str, /, **body: Any) -> Answer:
        """Send a decision on a proposal: ``accept``, ``reject`` or ``reopen``."""
        return self.server.decide(number, verb, **body)

    def accept(self, number: int, /, **body: Any) -> Answer:
        """Accept a proposal."""
        return self.decide(number, "accept", **body)

    def reject(self, number: int, /, **body: Any) -> Answer:
        """Reject a proposal."""
        return self.decide(number, "reject", **body)

    def get_proposal(self, number: int) -> Any:
        """Return a proposal."""
        return self.server.get_json(f"proposals/{number}")

    # The file ----------------------------------------------------------------------------------

    @property
    def root(self) -> Path:
        """The folder that the server serves."""
        return self.server.root

    @property
    def file(self) -> Path:
        """The file, which need not be there."""
        return self.root / self.path

    @property
    def text(self) -> bytes:
        """The bytes of the file."""
        return self.file.read_bytes()

    def write(self, *cells: dict[str, Any], minor: int = 5) -> None:
        """Write cells over the file, as another program does."""
        self.file.write_bytes(samples.notebook(*cells, minor=minor))

    def list_sources(self) -> list[str]:
        """Return the sources of the cells in the file."""
        return ["".join(cell["source"]) for cell in samples.load_cells(self.text)]
