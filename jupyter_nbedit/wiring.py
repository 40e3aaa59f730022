"""The wiring of the services: each gets what it depends on, on a server and without one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from logging import Logger
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from jupyter_core.paths import jupyter_data_dir, jupyter_runtime_dir
from jupyter_server.utils import ensure_async

from jupyter_nbedit.db.database import Database
from jupyter_nbedit.edits.accept import AcceptService
from jupyter_nbedit.edits.modes import ModeManager
from jupyter_nbedit.edits.outside_changes import OutsideChangeRecorder
from jupyter_nbedit.edits.publish import Publisher
from jupyter_nbedit.edits.service import EditService
from jupyter_nbedit.edits.unseen import UnseenService
from jupyter_nbedit.errors import HistoryUnavailable
from jupyter_nbedit.events.emitters import EventEmitter
from jupyter_nbedit.handlers import default_handlers
from jupyter_nbedit.handlers.base import Services
from jupyter_nbedit.handlers.idempotency import IdempotencyCache
from jupyter_nbedit.history.seen_store import SeenEditStore
from jupyter_nbedit.history.service import HistoryService
from jupyter_nbedit.history.store import EditHistory
from jupyter_nbedit.proposals.service import ProposalService
from jupyter_nbedit.proposals.store import ProposalStore
from jupyter_nbedit.reading.loading import DocumentCache
from jupyter_nbedit.reading.read_tracker import ReadTracker
from jupyter_nbedit.reading.service import ReadService
from jupyter_nbedit.reading.versions import VersionCache
from jupyter_nbedit.search.service import SearchService
from jupyter_nbedit.storage.files.version_copies import VersionCopies
from jupyter_nbedit.storage.locks import PathLocks
from jupyter_nbedit.storage.resolver import StorageResolver
from jupyter_nbedit.storage.text_files import TextFileService
from jupyter_nbedit.tabs import TabRegistry
from jupyter_nbedit.text.service import TextService
from jupyter_nbedit.tools.base import ToolContext
from jupyter_nbedit.trust.manager import TrustManager
from jupyter_nbedit.watch import NotebookWatcher

if TYPE_CHECKING:
    from jupyter_events import EventLogger
    from nbformat.sign import NotebookNotary

    from jupyter_nbedit.edits.modes import Mode
    from jupyter_nbedit.history.rename_listener import PathObserver
    from jupyter_nbedit.settings import NbEditSettings


class NotebookNames(Protocol):
    """How the database names notebooks."""

    def get_root_name(self) -> str:
        """Return the name of the folder that canonical paths are relative to."""

    def get_canonical_path(self, path: str) -> str:
        """Return the path without links of a notebook, whose API path is given."""


@dataclass
class WiredServices:
    """The services with what only their owner uses."""

    services: Services
    database: Database
    edit_history: EditHistory
    #: What follows renames and deletions of notebooks.
    path_observers: Sequence[PathObserver]
    log: Logger
    # The names of open resources and the functions that close them, in order.
    _closers: tuple[tuple[str, Callable[[], Awaitable[None] | None]], ...]

    async def adopt_offline_edits(self) -> None:
        """Make edits and proposals without a server part of this server, if its root holds them.

        See `jupyter_nbedit.offline.root`.
        """
        root = Path(self.services.storages.get_root_name())
        if not root.is_absolute() or not self.database.has_file:
            return
        other_root, folder = get_offline_root_name(root), get_offline_name(root)
        try:
            await self.edit_history.adopt(other_root, folder)
            await self.services.proposals.store.adopt(other_root, folder)
        except HistoryUnavailable as error:
            # The database has logged what is wrong with it; the next start tries again.
            self.log.info("Edits without a server were not adopted: %s", error.message)

    async def close(self) -> None:
        """Close all resources, and log the exceptions.

        The server stops its kernels after its extensions; an exception would leave them running.
        """
        closers, self._closers = self._closers, ()
        for name, close in closers:
            try:
                await ensure_async(cast("Any", close()))
            except Exception:
                self.log.exception(
                    "jupyter_nbedit could not close its %s; the server continues to stop", name
                )


def get_data_folder() -> Path:
    """Return the folder of the database, which all servers of a user share."""
    return Path(jupyter_data_dir()) / "nbedit"


def get_offline_root_name(folder: Path) -> str:
    """Return the root under which edits without a server are recorded; it is no folder."""
    return f"offline:{folder.anchor}"


def get_offline_name(path: Path) -> str:
    """Return the name of a notebook or folder there; "" for the root of the file system."""
    relative = path.relative_to(path.anchor).as_posix()
    return "" if relative == "." else f"/{relative}"


def build_services(  # noqa: PLR0913 -- what differs without a server
    settings: NbEditSettings,
    web_settings: dict[str, Any],
    event_logger: EventLogger,
    log: Logger,
    *,
    names: NotebookNames | None = None,
    has_server: bool = True,
) -> WiredServices:
    """Create the services and pass each what it depends on.

    ``web_settings`` are those of the web application, with its contents manager and its rooms. The
    settings are read here, once: a later change of one has no effect. ``names`` are the storages'
    own unless given. ``has_server`` is False if no server runs, which texts then say.
    """
    locks = PathLocks(Path(jupyter_runtime_dir()) / "nbedit" / "locks", log)
    storages = StorageResolver(web_settings, locks, settings.links_outside_root)
    names = names or storages

    def get_notary() -> NotebookNotary:
        notary: NotebookNotary = web_settings["contents_manager"].notary
        return notary

    trust = TrustManager(get_notary)
    read_tracker = ReadTracker(storages.get_canonical_path)
    documents, versions = DocumentCache(), VersionCache()
    tabs = TabRegistry(storages.get_canonical_path)
    events = EventEmitter(event_logger)
    database = Database(
        get_data_folder(),
        log,
        is_exposed=storages.is_served,
        keep_days=settings.history_max_days,
    )
    edit_history = EditHistory(
        database,
        get_canonical_name=names.get_canonical_path,
        get_root=names.get_root_name,
        max_bytes=settings.history_max_bytes,
        max_days=settings.history_max_days,
    )
    seen = SeenEditStore(
        database,
        get_canonical_name=names.get_canonical_path,
        get_root=names.get_root_name,
        max_days=settings.history_max_days,
    )
    modes = ModeManager(
        database,
        events,
        log,
        get_root=names.get_root_name,
        get_canonical_name=names.get_canonical_path,
        configured_mode=cast("Mode", settings.mode),
        is_fixed=settings.mode_is_fixed,
    )
    proposals = ProposalService(
        ProposalStore(
            database,
            get_root=names.get_root_name,
            get_canonical_name=names.get_canonical_path,
            hours=settings.proposal_hours,
            max_pending=settings.max_proposals,
        ),
        storages,
        events,
        log,
    )
    path_observers: Sequence[PathObserver] = [edit_history, modes, proposals]
    reader = ReadService(storages, trust, read_tracker, versions, documents, edit_history)
    publisher = Publisher(edit_history, read_tracker, versions, tabs, events, log)
    watcher = None
    if settings.follow_outside_changes:
        recorder = OutsideChangeRecorder(
            storages=storages,
            copies=VersionCopies(get_data_folder(), log, is_exposed=storages.is_served),
            history=edit_history,
            trust=trust,
            modes=modes,
            events=events,
            documents=documents,
            observers=path_observers,
            log=log,
        )
        watcher = NotebookWatcher(storages, tabs, recorder, log)
    edits = EditService(
        storages,
        publisher,
        trust,
        proposals,
        modes,
        documents,
        None if watcher is None else watcher.recorder,
    )
    texts, search = TextService(reader, modes, tabs, has_server), SearchService(storages=storages)
    history = HistoryService(edit_history, storages)
    tools = ToolContext(
        editor=edits,
        reader=reader,
        texts=texts,
        search=search,
        history=history,
        tabs=tabs,
        text_files=TextFileService(web_settings, locks),
        read_tracker=read_tracker,
        read_before_edit=settings.read_before_edit,
        section_files=tuple(settings.section_files),
        owners=tuple(settings.owners),
    )
    services = Services(
        edits=edits,
        accept=AcceptService(edits, proposals),
        reader=reader,
        texts=texts,
        search=search,
        history=history,
        proposals=proposals,
        unseen=UnseenService(edits, edit_history, seen, events, log),
        modes=modes,
        tabs=tabs,
        watcher=watcher,
        tools=tools,
        storages=storages,
        events=events,
        idempotency=IdempotencyCache(),
        read_before_edit=settings.read_before_edit,
        request_limit=settings.max_request_bytes,
        routes=tuple(default_handlers),
        log=log,
    )
    closers = (
        *((("watcher", watcher.stop),) if watcher is not None else ()),
        ("reader", reader.close),
        ("proposals", proposals.close),
        ("signatures", trust.flush),
        ("database", database.close),
    )
    return WiredServices(services, database, edit_history, path_observers, log, closers)
