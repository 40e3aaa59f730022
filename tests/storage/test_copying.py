"""A spliced text is written as it is, at any size, and its hash is that of what is written."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from jupyter_nbedit.errors import Overtaken
from jupyter_nbedit.notebook.splices import Splice, join
from jupyter_nbedit.notebook.text import CHUNK_BYTES
from jupyter_nbedit.storage import kernel
from jupyter_nbedit.storage.copying import copied
from jupyter_nbedit.storage.filetext import FileText

SIZE = 20 * CHUNK_BYTES + 12345
TEXT = hashlib.shake_128(b"any bytes").digest(SIZE)
LONG = b"x" * (3 * CHUNK_BYTES)
SPLICES = {
    "nothing": [],
    "at the start": [Splice(0, 0, b"new")],
    "at the end": [Splice(SIZE, SIZE, b"new")],
    "in the middle": [Splice(SIZE // 2, SIZE // 2 + 10, b"")],
    "at the border of a piece": [Splice(CHUNK_BYTES, CHUNK_BYTES + 1, b"ab")],
    "many": [Splice(at, at + 7, b"z" * (at % 13)) for at in range(5, SIZE, 700_001)],
    "long": [Splice(10 * CHUNK_BYTES, 12 * CHUNK_BYTES, LONG)],
    "all": [Splice(0, SIZE, b"small")],
    "most": [Splice(1, SIZE - 1, LONG)],
}


def opened(path: Path) -> FileText:
    descriptor = os.open(path, os.O_RDONLY)
    return FileText(descriptor, os.fstat(descriptor))


def written(base: bytes | FileText, splices: list[Splice], path: Path) -> tuple[bytes, str]:
    made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        with copied(base, splices, made) as hashing:
            pass
    finally:
        os.close(made)
    marks = hashing.result()
    text = path.read_bytes()
    assert marks.size == len(text)
    return text, marks.sha256


@pytest.mark.parametrize("splices", SPLICES.values(), ids=SPLICES)
def test_a_large_file_is_copied_around_what_changes(tmp_path: Path, splices: list[Splice]) -> None:
    (tmp_path / "old").write_bytes(TEXT)
    base = opened(tmp_path / "old")
    text, digest = written(base, splices, tmp_path / "new")
    assert text == join(TEXT, splices)
    assert digest == hashlib.sha256(text).hexdigest()


@pytest.mark.parametrize("size", [0, 1, 249_999, 250_000, 250_001, CHUNK_BYTES])
def test_what_is_in_memory_is_written_around_what_changes(tmp_path: Path, size: int) -> None:
    base, splices = TEXT[:size], [Splice(size // 2, size // 2, b"new")]
    text, digest = written(base, splices, tmp_path / "new")
    assert text == join(base, splices)
    assert digest == hashlib.sha256(text).hexdigest()


def test_the_hash_of_a_copy_goes_on_where_the_last_one_is_known(tmp_path: Path) -> None:
    (tmp_path / "0").write_bytes(TEXT)
    base = opened(tmp_path / "0")
    for number in range(1, 6):
        made = os.open(tmp_path / str(number), os.O_RDWR | os.O_CREAT)
        with copied(base, [Splice(SIZE // number, SIZE // number, b"new")], made) as hashing:
            pass
        base = FileText(made, os.fstat(made), hashing.result())
        assert base.marks.sha256 == hashlib.sha256(base[:]).hexdigest()


def test_a_file_that_is_written_meanwhile_is_not_copied(tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(TEXT)
    base = opened(tmp_path / "old")
    assert base.marks.size == SIZE
    (tmp_path / "old").write_bytes(TEXT[:-1])
    with pytest.raises(Overtaken):
        written(base, [Splice(0, 0, b"new")], tmp_path / "new")


def test_the_disk_gets_to_work_while_the_rest_is_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room: list[tuple[int, ...]] = []
    flushed: list[tuple[int, ...]] = []
    monkeypatch.setattr(kernel, "_fallocate", lambda _, *call: room.append(call[-2:]))
    monkeypatch.setattr(kernel, "_sync_file_range", lambda _, *call: flushed.append(call[:2]))
    (tmp_path / "old").write_bytes(TEXT)
    written(opened(tmp_path / "old"), [Splice(0, 7, b"n"), Splice(9, 9, b"abc")], tmp_path / "new")
    size = SIZE - 7 + 1 + 3
    assert room == [(0, size)]
    starts = [start for start, _ in flushed]
    stops = [start + count for start, count in flushed]
    assert starts == [0, *stops[:-1]]
    assert len(flushed) == 2
    assert all(8 * CHUNK_BYTES <= count < 9 * CHUNK_BYTES for _, count in flushed)
