"""A notebook as the contents manager reads and saves it, and as bytes that stay the same.

For cells without ids nbformat makes up new ones at every reading; what is said of a notebook must
not change by being read.
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
# What Jupytext notes in the metadata about the text that it has written.
_NOTES = frozenset(("encoding", "main_language", "text_representation"))

#: A notebook as the Contents API has it: plain JSON values, sources in one piece.
Notebook = dict[str, Any]


def parse_model(text: bytes) -> Notebook | None:
    """Read a notebook as nbformat does, but change nothing in it; None if it is none."""
    try:
        notebook = _to_plain(nbformat.reader.reads(text.decode()))
        cells = notebook["cells"] if notebook["nbformat"] == _NBFORMAT else None
        whole = cells is not None and all("metadata" in cell for cell in cells)
        whole = whole and isinstance(notebook["nbformat_minor"], int)
    except Exception:  # noqa: BLE001 -- nbformat raises whatever its reader stumbles over
        return None
    return notebook if whole else None


def serialize(merged: Mapping[str, Any], own: bytes) -> bytes:
    """Return the bytes that stand for a notebook that is put together of several files.

    Parameters
    ----------
    merged
        The notebook as the manager shows it.
    own
        The bytes of its ``.ipynb`` file.

    Returns
    -------
    The file's own bytes if they mean the same; else others, which are the same at every reading.
    """
    found = parse_model(own)
    if found is None:
        return own
    shown = _to_plain(merged)
    if _normalize(shown) == _normalize(found):
        return own
    known = {cell["id"] for cell in found["cells"] if "id" in cell}
    for cell in shown["cells"]:
        cell["metadata"].pop("trusted", None)
        if cell.get("id") not in known:
            cell.pop("id", None)
    add_ids(shown)
    text: str = nbformat.v4.writes(nbformat.from_dict(shown))
    return f"{text}\n".encode()


def add_ids(notebook: Notebook) -> None:
    """Add an id to every cell, derived from its content, where the format has ids."""
    if notebook["nbformat_minor"] < _MINOR_WITH_IDS:
        for cell in notebook["cells"]:
            cell.pop("id", None)
        return
    taken: set[str] = set()
    for index, cell in enumerate(notebook["cells"]):
        found, salt = cell.get("id"), 0
        while found is None or found in taken:
            said = f"{index} {salt} {cell['cell_type']} {cell['source']}"
            found = hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()
            found, salt = found[:_ID_CHARACTERS], salt + 1
        cell["id"] = found
        taken.add(found)


def is_same(one: bytes, other: bytes) -> bool:
    """Return whether two texts mean the same notebook."""
    first, second = parse_model(one), parse_model(other)
    if first is None or second is None:
        return one == other
    return _normalize(first) == _normalize(second)


def _normalize(notebook: Notebook) -> Notebook:
    """Return what a notebook says, without what saving it adds and takes away."""
    metadata = dict(notebook["metadata"])
    noted = metadata.get("jupytext", {})
    if not isinstance(noted, Mapping):
        noted = {"jupytext": noted}
    jupytext = {name: value for name, value in noted.items() if name not in _NOTES}
    cells = [
        {
            **{name: value for name, value in cell.items() if name != "id"},
            "metadata": {k: v for k, v in cell["metadata"].items() if k != "trusted"},
        }
        for cell in notebook["cells"]
    ]
    return {**notebook, "metadata": {**metadata, "jupytext": jupytext}, "cells": cells}


def is_trusted(notebook: Mapping[str, Any]) -> bool | None:
    """Return whether a manager has marked all outputs as trusted; None if there are none."""
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    if not code:
        return None
    return all(cell["metadata"].get("trusted") or not cell["outputs"] for cell in code)


def set_trusted(notebook: Notebook, *, trusted: bool) -> None:
    """Set in the notebook whether it is trusted, as a browser does that saves it."""
    for cell in notebook["cells"]:
        # Whoever wrote such a mark into the file is not to be believed.
        cell["metadata"].pop("trusted", None)
        if trusted and cell["cell_type"] == "code":
            cell["metadata"]["trusted"] = True


def _to_plain(notebook: Mapping[str, Any]) -> Notebook:
    found: Notebook = json.loads(json.dumps(notebook))
    return found
