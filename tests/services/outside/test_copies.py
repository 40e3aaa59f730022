"""Copies of open notebooks: exact, private, of limited size, and gone when nobody needs them."""

import logging
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from jupyter_nbedit.errors import ChangedDuringRead
from jupyter_nbedit.services.outside.copies import VersionCopies
from jupyter_nbedit.storage.files.read import read_file

LOG = logging.getLogger(__name__)
SIZES = [0, 1, 100_000, 3 << 20]


@pytest.fixture
def copies(tmp_path: Path) -> Iterator[VersionCopies]:
    found = VersionCopies(tmp_path / "copies", LOG, max_bytes=8 << 20)
    yield found
    found.close()


def list_files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and path.stat().st_size]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("has_copy_file_range", [True, False])
def test_a_copy_keeps_the_bytes_when_the_file_is_overwritten(
    tmp_path: Path,
    copies: VersionCopies,
    monkeypatch: pytest.MonkeyPatch,
    size: int,
    has_copy_file_range: bool,  # noqa: FBT001 -- a column
) -> None:
    if not has_copy_file_range:
        monkeypatch.delattr(os, "copy_file_range", raising=False)
    file = tmp_path / "a.ipynb"
    text = os.urandom(size)
    file.write_bytes(text)
    content = read_file(str(file))
    assert content is not None
    copy = copies.add(content.data)
    assert copy is not None
    file.write_bytes(b"x" * size)
    data = copy.read()
    assert data is not None
    assert data[:] == text
    assert stat.S_IMODE(Path(copy.path).stat().st_mode) == 0o600
    copies.remove(copy)
    assert copy.read() is None


def test_a_file_that_changes_meanwhile_is_not_copied(tmp_path: Path, copies: VersionCopies) -> None:
    file = tmp_path / "a.ipynb"
    file.write_bytes(os.urandom(3 << 20))
    content = read_file(str(file))
    assert content is not None
    with file.open("r+b") as stream:
        stream.write(b"x")
    with pytest.raises(ChangedDuringRead):
        copies.add(content.data)
    assert not list_files(tmp_path / "copies")


def test_the_oldest_copies_make_room_for_new_ones(copies: VersionCopies) -> None:
    added = [copies.add(b"%d" % number * (3 << 20)) for number in range(4)]
    found = [copy.read() for copy in added if copy is not None]
    assert [data is not None for data in found] == [False, False, True, True]
    assert copies.add(b"x" * ((8 << 20) + 1)) is None


def test_nothing_is_stored_where_the_contents_api_shows_it(tmp_path: Path) -> None:
    copies = VersionCopies(tmp_path / "copies", LOG, is_exposed=lambda path: path.name == "copies")
    assert copies.add(b"x") is None
    assert not (tmp_path / "copies").exists()


def test_a_server_that_cannot_store_copies_warns_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "copies").write_text("no folder")
    copies = VersionCopies(tmp_path / "copies", LOG)
    assert [copies.add(b"x"), copies.add(b"y")] == [None, None]
    assert len(caplog.records) == 1


def test_copies_of_killed_servers_are_removed_and_those_of_running_ones_are_not(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "copies"
    running = VersionCopies(folder, LOG)
    copy = running.add(b"running")
    killed = folder / "versions-killed"
    killed.mkdir()
    (killed / "x").write_bytes(b"killed")
    for path in folder.iterdir():
        os.utime(path, (0, 0))
    other = VersionCopies(folder, LOG)
    other_copy = other.add(b"other")
    assert copy is not None
    assert other_copy is not None
    assert (copy.read(), other_copy.read()) == (b"running", b"other")
    assert not killed.exists()
    other.close()
    running.close()
    assert not list(folder.iterdir())
