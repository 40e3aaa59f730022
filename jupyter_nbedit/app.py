"""The server extension: its traits, and the wiring of the services."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from jupyter_core.paths import jupyter_data_dir, jupyter_runtime_dir
from jupyter_server.extension.application import ExtensionApp
from jupyter_server.utils import ensure_async
from traitlets import Bool, Enum, Float, Integer, List, Unicode, default

from jupyter_nbedit.api import PythonAPI
from jupyter_nbedit.db.database import Database
from jupyter_nbedit.edits.accept import AcceptService
from jupyter_nbedit.edits.modes import ModeManager
from jupyter_nbedit.edits.outside_changes import OutsideChangeRecorder
from jupyter_nbedit.edits.publish import Publisher
from jupyter_nbedit.edits.service import EditService
from jupyter_nbedit.events.emitters import SCHEMAS, EventEmitter
from jupyter_nbedit.handlers import default_handlers
from jupyter_nbedit.handlers.base import SERVICES, Services
from jupyter_nbedit.handlers.idempotency import IdempotencyCache
from jupyter_nbedit.history.rename_listener import CONTENTS, ContentsEventListener
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
    from nbformat.sign import NotebookNotary

    from jupyter_nbedit.edits.modes import Mode
    from jupyter_nbedit.history.rename_listener import PathObserver


class NbEditApp(ExtensionApp):
    """The extension ``jupyter_nbedit``: REST API under ``/nbedit``, Python API, tab support."""

    name = "jupyter_nbedit"
    description = "Edit the cells of notebooks over HTTP, while they are open in JupyterLab."

    mode = Enum(
        ["edit", "review", "plan"],
        default_value="edit",
        config=True,
        help="""What requests may do. "edit" (the default): they change notebooks. "review": a
        change becomes a proposal, which a person accepts or rejects, whole or cell by cell.
        "plan": every change is an error, 403 `plan_mode`; a dry run is allowed and shows what the
        change would be. A user with write permission can change the mode of the running server and
        of single notebooks; see `mode_is_fixed`.""",
    )

    mode_is_fixed = Bool(
        default_value=False,
        config=True,
        help="""Whether requests to change the mode of the server or of a notebook are an error, 403
        `forbidden`. The default is False. Modes that notebooks already have stay in effect.""",
    )

    proposal_hours = Float(
        24.0,
        min=0.01,
        max=24.0 * 365,
        config=True,
        help="""How long a proposal can be accepted or rejected, in hours; default 24. Then it
        expires, and after the same time again it is deleted.""",
    )

    max_proposals = Integer(
        1_000,
        min=1,
        config=True,
        help="""The largest number of pending proposals; default 1000. More are an error, 409
        `too_many_proposals`. Together they may have 256 MiB.""",
    )

    max_request_bytes = Integer(
        16 * 1024 * 1024,
        min=1024,
        config=True,
        help="""The largest body of a request, in bytes; default 16 MiB, at least 1024. A larger one
        is an error, 413 `too_large`. Notebooks may be of any size.""",
    )

    read_before_edit = Bool(
        default_value=False,
        config=True,
        help="""Whether a client must have read the current version of a notebook, in the same
        session (the header `X-NbEdit-Session`, else the user), before it edits the notebook. If it
        has not, the edit is an error: 428 `read_required`, or 412 `hash_mismatch` if the notebook
        has changed since it was read. Dry runs are exempt. The default is False; the tools of the
        toolset `claude_code` always require it.""",
    )

    links_outside_root = Bool(
        default_value=True,
        config=True,
        help="""Whether a symbolic link below the root may lead to a notebook or a folder outside of
        the root. The default is True, as in Jupyter's own Contents API, which the same users can
        use. If False, edits, reads and searches treat the target of such a link as missing. Tools
        never follow such links. With the MetaManager of jupyter-fs, all of them follow such links,
        whatever the value is.""",
    )

    section_files = List(
        Unicode(),
        default_value=["external-communications", "reminders", "standing-orders"],
        config=True,
        help="""Short names of files for the tool `sections/notebook_edit`: each means the Markdown
        file of that name in the folder `runtime` below the root, such as `runtime/reminders.md`.
        The default is external-communications, reminders and standing-orders. The tool accepts the
        path of any Markdown file or notebook as well.""",
    )

    owners = List(
        Unicode(),
        config=True,
        help="""The names of the users who may call the tool `sections/notebook_edit`; for others it
        is an error, 403 `forbidden`. Empty (the default) means every user with write permission.
        The names are those of the server's identity provider. Jupyter's own provider makes up a
        name for each request with a token, so use this only with JupyterHub or another
        provider.""",
    )

    history_max_bytes = Integer(
        256 * 1024 * 1024,
        min=1024 * 1024,
        config=True,
        help="""The largest size of the edit history in bytes, for all servers of one user and all
        notebooks together; default 256 MiB, at least 1 MiB. The oldest edits are deleted first, and
        a deleted edit cannot be undone. An edit that needs more than half of the size cannot be
        undone either.""",
    )

    history_max_days = Integer(
        30,
        min=1,
        config=True,
        help="""For how many days the edit history keeps an edit; default 30. The history contains
        what edits have deleted from notebooks. It is the file `nbedit/history.sqlite3` in Jupyter's
        data folder (`jupyter --data-dir`), which only you can read; DELETE of the `history` of a
        notebook purges it.""",
    )

    follow_outside_changes = Bool(
        default_value=True,
        config=True,
        help="""Whether the server follows notebooks that are open in JupyterLab when another
        program changes their files: tabs show the change at once, and the history has it. The
        default is True. Every half a second the server looks at the status of each open notebook's
        file, and it keeps copies of these notebooks, at most 256 MiB, in Jupyter's data folder. If
        False, tabs notice such a change after some seconds, and it cannot be undone.""",
    )

    services: Services
    database: Database
    edit_history: EditHistory
    # The names of open resources and the functions that close them, in order.
    _closers: tuple[tuple[str, Callable[[], Any]], ...] = ()

    @default("open_browser")
    def _default_open_browser(self) -> bool:
        return False

    def initialize_settings(self) -> None:
        """Create the services and pass each what it depends on."""
        serverapp = self.serverapp
        if serverapp is None or serverapp.event_logger is None:
            message = "jupyter_nbedit is an extension of a running Jupyter Server."
            raise RuntimeError(message)
        logger = serverapp.event_logger
        for schema_id, schema in SCHEMAS.items():
            # Tests start several servers in one process, and a schema can be registered only once.
            if schema_id not in logger.schemas:
                logger.register_event_schema(schema)
        locks = PathLocks(Path(jupyter_runtime_dir()) / "nbedit" / "locks", self.log)
        settings: dict[str, Any] = serverapp.web_app.settings
        storages = StorageResolver(settings, locks, self.links_outside_root)

        def get_notary() -> NotebookNotary:
            notary: NotebookNotary = settings["contents_manager"].notary
            return notary

        trust = TrustManager(get_notary)
        read_tracker = ReadTracker(storages.get_canonical_path)
        documents, versions = DocumentCache(), VersionCache()
        tabs = TabRegistry(storages.get_canonical_path)
        events = EventEmitter(logger)
        self.database = Database(
            Path(jupyter_data_dir()) / "nbedit",
            self.log,
            is_exposed=storages.is_served,
            keep_days=self.history_max_days,
        )
        self.edit_history = EditHistory(
            self.database,
            get_canonical_name=storages.get_canonical_path,
            get_root=storages.get_root_name,
            max_bytes=self.history_max_bytes,
            max_days=self.history_max_days,
        )
        modes = ModeManager(
            self.database,
            events,
            self.log,
            get_root=storages.get_root_name,
            get_canonical_name=storages.get_canonical_path,
            configured_mode=cast("Mode", self.mode),
            is_fixed=self.mode_is_fixed,
        )
        proposals = ProposalService(
            ProposalStore(
                self.database,
                get_root=storages.get_root_name,
                get_canonical_name=storages.get_canonical_path,
                hours=self.proposal_hours,
                max_pending=self.max_proposals,
            ),
            storages,
            events,
            self.log,
        )
        path_observers: Sequence[PathObserver] = [self.edit_history, modes, proposals]
        contents_listener = ContentsEventListener(storages.exists, path_observers, self.log)
        logger.add_listener(schema_id=CONTENTS, listener=contents_listener.on_event)
        reader = ReadService(storages, trust, read_tracker, versions, documents)
        publisher = Publisher(self.edit_history, read_tracker, versions, tabs, events, self.log)
        watcher = None
        if self.follow_outside_changes:
            recorder = OutsideChangeRecorder(
                storages=storages,
                copies=VersionCopies(
                    Path(jupyter_data_dir()) / "nbedit", self.log, is_exposed=storages.is_served
                ),
                history=self.edit_history,
                trust=trust,
                modes=modes,
                events=events,
                documents=documents,
                observers=path_observers,
                log=self.log,
            )
            watcher = NotebookWatcher(storages, tabs, recorder, self.log)
        edits = EditService(
            storages,
            publisher,
            trust,
            proposals,
            modes,
            documents,
            None if watcher is None else watcher.recorder,
        )
        texts, search = TextService(reader, modes, tabs), SearchService(storages=storages)
        history = HistoryService(self.edit_history, storages)
        tools = ToolContext(
            editor=edits,
            reader=reader,
            texts=texts,
            search=search,
            history=history,
            tabs=tabs,
            text_files=TextFileService(settings, locks),
            read_tracker=read_tracker,
            read_before_edit=self.read_before_edit,
            section_files=tuple(self.section_files),
            owners=tuple(self.owners),
        )
        self._closers = (
            *((("watcher", watcher.stop),) if watcher is not None else ()),
            ("reader", reader.close),
            ("proposals", proposals.close),
            ("signatures", trust.flush),
            ("database", self.database.close),
        )
        # The traits are read here, once: a later change of a trait has no effect.
        self.services = Services(
            edits=edits,
            accept=AcceptService(edits, proposals),
            reader=reader,
            texts=texts,
            search=search,
            history=history,
            proposals=proposals,
            modes=modes,
            tabs=tabs,
            watcher=watcher,
            tools=tools,
            storages=storages,
            events=events,
            idempotency=IdempotencyCache(),
            read_before_edit=self.read_before_edit,
            request_limit=self.max_request_bytes,
            routes=tuple(default_handlers),
            log=self.log,
        )
        self.settings[SERVICES] = self.services
        # Jupyter Server has put this object there, which other extensions have no use for.
        self.settings[self.name] = PythonAPI(edits, events, tabs, self.log)

    async def stop_extension(self) -> None:
        """Close all resources, and log the exceptions.

        The server stops its kernels after its extensions; an exception would leave them running.
        """
        closers, self._closers = self._closers, ()
        for name, close in closers:
            try:
                await ensure_async(close())
            except Exception:
                self.log.exception(
                    "jupyter_nbedit could not close its %s; the server continues to stop", name
                )

    def initialize_handlers(self) -> None:
        """Add the routes."""
        self.handlers.extend(default_handlers)
