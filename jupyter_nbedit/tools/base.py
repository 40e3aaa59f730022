"""`Tool`, and what the tools of every toolset share: the caller, services and paths."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import UNSET

from jupyter_nbedit.edits.service import EditService
from jupyter_nbedit.errors import FileNotFound, InvalidRequest, NotebookNotFound, PlanMode
from jupyter_nbedit.models import Author, EditReply, OperationFactory, WriteRequest
from jupyter_nbedit.reading.read_tracker import ReadTracker
from jupyter_nbedit.reading.service import ReadService
from jupyter_nbedit.storage.api_paths import to_api_path
from jupyter_nbedit.storage.text_files import TextFileService

Arguments = TypeVar("Arguments", bound=msgspec.Struct)

_NOTEBOOK = ".ipynb"
_MAX_SHOWN = 200
# The message of `NotebookNotFound` describes paths of the REST API; those of tools differ.
_NO_NOTEBOOK = (
    "There is no notebook at this path. Expected the path of an existing file that ends in .ipynb, "
    "under the folder that this server serves."
)


@dataclass(frozen=True)
class ToolError:
    """An error that a tool renders in its own form.

    Parameters
    ----------
    reason, message, details
        As in the error body of all other routes.
    arguments
        The decoded arguments of the call; empty if they are no JSON object.
    """

    reason: str
    message: str
    details: Mapping[str, Any]
    arguments: Mapping[str, Any]

    def get_text_argument(self, name: str) -> str | None:
        """Return a text of the input, to name in the error; None if it is no text."""
        value = self.arguments.get(name)
        return value if isinstance(value, str) else None

    def describe(self) -> str:
        """Return the message, with the details that help a model to correct its call."""
        sentences = [_NO_NOTEBOOK if self.reason == NotebookNotFound.reason else self.message]
        if available := self.details.get("available_ids"):
            sentences.append(f"Available ids: {', '.join(map(repr, available))}.")
        if outline := self.details.get("outline"):
            headings = (f"{'#' * heading['level']} {heading['text']}" for heading in outline)
            sentences.append(f"The headings are: {', '.join(map(repr, headings))}.")
        return " ".join(sentences)


@dataclass(frozen=True)
class Caller:
    """Who calls a tool.

    Parameters
    ----------
    user
        The user name by which the server knows the caller.
    session
        The session whose reads count; see `ReadTracker`.
    proposal_ids
        The numbers of the proposals that this call has made.
    """

    user: str
    session: str
    proposal_ids: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class ToolContext:
    """What tools are made of.

    Parameters
    ----------
    editor, reader
        Of notebooks.
    text_files
        All other files.
    read_tracker
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
    text_files: TextFileService
    read_tracker: ReadTracker
    read_before_edit: bool
    section_files: Sequence[str]
    owners: Sequence[str]

    async def check_mode(self, notebook: str | None = None) -> None:
        """Raise an error in plan mode.

        Parameters
        ----------
        notebook
            The API path of the notebook, which may have a mode of its own; None for any other file.

        Raises
        ------
        PlanMode, ModesUnreadable
        """
        modes = self.editor.modes
        mode = modes.server if notebook is None else await modes.get_effective(notebook)
        if mode == "plan":
            subject = (
                "This server is" if modes.server == "plan" else "A person has put this notebook"
            )
            message = (
                f"{subject} in plan mode: nothing is changed. Describe the change instead, and "
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
        """Raise the error that `edit` would raise because the notebook was not read.

        Raises
        ------
        ReadRequired, HashMismatch
        """
        if self.read_before_edit and digest is not None:
            self.read_tracker.require(caller.session, path, digest)

    def map_notebook_path(self, requested_path: str, *, relative: bool) -> str:
        """Return the API path of a notebook that a caller has named by a path.

        Raises
        ------
        InvalidRequest
            If it does not end in ``.ipynb``, or is relative where only absolute paths are accepted.
        NotebookNotFound
            If it is outside the root.
        NotAPlainFile
            If the server has no folder that an absolute path could be in.
        """
        if not requested_path.endswith(_NOTEBOOK):
            message = (
                f"Expected the path of a notebook, which ends in {_NOTEBOOK}; found "
                f"{requested_path[-_MAX_SHOWN:]!r}."
            )
            raise InvalidRequest(message)
        path = to_api_path(self.text_files.manager, requested_path, allow_relative=relative)
        if path is None:
            raise NotebookNotFound
        return path

    def map_file_path(self, requested_path: str, *, relative: bool) -> str:
        """Return the API path of any other file that a caller has named by a path.

        Raises
        ------
        InvalidRequest
            If it is a link to a notebook, or relative where only absolute paths are accepted.
        NotAPlainFile
            If the server has no folder that an absolute path could be in.
        FileNotFound
            If it is outside the root.
        """
        path = to_api_path(self.text_files.manager, requested_path, allow_relative=relative)
        if path is None:
            raise FileNotFound
        if path.endswith(_NOTEBOOK):
            message = (
                f"This path is a link to a notebook, {path[-_MAX_SHOWN:]!r}, whose text is JSON. "
                "Call the notebook by its own path, which ends in .ipynb."
            )
            raise InvalidRequest(message)
        return path

    async def edit(
        self, path: str, plan: OperationFactory, caller: Caller, tool: str, **more: Any
    ) -> EditReply:
        """Edit a notebook, or propose the edit, depending on the mode."""
        await self.check_mode(path)
        more.setdefault("must_have_read", self.read_before_edit)
        author = Author(caller.user, tool, session=caller.session)
        request = WriteRequest(path, author, **more)
        return self._record_result(caller, await self.editor.edit(request, plan))

    async def create(self, path: str, content: bytes, caller: Caller, tool: str) -> EditReply:
        """Create a notebook from its whole text, or propose it, depending on the mode."""
        await self.check_mode(path)
        request = WriteRequest(path, Author(caller.user, tool, session=caller.session))
        return self._record_result(caller, await self.editor.create_from_bytes(request, content))

    def _record_result(self, caller: Caller, reply: EditReply) -> EditReply:
        if reply.proposal_id is not UNSET:
            caller.proposal_ids.append(reply.proposal_id)
        return reply


@dataclass(frozen=True)
class Tool(Generic[Arguments]):
    """A tool of a toolset.

    Parameters
    ----------
    toolset, name
        Its address.
    description
        What it does, for a model that knows nothing about this server.
    arguments_type
        The struct of its arguments; the JSON Schema that models see is made from it.
    call
        Carries out a call and returns its result in the form of the toolset.
    build_failure
        Returns an error in the form of the toolset.
    can_propose
        Whether a call may become a proposal: the tool changes notebooks.
    """

    toolset: str
    name: str
    description: str
    arguments_type: type[Arguments]
    call: Callable[[ToolContext, Caller, Arguments], Awaitable[msgspec.Struct]]
    build_failure: Callable[[ToolError], msgspec.Struct]
    can_propose: bool = True


_REFERENCE = "#/$defs/"


def build_input_schema(arguments_type: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the JSON Schema of a tool's arguments, without references.

    Models follow references badly, and some programs that pass schemas to models do not follow them
    at all. A struct that contains itself is not supported.
    """
    schema = msgspec.json.schema(arguments_type)
    resolved: dict[str, Any] = _resolve(schema, schema.get("$defs", {}))
    # The description of the tool has more in it than that of the struct.
    resolved.pop("description", None)
    return resolved


def _resolve(schema: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(schema, list):
        return [_resolve(item, definitions) for item in schema]
    if not isinstance(schema, dict):
        return schema
    reference = schema.get("$ref")
    if reference is not None:
        schema = {**definitions[reference.removeprefix(_REFERENCE)], **schema}
    omitted_names = {"$ref", "$defs", "title"} if "properties" in schema else {"$ref", "$defs"}
    return {
        name: _resolve(value, definitions)
        for name, value in schema.items()
        if name not in omitted_names
    }
