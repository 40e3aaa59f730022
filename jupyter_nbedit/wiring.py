"""Build the services with their dependencies, for a server and for work without a server."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from logging import Logger
from pathlib import Path
from typing import Any, cast

from jupyter_core.paths import jupyter_data_dir, jupyter_runtime_dir
from jupyter_events import EventLogger
from jupyter_server.utils import ensure_async
from nbformat.sign import NotebookNotary

from jupyter_nbedit.agents.tools.base import ToolContext
from jupyter_nbedit.agents.tools.toolsets.sections import SectionsToolset
from jupyter_nbedit.db.database import Database
from jupyter_nbedit.db.link_paths import resolve_link_paths
from jupyter_nbedit.handlers import default_handlers
from jupyter_nbedit.handlers.context import HandlerContext
from jupyter_nbedit.services.all_services import Services
from jupyter_nbedit.services.edits.accept import AcceptService
from jupyter_nbedit.services.edits.publish import Publisher
from jupyter_nbedit.services.edits.service import EditService
from jupyter_nbedit.services.events.emitter import EventEmitter
from jupyter_nbedit.services.history.rename_listener import PathObserver
from jupyter_nbedit.services.history.service import HistoryService
from jupyter_nbedit.services.history.store import EditStore
from jupyter_nbedit.services.loading import DocumentCache
from jupyter_nbedit.services.modes import Mode, ModeManager
from jupyter_nbedit.services.outside.copies import VersionCopies
from jupyter_nbedit.services.outside.examiner import OutsideChangeExaminer
from jupyter_nbedit.services.outside.open_notebook import OpenNotebooks
from jupyter_nbedit.services.outside.recorder import OutsideChangeRecorder
from jupyter_nbedit.services.outside.watcher import NotebookWatcher
from jupyter_nbedit.services.proposals.service import ProposalService
from jupyter_nbedit.services.proposals.store import ProposalStore
from jupyter_nbedit.services.reading.read_tracker import ReadTracker
from jupyter_nbedit.services.reading.service import ReadService
from jupyter_nbedit.services.reading.versions import VersionCache
from jupyter_nbedit.services.search.service import SearchService
from jupyter_nbedit.services.tabs import TabRegistry
from jupyter_nbedit.services.unseen.service import UnseenService
from jupyter_nbedit.services.unseen.store import SeenEditStore
from jupyter_nbedit.settings import NbEditSettings
from jupyter_nbedit.storage.locks import PathLocks
from jupyter_nbedit.storage.resolver import StorageResolver
from jupyter_nbedit.storage.text_files import TextFileService
from jupyter_nbedit.trust.manager import TrustManager


@dataclass
class WiredServices:
    """What handlers need, with what only its owner uses."""

    context: HandlerContext
    database: Database
    edit_history: EditStore
    #: What follows renames and deletions of notebooks.
    path_observers: Sequence[PathObserver]
    log: Logger
    # The names of open resources and the functions that close them, in order.
    _closers: tuple[tuple[str, Callable[[], Awaitable[None] | None]], ...]

    @property
    def services(self) -> Services:
        """The services that handlers and tools call."""
        return self.context.services

    async def resolve_link_paths(self) -> None:
        """Resolve the links in the history of an older release."""
        await resolve_link_paths(self.database, self.log)

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


def build_section_settings(settings: NbEditSettings, log: Logger) -> SectionsToolset:
    """Return the settings of the toolset ``sections``, which the application had before."""
    config = settings.config
    sections = SectionsToolset(config=config)
    for name in ("section_files", "owners"):
        value = getattr(settings, name)
        # An empty list may be meant.
        if value or name in config.NbEditApp:
            log.warning("NbEditApp.%s is deprecated: set SectionsToolset.%s", name, name)
            if name not in config.SectionsToolset:
                setattr(sections, name, value)
    return sections


@dataclass(frozen=True)
class Resources:
    """What the services work on."""

    storages: StorageResolver
    database: Database
    text_files: TextFileService
    get_notary: Callable[[], NotebookNotary]
    event_logger: EventLogger
    log: Logger


def build_services(
    settings: NbEditSettings,
    web_settings: dict[str, Any],
    event_logger: EventLogger,
    log: Logger,
    *,
    has_server: bool = True,
) -> WiredServices:
    """Create the services over the contents manager and the rooms of the web application.

    ``web_settings`` are the settings of the web application. ``has_server`` is False if no server
    runs; texts then say this.
    """
    locks = PathLocks(Path(jupyter_runtime_dir()) / "nbedit" / "locks", log)
    storages = StorageResolver(web_settings, locks, settings.links_outside_root)
    database = Database(
        get_data_folder(), log, is_exposed=storages.is_served, max_days=settings.history_max_days
    )

    def get_notary() -> NotebookNotary:
        notary: NotebookNotary = web_settings["contents_manager"].notary
        return notary

    text_files = TextFileService(web_settings, locks)
    resources = Resources(storages, database, text_files, get_notary, event_logger, log)
    return connect_services(settings, resources, has_server=has_server)


def connect_services(
    settings: NbEditSettings, resources: Resources, *, has_server: bool = True
) -> WiredServices:
    """Create the services and pass each what it depends on.

    The settings are read here, once: a later change of one has no effect.
    """
    storages, database, log = resources.storages, resources.database, resources.log
    names = storages.names
    trust = TrustManager(resources.get_notary)
    read_tracker = ReadTracker(names)
    documents, versions = DocumentCache(), VersionCache()
    tabs = TabRegistry(names, has_server)
    events = EventEmitter(resources.event_logger)
    edit_history = EditStore(database, names=names, max_bytes=settings.history_max_bytes)
    seen = SeenEditStore(database, names=names)
    modes = ModeManager(
        database,
        events,
        log,
        names=names,
        configured_mode=cast("Mode", settings.mode),
        is_fixed=settings.mode_is_fixed,
    )
    proposals = ProposalService(
        ProposalStore(
            database, names=names, hours=settings.proposal_hours, max_pending=settings.max_proposals
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
        copies = VersionCopies(database.folder, log, is_exposed=storages.is_served)
        recorder = OutsideChangeRecorder(edit_history, trust, modes, events, path_observers, log)
        examiner = OutsideChangeExaminer(storages, OpenNotebooks(copies), recorder, documents, log)
        watcher = NotebookWatcher(storages, tabs, examiner, log)
    edits = EditService(
        storages,
        publisher,
        trust,
        proposals,
        modes,
        documents,
        None if watcher is None else watcher.examiner,
        settings.read_before_edit,
    )
    services = Services(
        edits=edits,
        accept=AcceptService(edits, proposals, settings.own_decisions),
        reader=reader,
        read_tracker=read_tracker,
        search=SearchService(storages=storages),
        history=HistoryService(edit_history, storages, documents),
        proposals=proposals,
        unseen=UnseenService(edits, edit_history, seen, events, log),
        modes=modes,
        tabs=tabs,
        watcher=watcher,
        storages=storages,
        text_files=resources.text_files,
        events=events,
    )
    sections = build_section_settings(settings, log)
    context = HandlerContext(
        services=services,
        tools=ToolContext(services, tuple(sections.section_files), tuple(sections.owners)),
        routes=default_handlers,
        max_request_bytes=settings.max_request_bytes,
        log=log,
    )
    closers = (
        *((("watcher", watcher.stop),) if watcher is not None else ()),
        ("reader", reader.close),
        ("proposals", proposals.close),
        ("signatures", trust.flush),
        ("database", database.close),
    )
    return WiredServices(context, database, edit_history, path_observers, log, closers)
