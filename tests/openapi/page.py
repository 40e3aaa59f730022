"""The OpenAPI document as a page for people: ``docs/api.md``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from jupyter_nbedit.handlers.examples import Exchange, exchanges
from jupyter_nbedit.handlers.refusals import INTERNAL_ERROR, STATUS
from jupyter_nbedit.handlers.schemas import prose

Json = Mapping[str, Any]

_HEAD = """\
# The HTTP API

Made from the OpenAPI document, which every server has at `/nbedit/openapi.json`; do not edit this \
page, run `python tests/openapi`. Every example was sent to a server, and a test sends each again.

"""
_ANY_REQUEST = {
    "invalid_request",
    "forbidden",
    "too_large",
    "unsupported_media_type",
    INTERNAL_ERROR,
}


def page(document: Json) -> str:
    """Write the page."""
    return _HEAD + "\n".join(_lines(document)).rstrip() + "\n"


def _lines(document: Json) -> Iterator[str]:
    yield document["info"]["description"]
    yield ""
    yield from _contents(document)
    for path, verbs in document["paths"].items():
        for verb, operation in verbs.items():
            yield from _operation(verb.upper(), path, operation)
    yield from _errors()
    yield from _forms(document)


def _contents(document: Json) -> Iterator[str]:
    yield "| request | |"
    yield "|---|---|"
    for path, verbs in document["paths"].items():
        for verb, operation in verbs.items():
            summary = operation["summary"]
            yield f"| `{verb.upper()} {path}` | [{summary}](#{_anchor(summary)}) |"
    yield ""
    yield "[Errors](#errors) · [Forms](#forms)"
    yield ""


def _operation(verb: str, path: str, operation: Json) -> Iterator[str]:
    yield f"## {operation['summary']}"
    yield ""
    yield f"`{verb} {path}`"
    yield ""
    yield _unwrapped(operation["description"])
    yield ""
    if operation["parameters"]:
        yield "| parameter | in | type | |"
        yield "|---|---|---|---|"
        for parameter in operation["parameters"]:
            name, where = parameter["name"], parameter["in"]
            said = _cell(parameter["description"])
            yield f"| `{name}` | {where} | {_type(parameter['schema'])} | {said} |"
        yield ""
    body = operation.get("requestBody")
    if body:
        yield f"Body: {_type(body['content']['application/json']['schema'])}"
        yield ""
    for status, response in operation["responses"].items():
        if int(status) < 400:
            yield from _reply(status, response)
    yield from _example(operation)
    yield from _refusals(operation)


def _reply(status: str, response: Json) -> Iterator[str]:
    content = response.get("content", {}).get("application/json")
    form = f" {_type(content['schema'])}" if content else ""
    headers = ", ".join(f"`{name}`" for name in response.get("headers", {}))
    above = f" Headers: {headers}." if headers else ""
    yield f"Answer {status}: {response['description']}{above}{form and f' Body:{form}'}"
    yield ""


def _example(operation: Json) -> Iterator[str]:
    shown = {
        name
        for status, response in operation["responses"].items()
        if int(status) < 400
        for content in response.get("content", {}).values()
        for name in content["examples"]
    }
    told = [exchange for exchange in exchanges() if exchange.name in shown]
    for exchange in told:
        yield from _exchange(exchange)


def _exchange(exchange: Exchange) -> Iterator[str]:
    yield f"<details><summary>Example: {exchange.summary}</summary>"
    yield ""
    if exchange.given:
        yield exchange.given
        yield ""
    yield "```http"
    yield f"{exchange.verb} {exchange.target}"
    for name, value in exchange.headers.items():
        yield f"{name}: {value}"
    if exchange.body is not None:
        yield "Content-Type: application/json"
        yield ""
        yield json.dumps(exchange.body, indent=2, ensure_ascii=False)
    yield "```"
    yield ""
    yield f"{exchange.status}{', shown in part' if exchange.abridged else ''}:"
    yield ""
    yield "```json"
    yield json.dumps(exchange.answer, indent=2, ensure_ascii=False)
    yield "```"
    yield ""
    yield "</details>"
    yield ""


def _refusals(operation: Json) -> Iterator[str]:
    reasons = [
        f"[`{reason}`](#errors) {status}"
        for status, response in operation["responses"].items()
        for reason in _reasons(response)
        if reason not in _ANY_REQUEST
    ]
    if reasons:
        yield f"Refusals: {', '.join(reasons)}."
        yield ""


def _reasons(response: Json) -> list[str]:
    lines = (line for line in response["description"].splitlines() if line.startswith("- `"))
    return [line.split("`")[1] for line in lines]


def _errors() -> Iterator[str]:
    yield "## Errors"
    yield ""
    yield f"The body is {_type({'$ref': '#/components/schemas/ErrorBody'})}."
    yield "Any request may meet `invalid_request`, `forbidden`, `too_large` and `internal_error`,"
    yield "and any with a body `unsupported_media_type`."
    yield ""
    yield "| status | reason | |"
    yield "|---|---|---|"
    rows = {
        (int(status), kind.reason, prose(kind.__doc__).partition("\n")[0])
        for kind, status in STATUS.items()
    }
    rows.add((500, INTERNAL_ERROR, "The server failed in a way nobody foresaw."))
    for status, reason, said in sorted(rows):
        yield f"| {status} | `{reason}` | {said} |"
    yield ""
    for exchange in exchanges():
        if exchange.reason is not None:
            yield from _exchange(exchange)


def _forms(document: Json) -> Iterator[str]:
    yield "## Forms"
    yield ""
    for name, schema in document["components"]["schemas"].items():
        yield f"### {name}"
        yield ""
        yield _unwrapped(schema.get("description", ""))
        yield ""
        members = schema.get("properties")
        if not members:
            continue
        yield "| member | type | |"
        yield "|---|---|---|"
        for member, of in members.items():
            said = _cell(of.get("description", ""))
            yield f"| `{member}` | {_type(of)} | {said}{_need(member, of, schema)} |"
        yield ""


def _need(member: str, of: Json, schema: Json) -> str:
    if member in schema.get("required", []):
        return ""
    # An example of what stands for nothing would say nothing.
    default = f", `{json.dumps(of['default'])}` if left out" if of.get("default") else ""
    return f" (optional{default})"


def _type(schema: Json) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{_anchor(name)})"
    if "enum" in schema:
        return ", ".join(f"`{json.dumps(value)}`" for value in schema["enum"])
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_type(option) for option in schema["anyOf"]))
    kind = schema.get("type", "any JSON")
    if kind == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return str(kind)


def _anchor(heading: str) -> str:
    """Give a heading's address, as GitHub does it."""
    kept = (letter for letter in heading.lower() if letter.isalnum() or letter in " -_")
    return "".join(kept).replace(" ", "-")


def _unwrapped(text: str) -> str:
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
