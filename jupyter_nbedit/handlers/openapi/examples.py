"""The examples of the OpenAPI document: requests and real responses, from ``examples.json``.

A test sends each request to a server and compares the response.
"""

from __future__ import annotations

import functools
import re
from importlib import resources
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import msgspec


class Example(
    msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True, omit_defaults=True
):
    """A request and its response.

    Parameters
    ----------
    name
        A unique name.
    summary
        What the example shows.
    given
        The state of the server, besides the notebooks of the demo.
    verb, target, headers, body
        The request; the target begins with ``/nbedit``, whatever the base URL is.
    status, answer
        The response.
    abridged
        Whether the real response has more members and items.
    constructed
        Whether no server has sent the response: it is that of another route, or of a failure that
        cannot be provoked.
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
    def path(self) -> str:
        """The target without its query."""
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, list[str]]:
        """The query."""
        return parse_qs(urlsplit(self.target).query, keep_blank_values=True)

    @property
    def is_success(self) -> bool:
        """Whether the response is not an error."""
        return self.status < 400  # noqa: PLR2004 -- HTTP's own border

    @property
    def reason(self) -> str | None:
        """The reason of an error."""
        return self.answer.get("reason") if isinstance(self.answer, dict) else None

    def match_parameters(self, pattern: str) -> dict[str, str]:
        """Return the values of the parameters of a route."""
        match = re.fullmatch(pattern, self.path)
        return {name: unquote(value) for name, value in match.groupdict().items()} if match else {}

    def render(self, other_body: Any = None) -> dict[str, Any]:
        """Return the Example Object of OpenAPI, with the response or with another body."""
        description = {} if self.given is None else {"description": self.given}
        value = self.answer if other_body is None else msgspec.to_builtins(other_body)
        return {"summary": self.summary, **description, "value": value}


@functools.cache
def load_examples() -> tuple[Example, ...]:
    """Return all examples."""
    text = resources.files(__package__).joinpath("examples.json").read_bytes()
    return tuple(msgspec.json.decode(text, type=list[Example]))
