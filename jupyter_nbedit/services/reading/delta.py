"""The delta of a notebook since a version: ranges of its cells, and new cells.

An open tab has the version that it shows, and needs only the difference to get the new version.
"""

import json
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType
from nbformat.v4.nbjson import JSONReader

from jupyter_nbedit.errors import VersionUnknown
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.json_spans import Span
from jupyter_nbedit.services.reading.models import DeltaPart
from jupyter_nbedit.services.reading.versions import Version

# nbformat 4.5 gave cells their ids.
_MINOR_WITH_IDS = 5


def list_parts(before: Version, after: Version, document: Document) -> list[DeltaPart]:
    """List the cells of a notebook: ranges of an earlier version, and the other cells whole.

    ``document`` is the notebook in the version ``after``. Raise `VersionUnknown` if nbformat cannot
    read a cell.
    """
    parts: list[DeltaPart] = []
    start = stop = 0
    for index, origin in enumerate(before.match_cells(after)):
        if origin is not None and origin == stop > start:
            stop += 1
            continue
        if start < stop:
            parts.append(DeltaPart(copy=(start, stop)))
        start = stop = 0
        if origin is None:
            parts.append(DeltaPart(cell=_read_cell(document, index, after)))
        else:
            start, stop = origin, origin + 1
    if start < stop:
        parts.append(DeltaPart(copy=(start, stop)))
    return parts


def read_metadata(before: Version, after: Version, document: Document) -> msgspec.Raw | UnsetType:
    """Return the metadata of a notebook as JSON if they differ from the earlier metadata."""
    if before.metadata == after.metadata:
        return UNSET
    return _encode(_read_with_nbformat([], _decode(document, document.metadata_span))["metadata"])


def _read_cell(document: Document, index: int, version: Version) -> msgspec.Raw:
    """Return a cell as the Contents API returns it, but without an id that it would generate."""
    cell = _read_with_nbformat([_decode(document, document.cell_spans[index])], {})["cells"][0]
    if version.nbformat_minor >= _MINOR_WITH_IDS:
        if not isinstance(cell.get("id", ""), str):
            # Whether nbformat takes it for an id depends on the other cells.
            raise _build_unreadable_error()
        if index in version.repeats:
            del cell["id"]
    return _encode(cell)


def _decode(document: Document, span: Span | None) -> Any:
    try:
        return None if span is None else json.loads(document.text[span.start : span.stop])
    except (RecursionError, ValueError):
        # CPython refuses to read integers of more than 4,300 digits; nbformat fails as well.
        raise _build_unreadable_error() from None


def _read_with_nbformat(cells: list[Any], metadata: Any) -> dict[str, Any]:
    try:
        notebook: dict[str, Any] = JSONReader().to_notebook({"cells": cells, "metadata": metadata})
    except (AttributeError, KeyError, TypeError, RecursionError):
        raise _build_unreadable_error() from None
    return notebook


def _encode(value: Any) -> msgspec.Raw:
    try:
        # With `NaN`, as Jupyter Server writes it: a page cannot parse it, here as there.
        return msgspec.Raw(json.dumps(value, ensure_ascii=False).encode())
    except UnicodeEncodeError:
        # The Contents API cannot read a notebook with lone surrogates, nor save it.
        raise _build_unreadable_error() from None


def _build_unreadable_error() -> VersionUnknown:
    return VersionUnknown(
        "A part of the notebook that has changed is not as nbformat requires, so that the change "
        "cannot be sent. Read the notebook through the Contents API, which says what is wrong."
    )
