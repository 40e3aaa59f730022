"""The search service on notebooks in memory: limits, going on, who waits for whom."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_nbedit.errors import Forbidden, InvalidRequest, NotebookNotFound
from jupyter_nbedit.search.models import SearchReply, SearchRequest
from jupyter_nbedit.search.service import SearchService
from jupyter_nbedit.storage.base import NotebookFile, SkippedPath, Walker
from tests.support import samples
from tests.support.memory_storage import MemoryStorage, OneStorage


def book(*sources: str) -> bytes:
    return samples.notebook(*(samples.raw(source) for source in sources))


NOTEBOOKS = {
    "a.ipynb": book("two\ntwo", "one", "two"),
    "b/a.ipynb": book("one"),
    "b/b.ipynb": book("two"),
    "b-c.ipynb": book("two", "two"),
    "c.ipynb": book("two"),
}


def search(storage: MemoryStorage, *, seconds: float = 60, **fields: Any) -> SearchReply:
    fields = {"query": "two", **fields}
    request = SearchRequest(**{name: value for name, value in fields.items() if value is not None})
    service = SearchService(storages=OneStorage(storage), seconds=seconds)
    return asyncio.run(service.search(request, gone=lambda: False))


def places(*replies: SearchReply) -> list[tuple[str, int, int]]:
    return [(hit.path, hit.index, hit.line) for reply in replies for hit in reply.hits]


def pages(storage: MemoryStorage, **fields: Any) -> list[SearchReply]:
    """Search to the end, page by page."""
    replies = [search(storage, **fields)]
    while replies[-1].cursor is not None:
        assert len(replies) < 1000
        replies.append(search(storage, cursor=replies[-1].cursor, **fields))
    return replies


ALL = places(search(MemoryStorage(NOTEBOOKS)))


def test_matches_come_in_the_order_of_paths_and_cells() -> None:
    assert ALL == [
        ("a.ipynb", 0, 1),
        ("a.ipynb", 0, 2),
        ("a.ipynb", 2, 1),
        ("b/b.ipynb", 0, 1),
        ("b-c.ipynb", 0, 1),
        ("b-c.ipynb", 1, 1),
        ("c.ipynb", 0, 1),
    ]
    reply = search(MemoryStorage(NOTEBOOKS))
    assert (reply.files, reply.cursor, reply.ended_by, reply.skipped) == (5, None, None, [])


def test_a_search_without_time_progresses_page_by_page_to_its_end() -> None:
    replies = pages(MemoryStorage(NOTEBOOKS), seconds=0)
    assert places(*replies) == ALL
    assert len(replies) > 5
    assert {reply.ended_by for reply in replies[:-1]} == {"time"}


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3)), min_size=1, max_size=4))
def test_limits_may_change_from_page_to_page(limits: list[tuple[int, int]]) -> None:
    storage = MemoryStorage(NOTEBOOKS)
    found: list[tuple[str, int, int]] = []
    cursor, turn = None, 0
    while cursor is not None or turn == 0:
        limit, most = limits[turn % len(limits)]
        reply = search(storage, cursor=cursor, limit=limit, max_files=most)
        assert (len(reply.hits) <= limit, reply.files <= most) == (True, True)
        assert reply.ended_by in {"limit", "max_files", None}
        found += places(reply)
        cursor, turn = reply.cursor, turn + 1
        assert turn < 100
    assert found == ALL


def test_changes_between_pages_repeat_and_hide_no_other_match() -> None:
    storage = MemoryStorage(dict(NOTEBOOKS))
    first = search(storage, limit=4)
    assert places(first)[-1] == ("b/b.ipynb", 0, 1)
    storage.notebooks["a0.ipynb"] = book("two")
    storage.notebooks["d.ipynb"] = book("two")
    del storage.notebooks["b/b.ipynb"]
    rest = search(storage, cursor=first.cursor)
    assert places(rest) == [*ALL[4:], ("d.ipynb", 0, 1)]


def test_a_notebook_that_changed_between_pages_is_searched_again() -> None:
    storage = MemoryStorage(dict(NOTEBOOKS))
    first = search(storage, limit=2)
    storage.notebooks["a.ipynb"] = book("new two", "two", "two", "two")
    rest = search(storage, cursor=first.cursor)
    assert places(rest) == [("a.ipynb", index, 1) for index in range(4)] + ALL[3:]


def tampered(cursor: str, **changed: Any) -> str:
    names = ("search", "path", "version", "place")
    fields = dict(zip(names, json.loads(base64.urlsafe_b64decode(cursor)), strict=True))
    return base64.urlsafe_b64encode(json.dumps([*{**fields, **changed}.values()]).encode()).decode()


def test_a_cursor_of_another_search_is_refused() -> None:
    storage = MemoryStorage(NOTEBOOKS)
    cursor = search(storage, limit=1).cursor
    assert cursor is not None
    for other in (
        {"query": "one"},
        {"query": None, "regex": "two"},
        {"ignore_case": True},
        {"path": "b"},
        {"recursive": False},
        {"glob": "*"},
        {"scope": ["tags"]},
        {"cell_type": "raw"},
    ):
        with pytest.raises(InvalidRequest):
            search(storage, cursor=cursor, **other)
    for broken in (
        *("", "x", cursor[:-1], cursor[1:], f"{cursor}AAAA", "é", "\ud800", "bnVsbA=="),
        tampered(cursor, place=[-1, 0, 0, 0]),
        tampered(cursor, place=[0, 0]),
        tampered(cursor, path=3),
        tampered(cursor, search=""),
    ):
        with pytest.raises(InvalidRequest):
            search(storage, cursor=broken)


def test_a_cursor_does_not_reach_paths_outside_the_search() -> None:
    storage = MemoryStorage(NOTEBOOKS)
    cursor = search(storage, path="b", max_files=1).cursor
    assert cursor is not None
    for path in ("", "a.ipynb", "../outside.ipynb", "/etc", "b"):
        found = search(storage, path="b", cursor=tampered(cursor, path=path, place=None))
        assert set(places(found)) <= {("b/b.ipynb", 0, 1)}


@pytest.mark.parametrize(
    ("glob", "found"),
    [
        ("*", {"a.ipynb", "b/b.ipynb", "b-c.ipynb", "c.ipynb"}),
        ("b*", {"b/b.ipynb", "b-c.ipynb"}),
        ("?.ipynb", {"a.ipynb", "b/b.ipynb", "c.ipynb"}),
        ("b/*", {"b/b.ipynb"}),
        ("[!a].ipynb", {"b/b.ipynb", "c.ipynb"}),
        ("B*", set()),
    ],
)
def test_a_glob_matches_names_or_paths(glob: str, found: set[str]) -> None:
    assert {hit.path for hit in search(MemoryStorage(NOTEBOOKS), glob=glob).hits} == found
    inside = search(MemoryStorage(NOTEBOOKS), path="b", glob="/b.ipynb".lstrip("/"))
    assert {hit.path for hit in inside.hits} == {"b/b.ipynb"}


class Strange(MemoryStorage):
    """A storage whose walk brings what a test wants."""

    def __init__(self, *entries: NotebookFile | SkippedPath) -> None:
        super().__init__({})
        self.entries = entries

    async def walk(self, path: str, *, recursive: bool) -> Walker:  # noqa: ARG002 -- brings them all
        return lambda _: iter(self.entries)


def refusing(error: Exception) -> Callable[[], bytes]:
    def read() -> bytes:
        raise error

    return read


def test_unsearchable_notebooks_are_reported_and_hidden_ones_counted() -> None:
    reply = search(
        Strange(
            SkippedPath(".x", "hidden", "It is hidden."),
            SkippedPath("link", "link", "It is a link."),
            NotebookFile("forbidden.ipynb", refusing(Forbidden("You may not."))),
            NotebookFile("gone.ipynb", refusing(NotebookNotFound())),
            NotebookFile("not.ipynb", lambda: b"not a notebook"),
            NotebookFile("half.ipynb", lambda: book("two", "@").replace(b'"@"', b"3")),
            NotebookFile("good.ipynb", lambda: book("two")),
        )
    )
    assert places(reply) == [("half.ipynb", 0, 1), ("good.ipynb", 0, 1)]
    assert [(one.path, one.reason) for one in reply.skipped] == [
        ("link", "link"),
        ("forbidden.ipynb", "forbidden"),
        ("not.ipynb", "invalid_notebook"),
        ("half.ipynb", "invalid_notebook"),
    ]
    assert (reply.files, reply.skipped_count, reply.hidden, reply.cursor) == (1, 4, 1, None)
    assert "hidden" not in str(msgspec.to_builtins(reply.skipped))


def test_a_hundred_skipped_paths_are_listed_and_all_are_counted() -> None:
    reply = search(Strange(*(SkippedPath(f"{n}", "link", "It is a link.") for n in range(150))))
    assert (len(reply.skipped), reply.skipped_count) == (100, 150)
