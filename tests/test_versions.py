"""What is remembered of versions, and what is told from it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_nbedit.errors import VersionUnknown
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.versions import Changes, Versions
from tests.support import samples

NAMES = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8)
SOURCES = st.sampled_from(["1", "2", "3"])


def document(*cells: dict[str, Any]) -> Document:
    return Document.parse(samples.notebook(*cells))


def named(**sources: str) -> Document:
    return document(*(samples.raw(source, name) for name, source in sources.items()))


def unnamed(*sources: str) -> Document:
    return document(*(samples.raw(source) for source in sources))


def changes(before: Document, now: Document) -> Changes:
    versions = Versions()
    versions.note(before.hash, before)
    return versions.changed_since(before.hash, now)


def test_a_cell_is_changed_if_no_cell_of_the_version_had_its_bytes() -> None:
    before = named(a="1", b="2", c="3")
    assert changes(before, before) == Changes([], [], reordered=False, total_cells=3)
    assert changes(before, named(a="1", b="x", c="3")).indexes == [1]
    assert changes(before, named(a="1", new="2", b="2", c="3")).indexes == [1]
    assert changes(before, named(a="x", b="y", c="z")).indexes == [0, 1, 2]


def test_ids_that_are_gone_are_named_in_their_old_order() -> None:
    before = named(c="1", a="2", b="3")
    assert changes(before, named(a="2", new="1")).gone == ["c", "b"]
    assert changes(before, named()).gone == ["c", "a", "b"]
    twins = document(samples.raw("1", "twin"), samples.raw("2", "twin"), samples.raw("3", None))
    assert changes(twins, named()).gone == ["twin"]
    odd = samples.notebook(samples.raw("1", "@"), samples.raw("2", '"\\'))
    odd = odd.replace(b'"@"', b'"\\ud800"')
    assert changes(Document.parse(odd), named()).gone == ["\ud800", '"\\']


def test_cells_in_another_order_are_told_though_none_is_changed() -> None:
    before = named(a="1", b="2", c="3")
    assert changes(before, named(c="3", a="1", b="2")) == Changes(
        [], [], reordered=True, total_cells=3
    )
    for now in (named(a="1", c="3"), named(x="0", a="1", b="2", y="9", c="3"), named(a="9", b="8")):
        assert not changes(before, now).reordered
    assert changes(unnamed("1", "2"), unnamed("2", "1")).reordered
    assert not changes(unnamed("1", "1", "2"), unnamed("1", "2")).reordered


@given(st.dictionaries(st.sampled_from("abcdefgh"), SOURCES), NAMES, st.data())
def test_changes_are_those_that_a_plain_comparison_finds(
    before: dict[str, str], order: list[str], data: st.DataObject
) -> None:
    now = {name: before.get(name) or data.draw(SOURCES) for name in order}
    for name in data.draw(st.lists(st.sampled_from(order), max_size=2)) if order else []:
        now[name] = data.draw(SOURCES)
    found = changes(named(**before), named(**now))
    assert [order[index] for index in found.indexes] == [
        name for name in order if before.get(name) != now[name]
    ]
    assert found.gone == [name for name in before if name not in now]
    assert found.reordered == (
        [name for name in before if name in now] != [name for name in now if name in before]
    )
    assert found.total_cells == len(before)


def test_a_version_that_was_never_noted_is_unknown() -> None:
    versions = Versions()
    now = named(a="1")
    assert not versions.knows(now.hash)
    with pytest.raises(VersionUnknown) as refused:
        versions.changed_since(now.hash, now)
    assert refused.value.details == {"since": now.hash}
    versions.note(now.hash, now)
    assert versions.knows(now.hash)


def test_what_was_not_used_for_longest_is_forgotten_first() -> None:
    documents = [named(a=str(number)) for number in range(5)]
    versions = Versions(most_weight=140)
    for one in documents[:4]:
        versions.note(one.hash, one)
    assert [versions.knows(one.hash) for one in documents[:4]] == [True] * 4
    versions.changed_since(documents[0].hash, documents[1])
    versions.note(documents[1].hash, documents[1])
    versions.note(documents[4].hash, documents[4])
    assert [versions.knows(one.hash) for one in documents] == [True, True, False, True, True]


def test_what_is_remembered_has_a_bound_however_many_and_however_large_notebooks_are() -> None:
    versions = Versions(most_weight=1000)
    large = document(*(samples.raw("x", f"id-{n}") for n in range(1000)))
    long = named(**{"i" * 100_000: "x"})
    for one in (large, long):
        versions.note(one.hash, one)
        assert not versions.knows(one.hash)
    for number in range(200):
        versions.note(str(number), named())
    assert sum(versions.knows(str(number)) for number in range(200)) <= 1000 // 32
