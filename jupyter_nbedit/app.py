"""The server extension: its configuration, and how its services are wired."""

from __future__ import annotations

from collections.abc import Callable
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
from jupyter_nbedit.edits.publish import Publisher
from jupyter_nbedit.edits.service import EditService
from jupyter_nbedit.edits.undo import UndoService
from jupyter_nbedit.events.emitters import SCHEMAS, EditEventEmitter, ReviewEventEmitter
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
from jupyter_nbedit.storage.locks import PathLocks
from jupyter_nbedit.storage.resolver import StorageResolver
from jupyter_nbedit.storage.text_files import TextFileService
from jupyter_nbedit.tabs import TabRegistry
from jupyter_nbedit.tools.base import ToolContext
from jupyter_nbedit.trust.manager import TrustManager

if TYPE_CHECKING:
    from nbformat.sign import NotebookNotary

    from jupyter_nbedit.edits.modes import Mode


class NbEditApp(PythonAPI, ExtensionApp):
    """Mounts ``/nbedit``."""

    name = "jupyter_nbedit"
    description = "Edit the cells of notebooks over HTTP, while they are open in JupyterLab."

    mode = Enum(
        ["edit", "review", "plan"],
        default_value="edit",
        config=True,
        help="""What requests may do. "edit" (the default) lets them change notebooks. In "review"
        mode a change becomes a proposal, which a person accepts or rejects, whole or cell by cell.
        In "plan" mode every change is refused with 403 `plan_mode`, unless it is a dry run, which
        shows what the change would be. Whoever may write can give the server another mode while it
        runs, and single notebooks one of their own; see `mode_is_fixed`.""",
    )

    mode_is_fixed = Bool(
        default_value=False,
        config=True,
        help="""Whether requests may not change modes, neither the server's nor a notebook's own,
        and are refused with 403 `forbidden`. Off by default. Modes that notebooks have been given
        before still hold.""",
    )

    proposal_hours = Float(
        24.0,
        min=0.01,
        max=24.0 * 365,
        config=True,
        help="""How long a proposal can be accepted or rejected, in hours; default 24. Afterwards it
        is expired, and after as long again it is forgotten.""",
    )

    max_proposals = Integer(
        1_000,
        min=1,
        config=True,
        help="""How many proposals may wait for a decision at the same time; default 1000. A change
        beyond that is refused with 409 `too_many_proposals`. All together they may take 256
        MiB.""",
    )

    max_request_bytes = Integer(
        16 * 1024 * 1024,
        min=1024,
        config=True,
        help="""The largest body of a request that is accepted, in bytes; default 16 MiB, at least
        1024. A larger one is refused with 413 `too_large`. Notebooks themselves may be of any
        size.""",
    )

    read_before_edit = Bool(
        default_value=False,
        config=True,
        help="""Whether a notebook may be edited only by who has read it as it is now, in the same
        session (the header `X-NbEdit-Session`, else the user). Without that an edit is refused with
        428 `read_required`, or with 412 `hash_mismatch` if the notebook has changed since it was
        read. Dry runs are free. Off by default; the
        tools of the dialect `claude_code` always ask for it.""",
    )

    links_outside_root = Bool(
        default_value=True,
        config=True,
        help="""Whether a symbolic link below the root may lead to a notebook or a folder outside of
        it. On by default, for so it is with Jupyter's own Contents API, which whoever may edit may
        use as well. If it is off, what such a link leads to is refused like what does not exist, in
        edits, reads and searches. The tools never follow such links. With the MetaManager of
        jupyter-fs all of them follow such links, whether it is on or off.""",
    )

    section_files = List(
        Unicode(),
        default_value=["external-communications", "reminders", "standing-orders"],
        config=True,
        help="""The names by which the tool `sections/notebook_edit` knows files: each stands for
        the Markdown file of that name in the folder `runtime` below the root, such as
        `runtime/reminders.md`. The default are three: external-communications, reminders and
        standing-orders. Any path of a Markdown file or a notebook works beside them.""",
    )

    owners = List(
        Unicode(),
        config=True,
        help="""The names of the users who may call the tool `sections/notebook_edit`; others are
        refused with 403 `forbidden`. Empty (the default) means whoever may write. Names are those
        of the server's identity provider. Jupyter's own one makes up a name for each request with
        a token, so that names make sense with JupyterHub or another provider only.""",
    )

    history_max_bytes = Integer(
        256 * 1024 * 1024,
        min=1024 * 1024,
        config=True,
        help="""How many bytes of edits the history keeps, those of all servers of one user and all
        notebooks together; default 256 MiB, at least 1 MiB. The oldest edits go first, and what is
        gone cannot be taken back. An edit that needs more than half of it by itself is kept without
        what it would take to take it back.""",
    )

    history_max_days = Integer(
        30,
        min=1,
        config=True,
        help="""For how many days the history keeps an edit; default 30. With the history, what was
        deleted from notebooks is still on disk, in `nbedit/history.sqlite3` in Jupyter's data
        folder (`jupyter --data-dir`), which is yours alone; DELETE of a notebook's `history` purges
        it.""",
    )

    storages: StorageResolver
    database: Database
    ledger: EditHistory
    chronicle: HistoryService
    editor: EditService
    undoing: UndoService
    reader: ReadService
    search: SearchService
    tool_services: ToolContext
    readings: ReadTracker
    versions: VersionCache
    modes: ModeManager
    proposals: ProposalService
    review: AcceptService
    tabs: TabRegistry
    events: EditEventEmitter
    trust: TrustManager
    # What is open and how to close it, in this order; nothing before `initialize_settings`.
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
            # Tests start several servers in one process, and a schema may be registered only once.
            if schema_id not in logger.schemas:
                logger.register_event_schema(schema)
        locks = PathLocks(Path(jupyter_runtime_dir()) / "nbedit" / "locks", self.log)
        settings: dict[str, Any] = serverapp.web_app.settings
        self.storages = storages = StorageResolver(settings, locks, self.links_outside_root)

        def notary() -> NotebookNotary:
            found: NotebookNotary = settings["contents_manager"].notary
            return found

        self.trust = TrustManager(notary)
        self.readings = ReadTracker(storages.get_canonical_path)
        documents = DocumentCache()
        self.tabs = TabRegistry(storages.get_canonical_path)
        self.versions = VersionCache()
        self.events = EditEventEmitter(logger)
        self.database = Database(
            Path(jupyter_data_dir()) / "nbedit",
            self.log,
            is_exposed=storages.is_served,
            keep_days=self.history_max_days,
        )
        self.ledger = EditHistory(
            self.database,
            name=storages.get_canonical_path,
            root=storages.get_root_name,
            max_bytes=self.history_max_bytes,
            max_days=self.history_max_days,
        )
        decisions = ReviewEventEmitter(logger, self.events.epoch)
        self.modes = ModeManager(
            self.database,
            decisions,
            self.log,
            root=storages.get_root_name,
            name=storages.get_canonical_path,
            configured=cast("Mode", self.mode),
            is_fixed=self.mode_is_fixed,
        )
        self.proposals = ProposalService(
            ProposalStore(
                self.database,
                root=storages.get_root_name,
                name=storages.get_canonical_path,
                hours=self.proposal_hours,
                most=self.max_proposals,
            ),
            storages,
            decisions,
            self.log,
        )
        following = ContentsEventListener(
            storages, [self.ledger, self.modes, self.proposals], self.log
        )
        self.chronicle = HistoryService(self.ledger, storages)
        logger.add_listener(schema_id=CONTENTS, listener=following.on_event)
        self.reader = ReadService(
            storages=storages,
            trust=self.trust,
            readings=self.readings,
            versions=self.versions,
            documents=documents,
        )
        self.search = SearchService(storages=storages)
        self.editor = EditService(
            storages=storages,
            publisher=Publisher(
                ledger=self.ledger,
                readings=self.readings,
                versions=self.versions,
                events=self.events,
                log=self.log,
            ),
            trust=self.trust,
            proposals=self.proposals,
            modes=self.modes,
            documents=documents,
        )
        self.undoing = UndoService(self.editor, self.ledger)
        self.review = AcceptService(self.editor, self.proposals)
        self.tool_services = ToolContext(
            editor=self.editor,
            reader=self.reader,
            text_files=TextFileService(lambda: settings["contents_manager"], locks, settings),
            read_tracker=self.readings,
            read_before_edit=self.read_before_edit,
            section_files=tuple(self.section_files),
            owners=tuple(self.owners),
        )
        self._closers = (
            ("proposals", self.proposals.close),
            ("signatures", self.trust.flush),
            ("database", self.database.close),
        )
        # All traits are read here, at the start: to change one later changes nothing.
        self.settings[SERVICES] = Services(
            edits=self.editor,
            undo=self.undoing,
            accept=self.review,
            reader=self.reader,
            search=self.search,
            history=self.chronicle,
            proposals=self.proposals,
            modes=self.modes,
            tabs=self.tabs,
            tools=self.tool_services,
            storages=storages,
            events=self.events,
            idempotency=IdempotencyCache(),
            request_limit=self.max_request_bytes,
            routes=tuple(default_handlers),
            log=self.log,
        )

    async def stop_extension(self) -> None:
        """Close what is open, each part even if one before it fails; never raise.

        The server stops its kernels after its extensions: an exception would leave them running.
        """
        closers, self._closers = self._closers, ()
        for name, close in closers:
            try:
                await ensure_async(close())
            except Exception:
                self.log.exception(
                    "jupyter_nbedit could not close its %s; the server goes on stopping", name
                )

    def initialize_handlers(self) -> None:
        """Mount the routes."""
        self.handlers.extend(default_handlers)
