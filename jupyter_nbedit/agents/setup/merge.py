"""Merge entries into the text of a configuration, and leave the rest of the text as it is."""

import json
import re
import sys
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from jupyter_nbedit.agents.setup.clients import (
    ConfigEntry,
    Syntax,
    render_entries,
    render_toml_table,
)
from jupyter_nbedit.agents.setup.json_text import (
    SyntaxProblem,
    add_member,
    find_newline,
    parse_json,
    replace_value,
)

if sys.version_info >= (3, 11):
    import tomllib


# How the parser of TOML says where a text is wrong.
_PLACE = re.compile(r"\(at (line \d+, column \d+|end of document)\)$")


class MergeRefused(Exception):
    """An entry cannot be merged into a configuration; the message says why, for its user."""


def merge_entries(
    text: str, entries: Sequence[ConfigEntry], syntax: Syntax, *, replace: bool = False
) -> str:
    """Return the text of a configuration with the entries; the same text if it has them.

    An entry may have more members than ours: they are the user's, and stay. Raise `MergeRefused` if
    the text is not of its syntax or has no place for an entry, or has another entry of the same
    name that may not be replaced.
    """
    if not text.strip():
        return render_entries(entries, syntax)
    for entry in entries:
        text = _merge_entry(text, entry, syntax, replace=replace)
    return text


def _merge_entry(text: str, entry: ConfigEntry, syntax: Syntax, *, replace: bool) -> str:
    before = _parse(text, syntax)
    expected = deepcopy(before)
    _put_entry(expected, entry, replace=replace, can_replace=syntax != "toml")
    if expected == before:
        return text
    is_toml = syntax == "toml"
    merged = _append_table(text, entry) if is_toml else _edit_json(text, entry, expected)
    if _parse(merged, syntax) != expected:
        raise MergeRefused("it is written in a way that this command cannot add to")
    return merged


def _parse(text: str, syntax: Syntax) -> Any:
    try:
        if syntax == "toml":
            return _parse_toml(text)
        if syntax == "json":
            # The client accepts no comments either.
            json.loads(text)
        return parse_json(text).value
    except (SyntaxProblem, ValueError, RecursionError) as error:
        name = "TOML" if syntax == "toml" else "JSON"
        raise MergeRefused(f"it is not valid {name}{_describe_place(error)}") from error


def _describe_place(error: Exception) -> str:
    """Return where a text is wrong, without a part of the text: it may be a secret."""
    if isinstance(error, SyntaxProblem):
        return f": {error}"
    if isinstance(error, json.JSONDecodeError):
        return f": line {error.lineno}, column {error.colno}"
    found = _PLACE.search(str(error))
    return f": {found[1]}" if found else ""


def _parse_toml(text: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        return tomllib.loads(text)
    message = "this Python has no parser of TOML to check it with (Python 3.11 or newer has)"
    raise MergeRefused(message)


def _put_entry(root: Any, entry: ConfigEntry, *, replace: bool, can_replace: bool) -> None:
    """Put an entry into the data of a configuration."""
    holder = root
    for position, key in enumerate(entry.keys):
        _check_type(holder, dict, entry.keys[:position])
        is_last_list = entry.name_key is not None and position == len(entry.keys) - 1
        holder = holder.setdefault(key, [] if is_last_list else {})
    _check_type(holder, dict if entry.name_key is None else list, entry.keys)
    index = entry.name if entry.name_key is None else _find_item(holder, entry)
    if index is None:
        holder.append(dict(entry.value))
        return
    existing = holder.get(index) if isinstance(holder, dict) else holder[index]
    updated = {**(existing if isinstance(existing, dict) else {}), **entry.value}
    if existing is not None and updated != existing and not (replace and can_replace):
        # Its values may be secrets.
        advice = "--replace changes it" if can_replace else "remove it first"
        raise MergeRefused(f"it has another entry {entry.name!r} already; {advice}")
    holder[index] = updated


def _check_type(value: Any, expected: type, keys: Sequence[str]) -> None:
    if not isinstance(value, expected):
        place = f"its member {'.'.join(keys)}" if keys else "it"
        raise MergeRefused(f"{place} is {_describe_type(value)}, not {_describe_type(expected())}")


def _describe_type(value: Any) -> str:
    """Return what kind of value it is; the value itself may be a secret."""
    names = {type(None): "null", str: "a string", dict: "an object", list: "a list"}
    return names.get(type(value), "a number or boolean")


def _find_item(items: Sequence[Any], entry: ConfigEntry) -> int | None:
    for index, item in enumerate(items):
        if isinstance(item, dict) and item.get(entry.name_key) == entry.name:
            return index
    return None


def _edit_json(text: str, entry: ConfigEntry, expected: Any) -> str:
    """Change the text so that it has an entry as in the expected data."""
    node = parse_json(text)
    for key in entry.keys:
        expected = expected[key]
        members = node.members or {}
        if key not in members:
            return add_member(text, node, key, expected)
        node = members[key]
    if entry.name_key is None:
        value, existing = expected[entry.name], (node.members or {}).get(entry.name)
    else:
        index = _find_item(node.value, entry)
        value = expected[-1 if index is None else index]
        existing = None if index is None else (node.items or ())[index]
    if existing is not None:
        return replace_value(text, existing, value)
    return add_member(text, node, entry.name if entry.name_key is None else None, value)


def _append_table(text: str, entry: ConfigEntry) -> str:
    newline = find_newline(text)
    table = render_toml_table(entry).replace("\n", newline)
    return f"{text}{'' if text.endswith(newline) else newline}{newline}{table}"
