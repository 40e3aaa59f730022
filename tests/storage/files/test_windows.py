"""Storing on Windows, whose calls `tests.storage.windows` emulates."""

import errno
import hashlib
import logging
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from jupyter_nbedit.errors import Busy, Forbidden, NbEditError, NotebookExists
from jupyter_nbedit.notebook.lazy.buffer import CHUNK_BYTES, LazyBytes
from jupyter_nbedit.services.outside.copies import VersionCopies
from jupyter_nbedit.storage.base import StaleContent
from jupyter_nbedit.storage.contents.manager_locks import read_file_identity
from tests.storage.conftest import EDITED, NAME, TEXT, Root, assert_unchanged, list_names
from tests.storage.windows import ACCESS_DENIED, IN_USE, Windows, fail

LARGE = hashlib.shake_128(b"any bytes").digest(20 * CHUNK_BYTES + 12345)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Windows is emulated on Linux")


@pytest.fixture
def windows(place: Root, notebook: Path, monkeypatch: pytest.MonkeyPatch) -> Windows:
    assert place.root == notebook.parent
    windows = Windows()
    windows.install(monkeypatch)
    return windows


@pytest.mark.usefixtures("windows")
@pytest.mark.parametrize("text", [TEXT, LARGE], ids=["small", "large"])
def test_a_notebook_is_edited_again_and_again_and_what_was_read_stays(
    place: Root, notebook: Path, text: bytes
) -> None:
    notebook.write_bytes(text)
    bases = []
    for _ in range(3):
        bases.append(place.read())
        result = place.write(bases[-1])
        assert (result.guard, result.warnings) == ("compare", [])
        assert result.hash == hashlib.sha256(notebook.read_bytes()).hexdigest()
    assert notebook.read_bytes() == text[:1] + b"   " + text[1:]
    assert [base.text for base in bases] == [
        text[:1] + b" " * number + text[1:] for number in range(3)
    ]
    assert list_names(place.root) == [NAME]


@pytest.mark.usefixtures("windows")
def test_a_large_file_is_read_by_several_threads(place: Root, notebook: Path) -> None:
    notebook.write_bytes(LARGE)
    copies = VersionCopies(place.root.parent / "copies", logging.getLogger())
    copy = copies.add(place.read().data)
    assert copy is not None
    data = copy.read()
    assert isinstance(data, LazyBytes)
    starts = range(0, len(LARGE), 70_001)
    together = threading.Barrier(4)

    def read(number: int) -> bool:
        together.wait()
        return all(data[at : at + 90_000] == LARGE[at : at + 90_000] for at in starts[number::4])

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(read, range(4)))
    assert data.compute_sha256() == hashlib.sha256(LARGE).hexdigest()


@pytest.mark.parametrize("code", [IN_USE, ACCESS_DENIED])
def test_an_edit_waits_in_a_thread_while_another_program_has_the_file_open(
    place: Root, notebook: Path, windows: Windows, code: int
) -> None:
    windows.refusals = [code] * 4
    place.edit()
    assert notebook.read_bytes() == EDITED
    assert list_names(place.root) == [NAME]
    seconds = [seconds for seconds, _ in windows.waits]
    assert len(set(seconds)) == 4
    assert sum(seconds) < 2
    assert not any(is_main for _, is_main in windows.waits)


@pytest.mark.parametrize(("code", "error"), [(IN_USE, Busy), (ACCESS_DENIED, Forbidden)])
def test_the_wait_for_another_program_ends_and_leaves_the_file_as_it_was(
    place: Root,
    notebook: Path,
    windows: Windows,
    code: int,
    error: type[NbEditError],
) -> None:
    windows.refusals = [code] * 1000
    with pytest.raises(error, match="antivirus program"):
        place.edit()
    assert_unchanged(notebook)
    assert 5 < len(windows.waits) < 20
    assert sum(seconds for seconds, _ in windows.waits) < 2


def test_another_refusal_is_not_waited_for(place: Root, notebook: Path, windows: Windows) -> None:
    windows.refusals = [1]
    with pytest.raises(Forbidden):
        place.edit()
    assert windows.waits == []
    assert_unchanged(notebook)


