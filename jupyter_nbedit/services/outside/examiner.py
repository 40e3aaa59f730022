"""Find out whether the file of an open notebook has another version than the known version.

Another program may write a notebook at any time and in any way: it may truncate the file and write
it slowly, rename another file over it, remove it and create it anew. The new file is compared with
a copy of the last known version.

Writes by this user's servers are no outside changes; the `WriteLog` has them. Rooms follow their
files themselves.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, replace
from logging import Logger

from jupyter_nbedit.errors import Busy, ChangedDuringRead, InvalidNotebook, NbEditError
from jupyter_nbedit.notebook.diff import ChangedLines, count_changed_lines
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.document_diff import compare_documents
from jupyter_nbedit.notebook.lazy.buffer import CHUNK_BYTES, Buffer, compute_sha256
from jupyter_nbedit.notebook.lazy.scan import scan_cells
from jupyter_nbedit.services.loading import DocumentCache, LoadedNotebook
from jupyter_nbedit.services.outside import timing
from jupyter_nbedit.services.outside.copies import VersionCopy
from jupyter_nbedit.services.outside.open_notebook import KnownVersion, OpenNotebook, OpenNotebooks
from jupyter_nbedit.services.outside.recorder import Difference, OutsideChangeRecorder
from jupyter_nbedit.storage.base import Content
from jupyter_nbedit.storage.contents.manager_locks import read_file_identity
from jupyter_nbedit.storage.files.read import get_content_identity
from jupyter_nbedit.storage.resolver import StorageResolver
from jupyter_nbedit.storage.write_log import Identity
from jupyter_nbedit.system.concurrency import run_in_thread_if_large

_LARGE_BYTES = 16 << 20


@dataclass
class OutsideChangeExaminer:
    """Compares open notebooks with their known versions; `NotebookWatcher` says when."""

    storages: StorageResolver
    notebooks: OpenNotebooks
    recorder: OutsideChangeRecorder
    documents: DocumentCache
    log: Logger

    async def examine(self, notebook: OpenNotebook) -> None:
        """Find out whether a file, which looks different now, has another version; report it."""
        try:
            await self._examine(notebook)
        finally:
            if not self.notebooks.is_open(notebook):
                self.notebooks.set_version(notebook, None)

    async def _examine(self, notebook: OpenNotebook) -> None:
        notebook.compare_at = None
        version = notebook.version
        if (
            version is None
            or (notebook.needs_copy and notebook.identity == version.identity)
            or self.storages.find_writer(notebook.name, notebook.identity) == "this server"
        ):
            await self._adopt_current_file(notebook)
        elif notebook.identity is None:
            if notebook.quiet_seconds >= timing.SETTLE_TIME:
                await self.recorder.report_missing(notebook, version)
        elif not notebook.may_be_incomplete:
            await self._examine_file(notebook, version)

    async def _adopt_current_file(self, notebook: OpenNotebook) -> None:
        """Make the present file the known version, without telling the tabs."""
        identity, is_first = notebook.identity, notebook.version is None
        had_problem, notebook.has_problem = notebook.has_problem, False
        last_write = self.storages.read_last_write(notebook.name)
        self.notebooks.set_version(notebook, KnownVersion(identity, last_write=last_write))
        newest = await self.recorder.find_newest_edit(notebook)
        if newest is None:
            notebook.newest_edit = 0
        elif notebook.os_path is None or await self._read_identity(notebook) == identity:
            # Otherwise it may be a later change, which another server has recorded already.
            notebook.newest_edit = newest.edit_id
        notebook.needs_copy = not (is_first or notebook.is_cheap_to_copy)
        if identity is None or notebook.needs_copy or notebook.os_path is None:
            # To read it from elsewhere may take long.
            return
        content, copy = None, None
        with suppress(NbEditError):
            storage = await self.storages.resolve(notebook.name)
            if storage.is_shared:
                self.notebooks.set_version(notebook, None)
                return
            content = await storage.read(notebook.name)
            notebook_hash = await self._compute_hash(content)
            copy = await self._copy(content.data)
        if content is None or not await self._is_identical(notebook, content, identity):
            # The next look finds what there is now.
            self.notebooks.copies.remove(copy)
        else:
            self.notebooks.set_version(
                notebook, KnownVersion(identity, notebook_hash, copy, last_write)
            )
            if had_problem:
                await self.recorder.report_return(notebook, content, notebook_hash)

    async def _examine_file(self, notebook: OpenNotebook, version: KnownVersion) -> None:
        identity = notebook.identity
        try:
            storage = await self.storages.resolve(notebook.name)
            if storage.is_shared:
                self.notebooks.set_version(notebook, None)
                return
            content = await storage.read(notebook.name)
            notebook_hash = await self._compute_hash(content)
            if notebook_hash == version.hash:
                # Only times or permissions have changed.
                notebook.version = replace(version, identity=identity)
                if notebook.has_problem:
                    await self.recorder.report_return(notebook, content, notebook_hash)
                return
            content = replace(content, hash=notebook_hash)
            found, copy = await self._read_version(notebook, content, notebook_hash)
        except (Busy, ChangedDuringRead):
            # It is being written; look again.
            return
        except NbEditError as error:
            if notebook.quiet_seconds >= timing.SETTLE_TIME:
                await self.recorder.report_problem(notebook, "unreadable", message=error.message)
            return
        difference = await self._compare(version, found)
        try:
            async with self.storages.lock(notebook.name) as storage:
                current = await self._read_identity(notebook)
                # If a server has written since, it may have written the file that was found.
                last_write = self.storages.read_last_write(notebook.name)
                is_outdated = current != identity and last_write != version.last_write
                is_same = notebook.version is version and self.notebooks.is_open(notebook)
                if is_same and not is_outdated and not storage.is_shared:
                    new_version = KnownVersion(identity, notebook_hash, copy)
                    await self._record(notebook, new_version, found, difference, storage.kind)
        except NbEditError:
            # The lock cannot be had now, or the file is gone; look again.
            pass
        finally:
            self.notebooks.remove_unused_copy(notebook, copy)

    async def record_unexamined_change(self, loaded: LoadedNotebook) -> None:
        """Record a change by another program that was not examined yet.

        ``loaded`` is the notebook as it was read, such as for an edit; its lock is held.
        """
        if not self.notebooks:
            return
        names = self.storages.names
        name = names.find(loaded.path)
        path = names.get_path(name)
        if path is None:
            # Links lead there from the root, and the tabs may use another.
            open_names = (notebook.name for notebook in self.notebooks)
            path = next((each for each in open_names if names.find(each) == name), "")
        notebook = self.notebooks.get(path)
        identity = get_content_identity(loaded.content)
        if notebook is None or notebook.version is None or identity is None:
            return
        version = notebook.version
        if (
            identity == version.identity
            or self.storages.find_writer(notebook.name, identity) is not None
        ):
            return
        notebook_hash = await loaded.compute_hash()
        if version.hash is None or notebook_hash == version.hash:
            return
        # The next change is compared with this version, unless an edit follows. The lock is not
        # held for long.
        is_small = len(loaded.content.data) <= CHUNK_BYTES
        copy = await self._copy(loaded.content.data) if is_small else None
        try:
            difference = await self._compare(version, loaded)
            new_version = KnownVersion(identity, notebook_hash, copy)
            await self._record(notebook, new_version, loaded, difference, "file")
            notebook.needs_copy = copy is None
        finally:
            self.notebooks.remove_unused_copy(notebook, copy)
            if not self.notebooks.is_open(notebook):
                self.notebooks.set_version(notebook, None)

    async def _compute_hash(self, content: Content) -> str:
        if content.hash is not None:
            return content.hash
        return await run_in_thread_if_large(len(content.data), compute_sha256, content.data)

    async def _copy(self, data: Buffer) -> VersionCopy | None:
        return await asyncio.to_thread(self.notebooks.copies.add, data)

    async def _read_version(
        self, notebook: OpenNotebook, content: Content, notebook_hash: str
    ) -> tuple[LoadedNotebook, VersionCopy | None]:
        """Copy and parse what was read.

        Raise `InvalidNotebook` if it is not a notebook, and `Busy` if it may become a notebook.
        """
        is_fresh = notebook.quiet_seconds < timing.SETTLE_TIME
        # What cannot be scanned is read into memory to be parsed.
        if (
            len(content.data) > _LARGE_BYTES
            and is_fresh
            and await asyncio.to_thread(scan_cells, content.data, 0) is None
        ):
            raise Busy("The notebook is probably still being written.")
        copy = await self._copy(content.data)
        try:
            # From here on, the original may change.
            data = content.data if copy is None else copy.read() or content.data
            document = self.documents.get(notebook_hash)
            if document is None:
                document = await run_in_thread_if_large(len(data), Document.parse, data)
                self.documents.put(notebook_hash, document)
            else:
                document = document.bind(data)
        except BaseException:
            self.notebooks.copies.remove(copy)
            raise
        return LoadedNotebook(notebook.name, content, document), copy

    async def _compare(self, version: KnownVersion, found: LoadedNotebook) -> Difference:
        data = None if version.copy is None else version.copy.read()
        if data is None:
            return Difference()
        weight = len(data) + len(found.document.text)
        try:
            return await run_in_thread_if_large(weight, _compare, data, found.document)
        except Exception:
            # The change itself must be reported, whatever is in the notebook.
            self.log.exception("Two versions of a notebook could not be compared")
            return Difference()

    async def _read_identity(self, notebook: OpenNotebook) -> Identity:
        if notebook.os_path is None:
            return await self.storages.read_model_identity(notebook.name)
        return await asyncio.to_thread(read_file_identity, notebook.os_path)

    async def _is_identical(
        self, notebook: OpenNotebook, content: Content, identity: Identity
    ) -> bool:
        """Return whether content was read from a file of an identity."""
        found = get_content_identity(content)
        return identity == (await self._read_identity(notebook) if found is None else found)

    async def _record(
        self,
        notebook: OpenNotebook,
        new_version: KnownVersion,
        found: LoadedNotebook,
        difference: Difference,
        kind: str,
    ) -> None:
        """Record a change and make it the known version; the lock of the notebook is held."""
        writer = self.storages.find_writer(notebook.name, new_version.identity)
        if writer == "this server":
            # It was found before this server had logged it.
            await self._adopt_current_file(notebook)
            return
        version = notebook.version
        hash_before = None if version is None else version.hash
        last_write = self.storages.read_last_write(notebook.name)
        if writer is None and version is not None and version.last_write != last_write:
            # A server has written after that version: the write of the server is no part of this
            # change.
            difference, hash_before = Difference(), None
        event = await self.recorder.record(
            notebook, found, difference, hash_before, kind, is_outside=writer is None
        )
        notebook.has_problem = notebook.needs_copy = False
        notebook.compare_at = notebook.compute_compare_time(new_version.identity)
        self.notebooks.set_version(notebook, replace(new_version, last_write=last_write))
        await self.recorder.report(notebook, event)


def _compare(data: Buffer, document: Document) -> Difference:
    try:
        before = Document.parse(data)
    except InvalidNotebook:
        return Difference()
    diff = compare_documents(before, document, with_display=False)
    lines: ChangedLines | None = None
    # A changed cell may be invalid.
    with suppress(InvalidNotebook):
        lines = count_changed_lines(diff.plan.changes)
    record = diff.build_record()
    if record is None:
        return Difference(diff, lines=lines)
    return Difference(diff, record.encode(), before, lines)
