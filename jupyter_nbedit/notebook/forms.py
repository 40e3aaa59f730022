"""What the types of the operations cannot say: which fields go together, and which values not."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import Any

from msgspec import UNSET

from jupyter_nbedit.errors import InvalidOperation
from jupyter_nbedit.notebook.operations import (
    ClearOutputs,
    Delete,
    Insert,
    Move,
    Operation,
    Position,
    RemoveEntry,
    Replace,
    ReplaceText,
    SetMetadata,
    get_name,
)

_DEEPEST_METADATA = 100
_NAMED = ("cell", "cells")
_POSITION = ("after", "before", "index", "at")


def validate_operation(operation: Operation) -> None:
    """Refuse what the types cannot: no notebook is needed to see that it is wrong.

    Raises
    ------
    InvalidOperation
        Without the operation's index, which the caller knows.
    """
    if isinstance(operation, Position):
        _check_exactly_one(operation, _POSITION)
    _check(operation)
    _check_expect(operation)


@singledispatch
def _check(_operation: Operation) -> None:
    """Check what is particular to one operation; of most, the types say all."""


@_check.register
def _(operation: Replace) -> None:
    if operation.source is operation.cell_type is UNSET:
        message = "`replace` needs a `source`, a `cell_type`, or both; found neither."
        raise InvalidOperation(message)


@_check.register
def _(operation: ReplaceText) -> None:
    alone = (operation.old, operation.new, operation.all)
    if operation.edits is UNSET:
        complete = operation.old is not UNSET and operation.new is not UNSET
    else:
        complete = all(field is UNSET for field in alone)
    if not complete:
        message = (
            "`replace_text` needs either `old` and `new`, and `all` if it is meant, or `edits`, a "
            "list of such."
        )
        raise InvalidOperation(message)


@_check.register
def _(operation: Insert) -> None:
    if operation.metadata is not UNSET:
        validate_metadata("metadata", operation.metadata)


@_check.register
def _(operation: Delete) -> None:
    _check_exactly_one(operation, _NAMED)


@_check.register
def _(operation: Move) -> None:
    _check_exactly_one(operation, _NAMED)


@_check.register
def _(operation: ClearOutputs) -> None:
    _check_exactly_one(operation, (*_NAMED, "all"))
    if operation.all is False:
        message = "`all` of `clear_outputs` can only be true; leave it out otherwise."
        raise InvalidOperation(message)


@_check.register
def _(operation: SetMetadata) -> None:
    validate_metadata("patch", operation.patch)


@_check.register
def _(operation: RemoveEntry) -> None:
    if not operation.match.strip():
        message = "`match` must say something; found only white space."
        raise InvalidOperation(message)


def _check_exactly_one(operation: Operation | Position, names: Sequence[str]) -> None:
    given = [name for name in names if getattr(operation, name) is not UNSET]
    if len(given) != 1:
        choice = ", ".join(f"`{name}`" for name in names[:-1])
        message = (
            f"`{get_name(operation)}` needs exactly one of {choice} and `{names[-1]}`; "  # type: ignore[arg-type]
            f"found {' and '.join(f'`{name}`' for name in given) or 'none'}."
        )
        raise InvalidOperation(message)


def _check_expect(operation: Operation) -> None:
    expect = getattr(operation, "expect", UNSET)
    if expect is UNSET:
        return
    if (expect.source is UNSET) == (expect.source_hash is UNSET):
        message = "`expect` needs exactly one of `source` and `source_hash`."
        raise InvalidOperation(message)
    if getattr(operation, "cell", UNSET) is UNSET:
        message = "`expect` is about one cell: it goes with `cell` only."
        raise InvalidOperation(message)


def validate_metadata(field: str, value: Any) -> None:
    """Refuse ``trusted`` at any depth, which only the server's notary gives, and too much depth.

    Parameters
    ----------
    field
        What the request calls it.
    value
        What is to become metadata.

    Raises
    ------
    InvalidOperation
        Without the operation's index, which the caller knows.
    """
    pending = [(value, 1)]
    while pending:
        item, depth = pending.pop()
        if depth > _DEEPEST_METADATA:
            message = (
                f"`{field}` is nested more than {_DEEPEST_METADATA} levels deep; Jupyter "
                "could not open such a notebook."
            )
            raise InvalidOperation(message)
        if isinstance(item, dict):
            if "trusted" in item:
                message = (
                    f"`{field}` must not hold `trusted`, at any depth: trust is the server's "
                    "to give. Leave it out."
                )
                raise InvalidOperation(message)
            pending += [(inner, depth + 1) for inner in item.values()]
        elif isinstance(item, list):
            pending += [(inner, depth + 1) for inner in item]
