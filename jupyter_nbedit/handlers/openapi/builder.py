"""Build the OpenAPI document from the routes, their specifications and the structs."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

import msgspec
from jupyter_server.auth.decorator import authorized
from tornado import web

from jupyter_nbedit._version import __version__
from jupyter_nbedit.handlers.base import NbEditHandler
from jupyter_nbedit.handlers.errors import ErrorBody
from jupyter_nbedit.handlers.openapi.examples import load_examples
from jupyter_nbedit.handlers.openapi.schemas import (
    OpenAPIBuilder,
    Route,
    SchemaBuilder,
    list_operations,
)
from jupyter_nbedit.handlers.openapi.spec import OperationSpec, Reply

_ABOUT = """\
Agents edit the cells of notebooks over HTTP; the open tab in JupyterLab follows, and nothing else \
changes. No kernel is started or used.

Addresses are relative to the server's base URL. A request's body is JSON in UTF-8 with the header \
`Content-Type: application/json`; an integer in it has no decimal point. Every error has the same \
body of `message`, `reason` and `details` (tools have bodies of their own), and has written \
nothing unless `details` has `applied: true`."""
_SECURITY = {
    "token": {
        "type": "apiKey",
        "in": "header",
        "name": "Authorization",
        "description": "The word `token`, a space, and the token of the server, as any request to "
        "Jupyter Server has it.",
    },
    "cookie": {
        "type": "apiKey",
        "in": "cookie",
        "name": "username-localhost-8888",
        "description": "The login cookie of a browser; its name holds the host and the port. "
        "A request that changes something needs the header `X-XSRFToken`, too, with the value of "
        "the cookie `_xsrf`.",
    },
}


class OpenAPIHandler(NbEditHandler):
    """``/nbedit/openapi.json``."""

    @OperationSpec(
        "The OpenAPI document",
        replies={HTTPStatus.OK: Reply({"type": "object"}, "An OpenAPI document.")},
    )
    @web.authenticated
    @authorized
    async def get(self) -> None:
        """Describe every route of this server, as OpenAPI 3.1."""
        routes = self.services.routes
        # Building takes long; the result is cached.
        self.finish(await asyncio.to_thread(_render_document, routes, self.base_url))


@functools.lru_cache(maxsize=1)
def _render_document(routes: tuple[Route, ...], base_url: str) -> bytes:
    return msgspec.json.encode(build_document(routes, base_url=base_url))


def build_document(routes: Sequence[Route], *, base_url: str) -> dict[str, Any]:
    """Return the document.

    Parameters
    ----------
    routes
        The patterns of the routes, and their handlers.
    base_url
        The base URL of the server.
    """
    operations = list(list_operations(routes))
    schemas = SchemaBuilder(
        [ErrorBody, *(item for operation in operations for item in operation.list_types())]
    )
    builder = OpenAPIBuilder(schemas, load_examples(), [pattern for pattern, _ in routes])
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.verb.lower()] = builder.build_operation(
            operation
        )
    queries = [operation.spec.query for operation in operations if operation.spec.query]
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "jupyter_nbedit",
            "version": __version__,
            "description": _ABOUT,
            "license": {"name": "BSD-3-Clause", "identifier": "BSD-3-Clause"},
        },
        "servers": [
            {"url": base_url.rstrip("/") or "/", "description": "This server, by its base URL."}
        ],
        "security": [{name: []} for name in _SECURITY],
        "paths": paths,
        "components": {
            "schemas": schemas.list_components(without=queries),
            "examples": builder.build_examples(),
            "securitySchemes": _SECURITY,
        },
    }
