"""A plain model of the operations, on the parsed notebook: the oracle for what an edit means.

It shares no code with the package, works one operation at a time on lists of dicts, and knows
nothing of bytes.
"""

from __future__ import annotations

import json
from typing import Any

JSON = Any


def loads(text: bytes) -> JSON:
    """Parse as nbformat does; numbers stay text, so that 5000 digits and NaN can be compared."""
    return json.loads(
        text.decode("utf-8-sig"), parse_int=number, parse_float=number, parse_constant=number
    )


def number(token: str) -> str:
    return f"number {token}"


def source(cell: JSON) -> str:
    value = cell.get("source", "")
    return value if isinstance(value, str) else "".join(value)


def joined(cell: JSON) -> JSON:
    """A cell whose source is one string, as nbformat reads it."""
    return {**cell, "source": source(cell)}


def replace(cells: list[JSON], at: int, text: str, *, keep: bool = False) -> list[JSON]:
    cell = {**cells[at], "source": text}
    if cell["cell_type"] == "code" and not keep:
        cell |= {
            name: value
            for name, value in (("outputs", []), ("execution_count", None))
            if name in cell
        }
    return [*cells[:at], cell, *cells[at + 1 :]]


def convert(cells: list[JSON], at: int, cell_type: str) -> list[JSON]:
    if cells[at]["cell_type"] == cell_type:
        return replace(cells, at, source(cells[at]))
    alien = ("attachments",) if cell_type == "code" else ("outputs", "execution_count")
    cell = {name: value for name, value in cells[at].items() if name not in alien}
    cell |= {"cell_type": cell_type, "source": source(cell)}
    if cell_type == "code":
        cell |= {"execution_count": None, "outputs": []}
    return [*cells[:at], cell, *cells[at + 1 :]]


def insert(cells: list[JSON], at: int, cell: JSON) -> list[JSON]:
    return [*cells[:at], cell, *cells[at:]]


def delete(cells: list[JSON], at: int) -> list[JSON]:
    return [*cells[:at], *cells[at + 1 :]]


def move(cells: list[JSON], at: int, gap: int) -> list[JSON]:
    """Move a cell into a gap of the list as it is: gap n is before cell n."""
    rest = delete(cells, at)
    return insert(rest, gap - (gap > at), cells[at])


def new_cell(cell_type: str, text: str, cell_id: str | None, metadata: JSON) -> JSON:
    cell: dict[str, JSON] = {"cell_type": cell_type, "metadata": metadata, "source": text}
    if cell_id is not None:
        cell["id"] = cell_id
    if cell_type == "code":
        cell |= {"execution_count": None, "outputs": []}
    return cell
