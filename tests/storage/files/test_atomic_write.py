"""Failures during an atomic write: the file is unchanged, and nothing is left."""

import dataclasses
import errno
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jupyter_nbedit.errors import Forbidden
from jupyter_nbedit.storage.base import StaleContent
from tests.storage.conftest import (
    EDITED,
    NAME,
    TEXT,
    CallHook,
    OtherProcesses,
    Root,
    assert_unchanged,
    is_folder,
    list_names,
)


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("unshare") is None,
    reason="only root may mount, with unshare for nobody else to see",
)
def test_a_mounted_notebook_is_refused_and_one_in_a_mounted_folder_is_not(
    processes: OtherProcesses, public_folder: Path
) -> None:
    alone, in_folder = processes.run("edit_mounted", root=str(public_folder))
    assert alone == ["not_a_plain_file", [NAME], TEXT.decode()]
    assert in_folder == ["edited", [NAME], EDITED.decode()]


def test_the_new_bytes_are_durable_before_the_rename(public_folder: Path) -> None:
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    path = public_folder / NAME
    path.write_bytes(TEXT)
    log = public_folder.parent / "trace"
    calls = "openat,write,pwrite64,writev,fsync,fdatasync,rename,renameat,renameat2,unlink,unlinkat"
    job = f"from tests.storage.other_processes import edit; edit({str(public_folder)!r})"
    command = ["strace", "-f", "--seccomp-bpf", "-y", "-o", str(log), "-e", f"trace={calls}"]
    command += [sys.executable, "-c", job]
    process = subprocess.run(
        command, cwd=Path(__file__).parents[3], capture_output=True, timeout=120, check=False
    )
    assert process.returncode == 0, process.stderr
    assert path.read_bytes() == EDITED
    steps = [line.split(maxsplit=1)[1] for line in log.read_text().splitlines()]
    changes = [step for step in steps if str(public_folder) in step and "O_RDONLY" not in step]
    kinds = [step.split("(")[0] for step in changes]
    writes = sum(kind in {"write", "pwrite64", "writev"} for kind in kinds)
    assert writes
    assert kinds[0] == "openat"
    last = kinds[1 + writes :]
    # Where two names cannot be exchanged, the old file goes with its name.
    assert last in (["fsync", "renameat2", "unlinkat", "fsync"], ["fsync", "renameat", "fsync"])
    created, renamed, synced = changes[0], changes[2 + writes], changes[-1]
    assert {"O_EXCL", "O_NOFOLLOW", "O_CLOEXEC"} <= set(created.replace(",", "|").split("|"))
    assert ", 0600)" in created
    # All goes by the open folder, wherever its path may lead by then.
    assert f'<{public_folder}>, ".nbedit-' in created
    assert renamed.count(f"<{public_folder}>") == 2
    assert f'"{path.name}"' in renamed
    assert f"<{public_folder}>" in synced
    # jupyter_server takes `.~name` for a backup of its own, and may put it in the notebook's place.
    assert ".~" not in "".join(changes)


def test_content_of_another_storage_is_not_written(place: Root, notebook: Path) -> None:
    with pytest.raises(TypeError, match=r"^Expected content that was read from a file, found None"):
        place.write(dataclasses.replace(place.read(), version=None))
    assert_unchanged(notebook)


