"""The routes of notebooks: read, edit and create them."""

import asyncio
from http import HTTPStatus
from typing import Annotated

import msgspec
from jupyter_server.utils import url_escape, url_path_join
from msgspec import UNSET, Meta, UnsetType

from jupyter_nbedit import errors
from jupyter_nbedit.handlers import spec
from jupyter_nbedit.handlers.base import NbEditHandler
from jupyter_nbedit.handlers.editing import (
    EditingHandler,
    NewCell,
    TabsQuery,
    build_creation_replies,
    build_insert,
    parse_etags,
    specify_edit,
)
from jupyter_nbedit.handlers.errors import ErrorBody, remove_operation
from jupyter_nbedit.handlers.spec import OperationSpec, Reply, Route
from jupyter_nbedit.notebook.json_values import MAX_CREATED_JSON_VALUES
from jupyter_nbedit.services.reading.models import DeltaOptions, DeltaReply, ReadOptions, ReadReply
from jupyter_nbedit.services.requests import (
    MAX_LABEL_LENGTH,
    MAX_OPERATIONS,
    ChangeMetadata,
    EditBody,
    get_or_none,
)
from jupyter_nbedit.text.notebook import read_as_text


class CreateBody(ChangeMetadata, frozen=True, kw_only=True):
    """The body of a PUT."""

    cells: Annotated[
        list[NewCell],  # type: ignore[valid-type] # made from another struct
        Meta(max_length=MAX_OPERATIONS, description="The notebook's cells, in their order."),
    ] = msgspec.field(default_factory=list)
    language: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=MAX_LABEL_LENGTH,
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
                max_length=MAX_LABEL_LENGTH,
                description="The name of the kernel for the notebook. It is only written to the "
                "metadata; no kernel is started.",
                examples=["python3"],
            ),
        ]
        | UnsetType
    ) = UNSET


#: The replies to a request that reads.
READ_REPLIES = {
    HTTPStatus.OK: Reply(ReadReply, "The notebook.", [spec.ETAG]),
    HTTPStatus.NOT_MODIFIED: Reply(None, "You have this version already.", [spec.ETAG]),
}


class ReadingHandler(NbEditHandler):
    """A handler with verbs that read notebooks."""

    async def send_notebook(self, path: str, options: ReadOptions) -> None:
        """Read a notebook and send it, or 304 if the client has this version."""
        if self.prefers_text:
            notebook_hash, text = await read_as_text(
                self.services, path, options, session=self.session, is_known=self.is_known
            )
            if text is None:
                self.send_not_modified(notebook_hash)
            else:
                self.send_reply(text, str, headers={"ETag": f'"{notebook_hash}"'})
            return
        reply = await self.services.reader.read(
            path, options, session=self.session, is_known=self.is_known
        )
        if isinstance(reply, str):
            self.send_not_modified(reply)
            return
        headers = {"ETag": f'"{reply.hash}"'}
        self.send_response(await asyncio.to_thread(self.build_response, reply, headers=headers))

    def send_not_modified(self, notebook_hash: str) -> None:
        """Send that the client has this version already."""
        self.set_header("ETag", f'"{notebook_hash}"')
        self.set_status(HTTPStatus.NOT_MODIFIED)
        self.finish()

    def is_known(self, notebook_hash: str) -> bool:
        """Return whether the client has this version already, as it states."""
        tags = parse_etags(self.request.headers.get("If-None-Match", ""))
        # RFC 9110 13.1.2: the comparison is weak.
        return "*" in tags or notebook_hash in {tag.removeprefix("W/").strip('"') for tag in tags}


class NotebookHandler(EditingHandler, ReadingHandler):
    """``/nbedit/notebooks/{path}``."""

    @OperationSpec(
        "Check the version of a notebook",
        headers=[spec.IF_NONE_MATCH],
        replies={
            HTTPStatus.OK: Reply(None, "The notebook is there.", [spec.ETAG]),
            HTTPStatus.NOT_MODIFIED: READ_REPLIES[HTTPStatus.NOT_MODIFIED],
        },
        errors=spec.READ_ERRORS,
    )
    async def head(self, path: str) -> None:
        """Return the `ETag` of the notebook as it is now; its cells are not read."""
        notebook_hash = await self.services.reader.read_hash(path)
        if self.is_known(notebook_hash):
            self.send_not_modified(notebook_hash)
        else:
            self.set_header("ETag", f'"{notebook_hash}"')
            self.finish()

    @OperationSpec(
        "Read a notebook",
        has_text=True,
        query=ReadOptions,
        headers=spec.READ_HEADERS,
        replies={
            **READ_REPLIES,
            HTTPStatus.OK: Reply((ReadReply, DeltaReply), "The notebook.", [spec.ETAG]),
        },
        errors=[
            *spec.READ_ERRORS,
            errors.CellNotFound,
            errors.AmbiguousCell,
            errors.CellChanged,
            errors.SectionNotFound,
            errors.AmbiguousSection,
            errors.VersionUnknown,
        ],
    )
    async def get(self, path: str) -> None:
        """Return the notebook; 304 if the client has this version.

        With `view=nbformat`, return its difference from the version `since`, with cells as in the
        Contents API: what an open tab needs to show the notebook as it is now.
        """
        if self.get_query_argument("view", "") == "nbformat":
            options = self.parse_query(DeltaOptions)
            delta = await self.services.reader.read_delta(path, options.since)
            self.send_reply(delta, headers={"ETag": f'"{delta.hash}"'})
            return
        await self.send_notebook(path, self.parse_query(ReadOptions))

    @specify_edit("Edit a notebook", body=EditBody)
    async def patch(self, path: str, body: EditBody, query: TabsQuery) -> None:
        """Apply a batch of operations, all of them or none."""
        request = self.build_request(path, body, query.wait_tabs)
        self.send_edit(await self.services.edits.edit(request, body.operations))

    @OperationSpec(
        "Create a notebook",
        has_text=True,
        body=CreateBody,
        max_values=MAX_CREATED_JSON_VALUES,
        headers=spec.CREATE_HEADERS,
        replies=build_creation_replies("The notebook is there."),
        errors=spec.CREATE_ERRORS,
    )
    async def put(self, path: str, body: CreateBody) -> None:
        """Create the notebook in an existing folder; never replace a file."""
        self._check_only_new()
        reply = await self.services.edits.create(
            self.build_request(path, body),
            [build_insert(cell) for cell in body.cells],
            language=get_or_none(body.language),
            kernelspec=get_or_none(body.kernelspec),
        )
        location = url_path_join(self.base_url, "nbedit/notebooks", url_escape(reply.path))
        self.send_edit(reply, HTTPStatus.CREATED, location=location)

    def adapt_error(self, body: ErrorBody) -> ErrorBody:
        """Name the cell of a new notebook instead of the operation that inserts it."""
        if self.request.method != "PUT" or "operation" not in body.details:
            return body
        details = {**remove_operation(body).details, "cell": body.details["operation"]}
        return msgspec.structs.replace(body, details=details)

    def _check_only_new(self) -> None:
        """Reject conditions for overwriting, because PUT never overwrites."""
        if self.request.headers.get("If-None-Match", "*").strip() != "*":
            message = "Expected `If-None-Match: *` or none: PUT only creates. Edit with PATCH."
            raise errors.InvalidRequest(message)
        if "If-Match" in self.request.headers:
            raise errors.InvalidRequest(
                "PUT only creates notebooks, so there is no version to match. Leave "
                "`If-Match` out; to edit a notebook, use PATCH."
            )


routes: list[Route] = [(r"/nbedit/notebooks/(?P<path>.*)", NotebookHandler)]
