"""The definitions of tools that a model gets: complete and plain."""

import json
from collections.abc import Iterator
from typing import Any

import jsonschema  # type: ignore[import-untyped] # without stubs
import msgspec
import pytest

from jupyter_nbedit.agents.mcp.definitions import INSTRUCTIONS, load_definitions
from jupyter_nbedit.agents.tools import TOOLS
from jupyter_nbedit.agents.tools.base import Tool, build_input_schema, build_mcp_definition
from jupyter_nbedit.agents.tools.toolsets import agent


def parts(schema: Any) -> Iterator[dict[str, Any]]:
    """List the schemas in a schema."""
    if isinstance(schema, dict):
        yield schema
    inner = schema.values() if isinstance(schema, dict) else schema
    for value in inner if isinstance(schema, dict | list) else ():
        yield from parts(value)


def assert_compact(tool: Tool[Any], schema: dict[str, Any]) -> None:
    """Check what Gemini CLI and Codex require of a schema, and that little is said."""
    assert 50 < len(tool.description) < 1000
    for part in parts(schema):
        assert not {"anyOf", "oneOf", "$schema", "pattern", "additionalProperties"} & part.keys()
        assert isinstance(part.get("type", ""), str)
        if "enum" in part:
            assert part["type"] == "string"


def test_the_definitions_of_the_agent_toolset_are_short() -> None:
    definitions = [build_mcp_definition(tool) for tool in agent.TOOLS]
    assert len(definitions) == 5
    assert len(json.dumps(definitions, separators=(",", ":"))) <= 5_500
    assert len(INSTRUCTIONS) <= 1_200


def test_the_command_line_has_the_definitions_of_the_server() -> None:
    definitions = [build_mcp_definition(tool) for tool in agent.TOOLS]
    assert list(load_definitions()) == definitions, "Run `python tests/openapi`."


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)
def test_a_tool_has_one_plain_schema_described_in_sentences(tool: Tool[Any]) -> None:
    schema = build_input_schema(tool)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"
    # What the programs that hand tools to models do not take at the top, or anywhere.
    assert not {"anyOf", "oneOf", "allOf"} & schema.keys()
    assert not any({"$ref", "$defs"} & part.keys() for part in parts(schema))
    fields = msgspec.structs.fields(tool.arguments_type)
    assert schema.get("required", []) == [field.name for field in fields if field.required]
    if tool.toolset.has_compact_schemas:
        assert_compact(tool, schema)
        return
    assert schema["additionalProperties"] is False
    for name, member in schema["properties"].items():
        assert len(member["description"]) > 15, name
        assert member["description"].endswith(".")
    assert "Jupyter" in tool.description
    assert tool.description.endswith(".")
    assert 300 < len(tool.description) < 2000
    for promise in ("outputs", "Nothing is executed") if "NotebookEdit" in tool.name else ():
        assert promise in tool.description
