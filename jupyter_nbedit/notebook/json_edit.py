"""Change an object of a JSON text member by member; the others keep their bytes."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from jupyter_nbedit.errors import InvalidNotebook
from jupyter_nbedit.notebook import json_spans
from jupyter_nbedit.notebook.json_spans import Member, Span
from jupyter_nbedit.notebook.json_style import CellStyle


def apply_merge_patch(text: bytes, patch: Mapping[str, Any], around: CellStyle) -> bytes:
    """Apply a JSON Merge Patch, RFC 7396, to a value.

    Parameters
    ----------
    text
        The value, as a checked JSON text; what is no object is replaced by one.
    patch
        The patch.
    around
        The style of the object that the value stands in.

    Raises
    ------
    InvalidNotebook
        If a member that the patch names stands twice.
    """
    if not json_spans.is_object(text, Span(0, len(text))):
        text = b"{}"
    members = json_spans.list_members(text, Span(0, len(text)))
    inner = around.derive(text, members)
    found = {member.name: member.value for member in members}
    changes: dict[str, bytes | None] = {}
    for name, value in patch.items():
        span = found.get(name)
        old = None if span is None else text[span.start : span.stop]
        if value is None:
            changes[name] = None
        elif old is not None and isinstance(value, dict) and old.startswith(b"{"):
            changes[name] = apply_merge_patch(old, value, inner)
        elif old is None or not _is_same(old, value):
            changes[name] = inner.write_value(_remove_nulls(value))
    return _set_members(text, members, changes, inner)


def read_values(text: bytes | None) -> dict[str, bytes]:
    """Return the values of an object by their names, as they are written; none of what is none."""
    if text is None or not json_spans.is_object(text, Span(0, len(text))):
        return {}
    found = json_spans.list_members(text, Span(0, len(text)))
    return {member.name: text[member.value.start : member.value.stop] for member in found}


def set_members(text: bytes, changes: Mapping[str, bytes | None], around: CellStyle) -> bytes:
    """Set members of an object; None takes a member out.

    New members come where the names are in order, if they are, and at the end otherwise.

    Parameters
    ----------
    text
        The object, as a checked JSON text; what is none is replaced by one.
    changes
        The members, their values written already.
    around
        The style of the object that this one stands in.

    Raises
    ------
    InvalidNotebook
        If one of the members stands twice.
    """
    if not json_spans.is_object(text, Span(0, len(text))):
        text = b"{}"
    members = json_spans.list_members(text, Span(0, len(text)))
    return _set_members(text, members, changes, around.derive(text, members))


def set_ranked_members(
    text: bytes,
    changes: Mapping[str, bytes | None],
    style: CellStyle,
    rank: Callable[[str], tuple[int, int]],
) -> bytes:
    """Set members of an object in its own style; a new one comes behind all of a lower rank.

    Raises
    ------
    InvalidNotebook
        If one of the members stands twice.
    """
    return _set_members(
        text, json_spans.list_members(text, Span(0, len(text))), changes, style, rank
    )


def _set_members(
    text: bytes,
    found: list[Member],
    changes: Mapping[str, bytes | None],
    style: CellStyle,
    rank: Callable[[str], tuple[int, int]] | None = None,
) -> bytes:
    _check_single(Counter(member.name for member in found), changes)
    # Each member with what separates it from the one before, where that is known.
    kept: list[tuple[str, bytes | None, bytes]] = []
    for at, member in enumerate(found):
        value = changes.get(member.name, text[member.value.start : member.value.stop])
        if value is not None:
            gap = text[found[at - 1].value.stop : member.name_span.start] if at else None
            written = text[member.name_span.start : member.value.start] + value
            kept.append((member.name, gap, written))
    known = {member.name for member in found}
    for name, value in changes.items():
        if value is not None and name not in known:
            at = _find_position(name, [one[0] for one in kept], rank)
            kept.insert(at, (name, None, style.write_member(name, value)))
    if not kept:
        return b"{}" if found else text
    layout = style.object
    parts = [layout.open, kept[0][2]]
    for _, gap, written in kept[1:]:
        parts += [layout.separator if gap is None else gap, written]
    return b"{" + b"".join(parts) + layout.close + b"}"


def _find_position(
    name: str, names: list[str], rank: Callable[[str], tuple[int, int]] | None
) -> int:
    if rank is not None:
        return max((n + 1 for n, other in enumerate(names) if rank(other) < rank(name)), default=0)
    ordered = all(first <= second for first, second in pairwise(names))
    return bisect_left(names, name) if ordered else len(names)


def _check_single(names: Counter[str], changes: Mapping[str, bytes | None]) -> None:
    for name in changes:
        if names[name] > 1:
            message = (
                f"An object in the notebook's metadata has two members named {name!r}, and "
                "programs disagree about which of them counts; remove one of them first."
            )
            raise InvalidNotebook(message, member=name)


def _is_same(old: bytes, value: Any) -> bool:
    """Return whether a written value is a value already, and of the same type."""
    found = json_spans.decode(old, Span(0, len(old)))
    return json.dumps(found, sort_keys=True) == json.dumps(value, sort_keys=True)


def _remove_nulls(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {name: _remove_nulls(item) for name, item in value.items() if item is not None}
