"""One notebook: read it, edit it."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

import msgspec
from jupyter_server.auth.decorator import authorized
from jupyter_server.utils import url_escape, url_path_join
from msgspec import UNSET, Meta, UnsetType
from tornado import web

from jupyter_nbedit.errors import (
    AmbiguousCell,
    AmbiguousSection,
    CellNotFound,
    HashMismatch,
    InvalidOperation,
    InvalidRequest,
    ReadRequired,
    SectionNotFound,
    VersionUnknown,
)
from jupyter_nbedit.handlers.contract import (
    ETAG,
    IDEMPOTENCY_KEY,
    IF_MATCH,
    IF_NONE_MATCH,
    IF_NONE_MATCH_ANY,
    LOCATION,
    OF_CREATING,
    OF_OPERATIONS,
    OF_READING,
    OF_WRITING,
    SESSION,
    Contract,
    Reply,
)
from jupyter_nbedit.handlers.editing import (
    Change,
    EditingHandler,
    NewCell,
    Note,
    given,
    insertion,
    tags,
)
from jupyter_nbedit.handlers.requests import LONGEST_LABEL, encoded
from jupyter_nbedit.handlers.retries import Answer
from jupyter_nbedit.messages import CreateRequest, EditReply, ReadReply, Selection
from jupyter_nbedit.notebook.operations import LARGEST_INTEGER, Operation
from jupyter_nbedit.notebook.view import Outputs, Show, View

#: The most operations of one batch.
MOST_OPERATIONS = 1000


class EditBody(Change, frozen=True, kw_only=True):
    """The body of a PATCH."""

    operations: Annotated[
        list[Operation],
        Meta(min_length=1, max_length=MOST_OPERATIONS, description="Done all, or none of them."),
    ]


class CreateBody(Note, frozen=True, kw_only=True):
    """The body of a PUT."""

    cells: Annotated[
        list[NewCell],  # type: ignore[valid-type] # made from another struct
        Meta(max_length=MOST_OPERATIONS, description="The notebook's cells, in their order."),
    ] = msgspec.field(default_factory=list)
    language: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=LONGEST_LABEL,
                description="The language of the code cells, as in `metadata.language_info.name`.",
                examples=["python"],
            ),
        ]
        | UnsetType
    ) = UNSET
    kernelspec: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=LONGEST_LABEL,
                description="The name of the kernel that is to run it. It is only written to "
                " the metadata; no kernel is asked or started.",
                examples=["python3"],
            ),
        ]
        | UnsetType
    ) = UNSET


class ReadQuery(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The query of a GET."""

    view: Annotated[
        View,
        Meta(
            description="`outline` has the first line of each cell, `source` the sources, `full` "
            "metadata and attachments as well."
        ),
    ] = "source"
    outputs: (
        Annotated[
            Outputs,
            Meta(
                description="`summary` has number, types and size; `text` has the texts, without "
                "ANSI escapes, and `{mime, bytes}` for images and all else; `full` has everything. "
                "Without it `text` with `view=full`, else `summary`."
            ),
        ]
        | UnsetType
    ) = UNSET
    cell: Annotated[
        list[str],
        Meta(description="The cells wanted: ids, `cell-N`, or indexes from 0. Repeatable."),
    ] = []
    section: Annotated[
        list[str],
        Meta(description="Headings: the cells of their sections are wanted. Repeatable."),
    ] = []
    since: (
        Annotated[
            str,
            Meta(description="A hash you have: only cells changed since then; see `since` there."),
        ]
        | UnsetType
    ) = UNSET
    start: Annotated[
        int,
        Meta(
            ge=0, le=LARGEST_INTEGER, description="The index of the first cell; a reply's `next`."
        ),
    ] = 0
    limit: (
        Annotated[int, Meta(ge=1, le=LARGEST_INTEGER, description="How many cells at most.")]
        | UnsetType
    ) = UNSET
    max_chars: (
        Annotated[
            int,
            Meta(
                ge=1,
                le=LARGEST_INTEGER,
                description="How many characters of the notebook's text at most: filled with the "
                "outline, then with sources, then with metadata, attachments and outputs. What is "
                "left out is said in `omitted`, of each cell and of the reply; ids, hashes and the "
                "form of the reply come on top.",
            ),
        ]
        | UnsetType
    ) = UNSET


