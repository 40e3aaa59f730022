"""Build the services of one or more servers over a temporary folder, without HTTP."""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path
from typing import Any

from jupyter_events import EventLogger
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager
from nbformat.sign import NotebookNotary

from jupyter_nbedit.db.database import NAME, Database
from jupyter_nbedit.notebook.operations import Operation
from jupyter_nbedit.services.edits.service import EditService
from jupyter_nbedit.services.events.emitter import EventEmitter, register_schemas
from jupyter_nbedit.services.events.models import EVENTS, EditEvent
from jupyter_nbedit.services.history.store import EditStore
from jupyter_nbedit.services.modes import ModeManager
from jupyter_nbedit.services.outside.examiner import OutsideChangeExaminer
from jupyter_nbedit.services.proposals.service import ProposalService
from jupyter_nbedit.services.proposals.store import ProposalStore
from jupyter_nbedit.services.reading.models import ReadOptions, ReadReply
from jupyter_nbedit.services.reading.service import ReadService
from jupyter_nbedit.services.replies import EditReply
from jupyter_nbedit.services.requests import WriteRequest
from jupyter_nbedit.services.tabs import TabRegistry
from jupyter_nbedit.services.unseen.service import UnseenService
from jupyter_nbedit.settings import NbEditSettings
from jupyter_nbedit.storage.locks import PathLocks
from jupyter_nbedit.storage.resolver import StorageResolver
from jupyter_nbedit.storage.text_files import TextFileService
from jupyter_nbedit.wiring import Resources, WiredServices, connect_services
from tests.support.memory_storage import MemoryStorage, SingleStorage
from tests.support.names import FolderNames

LOG = logging.getLogger("tests")
START = datetime(2026, 11, 20, 12, tzinfo=timezone.utc)


@dataclass(frozen=True)
class EditingServices:
    """The services of one server that change notebooks, over one database."""

    database: Database
    history: EditStore
    editor: EditService
    reader: ReadService
    tabs: TabRegistry
    outside_changes: OutsideChangeExaminer
    unseen: UnseenService

    async def edit(self, path: str, *operations: Operation, **fields: Any) -> EditReply:
        """Edit a notebook, and let the listeners of events run."""
        reply = await self.editor.edit(WriteRequest(path, **fields), operations)
        await asyncio.sleep(0)
        return reply

    async def read(self, path: str, selection: ReadOptions | None = None) -> ReadReply:
        """Read a notebook that the reader has not seen before."""
        reply = await self.reader.read(path, selection or ReadOptions(), is_known=lambda _: False)
        assert isinstance(reply, ReadReply)
        return reply

    async def close(self) -> None:
        """Close the database."""
        await self.database.close()


