"""What a model is given: whole, plain, and what decodes the input."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import jsonschema  # type: ignore[import-untyped] # without stubs
import msgspec
import pytest

from jupyter_nbedit.tools import ADDRESSES, TOOLS, find
from jupyter_nbedit.tools.schemas import input_schema
from jupyter_nbedit.tools.tool import Tool

EACH = pytest.mark.parametrize("tool", TOOLS, ids=list(ADDRESSES))


def parts(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        yield schema
        for value in schema.values():
            yield from parts(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from parts(value)


@EACH
def test_a_schema_is_a_schema_of_one_object_without_references(tool: Tool[Any]) -> None:
    schema = input_schema(tool.form)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert (schema["type"], schema["additionalProperties"]) == ("object", False)
    # What the programs that hand tools to models do not take at the top.
    assert not {"anyOf", "oneOf", "allOf", "$ref", "$defs"} & schema.keys()
    for part in parts(schema):
        assert "$ref" not in part
        assert "$defs" not in part


@EACH
def test_every_field_is_described_and_every_description_says_something(tool: Tool[Any]) -> None:
    for name, field in input_schema(tool.form)["properties"].items():
        assert len(field["description"]) > 15, name
        assert field["description"].endswith(".")


@EACH
def test_a_description_is_for_a_model_that_has_never_seen_us(tool: Tool[Any]) -> None:
    said = tool.description
    assert "Jupyter" in said
    assert said.endswith(".")
    assert 300 < len(said) < 2000
    for field in ("outputs", "Nothing is executed") if "NotebookEdit" in tool.name else ():
        assert field in said


@EACH
def test_required_are_the_fields_without_a_default(tool: Tool[Any]) -> None:
    schema = input_schema(tool.form)
    fields = msgspec.structs.fields(tool.form)
    assert schema["required"] == [field.name for field in fields if field.required]


@pytest.mark.parametrize(
    ("address", "given", "fits"),
    [
        ("omp/notebook", {"action": "edit", "notebook_path": "a", "cell_index": 0}, True),
        ("omp/notebook", {"action": "edit", "notebook_path": "a", "cell_index": -1}, False),
        ("omp/notebook", {"action": "run", "notebook_path": "a", "cell_index": 0}, False),
        ("mycode/NotebookEdit", {"notebook_path": "a", "cell_id": 0}, True),
        ("mycode/NotebookEdit", {"notebook_path": "a", "cell_id": None}, False),
        ("claude_code/Read", {"file_path": "a", "offset": 0}, False),
        ("claude_code/Read", {"file_path": "a", "offset": 1, "other": 1}, False),
    ],
)
def test_the_schema_and_the_form_agree(address: str, given: dict[str, Any], fits: bool) -> None:  # noqa: FBT001 -- a column
    form = find(address).form
    assert jsonschema.Draft202012Validator(input_schema(form)).is_valid(given) is fits
    try:
        msgspec.json.decode(json.dumps(given), type=form)
    except msgspec.ValidationError:
        assert not fits
    else:
        assert fits
