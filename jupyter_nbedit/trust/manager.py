"""Keep a notebook's trust over an edit, and never give it where it was not.

Jupyter signs notebooks as nbformat reads them; any edit makes another notebook of it, and its HTML
and JavaScript outputs go dark. An edit of ours never brings in an output (`operations` has no way
to), so a notebook that was trusted before may be signed after. That is the only time we sign.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from hmac import HMAC
from typing import TYPE_CHECKING

import nbformat.reader

from jupyter_nbedit.concurrency import BackgroundTask, run_in_thread_if_large
from jupyter_nbedit.errors import Busy, StorageFailure
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.trust import signature_store
from jupyter_nbedit.trust.digest import (
    Checkpoint,
    Digest,
    UnsupportedNotebook,
    compute_digest,
    count_common_cells,
)

if TYPE_CHECKING:
    from nbformat.sign import NotebookNotary

# Of how many versions it is remembered what they are signed by.
_MOST_VERSIONS = 64


@dataclass
class TrustManager:
    """Knows which notebooks are trusted, and sees to it that they stay so.

    Parameters
    ----------
    notary
        Gives the contents manager's.
    """

    notary: Callable[[], NotebookNotary]
    _digests: OrderedDict[tuple[str, str, bytes], Digest | None] = field(
        default_factory=OrderedDict
    )
    # Who has signed last; only what was signed may still have to be stored.
    _signer: NotebookNotary | None = None

    async def find_digest(self, document: Document, version: str | None) -> Digest | None:
        """Return what a notebook is signed by, if it is trusted.

        Parameters
        ----------
        document
            The notebook.
        version
            Its hash, if that is known.

        Raises
        ------
        Busy
            If the store cannot be asked. Taking the notebook for untrusted would lose its trust.
        StorageFailure
            If the secret for signing can be neither read nor written.
        ChangedDuringRead
            If the notebook is in a file that somebody else has changed.
        """
        notary = self.notary()
        with _map_notary_errors():
            key = None if version is None else _build_key(notary, version)
            if key not in self._digests and signature_store.is_empty(notary):
                return None
            found = await self._digest(notary, document, key)
            return found if found is not None and signature_store.has(notary, found.text) else None

    async def compute(
        self, document: Callable[[], Document], size: int, marks: Callable[[], Sequence[Checkpoint]]
    ) -> Digest | None:
        """Compute what a notebook is signed by, without signing it.

        Parameters
        ----------
        document
            Gives the notebook, which may take time.
        size
            How many bytes it has, about.
        marks
            Gives the marks of one that begins with the same cells, if there is one.

        Raises
        ------
        ChangedDuringRead
            If the notebook is in a file that somebody else has changed.
        """
        notary = self.notary()
        return await run_in_thread_if_large(size, lambda: _digest(notary, document(), marks()))

    def sign(self, signature: Digest | None, version: str) -> None:
        """Sign a notebook; the caller knows that it deserves it.

        Parameters
        ----------
        signature
            As `compute` gave it; nothing is done with a notebook that cannot be signed.
        version
            The notebook's hash.

        Raises
        ------
        sqlite3.Error
            If the store cannot take it.
        """
        notary = self._signer = self.notary()
        self._remember(_build_key(notary, version), signature)
        if signature is not None:
            signature_store.add(notary, signature.text)

    def flush(self) -> None:
        """Put signatures into the database that are on their way to it."""
        if self._signer is not None:
            signature_store.settle(self._signer)

    async def _digest(
        self, notary: NotebookNotary, document: Document, key: tuple[str, str, bytes] | None
    ) -> Digest | None:
        if key is not None and key in self._digests:
            return self._digests[key]
        found = await run_in_thread_if_large(len(document.text), partial(_digest, notary, document))
        if key is not None:
            self._remember(key, found)
        return found

    def _remember(self, key: tuple[str, str, bytes], signature: Digest | None) -> None:
        self._digests[key] = signature
        self._digests.move_to_end(key)
        if len(self._digests) > _MOST_VERSIONS:
            self._digests.popitem(last=False)


class PendingSignature:
    """Signs a notebook that was trusted before an edit, once the edit is written.

    The signature is computed while the notebook is being written: who begins the write begins this,
    too, as a context.

    Parameters
    ----------
    trust
        Whose notary signs.
    base
        The notebook before the edit.
    after
        Gives the notebook after it, which may take time.
    start
        Where their bytes begin to differ.
    before
        What the notebook was signed by, if that was computed.
    """

    def __init__(
        self,
        trust: TrustManager,
        base: Document,
        after: Callable[[], Document],
        start: int,
        before: Digest | None,
    ) -> None:
        def marks() -> list[Checkpoint]:
            return [] if before is None else before.cut(count_common_cells(base, after(), start))

        self._trust = trust
        size = len(base.text)
        self._signature = BackgroundTask(partial(trust.compute, after, size, marks), size)

    def __enter__(self) -> None:
        """Begin to compute."""
        self._signature.__enter__()

    def __exit__(self, *_: object) -> None:
        """Leave it, whatever became of the write."""
        self._signature.__exit__()

    async def finish(self, version: str) -> None:
        """Sign what was written.

        Parameters
        ----------
        version
            Its hash.

        Raises
        ------
        sqlite3.Error
            If the store cannot take it.
        """
        self._trust.sign(await self._signature.get_result(), version)


async def is_trusted(notary: NotebookNotary, text: bytes) -> bool:
    """Return whether the signature of a notebook is known that is there as a text only.

    Raises
    ------
    Busy
        If the store cannot be asked. Taking the notebook for untrusted would lose its trust.
    """
    found = await asyncio.to_thread(_compute_by_nbformat, notary, text)
    with _map_notary_errors():
        return found is not None and signature_store.has(notary, found.text)


async def unsign(notary: NotebookNotary, text: bytes) -> None:
    """Take a notebook's signature away, which was given though nobody had trusted it before."""
    found = await asyncio.to_thread(_compute_by_nbformat, notary, text)
    if found is not None:
        notary.store.remove_signature(found.text, notary.algorithm)


