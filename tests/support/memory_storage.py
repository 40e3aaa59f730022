"""A storage in memory, and the resolver for it."""

import asyncio
import hashlib
from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from datetime import datetime, timedelta, timezone
from functools import partial
from typing import ClassVar

from jupyter_nbedit.db.notebook_names import NotebookNames
from jupyter_nbedit.errors import NbEditError, NotebookExists, NotebookNotFound
from jupyter_nbedit.notebook.splices import Splice, apply_splices
from jupyter_nbedit.storage.base import (
    Content,
    NotebookFile,
    SkippedNotebook,
    StaleContent,
    Storage,
    Walker,
    WriteResult,
)
from jupyter_nbedit.storage.resolver import StorageResolver
from tests.support.names import FolderNames


class MemoryStorage(Storage):
    """Notebooks by their paths; a test may look at `notebooks` and change them at any time."""

    kind: ClassVar[str] = "memory"
    preserves_bytes: ClassVar[bool] = True

    def __init__(self, notebooks: dict[str, bytes]) -> None:
        self.notebooks = notebooks
        self.save_events: list[tuple[str, str]] = []
        self._modified = datetime(2026, 11, 20, tzinfo=timezone.utc)
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    def lock(self, path: str) -> AbstractAsyncContextManager[None]:
        return self._lock(path)

    @asynccontextmanager
    async def _lock(self, path: str) -> AsyncIterator[None]:
        async with self._locks[path]:
            yield

    async def read(self, path: str) -> Content:
        if path not in self.notebooks:
            raise NotebookNotFound
        return Content(self.notebooks[path], self._modified)

    async def walk(self, path: str, *, recursive: bool) -> Walker:
        inside = [
            name for name in self.notebooks if f"{name}/".startswith(f"{path}/" if path else "")
        ]

        def entries(start: str) -> Iterator[NotebookFile | SkippedNotebook]:
            for name in sorted(inside, key=lambda name: name.split("/")):
                deep = "/" in name.removeprefix(path).strip("/")
                if start.split("/") <= name.split("/") and (recursive or not deep):
                    yield NotebookFile(name, partial(self.notebooks.__getitem__, name))

        return entries

    async def write(self, path: str, base: Content, splices: Sequence[Splice]) -> WriteResult:
        if path not in self.notebooks:
            raise NotebookNotFound
        if self.notebooks[path] != base.text:
            raise StaleContent
        text = apply_splices(base.text, splices)
        self.notebooks[path] = text
        self._modified += timedelta(seconds=1)
        return WriteResult(hashlib.sha256(text).hexdigest(), self._modified)

    async def ensure_absent(self, path: str) -> None:
        if path in self.notebooks:
            message = "There is something at this path."
            raise NotebookExists(message)

    async def create(self, path: str, text: bytes) -> WriteResult:
        await self.ensure_absent(path)
        self.notebooks[path] = text
        self._modified += timedelta(seconds=1)
        return WriteResult(hashlib.sha256(text).hexdigest(), self._modified)

    async def notify_saved(self, path: str, result: WriteResult) -> list[str]:
        self.save_events.append((path, result.hash))
        return []


class SingleStorage(StorageResolver):
    """The storages of a server that keeps all notebooks in the same one."""

    storage: Storage

    def __init__(self, storage: Storage) -> None:
        vars(self)["storage"] = storage

    async def resolve(self, _path: str) -> Storage:
        return self.storage

    @property
    def names(self) -> NotebookNames:
        return FolderNames()

    @asynccontextmanager
    async def lock(self, path: str) -> AsyncIterator[Storage]:
        async with self.storage.lock(path):
            yield self.storage

    async def check(self, path: str) -> None:
        await self.storage.read(path)

    async def list_readable(self, paths: Collection[str]) -> frozenset[str]:
        readable: set[str] = set()
        for path in paths:
            with suppress(NbEditError):
                await self.check(path)
                readable.add(path)
        return frozenset(readable)

    async def walk(self, path: str, *, recursive: bool) -> Walker:
        if not isinstance(self.storage, MemoryStorage):
            message = "Only the twin can be walked through without a server."
            raise TypeError(message)
        return await self.storage.walk(path, recursive=recursive)
