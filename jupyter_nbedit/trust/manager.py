"""Keep a trusted notebook trusted after an edit, and never make an untrusted one trusted.

Jupyter's signature covers the whole notebook. Therefore every edit makes it invalid, and JupyterLab
then hides HTML and JavaScript outputs. No operation adds outputs, so a notebook that was trusted
before an edit may be signed after it. Nothing else is ever signed.
"""

import asyncio
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hmac import HMAC

import nbformat.reader
from nbformat.sign import NotebookNotary

from jupyter_nbedit.errors import Busy, ChangedDuringRead, StorageFailure
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.system.concurrency import run_in_thread_if_large
from jupyter_nbedit.system.lru import LRUCache
from jupyter_nbedit.trust import signature_store
from jupyter_nbedit.trust.signature import (
    Checkpoint,
    Signature,
    UnsupportedNotebook,
    compute_signature,
)

# The size of the cache of signatures.
_MAX_VERSIONS = 64


@dataclass
class TrustManager:
    """Finds out which notebooks are trusted, and signs edited notebooks."""

    #: Returns the notary of the contents manager, which extensions may replace at any time.
    get_notary: Callable[[], NotebookNotary]
    _signatures: LRUCache[tuple[str, str, bytes], Signature | None] = field(
        default_factory=lambda: LRUCache(_MAX_VERSIONS)
    )
    # The notary that has signed last: its store may have pending signatures.
    _last_notary: NotebookNotary | None = None

    async def find_signature(self, document: Document, version: str | None) -> Signature | None:
        """Return the signature of a notebook if the notebook is trusted.

        ``version`` is the hash of the notebook; None if it is unknown.

        Raise `Busy` if the signatures cannot be read, because treating the notebook as untrusted
        would make it so, `StorageFailure` if the secret for signing can be neither read nor
        written, and `ChangedDuringRead` if the file of the notebook has changed.
        """
        notary = self.get_notary()
        with _map_notary_errors():
            key = None if version is None else _build_key(notary, version)
            if key is not None and key in self._signatures:
                signature = self._signatures.get(key)
            elif signature_store.is_empty(notary):
                return None
            else:
                size = len(document.text)
                signature = await run_in_thread_if_large(
                    size, _compute_with_notary, notary, document
                )
                if key is not None:
                    self._signatures.put(key, signature)
            is_signed = signature is not None and signature_store.has(notary, signature.text)
            return signature if is_signed else None

    def sign(self, signature: Signature | None, version: str) -> None:
        """Store the signature of a notebook that was trusted before an edit.

        ``signature`` is None for a notebook that cannot be signed; ``version`` is its hash. Raise
        `sqlite3.Error` if the signature cannot be stored.
        """
        notary = self._last_notary = self.get_notary()
        self._signatures.put(_build_key(notary, version), signature)
        if signature is not None:
            signature_store.add(notary, signature.text)

    def flush(self) -> None:
        """Store all pending signatures."""
        if self._last_notary is not None:
            signature_store.flush(self._last_notary)


@dataclass
class PendingSignature:
    """The signature of a notebook after an edit, which is computed during the write."""

    trust: TrustManager
    before: Document
    #: Returns the notebook after the edit; may take long.
    build_after: Callable[[], Document]
    #: The first position at which the bytes of the two differ.
    start: int
    #: The signature of the notebook before the edit; None if it was not computed.
    signature_before: Signature | None

    def __post_init__(self) -> None:
        self._task = asyncio.create_task(self._compute())

    async def _compute(self) -> Signature | None:
        return await run_in_thread_if_large(len(self.before.text), self._compute_signature)

    def _compute_signature(self) -> Signature | None:
        after = self.build_after()
        checkpoints: Sequence[Checkpoint] = ()
        if self.signature_before is not None:
            checkpoints = self.signature_before.select_checkpoints(self.before, after, self.start)
        return _compute_with_notary(self.trust.get_notary(), after, checkpoints)

    async def finish(self, version: str) -> None:
        """Sign the written notebook, whose hash is ``version``; see `TrustManager.sign`."""
        try:
            signature = await self._task
        except ChangedDuringRead:
            # The write itself has replaced the file that the task was reading.
            signature = await self._compute()
        self.trust.sign(signature, version)

    def cancel(self) -> None:
        """Stop the computation; its result is not needed any more."""
        if not self._task.cancel() and not self._task.cancelled():
            # Retrieve the exception, so that asyncio does not log it.
            self._task.exception()


async def is_trusted(notary: NotebookNotary, text: bytes) -> bool:
    """Return whether the bytes of a notebook are signed; raise as `TrustManager.find_signature`."""
    signature = await asyncio.to_thread(_compute_by_nbformat, notary, text)
    with _map_notary_errors():
        return signature is not None and signature_store.has(notary, signature.text)


async def unsign(notary: NotebookNotary, text: bytes) -> None:
    """Remove the signature that a contents manager has given to an untrusted notebook."""
    signature = await asyncio.to_thread(_compute_by_nbformat, notary, text)
    if signature is not None:
        notary.store.remove_signature(signature.text, notary.algorithm)


@contextmanager
def _map_notary_errors() -> Iterator[None]:
    # The connection of the store belongs to the thread of the loop; in another thread it fails, and
    # jupyter_server would treat the database as corrupt.
    try:
        yield
    except sqlite3.Error as error:
        raise Busy(
            "Jupyter's database of trusted notebooks cannot be read now, so the notebook's trust "
            "could not be kept. Nothing was written; try again."
        ) from error
    except OSError as error:
        # The notary writes the secret when it is first needed.
        text = os.strerror(error.errno or 0)
        message = (
            f"Jupyter's secret for signing notebooks can be neither read nor written ({text}), "
            "so the notebook's trust could not be kept. Nothing was written; ask the "
            "administrator of this server to look at its disk."
        )
        raise StorageFailure(message, applied=False) from error


def _build_key(notary: NotebookNotary, version: str) -> tuple[str, str, bytes]:
    return version, notary.algorithm, notary.secret


def _compute_with_notary(
    notary: NotebookNotary, document: Document, checkpoints: Sequence[Checkpoint] = ()
) -> Signature | None:
    """Return the signature of a notebook; None if Jupyter cannot open or sign the notebook."""
    try:
        return compute_signature(
            document, lambda: HMAC(notary.secret, digestmod=notary.digestmod), checkpoints
        )
    except UnsupportedNotebook:
        return _compute_by_nbformat(notary, document.text[:])


def _compute_by_nbformat(notary: NotebookNotary, text: bytes) -> Signature | None:
    """Return the signature that nbformat computes from the whole notebook."""
    try:
        # The validation by the contents manager is not needed. It only changes notebooks that can
        # never be trusted: notebooks with missing or duplicate ids get new ids at every read.
        notebook = nbformat.reader.reads(text.decode())
        return Signature(str(notary.compute_signature(notebook)), ())
    except Exception:  # noqa: BLE001 -- nbformat raises whatever its reader stumbles over
        # Jupyter has not signed a notebook that nbformat cannot read: one with a byte order mark,
        # lone surrogates or `metadata: null`.
        return None
