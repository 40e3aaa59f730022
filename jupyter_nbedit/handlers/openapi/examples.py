"""Requests and their answers, as a server gave them: the examples of the OpenAPI document.

They stand in ``examples.json``. A test sends each request to a server and compares the answer.
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
    """A request and its answer.

    Parameters
    ----------
    name
        No other has it.
    summary
        What it shows.
    given
        What must be so at the server, beyond the demo's notebooks.
    verb, target, headers, body
        The request; the target begins with ``/nbedit``, whatever the base URL.
    status, answer
        What came back.
    abridged
        Whether the answer has more members and items than are shown.
    constructed
        Whether the answer was never given in this form: another route would have to, or no server
        is known to fail in that way.
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
    def succeeded(self) -> bool:
        """Whether the request was granted."""
        return self.status < 400  # noqa: PLR2004 -- HTTP's own border

    @property
    def reason(self) -> str | None:
        """Why it was not."""
        return self.answer.get("reason") if isinstance(self.answer, dict) else None

    def match_parameters(self, pattern: str) -> dict[str, str]:
        """Return the values of a route's parameters."""
        found = re.fullmatch(pattern, self.path)
        return {name: unquote(value) for name, value in found.groupdict().items()} if found else {}

    def render(self, told: Any = None) -> dict[str, Any]:
        """Return the answer as OpenAPI has an example; or the same told in another form."""
        given = {} if self.given is None else {"description": self.given}
        value = self.answer if told is None else msgspec.to_builtins(told)
        return {"summary": self.summary, **given, "value": value}


@functools.cache
def load_examples() -> tuple[Example, ...]:
    """Return all there are."""
    text = resources.files(__package__).joinpath("examples.json").read_bytes()
    return tuple(msgspec.json.decode(text, type=list[Example]))
