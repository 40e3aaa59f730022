"""Edit a JSON object member by member; all other members keep their bytes."""

import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from jupyter_nbedit.errors import InvalidNotebook
from jupyter_nbedit.notebook import json_spans
from jupyter_nbedit.notebook.json_spans import Member
from jupyter_nbedit.notebook.json_style import CellStyle


def apply_merge_patch(text: bytes, patch: Mapping[str, Any], outer_style: CellStyle) -> bytes:
    """Apply a JSON Merge Patch (RFC 7396) to an encoded value in an object of a style.

    A value that is not an object is replaced by one.

    Raises
    ------
    InvalidNotebook
        If a member that the patch names is repeated.
    """
    if not json_spans.is_object(text):
        text = b"{}"
    members = json_spans.list_members(text)
    style = outer_style.derive(text, members)
    spans = {member.name: member.value for member in members}
    changes: dict[str, bytes | None] = {}
    for name, value in patch.items():
        span = spans.get(name)
        old_value = None if span is None else text[span.start : span.stop]
        if value is None:
            changes[name] = None
        elif old_value is not None and isinstance(value, dict) and old_value.startswith(b"{"):
            changes[name] = apply_merge_patch(old_value, value, style)
        elif old_value is None or not _has_same_value(old_value, value):
            changes[name] = style.write_value(_remove_nulls(value))
    return set_own_members(text, members, changes, style)


def read_values(text: bytes | None) -> dict[str, bytes]:
    """Return the encoded values of an object by name; empty if it is not an object."""
    if text is None or not json_spans.is_object(text):
        return {}
    members = json_spans.list_members(text)
    return {member.name: text[member.value.start : member.value.stop] for member in members}


def set_members(text: bytes, changes: Mapping[str, bytes | None], outer_style: CellStyle) -> bytes:
    """Set members of an object in an object of a style to encoded values; None removes a member.

    A value that is not an object is replaced by one. New members are inserted in alphabetical order
    if the existing ones are sorted, else appended.

    Raises
    ------
    InvalidNotebook
        If one of the members is repeated.
    """
    if not json_spans.is_object(text):
        text = b"{}"
    members = json_spans.list_members(text)
    return set_own_members(text, members, changes, outer_style.derive(text, members))


def set_own_members(
    text: bytes, members: list[Member], changes: Mapping[str, bytes | None], style: CellStyle
) -> bytes:
    """Set members of an object in its own style, as `set_members` does."""
    names = Counter(member.name for member in members)
    for name in changes:
        if names[name] > 1:
            message = (
                f"An object in the notebook's metadata has two members named {name!r}, and "
                "programs disagree about which of them counts; remove one of them first."
            )
            raise InvalidNotebook(message, member=name)
    # Each member with the separator before it, where the file has one.
    result: list[tuple[str, bytes | None, bytes]] = []
    for index, member in enumerate(members):
        value = changes.get(member.name, text[member.value.start : member.value.stop])
        if value is not None:
            gap = text[members[index - 1].value.stop : member.name_span.start] if index else None
            written_member = text[member.name_span.start : member.value.start] + value
            result.append((member.name, gap, written_member))
    for name, value in changes.items():
        if value is not None and name not in names:
            known = [one[0] for one in result]
            is_sorted = all(first <= second for first, second in pairwise(known))
            index = bisect_left(known, name) if is_sorted else len(known)
            result.insert(index, (name, None, style.write_member(name, value)))
    if not result:
        return b"{}" if members else text
    layout = style.object
    parts = [layout.opening, result[0][2]]
    for _, gap, written_member in result[1:]:
        parts += [layout.separator if gap is None else gap, written_member]
    return b"{" + b"".join(parts) + layout.closing + b"}"


def _has_same_value(encoded_value: bytes, value: Any) -> bool:
    """Return whether an encoded value equals a value and has the same type."""
    old_value = json_spans.decode(encoded_value)
    return json.dumps(old_value, sort_keys=True) == json.dumps(value, sort_keys=True)


def _remove_nulls(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {name: _remove_nulls(item) for name, item in value.items() if item is not None}