class NotebookHandler(EditingHandler):
    """``/nbedit/notebooks/{path}``."""

    @Contract(
        "Read a notebook",
        query=ReadQuery,
        headers=[IF_NONE_MATCH, SESSION],
        replies={
            HTTPStatus.OK: Reply(ReadReply, "The notebook.", [ETAG]),
            HTTPStatus.NOT_MODIFIED: Reply(None, "You have this version already.", [ETAG]),
        },
        refusals=[
            *OF_READING,
            CellNotFound,
            AmbiguousCell,
            SectionNotFound,
            AmbiguousSection,
            VersionUnknown,
        ],
    )
    @web.authenticated
    @authorized
    async def get(self, path: str) -> None:
        """Read the notebook; 304 if the reader has it already."""
        query = self.query(ReadQuery)
        selection = Selection(
            cells=query.cell,
            sections=query.section,
            since=given(query.since),
            start=query.start,
            limit=given(query.limit),
            show=Show(query.view, given(query.outputs)),
            max_chars=given(query.max_chars),
            session=self.session,
        )
        reply = await self.reader.read(path, selection, known=self._known)
        if isinstance(reply, str):
            self.set_header("ETag", f'"{reply}"')
            self.set_status(304)
            self.finish()
        else:
            self.answer(reply, tag=reply.hash)

    @Contract(
        "Edit a notebook",
        body=EditBody,
        headers=[IF_MATCH, IDEMPOTENCY_KEY, SESSION],
        replies={HTTPStatus.OK: Reply(EditReply, "What the edit did.", [ETAG])},
        refusals=[*OF_READING, *OF_WRITING, *OF_OPERATIONS, HashMismatch, ReadRequired],
    )
    @web.authenticated
    @authorized
    async def patch(self, path: str) -> None:
        """Apply a batch of operations, all or none."""
        body = self.decode(EditBody)
        await self.edit(path, body.operations, body)

    @Contract(
        "Create a notebook",
        body=CreateBody,
        headers=[IDEMPOTENCY_KEY, IF_NONE_MATCH_ANY],
        replies={
            HTTPStatus.OK: Reply(EditReply, "What a dry run would do.", [ETAG]),
            HTTPStatus.CREATED: Reply(EditReply, "The notebook is there.", [ETAG, LOCATION]),
        },
        refusals=[*OF_CREATING, *OF_WRITING, InvalidOperation],
    )
    @web.authenticated
    @authorized
    async def put(self, path: str) -> None:
        """Create the notebook in a folder that exists; never in the place of anything."""
        body = self.decode(CreateBody)
        self._check_only_new()
        request = CreateRequest(
            path=path,
            cells=[insertion(cell) for cell in body.cells],
            language=given(body.language),
            kernelspec=given(body.kernelspec),
            session=self.session,
            **self.note(body),
        )
        address = url_path_join(self.base_url, "nbedit/notebooks", url_escape(path))

        async def work() -> Answer:
            reply = await self.editor.create(request)
            headers = {"ETag": f'"{reply.hash}"'}
            if request.dry_run:
                return Answer(encoded(reply), headers=headers)
            return Answer(encoded(reply), HTTPStatus.CREATED, {**headers, "Location": address})

        await self.once(work)

    def _check_only_new(self) -> None:
        """Refuse conditions that ask for overwriting; creating never does."""
        if self.request.headers.get("If-None-Match", "*").strip() != "*":
            message = "Expected `If-None-Match: *` or none: PUT only creates. Edit with PATCH."
            raise InvalidRequest(message)
        if "If-Match" in self.request.headers:
            message = "PUT only creates, so there is no version to match. Edit with PATCH."
            raise InvalidRequest(message)

    def _known(self, digest: str) -> bool:
        found = tags(self.request.headers.get("If-None-Match", ""))
        # RFC 9110 13.1.2: this comparison is the weak one.
        return "*" in found or digest in {tag.removeprefix("W/").strip('"') for tag in found}
