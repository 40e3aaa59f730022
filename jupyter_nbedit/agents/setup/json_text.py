"""JSON with comments as text: find values and their positions, add members, replace values.

The text around a change stays as it is, with its comments, trailing commas and indentation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_DEEPEST = 100
_SPACE = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_WORD = re.compile(r"[-+.\w]+")
_WHITE = " \t\r\n"
_INDENT = re.compile(r"\n([ \t]+)\"")


class SyntaxProblem(Exception):
    """A configuration is not of its syntax; the message says where."""


@dataclass(frozen=True)
class Node:
    """A value and its position in the text.

    An object has ``members``, a list has ``items``; ``comma`` is the position after a trailing
    comma, if there is one.
    """

    start: int
    stop: int
    value: Any
    members: Mapping[str, Node] | None = None
    items: Sequence[Node] | None = None
    comma: int | None = None

    @property
    def children(self) -> Sequence[Node]:
        """The values in an object or list, in order."""
        return [*(self.members or {}).values(), *(self.items or ())]


def parse_json(text: str) -> Node:
    """Parse JSON that may contain comments and trailing commas.

    Raise `SyntaxProblem` if it is something else, or has a key twice in one object.
    """
    start = _skip_space(text, 0)
    root = _parse_value(text, start, 0)
    if (rest := _skip_space(text, root.stop)) != len(text):
        raise _build_problem(text, rest, "the end of the file")
    return root


def add_member(text: str, holder: Node, key: str | None, value: Any) -> str:
    """Return the text with one more member in an object, or item in a list (without a key)."""
    prefix = "" if key is None else f"{json.dumps(key, ensure_ascii=False)}: "
    inside = text[holder.start + 1 : holder.stop - 1]
    before, after = text[: holder.stop - 1].rstrip(_WHITE), text[holder.stop - 1 :]
    if holder.children and holder.comma is None:
        # Comments behind the last value stay behind it.
        last = holder.children[-1].stop
        before = f"{before[:last]},{before[last:]}"
    if "\n" not in inside and holder.children:
        padding = inside[len(inside.rstrip(_WHITE)) :]
        return f"{before} {prefix}{json.dumps(value, ensure_ascii=False)}{padding}{after}"
    newline = find_newline(text)
    outer = _find_indent(text, holder.start)
    indent = outer + _find_indent_unit(text)
    if holder.children and text.count("\n", holder.start, holder.children[0].start):
        indent = _find_indent(text, holder.children[0].start)
    rendered = json.dumps(value, indent=_find_indent_unit(text), ensure_ascii=False)
    member = prefix + rendered.replace("\n", newline + indent)
    return f"{before}{newline}{indent}{member}{newline}{outer}{after}"


def replace_value(text: str, node: Node, value: Any) -> str:
    """Return the text with another value in the place of the value at a node."""
    if "\n" in text[node.start : node.stop]:
        rendered = json.dumps(value, indent=_find_indent_unit(text), ensure_ascii=False)
        rendered = rendered.replace("\n", find_newline(text) + _find_indent(text, node.start))
    else:
        rendered = json.dumps(value, ensure_ascii=False)
    return text[: node.start] + rendered + text[node.stop :]


def find_newline(text: str) -> str:
    """Return the line end of a text."""
    return "\r\n" if "\r\n" in text else "\n"


def _find_indent_unit(text: str) -> str:
    """Return the white space before the first key on a line of its own, which is a member's."""
    return found[1] if (found := _INDENT.search(text)) else "  "


def _find_indent(text: str, position: int) -> str:
    """Return the white space at the beginning of a line."""
    line = text[text.rfind("\n", 0, position) + 1 : position]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _skip_space(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    return found.end() if found else position


def _parse_value(text: str, start: int, depth: int) -> Node:
    if depth > _DEEPEST:
        raise _build_problem(text, start, f"at most {_DEEPEST} levels")
    character = text[start : start + 1]
    if character == "{":
        return _parse_object(text, start, depth)
    if character == "[":
        return _parse_list(text, start, depth)
    pattern = _STRING if character == '"' else _WORD
    found = pattern.match(text, start)
    try:
        if found:
            value = json.loads(found[0], parse_constant=_refuse_constant)
            return Node(start, found.end(), value)
    except ValueError:
        pass
    raise _build_problem(text, start, "a value")


def _refuse_constant(name: str) -> None:
    """Raise an error: NaN and Infinity are of Python only."""
    raise ValueError(name)


def _parse_object(text: str, start: int, depth: int) -> Node:
    members: dict[str, Node] = {}
    position = _skip_space(text, start + 1)
    comma = None
    while text[position : position + 1] != "}":
        if members and comma is None:
            raise _build_problem(text, position, "a comma or }")
        if not (key := _STRING.match(text, position)):
            raise _build_problem(text, position, "a key in double quotes")
        colon = _skip_space(text, key.end())
        if text[colon : colon + 1] != ":":
            raise _build_problem(text, colon, "a colon")
        name = _parse_value(text, position, depth).value
        if name in members:
            raise _build_problem(text, position, f"only one member {name!r}")
        members[name] = _parse_value(text, _skip_space(text, colon + 1), depth + 1)
        position, comma = _skip_comma(text, members[name].stop)
    value = {name: node.value for name, node in members.items()}
    return Node(start, position + 1, value, members=members, comma=comma)


def _parse_list(text: str, start: int, depth: int) -> Node:
    items: list[Node] = []
    position = _skip_space(text, start + 1)
    comma = None
    while text[position : position + 1] != "]":
        if items and comma is None:
            raise _build_problem(text, position, "a comma or ]")
        items.append(_parse_value(text, position, depth + 1))
        position, comma = _skip_comma(text, items[-1].stop)
    value = [node.value for node in items]
    return Node(start, position + 1, value, items=items, comma=comma)


def _skip_comma(text: str, position: int) -> tuple[int, int | None]:
    """Return where the next member or the end is, and the position after the comma before it."""
    position = _skip_space(text, position)
    if text[position : position + 1] != ",":
        return position, None
    return _skip_space(text, position + 1), position + 1


def _build_problem(text: str, position: int, expected: str) -> SyntaxProblem:
    # The text at this place may be a secret.
    line = text.count("\n", 0, position) + 1
    column = position - text.rfind("\n", 0, position)
    return SyntaxProblem(f"line {line}, column {column}: expected {expected}")
