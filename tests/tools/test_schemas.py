"""The definitions of tools that a model gets: complete and plain."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema  # type: ignore[import-untyped] # without stubs
import msgspec
import pytest

from jupyter_nbedit.tools import TOOLS
from jupyter_nbedit.tools.base import Tool, build_input_schema


def parts(schema: Any) -> Iterator[dict[str, Any]]:
    """List the schemas in a schema."""
    if isinstance(schema, dict):
        yield schema
    inner = schema.values() if isinstance(schema, dict) else schema
    for value in inner if isinstance(schema, dict | list) else ():
        yield from parts(value)


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)
def test_a_tool_has_one_plain_schema_described_in_sentences(tool: Tool[Any]) -> None:
    schema = build_input_schema(tool.arguments_type)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert (schema["type"], schema["additionalProperties"]) == ("object", False)
    # What the programs that hand tools to models do not take at the top, or anywhere.
    assert not {"anyOf", "oneOf", "allOf"} & schema.keys()
    assert not any({"$ref", "$defs"} & part.keys() for part in parts(schema))
    fields = msgspec.structs.fields(tool.arguments_type)
    assert schema["required"] == [field.name for field in fields if field.required]
    for name, member in schema["properties"].items():
        assert len(member["description"]) > 15, name
        assert member["description"].endswith(".")
    assert "Jupyter" in tool.description
    assert tool.description.endswith(".")
    assert 300 < len(tool.description) < 2000
    for promise in ("outputs", "Nothing is executed") if "NotebookEdit" in tool.name else ():
        assert promise in tool.description
