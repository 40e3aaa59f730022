"""The OpenAPI document, which is made of what each verb declares with `OperationSpec`."""

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import msgspec

from jupyter_nbedit import errors
from jupyter_nbedit._version import __version__
from jupyter_nbedit.errors import NbEditError
from jupyter_nbedit.handlers.errors import INTERNAL_ERROR, STATUS, ErrorBody
from jupyter_nbedit.handlers.negotiation import TEXT_TYPE
from jupyter_nbedit.handlers.spec import Header, OperationSpec, Reply, Route
from jupyter_nbedit.notebook.operations import MAX_INTEGER

_ABOUT = """\
Agents edit the cells of notebooks over HTTP; the open tab in JupyterLab follows, and nothing else \
changes. No kernel is started or used.

Addresses are relative to the server's base URL. A request's body is JSON in UTF-8 with the header \
`Content-Type: application/json`; an integer in it has no decimal point. Every error has the same \
body of `message`, `reason` and `details` (tools have bodies of their own), and has written \
nothing unless `details` has `applied: true`.

With the header `Accept: text/plain` most replies, and all errors except those of tools, are \
compact texts for models and terminals."""
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
        "description": "The id of the cell. Only if no cell has that id: its guarded name "
        "`N:hhhhhh` (its index, and the first 6 digits of its `source_hash`), or `N`, its index "
        "from 0. `cell-N` means the same as `N` if no cell has or had an id of this form.",
        "schema": {"type": "string", "minLength": 1},
    },
    "proposal_id": {
        "description": "The proposal's number.",
        "schema": {"type": "integer", "minimum": 0},
    },
    "edit_id": {
        "description": "The number of the edit, as in its reply.",
        "schema": {"type": "integer", "minimum": 1, "maximum": MAX_INTEGER},
    },
}
_REFERENCE = "#/components/schemas/{name}"
_GROUP = re.compile(r"\(\?P<(\w+)>[^()]*\)")
_LOOK = re.compile(r"\(\?<?[!=][^()]*\)")
# Part of the pattern of a route for notebooks only.
_NOTEBOOKS_ONLY = r"\.ipynb)"


def build_document(routes: Sequence[Route], *, base_url: str) -> dict[str, Any]:
    """Return the document of the routes, which are patterns and handlers, of a server."""
    operations = list(list_operations(routes))
    bodies: list[Any] = [ErrorBody]
    for spec in (operation.spec for operation in operations):
        bodies += [spec.query, spec.body, spec.error_type]
        for reply in spec.replies.values():
            bodies += reply.body if isinstance(reply.body, tuple) else [reply.body]
    structs = [body for body in bodies if isinstance(body, type)]
    schemas = msgspec.json.schema_components(structs, ref_template=_REFERENCE)[1]
    for schema in schemas.values():
        schema["description"] = prose(schema.get("description"))
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        verbs = paths.setdefault(operation.path, {})
        verbs[operation.verb.lower()] = _build_operation(operation, schemas)
    queries = {operation.spec.query.__name__ for operation in operations if operation.spec.query}
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
            "schemas": {name: schemas[name] for name in sorted(schemas.keys() - queries)},
            "securitySchemes": _SECURITY,
        },
    }


@dataclass(frozen=True)
class DocumentedOperation:
    """One verb of one route: its ``pattern``, and ``path``, the path template of OpenAPI."""

    pattern: str
    path: str
    verb: str
    id: str
    description: str
    spec: OperationSpec


def list_operations(routes: Iterable[Route]) -> Iterator[DocumentedOperation]:
    """Yield all operations, in the order of the routes."""
    for pattern, handler in routes:
        path = _GROUP.sub(r"{\1}", _LOOK.sub("", pattern)).replace("/?", "").replace("\\", "")
        words = re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z][a-z]*", handler.__name__)
        for verb in handler.SUPPORTED_METHODS:
            method = getattr(handler, verb.lower())
            declared: OperationSpec | None = getattr(method, "spec", None)
            if declared is None:
                continue
            name = "_".join([verb, *words[:-1]]).lower()
            for address, spec in (declared.addresses or {"": declared}).items():
                yield DocumentedOperation(
                    pattern,
                    path.replace("{address}", address),
                    verb,
                    f"{name}_{address.replace('/', '_')}".rstrip("_"),
                    spec.description or prose(method.__doc__),
                    spec,
                )


