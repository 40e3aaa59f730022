"""What is read of a notebook, and how it is sent."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType
from tornado.iostream import StreamClosedError

from jupyter_nbedit.handlers.base import NbEditHandler, encode_json
from jupyter_nbedit.handlers.editing import parse_etags
from jupyter_nbedit.handlers.openapi.spec import ETAG, Reply
from jupyter_nbedit.models import get_or_none
from jupyter_nbedit.notebook.operations import LARGEST_INTEGER, LONGEST_SECTION_NAME
from jupyter_nbedit.notebook.views import OutputsDetail, View, ViewOptions
from jupyter_nbedit.reading.models import ReadOptions, ReadReply

#: The answers to reading.
SHOWN = {
    HTTPStatus.OK: Reply(ReadReply, "The notebook.", [ETAG]),
    HTTPStatus.NOT_MODIFIED: Reply(None, "You have this version already.", [ETAG]),
}

# So much is handed to the connection at once, so that others are served between.
_PIECE_BYTES = 1 << 20


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
                description="How many characters of the notebook's text at most: filled with the "
                "outline, then with sources, then with metadata, attachments and outputs. What is "
                "left out is said in `omitted`, of each cell and of the reply; ids, hashes and the "
                "form of the reply come on top.",
            ),
        ]
        | UnsetType
    ) = UNSET


class ReadQuery(CellQuery, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The query of a GET."""

    cell: Annotated[
        list[str],
        Meta(description="The cells wanted: ids, `cell-N`, or indexes from 0. Repeatable."),
    ] = []
    section: Annotated[
        list[Annotated[str, Meta(extra_json_schema={"maxLength": LONGEST_SECTION_NAME})]],
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


class ReadingHandler(NbEditHandler):
    """A handler with verbs that read notebooks."""

    async def show(self, path: str, query: CellQuery, **selected: Any) -> None:
        """Read a notebook and send it, or 304 if the reader has it already.

        Parameters
        ----------
        path
            Its API path.
        query
            How much of each cell.
        **selected
            Which cells, as fields of `ReadOptions`.
        """
        selection = ReadOptions(
            show=ViewOptions(query.view, get_or_none(query.outputs)),
            max_chars=get_or_none(query.max_chars),
            session=self.session,
            **selected,
        )
        reply = await self.services.reader.read(path, selection, is_known=self._is_known)
        if isinstance(reply, str):
            self.set_header("ETag", f'"{reply}"')
            self.set_status(HTTPStatus.NOT_MODIFIED)
            self.finish()
            return
        body = await asyncio.to_thread(_encode_reply, reply)
        self.set_header("ETag", f'"{reply.hash}"')
        await self._send(body)

    async def _send(self, body: bytes) -> None:
        """Send a body that may be large, in pieces."""
        self.set_header("Content-Length", str(len(body)))
        try:
            for start in range(_PIECE_BYTES, len(body), _PIECE_BYTES):
                self.write(body[start - _PIECE_BYTES : start])
                await self.flush()
            self.finish(body[(len(body) - 1) // _PIECE_BYTES * _PIECE_BYTES :])
        except StreamClosedError:
            self.log.debug("Nobody waited for all of %r", self.request.path)

    def _is_known(self, digest: str) -> bool:
        found = parse_etags(self.request.headers.get("If-None-Match", ""))
        # RFC 9110 13.1.2: this comparison is the weak one.
        return "*" in found or digest in {tag.removeprefix("W/").strip('"') for tag in found}


def _encode_reply(reply: ReadReply) -> bytes:
    """Write a reply cell by cell: one call for all would keep the interpreter from everybody."""
    cells = [msgspec.Raw(encode_json(cell)) for cell in reply.cells]
    try:
        return msgspec.json.encode(
            {
                name: cells if name == "cells" else getattr(reply, name)
                for name in reply.__struct_fields__
                if getattr(reply, name) is not UNSET
            }
        )
    except UnicodeEncodeError:
        # The lone surrogates are in what is said of the notebook.
        return encode_json(reply)
