"""Compute the signature by which Jupyter signs a notebook, one cell at a time.

``nbformat.sign.NotebookNotary`` defines the signature: an HMAC over all names and values, sorted by
name, of the notebook as nbformat reads it. nbformat loads the whole notebook, and blocks the
interpreter during this time. Here only one cell is in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hmac import HMAC
from typing import Any, NamedTuple

from jupyter_nbedit.errors import NbEditError
from jupyter_nbedit.notebook import json_spans
from jupyter_nbedit.notebook.document import Document

# A longer text is hashed in pieces; joining it with others would copy it twice.
_LONG_CHARACTERS = 1 << 12
_PIECE_CHARACTERS = 1 << 16
_MAX_PENDING = 1 << 10
# How many bytes of large notebooks are decoded at once.
_BLOCK_BYTES = 1 << 16
# Most cells of a small notebook are in its next version, too, so their canonical bytes are cached.
_SMALL_BYTES = 100_000
_MAX_CELLS = 256
# The distance of checkpoints, from which the signature of a large edited notebook continues: an
# eighth of the notebook, and at most so many bytes.
_CHECKPOINT_BYTES = 1 << 22
_CHECKPOINTS = 8
# The recursion limit of nbformat depends on its caller.
_MAX_DEPTH = 64
_TRANSIENT = ("orig_nbformat", "orig_nbformat_minor", "signature")
# Without a byte order mark.
_FIRST_BYTES = frozenset((b"{", b" ", b"\t", b"\r", b"\n"))
_BUNDLES = frozenset(("display_data", "execute_result"))


class Checkpoint(NamedTuple):
    """The state of the hasher after a number of cells."""

    cells: int
    state: HMAC


@dataclass(frozen=True)
class Signature:
    """The signature of a notebook as hexadecimal digits, and its checkpoints in order.

    Small notebooks, and notebooks with a value before the cells, have no checkpoints.
    """

    text: str
    checkpoints: Sequence[Checkpoint] = ()

    def select_checkpoints(self, before: Document, after: Document, start: int) -> list[Checkpoint]:
        """Return the checkpoints of a notebook that apply to its next version, too.

        ``start`` is the first position at which the bytes of the two differ.
        """
        if not self.checkpoints or before.cells_span.start != after.cells_span.start:
            return []
        # The same bytes are the same cells.
        count = before.cell_spans.count_ending_before(start)
        return [checkpoint for checkpoint in self.checkpoints if checkpoint.cells <= count]


class UnsupportedNotebook(Exception):
    """The signature of the notebook can be computed by nbformat only, if at all."""


def compute_signature(
    document: Document, create_hasher: Callable[[], HMAC], checkpoints: Sequence[Checkpoint] = ()
) -> Signature:
    """Compute the signature of a notebook, from its last checkpoint on.

    Raise `UnsupportedNotebook` if nbformat would not write such a notebook, and
    `ChangedDuringRead` if the file of the notebook has changed.
    """
    try:
        return _compute_signature(document, create_hasher, checkpoints)
    except (NbEditError, UnsupportedNotebook):
        raise
    except Exception as error:
        # Notebooks that nbformat rejects: metadata that are not an object, a source of numbers,
        # half a surrogate pair.
        raise UnsupportedNotebook from error


def _compute_signature(
    document: Document, create_hasher: Callable[[], HMAC], checkpoints: Sequence[Checkpoint]
) -> Signature:
    values = {member.name: member.value for member in document.members}
    if document.text[:1] not in _FIRST_BYTES or "metadata" not in values:
        raise UnsupportedNotebook
    names = sorted(values)
    # A value before the cells may differ from the notebook of the checkpoints.
    can_resume = names[0] == "cells"
    reached = list(checkpoints) if can_resume else []
    hasher = reached[-1].state.copy() if reached else create_hasher()
    writer = _CanonicalWriter(hasher.update)
    for name in names:
        if name != "cells":
            value = json_spans.decode(document.text, values[name])
            if name == "metadata":
                for key in _TRANSIENT:
                    value.pop(key, None)
            writer.write({name: value})
            continue
        if not reached:
            writer.write(name)
        if len(document.text) <= _SMALL_BYTES:
            writer.flush()
            text = document.text
            cells = [_serialize_cell(text[start:stop]) for start, stop in document.cell_spans]
            hasher.update(b"".join(cells))
        else:
            _hash_cells(document, writer, hasher, reached)
    writer.flush()
    return Signature(hasher.hexdigest(), reached if can_resume else ())


@lru_cache(_MAX_CELLS)
def _serialize_cell(cell: bytes) -> bytes:
    """Return the canonical bytes of a cell."""
    message = bytearray()
    writer = _CanonicalWriter(message.extend)
    writer.write(_normalize_cell(json_spans.decode(cell)))
    writer.flush()
    return bytes(message)


def _hash_cells(
    document: Document, writer: _CanonicalWriter, hasher: HMAC, checkpoints: list[Checkpoint]
) -> None:
    """Hash the cells from the last checkpoint on, and append more checkpoints."""
    distance = min(_CHECKPOINT_BYTES, len(document.text) // _CHECKPOINTS)
    first = checkpoints[-1].cells if checkpoints else 0
    last_stop = document.cell_spans[first].start if first < len(document) else 0
    for count, (cell, stop) in enumerate(_decode_cells(document, first), first + 1):
        writer.write(_normalize_cell(cell))
        if stop - last_stop >= distance:
            writer.flush()
            checkpoints.append(Checkpoint(count, hasher.copy()))
            last_stop = stop


def _decode_cells(document: Document, first: int) -> Iterator[tuple[Any, int]]:
    """Yield each cell from an index on and its end; small cells are decoded together."""
    spans = document.cell_spans
    while first < len(spans):
        start = spans[first].start
        last = max(first + 1, spans.count_ending_before(start + _BLOCK_BYTES))
        block_spans = list(spans[first:last])
        if len(block_spans) > 1:
            block = b"".join((b"[", document.text[start : block_spans[-1].stop], b"]"))
            values = json_spans.decode(block)
        else:
            # A large cell is not copied once more.
            values = [json_spans.decode(document.text, block_spans[0])]
        yield from zip(values, (stop for _, stop in block_spans), strict=True)
        first = last


def _normalize_cell(cell: dict[str, Any]) -> dict[str, Any]:
    """Change a cell as ``nbformat.v4.rwbase.rejoin_lines`` and ``strip_transient`` do."""
    if isinstance(cell.get("source"), list):
        cell["source"] = "".join(cell["source"])
    for attachment in cell.get("attachments", {}).values():
        _join_bundle(attachment)
    if cell["cell_type"] == "code":
        for output in cell.get("outputs", ()):
            kind = output.get("output_type", "")
            if kind in _BUNDLES:
                _join_bundle(output.get("data", {}))
            elif kind and isinstance(output.get("text"), list):
                output["text"] = "".join(output["text"])
    cell["metadata"].pop("trusted", None)
    return cell


def _join_bundle(bundle: dict[str, Any]) -> None:
    for kind, value in bundle.items():
        is_json = kind == "application/json" or (
            kind.startswith("application/") and kind.endswith("+json")
        )
        if isinstance(value, list) and not is_json and all(type(x) is str for x in value):
            bundle[kind] = "".join(value)


class _CanonicalWriter:
    """Writes values in the order of ``nbformat.sign.yield_everything``, in batches."""

    def __init__(self, write_bytes: Callable[[bytes], object]) -> None:
        self._write_bytes = write_bytes
        self._pending: list[str] = []

    def flush(self) -> None:
        """Write the buffered texts."""
        self._write_bytes("".join(self._pending).encode())
        self._pending.clear()

    def write(self, value: Any, depth: int = 0) -> None:
        """Write a value and everything in it; it is buffered until `flush`."""
        kind = type(value)
        if kind in {dict, list}:
            if depth > _MAX_DEPTH:
                raise UnsupportedNotebook
            if kind is list:
                for element in value:
                    self.write(element, depth + 1)
                return
            for name in sorted(value):
                inner = value[name]
                self._pending.append(name)
                # Most values are short texts, for which a call costs more than the rest.
                if type(inner) is str and len(inner) <= _LONG_CHARACTERS:
                    self._pending.append(inner)
                else:
                    self.write(inner, depth + 1)
            return
        text = value if kind is str else str(value)
        if len(text) <= _LONG_CHARACTERS:
            self._pending.append(text)
            if len(self._pending) > _MAX_PENDING:
                self.flush()
            return
        self.flush()
        for start in range(0, len(text), _PIECE_CHARACTERS):
            self._write_bytes(text[start : start + _PIECE_CHARACTERS].encode())
