"""The toolset ``claude_code``: ``Read``, ``Write``, ``Edit`` and ``NotebookEdit``.

Paths are absolute. Whoever changes a file has read it before, as it is now.
"""

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType
from nbformat.validator import get_validator

from jupyter_nbedit.agents.tools.base import (
    Tool,
    ToolContext,
    ToolError,
    ToolResult,
    Toolset,
    note_that_notebook_is_new,
)
from jupyter_nbedit.agents.tools.cell_edit import (
    CELL_TYPE_DESCRIPTION,
    OUTPUTS,
    CellEditInput,
    CellEditResult,
    describe_proposal,
    plan_edit,
)
from jupyter_nbedit.agents.tools.files import (
    MAX_CHARACTERS,
    MAX_LINES,
    Block,
    TextBlock,
    decode_text,
    encode_text,
    number_lines,
    render_file,
    render_notebook,
    replace_string,
)
from jupyter_nbedit.errors import FileNotFound, InvalidNotebook, InvalidRequest, NotebookExists
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.lazy.buffer import compute_sha256
from jupyter_nbedit.notebook.operations import MAX_INTEGER
from jupyter_nbedit.services.reading.models import ReadOptions
from jupyter_nbedit.services.requests import Author, WriteRequest
from jupyter_nbedit.storage.base import Content
from jupyter_nbedit.storage.paths import SUFFIX
from jupyter_nbedit.system.concurrency import run_in_thread_if_large

_LINES_AROUND = 4

FilePath = Annotated[
    str,
    Meta(
        description="The absolute path of the file on the server's file system, below the folder "
        "that the server serves."
    ),
]


class ClaudeCodeOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What the tools answer."""

    content: list[Block]


class ClaudeCodeFailure(ClaudeCodeOutput, frozen=True, kw_only=True):
    """What the tools answer on failure."""

    is_error: Literal[True] = msgspec.field(name="isError", default=True)


def _build_failure(error: ToolError) -> ClaudeCodeFailure:
    return ClaudeCodeFailure(content=[TextBlock(error.describe())])


def _build_result(
    text: str, warnings: Sequence[str] = (), proposal_id: int | UnsetType = UNSET
) -> ToolResult:
    output = ClaudeCodeOutput(content=[TextBlock(" ".join([text, *warnings]))])
    return ToolResult(output, proposal_id)


# Read ---------------------------------------------------------------------------------------------

_READ = (
    "Read a file on the Jupyter server. A text is shown with its lines numbered from 1, as `cat "
    f"-n` does; at most {MAX_LINES} lines at once and {MAX_CHARACTERS} characters of each, and "
    "it says what is left out. A Jupyter notebook (.ipynb) is shown cell by cell, each with its "
    "id, index, type, source and outputs; images are shown as images and PDFs as their text. "
    "Read a file before you change it with Write, Edit or NotebookEdit: they refuse what this "
    "session has not read, or what has changed since. The number and the tab before each line "
    "are not part of the file."
)


class ReadInput(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """What ``Read`` takes."""

    file_path: FilePath
    offset: Annotated[
        int,
        Meta(
            ge=1,
            le=MAX_INTEGER,
            description="The first line to show, counted from 1; of a notebook, the first cell, "
            "counted from 1.",
        ),
    ] = 1
    limit: Annotated[
        int,
        Meta(
            ge=1,
            le=MAX_INTEGER,
            description=f"How many lines to show, {MAX_LINES} at most; of a notebook, how many "
            "cells.",
        ),
    ] = MAX_LINES


async def _read(context: ToolContext, author: Author, arguments: ReadInput) -> ToolResult:
    if arguments.file_path.endswith(SUFFIX):
        path = context.map_notebook_path(arguments.file_path, relative=False)
        options = ReadOptions(
            start=arguments.offset - 1,
            limit=min(arguments.limit, MAX_LINES),
            view="source",
            outputs="full",
            max_chars=MAX_LINES * MAX_CHARACTERS,
        )
        reply = await context.read_notebook(path, options)
        if arguments.offset > max(1, reply.total_cells):
            raise InvalidRequest(
                f"The notebook has {reply.total_cells} cells: expected `offset` from 1 to "
                f"{reply.total_cells}, found {arguments.offset}."
            )
        # Images are checked byte by byte.
        blocks, notebook_hash = await asyncio.to_thread(render_notebook, reply), reply.hash
    else:
        path = context.map_file_path(arguments.file_path, relative=False)
        data = (await context.services.text_files.read(path)).text
        # A PDF takes long even if it is small.
        blocks = await asyncio.to_thread(render_file, data, arguments.offset, arguments.limit)
        notebook_hash = compute_sha256(data)
    context.services.read_tracker.record(author.session, path, notebook_hash)
    return ToolResult(ClaudeCodeOutput(content=blocks))


# Write --------------------------------------------------------------------------------------------

_WRITE = (
    "Write a text file on the Jupyter server: a new one, or a whole new text for one that this "
    "session has read and that has not changed since (read it again if it has). The text is "
    "written as it is given, in UTF-8; an open tab in JupyterLab follows. The folder must exist. "
    "To change a part of a file use Edit. A new Jupyter notebook (.ipynb) may be written if the "
    "text is a valid notebook; one that exists is not overwritten, because its outputs and its "
    "trust would be lost: use NotebookEdit."
)


class WriteInput(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """What ``Write`` takes."""

    file_path: FilePath
    content: Annotated[str, Meta(description="The whole text that the file is to hold.")]


async def _write(context: ToolContext, author: Author, arguments: WriteInput) -> ToolResult:
    text = encode_text(arguments.content)
    if arguments.file_path.endswith(SUFFIX):
        return await _write_notebook(context, author, arguments, text)
    context.check_mode_of_files(author)

    def replace(base: Content | None) -> tuple[bytes, str]:
        return text, _describe_write(arguments.file_path, text, base)

    return await _save(context, author, arguments.file_path, replace)


async def _write_notebook(
    context: ToolContext, author: Author, arguments: WriteInput, text: bytes
) -> ToolResult:
    path = context.map_notebook_path(arguments.file_path, relative=False)
    await run_in_thread_if_large(len(text), _check_notebook, text)
    try:
        with note_that_notebook_is_new():
            reply = await context.services.edits.create_from_bytes(WriteRequest(path, author), text)
    except NotebookExists:
        raise NotebookExists(
            "A notebook exists at this path already, and Write does not overwrite notebooks: "
            "their outputs and their trust would be lost. Change its cells with NotebookEdit, "
            "or choose another name."
        ) from None
    if reply.proposal_id is UNSET:
        sentence = f"Created the notebook {arguments.file_path}."
    else:
        sentence = f"Proposed the notebook {arguments.file_path}. {describe_proposal(reply)}"
    return _build_result(sentence, reply.warnings, reply.proposal_id)


def _check_notebook(text: bytes) -> None:
    """Raise `InvalidNotebook` for a text that Jupyter would not open as a notebook."""
    document = Document.parse(text)
    validator = get_validator(4, document.nbformat_minor)
    if validator is None:
        raise InvalidNotebook(
            f"Expected a notebook of a nbformat that Jupyter knows; found 4."
            f"{document.nbformat_minor}."
        )
    error = next(iter(validator.iter_errors(json.loads(text.decode("utf-8-sig")))), None)
    if error is not None:
        location = "/".join(map(str, error.path))
        raise InvalidNotebook(
            f"`content` is not a valid notebook of nbformat 4.{document.nbformat_minor}: at "
            f"{location or 'its top'}, nbformat found: {error.message[:300]}."
        )


def _describe_write(name: str, text: bytes, base: Content | None) -> str:
    return f"{'Created' if base is None else 'Wrote'} {name} ({len(text)} bytes)."


async def _save(
    context: ToolContext,
    author: Author,
    file_path: str,
    change: Callable[[Content | None], tuple[bytes, str]],
    *,
    must_have_read: bool = True,
) -> ToolResult:
    """Write a file; ``change`` returns its new bytes and a text that describes the change.

    ``change`` is called with the content as it is now, None if there is no file. The session must
    have read it.
    """
    path = context.map_file_path(file_path, relative=False)

    def check_and_change(base: Content | None) -> tuple[bytes, str]:
        if base is not None and must_have_read:
            context.services.read_tracker.require(author.session, path, compute_sha256(base.text))
        return change(base)

    result, description = await context.services.text_files.update(path, check_and_change)
    if result is None:
        return _build_result(f"{file_path} has this content already; nothing was written.")
    # A hook may have changed the bytes.
    if result.text is None:
        context.services.read_tracker.record(author.session, path, result.hash)
    return _build_result(description, result.warnings)


# Edit ---------------------------------------------------------------------------------------------

_EDIT = (
    "Replace an exact text in a text file on the Jupyter server that this session has read and "
    "that has not changed since (read it again if it has). `old_string` must occur in the file "
    "exactly once, including white space and without the line numbers of Read: give enough of "
    "the lines around it, or set `replace_all` to replace every occurrence. All else stays byte "
    "for byte, the file's line ends and its last line too: a line end in `old_string` or "
    "`new_string` means the one that the file has there. An open tab in JupyterLab follows. If "
    "the text is absent or not unique, nothing is written and the error says how often and on "
    "which lines it stands. With an empty `old_string` a new file with the text `new_string` is "
    "made, in a folder that exists, or an empty file gets that text; a file that has content is "
    "refused. For Jupyter notebooks (.ipynb) use NotebookEdit."
)


class EditInput(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """What ``Edit`` takes."""

    file_path: FilePath
    old_string: Annotated[
        str, Meta(description="The exact text to replace; an empty text creates a new file.")
    ]
    new_string: Annotated[str, Meta(description="The replacement; it must be different.")]
    replace_all: Annotated[
        bool, Meta(description="Replace every occurrence; otherwise the text must be unique.")
    ] = False


async def _edit(context: ToolContext, author: Author, arguments: EditInput) -> ToolResult:
    context.check_mode_of_files(author)
    name = arguments.file_path
    if name.endswith(SUFFIX):
        raise InvalidRequest("Edit does not change notebooks. Use NotebookEdit.")
    is_creation = arguments.old_string == "" and arguments.new_string != ""

    def change(base: Content | None) -> tuple[bytes, str]:
        if is_creation and base is not None and base.text:
            raise InvalidRequest(
                "`old_string` is empty, which creates a file, but a file with content exists at "
                f"this path ({len(base.text)} bytes). Send the text to replace, or use Write to "
                "replace the whole file."
            )
        if is_creation:
            data = encode_text(arguments.new_string)
            return data, _describe_write(name, data, base)
        if base is None:
            raise FileNotFound
        text, lines = replace_string(
            decode_text(base.text),
            arguments.old_string,
            arguments.new_string,
            replaces_all=arguments.replace_all,
        )
        return encode_text(text), _describe_replacement(arguments, text, lines)

    return await _save(context, author, name, change, must_have_read=not is_creation)


def _describe_replacement(arguments: EditInput, text: str, lines: Sequence[int]) -> str:
    """Return a sentence, and the lines of the new text around the first replacement."""
    times = "once" if len(lines) == 1 else f"{len(lines)} times"
    position = "" if len(lines) == 1 else ", the first time here"
    first = max(1, lines[0] - _LINES_AROUND)
    line_count = (
        min(arguments.new_string.count("\n"), MAX_LINES) + 1 + lines[0] - first + _LINES_AROUND
    )
    excerpt = f"\n{number_lines(text, first, line_count)}" if text else ""
    return f"Replaced {times} in {arguments.file_path}{position}:{excerpt}"


# NotebookEdit -------------------------------------------------------------------------------------

_NOTEBOOK_EDIT = (
    "Replace, insert or delete one cell of a Jupyter notebook (.ipynb) on the Jupyter server that "
    "this session has read and that has not changed since (read it again if it has; your own "
    "edits count as read). The notebook may be open in JupyterLab: the tab shows the edit at once. "
    "`replace` gives the cell `cell_id` the source `new_source`; `insert` puts a new cell AFTER "
    "the cell `cell_id`, or at the very beginning if `cell_id` is left out or empty, so name the "
    "last cell to append one; `delete` removes the cell. Read shows the ids; an id that no cell "
    f"has is an error that lists up to 10 there are, and nothing is written then. {OUTPUTS}"
)


class NotebookEditInput(CellEditInput, frozen=True, kw_only=True):
    """What ``NotebookEdit`` takes."""

    cell_id: Annotated[
        str,
        Meta(
            description="The id of the cell. Only if no cell has, or had, that id, and no "
            "cell has another id of this form, `cell-N` is the cell at index N, counted from 0. "
            "Required for `replace` and `delete`. For `insert`: the new cell goes after this one, "
            "or at the beginning if it is left out."
        ),
    ] = ""
    new_source: Annotated[
        str,
        Meta(
            description="The whole source of the cell afterwards; `delete` ignores it, so send "
            "an empty text."
        ),
    ]
    cell_type: Annotated[Literal["code", "markdown"], CELL_TYPE_DESCRIPTION] | UnsetType = UNSET


async def _edit_notebook(
    context: ToolContext, author: Author, arguments: NotebookEditInput
) -> ToolResult:
    if arguments.edit_mode != "insert" and arguments.cell_id == "":
        message = f"`{arguments.edit_mode}` needs `cell_id`, the id of the cell; found none."
        raise InvalidRequest(message)
    path = context.map_notebook_path(arguments.notebook_path, relative=False)
    plan = plan_edit(arguments)
    request = WriteRequest(path, author, cell=arguments.cell_id, must_have_read=True)
    reply = await context.services.edits.edit(request, plan)
    description = CellEditResult.from_reply(reply).describe(arguments.notebook_path)
    return _build_result(description, proposal_id=reply.proposal_id)


_TOOLSET = Toolset("claude_code", ClaudeCodeOutput, ClaudeCodeFailure, _build_failure)
TOOLS = (
    Tool(_TOOLSET, "Read", _READ, ReadInput, _read, is_read_only=True),
    Tool(_TOOLSET, "Write", _WRITE, WriteInput, _write),
    Tool(_TOOLSET, "Edit", _EDIT, EditInput, _edit, can_propose=False),
    Tool(_TOOLSET, "NotebookEdit", _NOTEBOOK_EDIT, NotebookEditInput, _edit_notebook),
)
