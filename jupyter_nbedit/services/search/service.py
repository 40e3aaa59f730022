"""Search the text of many notebooks in short slices of time, page by page with a cursor."""

import asyncio
import base64
import binascii
import hashlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

import msgspec
from msgspec import UNSET

from jupyter_nbedit.errors import InvalidNotebook, InvalidRequest, NbEditError, NotebookNotFound
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.search import (
    Query,
    SearchPosition,
    compile_literal,
    compile_regex,
    search_notebook,
)
from jupyter_nbedit.notebook.search_filter import build_filter, find_required_text
from jupyter_nbedit.services.search.models import SearchReply, SearchRequest
from jupyter_nbedit.storage.base import NotebookFile, SkippedNotebook, Walker
from jupyter_nbedit.storage.resolver import StorageResolver

# How long one request may search; then the reply has the hits so far and a cursor.
_SECONDS = 5.0
# The length of a slice, and the number of slices at the same time: searches share the thread pool
# with all other requests.
_SLICE_SECONDS = 0.1
_MAX_SLICES = 2
# How long the notebooks of a folder may be listed, in one slice.
_LISTING_SECONDS = 2.0
_MAX_SKIPPED = 100
_FINGERPRINT_BYTES = 8
_CELLS = b'"cells"'


class _Cursor(msgspec.Struct, array_like=True, frozen=True, forbid_unknown_fields=True):
    """The position where a search ended."""

    #: The fingerprint of the request.
    search: str
    #: The last notebook or folder, and the fingerprint of the bytes of the notebook.
    path: str
    version: str = ""
    #: The last position in it; None if it was searched to its end.
    place: SearchPosition | None = None


@dataclass
class SearchService:
    """Searches notebooks."""

    storages: StorageResolver
    #: How long a request may search.
    seconds: float = _SECONDS
    _slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_MAX_SLICES))

    async def search(
        self, request: SearchRequest, *, is_cancelled: Callable[[], bool]
    ) -> SearchReply:
        """Search until the end, until a limit is reached, or until the client has disconnected.

        Raise `FolderNotFound` if there is no folder or notebook at the path, and `InvalidRequest`
        if the query is missing or not a regular expression, or if the cursor is not from the same
        search.
        """
        query, deadline = _build_query(request), time.monotonic() + self.seconds
        fingerprint = _compute_fingerprint(request)
        start = _Cursor(fingerprint, "")
        if request.cursor is not UNSET:
            start = _decode_cursor(request.cursor, fingerprint)
        walker = await self.storages.walk(request.path, recursive=request.recursive)
        run = _SearchRun(request, query, walker, start, deadline)
        while not is_cancelled():
            async with self._slots:
                if await asyncio.to_thread(run.run_slice, is_cancelled):
                    break
        if run.cursor is not None:
            run.reply.cursor = _encode_cursor(run.cursor, run.data)
        return run.reply

    async def list_notebooks(self, folder: str, *, limit: int) -> list[str]:
        """Return the paths of the first notebooks in a folder and its folders.

        There may be fewer than ``limit`` of them if the folder is very large. Raise
        `FolderNotFound` if there is no folder or notebook at the path.
        """
        walker = await self.storages.walk(folder, recursive=True)
        async with self._slots:
            deadline = time.monotonic() + min(self.seconds, _LISTING_SECONDS)
            return await asyncio.to_thread(_list_notebooks, walker, limit, deadline)


def _list_notebooks(walker: Walker, limit: int, deadline: float) -> list[str]:
    paths: list[str] = []
    for item in walker(""):
        if isinstance(item, NotebookFile):
            paths.append(item.path)
        if len(paths) == limit or time.monotonic() >= deadline:
            break
    return paths


