"""Clients of a server that add and hide nothing."""

import functools
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from tornado.httpclient import HTTPResponse
from tornado.httputil import HTTPHeaders

from jupyter_nbedit.handlers import default_handlers
from jupyter_nbedit.handlers.openapi import build_document, list_operations
from tests.support import samples

JSON = {"Content-Type": "application/json"}
SECONDS = 60


@functools.cache
def _list_statuses() -> Mapping[tuple[str, str], frozenset[str]]:
    """List the statuses of each verb of each route or, where it has none of its own, address."""
    paths = build_document(default_handlers, base_url="/")["paths"]
    return {
        (
            operation.path if "address" in operation.pattern else operation.pattern,
            operation.verb,
        ): frozenset(paths[operation.path][operation.verb.lower()]["responses"])
        for operation in list_operations(default_handlers)
    }


def _assert_documented(verb: str, target: str, status: int) -> None:
    """Check that the document has the status of a reply; `target` is relative to the base URL."""
    path = "/" + urlsplit(target).path
    route = next((pattern for pattern, _ in default_handlers if re.fullmatch(pattern, path)), "")
    known = _list_statuses().get((route, verb)) or _list_statuses().get((path, verb))
    assert known is None or str(status) in known, f"{verb} {path}: {status} is not documented"


@dataclass(frozen=True)
class Answer:
    """A reply of a server."""

    status: int
    headers: HTTPHeaders
    body: bytes
    #: The folder that the server serves.
    root: Path

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Client:
    """Speaks to a server as the owner of its token."""

    port: int
    token: str
    root: Path
    base_url: str = "/"

    def request(
        self,
        verb: str,
        target: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        token: str | None = None,
    ) -> Answer:
        """Send one request; ``target`` is relative to the base URL and goes out as it is.

        ``token=""`` sends none.
        """
        token = self.token if token is None else token
        authorization = {"Authorization": f"token {token}"} if token else {}
        connection = HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        try:
            connection.request(
                verb,
                self.base_url + target,
                body=body,
                headers={**authorization, **(headers or {})},
            )
            response = connection.getresponse()
            found = HTTPHeaders()
            for name, value in response.getheaders():
                found.add(name, value)
            _assert_documented(verb, target, response.status)
            return Answer(response.status, found, response.read(), self.root)
        finally:
            connection.close()

    def read(self, path: str, headers: Mapping[str, str] | None = None, **query: Any) -> Answer:
        """GET a notebook."""
        return self.request("GET", _notebook(path, query), headers=headers)

    def patch(
        self,
        path: str,
        *operations: Mapping[str, Any],
        headers: Mapping[str, str] | None = None,
        **fields: Any,
    ) -> Answer:
        """PATCH a notebook."""
        body = json.dumps({"operations": operations, **fields}).encode()
        return self.send(path, body, headers)

    def send(self, path: str, body: bytes, headers: Mapping[str, str] | None = None) -> Answer:
        """PATCH a notebook with a body that is sent as it is."""
        return self.request("PATCH", _notebook(path, {}), body, {**JSON, **(headers or {})})

    def get_json(self, target: str) -> Any:
        """Return the JSON of a route below ``nbedit``."""
        answer = self.request("GET", f"nbedit/{target}")
        assert answer.status == 200, answer.body
        return answer.json

    def send_json(
        self, verb: str, target: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Send a value as JSON to a route below ``nbedit``; without one, send an empty object."""
        sent = json.dumps({} if body is None else body).encode()
        return self.request(verb, f"nbedit/{target}", sent, {**JSON, **(headers or {})})

    def decide(self, number: int, verb: str, /, **body: Any) -> Answer:
        """Send a decision on a proposal: ``accept``, ``reject`` or ``reopen``."""
        headers = body.pop("headers", None)
        return self.send_json("POST", f"proposals/{number}/{verb}", body, headers)

    def accept(self, number: int, /, **body: Any) -> Answer:
        """Accept a proposal."""
        return self.decide(number, "accept", **body)

    def reject(self, number: int, /, **body: Any) -> Answer:
        """Reject a proposal."""
        return self.decide(number, "reject", **body)

    def get_proposal(self, number: int) -> Any:
        """Return a proposal."""
        return self.get_json(f"proposals/{number}")

    def set_mode(self, mode: str | None, path: str | None = None) -> Any:
        """Set the mode of a notebook or, without a path, of the server; None removes it."""
        body = {"mode": mode, **({} if path is None else {"path": path})}
        answer = self.send_json("PUT", "mode", body)
        assert answer.status == 200, answer.body
        return answer.json

    def rename(self, old: str, new: str) -> None:
        """Rename a file or folder by the Contents API."""
        body = json.dumps({"path": new}).encode()
        answer = self.request("PATCH", f"api/contents/{old}", body, JSON)
        assert answer.status == 200, answer.body

    def reset_modes(self, *paths: str) -> None:
        """Let the server and its notebooks of these names take edits as a new server does.

        A mode that a notebook was given outlasts its file, and can only be changed while there is
        one.
        """
        for scope in ({}, *({"path": path} for path in paths)):
            file = self.root / scope.get("path", "")
            is_missing = not file.exists()
            if is_missing:
                file.write_bytes(samples.three_cells())
            self.set_mode(None, **scope)
            if is_missing:
                file.unlink()


def _notebook(path: str, query: Mapping[str, Any]) -> str:
    question = f"?{urlencode(query, doseq=True)}" if query else ""
    return f"nbedit/notebooks/{quote(path)}{question}"


@dataclass(frozen=True)
class Local:
    """Speaks to the server of pytest-jupyter, which runs in the test's own loop."""

    fetch: Callable[..., Awaitable[HTTPResponse]]
    root: Path

    async def request(
        self,
        verb: str,
        *parts: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        **options: Any,
    ) -> Answer:
        """Send one request; ``parts`` of the path are relative to the base URL."""
        response = await self.fetch(
            *parts,
            method=verb,
            body=body,
            headers=dict(headers or {}),
            raise_error=False,
            allow_nonstandard_methods=True,
            **options,
        )
        _assert_documented(verb, "/".join(parts), response.code)
        return Answer(response.code, response.headers, response.body, self.root)

    async def read(self, path: str, **query: Any) -> Answer:
        """GET a notebook."""
        return await self.request("GET", "nbedit", "notebooks", path, params=query)

    async def patch(self, path: str, *operations: Mapping[str, Any], **fields: Any) -> Answer:
        """PATCH a notebook."""
        body = json.dumps({"operations": operations, **fields}).encode()
        return await self.request("PATCH", "nbedit", "notebooks", path, body=body, headers=JSON)

    async def send_json(
        self,
        verb: str,
        target: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        **query: Any,
    ) -> Answer:
        """Send a value as JSON to a route below ``nbedit``; without one, send an empty object."""
        sent = json.dumps({} if body is None else body).encode()
        sent_headers = {**JSON, **(headers or {})}
        return await self.request(
            verb, "nbedit", target, body=sent, headers=sent_headers, params=query
        )

    async def contents(self, path: str, **query: Any) -> Any:
        """GET a notebook from the Contents API."""
        answer = await self.request("GET", "api", "contents", path, params=query)
        assert answer.status == 200, answer.body
        return answer.json
