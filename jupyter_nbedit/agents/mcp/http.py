"""What a POST of the Streamable HTTP transport has besides messages: headers and a status."""

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus

from jupyter_nbedit.agents.mcp import errors
from jupyter_nbedit.agents.mcp.messages import (
    Batch,
    ClientReply,
    InvalidMessage,
    Message,
    Notification,
    Reply,
    Request,
    build_error,
    build_result,
)
from jupyter_nbedit.agents.mcp.server import VERSION_KEY, McpServer, find_era, get_client_name
from jupyter_nbedit.agents.mcp.versions import BATCH_VERSION, MODERN_VERSION, check_version

# The parameter that the header `Mcp-Name` must repeat.
_NAMED_PARAMETERS = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_ENCODED_PREFIX, _ENCODED_SUFFIX = "=?base64?", "?="
# The version 2026-07-28 gives the status of each code, but of -32602 only in one case.
_STATUS = {
    errors.PARSE_ERROR: HTTPStatus.BAD_REQUEST,
    errors.INVALID_REQUEST: HTTPStatus.BAD_REQUEST,
    errors.INVALID_PARAMS: HTTPStatus.BAD_REQUEST,
    errors.HEADER_MISMATCH: HTTPStatus.BAD_REQUEST,
    errors.UNSUPPORTED_VERSION: HTTPStatus.BAD_REQUEST,
    errors.METHOD_NOT_FOUND: HTTPStatus.NOT_FOUND,
}


@dataclass(frozen=True)
class PostHeaders:
    """The headers of a POST that the protocol defines; None for a header that was not sent."""

    version: str | None
    method: str | None
    name: str | None
    session_id: str | None


@dataclass(frozen=True)
class PostAnswer:
    """The response to a POST; without a body if ``body`` is None.

    The session id is the name of the client. It gives no rights and refers to no state.
    """

    status: HTTPStatus
    body: Reply | Sequence[Reply] | None
    session_id: str | None = None


async def answer_post(
    server: McpServer, content: Message | Batch, headers: PostHeaders
) -> PostAnswer:
    """Answer what a client has sent with one POST."""
    try:
        if headers.version is not None:
            check_version(headers.version)
        if isinstance(content, Batch):
            return await _answer_batch(server, content, headers)
        return await _answer_message(server, content, headers)
    except errors.ProtocolError as error:
        # Of a request, whose id the reply repeats.
        request_id = content.id if isinstance(content, Request | InvalidMessage) else None
        return build_error_answer(error, request_id)


def build_error_answer(
    error: errors.ProtocolError, request_id: str | int | None = None
) -> PostAnswer:
    """Return the response to a POST that cannot be answered as a whole."""
    status = _STATUS.get(error.code, HTTPStatus.INTERNAL_SERVER_ERROR)
    return PostAnswer(status, build_error(request_id, error))


async def _answer_message(server: McpServer, message: Message, headers: PostHeaders) -> PostAnswer:
    if isinstance(message, InvalidMessage):
        raise message.error
    if isinstance(message, ClientReply) and headers.version == MODERN_VERSION:
        raise errors.ProtocolError(
            errors.INVALID_REQUEST, "Expected a request or a notification; found a reply."
        )
    if isinstance(message, Notification | ClientReply):
        return PostAnswer(HTTPStatus.ACCEPTED, None)
    is_modern = headers.version == MODERN_VERSION or find_era(message) == "modern"
    if is_modern:
        _check_headers(message, headers)
        return PostAnswer(
            HTTPStatus.OK, build_result(message.id, await server.answer(message, None))
        )
    return await _answer_legacy_request(server, message, headers)


async def _answer_legacy_request(
    server: McpServer, request: Request, headers: PostHeaders
) -> PostAnswer:
    try:
        result = await server.answer(request, decode_session_id(headers.session_id))
    except errors.ProtocolError as error:
        # In these versions only a POST that is no message has another status.
        return PostAnswer(HTTPStatus.OK, build_error(request.id, error))
    session_id = None
    if request.method == "initialize":
        session_id = encode_session_id(get_client_name(request.params.get("clientInfo")))
    return PostAnswer(HTTPStatus.OK, build_result(request.id, result), session_id)


async def _answer_batch(server: McpServer, batch: Batch, headers: PostHeaders) -> PostAnswer:
    """Answer a batch, one message after the other."""
    if headers.version not in {None, BATCH_VERSION}:
        text = f"Version {headers.version} has no batches. Send each message alone."
        raise errors.ProtocolError(errors.INVALID_REQUEST, text)
    replies: list[Reply] = []
    for message in batch.messages:
        if isinstance(message, Notification | ClientReply):
            continue
        if isinstance(message, Request) and message.method == "initialize":
            refusal = errors.ProtocolError(
                errors.INVALID_REQUEST, "Send `initialize` alone, not in a batch."
            )
            replies.append(build_error(message.id, refusal))
            continue
        try:
            answer = await _answer_message(server, message, headers)
        except errors.ProtocolError as error:
            replies.append(build_error(message.id, error))
        else:
            if isinstance(answer.body, dict):
                replies.append(answer.body)
    if not replies:
        return PostAnswer(HTTPStatus.ACCEPTED, None)
    return PostAnswer(HTTPStatus.OK, replies)


def _check_headers(request: Request, headers: PostHeaders) -> None:
    """Raise `ProtocolError` if the headers of a modern request do not repeat what its body says."""
    meta = request.params.get("_meta")
    if not isinstance(meta, dict) or VERSION_KEY not in meta:
        message = f"Expected `params._meta` to have `{VERSION_KEY}`, as the header has it."
        raise errors.ProtocolError(errors.INVALID_PARAMS, message)
    _check_header("MCP-Protocol-Version", headers.version, meta[VERSION_KEY])
    _check_header("Mcp-Method", headers.method, request.method)
    parameter = _NAMED_PARAMETERS.get(request.method)
    if parameter is not None:
        name = None if headers.name is None else _decode_header(headers.name)
        _check_header("Mcp-Name", name, request.params.get(parameter))


def _check_header(name: str, value: str | None, expected: object) -> None:
    if value is None:
        raise errors.ProtocolError(
            errors.HEADER_MISMATCH, f"The header `{name}` is missing or not readable."
        )
    if value != expected:
        message = f"The header `{name}` has {value[:100]!r}, but the body has something else."
        raise errors.ProtocolError(errors.HEADER_MISMATCH, message)


def _decode_header(value: str) -> str | None:
    """Return the value of a header that may be encoded; None if it is not encoded correctly."""
    if not (value.startswith(_ENCODED_PREFIX) and value.endswith(_ENCODED_SUFFIX)):
        return value
    return _decode_base64(value[len(_ENCODED_PREFIX) : -len(_ENCODED_SUFFIX)])


def encode_session_id(client: str | None) -> str | None:
    """Return the session id of a client with a name: the name in visible ASCII characters."""
    if client is None:
        return None
    return base64.b64encode(client.encode("utf-8", "replace")).decode()


def decode_session_id(session_id: str | None) -> str | None:
    """Return the name of the client; None if another server has made the id, or nobody."""
    name = None if session_id is None else _decode_base64(session_id)
    return get_client_name({"name": name})


def _decode_base64(text: str) -> str | None:
    try:
        return base64.b64decode(text, validate=True).decode()
    except (binascii.Error, ValueError):
        return None
