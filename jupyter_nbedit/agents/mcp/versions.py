"""The revisions of the protocol that are supported."""

from jupyter_nbedit.agents.mcp.errors import UNSUPPORTED_VERSION, ProtocolError

#: The revision in which each request states its version and its client.
MODERN_VERSION = "2026-07-28"
#: The revisions in which the first request is ``initialize``, newest first.
LEGACY_VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
SUPPORTED_VERSIONS = (MODERN_VERSION, *LEGACY_VERSIONS)
#: The only revision with batches. A POST that does not state its version has this version.
BATCH_VERSION = "2025-03-26"

_MAX_SHOWN_VERSION_LENGTH = 50


def check_version(version: str) -> None:
    """Raise `ProtocolError`, which lists the supported versions, if a version is not supported."""
    if version not in SUPPORTED_VERSIONS:
        data = {"supported": list(SUPPORTED_VERSIONS), "requested": version}
        shown = version[:_MAX_SHOWN_VERSION_LENGTH]
        message = (
            f"Unsupported protocol version {shown!r}. Supported: {', '.join(SUPPORTED_VERSIONS)}."
        )
        raise ProtocolError(UNSUPPORTED_VERSION, message, data)
