"""JSON Schemas of the structs, with the rules that their types cannot say."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

_AT = "#/components/schemas/{name}"
_FREE = "JSONWithoutTrusted"
# What msgspec puts before the names of structs that several modules have.
_MODULES = b"jupyter_nbedit.tools."

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
#: What the decoder leaves to others to refuse, by the struct's name.
_RULES: Mapping[str, Mapping[str, Any]] = {
    "Insert": _POSITION,
    "InsertBody": _POSITION,
    "Move": {"allOf": [_POSITION, _CELLS], **_GUARD},
    "Delete": {**_CELLS, **_GUARD},
    "Replace": _require_at_least_one("source", "cell_type"),
    "ReplaceBody": {
        **_require_at_least_one("source", "cell_type", "metadata"),
        "if": {"required": ["outputs"]},
        "then": _require_at_least_one("source", "cell_type"),
    },
    "ReplaceText": {
        "oneOf": [
            {"required": ["old", "new"], **_require_none("edits")},
            {"required": ["edits"], **_require_none("old", "new", "all")},
        ]
    },
    "ClearOutputs": {**_require_exactly_one("cell", "cells", "all"), **_GUARD},
    "SetMetadata": _GUARD,
    "Expect": _require_exactly_one("source", "source_hash"),
    "SearchRequest": _require_exactly_one("query", "regex"),
    "nexo.Input": _ONE_CELL,
    "mycode.Input": _ONE_CELL,
    "omp.Input": _build_condition("action", "delete", _ANYTHING, _require_members("content")),
    "sections.Input": {
        "allOf": [
            _build_condition("action", "read", _ANYTHING, _require_members("section")),
            _build_condition("action", "append_to_section", _require_members("content")),
            _build_condition("action", "replace_section", _require_members("content")),
            _build_condition("action", "remove_entry", _require_members("entry_match")),
        ]
    },
    "NotebookEditInput": _build_condition(
        "edit_mode",
        "insert",
        _require_members("cell_type"),
        {**_require_members("cell_id"), "properties": {"cell_id": {"minLength": 1}}},
    ),
}
_NOT_BLANK = {"pattern": r"[^\s\u001c-\u001f\u0085]"}
#: The same of single members.
_MEMBER_RULES: Mapping[tuple[str, str], Mapping[str, Any]] = {
    ("ClearOutputs", "all"): {"const": True},
    ("RemoveEntry", "match"): _NOT_BLANK,
    ("sections.Input", "entry_match"): _NOT_BLANK,
    **{
        (struct, member): {"$ref": _AT.format(name=_FREE)}
        for struct, member in (
            ("Insert", "metadata"),
            ("InsertBody", "metadata"),
            ("NewCell", "metadata"),
            ("ReplaceBody", "metadata"),
            ("SetMetadata", "patch"),
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
        schemas, self.components = msgspec.json.decode(written.replace(_MODULES, b""))
        self._of = dict(zip(forms, schemas, strict=True))
        for struct, schema in self.components.items():
            schema["description"] = prose(schema.get("description", ""))
            schema.update(_RULES.get(struct, {}))
            for name, member in schema.get("properties", {}).items():
                member.update(_MEMBER_RULES.get((struct, name), {}))
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
