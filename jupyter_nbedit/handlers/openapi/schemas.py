"""JSON Schemas of the structs, with the rules that their types cannot say."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import msgspec
from tornado import web

from jupyter_nbedit.errors import InvalidRequest
from jupyter_nbedit.handlers.base import NbEditHandler
from jupyter_nbedit.handlers.cells import InsertBody, ReplaceBody
from jupyter_nbedit.handlers.editing import NewCell
from jupyter_nbedit.handlers.errors import INTERNAL_ERROR, STATUS, ErrorBody
from jupyter_nbedit.handlers.openapi.examples import Example
from jupyter_nbedit.handlers.openapi.spec import Header, OperationSpec, get_spec
from jupyter_nbedit.notebook.operations import (
    LARGEST_INTEGER,
    ClearOutputs,
    Delete,
    Expect,
    Insert,
    Move,
    RemoveEntry,
    Replace,
    ReplaceText,
    SetMetadata,
)
from jupyter_nbedit.search.models import SearchRequest
from jupyter_nbedit.tools.claude_code import NotebookEditInput
from jupyter_nbedit.tools.mycode import MycodeInput
from jupyter_nbedit.tools.nexo import NexoInput
from jupyter_nbedit.tools.omp import OmpInput
from jupyter_nbedit.tools.sections import SectionsInput

_AT = "#/components/schemas/{name}"
_FREE = "JSONWithoutTrusted"

#: Any JSON in which nothing claims to be trusted, at any depth.
_WITHOUT_TRUSTED = {
    "title": _FREE,
    "description": "Any JSON in which no object has the key `trusted`, at any depth.",
    "if": {"type": "object"},
    "then": {
        "propertyNames": {"not": {"const": "trusted"}},
        "additionalProperties": {"$ref": _AT.format(name=_FREE)},
    },
    "else": {"if": {"type": "array"}, "then": {"items": {"$ref": _AT.format(name=_FREE)}}},
}


_ANYTHING: Mapping[str, Any] = {}


def _require_exactly_one(*names: str) -> dict[str, Any]:
    """Require that an object has just one of these members."""
    return {"oneOf": [{"required": [name]} for name in names]}


def _require_at_least_one(*names: str) -> dict[str, Any]:
    """Require that an object has one of these members or several."""
    return {"anyOf": [{"required": [name]} for name in names]}


def _require_none(*names: str) -> dict[str, Any]:
    """Require that an object has none of these members."""
    return {"not": _require_at_least_one(*names)}


def _build_condition(
    member: str, value: str, then: Mapping[str, Any], otherwise: Mapping[str, Any] = _ANYTHING
) -> dict[str, Any]:
    """Return what follows from a member's value, and what from any other or none."""
    condition = {"required": [member], "properties": {member: {"const": value}}}
    return {"if": condition, "then": then, "else": otherwise}


def _require_members(*names: str) -> dict[str, Any]:
    return {"required": list(names)}


