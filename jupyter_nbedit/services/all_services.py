"""`Services`: all services of a server, or of work without one; see `jupyter_nbedit.wiring`."""

from dataclasses import dataclass

from jupyter_nbedit.services.edits.accept import AcceptService
from jupyter_nbedit.services.edits.service import EditService
from jupyter_nbedit.services.events.emitter import EventEmitter
from jupyter_nbedit.services.history.service import HistoryService
from jupyter_nbedit.services.modes import ModeManager
from jupyter_nbedit.services.outside.watcher import NotebookWatcher
from jupyter_nbedit.services.proposals.service import ProposalService
from jupyter_nbedit.services.reading.read_tracker import ReadTracker
from jupyter_nbedit.services.reading.service import ReadService
from jupyter_nbedit.services.search.service import SearchService
from jupyter_nbedit.services.tabs import TabRegistry
from jupyter_nbedit.services.unseen.service import UnseenService
from jupyter_nbedit.storage.resolver import StorageResolver
from jupyter_nbedit.storage.text_files import TextFileService


@dataclass(frozen=True)
class Services:
    """The services that handlers and tools call."""

    edits: EditService
    accept: AcceptService
    reader: ReadService
    read_tracker: ReadTracker
    search: SearchService
    history: HistoryService
    proposals: ProposalService
    unseen: UnseenService
    modes: ModeManager
    tabs: TabRegistry
    #: None if changes by other programs are not followed.
    watcher: NotebookWatcher | None
    storages: StorageResolver
    text_files: TextFileService
    events: EventEmitter
