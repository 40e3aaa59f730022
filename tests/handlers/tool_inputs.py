"""One input for every tool, with all fields; add an input here for a new tool."""

import json
from collections.abc import Mapping
from typing import Any

from jupyter_nbedit.agents.tools import TOOLS
from jupyter_nbedit.agents.tools.base import build_input_schema
from tests.support import samples
from tests.support.http import JSON, Answer, Client

#: The files of the inputs; `~` is the folder that the server serves.
NOTEBOOK, TEXT = "~a.ipynb", "~a.md"
# What a field takes, by its name and, where a tool means something else by it, by the tool's too.
_VALUES: dict[str, Any] = {
    "action": "list",
    "agent/notebook_create cells": [{"source": "new", "cell_type": "code"}],
    "agent/notebook_create path": "~new.ipynb",
    "agent/notebook_read section": "Title",
    "agent/notebook_search limit": 30,
    "backup": False,
    "cell_id": "alpha",
    "cell_index": 0,
    "cell_type": "code",
    "cells": ["alpha", "1"],
    "content": "new",
    "cursor": "",
    "dry_run": False,
    "edit_id": 1,
    "edit_mode": "replace",
    "entry_match": "one",
    "file": TEXT,
    "file_path": TEXT,
    "folder": NOTEBOOK,
    "ignore_case": False,
    "in": "sources",
    "kernelspec": "python3",
    "limit": 2000,
    "max_chars": 8000,
    "message": "why",
    "new_source": "new",
    "new_string": "new",
    "notebook_path": NOTEBOOK,
    "offset": 1,
    "old_string": "one",
    "omp/notebook action": "edit",
    "operations": [{"op": "replace_text", "cell": "alpha", "old": "x = 1", "new": "y = 1"}],
    "outputs": "summary",
    "path": NOTEBOOK,
    "proposal_id": 1,
    "regex": False,
    "replace_all": False,
    "rev": samples.compute_hash(samples.three_cells())[:8],
    "section": "Title",
    "sections/notebook_edit action": "append_to_section",
    "since": samples.compute_hash(samples.three_cells()),
    "start": 0,
    "text": "x",
    "view": "auto",
    "wait": 0,
}
#: The fields that are paths.
PATHS = ("notebook_path", "file_path", "file", "path", "folder")


def _choose_value(tool: str, name: str) -> Any:
    for key in (f"{tool} {name}", name):
        if key in _VALUES:
            return _VALUES[key]
    message = f"Add a value for the field {name!r} of {tool!r} to tests/handlers/tool_inputs.py."
    raise LookupError(message)


#: By the tools' addresses.
SCHEMAS: Mapping[str, Any] = {tool: build_input_schema(found) for tool, found in TOOLS.items()}
INPUTS: Mapping[str, dict[str, Any]] = {
    tool: {name: _choose_value(tool, name) for name in schema["properties"]}
    for tool, schema in SCHEMAS.items()
}
FIELDS = [(tool, name) for tool, given in INPUTS.items() for name in given]


def find_path_field(tool: str) -> str:
    """Return the name of the field with the path."""
    return next(name for name in PATHS if name in INPUTS[tool])


def list_required(tool: str) -> dict[str, Any]:
    """Return the tool's input with the fields alone that it must have."""
    return {name: INPUTS[tool][name] for name in SCHEMAS[tool].get("required", [])}


def post(client: Client, tool: str, body: bytes, headers: Mapping[str, str] = JSON) -> Answer:
    return client.request("POST", f"nbedit/tools/{tool}", body, headers)


def expand_paths(arguments: Mapping[str, Any], folder: object) -> dict[str, Any]:
    """Return an input in which a folder replaces ``~``."""
    return {
        name: value.replace("~", f"{folder}/") if isinstance(value, str) else value
        for name, value in arguments.items()
    }


def call(
    client: Client,
    tool: str,
    arguments: Mapping[str, Any],
    headers: Mapping[str, str] | None = None,
) -> Answer:
    """Call a tool with an input that is about files of the server's folder."""
    body = json.dumps(expand_paths(arguments, client.root)).encode()
    return post(client, tool, body, {**JSON, **(headers or {})})
