"""The toolset ``claude_code``: ``Read``, ``Write``, ``HistoryEdit`` and ``NotebookEdit``.

Paths are absolute. Whoever changes a file has read it before, as it is now.
"""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType
from nbformat.validator import get_validator

from jupyter_nbedit.concurrency import run_in_thread_if_large
from jupyter_nbedit.errors import (
    Busy,
    FileNotFound,
    InvalidNotebook,
    InvalidRequest,
    NotebookExists,
)
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.operations import LARGEST_INTEGER
from jupyter_nbedit.notebook.views import ViewOptions
from jupyter_nbedit.reading.models import ReadOptions
from jupyter_nbedit.storage.base import Content, StaleContent, WriteResult
from jupyter_nbedit.tools import results
from jupyter_nbedit.tools.base import Caller, Tool, ToolContext, ToolError
from jupyter_nbedit.tools.line_numbers import MOST_CHARACTERS, MOST_LINES, number_lines
from jupyter_nbedit.tools.notebook_edit import (
    CELL_TYPE_DESCRIPTION,
    OUTPUTS,
    AbsolutePath,
    CellEdit,
    EditMode,
    create_hex_id,
    plan_edit,
)
from jupyter_nbedit.tools.results import (
    Block,
    CellEditResult,
    TextBlock,
    describe_proposal,
)
from jupyter_nbedit.tools.string_replace import replace_string
from jupyter_nbedit.tools.text_encoding import decode_text, encode_text

_NOTEBOOK = ".ipynb"
_ATTEMPTS = 3
_LINES_AROUND = 4

FilePath = Annotated[
    str,
    Meta(
        description="The absolute path of the file on the server's file system, below the folder "
        "that the server serves.",
    ),
]


class ClaudeCodeOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What the tools answer."""

    content: list[Block]


class ClaudeCodeFailure(msgspec.Struct, frozen=True, kw_only=True):
    """What the tools answer on failure."""

    content: list[Block]
    is_error: Literal[True] = msgspec.field(name="isError", default=True)


def _build_failure(error: ToolError) -> ClaudeCodeFailure:
    return ClaudeCodeFailure(content=[TextBlock(error.describe())])


def _build_output(text: str, warnings: list[str]) -> ClaudeCodeOutput:
    return ClaudeCodeOutput(content=[TextBlock(" ".join([text, *warnings]))])


# Read ---------------------------------------------------------------------------------------------

_READ = (
    "Read a file on the Jupyter server. A text is shown with its lines numbered from 1, as `cat "
    f"-n` does; at most {MOST_LINES} lines at once and {MOST_CHARACTERS} characters of each, and "
    "what is left out is said. A Jupyter notebook (.ipynb) is shown cell by cell, each with its "
    "id, index, type, source and outputs; images are shown as images and PDFs as their text. Read "
    "a file before you change it with Write, Edit or NotebookEdit: they refuse what this "
    "session has not read, or what has changed since. The number and the tab before each line are "
    "not part of the file."
)


class ReadInput(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """What ``Read`` takes."""

    file_path: FilePath
    offset: Annotated[
        int,
        Meta(
            ge=1,
            le=LARGEST_INTEGER,
            description="The first line to show, counted from 1; of a notebook, the first cell, "
            "counted from 1.",
        ),
    ] = 1
    limit: Annotated[
        int,
        Meta(
            ge=1,
            le=LARGEST_INTEGER,
            description=f"How many lines to show, {MOST_LINES} at most; of a notebook, how many "
            "cells.",
        ),
    ] = MOST_LINES


async def _read(context: ToolContext, caller: Caller, arguments: ReadInput) -> ClaudeCodeOutput:
    if arguments.file_path.endswith(_NOTEBOOK):
        return await _read_notebook(context, caller, arguments)
    path = context.map_file_path(arguments.file_path, relative=False)
    content = await context.text_files.read(path)
    size = len(content.text)
    blocks = await run_in_thread_if_large(
        size, results.render_file, content.text, arguments.offset, arguments.limit
    )
    context.read_tracker.record(caller.session, path, _compute_sha256(content.text))
    return ClaudeCodeOutput(content=blocks)


async def _read_notebook(
    context: ToolContext, caller: Caller, arguments: ReadInput
) -> ClaudeCodeOutput:
    path = context.map_notebook_path(arguments.file_path, relative=False)
    selection = ReadOptions(
        start=arguments.offset - 1,
        limit=min(arguments.limit, MOST_LINES),
        show=ViewOptions("source", "full"),
        max_chars=MOST_LINES * MOST_CHARACTERS,
    )
    reply = await context.reader.read(path, selection, is_known=lambda _: False)
    if isinstance(reply, str):
        raise TypeError(reply)
    if arguments.offset > max(1, reply.total_cells):
        message = f"The notebook has {reply.total_cells} cells; found `offset` {arguments.offset}."
        raise InvalidRequest(message)
    blocks = results.render_notebook(reply)
    context.read_tracker.record(caller.session, path, reply.hash)
    return ClaudeCodeOutput(content=blocks)


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


async def _write(context: ToolContext, caller: Caller, arguments: WriteInput) -> ClaudeCodeOutput:
    text = encode_text(arguments.content)
    if arguments.file_path.endswith(_NOTEBOOK):
        return await _write_notebook(context, caller, arguments, text)
    await context.check_mode()
    path = context.map_file_path(arguments.file_path, relative=False)
    for _ in range(_ATTEMPTS):
        base = await _read_before(context, caller, path)
        if base is not None and base.text == text:
            return _build_output(
                f"{arguments.file_path} has this content already; nothing was written.", []
            )
        try:
            write_result = await context.text_files.save(path, text, base)
        except StaleContent:
            continue
        _record_read(context, caller, path, text, write_result)
        return _report_write(arguments.file_path, text, write_result, is_new=base is None)
    raise _build_busy_error()


def _report_write(
    name: str, text: bytes, write_result: WriteResult, *, is_new: bool
) -> ClaudeCodeOutput:
    verb = "Created" if is_new else "Wrote"
    return _build_output(f"{verb} {name} ({len(text)} bytes).", write_result.warnings)


async def _write_notebook(
    context: ToolContext, caller: Caller, arguments: WriteInput, text: bytes
) -> ClaudeCodeOutput:
    path = context.map_notebook_path(arguments.file_path, relative=False)
    await context.check_mode(path)
    await run_in_thread_if_large(len(text), _check_notebook, text)
    try:
        reply = await context.create(path, text, caller, "claude_code/Write")
    except NotebookExists:
        message = (
            "There is something at this path already, and Write does not overwrite notebooks: "
            "their outputs and their trust would be lost. Change its cells with NotebookEdit, or "
            "choose another name."
        )
        raise NotebookExists(message) from None
    if reply.proposal_id is not UNSET:
        return _build_output(
            f"Proposed the notebook {arguments.file_path}. {describe_proposal(reply)}",
            reply.warnings,
        )
    return _build_output(f"Created the notebook {arguments.file_path}.", reply.warnings)


def _check_notebook(text: bytes) -> None:
    """Raise an error for a text that Jupyter would not open as a notebook.

    Raises
    ------
    InvalidNotebook
    """
    document = Document.parse(text)
    validator = get_validator(4, document.nbformat_minor)
    if validator is None:
        message = (
            f"Expected a notebook of a nbformat that Jupyter knows; found 4."
            f"{document.nbformat_minor}."
        )
        raise InvalidNotebook(message)
    error = next(iter(validator.iter_errors(json.loads(text.decode("utf-8-sig")))), None)
    if error is not None:
        location = "/".join(map(str, error.path))
        message = (
            f"`content` is not a valid notebook of nbformat 4.{document.nbformat_minor}: at "
            f"{location or 'its top'}, {error.message[:300]}."
        )
        raise InvalidNotebook(message)


async def _read_before(context: ToolContext, caller: Caller, path: str) -> Content | None:
    """Return the content that a write would replace; None if there is no file.

    Raises
    ------
    ReadRequired, HashMismatch
        If the session has not read it as it is.
    """
    base = await _read_if_exists(context, path)
    if base is not None:
        context.read_tracker.require(caller.session, path, _compute_sha256(base.text))
    return base


async def _read_if_exists(context: ToolContext, path: str) -> Content | None:
    """Return the content of a file; None if there is no file."""
    try:
        return await context.text_files.read(path)
    except FileNotFound:
        return None


# Edit ---------------------------------------------------------------------------------------------

_EDIT = (
    "Replace an exact text in a text file on the Jupyter server that this session has read and "
    "that has not changed since (read it again if it has). `old_string` must stand in the file "
    "exactly once, white space included and without the line numbers of Read: give enough of the "
    "lines around it, or set `replace_all` to replace it wherever it stands. All else stays byte "
    "for byte, the file's line ends and its last line too: a line end in `old_string` or "
    "`new_string` means the one that the file has there. An open tab in JupyterLab follows. If the "
    "text is absent or not unique, nothing is written and the error says how often and on which "
    "lines it stands. With an empty `old_string` a new file with the text `new_string` is made, in "
    "a folder that exists, or an empty file gets that text; a file that has content is refused. "
    "For Jupyter notebooks (.ipynb) use NotebookEdit."
)


class EditInput(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """What ``Edit`` takes."""

    file_path: FilePath
    old_string: Annotated[
        str,
        Meta(
            description="The text to replace, exactly as it stands there; an empty text makes a "
            "new file."
        ),
    ]
    new_string: Annotated[str, Meta(description="The text to put there; it must be another.")]
    replace_all: Annotated[
        bool, Meta(description="Replace the text wherever it stands, not only if it is unique.")
    ] = False


async def _edit(context: ToolContext, caller: Caller, arguments: EditInput) -> ClaudeCodeOutput:
    await context.check_mode()
    if arguments.file_path.endswith(_NOTEBOOK):
        message = "Edit does not change notebooks, whose text is JSON. Use NotebookEdit."
        raise InvalidRequest(message)
    path = context.map_file_path(arguments.file_path, relative=False)
    if arguments.old_string == "" and arguments.new_string != "":
        return await _create(context, caller, arguments, path)
    replacements: list[tuple[str, list[int]]] = []

    def change(content: Content) -> bytes:
        context.read_tracker.require(caller.session, path, _compute_sha256(content.text))
        text = decode_text(content.text)
        replacements[:] = [
            replace_string(
                text, arguments.old_string, arguments.new_string, replaces_all=arguments.replace_all
            )
        ]
        return encode_text(replacements[0][0])

    write_result = await context.text_files.update(path, change)
    text, lines = replacements[0]
    if write_result is None:
        message = f"{arguments.file_path} has this content already; nothing was written."
        return _build_output(message, [])
    _record_read(context, caller, path, text.encode(), write_result)
    times = "once" if len(lines) == 1 else f"{len(lines)} times"
    first = max(1, lines[0] - _LINES_AROUND)
    line_count = (
        min(arguments.new_string.count("\n"), MOST_LINES) + 1 + lines[0] - first + _LINES_AROUND
    )
    excerpt = f"\n{number_lines(text, first, line_count)}" if text else ""
    position = "" if len(lines) == 1 else ", the first time here"
    return _build_output(
        f"Replaced {times} in {arguments.file_path}{position}:{excerpt}", write_result.warnings
    )


async def _create(
    context: ToolContext, caller: Caller, arguments: EditInput, path: str
) -> ClaudeCodeOutput:
    """Write a file that does not exist or is empty; no read is needed for that."""
    text = encode_text(arguments.new_string)
    for _ in range(_ATTEMPTS):
        base = await _read_if_exists(context, path)
        if base is not None and base.text:
            message = (
                "`old_string` is empty, which makes a new file, but there is a file with content "
                f"at this path ({len(base.text)} bytes). Give the text to replace, or use Write to "
                "replace the whole file."
            )
            raise InvalidRequest(message)
        try:
            write_result = await context.text_files.save(path, text, base)
        except StaleContent:
            continue
        _record_read(context, caller, path, text, write_result)
        return _report_write(arguments.file_path, text, write_result, is_new=base is None)
    raise _build_busy_error()


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


class NotebookEditInput(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """What ``NotebookEdit`` takes."""

    notebook_path: AbsolutePath
    cell_id: Annotated[
        str,
        Meta(
            description="The id of the cell. Only if no cell has that id, `cell-N` is the cell at "
            "index N, counted from 0. Required for `replace` and `delete`. For `insert`: the new "
            "cell goes after this one, or at the beginning if it is left out.",
        ),
    ] = ""
    new_source: Annotated[
        str,
        Meta(
            description="The whole source of the cell afterwards; `delete` does not look at it, "
            "so send an empty text.",
        ),
    ]
    cell_type: Annotated[Literal["code", "markdown"], CELL_TYPE_DESCRIPTION] | UnsetType = UNSET
    edit_mode: EditMode = "replace"


async def _edit_notebook(
    context: ToolContext, caller: Caller, arguments: NotebookEditInput
) -> ClaudeCodeOutput:
    if arguments.edit_mode != "insert" and arguments.cell_id == "":
        message = f"`{arguments.edit_mode}` needs `cell_id`, the id of the cell; found none."
        raise InvalidRequest(message)
    edit = CellEdit(
        arguments.edit_mode, arguments.cell_id, arguments.new_source, arguments.cell_type
    )
    path = context.map_notebook_path(arguments.notebook_path, relative=False)
    plan = plan_edit(edit, create_id=create_hex_id)
    tool = "claude_code/NotebookEdit"
    reply = await context.edit(path, plan, caller, tool, must_have_read=True)
    return _build_output(CellEditResult.from_reply(reply).describe(arguments.notebook_path), [])


def _compute_sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _record_read(
    context: ToolContext, caller: Caller, path: str, text: bytes, write_result: WriteResult
) -> None:
    """Record written bytes as read by the session, unless a hook has changed them."""
    if write_result.hash == _compute_sha256(text):
        context.read_tracker.record(caller.session, path, write_result.hash)


def _build_busy_error() -> Busy:
    message = "Others keep changing the file. Nothing was written; read it again."
    return Busy(message)


READ = Tool("claude_code", "Read", _READ, ReadInput, _read, _build_failure, can_propose=False)
WRITE = Tool("claude_code", "Write", _WRITE, WriteInput, _write, _build_failure)
EDIT = Tool("claude_code", "Edit", _EDIT, EditInput, _edit, _build_failure, can_propose=False)
NOTEBOOK_EDIT = Tool(
    "claude_code", "NotebookEdit", _NOTEBOOK_EDIT, NotebookEditInput, _edit_notebook, _build_failure
)
