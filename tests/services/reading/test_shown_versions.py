"""What reports of open tabs cost."""

import asyncio
from pathlib import Path

from jupyter_nbedit.services.reading.read_tracker import ReadTracker
from jupyter_nbedit.services.reading.service import ReadService
from jupyter_nbedit.services.reading.versions import VersionCache
from jupyter_nbedit.storage.base import Content
from jupyter_nbedit.trust.manager import TrustManager
from tests.support import samples
from tests.support.memory_storage import MemoryStorage, SingleStorage
from tests.support.names import FolderNames
from tests.support.services import ServiceBuilder

TEXT = samples.three_cells()
DIGEST = samples.compute_hash(TEXT)


class CountingStorage(MemoryStorage):
    """A storage of files that counts reads."""

    is_plain_file = True
    reads = 0

    async def read(self, path: str) -> Content:
        self.reads += 1
        # As from a disk: other tasks run meanwhile.
        await asyncio.sleep(0)
        return await super().read(path)


def build_reader(folder: Path, storage: MemoryStorage) -> tuple[ReadService, VersionCache]:
    notary, versions = ServiceBuilder(folder).build_notary(":memory:"), VersionCache()
    trust = TrustManager(lambda: notary)
    return ReadService(
        SingleStorage(storage), trust, ReadTracker(FolderNames()), versions
    ), versions


async def wait_for_tasks() -> None:
    await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()})


async def test_many_reports_of_a_version_are_one_read(tmp_path: Path) -> None:
    storage = CountingStorage({"a.ipynb": TEXT})
    reader, versions = build_reader(tmp_path, storage)
    for _ in range(2):
        for _ in range(500):
            reader.remember_shown_version("a.ipynb", DIGEST)
        await wait_for_tasks()
    assert (storage.reads, versions.is_known(DIGEST)) == (1, True)


async def test_reports_of_other_versions_are_at_most_two_reads_at_a_time(tmp_path: Path) -> None:
    storage = CountingStorage({"a.ipynb": TEXT})
    reader, versions = build_reader(tmp_path, storage)
    reader.remember_shown_version("a.ipynb", "first")
    await asyncio.sleep(0)
    for number in range(500):
        reader.remember_shown_version("a.ipynb", str(number))
    reader.remember_shown_version("none.ipynb", DIGEST)
    await wait_for_tasks()
    # The second read is for the last report; the third finds no notebook.
    assert storage.reads == 3
    assert not versions.is_known(DIGEST)
    # Nothing remains of them that would keep a later report from being read for.
    reader.remember_shown_version("a.ipynb", DIGEST)
    await wait_for_tasks()
    assert versions.is_known(DIGEST)


async def test_a_version_that_only_a_room_has_is_not_remembered(tmp_path: Path) -> None:
    storage = CountingStorage({"a.ipynb": TEXT})
    storage.is_plain_file = False  # type: ignore[misc]
    reader, versions = build_reader(tmp_path, storage)
    reader.remember_shown_version("a.ipynb", DIGEST)
    await wait_for_tasks()
    assert (storage.reads, versions.is_known(DIGEST)) == (0, False)
