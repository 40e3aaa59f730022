"""The rules of nbformat's schema for the members of metadata that it defines.

The schema itself is not used, because it is for whole notebooks: a notebook that violates the
schema in another place must stay editable. ``tests/notebook/test_metadata.py`` compares these rules
with the schema.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import UNSET, Meta, UnsetType

from jupyter_nbedit.errors import InvalidOperation

_LATEST_MINOR = 5


class _Kernelspec(msgspec.Struct):
    name: str
    display_name: str


class _LanguageInfo(msgspec.Struct):
    name: str
    codemirror_mode: str | dict[str, Any] | UnsetType = UNSET
    file_extension: str | UnsetType = UNSET
    mimetype: str | UnsetType = UNSET
    pygments_lexer: str | UnsetType = UNSET


class _Rule(NamedTuple):
    """The form of a member, and the first minor version of nbformat that defines it."""

    form: Any
    since_minor: int = 0


_Tag = Annotated[str, Meta(pattern=r"^[^,]+$")]
_COMMON_RULES: Mapping[str, _Rule] = {
    "name": _Rule(Annotated[str, Meta(pattern=r"^.+$")]),
    "tags": _Rule(list[_Tag]),
    "jupyter": _Rule(dict[str, Any], since_minor=3),
}
_RULES: Mapping[str, Mapping[str, _Rule]] = {
    "notebook": {
        "kernelspec": _Rule(_Kernelspec),
        "language_info": _Rule(_LanguageInfo),
        "orig_nbformat": _Rule(Annotated[int, Meta(ge=1)]),
        "title": _Rule(str, since_minor=2),
        "authors": _Rule(list[Any], since_minor=2),
    },
    "code": {
        **_COMMON_RULES,
        "collapsed": _Rule(bool),
        "scrolled": _Rule(bool | Literal["auto"]),
        "execution": _Rule(dict[str, str], since_minor=4),
    },
    "markdown": _COMMON_RULES,
    "raw": {**_COMMON_RULES, "format": _Rule(str)},
}


def list_defined_members(owner: str, minor: int) -> frozenset[str]:
    """Return the names of the members that nbformat 4.x defines; of an unknown owner, none."""
    rules = _RULES.get(owner, {})
    return frozenset(name for name, rule in rules.items() if rule.since_minor <= minor)


def check_members(members: Mapping[str, Any], owner: str, minor: int) -> None:
    """Refuse values that nbformat's schema refuses; undefined members may have any value.

    Raises
    ------
    InvalidOperation
        With the name of the first invalid member.
    """
    defined_members = list_defined_members(owner, minor)
    for name, value in members.items():
        problem = (
            _find_problem(value, _RULES[owner][name].form) if name in defined_members else None
        )
        if problem is not None:
            owner_text = (
                "the notebook's metadata" if owner == "notebook" else f"a {owner} cell's metadata"
            )
            message = (
                f"`{name}` in {owner_text} would not be valid nbformat "
                f"4.{min(minor, _LATEST_MINOR)}, and Jupyter would report the notebook as "
                f"invalid: {problem}. Send a value of the form that nbformat defines, or null to "
                f"remove `{name}`."
            )
            raise InvalidOperation(message, member=name)


def _find_problem(value: Any, form: Any) -> str | None:
    try:
        msgspec.convert(value, form)
    except msgspec.ValidationError as error:
        return str(error)
    if form == list[_Tag] and len(set(value)) < len(value):
        repeated_item = next(item for index, item in enumerate(value) if item in value[:index])
        return f"Expected items that differ, found {repeated_item[:100]!r} more than once"
    return None
