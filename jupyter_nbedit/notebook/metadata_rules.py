"""What nbformat's schema demands of the members of metadata that it defines.

The schema itself is not used here: it is for whole notebooks, and one that breaks it elsewhere
must stay editable. ``tests/notebook/test_metadata.py`` compares these rules with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import UNSET, Meta, UnsetType

from jupyter_nbedit.errors import InvalidOperation

#: What has metadata: a cell of a type, or the notebook.
Owner = Literal["notebook", "code", "markdown", "raw"]

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
    """The form of a member, and the first minor version that defines it."""

    form: Any
    since_minor: int = 0


_Tag = Annotated[str, Meta(pattern=r"^[^,]+$")]
_OF_ALL_CELLS: Mapping[str, _Rule] = {
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
        **_OF_ALL_CELLS,
        "collapsed": _Rule(bool),
        "scrolled": _Rule(bool | Literal["auto"]),
        "execution": _Rule(dict[str, str], since_minor=4),
    },
    "markdown": _OF_ALL_CELLS,
    "raw": {**_OF_ALL_CELLS, "format": _Rule(str)},
}


def list_defined_members(owner: str, minor: int) -> frozenset[str]:
    """Return the names of the members that nbformat defines.

    Parameters
    ----------
    owner
        Whose metadata it is: an `Owner`, or a type of cell that nbformat does not know.
    minor
        Of the notebook's format, 4.x; for one that is not known yet, the latest holds.
    """
    rules = _RULES.get(owner, {})
    return frozenset(name for name, rule in rules.items() if rule.since_minor <= minor)


def check_members(members: Mapping[str, Any], owner: str, minor: int) -> None:
    """Refuse values that nbformat's schema refuses; members that it does not define are free.

    Parameters
    ----------
    members
        Metadata, or those of its members that are to be judged.
    owner, minor
        As of `defined_members`.

    Raises
    ------
    InvalidOperation
        With the name of the first such member.
    """
    defined = list_defined_members(owner, minor)
    for name, value in members.items():
        problem = _find_problem(value, _RULES[owner][name].form) if name in defined else None
        if problem is not None:
            whose = (
                "the notebook's metadata" if owner == "notebook" else f"a {owner} cell's metadata"
            )
            message = (
                f"`{name}` in {whose} would not be valid nbformat 4.{min(minor, _LATEST_MINOR)}, "
                f"and Jupyter would report the notebook as invalid: {problem}. Send a value of "
                "the form that nbformat defines, or null to remove it."
            )
            raise InvalidOperation(message, member=name)


def _find_problem(value: Any, form: Any) -> str | None:
    try:
        msgspec.convert(value, form)
    except msgspec.ValidationError as error:
        return str(error)
    if form == list[_Tag] and len(set(value)) < len(value):
        twice = next(item for at, item in enumerate(value) if item in value[:at])
        return f"Expected items that differ, found {twice[:100]!r} more than once"
    return None
