"""The OpenAPI document: made of the routes, their contracts and the structs these name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import msgspec
from jupyter_server.auth.decorator import authorized
from tornado import web

from jupyter_nbedit import __version__
from jupyter_nbedit.errors import NbEditError
from jupyter_nbedit.handlers.contract import Contract, Header, Reply, contract_of
from jupyter_nbedit.handlers.examples import Exchange, exchanges
from jupyter_nbedit.handlers.refusals import INTERNAL_ERROR, STATUS, ErrorBody
from jupyter_nbedit.handlers.requests import NbEditHandler
from jupyter_nbedit.handlers.schemas import components, prose

Route = tuple[str, type[NbEditHandler]]

_JSON = "application/json"
_GROUP = re.compile(r"\(\?P<(\w+)>[^()]*\)")

_ABOUT = """\
Agents edit the cells of notebooks over HTTP; the open tab in JupyterLab follows, and nothing else \
changes. No kernel is started, asked or touched.

Addresses are relative to the server's base URL. A request's body is JSON in UTF-8 with the header \
`Content-Type: application/json`. Whatever is refused has the same body of `message`, `reason` and \
`details`, and has written nothing unless `details` says `applied: true`."""
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
_PARAMETERS: Mapping[str, Mapping[str, Any]] = {
    "path": {
        "description": "The notebook's path, relative to the server's root, as in the Contents "
        "API; a slash may be sent as it is or as `%2F`.",
        "schema": {"type": "string", "pattern": r"^[^\u0000]*\.ipynb$"},
    },
    "cell": {
        "description": "The cell's id or, only if no cell has that id, `cell-N` or `N`, its index "
        "from 0.",
        "schema": {"type": "string", "minLength": 1},
    },
}


class OpenAPIHandler(NbEditHandler):
    """``/nbedit/openapi.json``."""

    @Contract(
        "This document",
        replies={HTTPStatus.OK: Reply({"type": "object"}, "An OpenAPI document.")},
    )
    @web.authenticated
    @authorized
    async def get(self) -> None:
        """Describe every route of this server, as OpenAPI 3.1."""
        routes = [(pattern, handler) for pattern, handler, *_ in self.extensionapp.handlers]
        self.answer(document(routes, base_url=self.base_url))


@dataclass(frozen=True)
class Operation:
    """One verb of one route.

    Parameters
    ----------
    pattern
        The route's regular expression.
    path
        The same as OpenAPI has it.
    verb
        In capitals.
    handler
        Whose verb it is.
    contract
        What it takes and answers.
    """

    pattern: str
    path: str
    verb: str
    handler: type[NbEditHandler]
    contract: Contract

    @property
    def id(self) -> str:
        """A name that no other operation has."""
        words = re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z][a-z]*", self.handler.__name__)
        return "_".join([self.verb, *words[:-1]]).lower()

    @property
    def description(self) -> str:
        """What the verb's docstring says."""
        return prose(getattr(self.handler, self.verb.lower()).__doc__)


def operations(routes: Iterable[tuple[str, type[web.RequestHandler]]]) -> Iterator[Operation]:
    """List what there is to call, in the order of the routes."""
    for pattern, handler in routes:
        if not issubclass(handler, NbEditHandler):
            continue
        path = _GROUP.sub(r"{\1}", pattern).replace("/?", "").replace("\\", "")
        for verb in handler.SUPPORTED_METHODS:
            contract = contract_of(getattr(handler, verb.lower()))
            if contract is not None:
                yield Operation(pattern, path, verb, handler, contract)


def document(
    routes: Iterable[tuple[str, type[web.RequestHandler]]], *, base_url: str
) -> dict[str, Any]:
    """Make the document.

    Parameters
    ----------
    routes
        What is mounted.
    base_url
        The server's.
    """
    found = list(operations(routes))
    writer = _Writer(list(exchanges()))
    paths: dict[str, dict[str, Any]] = {}
    for operation in found:
        paths.setdefault(operation.path, {})[operation.verb.lower()] = writer.operation(operation)
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
            "schemas": dict(sorted(writer.schemas.items())),
            "examples": writer.examples,
            "securitySchemes": _SECURITY,
        },
    }


