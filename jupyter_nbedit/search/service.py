"""Search notebooks, for a short time at once and without keeping anybody waiting."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Literal

import msgspec
from msgspec import UNSET

from jupyter_nbedit.errors import InvalidRequest, NbEditError, NotebookNotFound
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.search import (
    Hit,
    Query,
    SearchPosition,
    compile_literal,
    compile_regex,
    search_notebook,
)
from jupyter_nbedit.search.models import SearchReply, SearchRequest, SkippedNotebook
from jupyter_nbedit.storage.base import NotebookFile, SkippedPath, Storages, Walker

# How long one request may search; then it answers what it has, and where to go on.
_SECONDS = 5.0
# Searches take turns of this length, and no more of them at once: the pool of threads is shared
# with everything else the server does.
_TURN_SECONDS = 0.1
_AT_ONCE = 2
_MOST_SKIPPED = 100
_FINGERPRINT_BYTES = 8


class _Cursor(msgspec.Struct, array_like=True, frozen=True, forbid_unknown_fields=True):
    """Up to where was searched.

    Parameters
    ----------
    search
        The fingerprint of what was searched for, and where.
    path
        The last notebook or folder.
    version
        The fingerprint of the notebook's bytes.
    place
        The last place in it; None if it was searched to its end.
    """

    search: str
    path: str
    version: str = ""
    place: SearchPosition | None = None


@dataclass
class SearchService:
    """Searches notebooks.

    Parameters
    ----------
    storages
        The ways in which notebooks are kept.
    seconds
        How long a request may search.
    """

    storages: Storages
    seconds: float = _SECONDS
    _slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE))

    async def search(self, request: SearchRequest, *, gone: Callable[[], bool]) -> SearchReply:
        """Search until there is nothing more, or one of the limits is reached.

        Parameters
        ----------
        request
            What for, and where.
        gone
            Tells whether nobody waits for the reply any more; then the search ends.

        Raises
        ------
        FolderNotFound
            If there is nothing to search.
        InvalidRequest
            If what is searched for is not said, or no regular expression; or if the cursor is none
            of this search.
        """
        run = _SearchRun(request, time.monotonic() + self.seconds)
        run.walk = await self.storages.walk(request.path, recursive=request.recursive)
        while not gone():
            async with self._slots:
                if await asyncio.to_thread(run.run_slice, gone):
                    break
        return run.build_reply()


class _SearchRun:
    """One request's search; a turn of it may run in any thread, but never two at once."""

    walk: Walker

    def __init__(self, request: SearchRequest, deadline: float) -> None:
        self._request = request
        self._query = _build_query(request)
        self._search = _compute_fingerprint(request)
        given = request.cursor
        self._begin = None if given is UNSET else _decode_cursor(given, self._search)
        self._cursor = self._begin
        self._deadline = deadline
        self._hits: list[Hit] = []
        self._files = 0
        self._skipped: list[SkippedNotebook] = []
        self._skipped_count = 0
        self._hidden = 0
        self._ended_by: Literal["limit", "max_files", "time"] | None = None
        self._done = False
        self._steps = self._search_all()

    def run_slice(self, gone: Callable[[], bool]) -> bool:
        """Search for one turn.

        Returns
        -------
        Whether the search has ended.
        """
        until = time.monotonic() + _TURN_SECONDS
        for cursor in self._steps:
            self._cursor = cursor
            now = time.monotonic()
            if now >= self._deadline:
                self._ended_by = "time"
                return True
            if now >= until or gone():
                return False
        self._done = self._ended_by is None
        return True

    def build_reply(self) -> SearchReply:
        """Return what was found so far."""
        return SearchReply(
            hits=self._hits,
            files=self._files,
            skipped=self._skipped,
            skipped_count=self._skipped_count,
            hidden=self._hidden,
            ended_by=self._ended_by,
            cursor=None if self._done or self._cursor is None else _encode_cursor(self._cursor),
        )

    def _search_all(self) -> Iterator[_Cursor]:
        """Search notebook by notebook; each step is further than the one before."""
        begin = self._begin or _Cursor(self._search, "")
        for entry in self.walk(begin.path):
            after = begin if entry.path == begin.path else None
            if isinstance(entry, SkippedPath):
                self._skip(entry.path, entry.reason, entry.message)
            elif not isinstance(entry, NotebookFile):
                yield _Cursor(self._search, entry.path)
            elif self._is_wanted(entry.path) and (after is None or after.place is not None):
                if self._files == self._request.max_files:
                    self._ended_by = "max_files"
                    return
                yield from self._search_one(entry, after)
                if self._ended_by is not None:
                    return
                yield _Cursor(self._search, entry.path)

    def _search_one(self, found: NotebookFile, after: _Cursor | None) -> Iterator[_Cursor]:
        self._files += 1
        try:
            text = found.read()
            version = hashlib.blake2b(text, digest_size=_FINGERPRINT_BYTES).hexdigest()
            # Of a notebook that has changed meanwhile, lines would be missed.
            place = after.place if after is not None and after.version == version else None
            for done, hit in search_notebook(found.path, Document.parse(text), self._query, place):
                if hit is not None:
                    if len(self._hits) == self._request.limit:
                        self._ended_by = "limit"
                        return
                    self._hits.append(hit)
                yield _Cursor(self._search, found.path, version, done)
        except NotebookNotFound:
            # It was listed, and has gone since.
            self._files -= 1
        except NbEditError as error:
            self._files -= 1
            self._skip(found.path, error.reason, error.message)

    def _is_wanted(self, path: str) -> bool:
        glob = self._request.glob
        if glob is UNSET:
            return True
        if "/" not in glob:
            return fnmatchcase(path.rpartition("/")[2], glob)
        return fnmatchcase(path.removeprefix(self._request.path.strip("/")).lstrip("/"), glob)

    def _skip(self, path: str, reason: str, message: str) -> None:
        if reason == "hidden":
            self._hidden += 1
            return
        self._skipped_count += 1
        if len(self._skipped) < _MOST_SKIPPED:
            self._skipped.append(SkippedNotebook(path=path, reason=reason, message=message))


def _build_query(request: SearchRequest) -> Query:
    if (request.query is UNSET) == (request.regex is UNSET):
        message = "Expected `query` or `regex`, and not both."
        raise InvalidRequest(message)
    if request.query is not UNSET:
        pattern = compile_literal(request.query, ignore_case=request.ignore_case)
    else:
        pattern = compile_regex(str(request.regex), ignore_case=request.ignore_case)
    cell_type = None if request.cell_type is UNSET else request.cell_type
    return Query(pattern, frozenset(request.scope), cell_type)


def _compute_fingerprint(request: SearchRequest) -> str:
    """Return a key of this search, whatever part of it is asked for."""
    same = msgspec.structs.replace(request, limit=1, max_files=UNSET, cursor=UNSET)
    said = repr(msgspec.to_builtins(same)).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(said, digest_size=_FINGERPRINT_BYTES).hexdigest()


def _encode_cursor(cursor: _Cursor) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(cursor)).decode()


def _decode_cursor(text: str, search: str) -> _Cursor:
    try:
        data = base64.b64decode(text.encode(), altchars=b"-_", validate=True)
        cursor = msgspec.json.decode(data, type=_Cursor)
    except (UnicodeError, binascii.Error, msgspec.DecodeError):
        cursor = None
    if cursor is None or cursor.search != search:
        message = (
            "`cursor` is none that this search gave. Send it together with the same search, or "
            "search from the beginning, without it."
        )
        raise InvalidRequest(message)
    return cursor
