"""Keep a notebook's trust over an edit, and never give it where it was not.

Jupyter signs notebooks as nbformat reads them; any edit makes another notebook of it, and its HTML
and JavaScript outputs go dark. An edit of ours never brings in an output (`operations` has no way
to), so a notebook that was trusted before may be signed after. That is the only time we sign.
"""

from __future__ import annotations

import asyncio
import sqlite3
from typing import TYPE_CHECKING

import nbformat.reader

from jupyter_nbedit.errors import Busy

if TYPE_CHECKING:
    from nbformat.sign import NotebookNotary


async def is_trusted(notary: NotebookNotary, text: bytes) -> bool:
    """Tell whether a notebook's signature is known.

    Parameters
    ----------
    notary
        The contents manager's.
    text
        The notebook's bytes.

    Raises
    ------
    Busy
        If the store cannot be asked. Taking the notebook for untrusted would lose its trust.
    """
    digest = await asyncio.to_thread(_digest, notary, text)
    # The store's database belongs to this thread; from another one it fails, and jupyter_server
    # then takes it for corrupt.
    try:
        return digest is not None and bool(notary.store.check_signature(digest, notary.algorithm))
    except sqlite3.Error as error:
        message = (
            "Jupyter's database of trusted notebooks cannot be read now, so the notebook's trust "
            "could not be kept. Nothing was written; try again."
        )
        raise Busy(message) from error


async def sign(notary: NotebookNotary, text: bytes) -> None:
    """Sign a notebook; the caller knows that it deserves it."""
    digest = await asyncio.to_thread(_digest, notary, text)
    if digest is not None:
        notary.store.store_signature(digest, notary.algorithm)


async def unsign(notary: NotebookNotary, text: bytes) -> None:
    """Take a notebook's signature away, which was given though nobody had trusted it before."""
    digest = await asyncio.to_thread(_digest, notary, text)
    if digest is not None:
        notary.store.remove_signature(digest, notary.algorithm)


def _digest(notary: NotebookNotary, text: bytes) -> str | None:
    """Compute what the notary signs; None for a notebook that Jupyter cannot open or sign."""
    try:
        # The contents manager validates as well, which only changes what can never be trusted:
        # missing and double ids, for which nbformat makes up new ones at every reading.
        notebook = nbformat.reader.reads(text.decode())
        return str(notary.compute_signature(notebook))
    except Exception:  # noqa: BLE001 -- nbformat raises whatever its reader stumbles over
        # Whether it is a byte order mark, lone surrogates or `metadata: null`: what nbformat
        # cannot read, Jupyter has not signed.
        return None