def prose(docstring: str | None) -> str:
    """Return a docstring as Markdown."""
    return inspect.cleandoc(docstring or "").replace("``", "`")


def _build_operation(
    operation: DocumentedOperation, schemas: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    spec = operation.spec
    responses = {
        **_build_error_responses(spec),
        **{
            str(int(status)): _build_response(reply, has_text=spec.has_text)
            for status, reply in spec.replies.items()
        },
    }
    if _NOTEBOOKS_ONLY in operation.pattern:
        responses[str(int(HTTPStatus.METHOD_NOT_ALLOWED))] = {
            "description": "The path does not end in `.ipynb`, so this is another address, which "
            "does not have this method.",
            **_build_content(ErrorBody, has_text=True),
        }
    body = {"requestBody": {"required": True, **_build_content(spec.body)}} if spec.body else {}
    return {
        "operationId": operation.id,
        "summary": spec.summary,
        "description": operation.description,
        "parameters": list(_build_parameters(operation, schemas)),
        "responses": dict(sorted(responses.items())),
        **body,
    }


def _build_parameters(
    operation: DocumentedOperation, schemas: Mapping[str, Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    spec = operation.spec
    for name in re.findall(r"\{(\w+)\}", operation.path):
        yield {"name": name, "in": "path", "required": True, **_PARAMETERS[name]}
    query = schemas[spec.query.__name__] if spec.query else {"properties": {}}
    for name, schema in query["properties"].items():
        yield {
            "name": name,
            "in": "query",
            "required": name in query["required"],
            "description": schema.get("description", ""),
            "schema": schema,
        }
    for header in spec.headers:
        yield {"name": header.name, "in": "header", "required": False, **_build_header(header)}


def _build_response(reply: Reply, *, has_text: bool) -> dict[str, Any]:
    headers = {header.name: {"required": True, **_build_header(header)} for header in reply.headers}
    return {
        "description": reply.description,
        **({"headers": headers} if headers else {}),
        **(_build_content(reply.body, has_text=has_text) if reply.body else {}),
    }


def _build_error_responses(spec: OperationSpec) -> dict[str, Any]:
    # Jupyter itself sends the first two for all routes.
    reasons: dict[HTTPStatus, dict[str, str]] = {
        HTTPStatus.NOT_FOUND: {},
        HTTPStatus.INTERNAL_SERVER_ERROR: {},
    }
    any_errors: list[type[NbEditError]] = [errors.InvalidRequest, errors.Forbidden, errors.TooLarge]
    if spec.body is not None:
        any_errors.append(errors.UnsupportedMediaType)
    for error in (*any_errors, *spec.errors):
        summary = prose(error.__doc__).partition("\n")[0]
        reasons.setdefault(STATUS[error], {})[error.reason] = summary
    reasons[HTTPStatus.NOT_FOUND][errors.InvalidRequest.reason] = (
        "The request comes from the page of another site."
    )
    reasons[HTTPStatus.INTERNAL_SERVER_ERROR][INTERNAL_ERROR] = "The server failed unexpectedly."
    responses = {}
    for status, summaries in reasons.items():
        lines = [f"- `{reason}`: {summary}" for reason, summary in summaries.items()]
        members = {"type": "object", "properties": {"reason": {"enum": list(summaries)}}}
        body = spec.error_type or {"allOf": [_refer(ErrorBody), members]}
        content = _build_content(body, has_text=spec.error_type is None)
        responses[str(int(status))] = {"description": "\n".join(lines), **content}
    return responses


def _build_content(
    body: type[msgspec.Struct] | tuple[type[msgspec.Struct], ...] | Mapping[str, Any],
    *,
    has_text: bool = False,
) -> dict[str, Any]:
    schema: Mapping[str, Any]
    if isinstance(body, Mapping):
        schema = body
    elif isinstance(body, tuple):
        schema = {"anyOf": [_refer(struct) for struct in body]}
    else:
        schema = _refer(body)
    text = {TEXT_TYPE: {"schema": {"type": "string"}}} if has_text else {}
    return {"content": {"application/json": {"schema": schema}, **text}}


def _refer(struct: type[msgspec.Struct]) -> dict[str, str]:
    return {"$ref": _REFERENCE.format(name=struct.__name__)}


def _build_header(header: Header) -> dict[str, Any]:
    pattern = {"pattern": header.pattern} if header.pattern else {}
    return {"description": header.description, "schema": {"type": "string", **pattern}}
