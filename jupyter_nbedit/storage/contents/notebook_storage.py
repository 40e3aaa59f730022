"""Notebooks that only the contents manager can save: pairs, and those that a hook may change."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, ClassVar

from jupyter_server.utils import ensure_async
from tornado.web import HTTPError

from jupyter_nbedit.concurrency import run_in_thread_if_large
from jupyter_nbedit.errors import (
    InvalidNotebook,
    NbEditError,
    NotAPlainFile,
    NotebookExists,
)
from jupyter_nbedit.notebook.splices import Splice, apply_splices
from jupyter_nbedit.storage.base import Content, StaleContent, WriteResult
from jupyter_nbedit.storage.contents.contents_storage import ContentsStorage, parse_timestamp
from jupyter_nbedit.storage.contents.errors import is_post_save_failure, map_contents_errors
from jupyter_nbedit.storage.contents.jupytext import get_known_pairs, list_paired_paths
from jupyter_nbedit.storage.contents.manager_locks import is_asynchronous
from jupyter_nbedit.storage.contents.notebook_bytes import (
    add_ids,
    is_same_notebook,
    is_trusted,
    parse_model,
    serialize,
    set_trusted,
)
from jupyter_nbedit.storage.locks import PathLocks
from jupyter_nbedit.trust import manager

_DISAGREE = (
    "The two halves of this Jupytext pair disagree, and Jupytext does not open it: the .ipynb was "
    "changed after the text, by another program. Make them agree first, with `jupytext --sync` or "
    "by deleting the half that is out of date; nothing was written."
)
_IMPOSSIBLE = (
    "The Jupytext metadata of this notebook name another half that cannot be; correct `formats` in "
    "them. Nothing was written."
)
_CHANGED_AS_TEXT = (
    "What was written reads differently by now: Jupytext's text cannot hold it as it is, or a hook "
    "of this server or another program has changed it. Read the notebook again before you edit it."
)


class NotebookStorage(ContentsStorage):
    """Notebooks that the manager saves; it runs hooks, signs, and writes both halves of a pair."""

    kind: ClassVar[str] = "notebook"
    preserves_bytes: ClassVar[bool] = False
    is_signed: ClassVar[bool] = True

    def __init__(self, manager: Any, locks: PathLocks, *, is_paired: bool) -> None:
        super().__init__(manager, locks)
        self._is_paired = is_paired
        if is_paired:
            self.changed_warning = _CHANGED_AS_TEXT

    async def read(self, path: str) -> Content:
        """Read a notebook's file; for a pair, what the manager merges from both halves."""
        if not self._is_paired:
            return await super().read(path)
        # During a save, one half is newer than the other.
        async with self.lock(path):
            file_text = (await super().read(path)).text
            with map_contents_errors():
                try:
                    model = await ensure_async(
                        self._manager.get(path, content=True, type="notebook")
                    )
                except HTTPError as error:
                    if path not in (get_known_pairs(self._manager) or ()):
                        raise NotAPlainFile(_IMPOSSIBLE) from error
                    if error.status_code != 400:  # noqa: PLR2004 -- HTTP's own number
                        raise
                    if parse_model(file_text) is None:
                        # The file is not a notebook at all; parsing it gives a better message.
                        return await super().read(path)
                    raise NotAPlainFile(_DISAGREE) from error
            # If the manager is not asynchronous, no other task may run before a save.
            size = len(file_text) if is_asynchronous(self._manager) else 0
            text = await run_in_thread_if_large(size, serialize, model["content"], file_text)
        trust = is_trusted(model["content"])
        return Content(text, parse_timestamp(model["last_modified"]), file_text, trust)

    async def write(self, path: str, base: Content, splices: Sequence[Splice]) -> WriteResult:
        """Save the spliced notebook, if the manager still returns what was read."""
        text = apply_splices(base.text, splices)
        model = await run_in_thread_if_large(len(text), self._build_model, text)
        notary = self._manager.notary
        is_trusted = base.is_trusted
        if is_trusted is None:
            is_trusted = await manager.is_trusted(notary, base.text)
        set_trusted(model["content"], is_trusted=is_trusted)
        # The manager signs every notebook without outputs; an untrusted one must not become
        # trusted.
        keeps_signature = is_trusted or await manager.is_trusted(notary, text)
        # From here to the save, no other task runs if the manager is not asynchronous.
        current = await self.read(path)
        if current.text != base.text:
            raise StaleContent
        original = current.version if isinstance(current.version, bytes) else current.text
        warnings = await self._save(path, text, model, original)
        if not keeps_signature:
            await manager.unsign(notary, await self._read_saved(path, text))
        return await self._build_result(path, text, warnings)

    async def _read_saved(self, path: str, text: bytes) -> bytes:
        """Return the bytes of the saved file; if it cannot be read, those that were to be saved."""
        try:
            return (await super().read(path)).text
        except NbEditError:
            return text

    async def ensure_absent(self, path: str) -> None:
        """Raise if the path exists, or the other half of a pair."""
        await super().ensure_absent(path)
        with map_contents_errors():
            for paired_path in (
                await list_paired_paths(self._manager, path) if self._is_paired else ()
            ):
                if await ensure_async(self._manager.exists(paired_path)):
                    message = (
                        "This notebook would be one of a Jupytext pair, and its other half "
                        f"{paired_path!r} is there already. Nothing is ever overwritten; choose "
                        "another path."
                    )
                    raise NotebookExists(message)

    def _build_model(self, text: bytes) -> dict[str, Any]:
        """Return the model that a browser would send to save a notebook."""
        notebook = parse_model(text)
        if notebook is None:
            message = (
                "nbformat cannot read the notebook as it would be after the edit, and only what it "
                "reads can be saved here; nothing was written."
            )
            raise InvalidNotebook(message)
        add_ids(notebook)
        return {"type": "notebook", "format": "json", "content": notebook}

    def _is_same(self, text: bytes, saved_text: bytes) -> bool:
        return is_same_notebook(text, saved_text)

    async def _is_saved(self, path: str, text: bytes, error: Exception) -> bool:
        # A hook that fails after the first half of a pair prevents the other from being written.
        return is_post_save_failure(error) and await super()._is_saved(path, text, error)

    async def _undo_save(
        self, path: str, text: bytes, model: dict[str, Any], original: bytes | None
    ) -> bool:
        """Restore the ``.ipynb`` half of a pair whose other half could not be saved."""
        file = ContentsStorage(self._manager, self._locks)
        # A hook may have changed one half and refused the other.
        own_texts = (text, json.dumps(model["content"], default=str).encode())
        with map_contents_errors():
            # On a full disk, a partial file may be left.
            if original is None and await file.remove_partial_file(
                path, lambda text: parse_model(text) is None
            ):
                return True
            if not await ensure_async(self._manager.file_exists(path)):
                return False
            current = await file.read(path)
            # Any other content was written by another program meanwhile.
            if not any(is_same_notebook(current.text, own_text) for own_text in own_texts):
                return False
            if original is None:
                await ensure_async(self._manager.delete_file(path))
            elif current.text != original:
                await file.write(path, current, [Splice(0, len(current.text), original)])
        return original is None
