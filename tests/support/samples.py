"""Sample notebooks as bytes, small and with every kind of cell."""

import hashlib
import json
from pathlib import Path
from typing import Any

HTML_OUTPUT: dict[str, Any] = {
    "output_type": "display_data",
    "data": {"text/html": "<script>document.title = 'shown'</script>", "text/plain": "x"},
    "metadata": {},
}


def code(source: str, cell_id: str | None = None, **members: Any) -> dict[str, Any]:
    """Build a code cell; ``members`` are added or replace others."""
    cell = {"execution_count": None, "outputs": [], **_cell("code", source, cell_id)}
    return {**cell, **members}


def markdown(source: str, cell_id: str | None = None, **members: Any) -> dict[str, Any]:
    """Build a Markdown cell."""
    return {**_cell("markdown", source, cell_id), **members}


def raw(source: str, cell_id: str | None = None, **members: Any) -> dict[str, Any]:
    """Build a raw cell."""
    return {**_cell("raw", source, cell_id), **members}


def cell(cell_type: str, source: str) -> dict[str, Any]:
    """Build a cell of a type, without an id."""
    return {"code": code, "markdown": markdown, "raw": raw}[cell_type](source)


def _cell(cell_type: str, source: str, cell_id: str | None) -> dict[str, Any]:
    named = {} if cell_id is None else {"id": cell_id}
    return {"cell_type": cell_type, **named, "metadata": {}, "source": source}


def notebook(
    *cells: dict[str, Any], minor: int = 5, metadata: dict[str, Any] | None = None
) -> bytes:
    """Write a notebook as Jupyter does."""
    content = {
        "cells": list(cells),
        "metadata": metadata or {},
        "nbformat": 4,
        "nbformat_minor": minor,
    }
    return json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False).encode() + b"\n"


def three_cells() -> bytes:
    """Write a notebook with a code cell that has an output, a Markdown and a raw cell."""
    return notebook(
        code("x = 1\nx", "alpha", execution_count=3, outputs=[HTML_OUTPUT]),
        markdown("# Title", "beta"),
        raw("as is", "gamma"),
        metadata={
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
    )


def load_cells(text: bytes) -> list[dict[str, Any]]:
    """Return the cells of a notebook."""
    cells: list[dict[str, Any]] = json.loads(text)["cells"]
    return cells


def compute_hash(text: bytes | str) -> str:
    """Hash a text as the Contents API does, or a source."""
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()


def hash_file(path: Path) -> str:
    """Hash a file as the Contents API does."""
    return compute_hash(path.read_bytes())


def name_cell(index: int, source: str) -> str:
    """Name a cell without an id, that is no twin of another."""
    return f"{index}:{compute_hash(source)[:6]}"
