"""What all handlers that read notebooks share: the query, and how a notebook is sent."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from jupyter_nbedit.handlers.base import NbEditHandler, encode_json
from jupyter_nbedit.handlers.editing import parse_etags
from jupyter_nbedit.handlers.openapi import ETAG, Reply
from jupyter_nbedit.models import get_or_none
from jupyter_nbedit.notebook.operations import LARGEST_INTEGER, LONGEST_SECTION_NAME
from jupyter_nbedit.notebook.views import OutputsDetail, View, ViewOptions
from jupyter_nbedit.reading.models import ReadOptions, ReadReply

#: The replies of reading.
READ_REPLIES = {
    HTTPStatus.OK: Reply(ReadReply, "The notebook.", [ETAG]),
    HTTPStatus.NOT_MODIFIED: Reply(None, "You have this version already.", [ETAG]),
}


class CellQuery(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The query of a GET of one cell."""

    view: Annotated[
        View,
        Meta(
            description="`outline` has the first line of each cell, `source` the sources, `full` "
            "metadata and attachments as well."
        ),
    ] = "source"
    outputs: (
        Annotated[
            OutputsDetail,
            Meta(
                description="`summary` has number, types and size; `text` has the texts, without "
                "ANSI escapes, and `{mime, bytes}` for images and all else; `full` has everything. "
                "Without it `text` with `view=full`, else `summary`."
            ),
        ]
        | UnsetType
    ) = UNSET
    max_chars: (
        Annotated[
            int,
            Meta(
                ge=1,
                le=LARGEST_INTEGER,
                description="The most characters of the notebook's text in the reply: of the "
                "outline first, then of sources, then of metadata, attachments and outputs. "
                "`omitted` of each cell and of the reply counts what is left out; ids, hashes and "
                "the structure of the reply do not count.",
            ),
        ]
        | UnsetType
    ) = UNSET


class ReadQuery(CellQuery, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The query of a GET."""

    cell: Annotated[
        list[str],
        Meta(description="The cells to return: ids, `cell-N`, or indexes from 0. Repeatable."),
    ] = []
    section: Annotated[
        list[Annotated[str, Meta(extra_json_schema={"maxLength": LONGEST_SECTION_NAME})]],
        Meta(description="Headings: the cells of their sections are returned. Repeatable."),
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


class ReadingHandler(NbEditHandler):
    """A handler with verbs that read notebooks."""

    async def send_notebook(self, path: str, query: ReadQuery) -> None:
        """Read a notebook and send it, or 304 if the client has this version."""
        options = ReadOptions(
            cells=query.cell,
            sections=query.section,
            since=get_or_none(query.since),
            start=query.start,
            limit=get_or_none(query.limit),
            show=ViewOptions(query.view, get_or_none(query.outputs)),
            max_chars=get_or_none(query.max_chars),
            session=self.session,
        )
        reply = await self.services.reader.read(path, options, is_known=self._is_known)
        if isinstance(reply, str):
            self.set_header("ETag", f'"{reply}"')
            self.set_status(HTTPStatus.NOT_MODIFIED)
            self.finish()
            return
        body = await asyncio.to_thread(encode_json, reply)
        self.set_header("ETag", f'"{reply.hash}"')
        self.finish(body)

    def _is_known(self, digest: str) -> bool:
        tags = parse_etags(self.request.headers.get("If-None-Match", ""))
        # RFC 9110 13.1.2: the comparison is weak.
        return "*" in tags or digest in {tag.removeprefix("W/").strip('"') for tag in tags}