_POSITION = _require_exactly_one("after", "before", "index", "at")
_CELLS = _require_exactly_one("cell", "cells")
_GUARD = {"dependentRequired": {"expect": ["cell"]}}
_ONE_CELL = {
    "allOf": [
        _build_condition("edit_mode", "delete", _ANYTHING, _require_members("new_source")),
        _build_condition("edit_mode", "insert", _require_members("cell_type")),
    ]
}
#: What the decoder leaves to others to refuse, by struct.
_RULES: Mapping[type[msgspec.Struct], Mapping[str, Any]] = {
    Insert: _POSITION,
    InsertBody: _POSITION,
    Move: {"allOf": [_POSITION, _CELLS], **_GUARD},
    Delete: {**_CELLS, **_GUARD},
    Replace: _require_at_least_one("source", "cell_type"),
    ReplaceBody: {
        **_require_at_least_one("source", "cell_type", "metadata"),
        "if": {"required": ["outputs"]},
        "then": _require_at_least_one("source", "cell_type"),
    },
    ReplaceText: {
        "oneOf": [
            {"required": ["old", "new"], **_require_none("edits")},
            {"required": ["edits"], **_require_none("old", "new", "all")},
        ]
    },
    ClearOutputs: {**_require_exactly_one("cell", "cells", "all"), **_GUARD},
    SetMetadata: _GUARD,
    Expect: _require_exactly_one("source", "source_hash"),
    SearchRequest: _require_exactly_one("query", "regex"),
    NexoInput: _ONE_CELL,
    MycodeInput: _ONE_CELL,
    OmpInput: _build_condition("action", "delete", _ANYTHING, _require_members("content")),
    SectionsInput: {
        "allOf": [
            _build_condition("action", "read", _ANYTHING, _require_members("section")),
            _build_condition("action", "append_to_section", _require_members("content")),
            _build_condition("action", "replace_section", _require_members("content")),
            _build_condition("action", "remove_entry", _require_members("entry_match")),
        ]
    },
    NotebookEditInput: _build_condition(
        "edit_mode",
        "insert",
        _require_members("cell_type"),
        {**_require_members("cell_id"), "properties": {"cell_id": {"minLength": 1}}},
    ),
}
_NOT_BLANK = {"pattern": r"[^\s\u001c-\u001f\u0085]"}
#: The same of single members.
_MEMBER_RULES: Mapping[tuple[type[msgspec.Struct], str], Mapping[str, Any]] = {
    (ClearOutputs, "all"): {"const": True},
    (RemoveEntry, "match"): _NOT_BLANK,
    (SectionsInput, "entry_match"): _NOT_BLANK,
    **{
        (struct, member): {"$ref": _AT.format(name=_FREE)}
        for struct, member in (
            (Insert, "metadata"),
            (InsertBody, "metadata"),
            (NewCell, "metadata"),
            (ReplaceBody, "metadata"),
            (SetMetadata, "patch"),
        )
    },
}


class SchemaBuilder:
    """The schemas of types, and the components that these refer to.

    Parameters
    ----------
    types
        All types there will be; a JSON Schema among them stays as it is.
    """

    def __init__(self, types: Iterable[Any]) -> None:
        forms = list(dict.fromkeys(form for form in types if not isinstance(form, dict)))
        written = msgspec.json.encode(msgspec.json.schema_components(forms, ref_template=_AT))
        schemas, self.components = msgspec.json.decode(written)
        self._of = dict(zip(forms, schemas, strict=True))
        for schema in self.components.values():
            schema["description"] = prose(schema.get("description", ""))
        for struct, rule in _RULES.items():
            self.components[struct.__name__].update(rule)
        for (struct, name), rule in _MEMBER_RULES.items():
            self.components[struct.__name__]["properties"][name].update(rule)
        if any(_FREE in str(schema) for schema in self.components.values()):
            self.components[_FREE] = _WITHOUT_TRUSTED

    def build_schema(self, form: Any) -> dict[str, Any]:
        """Return the schema of a type."""
        found: dict[str, Any] = form if isinstance(form, dict) else self._of[form]
        return found

    def list_members(self, form: Any) -> tuple[dict[str, dict[str, Any]], list[str]]:
        """Return the members of a struct, and which of them are required."""
        schema = self.components[self._of[form]["$ref"].rpartition("/")[2]]
        return schema["properties"], schema["required"]

    def list_components(self, without: Iterable[Any]) -> dict[str, dict[str, Any]]:
        """Return the components by name, without those of some types."""
        left_out = {self._of[form]["$ref"].rpartition("/")[2] for form in without}
        named = sorted(self.components.items())
        return {name: schema for name, schema in named if name not in left_out}


def prose(docstring: str | None) -> str:
    """Return what a docstring says to everybody, as Markdown."""
    text = inspect.cleandoc(docstring or "")
    for section in ("Parameters", "Raises"):
        text = text.partition(f"\n\n{section}\n---")[0]
    return text.replace("``", "`")


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
