"""The dialect ``sections``: ``notebook_edit``, on what stands under a heading."""

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
from jupyter_nbedit.notebook.views import Show
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


class Input(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
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


class Output(msgspec.Struct, frozen=True, kw_only=True):
    """What it answers, whether it was done or not; ``content`` is what was read."""

    success: bool
    message: str
    content: str | UnsetType = UNSET
    proposal_id: ProposalId | UnsetType = UNSET


async def _call(services: ToolContext, caller: Caller, given: Input) -> Output:
    if services.owners and caller.user not in services.owners:
        message = "Only the owners of this server may use this tool (NbEditApp.owners)."
        raise Forbidden(message)
    if given.section is not UNSET:
        sections.check_section_name(given.section)
    name = _build_path(services, given.file)
    if given.action == "read":
        return await _read(services, caller, given, name)
    wanted = _plan_edit(given)
    if name.endswith(_NOTEBOOK):
        return await _edit_notebook(services, caller, given, wanted)
    await services.check_mode()
    path = services.map_file_path(name, relative=True)

    def change(content: Content) -> bytes:
        return encode_text(wanted.on_text(decode_text(content.text)))

    written = await services.texts.update(path, change)
    if written is None:
        return Output(success=True, message=_describe_no_change(given))
    return Output(success=True, message=" ".join([_describe_edit(given), *written.warnings]))


def _build_path(services: ToolContext, file: str) -> str:
    if file in services.section_files:
        return f"{_FOLDER}/{file}{_MARKDOWN}"
    if file.endswith((_MARKDOWN, _NOTEBOOK)):
        return file
    names = ", ".join(services.section_files)
    message = (
        f"Expected `file` to be one of {names}, or a path that ends in {_MARKDOWN} or {_NOTEBOOK}; "
        f"found {file[-200:]!r}."
    )
    raise InvalidRequest(message)


class _SectionEdit(msgspec.Struct, frozen=True):
    """A change, as it is made to a text and to a notebook."""

    on_text: Callable[[str], str]
    on_notebook: Operation


def _plan_edit(given: Input) -> _SectionEdit:
    section = _get_required(given, "section")
    if given.action == "remove_entry":
        match = _get_required(given, "entry_match")
        if not match.strip():
            message = "`entry_match` is empty, and would remove every entry; found no text in it."
            raise InvalidRequest(message)
        return _SectionEdit(
            lambda text: sections.remove_entry(text, section, match)[0],
            RemoveEntry(section=section, match=match),
        )
    content = _get_required(given, "content")
    if given.action == "append_to_section":
        return _SectionEdit(
            lambda text: sections.append(text, section, content),
            AppendToSection(section=section, source=content),
        )
    return _SectionEdit(
        lambda text: sections.replace(text, section, content),
        ReplaceSection(section=section, source=content),
    )


def _get_required(given: Input, name: str) -> str:
    value = getattr(given, name)
    if value is UNSET:
        message = f"`{given.action}` needs `{name}`; found none."
        raise InvalidRequest(message)
    return str(value)


async def _edit_notebook(
    services: ToolContext, caller: Caller, given: Input, wanted: _SectionEdit
) -> Output:
    path = services.map_notebook_path(given.file, relative=True)
    reply = await services.edit(path, lambda _: [wanted.on_notebook], caller, _NAME)
    if reply.proposal_id is not UNSET:
        said = f"{_describe_proposal(given)} {describe_proposal(reply)}"
    else:
        said = _describe_edit(given) if reply.is_written else _describe_no_change(given)
    message = " ".join([said, *reply.warnings])
    return Output(success=True, message=message, proposal_id=reply.proposal_id)


async def _read(services: ToolContext, caller: Caller, given: Input, name: str) -> Output:
    if name.endswith(_NOTEBOOK):
        path = services.map_notebook_path(name, relative=True)
        chosen = [] if given.section is UNSET else [given.section]
        selection = ReadOptions(
            sections=chosen, show=Show("source", "none"), session=caller.session
        )
        reply = await services.reader.read(path, selection, known=lambda _: False)
        if isinstance(reply, str):
            raise TypeError(reply)
        content = _render_markdown(reply)
    else:
        path = services.map_file_path(name, relative=True)
        read = await services.texts.read(path)
        content = decode_text(read.text)
        if given.section is not UNSET:
            content = sections.read(content, given.section)
        services.readings.record(caller.session, path, hashlib.sha256(read.text).hexdigest())
    of = given.file if given.section is UNSET else f"the section {given.section!r} of {given.file}"
    return Output(success=True, message=f"This is {of}.", content=content)


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


_DONE = {
    "append_to_section": "Appended to the section",
    "replace_section": "Replaced the section",
    "remove_entry": "Removed the entry from the section",
}


def _describe_edit(given: Input) -> str:
    return f"{_DONE[given.action]} {given.section!r} of {given.file}."


_PROPOSED = {
    "append_to_section": "Proposed to append to the section",
    "replace_section": "Proposed to replace the section",
    "remove_entry": "Proposed to remove the entry from the section",
}


def _describe_proposal(given: Input) -> str:
    return f"{_PROPOSED[given.action]} {given.section!r} of {given.file}."


def _describe_no_change(given: Input) -> str:
    return f"Nothing to change: the section {given.section!r} of {given.file} is so already."


def _refuse(refusal: ToolError) -> Output:
    return Output(success=False, message=refusal.describe())


NOTEBOOK_EDIT = Tool("sections", "notebook_edit", _DESCRIPTION, Input, _call, _refuse)
