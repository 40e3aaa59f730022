"""Decode the body of a request; refuse a body that two parsers could read differently."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, TypeVar

import msgspec

from jupyter_nbedit.errors import InvalidOperation, InvalidRequest, TooLarge
from jupyter_nbedit.notebook.json_values import MAX_JSON_VALUES, count_json_values

BodyType = TypeVar("BodyType", bound=msgspec.Struct)

_OPERATION = re.compile(r"`\$\.operations\[(\d+)\]")
_MAX_SHOWN_CHARACTERS = 100
# An escape of a JSON text; an escaped backslash starts no other escape.
_ESCAPE = re.compile(rb"\\(?:u([0-9a-fA-F]{4})|.)", re.DOTALL)
_ESCAPE_BYTES = len(rb"\ud800")
_SIMPLE_TYPES = (
    msgspec.inspect.BoolType,
    msgspec.inspect.FloatType,
    msgspec.inspect.IntType,
    msgspec.inspect.LiteralType,
    msgspec.inspect.NoneType,
    msgspec.inspect.StrType,
)
_HIGH_SURROGATES, _LOW_SURROGATES = range(0xD800, 0xDC00), range(0xDC00, 0xE000)


class _ValueBudget:
    """How many more JSON values a request may have, lists that were sent as strings included."""

    def __init__(self, limit: int) -> None:
        self._limit = self._left = limit

    def check(self, text: bytes) -> None:
        """Count the values of a text, before it is decoded; raise `TooLarge` for too many."""
        self._left -= count_json_values(text, self._left)
        if self._left < 0:
            message = (
                f"The request's body has more than {self._limit} JSON values, which is the most "
                "that this server takes. Send the operations in several requests."
            )
            raise TooLarge(message, limit=self._limit)


def decode_body(
    body: bytes,
    form: type[BodyType],
    *,
    is_lenient: bool = False,
    max_values: int = MAX_JSON_VALUES,
) -> BodyType:
    """Decode the body of a request.

    Parameters
    ----------
    body
        The bytes of the body.
    form
        The struct to decode into.
    is_lenient
        Whether null means absent wherever the type of a member does not include it, integers may be
        strings or have a fraction of zero, and lists may be JSON in a string. Models that must send
        every member of a schema send null, and some write numbers and lists as strings.
    max_values
        The most JSON values that the body may have.

    Raises
    ------
    TooLarge
        If the body has more values.
    InvalidRequest, InvalidOperation
        If the body is not JSON, does not have the form, or has a repeated member.
    """
    budget = _ValueBudget(max_values)
    budget.check(body)
    try:
        if is_lenient:
            info = msgspec.inspect.type_info(form)
            value = _convert_leniently(msgspec.json.decode(body), info, budget)
            request = msgspec.convert(value, form, strict=False)
        else:
            request = msgspec.json.decode(body, type=form)
        # Valid JSON may still repeat a member. Numbers stay strings here: they may have any length.
        json.loads(body, object_pairs_hook=_check_single, parse_int=str, parse_float=str)
    except msgspec.ValidationError as error:
        operation = _OPERATION.search(str(error))
        message = f"The request does not have the expected form: {error}."
        if operation is None:
            raise InvalidRequest(message) from None
        raise InvalidOperation(message, operation=int(operation[1])) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        if (position := _find_lone_surrogate(body)) is not None:
            message = (
                "The request's body is not JSON that can be read (RFC 8259, 8.2): "
                f"`{body[position : position + 6].decode()}` at byte {position} is one half of a "
                "surrogate pair without the other half. Send both halves, or leave it out."
            )
            raise InvalidRequest(message, byte=position) from None
        raise InvalidRequest(f"The request's body is not valid JSON (RFC 8259): {error}.") from None
    return request


def _convert_leniently(value: Any, info: msgspec.inspect.Type, budget: _ValueBudget) -> Any:
    """Remove members that are null and may not be, and decode lists that were sent as strings."""
    if isinstance(info, msgspec.inspect.Metadata):
        return _convert_leniently(value, info.type, budget)
    if isinstance(info, msgspec.inspect.UnionType):
        # Of plain types with UNSET; no union in the input of a tool has two types with members.
        types = [each for each in info.types if not isinstance(each, _SIMPLE_TYPES)]
        return _convert_leniently(value, types[0], budget) if types else value
    if isinstance(info, msgspec.inspect.ListType):
        if isinstance(value, str) and value.lstrip().startswith("["):
            # A string that is not JSON stays a string, and is later refused because it is no list.
            with suppress(msgspec.DecodeError, UnicodeEncodeError):
                budget.check(value.encode())
                inner = msgspec.json.decode(value)
                json.loads(value, object_pairs_hook=_check_single, parse_int=str, parse_float=str)
                value = inner
        if not isinstance(value, list):
            return value
        return [_convert_leniently(item, info.item_type, budget) for item in value]
    if isinstance(info, msgspec.inspect.StructType) and isinstance(value, dict):
        fields = {field.encode_name: field for field in info.fields}
        return {
            name: _convert_leniently(member, fields[name].type, budget)
            if name in fields
            else member
            for name, member in value.items()
            if member is not None or name not in fields or _has_null(fields[name].type)
        }
    return value


def _has_null(info: msgspec.inspect.Type) -> bool:
    """Return whether null is a value of a type."""
    if isinstance(info, msgspec.inspect.Metadata):
        return _has_null(info.type)
    if isinstance(info, msgspec.inspect.UnionType):
        return any(map(_has_null, info.types))
    return isinstance(info, msgspec.inspect.NoneType | msgspec.inspect.AnyType)


def _find_lone_surrogate(body: bytes) -> int | None:
    """Return the position of the first escape that is only half of a surrogate pair."""
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
    names = [name for name, _ in members]
    if len(set(names)) == len(names):
        return
    [(repeated_name, _)] = Counter(names).most_common(1)
    raise InvalidRequest(
        f"An object in the request has {repeated_name[:_MAX_SHOWN_CHARACTERS]!r} more than once, "
        "and programs disagree about which of them counts. Send it once."
    )
