"""The examples of ``docs/api.md``: requests and real responses, from ``examples.json``.

A test sends each request to a server and compares the response.
"""

import functools
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from jupyter_nbedit.handlers import default_handlers
from jupyter_nbedit.handlers.openapi import list_operations

EXAMPLES = Path(__file__).with_name("examples.json")
OPERATIONS = tuple(list_operations(default_handlers))


class Example(
    msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True, omit_defaults=True
):
    """A request and its response; ``given`` is the state of the server before.

    An abridged response has in reality more members and items. A constructed one was sent by no
    server: it is that of another route, or of a failure that cannot be provoked.
    """

    name: str
    summary: str
    given: str | None = None
    verb: str
    target: str
    headers: dict[str, str] = {}
    body: Any = None
    status: int
    answer: Any = None
    abridged: bool = False
    constructed: bool = False

    @property
    def reason(self) -> str | None:
        """The reason of an error."""
        return self.answer.get("reason") if isinstance(self.answer, dict) else None

    @property
    def request(self) -> str:
        """The verb and the path of the operation, as in the document, or else of the request."""
        path = urlsplit(self.target).path
        for operation in OPERATIONS:
            is_route = "address" not in operation.pattern and re.fullmatch(operation.pattern, path)
            if operation.verb == self.verb and (is_route or operation.path == path):
                return f"{self.verb} {operation.path}"
        return f"{self.verb} {path}"


@functools.cache
def load_examples() -> tuple[Example, ...]:
    return tuple(msgspec.json.decode(EXAMPLES.read_bytes(), type=list[Example]))
