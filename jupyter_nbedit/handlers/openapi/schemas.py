"""JSON Schemas of the structs and OpenAPI objects of the operations, for `builder`."""

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
from jupyter_nbedit.tools.toolsets.claude_code import NotebookEditInput
from jupyter_nbedit.tools.toolsets.mycode import MycodeInput
from jupyter_nbedit.tools.toolsets.nexo import NexoInput
from jupyter_nbedit.tools.toolsets.omp import OmpInput
from jupyter_nbedit.tools.toolsets.sections import SectionsInput

_AT = "#/components/schemas/{name}"
_FREE = "JSONWithoutTrusted"

#: Any JSON without the key `trusted`, at any depth.
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
    """Return the schema of an object with exactly one of some members."""
    return {"oneOf": [{"required": [name]} for name in names]}


def _require_at_least_one(*names: str) -> dict[str, Any]:
    """Return the schema of an object with at least one of some members."""
    return {"anyOf": [{"required": [name]} for name in names]}


def _require_none(*names: str) -> dict[str, Any]:
    """Return the schema of an object without some members."""
    return {"not": _require_at_least_one(*names)}


def _build_condition(
    member: str,
    value: str,
    then_schema: Mapping[str, Any],
    else_schema: Mapping[str, Any] = _ANYTHING,
) -> dict[str, Any]:
    """Return a schema that depends on whether a member has a value."""
    condition = {"required": [member], "properties": {member: {"const": value}}}
    return {"if": condition, "then": then_schema, "else": else_schema}


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
#: Rules that the types cannot express, by struct.
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
#: The same for single members.
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
    """The schemas of types, and the components that they refer to.

    Parameters
    ----------
    types
        All types; JSON Schemas among them are ignored.
    """

    def __init__(self, types: Iterable[Any]) -> None:
        unique_types = list(dict.fromkeys(item for item in types if not isinstance(item, dict)))
        text = msgspec.json.encode(msgspec.json.schema_components(unique_types, ref_template=_AT))
        schemas, self.components = msgspec.json.decode(text)
        self._schemas = dict(zip(unique_types, schemas, strict=True))
        for schema in self.components.values():
            schema["description"] = prose(schema.get("description", ""))
        for struct, rule in _RULES.items():
            self.components[struct.__name__].update(rule)
        for (struct, name), rule in _MEMBER_RULES.items():
            self.components[struct.__name__]["properties"][name].update(rule)
        if any(_FREE in str(schema) for schema in self.components.values()):
            self.components[_FREE] = _WITHOUT_TRUSTED

    def build_schema(self, body_type: Any) -> dict[str, Any]:
        """Return the schema of a type; a JSON Schema itself."""
        schema: dict[str, Any] = (
            body_type if isinstance(body_type, dict) else self._schemas[body_type]
        )
        return schema

    def list_members(self, struct_type: Any) -> tuple[dict[str, dict[str, Any]], list[str]]:
        """Return the members of a struct, and the names of the required ones."""
        schema = self.components[self._schemas[struct_type]["$ref"].rpartition("/")[2]]
        return schema["properties"], schema["required"]

    def list_components(self, without: Iterable[Any]) -> dict[str, dict[str, Any]]:
        """Return the components by name, without those of some types."""
        excluded_names = {self._schemas[item]["$ref"].rpartition("/")[2] for item in without}
        items = sorted(self.components.items())
        return {name: schema for name, schema in items if name not in excluded_names}


def prose(docstring: str | None) -> str:
    """Return a docstring without its sections, as Markdown."""
    text = inspect.cleandoc(docstring or "")
    for section in ("Parameters", "Attributes", "Raises"):
        text = text.partition(f"\n\n{section}\n---")[0]
    return text.replace("``", "`")


Route = tuple[str, type[web.RequestHandler]]

_JSON = "application/json"
_GROUP = re.compile(r"\(\?P<(\w+)>[^()]*\)")
_LOOK = re.compile(r"\(\?<?[!=][^()]*\)")
# Part of the pattern of a route for notebooks only.
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
        "description": "The number of the edit, as in its reply.",
        "schema": {"type": "integer", "minimum": 1, "maximum": LARGEST_INTEGER},
    },
}


