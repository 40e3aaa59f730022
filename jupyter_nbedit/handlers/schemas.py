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
_CHANGE = at_least_one("source", "cell_type")
#: What the decoder leaves to `check_form`, by the struct's name.
_RULES: Mapping[str, Mapping[str, Any]] = {
    "Insert": _POSITION,
    "InsertBody": _POSITION,
    "Move": _POSITION,
    "Replace": _CHANGE,
    "ReplaceBody": _CHANGE,
    "Expect": exactly_one("source", "source_hash"),
}


class Schemas:
    """The schemas of types, and the components that these refer to.

    Parameters
    ----------
    types
        All types there will be; a JSON Schema among them stays as it is.
    """

    def __init__(self, types: Iterable[Any]) -> None:
        forms = list(dict.fromkeys(form for form in types if not isinstance(form, dict)))
        schemas, self.components = msgspec.json.schema_components(forms, ref_template=_AT)
        self._of = dict(zip(forms, schemas, strict=True))
        for schema in self.components.values():
            schema["description"] = prose(schema.get("description", ""))
            schema.update(_RULES.get(schema["title"], {}))
            _forbid_trusted(schema)
        if any(_FREE in str(schema) for schema in self.components.values()):
            self.components[_FREE] = _WITHOUT_TRUSTED

    def of(self, form: Any) -> dict[str, Any]:
        """Give the schema of a type."""
        found: dict[str, Any] = form if isinstance(form, dict) else self._of[form]
        return found

    def members(self, form: Any) -> tuple[dict[str, dict[str, Any]], list[str]]:
        """Give the members of a struct, and which of them are required."""
        schema = self.components[self._of[form]["$ref"].rpartition("/")[2]]
        return schema["properties"], schema["required"]

    def shown(self, without: Iterable[Any]) -> dict[str, dict[str, Any]]:
        """Give the components by name, without those of some types."""
        left_out = {self._of[form]["$ref"].rpartition("/")[2] for form in without}
        named = sorted(self.components.items())
        return {name: schema for name, schema in named if name not in left_out}


def prose(docstring: str | None) -> str:
    """Give what a docstring says to everybody, as Markdown."""
    text = inspect.cleandoc(docstring or "")
    for section in ("Parameters", "Raises"):
        text = text.partition(f"\n\n{section}\n---")[0]
    return text.replace("``", "`")


def _forbid_trusted(schema: dict[str, Any]) -> None:
    if schema.get("additionalProperties") is not False:
        return
    for name in ("metadata", "patch"):
        if name in schema["properties"]:
            schema["properties"][name] |= {"$ref": _AT.format(name=_FREE)}
