"""The toolset ``sections``: ``notebook_edit``, on the text under a heading."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from jupyter_nbedit.errors import Forbidden, InvalidRequest
from jupyter_nbedit.notebook import sections
from jupyter_nbedit.notebook.operations import (
    LONGEST_SECTION_NAME,
    AppendToSection,
    Operation,
    RemoveEntry,
    ReplaceSection,
)
from jupyter_nbedit.notebook.views import ViewOptions
from jupyter_nbedit.reading.models import ReadOptions, ReadReply
from jupyter_nbedit.storage.base import Content
from jupyter_nbedit.tools.base import Caller, Tool, ToolContext, ToolError
from jupyter_nbedit.tools.results import ProposalId, describe_proposal
from jupyter_nbedit.tools.text_encoding import decode_text, encode_text

_DESCRIPTION = (
    "Read or change what stands under a heading, in a Markdown file or a Jupyter notebook on the "
    "Jupyter server, while it may be open in JupyterLab: the open tab follows. A section begins "
    "with its heading and ends before the next heading of the same or a higher level. `read` gives "
    "the whole file, or only `section` with its heading; `append_to_section` puts `content` at the "
    "end of the section; `replace_section` puts it in the place of all that stands under the "
    "heading, which stays; `remove_entry` removes the list items of the section that contain "
    "`entry_match`, upper or lower case. A heading is named by its text, with `#` before it to say "
    "its level if several have that text. In a notebook, appended content becomes a Markdown cell "
    "of its own, and all other cells keep their bytes and outputs. The answer has `success` and a "
    "`message`. If there is no such section, or more than one, or no such entry, `success` is "
    "false, the message lists the headings there are, and nothing was written."
)
_FOLDER = "runtime"
_MARKDOWN, _NOTEBOOK = ".md", ".ipynb"
_NAME = "sections/notebook_edit"
_BACKTICKS = re.compile(r"`+")
_SHORTEST_FENCE = 3


class SectionsInput(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """What ``notebook_edit`` takes."""

    file: Annotated[
        str,
        Meta(
            description="Which file: one of the names this server is set up with (by default "
            "external-communications, reminders, standing-orders), or the path of a file that ends "
            "in .md or .ipynb, relative to the folder that the server serves or absolute and below "
            "it.",
        ),
    ]
    action: Annotated[
        Literal["read", "append_to_section", "replace_section", "remove_entry"],
        Meta(description="What to do with the file, or with its section."),
    ]
    section: (
        Annotated[
            str,
            Meta(
                extra_json_schema={"maxLength": LONGEST_SECTION_NAME},
                description="The text of the section's heading. Required but for `read`, which "
                "without it gives the whole file.",
            ),
        ]
        | UnsetType
    ) = UNSET
    content: (
        Annotated[
            str,
            Meta(
                description="The Markdown to put there. Required for `append_to_section` and "
                "`replace_section`; the others do not look at it.",
            ),
        ]
        | UnsetType
    ) = UNSET
    entry_match: (
        Annotated[
            str,
            Meta(
                description="A part of what the list items to remove say. Required for "
                "`remove_entry`; the others do not look at it.",
            ),
        ]
        | UnsetType
    ) = UNSET


class SectionsOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What ``notebook_edit`` answers, also on failure; ``content`` is what was read."""

    success: bool
    message: str
    content: str | UnsetType = UNSET
    proposal_id: ProposalId | UnsetType = UNSET


async def _call(context: ToolContext, caller: Caller, arguments: SectionsInput) -> SectionsOutput:
    if context.owners and caller.user not in context.owners:
        message = "Only the owners of this server may use this tool (NbEditApp.owners)."
        raise Forbidden(message)
    if arguments.section is not UNSET:
        sections.check_section_name(arguments.section)
    name = _build_path(context, arguments.file)
    if arguments.action == "read":
        return await _read(context, caller, arguments, name)
    section_edit = _plan_edit(arguments)
    if name.endswith(_NOTEBOOK):
        return await _edit_notebook(context, caller, arguments, section_edit)
    await context.check_mode()
    path = context.map_file_path(name, relative=True)

    def change(content: Content) -> bytes:
        return encode_text(section_edit.edit_text(decode_text(content.text)))

    write_result = await context.text_files.update(path, change)
    if write_result is None:
        return SectionsOutput(success=True, message=_describe_no_change(arguments))
    return SectionsOutput(
        success=True, message=" ".join([_describe_edit(arguments), *write_result.warnings])
    )


def _build_path(context: ToolContext, file: str) -> str:
    if file in context.section_files:
        return f"{_FOLDER}/{file}{_MARKDOWN}"
    if file.endswith((_MARKDOWN, _NOTEBOOK)):
        return file
    names = ", ".join(context.section_files)
    message = (
        f"Expected `file` to be one of {names}, or a path that ends in {_MARKDOWN} or {_NOTEBOOK}; "
        f"found {file[-200:]!r}."
    )
    raise InvalidRequest(message)


