"""What a tool is: a name, a description, a form for its input, and two ways to answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import UNSET

from jupyter_nbedit.edits.plan import plan_full_document
from jupyter_nbedit.edits.service import EditService
from jupyter_nbedit.errors import FileNotFound, InvalidRequest, NotebookNotFound, PlanMode
from jupyter_nbedit.models import EditReply, EditRequest, OperationFactory, WriteRequest
from jupyter_nbedit.notebook.document import write_new_notebook
from jupyter_nbedit.reading.read_tracker import ReadTracker
from jupyter_nbedit.reading.service import ReadService
from jupyter_nbedit.storage.api_paths import to_api_path
from jupyter_nbedit.storage.text_files import TextFileService

Form = TypeVar("Form", bound=msgspec.Struct)

_NOTEBOOK = ".ipynb"
_SHOWN = 200
# Tools have other paths than the routes, whose refusal tells of theirs.
_NO_NOTEBOOK = (
    "There is no notebook at this path. Expected the path of an existing file that ends in .ipynb, "
    "under the folder that this server serves."
)


@dataclass(frozen=True)
class ToolError:
    """Why a call is refused, for a tool to tell in its own form.

    Parameters
    ----------
    reason, message, details
        As in the error body of all other routes.
    given
        The tool's input as far as it is an object; empty if it is none.
    """

    reason: str
    message: str
    details: Mapping[str, Any]
    given: Mapping[str, Any]

    def get_input_text(self, name: str) -> str | None:
        """Return a text of the input, to name in the error; None if it is no text."""
        value = self.given.get(name)
        return value if isinstance(value, str) else None

    def describe(self) -> str:
        """Return the message with those details that a model needs to do better."""
        more = [_NO_NOTEBOOK if self.reason == NotebookNotFound.reason else self.message]
        if available := self.details.get("available_ids"):
            more.append(f"Available ids: {', '.join(map(repr, available))}.")
        if outline := self.details.get("outline"):
            headings = (f"{'#' * heading['level']} {heading['text']}" for heading in outline)
            more.append(f"The headings are: {', '.join(map(repr, headings))}.")
        return " ".join(more)


@dataclass(frozen=True)
class Caller:
    """Who calls a tool.

    Parameters
    ----------
    user
        The user name the server knows the caller by.
    session
        Whose reading counts; see `ReadTracker`.
    proposed
        The number of the proposal that the call has made, if it has.
    """

    user: str
    session: str
    proposed: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class ToolContext:
    """What tools are made of.

    Parameters
    ----------
    editor, reader
        Of notebooks.
    texts
        All other files.
    readings
        Who has read what.
    read_before_edit
        Whether all who edit a notebook must have read it; see `NbEditApp.read_before_edit`.
    section_files
        The names by which the sections tool knows files under ``runtime/``.
    owners
        Who may call the sections tool; empty means whoever may write.
    """

    editor: EditService
    reader: ReadService
    texts: TextFileService
    readings: ReadTracker
    read_before_edit: bool
    section_files: Sequence[str]
    owners: Sequence[str]

    async def check_mode(self, notebook: str | None = None) -> None:
        """Refuse a change in plan mode.

        Parameters
        ----------
        notebook
            The API path of the notebook to be changed, which may have a mode of its own; None for
            any other file.

        Raises
        ------
        PlanMode, ModesUnreadable
        """
        modes = self.editor.modes
        mode = modes.server if notebook is None else await modes.get_effective(notebook)
        if mode == "plan":
            whose = "This server is" if modes.server == "plan" else "A person has put this notebook"
            message = (
                f"{whose} in plan mode: nothing is changed. Describe the change instead, and "
                "make it once the user has left plan mode."
            )
            raise PlanMode(message)

    async def is_reviewed(self, notebook: str) -> bool:
        """Return whether edits of a notebook become proposals.

        Raises
        ------
        ModesUnreadable
        """
        return await self.editor.modes.get_effective(notebook) == "review"

    def check_read(self, caller: Caller, path: str, digest: str | None) -> None:
        """Refuse early what `edit` would refuse because it was not read.

        Raises
        ------
        ReadRequired, HashMismatch
        """
        if self.read_before_edit and digest is not None:
            self.readings.require(caller.session, path, digest)

    def map_notebook_path(self, given: str, *, relative: bool) -> str:
        """Map what a caller calls a notebook to its API path.

        Raises
        ------
        InvalidRequest
            If it does not end in ``.ipynb``, or is relative and may not be.
        NotebookNotFound
            If it is outside the root.
        NotAPlainFile
            If the server has no folder that an absolute path could be in.
        """
        if not given.endswith(_NOTEBOOK):
            message = (
                f"Expected the path of a notebook, which ends in {_NOTEBOOK}; found "
                f"{given[-_SHOWN:]!r}."
            )
            raise InvalidRequest(message)
        path = to_api_path(self.texts.manager(), given, relative=relative)
        if path is None:
            raise NotebookNotFound
        return path

    def map_file_path(self, given: str, *, relative: bool) -> str:
        """Map what a caller calls any other file to its API path.

        Raises
        ------
        InvalidRequest
            If it is a notebook, by a link that has another name, or relative and may not be.
        NotAPlainFile
            As of a notebook.
        FileNotFound
            If it is outside the root.
        """
        path = to_api_path(self.texts.manager(), given, relative=relative)
        if path is None:
            raise FileNotFound
        if path.endswith(_NOTEBOOK):
            message = (
                f"This path is a link to a notebook, {path[-_SHOWN:]!r}, whose text is JSON. Call "
                "the notebook by its own path, which ends in .ipynb."
            )
            raise InvalidRequest(message)
        return path

    async def edit(
        self, path: str, plan: OperationFactory, caller: Caller, tool: str, **more: Any
    ) -> EditReply:
        """Edit a notebook for a caller of a tool, or propose the edit."""
        await self.check_mode(path)
        more.setdefault("must_have_read", self.read_before_edit)
        request = EditRequest(
            path=path,
            operations=plan,
            user=caller.user,
            session=caller.session,
            client=tool,
            **more,
        )
        return self._record_result(caller, await self.editor.edit(request))

    async def create(self, path: str, text: bytes, caller: Caller, tool: str) -> EditReply:
        """Create a notebook, given as a whole, for a caller of a tool, or propose it."""
        await self.check_mode(path)
        asked = WriteRequest(path, user=caller.user, session=caller.session, client=tool)
        reply = await self.editor.create_from_bytes(
            asked, write_new_notebook(None, None), plan_full_document(text)
        )
        return self._record_result(caller, reply)

    def _record_result(self, caller: Caller, reply: EditReply) -> EditReply:
        if reply.proposal_id is not UNSET:
            caller.proposed.append(reply.proposal_id)
        return reply


@dataclass(frozen=True)
class Tool(Generic[Form]):
    """A tool of a dialect.

    Parameters
    ----------
    dialect, name
        Its address.
    description
        For a model that has never seen us.
    form
        Its input.
    call
        Does what it does, and answers in the dialect's form.
    refuse
        Tells in the dialect's form why it did not.
    proposes
        Whether what it does may become a proposal: it changes notebooks.
    """

    dialect: str
    name: str
    description: str
    form: type[Form]
    call: Callable[[ToolContext, Caller, Form], Awaitable[msgspec.Struct]]
    refuse: Callable[[ToolError], msgspec.Struct]
    proposes: bool = True


_REFERENCE = "#/$defs/"


def build_input_schema(form: type[msgspec.Struct]) -> dict[str, Any]:
    """Write the schema of what decodes an input, whole and without references.

    Models follow references badly, and some programs that hand schemas to models not at all. The
    form must not contain itself.
    """
    schema = msgspec.json.schema(form)
    found: dict[str, Any] = _resolve(schema, schema.get("$defs", {}))
    # The tool's own description says more than the form's.
    found.pop("description", None)
    return found


def _resolve(schema: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(schema, list):
        return [_resolve(item, definitions) for item in schema]
    if not isinstance(schema, dict):
        return schema
    reference = schema.get("$ref")
    if reference is not None:
        schema = {**definitions[reference.removeprefix(_REFERENCE)], **schema}
    left_out = {"$ref", "$defs", "title"} if "properties" in schema else {"$ref", "$defs"}
    return {
        name: _resolve(value, definitions) for name, value in schema.items() if name not in left_out
    }
