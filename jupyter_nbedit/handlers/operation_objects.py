"""The verbs of the routes, each as OpenAPI describes it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import msgspec
from tornado import web

from jupyter_nbedit.errors import InvalidRequest
from jupyter_nbedit.handlers.contract import Header, OperationSpec, get_spec
from jupyter_nbedit.handlers.examples import Example
from jupyter_nbedit.handlers.refusals import INTERNAL_ERROR, STATUS, ErrorBody
from jupyter_nbedit.handlers.requests import NbEditHandler
from jupyter_nbedit.handlers.schemas import SchemaBuilder, prose
from jupyter_nbedit.notebook.operations import LARGEST_INTEGER

Route = tuple[str, type[web.RequestHandler]]

_JSON = "application/json"
_GROUP = re.compile(r"\(\?P<(\w+)>[^()]*\)")
_LOOK = re.compile(r"\(\?<?[!=][^()]*\)")
# In a route that is for notebooks alone.
_NOTEBOOKS_ONLY = r"\.ipynb)"

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
    "proposal_id": {
        "description": "The proposal's number.",
        "schema": {"type": "integer", "minimum": 0},
    },
    "edit_id": {
        "description": "The edit's number, as in the reply to who made it.",
        "schema": {"type": "integer", "minimum": 1, "maximum": LARGEST_INTEGER},
    },
}


@dataclass(frozen=True)
class DocumentedOperation:
    """One verb of one route.

    Parameters
    ----------
    pattern
        The route's regular expression.
    path
        The same as OpenAPI has it.
    verb
        In capitals.
    id
        A name that no other operation has.
    description
        What it does.
    contract
        What it takes and answers.
    """

    pattern: str
    path: str
    verb: str
    id: str
    description: str
    contract: OperationSpec

    @property
    def parameters(self) -> list[str]:
        """The names in the path's braces."""
        return re.findall(r"\{(\w+)\}", self.path)

    def list_types(self) -> Iterator[Any]:
        """List the types of what is sent."""
        contract = self.contract
        replies = [reply.body for reply in contract.replies.values()]
        for form in (contract.query, contract.body, contract.failure, *replies):
            if form is not None:
                yield form


def list_operations(routes: Iterable[Route]) -> Iterator[DocumentedOperation]:
    """List what there is to call, in the order of the routes."""
    for pattern, handler in routes:
        if not issubclass(handler, NbEditHandler):
            continue
        path = _GROUP.sub(r"{\1}", _LOOK.sub("", pattern)).replace("/?", "").replace("\\", "")
        words = re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z][a-z]*", handler.__name__)
        for verb in handler.SUPPORTED_METHODS:
            method = getattr(handler, verb.lower())
            contract = get_spec(method)
            if contract is None:
                continue
            name = "_".join([verb, *words[:-1]]).lower()
            if not contract.addresses:
                yield DocumentedOperation(
                    pattern, path, verb, name, prose(method.__doc__), contract
                )
            for address, its in contract.addresses.items():
                own = f"{name}_{address.replace('/', '_')}"
                at = path.replace("{address}", address)
                yield DocumentedOperation(pattern, at, verb, own, its.description, its)


