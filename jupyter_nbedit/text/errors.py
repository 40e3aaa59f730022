"""An error as text: its reason, what is wrong, and the cell as it is now."""

from collections.abc import Iterator, Mapping
from typing import Any

from jupyter_nbedit.notebook.shown_text import escape_markup, list_names, quote_name

_MAX_MESSAGE_LENGTH = 2_000
_MAX_SOURCE_LENGTH = 2_000
_MAX_NAME_LENGTH = 120
_MAX_HEADING_LENGTH = 300
_SHOWN_HEADINGS = 30


def render_error(reason: str, message: str, details: Mapping[str, Any]) -> str:
    """Return an error as text; the first word is its reason."""
    lines = [f"{reason}: {message[:_MAX_MESSAGE_LENGTH]}", *_render_details(details)]
    return "\n".join(lines)


def _render_details(details: Mapping[str, Any]) -> Iterator[str]:
    if details.get("applied") is True:
        yield "The edit was written all the same."
    if "operation" in details:
        yield f"Nothing was written. It is about operation {details['operation']}, from 0 on."
    if ids := details.get("available_ids"):
        yield f"There are: {list_names(ids, _MAX_NAME_LENGTH)}."
    if outline := details.get("outline"):
        headings = [
            quote_name(
                f"{'#' * heading['level']} {heading['text']}", _MAX_HEADING_LENGTH, separator="; "
            )
            for heading in outline[:_SHOWN_HEADINGS]
        ]
        yield f"The headings are: {'; '.join(headings)}."
    for cell in details.get("cells", [])[:_SHOWN_HEADINGS]:
        yield f"Cell {cell.get('index')}: {cell.get('why')}."
    if isinstance(details.get("source"), str):
        yield from _render_source(details)


def _render_source(details: Mapping[str, Any]) -> Iterator[str]:
    name = details.get("name", details.get("cell"))
    yield f"<cell {quote_name(str(name), _MAX_NAME_LENGTH)}>"
    source = details["source"]
    if source:
        yield escape_markup(source[:_MAX_SOURCE_LENGTH].removesuffix("\n"))
    first, total = details.get("first_line", 1), details.get("total_lines")
    last = first + source.count("\n")
    if total is not None and (first, last) != (1, total):
        yield f"<note>These are lines {first} to {last} of {total}.</note>"
    elif len(source) > _MAX_SOURCE_LENGTH:
        yield f"<note>{len(source) - _MAX_SOURCE_LENGTH} more characters.</note>"
