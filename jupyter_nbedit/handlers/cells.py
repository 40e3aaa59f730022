"""One cell: a shorter way to say an edit that is one operation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
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
    HashMismatch,
    InvalidOperation,
    InvalidRequest,
    ReadRequired,
)
from jupyter_nbedit.handlers.contract import (
    ETAG,
    IDEMPOTENCY_KEY,
    IF_MATCH,
    IF_NONE_MATCH,
    LOCATION,
    OF_OPERATIONS,
    OF_READING,
    OF_WRITING,
    SESSION,
    Contract,
    Reply,
)
from jupyter_nbedit.handlers.editing import (
    PROPOSED,
    Change,
    EditingHandler,
    Note,
    TabsQuery,
    WaitTabs,
    given,
    part_of,
)
from jupyter_nbedit.handlers.reading import SHOWN, CellQuery, ReadingHandler
from jupyter_nbedit.handlers.refusals import ErrorBody
from jupyter_nbedit.messages import EditReply, Plan
from jupyter_nbedit.notebook.document import CellAddress, Document
from jupyter_nbedit.notebook.forms import check_metadata
from jupyter_nbedit.notebook.operations import (
    Delete,
    Expect,
    Insert,
    Operation,
    Outputs,
    Replace,
    SetMetadata,
)

_HEADERS = [IF_MATCH, IDEMPOTENCY_KEY, SESSION]
_REFUSALS = [*OF_READING, *OF_WRITING, *OF_OPERATIONS, HashMismatch, ReadRequired]

_METADATA = (
    Annotated[
        dict[str, Any],
        Meta(description="What changes in the cell's metadata: the `patch` of `set_metadata`."),
    ]
    | UnsetType
)

_OUTPUTS = (
    Annotated[
        Outputs,
        Meta(
            description="What becomes of a code cell's outputs and execution count if the source "
            "or the type is replaced: cleared, also if this is left out, or kept."
        ),
    ]
    | UnsetType
)

InsertBody: type[Any] = msgspec.defstruct(
    "InsertBody",
    part_of(Insert),
    bases=(Change,),
    namespace={"__doc__": "The body of a POST: an `insert` without its name."},
    forbid_unknown_fields=True,
    frozen=True,
    kw_only=True,
)
ReplaceBody: type[Any] = msgspec.defstruct(
    "ReplaceBody",
    [
        *part_of(Replace, "cell", "outputs"),
        ("outputs", _OUTPUTS, UNSET),
        ("metadata", _METADATA, UNSET),
    ],
    bases=(Change,),
    namespace={"__doc__": "The body of a PATCH of a cell: a `replace`, a `set_metadata`, or both."},
    forbid_unknown_fields=True,
    frozen=True,
    kw_only=True,
)


class DeleteQuery(Note, frozen=True, kw_only=True):
    """The query of a DELETE, which has no body."""

    source_hash: (
        Annotated[
            str, Meta(description="What the cell's `source_hash` must still be, as in `expect`.")
        ]
        | UnsetType
    ) = UNSET
    wait_tabs: WaitTabs = 0


class OneOperationHandler(EditingHandler):
    """A handler whose requests are one operation each, and name none."""

    def refusal(self, body: ErrorBody) -> ErrorBody:
        """Leave out which operation is to blame."""
        facts = {name: value for name, value in body.details.items() if name != "operation"}
        return msgspec.structs.replace(body, details=facts)


class CellsHandler(OneOperationHandler):
    """``/nbedit/notebooks/{path}/cells``."""

    @Contract(
        "Insert a cell",
        query=TabsQuery,
        body=InsertBody,
        headers=_HEADERS,
        replies={
            HTTPStatus.OK: Reply(EditReply, "What a dry run would do.", [ETAG]),
            HTTPStatus.CREATED: Reply(EditReply, "The cell is there.", [ETAG, LOCATION]),
            **PROPOSED,
        },
        refusals=_REFUSALS,
    )
    @web.authenticated
    @authorized
    async def post(self, path: str) -> None:
        """Insert a cell at a position that must be given."""
        body = await self.decode(InsertBody)
        await self.edit(path, [_operation(Insert, body)], body, HTTPStatus.CREATED)

    def more_headers(self, reply: EditReply) -> dict[str, str]:
        """Say where the new cell is."""
        if reply.dry_run:
            return {}
        done = reply.operations[0]
        cell = done.cell_id if done.cell_id is not None else f"cell-{done.index}"
        parts = ("nbedit/notebooks", url_escape(reply.path), "cells", url_escape(cell))
        return {"Location": url_path_join(self.base_url, *parts)}


class CellHandler(OneOperationHandler, ReadingHandler):
    """``/nbedit/notebooks/{path}/cells/{cell}``."""

    @Contract(
        "Read a cell",
        query=CellQuery,
        headers=[IF_NONE_MATCH, SESSION],
        replies=SHOWN,
        refusals=[*OF_READING, CellNotFound, AmbiguousCell],
    )
    @web.authenticated
    @authorized
    async def get(self, path: str, cell: str) -> None:
        """Read the notebook with this cell alone; 304 if the reader has it already."""
        await self.show(path, self.query(CellQuery), cells=[cell])

    @Contract(
        "Change a cell",
        query=TabsQuery,
        body=ReplaceBody,
        headers=_HEADERS,
        replies={HTTPStatus.OK: Reply(EditReply, "What the edit did.", [ETAG]), **PROPOSED},
        refusals=_REFUSALS,
    )
    @web.authenticated
    @authorized
    async def patch(self, path: str, cell: str) -> None:
        """Replace the cell's source or its type, and change its metadata."""
        body = await self.decode(ReplaceBody)
        replaces = body.source is not UNSET or body.cell_type is not UNSET
        _check_change(body, replaces=replaces)

        def operations(at: CellAddress) -> Iterator[Operation]:
            if replaces:
                yield _operation(Replace, body, cell=at, outputs=given(body.outputs) or "clear")
            if body.metadata is not UNSET:
                yield SetMetadata(cell=at, patch=body.metadata, expect=body.expect)

        await self.edit(path, _at(cell, operations), body)

    @Contract(
        "Delete a cell",
        query=DeleteQuery,
        headers=_HEADERS,
        replies={HTTPStatus.OK: Reply(EditReply, "What the edit did.", [ETAG]), **PROPOSED},
        refusals=_REFUSALS,
    )
    @web.authenticated
    @authorized
    async def delete(self, path: str, cell: str) -> None:
        """Delete the cell; the answer carries its source."""
        if self.request.body:
            # Somebody who sends `dry_run` there must not lose the cell.
            message = (
                "DELETE takes no body. Send `dry_run`, `source_hash`, `client` and `message` in "
                "the query, and the notebook's hash as `If-Match`."
            )
            raise InvalidRequest(message)
        query = self.query(DeleteQuery)
        expect: Expect | UnsetType = UNSET
        if query.source_hash is not UNSET:
            expect = Expect(source_hash=query.source_hash)
        await self.edit(path, _at(cell, lambda at: [Delete(cell=at, expect=expect)]), query)


def _check_change(body: Any, *, replaces: bool) -> None:
    """Refuse in the words of the request what the operations would refuse in theirs."""
    if body.metadata is not UNSET:
        check_metadata("metadata", body.metadata)
    elif not replaces:
        message = "Expected a `source`, a `cell_type` or `metadata` to change; found none of them."
        raise InvalidOperation(message)
    if body.outputs is not UNSET and not replaces:
        message = (
            "`outputs` goes with a `source` or a `cell_type`: a change of the metadata leaves the "
            "outputs alone. Leave it out."
        )
        raise InvalidOperation(message)


def _at(cell: str, operations: Callable[[CellAddress], Iterable[Operation]]) -> Plan:
    def plan(document: Document) -> list[Operation]:
        return list(operations(document.address(cell)))

    return plan


def _operation(kind: type[Any], body: msgspec.Struct, **more: Any) -> Any:
    names = set(kind.__struct_fields__) - set(more)
    return kind(**{name: getattr(body, name) for name in names}, **more)