@dataclass(frozen=True)
class DocumentedOperation:
    """One verb of one route.

    Parameters
    ----------
    pattern
        The regular expression of the route.
    path
        The path template of OpenAPI.
    verb
        The HTTP method.
    id
        A unique name.
    description
        What the operation does.
    spec
        Its specification.
    """

    pattern: str
    path: str
    verb: str
    id: str
    description: str
    spec: OperationSpec

    @property
    def parameters(self) -> list[str]:
        """The names of the path parameters."""
        return re.findall(r"\{(\w+)\}", self.path)

    def list_types(self) -> Iterator[Any]:
        """Yield the types of the query, the bodies and the error."""
        spec = self.spec
        replies = [reply.body for reply in spec.replies.values()]
        for item in (spec.query, spec.body, spec.error_type, *replies):
            if item is not None:
                yield item


def list_operations(routes: Iterable[Route]) -> Iterator[DocumentedOperation]:
    """Yield all operations, in the order of the routes."""
    for pattern, handler in routes:
        if not issubclass(handler, NbEditHandler):
            continue
        path = _GROUP.sub(r"{\1}", _LOOK.sub("", pattern)).replace("/?", "").replace("\\", "")
        words = re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z][a-z]*", handler.__name__)
        for verb in handler.SUPPORTED_METHODS:
            method = getattr(handler, verb.lower())
            spec = get_spec(method)
            if spec is None:
                continue
            name = "_".join([verb, *words[:-1]]).lower()
            if not spec.addresses:
                yield DocumentedOperation(pattern, path, verb, name, prose(method.__doc__), spec)
            for address, address_spec in spec.addresses.items():
                yield DocumentedOperation(
                    pattern,
                    path.replace("{address}", address),
                    verb,
                    f"{name}_{address.replace('/', '_')}",
                    address_spec.description,
                    address_spec,
                )


