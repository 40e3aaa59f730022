"""The route of a notebook: read, edit and create it."""

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
    InvalidOperation,
    InvalidRequest,
    SectionNotFound,
    VersionUnknown,
)
from jupyter_nbedit.handlers.editing import (
    EDIT_REPLIES,
    PROPOSED,
    EditingHandler,
    NewCell,
    TabsQuery,
    build_insert,
)
from jupyter_nbedit.handlers.errors import ErrorBody
from jupyter_nbedit.handlers.openapi import (
    CREATE_ERRORS,
    EDIT_ERRORS,
    EDIT_HEADERS,
    ETAG,
    IDEMPOTENCY_KEY,
    IF_NONE_MATCH,
    IF_NONE_MATCH_ANY,
    LOCATION,
    OPERATION_ERRORS,
    READ_ERRORS,
    SESSION,
    WRITE_ERRORS,
    OperationSpec,
    Reply,
)
from jupyter_nbedit.handlers.reading import READ_REPLIES, ReadingHandler, ReadQuery
from jupyter_nbedit.models import (
    LONGEST_LABEL,
    MOST_OPERATIONS,
    ChangeMetadata,
    EditBody,
    EditReply,
    WriteRequest,
    get_or_none,
)


class CreateBody(ChangeMetadata, frozen=True, kw_only=True):
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
                description="The name of the kernel for the notebook. It is only written to the "
                "metadata; no kernel is started.",
                examples=["python3"],
            ),
        ]
        | UnsetType
    ) = UNSET


class NotebookHandler(EditingHandler, ReadingHandler):
    """``/nbedit/notebooks/{path}``."""

    @OperationSpec(
        "Read a notebook",
        query=ReadQuery,
        headers=[IF_NONE_MATCH, SESSION],
        replies=READ_REPLIES,
        errors=[
            *READ_ERRORS,
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
        """Return the notebook; 304 if the client has this version."""
        query = self.parse_query(ReadQuery)
        await self.send_notebook(
            path,
            query,
            cells=query.cell,
            sections=query.section,
            since=get_or_none(query.since),
            start=query.start,
            limit=get_or_none(query.limit),
        )

    @OperationSpec(
        "Edit a notebook",
        query=TabsQuery,
        body=EditBody,
        headers=EDIT_HEADERS,
        replies=EDIT_REPLIES,
        errors=[*EDIT_ERRORS, *OPERATION_ERRORS],
    )
    @web.authenticated
    @authorized
    async def patch(self, path: str) -> None:
        """Apply a batch of operations, all of them or none."""
        body = await self.parse_body(EditBody)
        wait_tabs = self.parse_query(TabsQuery).wait_tabs
        request = self.build_request(path, body)
        if not await self.replay_response():
            await self.send_edit(self.services.edits.edit(request, body.operations), wait_tabs)

    @OperationSpec(
        "Create a notebook",
        body=CreateBody,
        headers=[IDEMPOTENCY_KEY, IF_NONE_MATCH_ANY],
        replies={
            HTTPStatus.OK: Reply(EditReply, "What a dry run would do.", [ETAG]),
            HTTPStatus.CREATED: Reply(EditReply, "The notebook is there.", [ETAG, LOCATION]),
            **PROPOSED,
        },
        errors=[*CREATE_ERRORS, *WRITE_ERRORS, InvalidOperation],
    )
    @web.authenticated
    @authorized
    async def put(self, path: str) -> None:
        """Create the notebook in an existing folder; never replace a file."""
        body = await self.parse_body(CreateBody)
        self._check_only_new()
        request = WriteRequest(path, self.build_author(body), dry_run=body.dry_run)
        if await self.replay_response():
            return
        creation = self.services.edits.create(
            request,
            [build_insert(cell) for cell in body.cells],
            language=get_or_none(body.language),
            kernelspec=get_or_none(body.kernelspec),
        )
        await self.send_edit(creation, status=HTTPStatus.CREATED)

    def build_location(self, reply: EditReply) -> str | None:
        """Return the address of a new notebook."""
        if self.request.method != "PUT":
            return None
        location: str = url_path_join(self.base_url, "nbedit/notebooks", url_escape(reply.path))
        return location

    def adapt_error(self, body: ErrorBody) -> ErrorBody:
        """Name the cell of a new notebook instead of the operation that inserts it."""
        if self.request.method != "PUT" or "operation" not in body.details:
            return body
        details = {name: value for name, value in body.details.items() if name != "operation"}
        return msgspec.structs.replace(body, details={**details, "cell": body.details["operation"]})

    def _check_only_new(self) -> None:
        """Reject conditions for overwriting, because PUT never overwrites."""
        if self.request.headers.get("If-None-Match", "*").strip() != "*":
            message = "Expected `If-None-Match: *` or none: PUT only creates. Edit with PATCH."
            raise InvalidRequest(message)
        if "If-Match" in self.request.headers:
            message = "PUT only creates, so there is no version to match. Edit with PATCH."
            raise InvalidRequest(message)
