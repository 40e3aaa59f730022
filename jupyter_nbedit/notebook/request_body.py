"""Reading the body of a request, in one way only."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from jupyter_nbedit.errors import InvalidOperation, InvalidRequest

Body = TypeVar("Body", bound=msgspec.Struct)

_OPERATION = re.compile(r"`\$\.operations\[(\d+)\]")
_SHOWN = 100
# An escape of a JSON text; a backslash that is escaped itself begins none.
_ESCAPE = re.compile(rb"\\(?:u([0-9a-fA-F]{4})|.)", re.DOTALL)
_ESCAPE_BYTES = len(rb"\ud800")
_HIGH_SURROGATES, _LOW_SURROGATES = range(0xD800, 0xDC00), range(0xDC00, 0xE000)


def decode_body(body: bytes, form: type[Body], *, is_lenient: bool = False) -> Body:
    """Read a body.

    Parameters
    ----------
    body
        As it was sent.
    form
        What it is decoded to.
    is_lenient
        Whether optional members may be null, which stands for leaving them out, and integers may
        be written as texts or with a fraction of zero. Models that must send every member of a
        schema send null, and others write numbers as texts.

    Raises
    ------
    InvalidRequest, InvalidOperation
        If it is not JSON, does not have the form, or can be read in two ways.
    """
    try:
        request = (
            _decode_lenient(body, form) if is_lenient else msgspec.json.decode(body, type=form)
        )
        # What is JSON may still say the same thing twice; numbers are as long as they like.
        json.loads(body, object_pairs_hook=_check_single, parse_int=str, parse_float=str)
    except msgspec.ValidationError as error:
        operation = _OPERATION.search(str(error))
        message = f"The request does not have the expected form: {error}."
        if operation is None:
            raise InvalidRequest(message) from None
        raise InvalidOperation(message, operation=int(operation[1])) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        if (place := _find_lone_surrogate(body)) is not None:
            message = (
                f"The request's body is not JSON that can be read (RFC 8259, 8.2): "
                f"`{body[place : place + 6].decode()}` at byte {place} is one half of a surrogate "
                "pair without the other half, and stands for no character. Send both halves, or "
                "leave it out."
            )
            raise InvalidRequest(message, byte=place) from None
        message = f"The request's body is not JSON as RFC 8259 has it: {error}."
        raise InvalidRequest(message) from None
    return request


def _decode_lenient(body: bytes, form: type[Body]) -> Body:
    given = msgspec.json.decode(body)
    if isinstance(given, dict):
        optional = {
            field.encode_name for field in msgspec.structs.fields(form) if not field.required
        }
        given = {
            name: value
            for name, value in given.items()
            if value is not None or name not in optional
        }
    return msgspec.convert(given, form, strict=False)


def _find_lone_surrogate(body: bytes) -> int | None:
    """Return where the first escape stands that is half of a surrogate pair without the other."""
    high = None
    for escape in _ESCAPE.finditer(body):
        unit = int(escape[1] or b"0", 16)
        is_low = unit in _LOW_SURROGATES
        is_pair = high is not None and is_low and high + _ESCAPE_BYTES == escape.start()
        if high is not None and not is_pair:
            break
        if is_low and not is_pair:
            return escape.start()
        high = escape.start() if unit in _HIGH_SURROGATES else None
    return high


def _check_single(members: Sequence[tuple[str, Any]]) -> None:
    counts = Counter(name for name, _ in members)
    if len(counts) == len(members):
        return
    twice = next(name for name, count in counts.items() if count > 1)
    message = (
        f"An object in the request has {twice[:_SHOWN]!r} more than once, and programs disagree "
        "about which of them counts. Send it once."
    )
    raise InvalidRequest(message)