class _Writer:
    """Writes operations, and gathers the components they refer to."""

    def __init__(self, told: Sequence[Exchange]) -> None:
        self._told = told
        self.schemas: dict[str, dict[str, Any]] = {}
        self.examples: dict[str, dict[str, Any]] = {
            exchange.name: exchange.as_example() for exchange in told if exchange.reason
        }

    def operation(self, operation: Operation) -> dict[str, Any]:
        contract = operation.contract
        told = [
            exchange for exchange in self._told if exchange.of(operation.verb, operation.pattern)
        ]
        written = {
            "operationId": operation.id,
            "summary": contract.summary,
            "description": operation.description,
            "parameters": list(self._parameters(operation, told)),
            "responses": {
                **self._replies(contract, told),
                **self._refusals(contract.all_refusals, told),
            },
        }
        if contract.body is not None:
            bodies = {
                exchange.name: {"summary": exchange.summary, "value": exchange.body}
                for exchange in told
                if exchange.body is not None and exchange.succeeded
            }
            written["requestBody"] = {
                "required": True,
                "content": {_JSON: {"schema": self.schema(contract.body), "examples": bodies}},
            }
        return written

    def schema(self, form: Any) -> dict[str, Any]:
        """Give the schema of a type, or the one that is given; keep what it refers to."""
        if isinstance(form, dict):
            return form
        (schema,), named = components([form])
        self.schemas.update(named)
        return schema

    def _parameters(
        self, operation: Operation, told: Sequence[Exchange]
    ) -> Iterator[dict[str, Any]]:
        contract = operation.contract
        for name in _GROUP.findall(operation.pattern):
            examples: dict[str, dict[str, Any]] = {
                exchange.name: {"value": exchange.matched(operation.pattern)[name]}
                for exchange in told
                if exchange.succeeded
            }
            yield _parameter(name, "path", examples, required=True, **_PARAMETERS[name])
        if contract.query is not None:
            name = contract.query.__name__
            _, named = components([contract.query])
            form = named.pop(name)
            self.schemas.update(named)
            for field, schema in form["properties"].items():
                many = schema.get("type") == "array"
                examples = {
                    exchange.name: {"value": value if many else value[0]}
                    for exchange in told
                    if exchange.succeeded and (value := exchange.query.get(field))
                }
                description = schema.pop("description", "")
                yield _parameter(
                    field,
                    "query",
                    {name: _as_sent(example, schema) for name, example in examples.items()},
                    required=field in form["required"],
                    description=description,
                    schema=schema,
                )
        for header in contract.headers:
            examples = {
                exchange.name: {"value": exchange.headers[header.name]}
                for exchange in told
                if exchange.succeeded and header.name in exchange.headers
            }
            yield _parameter(header.name, "header", examples, required=False, **_described(header))

    def _replies(self, contract: Contract, told: Sequence[Exchange]) -> dict[str, Any]:
        written = {}
        for status, reply in contract.replies.items():
            response: dict[str, Any] = {"description": reply.description}
            if reply.headers:
                response["headers"] = {
                    header.name: {"required": True, **_described(header)}
                    for header in reply.headers
                }
            if reply.body is not None:
                examples = {
                    exchange.name: exchange.as_example()
                    for exchange in told
                    if exchange.status == status
                }
                response["content"] = {
                    _JSON: {"schema": self.schema(reply.body), "examples": examples}
                }
            written[str(int(status))] = response
        return written

    def _refusals(
        self, refusals: Sequence[type[NbEditError]], told: Sequence[Exchange]
    ) -> dict[str, Any]:
        reasons: dict[HTTPStatus, dict[str, str]] = {}
        for refusal in refusals:
            said = prose(refusal.__doc__).partition("\n")[0]
            reasons.setdefault(STATUS[refusal], {})[refusal.reason] = said
        failed = reasons.setdefault(HTTPStatus.INTERNAL_SERVER_ERROR, {})
        failed[INTERNAL_ERROR] = "The server failed in a way nobody foresaw."
        return {
            str(int(status)): self._refusal(reasons[status], told) for status in sorted(reasons)
        }

    def _refusal(self, reasons: Mapping[str, str], told: Sequence[Exchange]) -> dict[str, Any]:
        examples = {}
        for reason in reasons:
            own = [exchange.name for exchange in told if exchange.reason == reason]
            others = [exchange.name for exchange in self._told if exchange.reason == reason]
            for name in own or others[:1]:
                examples[name] = {"$ref": f"#/components/examples/{name}"}
        form = {
            "allOf": [
                self.schema(ErrorBody),
                {"type": "object", "properties": {"reason": {"enum": list(reasons)}}},
            ]
        }
        return {
            "description": "\n".join(f"- `{reason}`: {said}" for reason, said in reasons.items()),
            "content": {_JSON: {"schema": form, "examples": examples}},
        }


def _described(header: Header) -> dict[str, Any]:
    schema = {"type": "string", **({"pattern": header.pattern} if header.pattern else {})}
    return {"description": header.description, "schema": schema}


def _parameter(
    name: str, where: str, examples: Mapping[str, Any], *, required: bool, **more: Any
) -> dict[str, Any]:
    written = {"name": name, "in": where, "required": required, **more}
    return written | ({"examples": examples} if examples else {})


def _as_sent(example: dict[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Give a value of a query its type again."""
    if schema.get("type") in {"integer", "boolean"}:
        return {**example, "value": msgspec.json.decode(example["value"])}
    return example
