"""Look regularly at the notebooks that tabs show, whether another program has changed them.

The status of each file is polled. That finds every change in every file system, also where
notifications of the system do not work (network file systems, containers) or are used up, and costs
as little: 50 notebooks take about 0.1 % of a core. Without open tabs nothing runs.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from logging import Logger

from jupyter_nbedit.errors import NbEditError
from jupyter_nbedit.services.outside import timing
from jupyter_nbedit.services.outside.examiner import OutsideChangeExaminer
from jupyter_nbedit.services.outside.open_notebook import OpenNotebook
from jupyter_nbedit.services.tabs import TabRegistry
from jupyter_nbedit.storage.contents.manager_locks import read_file_identity
from jupyter_nbedit.storage.resolver import StorageResolver
from jupyter_nbedit.storage.write_log import Identity

# How many notebooks are watched.
_MAX_NOTEBOOKS = 1_000
# How many notebooks are examined at the same time.
_MAX_EXAMINATIONS = 2


@dataclass
class NotebookWatcher:
    """Looks at the open notebooks, and lets `examiner` examine notebooks that look different."""

    storages: StorageResolver
    tabs: TabRegistry
    examiner: OutsideChangeExaminer
    log: Logger
    _task: asyncio.Task[None] | None = None
    _examinations: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    _next_model_poll: float = 0.0

    def start(self) -> None:
        """Watch until no notebook is open; call this when a notebook may have been opened."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._watch())

    async def stop(self) -> None:
        """Stop, and remove what was kept."""
        tasks = [task for task in (self._task, *self._examinations.values()) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self.examiner.notebooks.close()

    async def _watch(self) -> None:
        while True:
            self.examiner.notebooks.set_open(self.tabs.list_open())
            notebooks = list(islice(self.examiner.notebooks, _MAX_NOTEBOOKS))
            if not notebooks:
                return
            begin = time.monotonic()
            try:
                await self._poll(notebooks)
            except Exception:
                self.log.exception("Open notebooks could not be polled")
            is_unsettled = any(notebook.is_unsettled for notebook in notebooks)
            pause = max(
                timing.UNSETTLED_INTERVAL if is_unsettled else timing.FILE_INTERVAL,
                min(timing.FILE_PAUSES * (time.monotonic() - begin), timing.MAX_FILE_PAUSE),
            )
            await self.tabs.wait_for_open_change(pause)

    async def _poll(self, notebooks: Sequence[OpenNotebook]) -> None:
        in_files, others = list[OpenNotebook](), list[OpenNotebook]()
        for notebook in notebooks:
            try:
                if notebook.version is None:
                    notebook.os_path = await self.storages.find_os_path(notebook.name)
            except NbEditError:
                # It is hidden, or outside of the root.
                continue
            (others if notebook.os_path is None else in_files).append(notebook)
        os_paths = [notebook.os_path or "" for notebook in in_files]
        identities = await asyncio.to_thread(lambda: [*map(read_file_identity, os_paths)])
        live_files = self.storages.find_live_files()
        for notebook, identity in zip(in_files, identities, strict=True):
            if not (live_files and identity and identity[:2] in live_files):
                self._examine_if_different(notebook, identity)
        if others and time.monotonic() >= self._next_model_poll:
            await self._poll_models(others, live_files)

    async def _poll_models(
        self, notebooks: Sequence[OpenNotebook], live_files: set[object]
    ) -> None:
        begin = time.monotonic()
        for notebook in notebooks:
            if notebook.name in live_files:
                continue
            try:
                identity = await self.storages.read_model_identity(notebook.name)
            except NbEditError:
                continue
            self._examine_if_different(notebook, identity)
        end = time.monotonic()
        self._next_model_poll = end + max(
            timing.MODEL_INTERVAL, timing.MODEL_PAUSES * (end - begin)
        )

    def _examine_if_different(self, notebook: OpenNotebook, identity: Identity) -> None:
        name = notebook.name
        if name in self._examinations:
            return
        notebook.update_identity(identity)
        if notebook.must_be_examined and len(self._examinations) < _MAX_EXAMINATIONS:
            self._examinations[name] = asyncio.create_task(self._examine(notebook))

    async def _examine(self, notebook: OpenNotebook) -> None:
        try:
            await self.examiner.examine(notebook)
        except Exception:
            self.log.exception("A change of %r could not be examined", notebook.name)
        finally:
            del self._examinations[notebook.name]
