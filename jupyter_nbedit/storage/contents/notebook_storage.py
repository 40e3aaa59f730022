"""Notebooks that only the contents manager can save: pairs, and those that a hook may change."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
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
from jupyter_nbedit.storage.contents.errors import (
    is_post_save_failure,
    map_contents_error,
    map_contents_errors,
)
from jupyter_nbedit.storage.contents.file import (
    CHANGED_MEANWHILE,
    HOOK_FAILED,
    ContentsFile,
    SaveEventProbe,
    SaveResult,
    build_unread_result,
    compute_sha256,
    emit_save,
    parse_timestamp,
)
from jupyter_nbedit.storage.contents.jupytext import list_paired_paths
from jupyter_nbedit.storage.contents.locks import get_unlocked_save, is_asynchronous
from jupyter_nbedit.storage.contents.merged_model import (
    Notebook,
    add_ids,
    is_same,
    is_trusted,
    parse_model,
    serialize,
    set_trusted,
)
from jupyter_nbedit.storage.contents.storage import ensure_absent
from jupyter_nbedit.storage.locks import PathLocks
from jupyter_nbedit.storage.paths import check_suffix
from jupyter_nbedit.trust import manager

_DISAGREE = (
    "The two halves of this Jupytext pair disagree, and Jupytext does not open it: the .ipynb was "
    "changed after the text, by another program. Make them agree first, with `jupytext --sync` or "
    "by deleting the half that is out of date; nothing was written."
)
_CHANGED_AS_TEXT = (
    "What was written reads differently by now: Jupytext's text cannot hold it as it is, or a hook "
    "of this server or another program has changed it. Read the notebook again before you edit it."
)


class NotebookStorage:
    """Notebooks that are saved as a whole, by the manager's own ways.

    Parameters
    ----------
    manager
        The contents manager, which runs the hooks, signs, and writes the other half of a pair.
    locks
        Shared with the manager's own saves.
    paired
        Whether a notebook is kept in more than its own file.
    """

    kind: ClassVar[str] = "notebook"
    preserves_bytes: ClassVar[bool] = False

    def __init__(self, manager: Any, locks: PathLocks, *, paired: bool) -> None:
        self._manager = manager
        self._locks = locks
        self._paired = paired

    def lock(self, path: str) -> AbstractAsyncContextManager[None]:
        """Keep this server's other writers away, the manager's own saves among them."""
        return self._get_file(path).lock()

    async def read(self, path: str) -> Content:
        """Read a notebook's file, or of a pair what the manager makes of both halves."""
        file = self._get_file(path)
        if not self._paired:
            await file.check_visible()
            return await file.read()
        # In the middle of a save the one half is newer than the other.
        async with file.lock():
            return await self._read_pair(file, at_once=False)

    async def _read_pair(self, file: ContentsFile, *, at_once: bool) -> Content:
        own = await file.read(at_once=at_once)
        with map_contents_errors(file.missing):
            try:
                model = await ensure_async(
                    self._manager.get(file.path, content=True, type="notebook")
                )
            except HTTPError as error:
                if error.status_code != 400:  # noqa: PLR2004 -- HTTP's own number
                    raise
                if parse_model(own.text) is None:
                    # It is none of the pair's faults, and who parses it can say more.
                    return own
                raise NotAPlainFile(_DISAGREE) from error
        size = 0 if at_once else len(own.text)
        text = await run_in_thread_if_large(
            size, lambda own: serialize(model["content"], own), own.text
        )
        trusted = is_trusted(model["content"])
        return Content(text, parse_timestamp(model["last_modified"]), own.text, trusted)

    async def write(self, path: str, base: Content, splices: Sequence[Splice]) -> WriteResult:
        """Save the spliced notebook, if the manager still gives what was read."""
        file = self._get_file(path)
        text = apply_splices(base.text, splices)
        notebook = await run_in_thread_if_large(len(text), _to_saved_model, text)
        notary = self._manager.notary
        trusted = base.trusted
        if trusted is None:
            trusted = await manager.is_trusted(notary, base.text)
        set_trusted(notebook, trusted=trusted)
        # The manager signs whatever has no outputs; what was not trusted shall not become so.
        keep = trusted or await manager.is_trusted(notary, text)
        # From here to a save that is not asynchronous nobody else has a turn.
        at_once = not is_asynchronous(self._manager)
        before = await file.read(at_once=at_once)
        shown = await self._read_pair(file, at_once=at_once) if self._paired else before
        if shown.text != base.text:
            raise StaleContent
        warnings, told = await self._save(file, text, notebook, before)
        if not keep:
            await manager.unsign(notary, await self._read_saved(file, text))
        return await self._build_save_result(path, text, warnings, told=told)

    async def _read_saved(self, file: ContentsFile, text: bytes) -> bytes:
        """Return what was written of a text, as far as can be seen."""
        try:
            return (await file.read()).text
        except NbEditError:
            return text

    async def _build_save_result(
        self, path: str, text: bytes, warnings: list[str], *, told: bool
    ) -> SaveResult:
        try:
            now = await self.read(path)
        except NbEditError:
            return replace(await build_unread_result(text, warnings, told=told), signed=True)
        if not await run_in_thread_if_large(len(text), lambda text: is_same(text, now.text), text):
            warnings.append(_CHANGED_AS_TEXT if self._paired else CHANGED_MEANWHILE)
        digest = await run_in_thread_if_large(len(now.text), compute_sha256, now.text)
        return SaveResult(digest, now.last_modified, warnings, now.text, signed=True, told=told)

    async def ensure_absent(self, path: str) -> None:
        """See whether there is nothing of that name, nor the other half of a pair."""
        file = self._get_file(path)
        await ensure_absent(file)
        with map_contents_errors(file.missing):
            for other in await list_paired_paths(self._manager, path) if self._paired else ():
                if await ensure_async(self._manager.exists(other)):
                    message = (
                        f"This notebook would be one of a Jupytext pair, and its other half "
                        f"{other!r} is there already. Nothing is ever overwritten; choose another "
                        "path."
                    )
                    raise NotebookExists(message)

    async def create(self, path: str, text: bytes) -> WriteResult:
        """Save a notebook where there was nothing; of a pair, both halves."""
        file = self._get_file(path)
        notebook = _to_saved_model(text)
        await self.ensure_absent(path)
        warnings, told = await self._save(file, text, notebook, None)
        return await self._build_save_result(path, text, warnings, told=told)

    async def notify_saved(self, path: str, written: WriteResult) -> list[str]:
        """Emit the ``save`` event if the manager's save has not; it has run the hooks."""
        emit_save(self._manager, path, written)
        return []

    async def _save(
        self, file: ContentsFile, text: bytes, notebook: Notebook, before: Content | None
    ) -> tuple[list[str], bool]:
        """Have the manager save a notebook; a refusal leaves what was there.

        Returns
        -------
        What did not go as it should, and whether the manager has told its listeners.
        """
        told = SaveEventProbe(self._manager, file.path)
        model: dict[str, Any] = {"type": "notebook", "format": "json", "content": notebook}
        try:
            await told.watch(get_unlocked_save(self._manager, self._locks), model)
        except Exception as error:
            # Of a pair, a hook that fails after the first half keeps the other from being written.
            if is_post_save_failure(error) and await self._has(file.path, text):
                return [HOOK_FAILED], told.has_event
            # A hook may have changed the one half, and refused the other.
            ours = (text, json.dumps(model["content"], default=str).encode())
            await self._restore_half(file, ours, before)
            raise map_contents_error(error, file.missing) from error
        return [], told.has_event

    async def _has(self, path: str, text: bytes) -> bool:
        try:
            return is_same(text, (await self.read(path)).text)
        except NbEditError:
            return False

    async def _restore_half(
        self, file: ContentsFile, ours: Sequence[bytes], before: Content | None
    ) -> None:
        """Restore the ``.ipynb`` half of a pair whose other half could not be saved."""
        with map_contents_errors(file.missing):
            if not await ensure_async(self._manager.file_exists(file.path)):
                return
            if before is None:
                # Of a disk without room, no notebook at all may be left.
                await file.remove_partial_file(lambda text: parse_model(text) is None)
            if not await ensure_async(self._manager.file_exists(file.path)):
                return
            now = await file.read()
            # Anything else somebody else has written meanwhile.
            if not any(is_same(now.text, text) for text in ours):
                return
            if before is None:
                await ensure_async(self._manager.delete_file(file.path))
            elif now.text != before.text:
                await file.save(before.text, now)

    def _get_file(self, path: str) -> ContentsFile:
        check_suffix(path)
        return ContentsFile(self._manager, self._locks, path, NotebookNotFound)


def _to_saved_model(text: bytes) -> Notebook:
    """Make of a notebook's bytes what a browser would send to save it."""
    notebook = parse_model(text)
    if notebook is None:
        message = (
            "nbformat cannot read the notebook as it would be after the edit, and only what it "
            "reads can be saved here; nothing was written."
        )
        raise InvalidNotebook(message)
    add_ids(notebook)
    return notebook