@dataclass(frozen=True)
class OpenAPIBuilder:
    """Writes operations.

    Parameters
    ----------
    schemas
        Of all types that any operation has.
    told
        All examples.
    patterns
        Of all routes.
    """

    schemas: SchemaBuilder
    told: Sequence[Example]
    patterns: Sequence[str]

    def build_examples(self) -> dict[str, dict[str, Any]]:
        """Write the examples of refusals, which operations share."""
        return {told.name: told.render() for told in self.told if not told.succeeded}

    def build_operation(self, operation: DocumentedOperation) -> dict[str, Any]:
        """Write an operation."""
        contract = operation.contract
        own = [exchange for exchange in self.told if self._is_example_of(exchange, operation)]
        granted = [exchange for exchange in own if exchange.succeeded]
        responses = self._build_replies(contract, granted) | self._build_error_responses(
            contract, own
        )
        if _NOTEBOOKS_ONLY in operation.pattern:
            responses |= self._build_redirect_response()
        written = {
            "operationId": operation.id,
            "summary": contract.summary,
            "description": operation.description,
            "parameters": list(self._build_parameters(operation, granted)),
            "responses": dict(sorted(responses.items())),
        }
        if contract.body is not None:
            examples = {
                exchange.name: {"summary": exchange.summary, "value": exchange.body}
                for exchange in granted
            }
            written["requestBody"] = {
                "required": True,
                "content": {
                    _JSON: {
                        "schema": self.schemas.build_schema(contract.body),
                        "examples": examples,
                    }
                },
            }
        return written

    def _is_example_of(self, exchange: Example, operation: DocumentedOperation) -> bool:
        if exchange.verb != operation.verb:
            return False
        if not operation.parameters:
            return exchange.path == operation.path
        # The first route that fits, as tornado does it.
        fitting = (pattern for pattern in self.patterns if re.fullmatch(pattern, exchange.path))
        return next(fitting, None) == operation.pattern

    def _build_parameters(
        self, operation: DocumentedOperation, granted: Sequence[Example]
    ) -> Iterator[dict[str, Any]]:
        contract = operation.contract
        for name in operation.parameters:
            examples = {
                exchange.name: {"value": exchange.match_parameters(operation.pattern)[name]}
                for exchange in granted
            }
            yield _build_parameter(name, "path", examples, required=True, **_PARAMETERS[name])
        if contract.query is not None:
            members, required = self.schemas.list_members(contract.query)
            for name, schema in members.items():
                examples = {
                    exchange.name: {"value": _parse_query_value(exchange.query[name], schema)}
                    for exchange in granted
                    if name in exchange.query
                }
                yield _build_parameter(
                    name,
                    "query",
                    examples,
                    required=name in required,
                    description=schema.get("description", ""),
                    schema=schema,
                )
        for header in contract.headers:
            examples = {
                exchange.name: {"value": exchange.headers[header.name]}
                for exchange in granted
                if header.name in exchange.headers
            }
            yield _build_parameter(
                header.name, "header", examples, required=False, **_build_header(header)
            )

    def _build_replies(self, contract: OperationSpec, granted: Sequence[Example]) -> dict[str, Any]:
        written = {}
        for status, reply in contract.replies.items():
            response: dict[str, Any] = {"description": reply.description}
            if reply.headers:
                response["headers"] = {
                    header.name: {"required": True, **_build_header(header)}
                    for header in reply.headers
                }
            if reply.body is not None:
                examples = {
                    exchange.name: exchange.render()
                    for exchange in granted
                    if exchange.status == status
                }
                response["content"] = {
                    _JSON: {"schema": self.schemas.build_schema(reply.body), "examples": examples}
                }
            written[str(int(status))] = response
        return written

    def _build_error_responses(
        self, contract: OperationSpec, own: Sequence[Example]
    ) -> dict[str, Any]:
        reasons: dict[HTTPStatus, dict[str, str]] = {}
        for refusal in contract.all_errors:
            said = prose(refusal.__doc__).partition("\n")[0]
            reasons.setdefault(STATUS[refusal], {})[refusal.reason] = said
        # Jupyter's own answer to it, whatever the route.
        absent = reasons.setdefault(HTTPStatus.NOT_FOUND, {})
        absent[InvalidRequest.reason] = "The request comes from the page of another site."
        failed = reasons.setdefault(HTTPStatus.INTERNAL_SERVER_ERROR, {})
        failed[INTERNAL_ERROR] = "The server failed in a way nobody foresaw."
        return {
            str(int(status)): {
                "description": "\n".join(f"- `{reason}`: {said}" for reason, said in why.items()),
                "content": {_JSON: self._build_error_response(contract, status, why, own)},
            }
            for status, why in reasons.items()
        }

    def _build_error_response(
        self,
        contract: OperationSpec,
        status: HTTPStatus,
        reasons: Mapping[str, str],
        own: Sequence[Example],
    ) -> dict[str, Any]:
        shown: list[Example] = []
        for reason in reasons:
            mine = [told for told in own if (told.status, told.reason) == (status, reason)]
            others = [told for told in self.told if (told.status, told.reason) == (status, reason)]
            shown += mine or others[:1]
        if contract.refuse is not None:
            # Those of other routes, told as this one tells them.
            examples = {
                told.name: told.render(contract.refuse(msgspec.convert(told.answer, ErrorBody)))
                for told in shown
            }
            return {"schema": self.schemas.build_schema(contract.failure), "examples": examples}
        reason_is = {"type": "object", "properties": {"reason": {"enum": list(reasons)}}}
        return {
            "schema": {"allOf": [self.schemas.build_schema(ErrorBody), reason_is]},
            "examples": {told.name: _reference_examples(told) for told in shown},
        }

    def _build_redirect_response(self) -> dict[str, Any]:
        """Describe the answer to a path that is no notebook's: the address is another route's."""
        status = HTTPStatus.METHOD_NOT_ALLOWED
        examples = {
            told.name: _reference_examples(told) for told in self.told if told.status == status
        }
        return {
            str(int(status)): {
                "description": "The path does not end in `.ipynb`, so this is another address, "
                "which does not have this method.",
                "content": {
                    _JSON: {"schema": self.schemas.build_schema(ErrorBody), "examples": examples}
                },
            }
        }


def _reference_examples(told: Example) -> dict[str, str]:
    return {"$ref": f"#/components/examples/{told.name}"}


def _build_header(header: Header) -> dict[str, Any]:
    schema = {"type": "string", **({"pattern": header.pattern} if header.pattern else {})}
    return {"description": header.description, "schema": schema}


def _build_parameter(
    name: str, where: str, examples: Mapping[str, Any], *, required: bool, **more: Any
) -> dict[str, Any]:
    written = {"name": name, "in": where, "required": required, **more}
    return written | ({"examples": examples} if examples else {})


def _parse_query_value(values: Sequence[str], schema: Mapping[str, Any]) -> Any:
    """Return a value of a query its type again."""
    if schema.get("type") == "array":
        return list(values)
    if schema.get("type") in {"integer", "boolean"}:
        return msgspec.json.decode(values[0])
    return values[0]
