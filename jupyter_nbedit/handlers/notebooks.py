"""One notebook: read it, edit it."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

import msgspec
from jupyter_server.auth.decorator import authorized
from msgspec import UNSET, Meta, UnsetType
from tornado import web

from jupyter_nbedit.errors import AmbiguousCell, CellNotFound, HashMismatch, InvalidRequest
from jupyter_nbedit.handlers.contract import (
    ETAG,
    IF_MATCH,
    IF_NONE_MATCH,
    OF_OPERATIONS,
    OF_READING,
    OF_WRITING,
    Contract,
    Reply,
)
from jupyter_nbedit.handlers.requests import NbEditHandler
from jupyter_nbedit.messages import EditReply, EditRequest, ReadReply, Selection
from jupyter_nbedit.notebook.operations import Operation
from jupyter_nbedit.notebook.view import View

#: The most operations of one batch.
MOST_OPERATIONS = 1000
_LONGEST_LABEL = 200


class EditBody(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The body of a PATCH."""

    operations: Annotated[
        list[Operation],
        Meta(min_length=1, max_length=MOST_OPERATIONS, description="Done all, or none of them."),
    ]
    hash: (
        Annotated[str, Meta(description="The version the edit is for; the same as `If-Match`.")]
        | UnsetType
    ) = UNSET
    dry_run: Annotated[bool, Meta(description="Answer what would be, write nothing.")] = False
    client: (
        Annotated[
            str,
            Meta(max_length=_LONGEST_LABEL, description="What you call yourself; not verified."),
        ]
        | UnsetType
    ) = UNSET
    message: (
        Annotated[
            str,
            Meta(
                max_length=_LONGEST_LABEL, description="Why the edit is made; for the server's log."
            ),
        ]
        | UnsetType
    ) = UNSET


class ReadQuery(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The query of a GET."""

    view: View = "source"
    start: Annotated[int, Meta(ge=0)] = 0
    limit: Annotated[int, Meta(ge=1)] | UnsetType = UNSET
    cell: list[str] = []


class NotebookHandler(NbEditHandler):
    """``/nbedit/notebooks/{path}``."""

    @Contract(
        "Read a notebook",
        query=ReadQuery,
        headers=[IF_NONE_MATCH],
        replies={
            HTTPStatus.OK: Reply(ReadReply, "The notebook.", [ETAG]),
            HTTPStatus.NOT_MODIFIED: Reply(None, "You have this version already.", [ETAG]),
        },
        refusals=[*OF_READING, CellNotFound, AmbiguousCell],
    )
    @web.authenticated
    @authorized
    async def get(self, path: str) -> None:
        """Read the notebook; 304 if the reader has it already."""
        query = self.query(ReadQuery)
        selection = Selection(
            cells=query.cell,
            start=query.start,
            limit=None if query.limit is UNSET else query.limit,
            view=query.view,
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
        headers=[IF_MATCH],
        replies={HTTPStatus.OK: Reply(EditReply, "What the edit did.", [ETAG])},
        refusals=[*OF_READING, *OF_WRITING, *OF_OPERATIONS, HashMismatch],
    )
    @web.authenticated
    @authorized
    async def patch(self, path: str) -> None:
        """Apply a batch of operations, all or none."""
        body = self.decode(EditBody)
        request = EditRequest(
            path=path,
            operations=body.operations,
            hash=self._expected_hash(None if body.hash is UNSET else body.hash),
            dry_run=body.dry_run,
            user=self.current_user.username,
            client=None if body.client is UNSET else body.client,
            message=None if body.message is UNSET else body.message,
        )
        reply = await self.editor.edit(request)
        self.answer(reply, tag=reply.hash)

    def _known(self, digest: str) -> bool:
        tags = _tags(self.request.headers.get("If-None-Match", ""))
        # RFC 9110 13.1.2: this comparison is the weak one.
        return "*" in tags or digest in {tag.removeprefix("W/").strip('"') for tag in tags}

    def _expected_hash(self, in_body: str | None) -> str | None:
        """Take the hash from ``If-Match`` or the body; a browser may not be allowed the header."""
        tags = _tags(self.request.headers.get("If-Match", ""))
        if not tags or tags == ["*"]:
            return in_body
        if len(tags) > 1 or not (tags[0].startswith('"') and tags[0].endswith('"')):
            message = (
                'Expected `If-Match: "<hash>"` with the one hash that reading the notebook gave; '
                f"found {', '.join(tags)[:200]}."
            )
            raise InvalidRequest(message)
        tag = tags[0].strip('"')
        if in_body not in {None, tag}:
            message = "`If-Match` and the body's `hash` differ; send one of them."
            raise InvalidRequest(message)
        return tag


def _tags(header: str) -> list[str]:
    return [tag.strip() for tag in header.split(",") if tag.strip()]
