"""Messages of JSON-RPC 2.0: parse what a client sends, build what it gets."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from jupyter_nbedit.agents.mcp import errors
from jupyter_nbedit.notebook.json_values import MAX_JSON_VALUES, count_json_values

RequestId = str | int
Reply = dict[str, Any]

_MAX_BATCHED_MESSAGES = 50
_MAX_SHOWN_NAME_LENGTH = 100


@dataclass(frozen=True)
class Request:
    """A message that gets a reply."""

    id: RequestId
    method: str
    params: Mapping[str, Any]


@dataclass(frozen=True)
class Notification:
    """A message that gets no reply."""

    method: str
    params: Mapping[str, Any]


@dataclass(frozen=True)
class ClientReply:
    """A reply of the client. It is never expected, because the server sends no requests."""


@dataclass(frozen=True)
class InvalidMessage:
    """A message without the form of any other kind; ``id`` is None if the message has no id."""

    id: RequestId | None
    error: errors.ProtocolError


Message = Request | Notification | ClientReply | InvalidMessage


@dataclass(frozen=True)
class Batch:
    """Several messages at once."""

    messages: Sequence[Message]


def parse(data: bytes) -> Message | Batch:
    """Parse what a client has sent at once.

    Raise `MessageTooLarge` if it has too many JSON values, `ProtocolError` if it is not JSON.
    """
    if count_json_values(data, MAX_JSON_VALUES) > MAX_JSON_VALUES:
        message = (
            f"The message has more than {MAX_JSON_VALUES} JSON values, which is the most that this "
            "server takes. Send the operations in several calls."
        )
        raise errors.MessageTooLarge(errors.INVALID_REQUEST, message, {"limit": MAX_JSON_VALUES})
    try:
        # Without these functions, `json` takes repeated members, and numbers such as `NaN`.
        value = json.loads(
            data.decode(), object_pairs_hook=_build_object, parse_constant=_refuse_constant
        )
    except (ValueError, RecursionError) as error:
        message = f"This is not JSON (RFC 8259) in UTF-8: {error}."
        raise errors.ProtocolError(errors.PARSE_ERROR, message) from None
    if not isinstance(value, list):
        return _parse_message(value)
    if not 0 < len(value) <= _MAX_BATCHED_MESSAGES:
        message = f"Expected a batch of 1 to {_MAX_BATCHED_MESSAGES} messages, found {len(value)}."
        return InvalidMessage(None, errors.ProtocolError(errors.INVALID_REQUEST, message))
    return Batch([_parse_message(each) for each in value])


def _build_object(members: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(members)
    if len(value) < len(members):
        [(repeated_name, _)] = Counter(name for name, _ in members).most_common(1)
        shown = repeated_name[:_MAX_SHOWN_NAME_LENGTH]
        raise ValueError(f"an object has {shown!r} more than once")
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _parse_message(value: Any) -> Message:
    request_id = value.get("id") if isinstance(value, dict) else None
    # `True` is an `int` in Python.
    is_valid_id = isinstance(request_id, RequestId) and not isinstance(request_id, bool)
    known_id = request_id if is_valid_id else None
    try:
        method, params = _parse_members(value, is_valid_id=is_valid_id)
    except errors.ProtocolError as error:
        return InvalidMessage(known_id, error)
    if method is None:
        return ClientReply()
    return Notification(method, params) if known_id is None else Request(known_id, method, params)


def _parse_members(value: Any, *, is_valid_id: bool) -> tuple[str | None, Mapping[str, Any]]:
    """Return method and parameters of a message; a reply has no method."""
    if not isinstance(value, dict):
        message = f"Expected a message, which is an object; found {_describe_type(value)}."
        raise errors.ProtocolError(errors.INVALID_REQUEST, message)
    if value.get("jsonrpc") != "2.0":
        message = 'Expected a message of JSON-RPC with `"jsonrpc": "2.0"`.'
        raise errors.ProtocolError(errors.INVALID_REQUEST, message)
    if "method" not in value and ("result" in value or "error" in value):
        return None, {}
    method, params = value.get("method"), value.get("params")
    if not isinstance(method, str):
        message = f"Expected `method` to be a string; found {_describe_type(method)}."
        raise errors.ProtocolError(errors.INVALID_REQUEST, message)
    if "id" in value and not is_valid_id:
        found = _describe_type(value["id"])
        message = f"Expected `id` to be a string or an integer; found {found}."
        raise errors.ProtocolError(errors.INVALID_REQUEST, message)
    if params is None:
        params = {}
    if not isinstance(params, dict):
        message = f"Expected `params` to be an object; found {_describe_type(params)}."
        raise errors.ProtocolError(errors.INVALID_PARAMS, message)
    return method, params


def _describe_type(value: Any) -> str:
    names = {type(None): "null", bool: "a boolean", str: "a string", list: "an array"}
    return names.get(type(value), "an object" if isinstance(value, dict) else "a number")


def build_result(request_id: RequestId, result: Mapping[str, Any]) -> Reply:
    """Return the reply to a request that was carried out."""
    return {"jsonrpc": "2.0", "id": request_id, "result": dict(result)}


def build_error(request_id: RequestId | None, error: errors.ProtocolError) -> Reply:
    """Return the reply to a message that could not be answered; the id is null if it had none."""
    return {"jsonrpc": "2.0", "id": request_id, "error": error.build_error()}


def encode(reply: Reply | Sequence[Reply]) -> bytes:
    """Return a reply, or the replies to a batch, as JSON in one line."""
    # Half of a surrogate pair in a source cannot be UTF-8, but JSON can escape it.
    return json.dumps(reply, ensure_ascii=True, separators=(",", ":")).encode()
