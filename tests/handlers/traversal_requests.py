"""Every collected spelling of a path out of a folder, and how to send it unchanged."""

import re
import socket
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO, Any

from tests.handlers.error_checks import build_body
from tests.handlers.tool_inputs import INPUTS, PATHS, find_path_field
from tests.support import corpora, samples
from tests.support.http import Client

MARK = "for nobody's eyes"
SECRET = samples.notebook(samples.markdown(MARK, "alpha"))
NAME = "secret.ipynb"
TEXT = "secret.md"
EDIT = build_body(op="replace", cell="alpha", source="changed")
# Deeper than the longest ways up, so that each ends in a folder with a notebook to be found.
DEPTH = 24
_AT_A_TIME = 100
# What the collections want to find, with whatever they take for a slash.
_SOUGHT = re.compile(
    r"\{FILE\}|boot\.ini|etc.{1,12}?(?:passwd|issue)|windows.{1,12}?system32.{1,50}?hosts"
)
OWN = [
    f"{up}{sibling}{NAME}"
    for up in ("../", "..%2f", "%2e%2e/", "%2e%2e%2f", "./../", "a/../../", "..//", "/../", "..\\")
    for sibling in ("notebooks-secret/", "notebooks-secret%2f", "")
]
# What else is sent to tools, so that each would do something there, and leave something behind.
_MORE: dict[str, dict[str, Any]] = {
    "mycode/NotebookEdit": {"cell_id": 0, "backup": True},
    "omp/notebook": {"action": "delete"},
    "sections/notebook_edit": {"action": "read", "section": None},
    "claude_code/Edit": {"old_string": MARK},
    "agent/notebook_edit": {
        "operations": [{"op": "insert", "at": "end", "source": "new"}],
        "rev": None,
    },
    "agent/notebook_read": {"cells": None, "section": None, "since": None},
    "agent/notebook_search": {"text": MARK},
}
_RELATIVE = {
    "mycode/NotebookEdit",
    "omp/notebook",
    "sections/notebook_edit",
    *(tool for tool in INPUTS if tool.startswith("agent/")),
}
#: For each tool its path, the rest of an input that would do something there, and whether the path
#: may be relative.
CALLS: dict[str, tuple[str, dict[str, Any], bool]] = {
    tool: (
        find_path_field(tool),
        {name: value for name, value in INPUTS[tool].items() if name not in PATHS}
        | _MORE.get(tool, {}),
        tool in _RELATIVE,
    )
    for tool in INPUTS
}
#: The tools that take files which are no notebooks.
TEXTS = {tool for tool in CALLS if find_path_field(tool) == "file_path"}


def list_spellings() -> list[str]:
    """List all lines there are, as they are."""
    lists = sorted(corpora.corpus("traversal").glob("*.txt"))
    return [line for path in lists for line in path.read_text().splitlines()]


def aim_at_file(line: str, name: str = NAME) -> str:
    """Replace the system file that a line aims at by a file of the test."""
    way = _SOUGHT.sub(name, line)
    # What does not end in .ipynb gets nowhere, whatever comes before.
    return way if way.endswith(name) else f"{way}{name}"


def list_targets() -> list[str]:
    """List all ways out, each leading to a notebook."""
    return sorted({*OWN, *map(aim_at_file, list_spellings())})


@dataclass(frozen=True)
class RawRequest:
    """A request whose target goes out as it is."""

    verb: str
    target: str
    body: bytes = b""


@dataclass(frozen=True)
class RawAnswer:
    """A reply; without a body if the request was no HTTP."""

    request: RawRequest
    status: int
    body: bytes | None


def send_requests(client: Client, requests: Iterable[RawRequest]) -> Iterator[RawAnswer]:
    """Send request lines as they are, which no HTTP library would, many at a time."""
    pending = list(requests)
    while pending:
        batch, pending = pending[:_AT_A_TIME], pending[_AT_A_TIME:]
        with socket.create_connection(("127.0.0.1", client.port), timeout=60) as connection:
            connection.sendall(b"".join(_encode(client, request) for request in batch))
            stream = connection.makefile("rb")
            for number, request in enumerate(batch):
                answer = RawAnswer(request, *_read_answer(stream))
                yield answer
                if answer.body is None:
                    # What is no HTTP ends the connection, and what came behind it is not read.
                    pending = batch[number + 1 :] + pending
                    break


def _encode(client: Client, request: RawRequest) -> bytes:
    head = (
        f"{request.verb} /nbedit/{request.target} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"Authorization: token {client.token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(request.body)}\r\n\r\n"
    )
    return head.encode() + request.body


def _read_answer(stream: IO[bytes]) -> tuple[int, bytes | None]:
    status = int(stream.readline().split()[1])
    length = None
    while (header := stream.readline().strip()) != b"":
        name, _, value = header.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return status, None if length is None else stream.read(length)
