"""Reading the body of a request, in one way only."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from jupyter_nbedit.errors import InvalidOperation, InvalidRequest

Request = TypeVar("Request", bound=msgspec.Struct)

_OPERATION = re.compile(r"`\$\.operations\[(\d+)\]")
_SHOWN = 100


def decoded(body: bytes, form: type[Request]) -> Request:
    """Read a body.

    Raises
    ------
    InvalidRequest, InvalidOperation
        If it is not JSON, does not have the form, or can be read in two ways.
    """
    try:
        request = msgspec.json.decode(body, type=form)
        # What is JSON may still say the same thing twice; numbers are as long as they like.
        json.loads(body, object_pairs_hook=_check_single, parse_int=str, parse_float=str)
    except msgspec.ValidationError as error:
        operation = _OPERATION.search(str(error))
        message = f"The request does not have the expected form: {error}."
        if operation is None:
            raise InvalidRequest(message) from None
        raise InvalidOperation(message, operation=int(operation[1])) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        message = f"The request's body is not JSON as RFC 8259 has it: {error}."
        raise InvalidRequest(message) from None
    return request


def _check_single(members: Sequence[tuple[str, Any]]) -> None:
    names = [name for name, _ in members]
    if len(set(names)) == len(names):
        return
    twice = next(name for at, name in enumerate(names) if name in names[:at])
    message = (
        f"An object in the request has {twice[:_SHOWN]!r} more than once, and programs disagree "
        "about which of them counts. Send it once."
    )
    raise InvalidRequest(message)
