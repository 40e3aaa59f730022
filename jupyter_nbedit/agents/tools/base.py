"""`Tool`, and what the tools of every toolset share: toolsets, services and paths."""

import hashlib
import os
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from jupyter_nbedit import errors
from jupyter_nbedit.notebook.shown_text import quote_name, read_name
from jupyter_nbedit.services.all_services import Services
from jupyter_nbedit.services.policy import build_refusal, decide
from jupyter_nbedit.services.reading.models import ReadOptions, ReadReply
from jupyter_nbedit.services.replies import EditReply
from jupyter_nbedit.services.requests import Author
from jupyter_nbedit.storage.api_paths import to_api_path
from jupyter_nbedit.storage.paths import SUFFIX, check_suffix, is_unsafe
from jupyter_nbedit.system.lru import LRUCache

Arguments = TypeVar("Arguments", bound=msgspec.Struct)

# The message of `NotebookNotFound` describes paths of the REST API; paths of tools differ.
_NO_NOTEBOOK = (
    "There is no notebook at this path. Expected the path of an existing file that ends in .ipynb, "
    "under the folder that this server serves."
)

_MAX_PART_LENGTH = 100
_MAX_SESSIONS = 100
_NO_FOLDER = (
    "There is no folder {0!r} for the new notebook, or this server does not show it. Create the "
    "folder first, or send a path in an existing folder, under the folder that this server serves."
)
_HIDDEN = (
    "{0!r} in this path is hidden, and this server shows no hidden files, whether they exist. Use "
    "another path; a person can set `ContentsManager.allow_hidden`, or start a server in that "
    "folder."
)


@dataclass(frozen=True)
class ToolError:
    """An error that a toolset renders in its own form; ``arguments`` are what the body has."""

    reason: str
    message: str
    details: Mapping[str, Any]
    arguments: Mapping[str, Any]

    @property
    def notebook(self) -> str | None:
        """The path of the notebook in the arguments, to name in the error; None without a path."""
        path = self.arguments.get("notebook_path")
        return path if isinstance(path, str) else None

    def get_message(self) -> str:
        """Return the message, in words for the paths of tools."""
        if self.reason != errors.NotebookNotFound.reason:
            return self.message
        names = ("path", "notebook_path", "file_path", "folder")
        found = (self.arguments.get(name) for name in names)
        path = read_name(next((path for path in found if isinstance(path, str)), ""))
        parts = path.replace(os.sep, "/").split("/")
        # The message names only what the caller has sent, and not where links lead; whether it
        # exists makes no difference.
        hidden = self.details.get("hidden")
        if hidden in parts:
            return _HIDDEN.format(str(hidden)[:_MAX_PART_LENGTH])
        if self.details.get("is_new") and parts[:-1]:
            return _NO_FOLDER.format(parts[-2][:_MAX_PART_LENGTH])
        # That of a missing folder has the same reason.
        return self.message if "folder" in self.arguments else _NO_NOTEBOOK

    def describe(self) -> str:
        """Return the message, with the details that help a model to correct its call."""
        sentences = [self.get_message()]
        if available := self.details.get("available_ids"):
            sentences.append(f"Available ids: {_list_names(available)}.")
        if outline := self.details.get("outline"):
            headings = (f"{'#' * heading['level']} {heading['text']}" for heading in outline)
            sentences.append(f"The headings are: {_list_names(headings)}.")
        return " ".join(sentences)


def _list_names(names: Iterable[str]) -> str:
    return ", ".join(repr(name) if name.isprintable() else quote_name(name) for name in names)


class ShownDiffs:
    """Remembers the last dry run of each session, so that its diff is not shown again."""

    def __init__(self) -> None:
        self._diffs: LRUCache[str, bytes] = LRUCache(_MAX_SESSIONS)

    def recognize(self, session: str, reply: EditReply) -> bool:
        """Return whether a change equals the last dry run of the session; remember a dry run."""
        known, diff = self._diffs.get(session), _hash_diff(reply)
        if reply.dry_run:
            self._diffs.put(session, diff)
            return False
        self._diffs.remove(session)
        return known == diff


