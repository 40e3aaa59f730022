"""The OpenAPI document as a page for people: ``docs/api.md``."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from jupyter_nbedit.handlers.errors import INTERNAL_ERROR, STATUS
from jupyter_nbedit.handlers.openapi import prose
from tests.openapi.examples import Example, load_examples
from tests.support.paths import ROOT

Json = Mapping[str, Any]

PAGE = ROOT / "docs" / "api.md"
_HEAD = """\
# The HTTP API

Made from the OpenAPI document, which every server has at `/nbedit/openapi.json`; do not edit this \
page, run `python tests/openapi`. Every example was sent to a server, and a test sends each again.

"""
_ERRORS = """
Any request may meet `invalid_request`, `forbidden`, `too_large` and `internal_error`,
and any with a body `unsupported_media_type`.

| status | reason | |
|---|---|---|"""
_ADDRESSES = """\
## Addresses of cells

A text that addresses a cell is the first of these:

| text | means |
|---|---|
| the id of a cell | this cell |
| `N:hhhhhh`, a guarded name | the cell with this source, wherever it is now |
| `cell-N`, if a cell of the notebook has another id of this form | no cell: `cell_not_found` |
| `cell-N`, if the history of the notebook has a cell with this id | no cell: `cell_not_found` |
| `cell-N` | the cell at index `N` |
| `N`, in an address or a query | the cell at index `N` |