def test_a_change_during_the_wait_is_kept(
    place: Root, notebook: Path, windows: Windows, monkeypatch: pytest.MonkeyPatch
) -> None:
    windows.refusals = [IN_USE]
    monkeypatch.setattr("time.sleep", lambda _: notebook.write_bytes(b"theirs"))
    with pytest.raises(StaleContent):
        place.edit()
    assert notebook.read_bytes() == b"theirs"
    assert list_names(place.root) == [NAME]


def test_a_notebook_is_created_and_nothing_is_overwritten(place: Root, windows: Windows) -> None:
    windows.refusals = [IN_USE, ACCESS_DENIED]
    place.create("new.ipynb")
    with pytest.raises(NotebookExists):
        place.create("new.ipynb")
    assert (place.root / "new.ipynb").read_bytes() == TEXT
    assert list_names(place.root) == [NAME, "new.ipynb"]


@pytest.mark.parametrize("is_over", [True, False])
def test_a_notebook_is_created_on_a_disk_without_links(
    place: Root, windows: Windows, monkeypatch: pytest.MonkeyPatch, *, is_over: bool
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise fail(1, OSError, errno.EINVAL)

    monkeypatch.setattr(os, "link", refuse)
    windows.refusals = [IN_USE] * (3 if is_over else 1000)
    if is_over:
        place.create("new.ipynb")
        assert (place.root / "new.ipynb").read_bytes() == TEXT
    else:
        with pytest.raises(Busy):
            place.create("new.ipynb")
    assert list_names(place.root) == [NAME, "new.ipynb"][: 1 + is_over]


def test_what_another_program_writes_while_a_notebook_is_created_is_kept(
    place: Root, windows: Windows, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = place.root / "new.ipynb"

    def refuse(*_: object, **__: object) -> None:
        raise fail(1, OSError, errno.EINVAL)

    monkeypatch.setattr(os, "link", refuse)
    monkeypatch.setattr("time.sleep", lambda _: file.write_bytes(b"theirs"))
    windows.refusals = [IN_USE] * 1000
    with pytest.raises(Busy):
        place.create(file.name)
    assert file.read_bytes() == b"theirs"
    assert list_names(place.root) == [NAME, file.name]


@pytest.mark.usefixtures("windows")
@pytest.mark.parametrize("name", [NAME, "new.ipynb"])
def test_what_the_server_writes_is_its_own_although_the_time_is_set_late(
    place: Root, name: str
) -> None:
    result = place.edit() if name == NAME else place.create(name)
    file = place.root / name
    assert place.storages.find_writer(name, read_file_identity(str(file))) == "this server"
    assert result.last_modified.timestamp() == pytest.approx(file.stat().st_mtime, abs=1e-5)
    file.write_bytes(b"theirs")
    assert place.storages.find_writer(name, read_file_identity(str(file))) is None


@pytest.mark.usefixtures("windows")
@pytest.mark.parametrize("is_edited", [False, True], ids=["created long ago", "edited just now"])
def test_a_change_within_a_tick_of_the_clock_is_seen(
    place: Root, notebook: Path, *, is_edited: bool
) -> None:
    if is_edited:
        place.edit()
    base, status = place.read(), notebook.stat()
    theirs = base.text.replace(b"[]", b"{}")
    notebook.write_bytes(theirs)
    os.utime(notebook, ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises(StaleContent):
        place.write(base)
    assert place.read().text == theirs
    assert notebook.read_bytes() == theirs


@pytest.mark.usefixtures("windows")
def test_a_path_is_not_too_long_because_of_the_temporary_name(place: Root) -> None:
    folder = place.root / ("f" * (259 - len(f"{place.root}//{NAME}")))
    folder.mkdir()
    assert len(str(folder / NAME)) == 259
    (folder / NAME).write_bytes(TEXT)
    for path in (f"{folder.name}/{NAME}", f"{folder.name}/b.ipynb"):
        if path.endswith(NAME):
            place.edit(path)
        else:
            place.create(path)
    assert (folder / NAME).read_bytes() == EDITED
    assert list_names(folder) == [NAME, "b.ipynb"]