def test_a_read_only_file_is_unchanged(
    place: Root, notebook: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    access_calls: list[tuple[object, int]] = []

    def refuse(path: str, mode: int, **_: object) -> bool:
        access_calls.append((path, mode))
        return False

    monkeypatch.setattr(os, "access", refuse)
    with pytest.raises(
        Forbidden, match=r"^The server may not write this notebook's file; nothing was written"
    ):
        place.edit()
    assert access_calls == [(NAME, os.W_OK)]
    assert_unchanged(notebook)


@pytest.mark.parametrize("may_write", [False, True])
def test_a_folder_in_which_no_file_can_be_created_is_named(
    place: Root, notebook: Path, monkeypatch: pytest.MonkeyPatch, *, may_write: bool
) -> None:
    plain_open, plain_access = os.open, os.access

    def refuse_to_create(path: Any, flags: int, *rest: Any, **more: Any) -> int:
        if flags & os.O_CREAT and str(path).startswith(".nbedit-"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return plain_open(path, flags, *rest, **more)

    def tell_folder(path: Any, mode: int, **more: Any) -> bool:
        return may_write if path == os.curdir else plain_access(path, mode, **more)

    monkeypatch.setattr(os, "open", refuse_to_create)
    monkeypatch.setattr(os, "access", tell_folder)
    with pytest.raises(Forbidden) as error:
        place.edit()
    words = f"may not create files in the folder {place.root.name!r}"
    # Where the mode of the folder allows it, such as in a sandbox, its owner is not the reason.
    assert (words in error.value.message) is not may_write
    assert_unchanged(notebook)


@pytest.mark.parametrize("theirs", [lambda path: path.write_bytes(b"theirs"), os.mkfifo])
def test_a_file_replaced_before_it_is_opened_is_unchanged(
    place: Root, notebook: Path, interpose: CallHook, theirs: Callable[[Path], object]
) -> None:
    base = place.read()

    def exchange() -> None:
        notebook.unlink()
        theirs(notebook)

    interpose("access", NAME, exchange)
    with pytest.raises(StaleContent):
        place.write(base)
    assert notebook.is_fifo() or notebook.read_bytes() == b"theirs"
    assert list_names(place.root) == [NAME]


@pytest.mark.parametrize("theirs", [b"theirs", None], ids=["written", "removed"])
def test_a_write_right_after_an_edit_is_not_mistaken_for_the_edit(
    place: Root, notebook: Path, interpose: CallHook, theirs: bytes | None
) -> None:
    def touch() -> None:
        assert notebook.read_bytes() == EDITED
        notebook.unlink()
        if theirs is not None:
            notebook.write_bytes(theirs)

    # The old file has got the temporary name, which it loses when all is done.
    interpose("unlink", lambda name: str(name).startswith(".nbedit-"), touch)
    result = place.edit()
    assert (result.status, result.warnings) == (None, [])
    if theirs is not None:
        assert (place.read().text, place.read().hash) == (theirs, None)


def test_a_temporary_file_is_private(
    place: Root, notebook: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[tuple[int, int]] = []
    modes: list[int] = []
    sync, really_open = os.fsync, os.open

    def opens(path: str, flags: int, mode: int = 0o777, **more: int) -> int:
        if flags & os.O_CREAT and str(path).startswith(".nbedit-"):
            made.append((mode, flags & os.O_EXCL))
        return really_open(path, flags, mode, **more)

    def fsync(descriptor: int) -> None:
        modes.append(os.fstat(descriptor).st_mode)
        sync(descriptor)

    monkeypatch.setattr(os, "open", opens)
    monkeypatch.setattr(os, "fsync", fsync)
    notebook.chmod(0o640)
    before = os.umask(0o022)
    try:
        place.edit()
        place.create("b.ipynb")
    finally:
        os.umask(before)
    assert made == [(0o600, os.O_EXCL), (0o666, os.O_EXCL)]
    assert [stat.S_IMODE(mode) for mode in modes if stat.S_ISREG(mode)] == [0o640, 0o644]
    assert sum(map(stat.S_ISDIR, modes)) == 2


def test_a_failed_fsync_of_the_folder_is_reported(
    place: Root, notebook: Path, interpose: CallHook
) -> None:
    error = OSError(errno.EIO, "for the test")
    interpose("fsync", is_folder, error, error)
    [warning] = place.edit().warnings
    assert re.fullmatch(r"The edit is in the file, but .*\(.+\): a power failure may .*", warning)
    assert notebook.read_bytes() == EDITED
    assert len(place.create("b.ipynb").warnings) == 1
    assert (place.root / "b.ipynb").read_bytes() == TEXT