@dataclass
class _SearchRun:
    """The search of one request; its slices may run in any thread, but only one at a time."""

    request: SearchRequest
    query: Query
    walker: Walker
    start: _Cursor
    deadline: float

    def __post_init__(self) -> None:
        self.cursor = self.start if self.start.path else None
        self.cursors = self._search_all()
        #: The bytes of the notebook that was read last.
        self.data = b""
        self.reply = SearchReply(
            hits=[], files=0, skipped=[], skipped_count=0, hidden=0, ended_by=None, cursor=None
        )

    def run_slice(self, is_cancelled: Callable[[], bool]) -> bool:
        """Search for the time of a slice; return whether the search has ended."""
        slice_end = time.monotonic() + _SLICE_SECONDS
        for cursor in self.cursors:
            self.cursor = cursor
            current_time = time.monotonic()
            if current_time >= self.deadline:
                self.reply.ended_by = "time"
                return True
            if current_time >= slice_end or is_cancelled():
                return False
        if self.reply.ended_by is None:
            self.cursor = None
        return True

    def _search_all(self) -> Iterator[_Cursor]:
        """Search notebook by notebook; yield the position after each step."""
        start, fingerprint = self.start, self.start.search
        for item in self.walker(start.path):
            resume = start if item.path == start.path else None
            if isinstance(item, SkippedNotebook):
                self._skip(item)
            elif not isinstance(item, NotebookFile):
                yield _Cursor(fingerprint, item.path)
            elif self._matches_glob(item.path) and (resume is None or resume.place is not None):
                if self.reply.files == self.request.max_files:
                    self.reply.ended_by = "max_files"
                    return
                yield from self._search_notebook(item, resume)
                if self.reply.ended_by is not None:
                    return
                yield _Cursor(fingerprint, item.path)

    def _search_notebook(self, file: NotebookFile, resume: _Cursor | None) -> Iterator[_Cursor]:
        self.reply.files += 1
        try:
            self.data = data = file.read()
            # What is no notebook at all is parsed, to be reported.
            if _CELLS in data and not self.query.may_match(data):
                return
            # A notebook that has changed is searched from its beginning, so that no line is missed.
            is_same = resume is not None and resume.version == _compute_version(data)
            place = resume.place if resume is not None and is_same else None
            unreadable: list[InvalidNotebook] = []
            document = Document.parse(data)
            for position, hit in search_notebook(
                file.path, document, self.query, place, unreadable.append
            ):
                if hit is not None:
                    if len(self.reply.hits) == self.request.limit:
                        self.reply.ended_by = "limit"
                        return
                    self.reply.hits.append(hit)
                yield _Cursor(self.start.search, file.path, place=position)
            if unreadable:
                message = f"Other cells of it were searched. {unreadable[0].message}"
                self._skip(SkippedNotebook(file.path, InvalidNotebook.reason, message))
        except NotebookNotFound:
            # The notebook was deleted after it was listed.
            self.reply.files -= 1
        except NbEditError as error:
            self.reply.files -= 1
            self._skip(SkippedNotebook(file.path, error.reason, error.message))

    def _matches_glob(self, path: str) -> bool:
        glob = self.request.glob
        if glob is UNSET:
            return True
        if "/" not in glob:
            return fnmatchcase(path.rpartition("/")[2], glob)
        return fnmatchcase(path.removeprefix(self.request.path.strip("/")).lstrip("/"), glob)

    def _skip(self, skipped: SkippedNotebook) -> None:
        if skipped.reason == "hidden":
            self.reply.hidden += 1
            return
        self.reply.skipped_count += 1
        if len(self.reply.skipped) < _MAX_SKIPPED:
            self.reply.skipped.append(skipped)


def _build_query(request: SearchRequest) -> Query:
    if (request.query is UNSET) == (request.regex is UNSET):
        raise InvalidRequest("Expected `query` or `regex`, and not both.")
    if request.query is not UNSET:
        pattern = compile_literal(request.query, ignore_case=request.ignore_case)
        required_text = request.query
    else:
        pattern = compile_regex(str(request.regex), ignore_case=request.ignore_case)
        required_text = find_required_text(str(request.regex))
    return Query(
        pattern,
        frozenset(request.scope),
        None if request.cell_type is UNSET else request.cell_type,
        build_filter(required_text, ignore_case=request.ignore_case),
    )


def _compute_fingerprint(request: SearchRequest) -> str:
    """Return a key that is the same for all pages of a search."""
    search = msgspec.structs.replace(request, limit=1, max_files=UNSET, cursor=UNSET)
    key = repr(msgspec.to_builtins(search)).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(key, digest_size=_FINGERPRINT_BYTES).hexdigest()


def _compute_version(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=_FINGERPRINT_BYTES).hexdigest()


def _encode_cursor(cursor: _Cursor, data: bytes) -> str:
    """Return a position as text; ``data`` are the bytes of the notebook in which it is."""
    if cursor.place is not None:
        cursor = msgspec.structs.replace(cursor, version=_compute_version(data))
    return base64.urlsafe_b64encode(msgspec.json.encode(cursor)).decode()


def _decode_cursor(text: str, search: str) -> _Cursor:
    try:
        data = base64.b64decode(text.encode(), altchars=b"-_", validate=True)
        cursor = msgspec.json.decode(data, type=_Cursor)
    except (UnicodeError, binascii.Error, msgspec.DecodeError):
        cursor = None
    if cursor is None or cursor.search != search:
        raise InvalidRequest(
            "`cursor` does not belong to this search. Send it with the search that returned it, "
            "or search again without it."
        )
    return cursor
