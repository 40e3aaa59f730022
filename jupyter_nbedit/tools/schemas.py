"""JSON Schemas of tools' inputs, as a model is given them."""

from __future__ import annotations

from typing import Any

import msgspec

_REFERENCE = "#/$defs/"


def build_input_schema(form: type[msgspec.Struct]) -> dict[str, Any]:
    """Write the schema of what decodes an input, whole and without references.

    Models follow references badly, and some programs that hand schemas to models not at all. The
    form must not contain itself.
    """
    schema = msgspec.json.schema(form)
    found: dict[str, Any] = _resolve(schema, schema.get("$defs", {}))
    # The tool's own description says more than the form's.
    found.pop("description", None)
    return found


def _resolve(schema: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(schema, list):
        return [_resolve(item, definitions) for item in schema]
    if not isinstance(schema, dict):
        return schema
    reference = schema.get("$ref")
    if reference is not None:
        schema = {**definitions[reference.removeprefix(_REFERENCE)], **schema}
    left_out = {"$ref", "$defs", "title"} if "properties" in schema else {"$ref", "$defs"}
    return {
        name: _resolve(value, definitions) for name, value in schema.items() if name not in left_out
    }
