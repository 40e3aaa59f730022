"""The caches about notebooks have limits, and drop the oldest entry first."""

import pytest

from jupyter_nbedit.errors import NbEditError, VersionUnknown
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.services.loading import DocumentCache
from jupyter_nbedit.services.reading.read_tracker import ReadTracker
from jupyter_nbedit.services.reading.versions import VersionCache
from tests.support import samples
from tests.support.names import FolderNames


def build_document(number: int, cells: int = 1) -> Document:
    """Return a notebook that no other number has."""
    return Document.parse(samples.notebook(*[samples.raw(f"{number}", "a")] * cells))


def has_read(readings: ReadTracker, session: str, path: str) -> bool:
    try:
        readings.require(session, path, "1")
    except NbEditError:
        return False
    return True


def test_tracked_reads_of_files_and_sessions_have_a_limit() -> None:
    readings = ReadTracker(FolderNames())
    paths = [f"{n}.ipynb" for n in range(30_000)]
    for path in paths:
        readings.record("ann", path, "1")
        readings.record("ann", paths[0], "1")
    remembered_paths = [path for path in paths if has_read(readings, "ann", path)]
    assert remembered_paths[0] == paths[0]
    assert remembered_paths[1:] == paths[-len(remembered_paths) + 1 :]
    assert len(remembered_paths) <= 20_000
    sessions = [f"session {n}" for n in range(30_000)]
    for session in sessions:
        readings.record(session, "a.ipynb", "1")
    remembered = [session for session in sessions if has_read(readings, session, "a.ipynb")]
    assert remembered == sessions[-len(remembered) :]
    assert len(remembered) <= 20_000


def test_the_least_recently_used_version_is_dropped_first() -> None:
    documents = [build_document(number) for number in range(5)]
    versions = VersionCache(max_weight=270)
    for one in documents[:4]:
        versions.remember(one.hash, one)
    versions.compare(documents[0].hash, documents[1])
    versions.remember(documents[1].hash, documents[1])
    versions.remember(documents[4].hash, documents[4])
    assert [versions.is_known(one.hash) for one in documents] == [True, True, False, True, True]
    with pytest.raises(VersionUnknown) as error:
        versions.compare(documents[2].hash, documents[0])
    assert error.value.details == {"since": documents[2].hash}


def test_versions_have_a_limit_in_number_and_size() -> None:
    versions = VersionCache(max_weight=1000)
    long_id = Document.parse(samples.notebook(samples.raw("x", "i" * 100_000)))
    for large in (build_document(0, cells=1000), long_id):
        versions.remember(large.hash, large)
        assert not versions.is_known(large.hash)
    for number in range(200):
        versions.remember(str(number), build_document(0, cells=0))
    assert sum(versions.is_known(str(number)) for number in range(200)) <= 1000 // 32


@pytest.mark.parametrize(
    ("max_cells", "is_cached"), [(1, [False, False, True]), (5, [True, False, True])]
)
def test_documents_have_a_limit_and_the_last_one_is_kept(
    max_cells: int, is_cached: list[bool]
) -> None:
    documents = DocumentCache(max_cells=max_cells)
    two = build_document(0, cells=2)
    for name in "ab":
        documents.put(name, two)
    cached_document = documents.get("b")
    assert cached_document is not None
    assert (cached_document.text, cached_document.bind(two.text)) == (b"", two)
    documents.get("a")
    documents.put("c", two)
    assert [documents.get(name) is not None for name in "abc"] == is_cached
    assert documents.get("other") is None
