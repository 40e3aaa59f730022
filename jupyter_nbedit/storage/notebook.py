"""Notebooks that only the contents manager can save: pairs, and those that a hook may change."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any, ClassVar

from jupyter_server.utils import ensure_async
from tornado.web import HTTPError

from jupyter_nbedit import trust
from jupyter_nbedit.beside import away
from jupyter_nbedit.errors import (
    InvalidNotebook,
    NbEditError,
    NotAPlainFile,
    NotebookExists,
    NotebookNotFound,
)
from jupyter_nbedit.notebook.splices import Splice, join
from jupyter_nbedit.storage import Changed, Content, Written
from jupyter_nbedit.storage.contents import check_vacant
from jupyter_nbedit.storage.failures import failures, is_afterthought, refusal
from jupyter_nbedit.storage.guards import is_asynchronous, save_of_holder
from jupyter_nbedit.storage.locks import PathLocks
from jupyter_nbedit.storage.managed import (
    CHANGED_MEANWHILE,
    HOOK_FAILED,
    Managed,
    Saved,
    Told,
    not_read_back,
    sha256,
    tell,
    when,
)
from jupyter_nbedit.storage.merged import (
    Notebook,
    is_same,
    is_trusted,
    mark,
    parsed,
    text_of,
    with_ids,
)
from jupyter_nbedit.storage.pairs import others_of
from jupyter_nbedit.storage.paths import check_suffix

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

    def hold(self, path: str) -> AbstractAsyncContextManager[None]:
        """Keep this server's other writers away, the manager's own saves among them."""
        return self._file(path).held()

    async def read(self, path: str) -> Content:
        """Read a notebook's file, or of a pair what the manager makes of both halves."""
        file = self._file(path)
        if not self._paired:
            await file.check_visible()
            return await file.read()
        # In the middle of a save the one half is newer than the other.
        async with file.held():
            return await self._read_pair(file, at_once=False)

    async def _read_pair(self, file: Managed, *, at_once: bool) -> Content:
        own = await file.read(at_once=at_once)
        with failures(file.missing):
            try:
                model = await ensure_async(
                    self._manager.get(file.path, content=True, type="notebook")
                )
            except HTTPError as error:
                if error.status_code != 400:  # noqa: PLR2004 -- HTTP's own number
                    raise
                if parsed(own.text) is None:
                    # It is none of the pair's faults, and who parses it can say more.
                    return own
                raise NotAPlainFile(_DISAGREE) from error
        size = 0 if at_once else len(own.text)
        text = await away(size, lambda own: text_of(model["content"], own), own.text)
        trusted = is_trusted(model["content"])
        return Content(text, when(model["last_modified"]), own.text, trusted)

    async def write(self, path: str, base: Content, splices: Sequence[Splice]) -> Written:
        """Save the spliced notebook, if the manager still gives what was read."""
        file = self._file(path)
        text = join(base.text, splices)
        notebook = await away(len(text), _saveable, text)
        notary = self._manager.notary
        trusted = base.trusted
        if trusted is None:
            trusted = await trust.is_trusted(notary, base.text)
        mark(notebook, trusted=trusted)
        # The manager signs whatever has no outputs; what was not trusted shall not become so.
        keep = trusted or await trust.is_trusted(notary, text)
        # From here to a save that is not asynchronous nobody else has a turn.
        at_once = not is_asynchronous(self._manager)
        before = await file.read(at_once=at_once)
        shown = await self._read_pair(file, at_once=at_once) if self._paired else before
        if shown.text != base.text:
            raise Changed
        warnings, told = await self._save(file, text, notebook, before)
        if not keep:
            await trust.unsign(notary, await self._kept(file, text))
        return await self._saved(path, text, warnings, told=told)

    async def _kept(self, file: Managed, text: bytes) -> bytes:
        """Give what was written of a text, as far as can be seen."""
        try:
            return (await file.read()).text
        except NbEditError:
            return text

    async def _saved(self, path: str, text: bytes, warnings: list[str], *, told: bool) -> Saved:
        try:
            now = await self.read(path)
        except NbEditError:
            return replace(await not_read_back(text, warnings, told=told), signed=True)
        if not await away(len(text), lambda text: is_same(text, now.text), text):
            warnings.append(_CHANGED_AS_TEXT if self._paired else CHANGED_MEANWHILE)
        digest = await away(len(now.text), sha256, now.text)
        return Saved(digest, now.last_modified, warnings, now.text, signed=True, told=told)

    async def check_vacant(self, path: str) -> None:
        """See whether there is nothing of that name, nor the other half of a pair."""
        file = self._file(path)
        await check_vacant(file)
        with failures(file.missing):
            for other in await others_of(self._manager, path) if self._paired else ():
                if await ensure_async(self._manager.exists(other)):
                    message = (
                        f"This notebook would be one of a Jupytext pair, and its other half "
                        f"{other!r} is there already. Nothing is ever overwritten; choose another "
                        "path."
                    )
                    raise NotebookExists(message)

    async def create(self, path: str, text: bytes) -> Written:
        """Save a notebook where there was nothing; of a pair, both halves."""
        file = self._file(path)
        notebook = _saveable(text)
        await self.check_vacant(path)
        warnings, told = await self._save(file, text, notebook, None)
        return await self._saved(path, text, warnings, told=told)

    async def announce(self, path: str, written: Written) -> list[str]:
        """Emit the ``save`` event if the manager's save has not; it has run the hooks."""
        tell(self._manager, path, written)
        return []

    async def _save(
        self, file: Managed, text: bytes, notebook: Notebook, before: Content | None
    ) -> tuple[list[str], bool]:
        """Have the manager save a notebook; a refusal leaves what was there.

        Returns
        -------
        What did not go as it should, and whether the manager has told its listeners.
        """
        told = Told(self._manager, file.path)
        model: dict[str, Any] = {"type": "notebook", "format": "json", "content": notebook}
        try:
            await told.during(save_of_holder(self._manager, self._locks), model)
        except Exception as error:
            # Of a pair, a hook that fails after the first half keeps the other from being written.
            if is_afterthought(error) and await self._has(file.path, text):
                return [HOOK_FAILED], told.heard
            # A hook may have changed the one half, and refused the other.
            ours = (text, json.dumps(model["content"], default=str).encode())
            await self._take_back(file, ours, before)
            raise refusal(error, file.missing) from error
        return [], told.heard

    async def _has(self, path: str, text: bytes) -> bool:
        try:
            return is_same(text, (await self.read(path)).text)
        except NbEditError:
            return False

    async def _take_back(
        self, file: Managed, ours: Sequence[bytes], before: Content | None
    ) -> None:
        """Restore the ``.ipynb`` half of a pair whose other half could not be saved."""
        with failures(file.missing):
            if not await ensure_async(self._manager.file_exists(file.path)):
                return
            if before is None:
                # Of a disk without room, no notebook at all may be left.
                await file.remove_remains(lambda text: parsed(text) is None)
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

    def _file(self, path: str) -> Managed:
        check_suffix(path)
        return Managed(self._manager, self._locks, path, NotebookNotFound)


def _saveable(text: bytes) -> Notebook:
    """Make of a notebook's bytes what a browser would send to save it."""
    notebook = parsed(text)
    if notebook is None:
        message = (
            "nbformat cannot read the notebook as it would be after the edit, and only what it "
            "reads can be saved here; nothing was written."
        )
        raise InvalidNotebook(message)
    with_ids(notebook)
    return notebook
