"""Notebooks that only the contents manager can save: pairs, and those that a hook may change."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

from jupyter_server.utils import ensure_async
from tornado.web import HTTPError

from jupyter_nbedit.concurrency import run_in_thread_if_large
from jupyter_nbedit.errors import (
    InvalidNotebook,
    NbEditError,
    NotAPlainFile,
    NotebookExists,
    NotebookNotFound,
)
from jupyter_nbedit.notebook.splices import Splice, apply_splices
from jupyter_nbedit.storage.base import Content, StaleContent, WriteResult
from jupyter_nbedit.storage.contents.contents_storage import ContentsStorage
from jupyter_nbedit.storage.contents.errors import (
    is_post_save_failure,
    map_contents_error,
    map_contents_errors,
)
from jupyter_nbedit.storage.contents.jupytext import get_known_pairs, list_paired_paths
from jupyter_nbedit.storage.contents.manager_calls import (
    CHANGED_MEANWHILE,
    HOOK_FAILED,
    ContentsFile,
    SaveEventProbe,
    SaveResult,
    build_unread_result,
    compute_sha256,
    parse_timestamp,
)
from jupyter_nbedit.storage.contents.manager_locks import get_unlocked_save, is_asynchronous
from jupyter_nbedit.storage.contents.notebook_bytes import (
    Notebook,
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

    def __init__(self, manager: Any, locks: PathLocks, *, is_paired: bool) -> None:
        super().__init__(manager, locks)
        self._is_paired = is_paired

    async def read(self, path: str) -> Content:
        """Read a notebook's file; for a pair, what the manager merges from both halves."""
        if not self._is_paired:
            return await super().read(path)
        # During a save, one half is newer than the other.
        file = self._get_file(path)
        async with file.lock():
            return await self._read_pair(file, blocks_loop=False)

    async def _read_pair(self, file: ContentsFile, *, blocks_loop: bool) -> Content:
        file_content = await file.read()
        with map_contents_errors(file.not_found):
            try:
                model = await ensure_async(
                    self._manager.get(file.path, content=True, type="notebook")
                )
            except HTTPError as error:
                if file.path not in (get_known_pairs(self._manager) or ()):
                    raise NotAPlainFile(_IMPOSSIBLE) from error
                if error.status_code != 400:  # noqa: PLR2004 -- HTTP's own number
                    raise
                if parse_model(file_content.text) is None:
                    # The file is not a notebook at all; parsing it gives a better message.
                    return file_content
                raise NotAPlainFile(_DISAGREE) from error
        size = 0 if blocks_loop else len(file_content.text)
        text = await run_in_thread_if_large(
            size, lambda file_content: serialize(model["content"], file_content), file_content.text
        )
        trust = is_trusted(model["content"])
        return Content(text, parse_timestamp(model["last_modified"]), file_content.text, trust)

    async def write(self, path: str, base: Content, splices: Sequence[Splice]) -> WriteResult:
        """Save the spliced notebook, if the manager still returns what was read."""
        file = self._get_file(path)
        text = apply_splices(base.text, splices)
        notebook = await run_in_thread_if_large(len(text), _to_saved_model, text)
        notary = self._manager.notary
        is_trusted = base.is_trusted
        if is_trusted is None:
            is_trusted = await manager.is_trusted(notary, base.text)
        set_trusted(notebook, is_trusted=is_trusted)
        # The manager signs every notebook without outputs; an untrusted one must not become
        # trusted.
        keeps_signature = is_trusted or await manager.is_trusted(notary, text)
        # From here to the save, no other task runs if the manager is not asynchronous.
        blocks_loop = not is_asynchronous(self._manager)
        file_content = await file.read()
        current = (
            await self._read_pair(file, blocks_loop=blocks_loop)
            if self._is_paired
            else file_content
        )
        if current.text != base.text:
            raise StaleContent
        warnings, has_event = await self._save(file, text, notebook, file_content)
        if not keeps_signature:
            await manager.unsign(notary, await self._read_saved(file, text))
        return await self._build_save_result(path, text, warnings, has_event=has_event)

    async def _read_saved(self, file: ContentsFile, text: bytes) -> bytes:
        """Return the bytes of the saved file; if it cannot be read, those that were to be saved."""
        try:
            return (await file.read()).text
        except NbEditError:
            return text

    async def _build_save_result(
        self, path: str, text: bytes, warnings: list[str], *, has_event: bool
    ) -> SaveResult:
        try:
            saved_content = await self.read(path)
        except NbEditError:
            return replace(
                await build_unread_result(text, warnings, has_event=has_event), is_signed=True
            )
        if not await run_in_thread_if_large(
            len(text), lambda text: is_same_notebook(text, saved_content.text), text
        ):
            warnings.append(_CHANGED_AS_TEXT if self._is_paired else CHANGED_MEANWHILE)
        digest = await run_in_thread_if_large(
            len(saved_content.text), compute_sha256, saved_content.text
        )
        return SaveResult(
            digest,
            saved_content.last_modified,
            warnings,
            saved_content.text,
            is_signed=True,
            has_event=has_event,
        )

    async def ensure_absent(self, path: str) -> None:
        """Raise if the path exists, or the other half of a pair."""
        await super().ensure_absent(path)
        with map_contents_errors(NotebookNotFound):
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

    async def create(self, path: str, text: bytes) -> WriteResult:
        """Save a new notebook; for a pair, both halves."""
        file = self._get_file(path)
        notebook = _to_saved_model(text)
        await self.ensure_absent(path)
        warnings, has_event = await self._save(file, text, notebook, None)
        return await self._build_save_result(path, text, warnings, has_event=has_event)

    async def _save(
        self, file: ContentsFile, text: bytes, notebook: Notebook, file_content: Content | None
    ) -> tuple[list[str], bool]:
        """Save; return warnings, and whether there was an event. Errors restore the old files."""
        probe = SaveEventProbe(self._manager, file.path)
        model: dict[str, Any] = {"type": "notebook", "format": "json", "content": notebook}
        try:
            await probe.watch(get_unlocked_save(self._manager, self._locks), model)
        except Exception as error:
            # A hook that fails after the first half of a pair prevents the other from being
            # written.
            if is_post_save_failure(error) and await self._contains(file.path, text):
                return [HOOK_FAILED], probe.has_event
            # A hook may have changed one half and refused the other.
            own_texts = (text, json.dumps(model["content"], default=str).encode())
            await self._restore_half(file, own_texts, file_content)
            raise map_contents_error(error, file.not_found) from error
        return [], probe.has_event

    async def _contains(self, path: str, text: bytes) -> bool:
        try:
            return is_same_notebook(text, (await self.read(path)).text)
        except NbEditError:
            return False

    async def _restore_half(
        self, file: ContentsFile, own_texts: Sequence[bytes], file_content: Content | None
    ) -> None:
        """Restore the ``.ipynb`` half of a pair whose other half could not be saved."""
        with map_contents_errors(file.not_found):
            if not await ensure_async(self._manager.file_exists(file.path)):
                return
            if file_content is None:
                # On a full disk, a partial file may be left.
                await file.remove_partial_file(lambda text: parse_model(text) is None)
            if not await ensure_async(self._manager.file_exists(file.path)):
                return
            current = await file.read()
            # Any other content was written by another program meanwhile.
            if not any(is_same_notebook(current.text, text) for text in own_texts):
                return
            if file_content is None:
                await ensure_async(self._manager.delete_file(file.path))
            elif current.text != file_content.text:
                await file.save(file_content.text, current)


def _to_saved_model(text: bytes) -> Notebook:
    """Return the model that a browser would send to save a notebook."""
    notebook = parse_model(text)
    if notebook is None:
        message = (
            "nbformat cannot read the notebook as it would be after the edit, and only what it "
            "reads can be saved here; nothing was written."
        )
        raise InvalidNotebook(message)
    add_ids(notebook)
    return notebook
