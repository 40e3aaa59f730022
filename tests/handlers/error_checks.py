"""Checks for every error reply."""

import json
import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jupyter_core.paths import jupyter_config_dir, jupyter_data_dir, jupyter_runtime_dir

from tests.support.http import Answer

#: Errors about the types in a request; its other rules are described in words only.
OF_TYPES = re.compile("does not have the expected form|is not JSON")
_TRACES = (b"Traceback", b'File "')
#: Where the files of the person who runs the tests are, whatever the folder of the checkout is.
_USER_FOLDERS = (jupyter_config_dir(), jupyter_data_dir(), jupyter_runtime_dir())


def get_error(answer: Answer, status: int, reason: str) -> dict[str, Any]:
    """Check the status and form of an error reply, and return its details."""
    assert (answer.status, answer.json.get("reason")) == (status, reason), answer.body
    assert answer.headers["Content-Type"].startswith("application/json")
    assert list(answer.json) == ["message", "reason", "details"]
    message = answer.json["message"]
    assert len(message) > len("Not a sentence.")
    assert message.endswith((".", ". "))
    assert_no_local_names(answer.body, answer.root)
    found: dict[str, Any] = answer.json["details"]
    return found


def assert_no_local_names(body: bytes, root: Path) -> None:
    """Check that a reply has no traceback and no folder of the server that serves this root.

    The servers of the tests have their root, data and settings in one folder.
    """
    for folder in (str(root.parent), *_USER_FOLDERS):
        for name in (os.fsencode(folder), json.dumps(folder)[1:-1].encode()):
            assert name not in body, body
    for trace in _TRACES:
        assert trace not in body, body


@contextmanager
def no_changes(*tops: Path) -> Iterator[None]:
    """Check that nothing in folders changes: no byte, no time, no file more or less."""
    before = _read_state(tops)
    yield
    assert _read_state(tops) == before


def _read_state(tops: Sequence[Path]) -> dict[str, tuple[int, ...] | bytes]:
    found: dict[str, tuple[int, ...] | bytes] = {}
    for path in sorted(path for top in tops for path in (top, *top.rglob("*"))):
        status = path.lstat()
        found[f"{path} is"] = (status.st_mode, status.st_ino, status.st_mtime_ns, status.st_nlink)
        if stat.S_ISREG(status.st_mode):
            found[f"{path} holds"] = path.read_bytes()
    return found


def build_nested(depth: int) -> bytes:
    """Write JSON so deep."""
    return b"[" * depth + b"]" * depth


def build_body(**members: Any) -> bytes:
    """Write the body of a request with one operation."""
    return json.dumps({"operations": [members]}).encode()
