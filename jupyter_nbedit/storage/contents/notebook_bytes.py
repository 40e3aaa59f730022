"""A notebook as the contents manager reads and saves it, as reproducible bytes.

nbformat creates new ids for cells without ids at every reading; reading a notebook must not change
its hash.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import nbformat.reader
import nbformat.v4

_NBFORMAT = 4
# nbformat 4.5 gave cells their ids.
_MINOR_WITH_IDS = 5
_ID_CHARACTERS = 8
# Members of Jupytext's metadata that describe the text file that it has written.
_WRITER_MEMBERS = frozenset(("encoding", "main_language", "text_representation"))

#: A notebook as in the Contents API: plain JSON values, each source as one string.
Notebook = dict[str, Any]


def parse_model(text: bytes) -> Notebook | None:
    """Parse a notebook like nbformat, without changing anything; None if it is not a notebook."""
    try:
        notebook = _convert_to_plain(nbformat.reader.reads(text.decode()))
        cells = notebook["cells"] if notebook["nbformat"] == _NBFORMAT else None
        is_complete = cells is not None and all("metadata" in cell for cell in cells)
        is_complete = is_complete and isinstance(notebook["nbformat_minor"], int)
    except Exception:  # noqa: BLE001 -- nbformat raises whatever its reader stumbles over
        return None
    return notebook if is_complete else None


def serialize(model: Mapping[str, Any], file_bytes: bytes) -> bytes:
    """Return the bytes for a notebook that the manager merged from several files.

    They are those of its ``.ipynb`` file if that has the same content; else new bytes, the same at
    every reading.
    """
    file_model = parse_model(file_bytes)
    if file_model is None:
        return file_bytes
    notebook = _convert_to_plain(model)
    if _normalize(notebook) == _normalize(file_model):
        return file_bytes
    file_ids = {cell["id"] for cell in file_model["cells"] if "id" in cell}
    for cell in notebook["cells"]:
        cell["metadata"].pop("trusted", None)
        if cell.get("id") not in file_ids:
            cell.pop("id", None)
    add_ids(notebook)
    text: str = nbformat.v4.writes(nbformat.from_dict(notebook))
    return f"{text}\n".encode()


def add_ids(notebook: Notebook) -> None:
    """Add an id, derived from its content, to every cell, if the format has ids."""
    if notebook["nbformat_minor"] < _MINOR_WITH_IDS:
        for cell in notebook["cells"]:
            cell.pop("id", None)
        return
    used_ids: set[str] = set()
    for index, cell in enumerate(notebook["cells"]):
        cell_id, salt = cell.get("id"), 0
        while cell_id is None or cell_id in used_ids:
            seed = f"{index} {salt} {cell['cell_type']} {cell['source']}"
            cell_id = hashlib.sha256(seed.encode("utf-8", "surrogatepass")).hexdigest()
            cell_id, salt = cell_id[:_ID_CHARACTERS], salt + 1
        cell["id"] = cell_id
        used_ids.add(cell_id)


def is_same_notebook(first_text: bytes, second_text: bytes) -> bool:
    """Return whether two texts have the same content as notebooks."""
    first, second = parse_model(first_text), parse_model(second_text)
    if first is None or second is None:
        return first_text == second_text
    return _normalize(first) == _normalize(second)


def _normalize(notebook: Notebook) -> Notebook:
    """Return the content of a notebook without members that saving adds or removes."""
    metadata = dict(notebook["metadata"])
    jupytext_metadata = metadata.get("jupytext", {})
    if not isinstance(jupytext_metadata, Mapping):
        jupytext_metadata = {"jupytext": jupytext_metadata}
    jupytext = {
        name: value for name, value in jupytext_metadata.items() if name not in _WRITER_MEMBERS
    }
    cells = [
        {
            **{name: value for name, value in cell.items() if name != "id"},
            "metadata": {k: v for k, v in cell["metadata"].items() if k != "trusted"},
        }
        for cell in notebook["cells"]
    ]
    return {**notebook, "metadata": {**metadata, "jupytext": jupytext}, "cells": cells}


def is_trusted(notebook: Mapping[str, Any]) -> bool | None:
    """Return whether a manager has marked all outputs as trusted; None without code cells."""
    code_cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    if not code_cells:
        return None
    return all(cell["metadata"].get("trusted") or not cell["outputs"] for cell in code_cells)


def set_trusted(notebook: Notebook, *, is_trusted: bool) -> None:
    """Mark a notebook as trusted or not, as a browser does when it saves."""
    for cell in notebook["cells"]:
        # A mark in the file itself must not be believed.
        cell["metadata"].pop("trusted", None)
        if is_trusted and cell["cell_type"] == "code":
            cell["metadata"]["trusted"] = True


def _convert_to_plain(notebook: Mapping[str, Any]) -> Notebook:
    plain: Notebook = json.loads(json.dumps(notebook))
    return plain
