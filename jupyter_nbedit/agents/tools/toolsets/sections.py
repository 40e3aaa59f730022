"""The toolset ``sections``: ``notebook_edit``, on the text under a heading."""

import re
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType
from traitlets import List, Unicode
from traitlets.config import Configurable

from jupyter_nbedit.agents.tools.base import Tool, ToolContext, ToolError, ToolResult, Toolset
from jupyter_nbedit.agents.tools.cell_edit import ProposalId, describe_proposal
from jupyter_nbedit.agents.tools.files import decode_text, encode_text
from jupyter_nbedit.errors import FileNotFound, Forbidden, InvalidRequest
from jupyter_nbedit.notebook import operations, sections
from jupyter_nbedit.notebook.lazy.buffer import compute_sha256
from jupyter_nbedit.services.reading.models import ReadOptions, ReadReply
from jupyter_nbedit.services.requests import Author, WriteRequest
from jupyter_nbedit.storage.base import Content
from jupyter_nbedit.storage.paths import SUFFIX

_DESCRIPTION = (
    "Read or change the content under a heading, in a Markdown file or a Jupyter notebook on "
    "the Jupyter server, while it may be open in JupyterLab: the open tab follows. A section "
    "begins with its heading and ends before the next heading of the same or a higher level. "
    "`read` gives the whole file, or only `section` with its heading; `append_to_section` puts "
    "`content` at the end of the section; `replace_section` puts it in the place of all that "
    "stands under the heading, which stays; `remove_entry` removes the list items of the "
    "section that contain `entry_match`, upper or lower case. A heading is named by its text, "
    "with `#` before it to say its level if several have that text. In a notebook, appended "
    "content becomes a Markdown cell of its own, and all other cells keep their bytes and "
    "outputs. The answer has `success` and a `message`. If there is no such section, or more "
    "than one, or no such entry, `success` is false, the message lists the headings there are, "
    "and nothing was written."
)
_FOLDER = "runtime"
_MARKDOWN = ".md"
_BACKTICKS = re.compile(r"`+")
_MIN_FENCE = 3
# What an action did, and what it is proposed to do.
_SENTENCES = {
    "append_to_section": ("Appended to", "Proposed to append to"),
    "replace_section": ("Replaced", "Proposed to replace"),
    "remove_entry": ("Removed the entry from", "Proposed to remove the entry from"),
}


class SectionsToolset(Configurable):
    """The settings of this toolset, ``c.SectionsToolset`` in Jupyter's configuration."""

    section_files = List(
        Unicode(),
        default_value=["external-communications", "reminders", "standing-orders"],
        config=True,
        help="""Short names of files for the tool `sections/notebook_edit`: each means the Markdown
        file of that name in the folder `runtime` below the root, such as `runtime/reminders.md`.
        The default is external-communications, reminders and standing-orders. The tool accepts the
        path of any Markdown file or notebook as well.""",
    )

    owners = List(
        Unicode(),
        config=True,
        help="""The names of the users who may call the tool `sections/notebook_edit`; for others it
        is an error, 403 `forbidden`. Empty (the default) means every user with write permission.
        The names are those of the server's identity provider. Jupyter's own provider makes up a
        name for each request with a token, so use this only with JupyterHub or another
        provider.""",
    )


class SectionsInput(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """What ``notebook_edit`` takes."""

    file: Annotated[
        str,
        Meta(
            description="The file: one of the configured names (by default "
            "external-communications, reminders, standing-orders), or the path of a "
            "file that ends in .md or .ipynb. The path is relative to the folder that the "
            "server serves, or absolute and below it."
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
                extra_json_schema={"maxLength": operations.MAX_SECTION_NAME_LENGTH},
                description="The text of the section's heading. Required but for `read`, which "
                "without it gives the whole file.",
            ),
        ]
        | UnsetType
    ) = UNSET
    content: Annotated[
        str | UnsetType,
        Meta(
            description="The Markdown to put there. Required for `append_to_section` and "
            "`replace_section`; the others ignore it."
        ),
    ] = UNSET
    entry_match: Annotated[
        str | UnsetType,
        Meta(
            description="A part of the text of the list items to remove. Required for "
            "`remove_entry`; the others ignore it."
        ),
    ] = UNSET


class SectionsOutput(msgspec.Struct, frozen=True, kw_only=True):
    """What ``notebook_edit`` answers, also on failure; ``content`` is what was read."""

    success: bool
    message: str
    content: str | UnsetType = UNSET
    proposal_id: ProposalId | UnsetType = UNSET


