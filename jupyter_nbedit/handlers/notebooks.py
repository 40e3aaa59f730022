"""The routes of notebooks and their cells: read, edit, create and search."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from http import HTTPStatus
from typing import Annotated, Any, ClassVar

import msgspec
from jupyter_server.auth.decorator import authorized
from jupyter_server.auth.utils import HTTP_METHOD_TO_AUTH_ACTION
from jupyter_server.utils import url_escape, url_path_join
from msgspec import UNSET, Meta, UnsetType
from tornado import web

from jupyter_nbedit import errors
from jupyter_nbedit.handlers import openapi
from jupyter_nbedit.handlers.base import NbEditHandler, encode_json
from jupyter_nbedit.handlers.editing import (
    EDIT_REPLIES,
    PROPOSED,
    EditingHandler,
    NewCell,
    TabsQuery,
    WaitTabs,
    build_insert,
    list_fields,
    parse_etags,
)
from jupyter_nbedit.handlers.errors import ErrorBody, remove_operation
from jupyter_nbedit.handlers.openapi import OperationSpec, Reply
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.json_values import MAX_CREATED_JSON_VALUES
from jupyter_nbedit.notebook.operations import (
    Delete,
    Expect,
    Insert,
    Operation,
    OutputsPolicy,
    Replace,
    SetMetadata,
    validate_metadata,
)
from jupyter_nbedit.services.models import (
    MAX_LABEL_LENGTH,
    MAX_OPERATIONS,
    CellChangeBody,
    ChangeMetadata,
    EditBody,
    EditReply,
    Rev,
    get_or_none,
)
from jupyter_nbedit.services.reading.models import (
    CellOptions,
    DeltaOptions,
    DeltaReply,
    ReadOptions,
    ReadReply,
)
from jupyter_nbedit.services.search.models import SearchReply, SearchRequest
from jupyter_nbedit.text.search import render_search

_READ_REPLIES = {
    HTTPStatus.OK: Reply(ReadReply, "The notebook.", [openapi.ETAG]),
    HTTPStatus.NOT_MODIFIED: Reply(None, "You have this version already.", [openapi.ETAG]),
}
_EDIT_ERRORS = (*openapi.EDIT_ERRORS, *openapi.OPERATION_ERRORS)

_METADATA = (
    Annotated[
        dict[str, Any],
        Meta(description="What changes in the cell's metadata: the `patch` of `set_metadata`."),
    ]
    | UnsetType
)

_OUTPUTS = (
    Annotated[
        OutputsPolicy,
        Meta(
            description="Whether a code cell's outputs and execution count are cleared (the "
            "default) or kept if the source or the type is replaced."
        ),
    ]
    | UnsetType
)


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


InsertBody: type[Any] = msgspec.defstruct(
    "InsertBody",
    list_fields(Insert),
    bases=(CellChangeBody,),
    namespace={"__doc__": "The body of a POST: an `insert` without its name."},
    kw_only=True,
)
ReplaceBody: type[Any] = msgspec.defstruct(
    "ReplaceBody",
    [
        *list_fields(Replace, "cell", "outputs"),
        ("outputs", _OUTPUTS, UNSET),
        ("metadata", _METADATA, UNSET),
    ],
    bases=(CellChangeBody,),
    namespace={"__doc__": "The body of a PATCH of a cell: a `replace`, a `set_metadata`, or both."},
    kw_only=True,
)


class DeleteQuery(ChangeMetadata, frozen=True, kw_only=True):
    """The query of a DELETE, which has no body."""

    source_hash: (
        Annotated[
            str, Meta(description="What the cell's `source_hash` must still be, as in `expect`.")
        ]
        | UnsetType
    ) = UNSET
    rev: Rev | UnsetType = UNSET
    wait_tabs: WaitTabs = 0


class ReadingHandler(NbEditHandler):
    """A handler with verbs that read notebooks."""

    async def send_notebook(self, path: str, options: ReadOptions) -> None:
        """Read a notebook and send it, or 304 if the client has this version."""
        if self.prefers_text:
            notebook_hash, text = await self.services.texts.read(
                path, options, session=self.session, is_known=self._is_known
            )
            if text is None:
                self._send_not_modified(notebook_hash)
            else:
                self.finish_text(text, tag=notebook_hash)
            return
        reply = await self.services.reader.read(
            path, options, session=self.session, is_known=self._is_known
        )
        if isinstance(reply, str):
            self._send_not_modified(reply)
            return
        body = await asyncio.to_thread(encode_json, reply)
        self.set_header("ETag", f'"{reply.hash}"')
        self.finish(body)

    def _send_not_modified(self, notebook_hash: str) -> None:
        self.set_header("ETag", f'"{notebook_hash}"')
        self.set_status(HTTPStatus.NOT_MODIFIED)
        self.finish()

    def _is_known(self, notebook_hash: str) -> bool:
        tags = parse_etags(self.request.headers.get("If-None-Match", ""))
        # RFC 9110 13.1.2: the comparison is weak.
        return "*" in tags or notebook_hash in {tag.removeprefix("W/").strip('"') for tag in tags}


class NotebookHandler(EditingHandler, ReadingHandler):
    """``/nbedit/notebooks/{path}``."""

    @OperationSpec(
        "Check the version of a notebook",
        headers=[openapi.IF_NONE_MATCH],
        replies={
            HTTPStatus.OK: Reply(None, "The notebook is there.", [openapi.ETAG]),
            HTTPStatus.NOT_MODIFIED: _READ_REPLIES[HTTPStatus.NOT_MODIFIED],
        },
        errors=openapi.READ_ERRORS,
    )
    @web.authenticated
    @authorized
    async def head(self, path: str) -> None:
        """Return the `ETag` of the notebook as it is now; its cells are not read."""
        notebook_hash = await self.services.reader.read_hash(path)
        self.set_header("ETag", f'"{notebook_hash}"')
        if self._is_known(notebook_hash):
            self.set_status(HTTPStatus.NOT_MODIFIED)
        self.finish()

    @OperationSpec(
        "Read a notebook",
        has_text=True,
        query=ReadOptions,
        headers=openapi.READ_HEADERS,
        replies={
            **_READ_REPLIES,
            HTTPStatus.OK: Reply((ReadReply, DeltaReply), "The notebook.", [openapi.ETAG]),
        },
        errors=[
            *openapi.READ_ERRORS,
            errors.CellNotFound,
            errors.AmbiguousCell,
            errors.CellChanged,
            errors.SectionNotFound,
            errors.AmbiguousSection,
            errors.VersionUnknown,
        ],
    )
    @web.authenticated
    @authorized
    async def get(self, path: str) -> None:
        """Return the notebook; 304 if the client has this version.

        With `view=nbformat`, return its difference from the version `since`, with cells as in the
        Contents API: what an open tab needs to show the notebook as it is now.
        """
        if self.get_query_argument("view", "") == "nbformat":
            options = self.parse_query(DeltaOptions)
            delta = await self.services.reader.read_delta(path, options.since)
            self.finish_json(delta, tag=delta.hash)
            return
        await self.send_notebook(path, self.parse_query(ReadOptions))

    @OperationSpec(
        "Edit a notebook",
        has_text=True,
        query=TabsQuery,
        body=EditBody,
        headers=openapi.EDIT_HEADERS,
        replies=EDIT_REPLIES,
        errors=_EDIT_ERRORS,
    )
    @web.authenticated
    @authorized
    async def patch(self, path: str) -> None:
        """Apply a batch of operations, all of them or none."""
        body = await self.parse_body(EditBody)
        request = self.build_request(path, body, self.parse_query(TabsQuery).wait_tabs)
        if not await self.replay_response():
            self.send_edit(await self.services.edits.edit(request, body.operations))

    @OperationSpec(
        "Create a notebook",
        has_text=True,
        body=CreateBody,
        headers=openapi.CREATE_HEADERS,
        replies={
            HTTPStatus.OK: Reply(EditReply, "What a dry run would do.", [openapi.ETAG]),
            HTTPStatus.CREATED: Reply(
                EditReply, "The notebook is there.", [openapi.ETAG, openapi.LOCATION]
            ),
            **PROPOSED,
        },
        errors=openapi.CREATE_ERRORS,
    )
    @web.authenticated
    @authorized
    async def put(self, path: str) -> None:
        """Create the notebook in an existing folder; never replace a file."""
        body = await self.parse_body(CreateBody, max_values=MAX_CREATED_JSON_VALUES)
        self._check_only_new()
        request = self.build_request(path, body)
        if await self.replay_response():
            return
        creation = self.services.edits.create(
            request,
            [build_insert(cell) for cell in body.cells],
            language=get_or_none(body.language),
            kernelspec=get_or_none(body.kernelspec),
        )
        self.send_edit(await creation, HTTPStatus.CREATED)

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
        details = {**remove_operation(body).details, "cell": body.details["operation"]}
        return msgspec.structs.replace(body, details=details)

    def _check_only_new(self) -> None:
        """Reject conditions for overwriting, because PUT never overwrites."""
        if self.request.headers.get("If-None-Match", "*").strip() != "*":
            message = "Expected `If-None-Match: *` or none: PUT only creates. Edit with PATCH."
            raise errors.InvalidRequest(message)
        if "If-Match" in self.request.headers:
            message = (
                "PUT only creates notebooks, so there is no version to match. Leave "
                "`If-Match` out; to edit a notebook, use PATCH."
            )
            raise errors.InvalidRequest(message)


class OneOperationHandler(EditingHandler):
    """A handler whose requests are one operation each."""

    def adapt_error(self, body: ErrorBody) -> ErrorBody:
        """Remove the index of the operation."""
        return remove_operation(body)


class CellsHandler(OneOperationHandler):
    """``/nbedit/notebooks/{path}/cells``."""

    @OperationSpec(
        "Insert a cell",
        has_text=True,
        query=TabsQuery,
        body=InsertBody,
        headers=openapi.EDIT_HEADERS,
        replies={
            HTTPStatus.OK: Reply(EditReply, "What a dry run would do.", [openapi.ETAG]),
            HTTPStatus.CREATED: Reply(
                EditReply, "The cell is there.", [openapi.ETAG, openapi.LOCATION]
            ),
            **PROPOSED,
        },
        errors=_EDIT_ERRORS,
    )
    @web.authenticated
    @authorized
    async def post(self, path: str) -> None:
        """Insert a cell at a position that must be given."""
        body = await self.parse_body(InsertBody)
        request = self.build_request(path, body, self.parse_query(TabsQuery).wait_tabs)
        if not await self.replay_response():
            insertion = self.services.edits.edit(request, [_build_operation(Insert, body)])
            self.send_edit(await insertion, HTTPStatus.CREATED)

    def build_location(self, reply: EditReply) -> str | None:
        """Return the address of the new cell."""
        result = reply.operations[0]
        cell = result.cell_id if result.cell_id is not None else f"cell-{result.index}"
        parts = ("nbedit/notebooks", url_escape(reply.path), "cells", url_escape(cell))
        location: str = url_path_join(self.base_url, *parts)
        return location


class CellHandler(OneOperationHandler, ReadingHandler):
    """``/nbedit/notebooks/{path}/cells/{cell}``."""

    @OperationSpec(
        "Read a cell",
        has_text=True,
        query=CellOptions,
        headers=openapi.READ_HEADERS,
        replies=_READ_REPLIES,
        errors=[
            *openapi.READ_ERRORS,
            errors.CellNotFound,
            errors.AmbiguousCell,
            errors.CellChanged,
        ],
    )
    @web.authenticated
    @authorized
    async def get(self, path: str, cell: str) -> None:
        """Return the notebook with this cell only; 304 if the client has this version."""
        options = self.parse_query(CellOptions)
        await self.send_notebook(path, ReadOptions(cell=[cell], **msgspec.structs.asdict(options)))

    @OperationSpec(
        "Change a cell",
        has_text=True,
        query=TabsQuery,
        body=ReplaceBody,
        headers=openapi.EDIT_HEADERS,
        replies=EDIT_REPLIES,
        errors=_EDIT_ERRORS,
    )
    @web.authenticated
    @authorized
    async def patch(self, path: str, cell: str) -> None:
        """Replace the source or the type of the cell, and change its metadata."""
        body = await self.parse_body(ReplaceBody)
        replaces = body.source is not UNSET or body.cell_type is not UNSET
        _check_change(body, replaces=replaces)
        operations: list[Operation] = []
        if replaces:
            outputs = get_or_none(body.outputs) or "clear"
            operations.append(_build_operation(Replace, body, cell=cell, outputs=outputs))
        if body.metadata is not UNSET:
            operations.append(SetMetadata(cell=cell, patch=body.metadata, expect=body.expect))
        wait_tabs = self.parse_query(TabsQuery).wait_tabs
        await self._edit_cell(path, body, operations, wait_tabs)

    @OperationSpec(
        "Delete a cell",
        has_text=True,
        query=DeleteQuery,
        headers=openapi.EDIT_HEADERS,
        replies=EDIT_REPLIES,
        errors=_EDIT_ERRORS,
    )
    @web.authenticated
    @authorized
    async def delete(self, path: str, cell: str) -> None:
        """Delete the cell; the reply has its source."""
        if await self.read_body():
            # A client that sends `dry_run` in a body must not lose the cell.
            message = (
                "DELETE takes no body. Send `dry_run`, `source_hash`, `client` and `message` in "
                "the query, and the notebook's hash as `If-Match`."
            )
            raise errors.InvalidRequest(message)
        query = self.parse_query(DeleteQuery)
        expect: Expect | UnsetType = UNSET
        if query.source_hash is not UNSET:
            expect = Expect(source_hash=query.source_hash)
        await self._edit_cell(path, query, [Delete(cell=cell, expect=expect)], query.wait_tabs)

    async def _edit_cell(
        self,
        path: str,
        change: ChangeMetadata,
        operations: Sequence[Operation],
        wait_tabs: int,
    ) -> None:
        request = self.build_request(path, change, wait_tabs)
        if not await self.replay_response():
            edit = self.services.edits.edit(request, partial(_parse_addresses, operations))
            self.send_edit(await edit)


class SearchHandler(NbEditHandler):
    """``/nbedit/search``."""

    # A search is a POST only because a query string may be too short for it; it reads.
    contents_actions: ClassVar[Mapping[str, str]] = {**HTTP_METHOD_TO_AUTH_ACTION, "POST": "read"}
    _is_cancelled = False

    @OperationSpec(
        "Search in notebooks",
        has_text=True,
        body=SearchRequest,
        replies={HTTPStatus.OK: Reply(SearchReply, "What was found.")},
        errors=[errors.FolderNotFound, errors.NotAPlainFile],
    )
    @web.authenticated
    @authorized("read")  # type: ignore[untyped-decorator] # its author typed the bare form
    async def post(self) -> None:
        """Find lines in sources, outputs and tags of the notebooks in a folder."""
        request = await self.parse_body(SearchRequest)
        reply = await self.services.search.search(request, is_cancelled=lambda: self._is_cancelled)
        if self._is_cancelled:
            return
        if self.prefers_text:
            self.finish_text(render_search(reply))
        else:
            self.finish_json(reply)

    def on_connection_close(self) -> None:
        """Cancel the search."""
        super().on_connection_close()
        self._is_cancelled = True


def _parse_addresses(operations: Sequence[Any], document: Document) -> list[Operation]:
    """Return operations on a cell whose address is a part of the URL, parsed as in queries."""
    return [
        msgspec.structs.replace(operation, cell=document.parse_address(operation.cell))
        for operation in operations
    ]


def _check_change(body: Any, *, replaces: bool) -> None:
    """Raise the errors that the operations would raise, in the words of the request."""
    if body.metadata is not UNSET:
        validate_metadata("metadata", body.metadata)
    elif not replaces:
        message = "Expected a `source`, a `cell_type` or `metadata` to change; found none of them."
        raise errors.InvalidOperation(message)
    if body.outputs is not UNSET and not replaces:
        message = (
            "`outputs` can only be sent with `source` or `cell_type`: a change of metadata "
            "never changes outputs. Leave it out."
        )
        raise errors.InvalidOperation(message)


def _build_operation(operation: type[Any], body: msgspec.Struct, **fields: Any) -> Any:
    names = set(operation.__struct_fields__) - set(fields)
    return operation(**{name: getattr(body, name) for name in names}, **fields)