def _hash_diff(reply: EditReply) -> bytes:
    text = f"{reply.path}\n{reply.hash_before}\n{reply.diff}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


@dataclass(frozen=True)
class ToolContext:
    """What tools need: the services, and the settings of the toolset ``sections``."""

    services: Services
    section_files: Sequence[str]
    owners: Sequence[str]
    shown_diffs: ShownDiffs = field(default_factory=ShownDiffs)

    def map_notebook_path(self, requested_path: str, *, relative: bool) -> str:
        """Return the API path of a notebook that a caller has named by a path, quoted or not.

        Raise `NotebookNotFound` if it is outside the root; `InvalidRequest` if it does not end in
        ``.ipynb``, or is relative where only absolute paths are accepted; `NotAPlainFile` if the
        server has no folder that an absolute path could be in.
        """
        check_suffix(read_name(requested_path))
        path = self._map_path(requested_path, errors.NotebookNotFound(), relative=relative)
        self._check_not_hidden(path, errors.NotebookNotFound())
        return path

    def map_folder_path(self, requested_path: str) -> str:
        """Return the API path of a folder, or of a notebook; the root is the empty path.

        Raise `FolderNotFound` if it is outside the root, else errors as `map_notebook_path` does.
        """
        if not read_name(requested_path).strip("/"):
            return ""
        path = self._map_path(requested_path, errors.FolderNotFound(), relative=True)
        self._check_not_hidden(path, errors.FolderNotFound())
        return path

    def map_file_path(self, requested_path: str, *, relative: bool) -> str:
        """Return the API path of any other file; raise errors as `map_notebook_path` does."""
        path = self._map_path(requested_path, errors.FileNotFound(), relative=relative)
        if path.endswith(SUFFIX):
            raise errors.InvalidRequest(
                f"This path is a link to a notebook, {path[-200:]!r}, whose text is JSON. Use "
                "the path of the notebook itself, which ends in .ipynb."
            )
        return path

    def _map_path(self, requested_path: str, error: errors.NbEditError, *, relative: bool) -> str:
        """Return an API path; raise an error for a path that is outside the root."""
        manager = self.services.text_files.manager
        path = to_api_path(manager, read_name(requested_path), allow_relative=relative)
        if path is None:
            raise error
        return path

    def _check_not_hidden(self, path: str, error: errors.NotebookNotFound) -> None:
        """Raise an error with the part of a path that is hidden by its name, if there is one."""
        if self.services.text_files.manager.allow_hidden or is_unsafe(path):
            return
        # Two dots are an attempt to leave the root, about which nothing is said.
        hidden = (part for part in path.split("/") if part[:1] == "." != part[1:2])
        if (part := next(hidden, None)) is not None:
            error.details["hidden"] = part
            raise error

    async def read_notebook(self, path: str, options: ReadOptions, session: str = "") -> ReadReply:
        """Read a notebook; the session has then read it."""
        reply = await self.services.reader.read(
            path, options, session=session, is_known=lambda _: False
        )
        if isinstance(reply, str):
            raise TypeError(reply)
        return reply

    def check_mode_of_files(self, author: Author) -> None:
        """Raise `PlanMode` if the server is in plan mode; only notebooks have modes themselves."""
        mode = self.services.modes.server
        if decide("edit_text_file", author, mode, mode) == "refuse":
            raise build_refusal("edit_text_file", author, mode, mode)


@contextmanager
def note_that_notebook_is_new() -> Iterator[None]:
    """Say of a path that is not found that it was for a new notebook."""
    try:
        yield
    except errors.NotebookNotFound as error:
        error.details["is_new"] = True
        raise


@dataclass(frozen=True)
class ToolResult:
    """The result of a call in the form of its toolset, and the number of the proposal it made."""

    output: msgspec.Struct
    proposal_id: int | UnsetType = UNSET


