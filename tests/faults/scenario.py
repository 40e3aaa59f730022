"""A folder with one notebook, and the service over it with real files: a server without HTTP.

A place is put back as it was before each fault, and looked at after it.
"""

import asyncio
import logging
import os
import stat
import traceback
from collections.abc import Awaitable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager
from nbformat.sign import NotebookNotary

from jupyter_nbedit.errors import NbEditError
from jupyter_nbedit.notebook.operations import Delete, Insert, Operation, Replace
from jupyter_nbedit.services.replies import EditReply
from jupyter_nbedit.services.requests import WriteRequest
from jupyter_nbedit.storage.locks import PathLocks
from jupyter_nbedit.storage.resolver import StorageResolver
from tests.support import samples
from tests.support.fixed_mode import FixedMode
from tests.support.sampling import is_nightly
from tests.support.services import EditingServices, ServiceBuilder

NAME = "a.ipynb"
MODE = 0o640
ATTRIBUTE = "user.nbedit-test"
OWNER = 1234
#: Text that an error must not contain.
SECRETS = ("Traceback", 'File "')

_LOG = logging.getLogger("tests.faults")
_LOG.addHandler(logging.NullHandler())
_LOG.propagate = False


def _cells(number: int, lines: int) -> bytes:
    sources = [f"x{n} = {n}\n" + "# a line of a cell\n" * lines for n in range(number)]
    return samples.notebook(*(samples.code(text, f"c{n}") for n, text in enumerate(sources)))


SMALL, LARGE = _cells(60, 12), _cells(300, 250)
BATCH: list[Operation] = [
    *(Replace(cell=f"c{n}", source=f"y{n} = {n}") for n in range(40)),
    *(Delete(cell=f"c{n}") for n in range(40, 45)),
    *(Insert(cell_type="raw", source="new", at="end", id=f"new{n}") for n in range(5)),
]


@dataclass(frozen=True)
class FaultCase:
    """A request, its notebook, and whether that is trusted."""

    text: bytes | None
    operations: tuple[Operation, ...]
    is_trusted: bool = False
    is_undo: bool = False


CASES: Mapping[str, FaultCase] = {
    "replace": FaultCase(SMALL, (Replace(cell="c7", source="x = 'ours'"),), is_trusted=True),
    "batch": FaultCase(SMALL, tuple(BATCH)),
    "large": FaultCase(LARGE, (Replace(cell="c150", source="x = 'ours'"),)),
    "create": FaultCase(None, (Insert(cell_type="code", source="1", at="end", id="one"),)),
    "undo": FaultCase(SMALL, (Replace(cell="c7", source="x = 'ours'"),), is_undo=True),
}
#: Those that are tried in this run.
SELECTED_CASES = tuple(CASES) if is_nightly() else ("replace", "create")


@dataclass
class Outcome:
    """The outcome of a request: a reply or an error."""

    reply: EditReply | None = None
    error: BaseException | None = None


@dataclass
class ScenarioServer:
    """The objects that live as long as a server."""

    storages: StorageResolver
    services: EditingServices

    async def close(self) -> None:
        await self.services.close()