@dataclass(frozen=True)
class OpenAPIBuilder:
    """Builds the Operation Objects of OpenAPI.

    Parameters
    ----------
    schemas
        The schemas of the types of all operations.
    examples
        All examples.
    patterns
        The patterns of all routes.
    """

    schemas: SchemaBuilder
    examples: Sequence[Example]
    patterns: Sequence[str]

    def build_examples(self) -> dict[str, dict[str, Any]]:
        """Return the examples of errors, which operations share."""
        return {
            example.name: example.render() for example in self.examples if not example.is_success
        }

    def build_operation(self, operation: DocumentedOperation) -> dict[str, Any]:
        """Return the Operation Object of an operation."""
        spec = operation.spec
        own_examples = [
            example for example in self.examples if self._is_example_of(example, operation)
        ]
        successful = [example for example in own_examples if example.is_success]
        responses = self._build_replies(spec, successful) | self._build_error_responses(
            spec, own_examples
        )
        if _NOTEBOOKS_ONLY in operation.pattern:
            responses |= self._build_redirect_response()
        result = {
            "operationId": operation.id,
            "summary": spec.summary,
            "description": operation.description,
            "parameters": list(self._build_parameters(operation, successful)),
            "responses": dict(sorted(responses.items())),
        }
        if spec.body is not None:
            examples = {
                example.name: {"summary": example.summary, "value": example.body}
                for example in successful
            }
            result["requestBody"] = {
                "required": True,
                "content": {
                    _JSON: {
                        "schema": self.schemas.build_schema(spec.body),
                        "examples": examples,
                    }
                },
            }
        return result

    def _is_example_of(self, example: Example, operation: DocumentedOperation) -> bool:
        if example.verb != operation.verb:
            return False
        if not operation.parameters:
            return example.path == operation.path
        # The first matching route, as in tornado.
        matching_patterns = (
            pattern for pattern in self.patterns if re.fullmatch(pattern, example.path)
        )
        return next(matching_patterns, None) == operation.pattern

    def _build_parameters(
        self, operation: DocumentedOperation, successful: Sequence[Example]
    ) -> Iterator[dict[str, Any]]:
        spec = operation.spec
        for name in operation.parameters:
            examples = {
                example.name: {"value": example.match_parameters(operation.pattern)[name]}
                for example in successful
            }
            yield _build_parameter(name, "path", examples, required=True, **_PARAMETERS[name])
        if spec.query is not None:
            members, required = self.schemas.list_members(spec.query)
            for name, schema in members.items():
                examples = {
                    example.name: {"value": _parse_query_value(example.query[name], schema)}
                    for example in successful
                    if name in example.query
                }
                yield _build_parameter(
                    name,
                    "query",
                    examples,
                    required=name in required,
                    description=schema.get("description", ""),
                    schema=schema,
                )
        for header in spec.headers:
            examples = {
                example.name: {"value": example.headers[header.name]}
                for example in successful
                if header.name in example.headers
            }
            yield _build_parameter(
                header.name, "header", examples, required=False, **_build_header(header)
            )

    def _build_replies(self, spec: OperationSpec, successful: Sequence[Example]) -> dict[str, Any]:
        responses = {}
        for status, reply in spec.replies.items():
            response: dict[str, Any] = {"description": reply.description}
            if reply.headers:
                response["headers"] = {
                    header.name: {"required": True, **_build_header(header)}
                    for header in reply.headers
                }
            if reply.body is not None:
                examples = {
                    example.name: example.render()
                    for example in successful
                    if example.status == status
                }
                response["content"] = {
                    _JSON: {"schema": self.schemas.build_schema(reply.body), "examples": examples}
                }
            responses[str(int(status))] = response
        return responses

    def _build_error_responses(
        self, spec: OperationSpec, own_examples: Sequence[Example]
    ) -> dict[str, Any]:
        reasons: dict[HTTPStatus, dict[str, str]] = {}
        for error in spec.all_errors:
            summary = prose(error.__doc__).partition("\n")[0]
            reasons.setdefault(STATUS[error], {})[error.reason] = summary
        # Jupyter itself sends these for all routes.
        not_found_reasons = reasons.setdefault(HTTPStatus.NOT_FOUND, {})
        not_found_reasons[InvalidRequest.reason] = (
            "The request comes from the page of another site."
        )
        internal_reasons = reasons.setdefault(HTTPStatus.INTERNAL_SERVER_ERROR, {})
        internal_reasons[INTERNAL_ERROR] = "The server failed unexpectedly."
        return {
            str(int(status)): {
                "description": "\n".join(
                    f"- `{reason}`: {summary}" for reason, summary in summaries.items()
                ),
                "content": {
                    _JSON: self._build_error_response(spec, status, summaries, own_examples)
                },
            }
            for status, summaries in reasons.items()
        }

    def _build_error_response(
        self,
        spec: OperationSpec,
        status: HTTPStatus,
        reasons: Mapping[str, str],
        own_examples: Sequence[Example],
    ) -> dict[str, Any]:
        examples: list[Example] = []
        for reason in reasons:
            key = (status, reason)
            own = [example for example in own_examples if (example.status, example.reason) == key]
            shared = [
                example for example in self.examples if (example.status, example.reason) == key
            ]
            examples += own or shared[:1]
        if spec.build_error is not None:
            # The errors of other routes, in the form of this one.
            rendered_examples = {
                example.name: example.render(
                    spec.build_error(msgspec.convert(example.answer, ErrorBody))
                )
                for example in examples
            }
            schema = self.schemas.build_schema(spec.error_type)
            return {"schema": schema, "examples": rendered_examples}
        reason_schema = {"type": "object", "properties": {"reason": {"enum": list(reasons)}}}
        return {
            "schema": {"allOf": [self.schemas.build_schema(ErrorBody), reason_schema]},
            "examples": {example.name: _reference_example(example) for example in examples},
        }

    def _build_redirect_response(self) -> dict[str, Any]:
        """Return the response to the path of a file that is not a notebook."""
        status = HTTPStatus.METHOD_NOT_ALLOWED
        examples = {
            example.name: _reference_example(example)
            for example in self.examples
            if example.status == status
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


def _reference_example(example: Example) -> dict[str, str]:
    return {"$ref": f"#/components/examples/{example.name}"}


def _build_header(header: Header) -> dict[str, Any]:
    schema = {"type": "string", **({"pattern": header.pattern} if header.pattern else {})}
    return {"description": header.description, "schema": schema}


def _build_parameter(
    name: str, location: str, examples: Mapping[str, Any], *, required: bool, **fields: Any
) -> dict[str, Any]:
    parameter = {"name": name, "in": location, "required": required, **fields}
    return parameter | ({"examples": examples} if examples else {})


def _parse_query_value(values: Sequence[str], schema: Mapping[str, Any]) -> Any:
    """Convert the values of a query argument to the type of the parameter."""
    if schema.get("type") == "array":
        return list(values)
    if schema.get("type") in {"integer", "boolean"}:
        return msgspec.json.decode(values[0])
    return values[0]
