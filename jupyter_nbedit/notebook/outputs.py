"""The outputs and attachments of cells, as texts that can be read and as data that can be shown."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from jupyter_nbedit.notebook import json_spans
from jupyter_nbedit.notebook.document import Cell

#: What stands for data that nobody can read: its type and its size.
Stub = dict[str, Any]

#: Where the texts of an output stand: the object that has one, and its name there.
Slot = tuple[dict[str, Any], str]

_PLAIN = "text/plain"
# Control sequences, operating system commands with their end, and single escapes (ECMA-48). None
# of the repeated parts can match what follows them, so that the time is linear.
_ANSI = re.compile(
    "\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)|[ -/]+[0-~]|[0-Z\\\\^-~])"
)
_TEXTUAL = ("text/", "application/json", "application/javascript", "application/xml")
_TEXTUAL_SUFFIXES = ("+json", "+xml")


def strip_ansi(text: str) -> str:
    """Remove the escapes that colour a terminal."""
    return _ANSI.sub("", text) if "\x1b" in text else text


def list_output_spans(cell: Cell) -> list[json_spans.Span]:
    """Return where each output of a cell stands; none if it has no array of them."""
    member = cell.members.get("outputs")
    if member is None or not json_spans.is_array(cell.text, member.value):
        return []
    return json_spans.list_elements(cell.text, member.value)


def read_outputs(cell: Cell) -> Iterator[dict[str, Any]]:
    """Read a cell's outputs as they are kept, their lines joined.

    What is no object is shown as an output without a type.
    """
    for span in list_output_spans(cell):
        value = json_spans.decode(cell.text, span)
        yield _join_output(value) if isinstance(value, dict) else {"value": value}


def to_readable(output: dict[str, Any]) -> dict[str, Any]:
    """Return what can be read of an output: texts without ANSI escapes, a stub for all else."""
    kind = output.get("output_type")
    shown: dict[str, Any] = {"output_type": kind if isinstance(kind, str) else "unknown"}
    for name in ("name", "text", "ename", "evalue"):
        if isinstance(output.get(name), str):
            shown[name] = strip_ansi(output[name])
    traceback = output.get("traceback")
    if isinstance(traceback, list):
        shown["traceback"] = strip_ansi("\n".join(map(str, traceback)))
    if isinstance(output.get("execution_count"), int):
        shown["execution_count"] = output["execution_count"]
    data = output.get("data")
    if isinstance(data, dict):
        shown["data"] = {
            mime: strip_ansi(value)
            if mime == _PLAIN and isinstance(value, str)
            else _build_stub(mime, value)
            for mime, value in data.items()
        }
    return shown


def list_texts(output: dict[str, Any]) -> Iterator[Slot]:
    """Find the texts of a readable output."""
    for name in ("text", "ename", "evalue", "traceback"):
        if name in output:
            yield output, name
    data = output.get("data", {})
    if isinstance(data.get(_PLAIN), str):
        yield data, _PLAIN


def to_text(output: dict[str, Any]) -> str:
    """Return a readable output as what a person would read of it."""
    if "text" in output:
        return str(output["text"])
    if output.get("traceback"):
        return str(output["traceback"])
    if "ename" in output:
        return f"{output['ename']}: {output.get('evalue', '')}"
    text = output.get("data", {}).get(_PLAIN)
    return text if isinstance(text, str) else ""


def read_attachments(cell: Cell, show: Callable[[str, Any], Any]) -> dict[str, dict[str, Any]]:
    """Read a cell's attachments: for each name its data by type, each shown in some way."""
    found = cell.read_value("attachments")
    if not isinstance(found, dict):
        return {}
    return {
        name: {mime: show(mime, _join_lines(value)) for mime, value in bundle.items()}
        for name, bundle in found.items()
        if isinstance(bundle, dict)
    }


def summarize(mime: str, value: Any) -> Stub:
    """Show data by its type and size."""
    return _build_stub(mime, value)


def keep_data(_mime: str, value: Any) -> Any:
    """Show the data itself."""
    return value


def to_json(value: Any) -> str:
    """Write a value as JSON, as a reply would."""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        # Lone surrogates, which JSON can say as escapes though UTF-8 cannot.
        return json.dumps(value)


def _build_stub(mime: str, value: Any) -> Stub:
    return {"mime": mime, "bytes": _compute_size(mime, value)}


def _compute_size(mime: str, value: Any) -> int:
    """Return the size of data in bytes; what is kept as base64 counts as what it stands for."""
    if not isinstance(value, str):
        return len(to_json(value).encode("utf-8", "surrogatepass"))
    if mime.startswith(_TEXTUAL) or mime.endswith(_TEXTUAL_SUFFIXES):
        return len(value.encode("utf-8", "surrogatepass"))
    digits = "".join(value.split()).rstrip("=")
    return len(digits) * 3 // 4


def _join_output(output: dict[str, Any]) -> dict[str, Any]:
    joined = dict(output)
    if "text" in joined:
        joined["text"] = _join_lines(joined["text"])
    data = joined.get("data")
    if isinstance(data, dict):
        joined["data"] = {
            # A list is JSON's own in JSON, and lines everywhere else.
            mime: value
            if mime == "application/json" or mime.endswith("+json")
            else _join_lines(value)
            for mime, value in data.items()
        }
    return joined


def _join_lines(value: Any) -> Any:
    lines = isinstance(value, list) and all(isinstance(line, str) for line in value)
    return "".join(value) if lines else value