@dataclass(frozen=True)
class Toolset:
    """A kind of agent: the types of its results and errors, and the function that builds errors.

    With ``has_compact_schemas`` the schemas have only what all clients accept and models need.
    """

    name: str
    output_type: type[msgspec.Struct]
    failure_type: type[msgspec.Struct]
    build_failure: Callable[[ToolError], msgspec.Struct]
    has_compact_schemas: bool = False


class ToolAnnotations(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What a tool may do. No tool reaches beyond the notebooks and files of the server."""

    read_only_hint: bool
    destructive_hint: bool
    idempotent_hint: bool
    open_world_hint: Literal[False] = False


@dataclass(frozen=True)
class Tool(Generic[Arguments]):
    """A tool of a toolset.

    The description is for a model that knows nothing about this server. The JSON Schema, which is
    made from the type of the arguments, is for the same model. The author that ``run`` gets has the
    address of the tool as its client, unless the request names another. A tool that only reads
    needs only permission to read, and so does a call of a tool with ``is_change`` that changes
    nothing. Of the others, one that can propose changes notebooks, and a destructive one can remove
    something.
    """

    toolset: Toolset
    name: str
    description: str
    arguments_type: type[Arguments]
    run: Callable[[ToolContext, Author, Arguments], Awaitable[ToolResult]]
    can_propose: bool = True
    title: str = ""
    is_read_only: bool = False
    is_destructive: bool = True
    is_change: Callable[[Arguments], bool] | None = None

    @property
    def right(self) -> Literal["read", "write"]:
        """The permission for every call; if `is_change` is true, a call also needs ``write``."""
        return "read" if self.is_read_only or self.is_change is not None else "write"

    @property
    def annotations(self) -> ToolAnnotations:
        """What it may do, as in the Model Context Protocol."""
        return ToolAnnotations(
            read_only_hint=self.is_read_only,
            destructive_hint=self.is_destructive and not self.is_read_only,
            # The others change the notebook again.
            idempotent_hint=self.is_read_only,
        )


def build_input_schema(tool: Tool[Any]) -> dict[str, Any]:
    """Return the JSON Schema of a tool's arguments, which are of plain types, without references.

    Models follow references badly, and some programs that pass schemas to models do not follow them
    at all.
    """
    definitions = msgspec.json.schema(tool.arguments_type)["$defs"]
    root = definitions[tool.arguments_type.__name__]
    schema = _inline_references(root, definitions)
    if tool.toolset.has_compact_schemas:
        schema = _compact_schema(schema)
    # The description of the tool says more than the description of the struct.
    return {name: value for name, value in schema.items() if name not in {"title", "description"}}


def build_mcp_definition(tool: Tool[Any]) -> dict[str, Any]:
    """Return the definition of a tool as the Model Context Protocol has it."""
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": build_input_schema(tool),
        "annotations": msgspec.to_builtins(tool.annotations),
    }


def _inline_references(schema: Any, definitions: Mapping[str, Any]) -> Any:
    if isinstance(schema, list):
        return [_inline_references(item, definitions) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        schema = definitions[schema["$ref"].rpartition("/")[2]]
    return {name: _inline_references(value, definitions) for name, value in schema.items()}


# Gemini refuses some of them, and all cost characters in each conversation; the server checks them.
_DROPPED_KEYWORDS = frozenset(
    (
        "additionalProperties",
        "default",
        "maxItems",
        "maxLength",
        "maximum",
        "minItems",
        "minLength",
        "minimum",
        "pattern",
        "title",
    )
)


def _compact_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema of which Gemini and Codex take every part."""
    compact = {name: value for name, value in schema.items() if name not in _DROPPED_KEYWORDS}
    if "enum" in compact:
        compact = {"type": "string", **compact}
    if "items" in compact:
        compact["items"] = _compact_schema(compact["items"])
    if "properties" in compact:
        compact["properties"] = {
            name: _compact_schema(value) for name, value in compact["properties"].items()
        }
        # The docstring of a struct is not for models.
        compact.pop("description", None)
    if not compact.get("required", True):
        del compact["required"]
    return compact
