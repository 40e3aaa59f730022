"""A spliced copy has the exact bytes, at any size, and the correct hash."""

import hashlib
from pathlib import Path

import pytest

from jupyter_nbedit.notebook.lazy.buffer import CHUNK_BYTES
from jupyter_nbedit.notebook.splices import Splice, apply_splices
from tests.storage.conftest import Root

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


def assert_written(place: Root, notebook: Path, splices: list[Splice]) -> None:
    base = place.read()
    expected = apply_splices(base.text, splices)
    result = place.write(base, splices=splices)
    assert notebook.read_bytes() == expected
    assert result.hash == hashlib.sha256(expected).hexdigest()


@pytest.mark.parametrize("splices", SPLICES.values(), ids=SPLICES)
def test_a_large_file_is_copied_around_the_splices(
    place: Root, notebook: Path, splices: list[Splice]
) -> None:
    notebook.write_bytes(TEXT)
    assert_written(place, notebook, splices)


@pytest.mark.parametrize("size", [0, 1, 249_999, 250_000, 250_001, CHUNK_BYTES])
def test_a_file_in_memory_is_written_around_splices(place: Root, notebook: Path, size: int) -> None:
    notebook.write_bytes(TEXT[:size])
    assert_written(place, notebook, [Splice(size // 2, size // 2, b"new")])


def test_the_hash_of_a_copy_resumes_from_the_last_known_state(place: Root, notebook: Path) -> None:
    notebook.write_bytes(TEXT)
    for number in range(1, 6):
        assert_written(place, notebook, [Splice(SIZE // number, SIZE // number, b"new")])
