"""Changes since a version that was read."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jupyter_nbedit.errors import NbEditError
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.splices import invert_splices
from jupyter_nbedit.services.reading.models import ChangesSince
from jupyter_nbedit.services.reading.versions import Version, VersionCache
from tests.notebook.oracle import edit
from tests.notebook.random_operations import CELL_OPERATIONS, RandomOperations
from tests.notebook.strategies import FileLayout, layouts, notebooks
from tests.support import samples
from tests.support.sampling import is_nightly

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


def test_the_version_after_an_edit_or_its_undo_is_that_of_the_document() -> None:
    count = Counter[str]()

    @settings(max_examples=2_000 if is_nightly() else 100)
    @given(
        st.one_of(notebooks(), layouts),
        st.integers(0, 2**32),
        st.lists(st.lists(st.sampled_from(CELL_OPERATIONS), min_size=1, max_size=3), max_size=4),
    )
    def edit_some(begin: bytes | FileLayout, seed: int, batches: list[list[str]]) -> None:
        # Few of the odd notebooks have cells that can be split or merged.
        text = begin if isinstance(begin, bytes) else RandomOperations(seed, 0).notebook(begin)
        document = Document.parse(text)
        version = Version.from_document(document)
        for kinds in batches:
            drawn = RandomOperations(seed, len(document))
            try:
                plan = edit(document, *(drawn.operation(kind) for kind in kinds))
            except NbEditError:
                continue
            splices, origins = plan.splices, plan.list_origins()
            inverse = invert_splices(document.text, splices)
            after = document.apply_splices(splices)
            derived = version.derive(document, after, splices, plan.list_origins)
            assert derived == Version.from_document(after)
            before = after.apply_splices(inverse)
            origins_of_undo = [
                origins.index(index) if index in origins else None for index in range(len(before))
            ]
            undone = derived.derive(after, before, inverse, origins_of_undo.copy)
            assert undone == version
            for index, match in enumerate(version.match_cells(derived)):
                if origins[index] is not None and after.headers[index][0] is None:
                    assert match in {None, origins[index]}
            count.update(kinds)
            document, version = after, derived

    edit_some()
    assert len(count) > len(CELL_OPERATIONS) / 2, count


def test_cells_without_ids_are_identified_by_their_bytes() -> None:
    ab, ba = (build_document(*((None, source) for source in order)) for order in ("ab", "ba"))
    aab = build_document((None, "a"), (None, "a"), (None, "b"))
    indexes, changes = find_changes(ab, ba)
    assert (indexes, changes.gone, changes.reordered, changes.total_cells) == ([], [], True, 2)
    assert not find_changes(aab, ab)[1].reordered


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ({"op": "delete", "cell": 0}, [1, 2, 3]),
        ({"op": "delete", "cell": 1}, [0, 2, 3]),
        ({"op": "move", "cell": 0, "at": "end"}, [1, 2, 3, 0]),
        ({"op": "move", "cell": 1, "at": "end"}, [0, 2, 3, 1]),
        ({"op": "move", "cell": 3, "at": "start"}, [3, 0, 1, 2]),
        ({"op": "replace", "cell": 0, "source": "2"}, [None, 1, 2, 3]),
        ({"op": "insert", "index": 1, "cell_type": "raw", "source": "1"}, [0, None, 1, 2, 3]),
    ],
    ids=str,
)
def test_edits_tell_cells_with_the_same_bytes_apart(
    operation: dict[str, Any], expected: list[int | None]
) -> None:
    cells = [samples.raw(source) for source in ("1", "1", "x", "1")]
    document = Document.parse(samples.notebook(*cells, minor=4))
    plan, versions = edit(document, operation), VersionCache()
    after = document.apply_splices(plan.splices)
    versions.remember_edit("before", "after", after, plan)
    assert versions.get("before").match_cells(versions.get("after")) == expected


def test_duplicate_and_invalid_ids_are_listed_once() -> None:
    twins = build_document(("twin", "1"), ("twin", "2"), (None, "3"))
    assert find_changes(twins, build_document())[1].gone == ["twin"]
    odd = samples.notebook(samples.raw("1", "@"), samples.raw("2", '"\\'))
    odd = odd.replace(b'"@"', b'"\\ud800"')
    assert find_changes(Document.parse(odd), build_document())[1].gone == ["\ud800", '"\\']
