"""`ProtocolError`, and the codes of JSON-RPC and of the protocol."""

from collections.abc import Mapping
from typing import Any

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
HEADER_MISMATCH = -32020
UNSUPPORTED_VERSION = -32022


class ProtocolError(Exception):
    """A message that cannot be answered with a result.

    A tool that fails is no such error: its failure is a result, which a model can read.
    """

    def __init__(self, code: int, message: str, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    def build_error(self) -> dict[str, Any]:
        """Return the member ``error`` of the reply."""
        error: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.data is not None:
            error["data"] = dict(self.data)
        return error


class MessageTooLarge(ProtocolError):
    """A message with more JSON values than are decoded."""