class _SectionEdit(msgspec.Struct, frozen=True):
    """A change of a section: in a Markdown text, and as an operation on a notebook."""

    edit_text: Callable[[str], str]
    operation: Operation


def _plan_edit(arguments: SectionsInput) -> _SectionEdit:
    section = _get_required(arguments, "section")
    if arguments.action == "remove_entry":
        match = _get_required(arguments, "entry_match")
        if not match.strip():
            message = "`entry_match` is empty, and would remove every entry; found no text in it."
            raise InvalidRequest(message)
        return _SectionEdit(
            lambda text: sections.remove_entry(text, section, match)[0],
            RemoveEntry(section=section, match=match),
        )
    content = _get_required(arguments, "content")
    if arguments.action == "append_to_section":
        return _SectionEdit(
            lambda text: sections.append(text, section, content),
            AppendToSection(section=section, source=content),
        )
    return _SectionEdit(
        lambda text: sections.replace(text, section, content),
        ReplaceSection(section=section, source=content),
    )


def _get_required(arguments: SectionsInput, name: str) -> str:
    value = getattr(arguments, name)
    if value is UNSET:
        message = f"`{arguments.action}` needs `{name}`; found none."
        raise InvalidRequest(message)
    return str(value)


async def _edit_notebook(
    context: ToolContext, caller: Caller, arguments: SectionsInput, section_edit: _SectionEdit
) -> SectionsOutput:
    path = context.map_notebook_path(arguments.file, relative=True)
    reply = await context.edit(path, lambda _: [section_edit.operation], caller, _NAME)
    if reply.proposal_id is not UNSET:
        sentence = f"{_describe_proposal(arguments)} {describe_proposal(reply)}"
    else:
        sentence = _describe_edit(arguments) if reply.is_written else _describe_no_change(arguments)
    message = " ".join([sentence, *reply.warnings])
    return SectionsOutput(success=True, message=message, proposal_id=reply.proposal_id)


async def _read(
    context: ToolContext, caller: Caller, arguments: SectionsInput, name: str
) -> SectionsOutput:
    if name.endswith(_NOTEBOOK):
        path = context.map_notebook_path(name, relative=True)
        section_names = [] if arguments.section is UNSET else [arguments.section]
        selection = ReadOptions(
            sections=section_names, show=ViewOptions("source", "none"), session=caller.session
        )
        reply = await context.reader.read(path, selection, is_known=lambda _: False)
        if isinstance(reply, str):
            raise TypeError(reply)
        content = _render_markdown(reply)
    else:
        path = context.map_file_path(name, relative=True)
        file_content = await context.text_files.read(path)
        content = decode_text(file_content.text)
        if arguments.section is not UNSET:
            content = sections.read(content, arguments.section)
        context.read_tracker.record(
            caller.session, path, hashlib.sha256(file_content.text).hexdigest()
        )
    subject = (
        arguments.file
        if arguments.section is UNSET
        else f"the section {arguments.section!r} of {arguments.file}"
    )
    return SectionsOutput(success=True, message=f"This is {subject}.", content=content)


def _render_markdown(reply: ReadReply) -> str:
    """Return a notebook's sources as Markdown, with fences around code."""
    parts = []
    for cell in reply.cells:
        source = "" if cell.source is UNSET else cell.source
        if cell.cell_type == "code":
            longest = max(map(len, _BACKTICKS.findall(source)), default=0)
            fence = "`" * max(_SHORTEST_FENCE, longest + 1)
            source = f"{fence}{reply.language or ''}\n{source}\n{fence}"
        parts.append(source)
    return "\n\n".join(parts)


_DONE_SENTENCES = {
    "append_to_section": "Appended to the section",
    "replace_section": "Replaced the section",
    "remove_entry": "Removed the entry from the section",
}


def _describe_edit(arguments: SectionsInput) -> str:
    return f"{_DONE_SENTENCES[arguments.action]} {arguments.section!r} of {arguments.file}."


_PROPOSED_SENTENCES = {
    "append_to_section": "Proposed to append to the section",
    "replace_section": "Proposed to replace the section",
    "remove_entry": "Proposed to remove the entry from the section",
}


def _describe_proposal(arguments: SectionsInput) -> str:
    return f"{_PROPOSED_SENTENCES[arguments.action]} {arguments.section!r} of {arguments.file}."


def _describe_no_change(arguments: SectionsInput) -> str:
    section = f"the section {arguments.section!r} of {arguments.file}"
    return f"Nothing to change: {section} has this content already."


def _build_failure(error: ToolError) -> SectionsOutput:
    return SectionsOutput(success=False, message=error.describe())


NOTEBOOK_EDIT = Tool(
    "sections", "notebook_edit", _DESCRIPTION, SectionsInput, _call, _build_failure
)
