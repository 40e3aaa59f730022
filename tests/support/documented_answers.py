"""Check that the OpenAPI document contains an answer."""

import functools
import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from jupyter_nbedit.handlers import default_handlers
from jupyter_nbedit.handlers.openapi import build_document, list_operations


@functools.cache
def _list_statuses() -> Mapping[tuple[str, str], frozenset[str]]:
    """List the statuses of each verb of each route or, where it has none of its own, address."""
    paths = build_document(default_handlers, base_url="/")["paths"]
    return {
        (
            operation.path if "address" in operation.pattern else operation.pattern,
            operation.verb,
        ): frozenset(paths[operation.path][operation.verb.lower()]["responses"])
        for operation in list_operations(default_handlers)
    }


def assert_documented(verb: str, target: str, status: int) -> None:
    """Check that the document has the status of a reply; `target` is relative to the base URL."""
    path = "/" + urlsplit(target).path
    route = next((pattern for pattern, _ in default_handlers if re.fullmatch(pattern, path)), "")
    known = _list_statuses().get((route, verb)) or _list_statuses().get((path, verb))
    assert known is None or str(status) in known, f"{verb} {path}: {status} is not documented"
