"""JSON Schemas of the structs, with the rules that their types cannot say."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

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


def exactly_one(*names: str) -> dict[str, Any]:
    """Say that an object has just one of these members."""
    return {"oneOf": [{"required": [name]} for name in names]}


def at_least_one(*names: str) -> dict[str, Any]:
    """Say that an object has one of these members or several."""
    return {"anyOf": [{"required": [name]} for name in names]}


_POSITION = exactly_one("after", "before", "index", "at")
#: What the decoder leaves to `check_form`, by the struct's name.
_RULES: Mapping[str, Mapping[str, Any]] = {
    "Insert": _POSITION,
    "Move": _POSITION,
    "Replace": at_least_one("source", "cell_type"),
    "Expect": exactly_one("source", "source_hash"),
}


def components(types: Iterable[Any]) -> tuple[list[dict[str, Any]], dict[str, dict[str, Any]]]:
    """Give the schemas of types, and the components that these refer to."""
    schemas, named = msgspec.json.schema_components(types, ref_template=_AT)
    for name, schema in named.items():
        schema["description"] = prose(schema.get("description", ""))
        schema.update(_RULES.get(name, {}))
        _forbid_trusted(schema)
    if any(_FREE in str(schema) for schema in named.values()):
        named[_FREE] = _WITHOUT_TRUSTED
    return list(schemas), named


def prose(docstring: str | None) -> str:
    """Give what a docstring says to everybody, as Markdown."""
    text = inspect.cleandoc(docstring or "")
    for section in ("Parameters", "Raises"):
        text = text.partition(f"\n\n{section}\n---")[0]
    return text.replace("``", "`")


def _forbid_trusted(schema: dict[str, Any]) -> None:
    for name in ("metadata", "patch"):
        member = schema.get("properties", {}).get(name)
        if schema.get("additionalProperties") is False and member is not None:
            schema["properties"][name] = {**member, "$ref": _AT.format(name=_FREE)}