The cell of an id such as `cell-3` may have been deleted; then the text must not mean another \
cell. For cells without ids the error has the guarded names. A new cell cannot get an id of this \
form.
"""
_ANY_REQUEST = {
    "invalid_request",
    "forbidden",
    "too_large",
    "unsupported_media_type",
    INTERNAL_ERROR,
}


def build_page(document: Json) -> str:
    """Return the page as Markdown."""
    return _HEAD + "\n".join(_build_lines(document)).rstrip() + "\n"


def _build_lines(document: Json) -> Iterator[str]:
    operations = [
        (f"{verb.upper()} {path}", operation)
        for path, verbs in document["paths"].items()
        for verb, operation in verbs.items()
    ]
    yield f"{document['info']['description']}\n\n| request | |\n|---|---|"
    for request, operation in operations:
        yield f"| `{request}` | {_link(operation['summary'])} |"
    yield "\n[Errors](#errors) · [Addresses of cells](#addresses-of-cells) · [Forms](#forms)\n"
    for request, operation in operations:
        yield from _describe_operation(request, operation)
    yield from _describe_errors()
    yield _ADDRESSES
    yield "## Forms\n"
    for name, schema in document["components"]["schemas"].items():
        yield from _describe_form(name, schema)


def _describe_operation(request: str, operation: Json) -> Iterator[str]:
    yield f"## {operation['summary']}\n\n`{request}`\n"
    description = operation["description"]
    # Models get the description of a tool with these line breaks.
    is_tool = "/nbedit/tools/" in request
    yield f"```text\n{description.strip()}\n```\n" if is_tool else f"{_unwrap(description)}\n"
    if operation["parameters"]:
        yield "| parameter | in | type | |\n|---|---|---|---|"
        for parameter in operation["parameters"]:
            kind, said = _format_type(parameter["schema"]), _format_cell(parameter["description"])
            yield f"| `{parameter['name']}` | {parameter['in']} | {kind} | {said} |"
        yield ""
    if body := operation.get("requestBody"):
        yield f"Body: {_format_type(body['content']['application/json']['schema'])}\n"
    granted = {
        status: response for status, response in operation["responses"].items() if int(status) < 400
    }
    for status, response in granted.items():
        yield _describe_answer(status, response)
    for exchange in load_examples():
        if exchange.request == request and exchange.status < 400:
            yield from _describe_exchange(exchange)
    errors = [
        f"- {status}: {', '.join(f'[`{reason}`](#errors)' for reason in reasons)}"
        for status, response in operation["responses"].items()
        if (reasons := [name for name in find_reasons(response) if name not in _ANY_REQUEST])
    ]
    if errors:
        yield "Errors:\n"
        yield from errors
        yield ""


def _describe_answer(status: str, response: Json) -> str:
    content = response.get("content", {}).get("application/json")
    headers = ", ".join(f"`{name}`" for name in response.get("headers", {}))
    above = f" Headers: {headers}." if headers else ""
    form = f" Body: {_format_type(content['schema'])}" if content else ""
    return f"Answer {status}: {response['description']}{above}{form}\n"


def _describe_exchange(exchange: Example) -> Iterator[str]:
    yield f"<details><summary>Example: {exchange.summary}</summary>\n"
    if exchange.given:
        yield f"{exchange.given}\n"
    yield f"```http\n{exchange.verb} {exchange.target}"
    for name, value in exchange.headers.items():
        yield f"{name}: {value}"
    if exchange.body is not None:
        yield f"Content-Type: application/json\n\n{_dump(exchange.body)}"
    part = ", shown in part" if exchange.abridged else ""
    yield f"```\n\n{exchange.status}{part}:\n"
    if isinstance(exchange.answer, str):
        yield f"```text\n{exchange.answer}```\n"
    elif exchange.answer is not None:
        yield f"```json\n{_dump(exchange.answer)}\n```\n"
    yield "</details>\n"


def find_reasons(response: Json) -> list[str]:
    lines = (line for line in response["description"].splitlines() if line.startswith("- `"))
    return [line.split("`")[1] for line in lines]


def _describe_errors() -> Iterator[str]:
    form = _format_type({"$ref": "#/components/schemas/ErrorBody"})
    yield f"## Errors\n\nThe body is {form}.{_ERRORS}"
    rows = {
        (int(status), kind.reason, prose(kind.__doc__).partition("\n")[0])
        for kind, status in STATUS.items()
    }
    rows.add((500, INTERNAL_ERROR, "The server failed in a way nobody foresaw."))
    for status, reason, said in sorted(rows):
        yield f"| {status} | `{reason}` | {said} |"
    yield ""
    for exchange in load_examples():
        if exchange.reason is not None:
            yield from _describe_exchange(exchange)


def _describe_form(name: str, schema: Json) -> Iterator[str]:
    yield f"### {name}\n\n{_unwrap(schema.get('description', ''))}\n"
    if members := schema.get("properties"):
        yield "| member | type | |\n|---|---|---|"
        for member, form in members.items():
            need = _describe_need(form, is_required=member in schema.get("required", []))
            said = _format_cell(form.get("description", ""))
            yield f"| `{member}` | {_format_type(form)} | {said}{need} |"
        yield ""


def _describe_need(form: Json, *, is_required: bool) -> str:
    # An example of a default that stands for nothing would say nothing.
    default = f", `{json.dumps(form['default'])}` if left out" if form.get("default") else ""
    return "" if is_required else f" (optional{default})"


def _format_type(schema: Json) -> str:
    if "$ref" in schema:
        return _link(schema["$ref"].rpartition("/")[2])
    if "enum" in schema:
        return ", ".join(f"`{json.dumps(value)}`" for value in schema["enum"])
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_format_type(option) for option in schema["anyOf"]))
    if "prefixItems" in schema:
        return f"[{', '.join(_format_type(item) for item in schema['prefixItems'])}]"
    kind = str(schema.get("type", "any JSON"))
    return f"list of {_format_type(schema.get('items', {}))}" if kind == "array" else kind


def _link(heading: str) -> str:
    return f"[{heading}](#{build_anchor(heading)})"


def build_anchor(heading: str) -> str:
    """Return a heading's address, as GitHub builds it."""
    letters = (letter for letter in heading.lower() if letter.isalnum() or letter in " -_")
    return "".join(letters).replace(" ", "-")


def _dump(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _unwrap(text: str) -> str:
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def _format_cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