async def _run(context: ToolContext, author: Author, arguments: SectionsInput) -> ToolResult:
    # Who has no name has no account either, and is no owner, whatever the setting says.
    if context.owners and not (author.account and author.account in context.owners):
        message = "Only the owners of this server may use this tool (SectionsToolset.owners)."
        raise Forbidden(message)
    if arguments.section is not UNSET:
        sections.check_section_name(arguments.section)
    name = _build_path(context, arguments.file)
    if arguments.action == "read":
        return await _read(context, author, arguments, name)
    operation = _build_operation(arguments)
    if name.endswith(SUFFIX):
        path = context.map_notebook_path(name, relative=True)
        reply = await context.services.edits.edit(WriteRequest(path, author), [operation])
        if reply.proposal_id is UNSET:
            sentence = _describe(arguments, is_changed=reply.is_written)
        else:
            proposal = f"{_SENTENCES[arguments.action][1]} {_name_section(arguments)}."
            sentence = f"{proposal} {describe_proposal(reply)}"
        message = " ".join([sentence, *reply.warnings])
        output = SectionsOutput(success=True, message=message, proposal_id=reply.proposal_id)
        return ToolResult(output, reply.proposal_id)
    context.check_mode_of_files(author)
    path = context.map_file_path(name, relative=True)

    def change(base: Content | None) -> tuple[bytes, None]:
        if base is None:
            raise FileNotFound
        return encode_text(sections.apply_to_text(decode_text(base.text), operation)), None

    result, _ = await context.services.text_files.update(path, change)
    warnings = [] if result is None else result.warnings
    message = " ".join([_describe(arguments, is_changed=result is not None), *warnings])
    return ToolResult(SectionsOutput(success=True, message=message))


def _build_path(context: ToolContext, file: str) -> str:
    if file in context.section_files:
        return f"{_FOLDER}/{file}{_MARKDOWN}"
    if file.endswith((_MARKDOWN, SUFFIX)):
        return file
    names = ", ".join(context.section_files)
    raise InvalidRequest(
        f"Expected `file` to be one of {names}, or a path that ends in {_MARKDOWN} or {SUFFIX}; "
        f"found {file[-200:]!r}."
    )


def _build_operation(arguments: SectionsInput) -> sections.SectionOperation:
    section = _get_required(arguments, "section")
    if arguments.action == "remove_entry":
        match = _get_required(arguments, "entry_match")
        if not match.strip():
            message = "`entry_match` is empty, and would remove every entry; found no text in it."
            raise InvalidRequest(message)
        return operations.RemoveEntry(section=section, match=match)
    content = _get_required(arguments, "content")
    if arguments.action == "append_to_section":
        return operations.AppendToSection(section=section, source=content)
    return operations.ReplaceSection(section=section, source=content)


def _get_required(arguments: SectionsInput, name: str) -> str:
    value = getattr(arguments, name)
    if value is UNSET:
        raise InvalidRequest(f"`{arguments.action}` needs `{name}`; found none.")
    return str(value)


async def _read(
    context: ToolContext, author: Author, arguments: SectionsInput, name: str
) -> ToolResult:
    section = arguments.section
    if name.endswith(SUFFIX):
        path = context.map_notebook_path(name, relative=True)
        names = [] if section is UNSET else [section]
        options = ReadOptions(section=names, view="source", outputs="none")
        content = _render_markdown(await context.read_notebook(path, options, author.session))
    else:
        path = context.map_file_path(name, relative=True)
        data = (await context.services.text_files.read(path)).text
        content = decode_text(data)
        if section is not UNSET:
            content = sections.read(content, section)
        context.services.read_tracker.record(author.session, path, compute_sha256(data))
    subject = arguments.file if section is UNSET else _name_section(arguments)
    return ToolResult(SectionsOutput(success=True, message=f"This is {subject}.", content=content))


def _render_markdown(reply: ReadReply) -> str:
    """Return a notebook's sources as Markdown, with fences around code."""
    parts = []
    for cell in reply.cells:
        source = "" if cell.source is UNSET else cell.source
        if cell.cell_type == "code":
            longest = max(map(len, _BACKTICKS.findall(source)), default=0)
            fence = "`" * max(_MIN_FENCE, longest + 1)
            source = f"{fence}{reply.language or ''}\n{source}\n{fence}"
        parts.append(source)
    return "\n\n".join(parts)


def _describe(arguments: SectionsInput, *, is_changed: bool) -> str:
    if not is_changed:
        return f"Nothing to change: {_name_section(arguments)} has this content already."
    return f"{_SENTENCES[arguments.action][0]} {_name_section(arguments)}."


def _name_section(arguments: SectionsInput) -> str:
    return f"the section {arguments.section!r} of {arguments.file}"


def _build_failure(error: ToolError) -> SectionsOutput:
    return SectionsOutput(success=False, message=error.describe())


_TOOLSET = Toolset("sections", SectionsOutput, SectionsOutput, _build_failure)
TOOLS = (Tool(_TOOLSET, "notebook_edit", _DESCRIPTION, SectionsInput, _run),)
