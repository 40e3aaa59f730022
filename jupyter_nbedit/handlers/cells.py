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
from jupyter_nbedit.handlers.editing import Change, EditingHandler, Note, part_of
from jupyter_nbedit.handlers.reading import SHOWN, CellQuery, ReadingHandler
from jupyter_nbedit.messages import EditReply, Plan
from jupyter_nbedit.notebook.document import CellAddress, Document
from jupyter_nbedit.notebook.operations import (
    Delete,
    Expect,
    Insert,
    Operation,
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
    [*part_of(Replace, "cell"), ("metadata", _METADATA, UNSET)],
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


class CellsHandler(EditingHandler):
    """``/nbedit/notebooks/{path}/cells``."""

    @Contract(
        "Insert a cell",
        body=InsertBody,
        headers=_HEADERS,
        replies={
            HTTPStatus.OK: Reply(EditReply, "What a dry run would do.", [ETAG]),
            HTTPStatus.CREATED: Reply(EditReply, "The cell is there.", [ETAG, LOCATION]),
        },
        refusals=_REFUSALS,
    )
    @web.authenticated
    @authorized
    async def post(self, path: str) -> None:
        """Insert a cell at a position that must be given."""
        body = self.decode(InsertBody)
        await self.edit(path, [_operation(Insert, body)], body, HTTPStatus.CREATED)

    def more_headers(self, path: str, reply: EditReply) -> dict[str, str]:
        """Say where the new cell is."""
        if reply.dry_run:
            return {}
        done = reply.operations[0]
        cell = done.cell_id if done.cell_id is not None else f"cell-{done.index}"
        parts = ("nbedit/notebooks", url_escape(path), "cells", url_escape(cell))
        return {"Location": url_path_join(self.base_url, *parts)}


class CellHandler(EditingHandler, ReadingHandler):
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
        body=ReplaceBody,
        headers=_HEADERS,
        replies={HTTPStatus.OK: Reply(EditReply, "What the edit did.", [ETAG])},
        refusals=_REFUSALS,
    )
    @web.authenticated
    @authorized
    async def patch(self, path: str, cell: str) -> None:
        """Replace the cell's source or its type, and change its metadata."""
        body = self.decode(ReplaceBody)

        def operations(at: CellAddress) -> Iterator[Operation]:
            if body.metadata is UNSET or body.source is not UNSET or body.cell_type is not UNSET:
                yield _operation(Replace, body, cell=at)
            if body.metadata is not UNSET:
                yield SetMetadata(cell=at, patch=body.metadata, expect=body.expect)

        await self.edit(path, _at(cell, operations), body)

    @Contract(
        "Delete a cell",
        query=DeleteQuery,
        headers=_HEADERS,
        replies={HTTPStatus.OK: Reply(EditReply, "What the edit did.", [ETAG])},
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


def _at(cell: str, operations: Callable[[CellAddress], Iterable[Operation]]) -> Plan:
    def plan(document: Document) -> list[Operation]:
        return list(operations(document.address(cell)))

    return plan


def _operation(kind: type[Any], body: msgspec.Struct, **more: Any) -> Any:
    names = set(kind.__struct_fields__) - set(more)
    return kind(**{name: getattr(body, name) for name in names}, **more)
