"""Changes since a version that was read."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.reading.models import ChangesSince
from jupyter_nbedit.reading.versions import VersionCache
from tests.support import samples

NAMES = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8)
SOURCES = st.sampled_from(["1", "2", "3"])


def build_document(*cells: tuple[str | None, str]) -> Document:
    return Document.parse(samples.notebook(*(samples.raw(source, name) for name, source in cells)))


def find_changes(before: Document, now: Document) -> tuple[list[int], ChangesSince]:
    versions = VersionCache()
    versions.remember(before.hash, before)
    return versions.compare(before.hash, now)


@given(st.dictionaries(st.sampled_from("abcdefgh"), SOURCES), NAMES, st.data())
def test_changes_equal_those_of_a_plain_comparison(
    before: dict[str, str], order: list[str], data: st.DataObject
) -> None:
    now = {name: before.get(name) or data.draw(SOURCES) for name in order}
    for name in data.draw(st.lists(st.sampled_from(order), max_size=2)) if order else []:
        now[name] = data.draw(SOURCES)
    indexes, found = find_changes(build_document(*before.items()), build_document(*now.items()))
    assert [order[index] for index in indexes] == [
        name for name in order if before.get(name) != now[name]
    ]
    assert found.changed == len(indexes)
    assert found.gone == [name for name in before if name not in now]
    assert found.reordered == (
        [name for name in before if name in now] != [name for name in now if name in before]
    )
    assert found.total_cells == len(before)


def test_cells_without_ids_are_identified_by_their_bytes() -> None:
    ab, ba = (build_document(*((None, source) for source in order)) for order in ("ab", "ba"))
    aab = build_document((None, "a"), (None, "a"), (None, "b"))
    indexes, changes = find_changes(ab, ba)
    assert (indexes, changes.gone, changes.reordered, changes.total_cells) == ([], [], True, 2)
    assert not find_changes(aab, ab)[1].reordered


def test_duplicate_and_invalid_ids_are_listed_once() -> None:
    twins = build_document(("twin", "1"), ("twin", "2"), (None, "3"))
    assert find_changes(twins, build_document())[1].gone == ["twin"]
    odd = samples.notebook(samples.raw("1", "@"), samples.raw("2", '"\\'))
    odd = odd.replace(b'"@"', b'"\\ud800"')
    assert find_changes(Document.parse(odd), build_document())[1].gone == ["\ud800", '"\\']
