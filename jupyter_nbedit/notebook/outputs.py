"""Outputs and attachments of cells, as readable text and as data."""

import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from jupyter_nbedit.notebook import json_spans
from jupyter_nbedit.notebook.document import Cell
from jupyter_nbedit.notebook.members import join_output, join_text

#: Replaces data that is not readable: its type and its size.
Stub = dict[str, Any]

#: A text of an output: the object that contains it, and the name of the member.
TextField = tuple[dict[str, Any], str]

_PLAIN = "text/plain"
# Control sequences, operating system commands with their end, and single escapes (ECMA-48). No
# repeated part can match what follows it; therefore matching takes linear time.
_ANSI = re.compile(
    "\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)|[ -/]+[0-~]|[0-Z\\\\^-~])"
)
_TEXTUAL = ("text/", "application/json", "application/javascript", "application/xml")
_TEXTUAL_SUFFIXES = ("+json", "+xml")


def strip_ansi(text: str) -> str:
    """Remove the escape sequences for terminal colours."""
    return _ANSI.sub("", text) if "\x1b" in text else text


def list_output_spans(cell: Cell) -> list[json_spans.Span]:
    """Return the span of each output of a cell; empty if `outputs` is not an array."""
    member = cell.members.get("outputs")
    if member is None or not json_spans.is_array(cell.text, member.value):
        return []
    return json_spans.list_elements(cell.text, member.value)


def read_outputs(cell: Cell) -> Iterator[dict[str, Any]]:
    """Yield the outputs of a cell as in the file, with lists of lines joined.

    A value that is not an object becomes an output without a type.
    """
    for span in list_output_spans(cell):
        value = json_spans.decode(cell.text, span)
        yield join_output(value) if isinstance(value, dict) else {"value": value}


def make_readable(output: dict[str, Any]) -> dict[str, Any]:
    """Return the readable form of an output: texts without ANSI escapes, stubs for other data."""
    kind = output.get("output_type")
    readable: dict[str, Any] = {"output_type": kind if isinstance(kind, str) else "unknown"}
    for name in ("name", "text", "ename", "evalue"):
        if isinstance(output.get(name), str):
            readable[name] = strip_ansi(output[name])
    traceback = output.get("traceback")
    if isinstance(traceback, list):
        readable["traceback"] = strip_ansi("\n".join(map(str, traceback)))
    if isinstance(output.get("execution_count"), int):
        readable["execution_count"] = output["execution_count"]
    data = output.get("data")
    if isinstance(data, dict):
        readable["data"] = {
            mime: strip_ansi(value)
            if mime == _PLAIN and isinstance(value, str)
            else summarize(mime, value)
            for mime, value in data.items()
        }
    return readable


def list_text_fields(output: dict[str, Any]) -> Iterator[TextField]:
    """Yield the texts of a readable output."""
    for name in ("text", "ename", "evalue", "traceback"):
        if name in output:
            yield output, name
    data = output.get("data", {})
    if isinstance(data.get(_PLAIN), str):
        yield data, _PLAIN


def extract_text(output: dict[str, Any]) -> str:
    """Return the text of a readable output."""
    if "text" in output:
        return str(output["text"])
    if output.get("traceback"):
        return str(output["traceback"])
    if "ename" in output:
        return f"{output['ename']}: {output.get('evalue', '')}"
    text = output.get("data", {}).get(_PLAIN)
    return text if isinstance(text, str) else ""


def read_attachments(cell: Cell, *, is_summary: bool) -> dict[str, dict[str, Any]]:
    """Return a cell's attachments by name and type, each as it is or as its type and size."""
    attachments = cell.attachments
    if not isinstance(attachments, dict):
        return {}
    return {
        name: {
            mime: summarize(mime, join_text(value)) if is_summary else join_text(value)
            for mime, value in bundle.items()
        }
        for name, bundle in attachments.items()
        if isinstance(bundle, dict)
    }


def summarize(mime: str, value: Any) -> Stub:
    """Render data as its type and size."""
    return {"mime": mime, "bytes": _compute_size(mime, value)}


def encode_json(value: Any) -> str:
    """Encode a value as JSON, as in a reply."""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        # Lone surrogates have JSON escapes but no UTF-8.
        return json.dumps(value)


def _compute_size(mime: str, value: Any) -> int:
    """Return the size of data in bytes; for base64 the size of the decoded data."""
    if not isinstance(value, str):
        return len(encode_json(value).encode("utf-8", "surrogatepass"))
    if mime.startswith(_TEXTUAL) or mime.endswith(_TEXTUAL_SUFFIXES):
        return len(value.encode("utf-8", "surrogatepass"))
    digits = "".join(value.split()).rstrip("=")
    return len(digits) * 3 // 4
