"""A spliced text written to a new file, at the speed at which the system copies files.

Of a large file no more than a piece is in memory. The disk gets to work while the rest is being
copied, so that little is left for the last flush, and another thread works out the hash meanwhile,
from where the new text begins to differ. Neither holds the interpreter for long.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

from jupyter_nbedit.notebook.splices import Splice, apply_splices, iterate_segments
from jupyter_nbedit.notebook.text import CHUNK_BYTES, Buffer
from jupyter_nbedit.storage import kernel
from jupyter_nbedit.storage.filetext import LazyFileBytes, ResumableSha256

# Up to here, another thread costs more than the hashing.
_SMALL_BYTES = 250_000
# As much is brought to the disk at a time.
_FLUSHED_BYTES = 8 * CHUNK_BYTES


@contextmanager
def write_spliced(
    base: Buffer, splices: Sequence[Splice], made: int
) -> Iterator[Future[ResumableSha256]]:
    """Write a spliced text to a new file.

    Parameters
    ----------
    base
        The text.
    splices
        What changes in it.
    made
        The file, open for writing, and empty.

    Yields
    ------
    The hash of what is written then; it may take until the context is left.

    Raises
    ------
    Overtaken
        If what is read of the text is no longer what was read before.
    OSError
    """
    if isinstance(base, LazyFileBytes):
        with ThreadPoolExecutor(1) as pool:
            digest = pool.submit(_hash_spliced, base, splices)
            _copy(base, splices, made)
            yield digest
        return
    text = apply_splices(base, splices)
    if len(text) > _SMALL_BYTES:
        with ThreadPoolExecutor(1) as pool:
            digest = pool.submit(compute_hash, text)
            write_all(made, text)
            yield digest
        return
    write_all(made, text)
    digest = Future()
    digest.set_result(compute_hash(text))
    yield digest


def compute_hash(text: bytes) -> ResumableSha256:
    """Return the hash of bytes."""
    marks = ResumableSha256()
    marks.update(text)
    return marks


def write_all(descriptor: int, text: bytes | memoryview) -> None:
    """Write every byte; the system may take fewer than it is given."""
    pending = memoryview(text)
    while pending:
        pending = pending[os.write(descriptor, pending) :]


def _copy(base: LazyFileBytes, splices: Sequence[Splice], made: int) -> None:
    grown = sum(len(text) - (stop - start) for start, stop, text in splices)
    kernel.preallocate(made, len(base) + grown)
    written = flushed = 0
    for piece in _iterate_spliced(base, splices, 0):
        write_all(made, piece)
        written += len(piece)
        if written - flushed >= _FLUSHED_BYTES:
            kernel.start_writeback(made, flushed, written - flushed)
            flushed = written


def _hash_spliced(base: LazyFileBytes, splices: Sequence[Splice]) -> ResumableSha256:
    marks = base.hash_beginning(splices[0].start if splices else len(base))
    for piece in _iterate_spliced(base, splices, marks.size):
        marks.update(piece)
    return marks


def _iterate_spliced(
    base: LazyFileBytes, splices: Sequence[Splice], start: int
) -> Iterator[memoryview]:
    """Go through a spliced text from an offset before the first splice; each piece is used once."""
    room = memoryview(bytearray(CHUNK_BYTES))
    for run in iterate_segments(len(base), splices):
        if isinstance(run, bytes):
            yield memoryview(run)
            continue
        for at in range(max(run[0], start), run[1], CHUNK_BYTES):
            piece = room[: min(CHUNK_BYTES, run[1] - at)]
            base.read_into(at, piece)
            yield piece