@contextmanager
def _map_notary_errors() -> Iterator[None]:
    # The store's database belongs to the loop's thread; from another one it fails, and
    # jupyter_server then takes it for corrupt.
    try:
        yield
    except sqlite3.Error as error:
        message = (
            "Jupyter's database of trusted notebooks cannot be read now, so the notebook's trust "
            "could not be kept. Nothing was written; try again."
        )
        raise Busy(message) from error
    except OSError as error:
        # The secret is written when it is first asked for.
        said = os.strerror(error.errno or 0)
        message = (
            f"Jupyter's secret for signing notebooks can be neither read nor written ({said}), so "
            "the notebook's trust could not be kept. Nothing was written; ask who runs this server "
            "to look at its disk."
        )
        raise StorageFailure(message, applied=False) from error


def _build_key(notary: NotebookNotary, version: str) -> tuple[str, str, bytes]:
    return version, notary.algorithm, notary.secret


def _digest(
    notary: NotebookNotary, document: Document, marks: Sequence[Checkpoint] = ()
) -> Digest | None:
    """Compute what the notary signs; None for a notebook that Jupyter cannot open or sign."""
    try:
        return compute_digest(
            document, lambda: HMAC(notary.secret, digestmod=notary.digestmod), marks
        )
    except UnsupportedNotebook:
        return _compute_by_nbformat(notary, document.text[:])


def _compute_by_nbformat(notary: NotebookNotary, text: bytes) -> Digest | None:
    """Have nbformat compute it, from the notebook as a whole."""
    try:
        # The contents manager validates as well, which only changes what can never be trusted:
        # missing and double ids, for which nbformat makes up new ones at every reading.
        notebook = nbformat.reader.reads(text.decode())
        return Digest(str(notary.compute_signature(notebook)), ())
    except Exception:  # noqa: BLE001 -- nbformat raises whatever its reader stumbles over
        # Whether it is a byte order mark, lone surrogates or `metadata: null`: what nbformat
        # cannot read, Jupyter has not signed.
        return None
