"""The search service on notebooks in memory: limits, pages, skipped paths."""

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
from jupyter_nbedit.services.search.models import SearchReply, SearchRequest
from jupyter_nbedit.services.search.service import SearchService
from jupyter_nbedit.storage.base import NotebookFile, SkippedNotebook, Walker
from tests.support import samples
from tests.support.memory_storage import MemoryStorage, SingleStorage


def build_notebook(*sources: str) -> bytes:
    return samples.notebook(*(samples.raw(source) for source in sources))


NOTEBOOKS = {
    "a.ipynb": build_notebook("two\ntwo", "one", "two"),
    "b/a.ipynb": build_notebook("one"),
    "b/b.ipynb": build_notebook("two"),
    "b-c.ipynb": build_notebook("two", "two"),
    "c.ipynb": build_notebook("two"),
}


def search(storage: MemoryStorage, *, seconds: float = 60, **fields: Any) -> SearchReply:
    fields = {"query": "two", **fields}
    request = SearchRequest(**{name: value for name, value in fields.items() if value is not None})
    service = SearchService(storages=SingleStorage(storage), seconds=seconds)
    return asyncio.run(service.search(request, is_cancelled=lambda: False))


def list_positions(*replies: SearchReply) -> list[tuple[str, int, int]]:
    return [(hit.path, hit.index, hit.line) for reply in replies for hit in reply.hits]


def search_all(storage: MemoryStorage, **fields: Any) -> list[SearchReply]:
    """Search to the end, page by page."""
    replies = [search(storage, **fields)]
    while replies[-1].cursor is not None:
        assert len(replies) < 1000
        replies.append(search(storage, cursor=replies[-1].cursor, **fields))
    return replies


ALL = list_positions(search(MemoryStorage(NOTEBOOKS)))


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
    replies = search_all(MemoryStorage(NOTEBOOKS), seconds=0)
    assert list_positions(*replies) == ALL
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
        found += list_positions(reply)
        cursor, turn = reply.cursor, turn + 1
        assert turn < 100
    assert found == ALL


def test_changes_between_pages_repeat_and_hide_no_other_match() -> None:
    storage = MemoryStorage(dict(NOTEBOOKS))
    first = search(storage, limit=4)
    assert list_positions(first)[-1] == ("b/b.ipynb", 0, 1)
    storage.notebooks["a0.ipynb"] = build_notebook("two")
    storage.notebooks["d.ipynb"] = build_notebook("two")
    del storage.notebooks["b/b.ipynb"]
    rest = search(storage, cursor=first.cursor)
    assert list_positions(rest) == [*ALL[4:], ("d.ipynb", 0, 1)]


def test_a_notebook_that_changed_between_pages_is_searched_again() -> None:
    storage = MemoryStorage(dict(NOTEBOOKS))
    first = search(storage, limit=2)
    storage.notebooks["a.ipynb"] = build_notebook("new two", "two", "two", "two")
    rest = search(storage, cursor=first.cursor)
    assert list_positions(rest) == [("a.ipynb", index, 1) for index in range(4)] + ALL[3:]


def tamper_with(cursor: str, **changed: Any) -> str:
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
        tamper_with(cursor, place=[-1, 0, 0, 0]),
        tamper_with(cursor, place=[0, 0]),
        tamper_with(cursor, path=3),
        tamper_with(cursor, search=""),
    ):
        with pytest.raises(InvalidRequest):
            search(storage, cursor=broken)


def test_a_cursor_does_not_reach_paths_outside_the_search() -> None:
    storage = MemoryStorage(NOTEBOOKS)
    cursor = search(storage, path="b", max_files=1).cursor
    assert cursor is not None
    for path in ("", "a.ipynb", "../outside.ipynb", "/etc", "b"):
        found = search(storage, path="b", cursor=tamper_with(cursor, path=path, place=None))
        assert set(list_positions(found)) <= {("b/b.ipynb", 0, 1)}


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


class SkippingStorage(MemoryStorage):
    """A storage whose walk returns given items."""

    def __init__(self, *entries: NotebookFile | SkippedNotebook) -> None:
        super().__init__({})
        self.entries = entries

    async def walk(self, path: str, *, recursive: bool) -> Walker:  # noqa: ARG002 -- brings them all
        return lambda _: iter(self.entries)


def build_failing_read(error: Exception) -> Callable[[], bytes]:
    def read() -> bytes:
        raise error

    return read


def test_unsearchable_notebooks_are_reported_and_hidden_ones_counted() -> None:
    reply = search(
        SkippingStorage(
            SkippedNotebook(".x", "hidden", "It is hidden."),
            SkippedNotebook("link", "link", "It is a link."),
            NotebookFile("forbidden.ipynb", build_failing_read(Forbidden("You may not."))),
            NotebookFile("gone.ipynb", build_failing_read(NotebookNotFound())),
            NotebookFile("not.ipynb", lambda: b"not a notebook"),
            NotebookFile(
                "half.ipynb", lambda: build_notebook("two", "@").replace(b'"@"', b'["two", 3]')
            ),
            NotebookFile("good.ipynb", lambda: build_notebook("two")),
        )
    )
    assert list_positions(reply) == [("half.ipynb", 0, 1), ("good.ipynb", 0, 1)]
    assert [(one.path, one.reason) for one in reply.skipped] == [
        ("link", "link"),
        ("forbidden.ipynb", "forbidden"),
        ("not.ipynb", "invalid_notebook"),
        ("half.ipynb", "invalid_notebook"),
    ]
    # The half that can be read was searched.
    assert (reply.files, reply.skipped_count, reply.hidden, reply.cursor) == (2, 4, 1, None)
    assert "hidden" not in str(msgspec.to_builtins(reply.skipped))


def test_a_hundred_skipped_paths_are_listed_and_all_are_counted() -> None:
    reply = search(
        SkippingStorage(*(SkippedNotebook(f"{n}", "link", "It is a link.") for n in range(150)))
    )
    assert (len(reply.skipped), reply.skipped_count) == (100, 150)