class ServiceBuilder:
    """Builds the services of servers of one user, side by side or one after the other.

    The notebooks are in memory, or in the folder ``root`` if `build_storages` is used; the database
    is a file in the folder ``nbedit``.
    """

    def __init__(self, folder: Path, notebooks: Mapping[str, bytes] | None = None) -> None:
        self.folder = folder
        self.root = folder / "root"
        self.database_file = folder / "nbedit" / NAME
        self.storage = MemoryStorage(dict(notebooks or {}))
        #: What the proposals take for the time.
        self.now = START
        self._events: list[tuple[str, dict[str, Any]]] = []
        self._databases: list[Database] = []
        self._proposal_services: list[ProposalService] = []
        self._notaries: list[NotebookNotary] = []
        self._wired: list[WiredServices] = []

    # Events ------------------------------------------------------------------------------------

    @cached_property
    def event_logger(self) -> EventLogger:
        """The event logger, with all schemas; its events are recorded."""
        logger = EventLogger()
        register_schemas(logger)
        for event in EVENTS:
            logger.add_listener(schema_id=event.get_schema_id(), listener=self._record_event)
        return logger

    async def _record_event(
        self, logger: EventLogger, schema_id: str, data: dict[str, Any]
    ) -> None:
        assert logger is self.event_logger
        self._events.append((schema_id, data))

    async def list_events(self, schema_id: str = EditEvent.get_schema_id()) -> list[dict[str, Any]]:
        """Return the events of one schema that were emitted until now."""
        await asyncio.sleep(0)
        return [data for heard, data in self._events if heard == schema_id]

    def forget_events(self) -> None:
        """Return only later events from now on."""
        self._events.clear()

    # Services ----------------------------------------------------------------------------------

    def build_database(self, **options: Any) -> Database:
        """Build a connection to the database file, which is opened when it is first used."""
        options = {"is_exposed": lambda _: False, "max_days": 30, **options}
        database = Database(self.database_file.parent, LOG, **options)
        self._databases.append(database)
        return database

    def build_history(self, *, max_days: float = 30, **options: Any) -> EditStore:
        """Build an edit history on a connection of its own."""
        options = {"names": FolderNames(), **options}
        return EditStore(self.build_database(max_days=max_days), **options)

    def build_modes(
        self, root: str = "/root", database: Database | None = None, **options: Any
    ) -> ModeManager:
        """Build the modes of a server."""
        events = EventEmitter(self.event_logger)
        options = {"names": FolderNames(folder=root), **options}
        return ModeManager(database or self.build_database(), events, LOG, **options)

    def build_proposals(
        self,
        storages: StorageResolver | None = None,
        database: Database | None = None,
        **options: Any,
    ) -> ProposalService:
        """Build a proposal service with its store, to which the options go."""
        options = {
            "names": FolderNames(),
            "hours": 24,
            "max_pending": 1_000,
            "get_time": lambda: self.now,
            **options,
        }
        store = ProposalStore(database or self.build_database(), **options)
        events = EventEmitter(self.event_logger)
        proposals = ProposalService(store, storages or SingleStorage(self.storage), events, LOG)
        self._proposal_services.append(proposals)
        return proposals

    def build_editing(
        self,
        storages: StorageResolver | None = None,
        *,
        notary: NotebookNotary | None = None,
        **settings: Any,
    ) -> EditingServices:
        """Build the services of one server as it does; by default notebooks are in memory."""
        signer = notary or self.build_notary(":memory:")
        resources = Resources(
            storages=storages or SingleStorage(self.storage),
            database=self.build_database(),
            text_files=TextFileService({}, PathLocks(self.folder / "locks", LOG)),
            get_notary=lambda: signer,
            event_logger=self.event_logger,
            log=LOG,
        )
        wired = connect_services(NbEditSettings(**settings), resources)
        self._wired.append(wired)
        services, watcher = wired.services, wired.services.watcher
        assert watcher is not None
        return EditingServices(
            database=wired.database,
            history=wired.edit_history,
            editor=services.edits,
            reader=services.reader,
            tabs=services.tabs,
            outside_changes=watcher.examiner,
            unseen=services.unseen,
        )

    def build_notary(self, db_file: str | None = None) -> NotebookNotary:
        """Build a notary; without ``:memory:`` its signatures are in a file in the folder."""
        file = db_file or str(self.folder / "signatures.db")
        notary = NotebookNotary(db_file=file, data_dir=str(self.folder), log=LOG)
        self._notaries.append(notary)
        return notary

    # Notebooks in files ------------------------------------------------------------------------

    def build_manager(self) -> AsyncLargeFileManager:
        """Build the stock contents manager on the folder ``root``."""
        self.root.mkdir(exist_ok=True)
        manager = AsyncLargeFileManager(root_dir=str(self.root))
        # It warns of each notebook that is not trusted.
        manager.log = logging.getLogger("tests.manager")
        manager.log.setLevel(logging.CRITICAL)
        manager.notary = self.build_notary()
        return manager

    def build_storages(self, manager: AsyncLargeFileManager | None = None) -> StorageResolver:
        """Build the storages over a contents manager, with locks in the folder ``locks``."""
        settings = {"contents_manager": manager or self.build_manager()}
        return StorageResolver(settings, PathLocks(self.folder / "locks", LOG))

    # The end -----------------------------------------------------------------------------------

    def read_database_files(self) -> bytes:
        """Return all bytes of the files in the folder of the database."""
        return b"".join(path.read_bytes() for path in self.database_file.parent.iterdir())

    async def close(self) -> None:
        """Close everything that was built."""
        while self._wired:
            await self._wired.pop().close()
        while self._proposal_services:
            self._proposal_services.pop().close()
        while self._databases:
            await self._databases.pop().close()
        while self._notaries:
            self._notaries.pop().store.close()
