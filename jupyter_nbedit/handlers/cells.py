"""The routes of the cells of a notebook: each request is one operation."""

from collections.abc import Sequence
from functools import partial
from http import HTTPStatus
from typing import Annotated, Any

import msgspec
from jupyter_server.utils import url_escape, url_path_join
from msgspec import UNSET, Meta, UnsetType

from jupyter_nbedit import errors
from jupyter_nbedit.handlers import spec
from jupyter_nbedit.handlers.editing import (
    EditingHandler,
    TabsQuery,
    WaitTabs,
    build_creation_replies,
    list_fields,
    specify_edit,
)
from jupyter_nbedit.handlers.errors import ErrorBody, remove_operation
from jupyter_nbedit.handlers.notebooks import READ_REPLIES, ReadingHandler
from jupyter_nbedit.handlers.spec import OperationSpec, Route
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
from jupyter_nbedit.services.reading.models import CellOptions, ReadOptions
from jupyter_nbedit.services.requests import CellChangeBody, ChangeMetadata, Rev, get_or_none

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

    source_hash: Annotated[
        str | UnsetType,
        Meta(description="What the cell's `source_hash` must still be, as in `expect`."),
    ] = UNSET
    rev: Rev | UnsetType = UNSET
    wait_tabs: WaitTabs = 0


class OneOperationHandler(EditingHandler):
    """A handler whose requests are one operation each."""

    def adapt_error(self, body: ErrorBody) -> ErrorBody:
        """Remove the index of the operation."""
        return remove_operation(body)


class CellsHandler(OneOperationHandler):
    """``/nbedit/notebooks/{path}/cells``."""

    @specify_edit(
        "Insert a cell", body=InsertBody, replies=build_creation_replies("The cell is there.")
    )
    async def post(self, path: str, body: Any, query: TabsQuery) -> None:
        """Insert a cell at a position that must be given."""
        request = self.build_request(path, body, query.wait_tabs)
        reply = await self.services.edits.edit(request, [_build_operation(Insert, body)])
        result = reply.operations[0]
        cell = result.cell_id if result.cell_id is not None else f"cell-{result.index}"
        parts = ("nbedit/notebooks", url_escape(reply.path), "cells", url_escape(cell))
        location = url_path_join(self.base_url, *parts)
        self.send_edit(reply, HTTPStatus.CREATED, location=location)


class CellHandler(OneOperationHandler, ReadingHandler):
    """``/nbedit/notebooks/{path}/cells/{cell}``."""

    @OperationSpec(
        "Read a cell",
        has_text=True,
        query=CellOptions,
        headers=spec.READ_HEADERS,
        replies=READ_REPLIES,
        errors=[*spec.READ_ERRORS, errors.CellNotFound, errors.AmbiguousCell, errors.CellChanged],
    )
    async def get(self, path: str, cell: str, query: CellOptions) -> None:
        """Return the notebook with this cell only; 304 if the client has this version."""
        await self.send_notebook(path, ReadOptions(cell=[cell], **msgspec.structs.asdict(query)))

    @specify_edit("Change a cell", body=ReplaceBody)
    async def patch(self, path: str, cell: str, body: Any, query: TabsQuery) -> None:
        """Replace the source or the type of the cell, and change its metadata."""
        replaces = body.source is not UNSET or body.cell_type is not UNSET
        _check_change(body, replaces=replaces)
        operations: list[Operation] = []
        if replaces:
            outputs = get_or_none(body.outputs) or "clear"
            operations.append(_build_operation(Replace, body, cell=cell, outputs=outputs))
        if body.metadata is not UNSET:
            operations.append(SetMetadata(cell=cell, patch=body.metadata, expect=body.expect))
        await self._edit_cell(path, body, operations, query.wait_tabs)

    @specify_edit("Delete a cell", query=DeleteQuery)
    async def delete(self, path: str, cell: str, query: DeleteQuery) -> None:
        """Delete the cell; the reply has its source."""
        if await self.read_body():
            # A client that sends `dry_run` in a body must not lose the cell.
            raise errors.InvalidRequest(
                "DELETE takes no body. Send `dry_run`, `source_hash`, `client` and `message` in "
                "the query, and the notebook's hash as `If-Match`."
            )
        expect: Expect | UnsetType = UNSET
        if query.source_hash is not UNSET:
            expect = Expect(source_hash=query.source_hash)
        await self._edit_cell(path, query, [Delete(cell=cell, expect=expect)], query.wait_tabs)

    async def _edit_cell(
        self, path: str, change: ChangeMetadata, operations: Sequence[Operation], wait_tabs: int
    ) -> None:
        request = self.build_request(path, change, wait_tabs)
        reply = await self.services.edits.edit(request, partial(_parse_addresses, operations))
        self.send_edit(reply)


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
        raise errors.InvalidOperation(
            "`outputs` can only be sent with `source` or `cell_type`: a change of metadata "
            "never changes outputs. Leave it out."
        )


def _build_operation(operation: type[Any], body: msgspec.Struct, **fields: Any) -> Any:
    names = set(operation.__struct_fields__) - set(fields)
    return operation(**{name: getattr(body, name) for name in names}, **fields)


routes: list[Route] = [
    (rf"{spec.NOTEBOOK}/cells", CellsHandler),
    (rf"{spec.NOTEBOOK}/cells/(?P<cell>[^/]+)(?<!\.ipynb)", CellHandler),
]