@dataclass
class Scenario:
    """An empty folder, the case, and the bytes before and after it."""

    folder: Path
    case: FaultCase
    before: bytes | None = field(init=False)
    after: bytes = field(init=False)

    def __post_init__(self) -> None:
        self.root = self.folder / "root"
        self.notebook = self.root / NAME
        self.root.mkdir(exist_ok=True)
        self.before = self.case.text
        # Faults of Jupyter's own database of signatures are its own business.
        self.notary = NotebookNotary(db_file=":memory:", data_dir=str(self.folder), log=_LOG)

    def start_server(self) -> ScenarioServer:
        """Start a server, which opens its files when it needs them."""
        manager = AsyncLargeFileManager(root_dir=str(self.root))
        locks = PathLocks(self.folder / "locks", _LOG)
        storages = StorageResolver({"contents_manager": manager}, locks)
        builder = ServiceBuilder(self.folder)
        services = builder.build_editing(storages, notary=self.notary)
        # Faults of the database stop edits, if the database has the modes.
        services.editor.modes = FixedMode()
        return ScenarioServer(storages, services)

    async def record_result(self) -> None:
        """Run the case once without faults, and record its result."""
        server = self.start_server()
        await self.reset(server)
        outcome = await self.run_case(server)
        if outcome.reply is None:
            message = f"The case cannot be done at all: {outcome.error!r}"
            raise RuntimeError(message) from outcome.error
        self.after = self.notebook.read_bytes()
        await server.close()

    async def reset(self, server: ScenarioServer) -> None:
        """Put everything back as it was before the case."""
        for path in self.root.iterdir():
            path.unlink()
        if self.case.text is None:
            return
        self.notebook.write_bytes(self.case.text)
        os.setxattr(self.notebook, ATTRIBUTE, b"kept")
        if os.geteuid() == 0:
            os.chown(self.notebook, OWNER, OWNER)
        self.notebook.chmod(MODE)
        if self.case.is_trusted:
            self.notary.sign(nbformat.reads(self.case.text.decode(), as_version=4))
            if hasattr(self, "after"):
                self.notary.unsign(nbformat.reads(self.after.decode(), as_version=4))
        if self.case.is_undo:
            await server.services.editor.edit(WriteRequest(NAME), self.case.operations)
            self.before = self.notebook.read_bytes()

    async def run_case(self, server: ScenarioServer) -> Outcome:
        """Do the case."""
        return await wait_for_outcome(self._start_case(server))

    def _start_case(self, server: ScenarioServer) -> Awaitable[EditReply]:
        if self.case.is_undo:
            return server.services.editor.undo(WriteRequest(NAME))
        editor = server.services.editor
        operations = self.case.operations
        if self.case.text is None:
            cells = [operation for operation in operations if isinstance(operation, Insert)]
            return editor.create(WriteRequest(NAME), cells)
        return editor.edit(WriteRequest(NAME), operations)

    # What must hold ----------------------------------------------------------------------------

    def read_notebook(self) -> bytes | None:
        """Return the current bytes of the notebook."""
        return self.notebook.read_bytes() if self.notebook.exists() else None

    def check_file(self, outcome: Outcome | None) -> list[str]:
        """List problems of the file and of the outcome; None is a killed request."""
        found, problems = self.read_notebook(), []
        is_new = found == self.after
        if not is_new and found != self.before:
            size = None if found is None else len(found)
            problems.append(f"I1: neither the old nor the new bytes ({size} bytes)")
        if outcome is not None and outcome.reply is not None:
            if not is_new:
                problems.append("I2: told that it is written, and it is not")
            if outcome.reply.hash != samples.compute_hash(self.after):
                problems.append("I2: told another hash")
        if outcome is not None and outcome.error is not None:
            problems.extend(self._check_error(outcome.error, is_new=is_new))
        if found is not None:
            problems.extend(self._check_metadata())
        return problems

    def _check_error(self, error: BaseException, *, is_new: bool) -> list[str]:
        if not isinstance(error, NbEditError):
            return [f"I3: no NbEditError but {error!r} at {_locate(error)}"]
        problems = []
        applied = error.details.get("applied", False)
        if applied is not None and is_new != applied:
            problems.append(f"I3: untrue at {_locate(error)}: {error.message}")
        text = f"{error.message} {error.details}"
        if str(self.folder) in text or any(secret in text for secret in SECRETS):
            problems.append(f"I3: tells too much: {text}")
        return problems

    def _check_metadata(self) -> list[str]:
        if self.case.text is None:
            return []
        status = self.notebook.stat()
        actual = [stat.S_IMODE(status.st_mode)]
        expected = [MODE]
        if os.geteuid() == 0:
            actual += [status.st_uid, status.st_gid]
            expected += [OWNER, OWNER]
        problems = (
            [] if actual == expected else [f"I6: mode and owner are {actual}, not {expected}"]
        )
        with suppress(OSError):
            if os.getxattr(self.notebook, ATTRIBUTE) == b"kept":
                return problems
        return [*problems, "I6: the extended attribute is lost"]

    def list_stray_files(self) -> list[str]:
        """List the other files beside the notebook."""
        return [path.name for path in self.root.iterdir() if path.name != NAME]

    def list_open_files(self) -> dict[str, str]:
        """List the files of the root that this process has open, by descriptor."""
        targets = {}
        for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 -- names are enough
            with suppress(OSError):
                targets[name] = os.readlink(f"/proc/self/fd/{name}")  # noqa: PTH115 -- as above
        return {at: path for at, path in targets.items() if path.startswith(str(self.root))}

    def check_trust(self, outcome: Outcome) -> list[str]:
        """List problems of the notebook's trust after an acknowledged edit."""
        if outcome.reply is None:
            return []
        is_trusted = self.notary.check_signature(nbformat.reads(self.after.decode(), as_version=4))
        is_silent = not any("trust" in warning for warning in outcome.reply.warnings)
        if self.case.is_trusted and is_silent and not is_trusted:
            return ["the notebook's trust is lost, and nothing is said of it"]
        if is_trusted and not self.case.is_trusted:
            return ["the notebook is trusted, and was not before"]
        return []

    async def check_next_edits(self, server: ScenarioServer, outcome: Outcome | None) -> list[str]:
        """Undo an acknowledged edit, and edit again; list the problems."""
        problems = []
        reply = None if outcome is None else outcome.reply
        if reply is not None and reply.edit_id is None and not reply.warnings:
            problems.append("I5: it is not in the history, and nothing is said of it")
        if reply is not None and reply.edit_id is not None and self.case.text is not None:
            back = await wait_for_outcome(
                server.services.editor.undo(WriteRequest(NAME), reply.edit_id, redo=self._is_redo)
            )
            if back.reply is None:
                problems.append(f"I5: it cannot be undone: {back.error!r}")
            elif self.read_notebook() != self.before:
                problems.append("I5: undone, it is not what it was before")
            else:
                return problems
        if self.notebook.exists():
            more = (Insert(cell_type="raw", source="more", at="end", id="more"),)
            edit = server.services.editor.edit(WriteRequest(NAME), more)
        else:
            edit = server.services.editor.create(WriteRequest(NAME))
        again = await wait_for_outcome(edit)
        if again.reply is None:
            problems.append(f"I7: the next edit fails: {again.error!r}")
        elif self.read_notebook() is None or again.reply.hash != samples.hash_file(self.notebook):
            problems.append("I7: the next edit is not in the file")
        elif again.reply.warnings:
            problems.append(f"I7: the next edit warns: {again.reply.warnings}")
        return problems

    @property
    def _is_redo(self) -> bool:
        return self.case.is_undo


def _locate(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    ours = [at for at in frames if "jupyter_nbedit" in at.filename]
    return " ".join(f"{Path(at.filename).name}:{at.lineno}" for at in ours)


async def wait_for_outcome(edit: Awaitable[EditReply]) -> Outcome:
    """Wait for an answer of any kind."""
    try:
        return Outcome(reply=await edit)
    except asyncio.CancelledError:
        raise
    except Exception as error:  # noqa: BLE001 -- an unexpected error is a finding
        return Outcome(error=error)
