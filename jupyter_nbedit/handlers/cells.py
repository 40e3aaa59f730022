"""The routes of single cells: edits that are one operation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any

import msgspec
from jupyter_server.auth.decorator import authorized
from jupyter_server.utils import url_escape, url_path_join
from msgspec import UNSET, Meta, UnsetType
from tornado import web

from jupyter_nbedit.errors import (
    AmbiguousCell,
    CellNotFound,
    InvalidOperation,
    InvalidRequest,
)
from jupyter_nbedit.handlers.editing import (
    EDIT_REPLIES,
    PROPOSED,
    EditingHandler,
    TabsQuery,
    WaitTabs,
    list_fields,
)
from jupyter_nbedit.handlers.errors import ErrorBody
from jupyter_nbedit.handlers.openapi import (
    EDIT_ERRORS,
    EDIT_HEADERS,
    ETAG,
    IF_NONE_MATCH,
    LOCATION,
    OPERATION_ERRORS,
    READ_ERRORS,
    SESSION,
    OperationSpec,
    Reply,
)
from jupyter_nbedit.handlers.reading import READ_REPLIES, CellQuery, ReadingHandler
from jupyter_nbedit.models import (
    ChangeBody,
    ChangeMetadata,
    EditReply,
    get_or_none,
)
from jupyter_nbedit.notebook.document import Document
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

_ERRORS = (*EDIT_ERRORS, *OPERATION_ERRORS)

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
            description="What becomes of a code cell's outputs and execution count if the source "
            "or the type is replaced: cleared, also if this is left out, or kept."
        ),
    ]
    | UnsetType
)

InsertBody: type[Any] = msgspec.defstruct(
    "InsertBody",
    list_fields(Insert),
    bases=(ChangeBody,),
    namespace={"__doc__": "The body of a POST: an `insert` without its name."},
    forbid_unknown_fields=True,
    frozen=True,
    kw_only=True,
)
ReplaceBody: type[Any] = msgspec.defstruct(
    "ReplaceBody",
    [
        *list_fields(Replace, "cell", "outputs"),
        ("outputs", _OUTPUTS, UNSET),
        ("metadata", _METADATA, UNSET),
    ],
    bases=(ChangeBody,),
    namespace={"__doc__": "The body of a PATCH of a cell: a `replace`, a `set_metadata`, or both."},
    forbid_unknown_fields=True,
    frozen=True,
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
    wait_tabs: WaitTabs = 0


class OneOperationHandler(EditingHandler):
    """A handler whose requests are one operation each."""

    def adapt_error(self, body: ErrorBody) -> ErrorBody:
        """Remove the index of the operation."""
        details = {name: value for name, value in body.details.items() if name != "operation"}
        return msgspec.structs.replace(body, details=details)


class CellsHandler(OneOperationHandler):
    """``/nbedit/notebooks/{path}/cells``."""

    @OperationSpec(
        "Insert a cell",
        query=TabsQuery,
        body=InsertBody,
        headers=EDIT_HEADERS,
        replies={
            HTTPStatus.OK: Reply(EditReply, "What a dry run would do.", [ETAG]),
            HTTPStatus.CREATED: Reply(EditReply, "The cell is there.", [ETAG, LOCATION]),
            **PROPOSED,
        },
        errors=_ERRORS,
    )
    @web.authenticated
    @authorized
    async def post(self, path: str) -> None:
        """Insert a cell at a position that must be given."""
        body = await self.parse_body(InsertBody)
        wait_tabs = self.parse_query(TabsQuery).wait_tabs
        request = self.build_request(path, body)
        if not await self.replay_response():
            insertion = self.services.edits.edit(request, [_build_operation(Insert, body)])
            await self.send_edit(insertion, wait_tabs, HTTPStatus.CREATED)

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
        query=CellQuery,
        headers=[IF_NONE_MATCH, SESSION],
        replies=READ_REPLIES,
        errors=[*READ_ERRORS, CellNotFound, AmbiguousCell],
    )
    @web.authenticated
    @authorized
    async def get(self, path: str, cell: str) -> None:
        """Return the notebook with this cell only; 304 if the client has this version."""
        await self.send_notebook(path, self.parse_query(CellQuery), cells=[cell])

    @OperationSpec(
        "Change a cell",
        query=TabsQuery,
        body=ReplaceBody,
        headers=EDIT_HEADERS,
        replies=EDIT_REPLIES,
        errors=_ERRORS,
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
        query=DeleteQuery,
        headers=EDIT_HEADERS,
        replies=EDIT_REPLIES,
        errors=_ERRORS,
    )
    @web.authenticated
    @authorized
    async def delete(self, path: str, cell: str) -> None:
        """Delete the cell; the reply has its source."""
        if self.request.body:
            # A client that sends `dry_run` in a body must not lose the cell.
            message = (
                "DELETE takes no body. Send `dry_run`, `source_hash`, `client` and `message` in "
                "the query, and the notebook's hash as `If-Match`."
            )
            raise InvalidRequest(message)
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
        request = self.build_request(path, change)
        if not await self.replay_response():
            edit = self.services.edits.edit(request, _CellOperations(operations))
            await self.send_edit(edit, wait_tabs)


@dataclass(frozen=True)
class _CellOperations:
    """Operations on one cell whose address is a part of the URL; an `OperationFactory`."""

    operations: Sequence[Any]

    def __call__(self, document: Document) -> list[Operation]:
        """Return the operations with the address parsed as in other queries."""
        return [
            msgspec.structs.replace(operation, cell=document.parse_address(operation.cell))
            for operation in self.operations
        ]


def _check_change(body: Any, *, replaces: bool) -> None:
    """Raise the errors that the operations would raise, in the words of the request."""
    if body.metadata is not UNSET:
        validate_metadata("metadata", body.metadata)
    elif not replaces:
        message = "Expected a `source`, a `cell_type` or `metadata` to change; found none of them."
        raise InvalidOperation(message)
    if body.outputs is not UNSET and not replaces:
        message = (
            "`outputs` goes with a `source` or a `cell_type`: a change of the metadata leaves the "
            "outputs alone. Leave it out."
        )
        raise InvalidOperation(message)


def _build_operation(operation: type[Any], body: msgspec.Struct, **fields: Any) -> Any:
    names = set(operation.__struct_fields__) - set(fields)
    return operation(**{name: getattr(body, name) for name in names}, **fields)
