"""Changes of open notebooks that were not made through this server: find, record and report them.

Another program may write a notebook at any time and in any way: it may truncate the file and write
it slowly, rename another file over it, remove it and create it anew. What it has made is compared
with the last known version, of which a copy is kept. The difference goes into the history like an
edit, so that it can be undone, and to the tabs as an event.

What this user's servers write is not such a change; the `WriteLog` has it. Rooms have a way of
their own to follow their files.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from logging import Logger
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from jupyter_nbedit.errors import (
    Busy,
    ChangedDuringRead,
    HistoryUnavailable,
    InvalidNotebook,
    NbEditError,
)
from jupyter_nbedit.notebook.changed_lines import ChangedLines, count_changed_lines
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.document_diff import DocumentDiff, compare_documents
from jupyter_nbedit.notebook.lazy.buffer import CHUNK_BYTES, Buffer, compute_sha256
from jupyter_nbedit.notebook.lazy.scan import scan_cells
from jupyter_nbedit.services.history.models import HistoryEdit, NewEntry
from jupyter_nbedit.storage.contents.manager_locks import read_file_identity
from jupyter_nbedit.storage.files.lazy_bytes import get_stat_identity
from jupyter_nbedit.storage.files.read import get_content_identity
from jupyter_nbedit.storage.paths import SUFFIX
from jupyter_nbedit.system.concurrency import run_in_thread_if_large

if TYPE_CHECKING:
    from jupyter_nbedit.services.events.emitters import EventEmitter
    from jupyter_nbedit.services.history.rename_listener import PathObserver
    from jupyter_nbedit.services.history.store import EditHistory
    from jupyter_nbedit.services.modes import Mode, ModeManager
    from jupyter_nbedit.services.outside.copies import VersionCopies, VersionCopy
    from jupyter_nbedit.services.reading.loading import DocumentCache, LoadedNotebook
    from jupyter_nbedit.storage.base import Content
    from jupyter_nbedit.storage.resolver import StorageResolver
    from jupyter_nbedit.storage.write_log import Identity, Writer
    from jupyter_nbedit.trust.manager import TrustManager

# A file that is missing or cannot be parsed may be half written if it was changed so recently.
_SETTLE_SECONDS = 2.0
# How often a notebook that another program keeps writing is reported.
_REPORT_SECONDS = 0.45
# A large file is read when it has not changed for the first time, or keeps changing for the second.
_LARGE_QUIET_SECONDS = 0.4
_LARGE_BYTES = 16 << 20
_MAX_WAIT_SECONDS = 5.0
# A large file that a server keeps writing is copied only when the copy costs little beside that.
_COPY_BYTES_PER_SECOND = 20e6
# Two writes within one tick of the file system's clock leave the same times.
_TICK_SECONDS = 2.0
# How many names of a folder are compared to find a renamed file.
_MAX_NAMES = 10_000

ChangeKind = Literal["changed", "deleted", "renamed", "unreadable"]


@dataclass(frozen=True)
class KnownVersion:
    """A version of a notebook: its identity, and if they are known, its hash and a copy of it."""

    identity: Identity
    hash: str | None = None
    copy: VersionCopy | None = None
    #: A mark of the last write by a server until then.
    write_mark: bytes | None = None


@dataclass
class OpenNotebook:
    """A notebook that tabs show, and what is known of its file."""

    #: An API path, and all paths by which tabs call it.
    name: str
    paths: set[str]
    #: Its path on disk, if it has one.
    os_path: str | None = None
    #: The version that the tabs have, or get with the last event; None before the first look.
    version: KnownVersion | None = None
    #: The file at the last look, and since when it was seen as it is, in seconds of `monotonic`.
    identity: Identity = None
    seen_since: float = float("-inf")
    #: Since when it has not been the known version.
    differs_since: float | None = None
    #: The file for which a problem was reported.
    problem_identity: Identity = None
    has_problem: bool = False
    #: Whether a version that a server has written is yet to be copied.
    needs_copy: bool = False
    #: When to compare the bytes, because the times of the file do not tell; None if they do.
    compare_at: float | None = None
    #: When tabs were told last.
    reported_at: float = float("-inf")
    #: The newest edit in the history when the version was taken.
    newest_edit: int = 0

    def see(self, identity: Identity) -> None:
        """Remember how the file looks now."""
        now = time.monotonic()
        if self.version is not None and identity != self.identity:
            self.seen_since = now
        self.identity = identity
        if self.version is None or identity == self.version.identity:
            self.differs_since = None
        elif self.differs_since is None:
            self.differs_since = now

    @property
    def must_be_examined(self) -> bool:
        """Whether the file may be another version than the known one."""
        if self.version is None:
            return True
        if time.monotonic() < self.reported_at + _REPORT_SECONDS:
            return False
        if self.has_problem:
            return self.identity != self.problem_identity
        if self.identity != self.version.identity:
            return True
        is_due = self.compare_at is not None and time.monotonic() >= self.compare_at
        return is_due or (self.needs_copy and self.is_cheap_to_copy)

    @property
    def is_unsettled(self) -> bool:
        """Whether a change is probably still being made, or is to be examined next."""
        is_new = (
            self.differs_since is not None
            and time.monotonic() < self.differs_since + _MAX_WAIT_SECONDS
        )
        return is_new and self.must_be_examined

    @property
    def quiet_seconds(self) -> float:
        """For how long the file has looked as it does."""
        return time.monotonic() - self.seen_since

    @property
    def size(self) -> int:
        """The size of the file in bytes, as far as it is known."""
        # Both kinds of identities have it in this place.
        size = self.identity[2] if self.identity else 0
        return size if isinstance(size, int) else 0

    @property
    def is_cheap_to_copy(self) -> bool:
        """Whether a copy takes little time, compared with the time since the last write."""
        return self.size <= CHUNK_BYTES or self.quiet_seconds > self.size / _COPY_BYTES_PER_SECOND

    @property
    def may_be_incomplete(self) -> bool:
        """Whether a large file is probably still being written."""
        return (
            self.size > CHUNK_BYTES
            and self.quiet_seconds < _LARGE_QUIET_SECONDS
            and self.differs_since is not None
            and time.monotonic() - self.differs_since < _MAX_WAIT_SECONDS
        )


@dataclass(frozen=True)
class _NewVersion:
    """What was read of a notebook."""

    content: Content
    hash: str
    document: Document
    copy: VersionCopy | None


@dataclass(frozen=True)
class _Difference:
    """How a new version differs from the known one; without ``diff`` if that is not known."""

    diff: DocumentDiff | None = None
    record: bytes | None = None
    #: The known version, if there is a record.
    before: Document | None = None
    lines: ChangedLines | None = None


@dataclass
class OutsideChangeRecorder:
    """Compares open notebooks with their known versions; `NotebookWatcher` says when."""

    storages: StorageResolver
    copies: VersionCopies
    history: EditHistory
    trust: TrustManager
    modes: ModeManager
    events: EventEmitter
    documents: DocumentCache
    #: Store something by path, which follows a notebook that was renamed.
    observers: Sequence[PathObserver]
    log: Logger
    _notebooks: dict[str, OpenNotebook] = field(default_factory=dict)

    def set_open(self, notebooks: Mapping[str, set[str]]) -> None:
        """Replace the open notebooks: all paths by which tabs call them, by one of them."""
        for name in self._notebooks.keys() - notebooks.keys():
            self._set_version(self._notebooks.pop(name), None)
        for name, paths in notebooks.items():
            if name in self._notebooks:
                self._notebooks[name].paths = paths
            else:
                self._notebooks[name] = OpenNotebook(name, paths)

    def list_open(self) -> list[OpenNotebook]:
        """Return the open notebooks."""
        return list(self._notebooks.values())

    def close(self) -> None:
        """Remove all copies."""
        self._notebooks.clear()
        self.copies.close()

    # Examine a file ----------------------------------------------------------------------------

    async def examine(self, notebook: OpenNotebook) -> None:
        """Find out whether a file, which looks different now, has another version; report it."""
        try:
            await self._examine(notebook)
        finally:
            if not self._is_open(notebook):
                self._set_version(notebook, None)

    def _is_open(self, notebook: OpenNotebook) -> bool:
        return self._notebooks.get(notebook.name) is notebook

    async def _examine(self, notebook: OpenNotebook) -> None:
        notebook.compare_at = None
        version = notebook.version
        if (
            version is None
            or (notebook.needs_copy and notebook.identity == version.identity)
            or self._find_writer(notebook, notebook.identity) == "this server"
        ):
            await self._take_version(notebook)
        elif notebook.identity is None:
            if notebook.quiet_seconds >= _SETTLE_SECONDS:
                await self._report_missing(notebook, version)
        elif not notebook.may_be_incomplete:
            await self._examine_file(notebook, version)

    async def _take_version(self, notebook: OpenNotebook) -> None:
        """Take the file as it is for the known version, which no tab need be told."""
        identity, is_first = notebook.identity, notebook.version is None
        had_problem, notebook.has_problem = notebook.has_problem, False
        write_mark = self.storages.read_write_mark(notebook.name)
        self._set_version(notebook, KnownVersion(identity, write_mark=write_mark))
        newest = await self._find_newest_edit(notebook)
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
            if storage.kind == "room":
                self._set_version(notebook, None)
                return
            content = await storage.read(notebook.name)
            notebook_hash = await self._compute_hash(content)
            copy = await self._copy(content.data)
        if content is None or not await self._is_identical(notebook, content, identity):
            # The next look finds what there is now.
            self.copies.remove(copy)
        else:
            self._set_version(notebook, KnownVersion(identity, notebook_hash, copy, write_mark))
            if had_problem:
                await self._report_return(notebook, content, notebook_hash)

    async def _examine_file(self, notebook: OpenNotebook, version: KnownVersion) -> None:
        identity = notebook.identity
        try:
            storage = await self.storages.resolve(notebook.name)
            if storage.kind == "room":
                self._set_version(notebook, None)
                return
            content = await storage.read(notebook.name)
            notebook_hash = await self._compute_hash(content)
            if notebook_hash == version.hash:
                # Only times or permissions have changed.
                notebook.version = replace(version, identity=identity)
                if notebook.has_problem:
                    await self._report_return(notebook, content, notebook_hash)
                return
            found = await self._read_version(notebook, content, notebook_hash)
        except (Busy, ChangedDuringRead):
            # It is being written; look again.
            return
        except NbEditError as error:
            if notebook.quiet_seconds >= _SETTLE_SECONDS:
                await self._report_problem(notebook, "unreadable", message=error.message)
            return
        difference = await self._compare(version, found)
        try:
            async with self.storages.lock(notebook.name) as storage:
                current = await self._read_identity(notebook)
                # If a server has written since, it may be that one whose file was found.
                write_mark = self.storages.read_write_mark(notebook.name)
                is_outdated = current != identity and write_mark != version.write_mark
                is_same = notebook.version is version and self._is_open(notebook)
                if is_same and not is_outdated and storage.kind != "room":
                    await self._record(notebook, identity, found, difference, storage.kind)
        except NbEditError:
            # The lock cannot be had now, or the file is gone; look again.
            pass
        finally:
            self._remove_unused_copy(notebook, found.copy)

    async def catch_up(self, loaded: LoadedNotebook) -> None:
        """Record a change by another program that was not examined yet.

        ``loaded`` is the notebook as it was read, such as for an edit; its lock is held.
        """
        if not self._notebooks:
            return
        names = self.storages.names
        name = names.find(loaded.path)
        path = names.get_path(name)
        if path is None:
            # Links lead there from the root, and the tabs may use another.
            path = next((each for each in self._notebooks if names.find(each) == name), "")
        notebook = self._notebooks.get(path)
        identity = get_content_identity(loaded.content)
        if notebook is None or notebook.version is None or identity is None:
            return
        version = notebook.version
        if identity == version.identity or self._find_writer(notebook, identity) is not None:
            return
        notebook_hash = await loaded.compute_hash()
        if version.hash is None or notebook_hash == version.hash:
            return
        # The next change is compared with this version, unless an edit follows. The lock is not
        # held for long.
        is_small = len(loaded.content.data) <= CHUNK_BYTES
        copy = await self._copy(loaded.content.data) if is_small else None
        found = _NewVersion(loaded.content, notebook_hash, loaded.document, copy)
        try:
            difference = await self._compare(version, found)
            await self._record(notebook, identity, found, difference, "file")
            notebook.needs_copy = copy is None
        finally:
            self._remove_unused_copy(notebook, copy)
            if not self._is_open(notebook):
                self._set_version(notebook, None)

    # Read --------------------------------------------------------------------------------------

    async def _compute_hash(self, content: Content) -> str:
        if content.hash is not None:
            return content.hash
        return await run_in_thread_if_large(len(content.data), compute_sha256, content.data)

    async def _copy(self, data: Buffer) -> VersionCopy | None:
        return await asyncio.to_thread(self.copies.add, data)

    async def _read_version(
        self, notebook: OpenNotebook, content: Content, notebook_hash: str
    ) -> _NewVersion:
        """Copy and parse what was read.

        Raise `InvalidNotebook` if it is not a notebook, and `Busy` if it may become one.
        """
        is_fresh = notebook.quiet_seconds < _SETTLE_SECONDS
        # What cannot be scanned is read into memory to be parsed.
        if (
            len(content.data) > _LARGE_BYTES
            and is_fresh
            and await asyncio.to_thread(scan_cells, content.data, 0) is None
        ):
            message = "The notebook is probably still being written."
            raise Busy(message)
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
            self.copies.remove(copy)
            raise
        return _NewVersion(content, notebook_hash, document, copy)

    async def _compare(self, version: KnownVersion, found: _NewVersion) -> _Difference:
        data = None if version.copy is None else version.copy.read()
        if data is None:
            return _Difference()
        weight = len(data) + len(found.document.text)
        try:
            return await run_in_thread_if_large(weight, _compare, data, found.document)
        except Exception:
            # The change itself must be reported, whatever is in the notebook.
            self.log.exception("Two versions of a notebook could not be compared")
            return _Difference()

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

    def _find_writer(self, notebook: OpenNotebook, identity: Identity) -> Writer | None:
        return self.storages.find_writer(notebook.name, identity)

    # Record and report -------------------------------------------------------------------------

    async def _record(
        self,
        notebook: OpenNotebook,
        identity: Identity,
        found: _NewVersion,
        difference: _Difference,
        kind: str,
    ) -> None:
        """Store a change in the history, and report it; the lock of the notebook is held."""
        writer = self._find_writer(notebook, identity)
        if writer == "this server":
            # It was found before this server had logged it.
            await self._take_version(notebook)
            return
        version = notebook.version
        hash_before = None if version is None else version.hash
        is_outside = writer is None
        write_mark = self.storages.read_write_mark(notebook.name)
        if is_outside and version is not None and version.write_mark != write_mark:
            # A server has written after that version: what it wrote is no part of this change.
            difference, hash_before = _Difference(), None
        diff, lines, total_cells = difference.diff, difference.lines, len(found.document)
        cells = [] if diff is None else diff.list_entries()
        entry = await self._find_newest_edit(notebook)
        if entry is not None:
            is_new = entry.edit_id > notebook.newest_edit
            entry = entry if is_new and entry.hash == found.hash else None
        edit_id: int | None = None
        is_undoable = False
        if entry is not None:
            # Another server of this user has made the edit, or has recorded the same change.
            is_outside, edit_id = entry.kind == "outside", entry.edit_id
            is_undoable = entry.undoable
        elif is_outside:
            edit_id = await self._add_entry(
                NewEntry(
                    path=notebook.name,
                    kind="outside",
                    operations=cells,
                    cells_changed=len(cells),
                    hash_before=hash_before,
                    hash=found.hash,
                    applied_via=kind,
                    total_cells=total_cells,
                    cells_delta=0 if diff is None else total_cells - len(diff.plan.document),
                    lines_added=None if lines is None else lines.added,
                    lines_removed=None if lines is None else lines.removed,
                    snippet=None if lines is None else lines.snippet,
                    trusted=await self._was_trusted(difference, hash_before),
                ),
                difference.record,
            )
            is_undoable = edit_id is not None and difference.record is not None
        notebook.newest_edit = max(notebook.newest_edit, edit_id or 0)
        notebook.has_problem = notebook.needs_copy = False
        notebook.compare_at = _compute_compare_time(notebook, identity)
        self._set_version(notebook, KnownVersion(identity, found.hash, found.copy, write_mark))
        await self._emit(
            notebook,
            cells,
            kind="changed",
            is_outside=is_outside,
            hash_before=hash_before,
            hash=found.hash,
            last_modified=msgspec.to_builtins(found.content.last_modified),
            edit_id=edit_id,
            undoable=is_undoable,
            cells_changed=None if diff is None else len(cells),
            metadata_changed=diff is not None and diff.changes_metadata,
            total_cells=total_cells,
        )

    async def _find_newest_edit(self, notebook: OpenNotebook) -> HistoryEdit | None:
        try:
            edits = await self.history.list_page(notebook.name, limit=1)
        except HistoryUnavailable:
            return None
        return edits[0] if edits else None

    async def _add_entry(self, entry: NewEntry, record: bytes | None) -> int | None:
        try:
            return await self.history.add(entry, record)
        except HistoryUnavailable as error:
            self.log.warning("A change of %r is not in the history: %s", entry.path, error.message)
            return None

    async def _was_trusted(self, difference: _Difference, notebook_hash: str | None) -> bool:
        """Return whether the version before was trusted; an undo may sign only what was."""
        if difference.before is None:
            return False
        with suppress(NbEditError):
            return await self.trust.find_signature(difference.before, notebook_hash) is not None
        return False

    async def _report_return(
        self, notebook: OpenNotebook, content: Content, notebook_hash: str
    ) -> None:
        """Report that the known version is there again after a problem."""
        notebook.has_problem = False
        await self._emit(
            notebook,
            [],
            kind="changed",
            hash_before=notebook_hash,
            hash=notebook_hash,
            last_modified=msgspec.to_builtins(content.last_modified),
            cells_changed=0,
        )

    async def _report_missing(self, notebook: OpenNotebook, version: KnownVersion) -> None:
        new_path = None
        if notebook.os_path is not None:
            new_path = await asyncio.to_thread(_find_new_name, notebook, version.identity)
        if new_path is None:
            await self._report_problem(notebook, "deleted")
            return
        await self._report_problem(notebook, "renamed", new_path=new_path)
        for observer in self.observers:
            try:
                await observer.on_renamed(notebook.name, new_path)
            except NbEditError as error:
                self.log.warning("%r was renamed to %r: %s", notebook.name, new_path, error.message)

    async def _report_problem(self, notebook: OpenNotebook, kind: ChangeKind, **data: Any) -> None:
        notebook.has_problem, notebook.problem_identity = True, notebook.identity
        notebook_hash = None if notebook.version is None else notebook.version.hash
        await self._emit(
            notebook, [], kind=kind, is_outside=True, hash_before=notebook_hash, **data
        )

    async def _emit(
        self, notebook: OpenNotebook, cells: Sequence[dict[str, Any]], **data: Any
    ) -> None:
        mode: Mode | None = None
        with suppress(NbEditError):
            mode = await self.modes.get_effective(notebook.name)
        notebook.reported_at = time.monotonic()
        for path in sorted(notebook.paths):
            self.events.emit_change(cells, **{**_NO_DATA, "path": path, "mode": mode, **data})

    def _remove_unused_copy(self, notebook: OpenNotebook, copy: VersionCopy | None) -> None:
        """Remove a copy unless it is that of the known version."""
        if notebook.version is None or notebook.version.copy is not copy:
            self.copies.remove(copy)

    def _set_version(self, notebook: OpenNotebook, version: KnownVersion | None) -> None:
        """Replace the known version, and remove its copy."""
        old, notebook.version = notebook.version, version
        notebook.see(notebook.identity)
        if old is not None and (version is None or version.copy is not old.copy):
            self.copies.remove(old.copy)


_NO_DATA: dict[str, Any] = {
    "new_path": None,
    "is_outside": False,
    "hash": None,
    "last_modified": None,
    "edit_id": None,
    "undoable": False,
    "cells_changed": None,
    "metadata_changed": False,
    "total_cells": None,
    "message": None,
}


def _compare(data: Buffer, document: Document) -> _Difference:
    try:
        before = Document.parse(data)
    except InvalidNotebook:
        return _Difference()
    diff = compare_documents(before, document, with_looks=False)
    lines: ChangedLines | None = None
    # A changed cell may be invalid.
    with suppress(InvalidNotebook):
        lines = count_changed_lines(diff.plan.changes)
    record = diff.build_record()
    if record is None:
        return _Difference(diff, lines=lines)
    return _Difference(diff, record.encode(), before, lines)


def _compute_compare_time(notebook: OpenNotebook, identity: Identity) -> float | None:
    """Return when the bytes must be compared; None if another write has changed the times."""
    if notebook.os_path is None or identity is None or notebook.size > CHUNK_BYTES:
        # It takes longer than a tick to write a large file.
        return None
    changed_ns = identity[-1]
    is_old = isinstance(changed_ns, int) and changed_ns / 1e9 < time.time() - _TICK_SECONDS
    return None if is_old else time.monotonic() + _TICK_SECONDS


def _find_new_name(notebook: OpenNotebook, identity: Identity) -> str | None:
    """Return the new API path of a file that was renamed in its folder; None if it is not there."""
    if notebook.os_path is None or identity is None:
        return None
    folder, name = os.path.split(notebook.os_path)
    with suppress(OSError), os.scandir(folder) as entries:
        for _, entry in zip(range(_MAX_NAMES), entries, strict=False):
            # A new file may have the inode of a removed one, but not its times as well.
            if (
                entry.inode() == identity[1]
                and entry.name.endswith(SUFFIX)
                # The status of an entry has no inode on Windows.
                and get_stat_identity(os.stat(entry.path, follow_symlinks=False))[:-1]  # noqa: PTH116
                == identity[:-1]
            ):
                return notebook.name[: len(notebook.name) - len(name)] + entry.name
    return None
