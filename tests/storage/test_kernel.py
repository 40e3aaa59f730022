"""Where the system, a container or a file system refuses a call, all is done in another way."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from jupyter_nbedit.errors import NotebookExists, NotebookNotFound
from jupyter_nbedit.notebook.text import CHUNK_BYTES
from jupyter_nbedit.storage import kernel
from jupyter_nbedit.storage.commit import create
from jupyter_nbedit.storage.folders import opened
from tests.storage.conftest import EDIT, EDITED, NAME, TEXT, Place, left_in

CALLS = ("_renameat2", "_fallocate", "_sync_file_range", "_openat2")


def refusing(code: int) -> Callable[..., int]:
    def call(*_arguments: object) -> int:
        raise OSError(code, os.strerror(code))

    return call


@pytest.fixture(params=["missing", errno.ENOSYS, errno.EPERM, errno.EINVAL])
def refused(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in CALLS:
        call = None if request.param == "missing" else refusing(request.param)
        monkeypatch.setattr(kernel, name, call)


@pytest.mark.usefixtures("refused")
def test_an_edit_is_made_and_a_notebook_created_without_them(place: Place, notebook: Path) -> None:
    assert place.edit().guard == "compare"
    assert notebook.read_bytes() == EDITED
    create(str(place.root / "new.ipynb"), TEXT)
    with pytest.raises(NotebookExists):
        create(str(place.root / "new.ipynb"), TEXT)
    assert left_in(place.root) == [NAME, "new.ipynb"]


@pytest.mark.usefixtures("refused")
def test_a_large_file_is_copied_without_them(place: Place, notebook: Path) -> None:
    large = b"{" + b" " * (9 * CHUNK_BYTES) + b"}"
    notebook.write_bytes(large)
    place.edit()
    assert notebook.read_bytes() == large[:1] + EDIT[0].text + large[1:]


@pytest.mark.usefixtures("refused")
def test_no_link_is_followed_without_them(place: Place, notebook: Path) -> None:
    base = place.read()
    (place.root / "link").symlink_to(".")
    (place.root / "deep").mkdir()
    with opened(str(place.root / "deep")):
        pass
    with pytest.raises(OSError, match=r"ot a directory|ymbolic"), opened(str(place.root / "link")):
        pass
    with pytest.raises(NotebookNotFound):
        create(str(place.root / "link" / "new.ipynb"), TEXT)
    place.write(base)
    assert notebook.read_bytes() == EDITED


def test_a_disk_without_room_is_told_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "_fallocate", refusing(errno.ENOSPC))
    with (tmp_path / "new").open("wb") as file, pytest.raises(OSError, match="pace"):
        kernel.make_room(file.fileno(), 10)


def test_what_the_disk_cannot_take_is_left_to_the_last_flush(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (tmp_path / "new").open("wb") as file:
        monkeypatch.setattr(kernel, "_sync_file_range", refusing(errno.EIO))
        kernel.write_back(file.fileno(), 0, 10)
        monkeypatch.setattr(kernel, "_sync_file_range", refusing(errno.EBADF))
        with pytest.raises(OSError, match="descriptor"):
            kernel.write_back(file.fileno(), 0, 10)


def test_a_path_is_not_cut_at_a_zero_byte(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="null"), opened(f"{tmp_path}\0/more"):
        pass
