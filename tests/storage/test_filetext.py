"""Large files are read as they are wanted, and files of ours are known again."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

import pytest

from jupyter_nbedit.errors import Overtaken
from jupyter_nbedit.loading import Documents, settled, sha256
from jupyter_nbedit.notebook.document import Document
from jupyter_nbedit.notebook.splices import Splice
from jupyter_nbedit.notebook.text import CHUNK_BYTES
from jupyter_nbedit.storage.filetext import FileText
from tests.notebook.test_windows import code, written

if TYPE_CHECKING:
    from pathlib import Path

    from tests.storage.conftest import Place

LARGE = written([code(n, source=["y = 1\n"] * 300) for n in range(800)])


async def test_a_large_file_is_not_read_whole_and_has_the_same_cells_and_hash(place: Place) -> None:
    place.root.joinpath("a.ipynb").write_bytes(LARGE)
    read = await settled(place.storage, "a.ipynb")
    assert isinstance(read.content.raw, FileText)
    assert read.document.cell_spans == Document.parse(LARGE).cell_spans
    assert read.hash == hashlib.sha256(LARGE).hexdigest() == sha256(LARGE)
    assert read.content.text == LARGE


async def test_a_file_of_ours_is_known_without_being_read_again(place: Place) -> None:
    file, documents = place.root / "a.ipynb", Documents()
    file.write_bytes(LARGE)
    async with place.storage.hold("a.ipynb"):
        read = await settled(place.storage, "a.ipynb", documents)
        at = LARGE.index(b"y = 1")
        splices = [Splice(at, at + 1, b"zz")]
        written_now = await place.storage.write("a.ipynb", read.content, splices)
    documents.note(written_now.hash, read.document.after(splices))
    again = await settled(place.storage, "a.ipynb", documents)
    assert again.content.hash == again.hash == hashlib.sha256(file.read_bytes()).hexdigest()
    assert again.document.cell_spans == Document.parse(file.read_bytes()).cell_spans
    assert again.document.text is again.content.raw


async def test_a_file_of_ours_that_somebody_writes_is_read_again(place: Place) -> None:
    file = place.root / "a.ipynb"
    file.write_bytes(LARGE)
    async with place.storage.hold("a.ipynb"):
        read = await settled(place.storage, "a.ipynb")
        await place.storage.write("a.ipynb", read.content, [Splice(0, 0, b" ")])
    # As quickly as can be, and to the same length.
    with file.open("r+b") as open_file:
        open_file.write(b"\n")
    again = await settled(place.storage, "a.ipynb")
    assert again.content.hash is None
    assert again.hash == hashlib.sha256(file.read_bytes()).hexdigest()


@pytest.mark.parametrize("change", ["write", "truncate", "replace"])
def test_nothing_is_read_of_a_file_that_is_not_what_was_opened(tmp_path: Path, change: str) -> None:
    file = tmp_path / "a.ipynb"
    file.write_bytes(LARGE)
    descriptor = os.open(file, os.O_RDONLY)
    text = FileText(descriptor, os.fstat(descriptor))
    assert text[:10] == LARGE[:10]
    if change == "write":
        with file.open("r+b") as open_file:
            open_file.write(b"\n")
    elif change == "truncate":
        os.truncate(file, CHUNK_BYTES)
    else:
        (tmp_path / "b").write_bytes(b"")
        (tmp_path / "b").replace(file)
    with pytest.raises(Overtaken, match="try again"):
        _ = text[CHUNK_BYTES + 1 : 2 * CHUNK_BYTES]
    text.keep()
    if change == "replace":
        assert text[CHUNK_BYTES:] == LARGE[CHUNK_BYTES:]
