"""The digest that Jupyter signs a notebook by, computed cell by cell.

It is that of nbformat's notary: an HMAC over all names and values, names in order, of the notebook
as nbformat reads it, which joins lines and leaves out what is not stored. nbformat reads the whole
notebook for it and holds the interpreter for as long; here one cell is in memory at a time.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from jupyter_nbedit.errors import NbEditError
from jupyter_nbedit.notebook import json_spans
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.json_spans import Span

# How much of a long text is hashed at once, which leaves the interpreter to others; how long that
# is, and how many short ones are hashed together.
_BATCH_CHARACTERS = 1 << 16
_LONG_CHARACTERS = 1 << 12
_MOST_WAITING = 1 << 10
# How much is read at once.
_BLOCK_BYTES = 1 << 16
# How far apart the states are from which the digest of an edited notebook goes on: an eighth of
# the notebook, but in a large one no more than this.
_MARK_BYTES = 1 << 22
_MARKS = 8
# Of a small notebook all cells but a few are in its next version, too: how small it is, and of how
# many cells, and how small ones, it is remembered what is taken in.
_SMALL_BYTES = 100_000
_MOST_CELLS = 256
_CELL_BYTES = 1 << 12
# nbformat's own depth depends on who calls it.
_DEEPEST = 64
_TRANSIENT = ("orig_nbformat", "orig_nbformat_minor", "signature")
# A byte order mark is none of them.
_BEGINNINGS = frozenset((b"{", b" ", b"\t", b"\r", b"\n"))
_BUNDLES = frozenset(("display_data", "execute_result"))


class Hasher(Protocol):
    """A message authentication code that is being computed; one of `hmac` is such."""

    def update(self, message: bytes, /) -> None:
        """Take in more of the message."""

    def copy(self) -> Hasher:
        """Return another one that has taken in the same."""

    def hexdigest(self) -> str:
        """Return the code of what was taken in."""


class Checkpoint(NamedTuple):
    """The state behind so many cells."""

    cells: int
    state: Hasher


@dataclass(frozen=True)
class Digest:
    """What a notebook is signed by.

    Parameters
    ----------
    text
        The digest, in hex.
    marks
        States on the way to it, in order; none if something comes before the cells.
    """

    text: str
    checkpoints: Sequence[Checkpoint]

    def cut(self, cells: int) -> list[Checkpoint]:
        """Return the marks of a notebook that begins with the same cells, so many."""
        return [mark for mark in self.checkpoints if mark.cells <= cells]


class UnsupportedNotebook(Exception):
    """Only nbformat itself knows what it makes of this notebook, if anything."""


def compute_digest(
    document: Document, new: Callable[[], Hasher], marks: Sequence[Checkpoint] = ()
) -> Digest:
    """Compute what a notebook is signed by.

    Parameters
    ----------
    document
        The notebook.
    new
        Gives the code of an empty message.
    marks
        Of a notebook that begins with the same cells; see `Digest.until`.

    Raises
    ------
    UnsupportedNotebook
    ChangedDuringRead
        If the notebook is in a file that somebody else has changed.
    """
    try:
        return _compute_digest(document, new, marks)
    except (NbEditError, UnsupportedNotebook):
        raise
    except Exception as error:
        # What nbformat stumbles over looks like that: metadata that are no object, a source of
        # numbers, half a surrogate pair.
        raise UnsupportedNotebook from error


def count_common_cells(before: Document, after: Document, start: int) -> int:
    """Count the cells that two notebooks begin with alike.

    Parameters
    ----------
    before, after
        The notebooks.
    start
        Where their bytes begin to differ.
    """
    count = bisect_right(before.cell_spans, start, key=lambda span: span.stop)
    return count if before.cell_spans[:count] == after.cell_spans[:count] else 0


def _compute_digest(
    document: Document, new: Callable[[], Hasher], marks: Sequence[Checkpoint]
) -> Digest:
    values = {member.name: member.value for member in document.members}
    if document.text[:1] not in _BEGINNINGS or "metadata" not in values:
        raise UnsupportedNotebook
    names = sorted(values)
    # What comes before the cells may be another than in the notebook of the marks.
    kept = list(marks) if names[0] == "cells" else []
    mac = kept[-1].state.copy() if kept else new()
    walk = _CanonicalWriter(mac.update)
    for name in names:
        if name == "cells":
            if not kept:
                walk.write(name)
            _hash_cells(document, walk, mac, kept)
            continue
        walk.write(name)
        value = json_spans.decode(document.text, values[name])
        if name == "metadata":
            for key in _TRANSIENT:
                value.pop(key, None)
        walk.write_value(value)
    walk.flush()
    return Digest(mac.hexdigest(), kept if names[0] == "cells" else [])


def _hash_cells(
    document: Document, walk: _CanonicalWriter, mac: Hasher, marks: list[Checkpoint]
) -> None:
    """Go through the cells from the last mark on, and leave more marks."""
    apart = min(_MARK_BYTES, len(document.text) // _MARKS)
    first = marks[-1].cells if marks else 0
    marked = document.cell_spans[first].start if first < len(document) else 0
    is_small = isinstance(document.text, bytes) and len(document.text) <= _SMALL_BYTES
    each = (_serialize_cells if is_small else _decode_cells)(document, first)
    for count, (cell, stop) in enumerate(each, first + 1):
        if isinstance(cell, bytes):
            walk.flush()
            mac.update(cell)
        else:
            walk.write_value(_normalize_cell(cell))
        if stop - marked >= apart:
            walk.flush()
            marks.append(Checkpoint(count, mac.copy()))
            marked = stop


def _decode_cells(document: Document, first: int) -> Iterator[tuple[Any, int]]:
    """Decode the cells from an index on, small ones together, and tell where each ends."""
    cells = document.cell_spans
    while first < len(cells):
        start = cells[first].start
        last = max(first + 1, cells.count_ending_before(start + _BLOCK_BYTES))
        some = list(cells[first:last])
        if len(some) > 1:
            block = b"".join((b"[", document.text[start : some[-1].stop], b"]"))
            values = json_spans.decode(block, Span(0, len(block)))
        else:
            # A large one is copied no more often than it must be.
            values = [json_spans.decode(document.text, some[0])]
        yield from zip(values, (stop for _, stop in some), strict=True)
        first = last


def _serialize_cells(document: Document, first: int) -> Iterator[tuple[Any, int]]:
    """Do the same, but give of small cells what is taken in of them."""
    text = document.text
    for start, stop in document.cell_spans[first:]:
        is_small = stop - start <= _CELL_BYTES
        cell = (
            _serialize_cell(text[start:stop])
            if is_small
            else json_spans.decode(text, Span(start, stop))
        )
        yield cell, stop


@lru_cache(_MOST_CELLS)
def _serialize_cell(cell: bytes) -> bytes:
    """Return what is taken in of a cell."""
    message = bytearray()
    walk = _CanonicalWriter(message.extend)
    walk.write_value(_normalize_cell(json_spans.decode(cell, Span(0, len(cell)))))
    walk.flush()
    return bytes(message)


def _normalize_cell(cell: dict[str, Any]) -> dict[str, Any]:
    """Make of a cell what nbformat does when it reads it."""
    if isinstance(cell.get("source"), list):
        cell["source"] = "".join(cell["source"])
    for attachment in cell.get("attachments", {}).values():
        _join_bundle(attachment)
    if cell["cell_type"] == "code":
        for output in cell.get("outputs", ()):
            _join_output(output)
    cell["metadata"].pop("trusted", None)
    return cell


def _join_output(output: dict[str, Any]) -> None:
    kind = output.get("output_type", "")
    if kind in _BUNDLES:
        _join_bundle(output.get("data", {}))
    elif kind and isinstance(output.get("text"), list):
        output["text"] = "".join(output["text"])


def _join_bundle(bundle: dict[str, Any]) -> None:
    for kind, value in bundle.items():
        if isinstance(value, list) and not _is_json(kind) and all(type(x) is str for x in value):
            bundle[kind] = "".join(value)


def _is_json(kind: str) -> bool:
    return kind == "application/json" or (
        kind.startswith("application/") and kind.endswith("+json")
    )


class _CanonicalWriter:
    """Goes through values as nbformat's `yield_everything` does.

    Parameters
    ----------
    take
        Takes them in.
    """

    def __init__(self, take: Callable[[bytes], object]) -> None:
        self._take = take
        self._waiting: list[str] = []

    def write(self, text: str) -> None:
        """Take in a text, sooner or later."""
        self._waiting.append(text)
        if len(text) > _LONG_CHARACTERS or len(self._waiting) > _MOST_WAITING:
            self.flush()

    def flush(self) -> None:
        """Take in what waits."""
        waiting = self._waiting
        if not waiting:
            return
        last = waiting.pop()
        if len(last) <= _LONG_CHARACTERS:
            waiting.append(last)
            last = ""
        self._take("".join(waiting).encode())
        # Joined with others, it would be in memory twice more.
        for at in range(0, len(last), _BATCH_CHARACTERS):
            self._take(last[at : at + _BATCH_CHARACTERS].encode())
        waiting.clear()

    def write_value(self, value: Any, depth: int = 0) -> None:
        """Take in a value and all that is in it."""
        kind = type(value)
        if kind is str:
            self.write(value)
        elif kind is dict:
            if depth > _DEEPEST:
                raise UnsupportedNotebook
            for name in sorted(value):
                inner = value[name]
                self._waiting.append(name)
                # Most values are short texts, and a call costs more than all else.
                if type(inner) is str and len(inner) <= _LONG_CHARACTERS:
                    self._waiting.append(inner)
                else:
                    self.write_value(inner, depth + 1)
        elif kind is list:
            if depth > _DEEPEST:
                raise UnsupportedNotebook
            for element in value:
                self.write_value(element, depth + 1)
        else:
            self.write(str(value))
