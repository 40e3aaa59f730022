"""What can go wrong while a file is replaced: then it is as it was, and nothing lies beside it."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from jupyter_nbedit.beside import Beside
from jupyter_nbedit.storage import Changed, Content
from tests.storage.conftest import (
    EDIT,
    EDITED,
    NAME,
    NOBODY,
    TEXT,
    Others,
    Place,
    assert_as_it_was,
    left_in,
)

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


def somebody() -> int:
    """Name a user who is not root: for root, modes mean nothing."""
    return os.geteuid() or NOBODY


def put(root: Path, mode: int, *, owner: int | None = None, group: int | None = None) -> Path:
    path = root / NAME
    path.write_bytes(TEXT)
    path.chmod(mode)
    if os.geteuid() == 0:
        user = somebody()
        os.chown(root, user, user)
        os.chown(path, user if owner is None else owner, user if group is None else group)
    return path


def test_nothing_is_left_beside_the_notebook(place: Place, notebook: Path) -> None:
    for _ in range(5):
        place.edit()
    assert left_in(place.root) == [NAME]
    base = place.read()
    notebook.write_bytes(TEXT)
    with pytest.raises(Changed):
        place.write(base)
    assert_as_it_was(notebook)


def test_another_process_can_edit_as_another_user(others: Others, public: Path) -> None:
    path = put(public, 0o640)
    assert others.do("edit", root=str(public), user=somebody()) == "edited"
    assert path.read_bytes() == EDITED
    assert path.stat().st_uid == somebody()


@pytest.mark.parametrize("mode", [0o444, 0o200, 0o000])
def test_a_file_that_may_not_be_read_and_written_is_left_alone(
    others: Others, public: Path, mode: int
) -> None:
    path = put(public, mode)
    assert others.do("edit", root=str(public), user=somebody()) == "forbidden"
    path.chmod(0o600)
    assert_as_it_was(path)


@pytest.mark.parametrize("mode", [0o555, 0o444, 0o000])
def test_a_file_in_a_folder_that_may_not_be_written_is_left_alone(
    others: Others, public: Path, mode: int
) -> None:
    path = put(public, 0o644)
    public.chmod(mode)
    outcome = others.do("edit", root=str(public), user=somebody())
    assert outcome in {"forbidden", "notebook_not_found"}
    public.chmod(0o755)
    assert_as_it_was(path)


@as_root
@pytest.mark.parametrize("owned", [{"owner": 0}, {"group": 0}, {"owner": 1234, "group": 1234}])
def test_a_file_of_somebody_else_is_not_taken_over(
    others: Others, public: Path, owned: dict[str, int]
) -> None:
    path = put(public, 0o666, **owned)
    before = path.stat()
    assert others.do("edit", root=str(public), user=NOBODY) == "not_a_plain_file"
    assert (path.stat().st_uid, path.stat().st_gid) == (before.st_uid, before.st_gid)
    assert_as_it_was(path)


def test_a_file_that_becomes_too_large_is_left_as_it_was(others: Others, public: Path) -> None:
    # The system takes what fits of the first write, and refuses the next.
    path = put(public, 0o644)
    assert others.do("edit", root=str(public), limit=8192) == "no_space"
    assert_as_it_was(path)


@as_root
def test_on_a_full_disk_the_file_stays_as_it_was(others: Others, public: Path) -> None:
    if not shutil.which("unshare"):
        pytest.skip("unshare is not installed, and without it the disk would be everybody's")
    outcome, unchanged, left = others.do("fill", root=str(public))
    assert (outcome, unchanged, left) == ("no_space", True, [NAME])


@as_root
def test_a_notebook_that_is_mounted_by_itself_is_refused_and_one_in_a_mounted_folder_is_not(
    others: Others, public: Path
) -> None:
    if not shutil.which("unshare"):
        pytest.skip("unshare is not installed, and without it the mounts would be everybody's")
    alone, in_folder = others.do("edit_mounted", root=str(public))
    reason, _, message = alone[0].partition(": ")
    assert reason == "not_a_plain_file"
    assert "mounted by itself" in message
    assert "Mount the folder" in message
    assert "nothing was written" in message.lower()
    assert alone[1:] == [[NAME], TEXT.decode()]
    assert in_folder == ["edited", [NAME], EDITED.decode()]


def test_the_bytes_are_safe_before_they_take_the_place_of_the_old_ones(public: Path) -> None:
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    path = put(public, 0o644)
    log = public.parent / "trace"
    calls = "openat,write,pwrite64,writev,fsync,fdatasync,rename,renameat,renameat2,unlink,unlinkat"
    job = f"from tests.storage.others import edit; edit({str(public)!r})"
    command = ["strace", "-f", "-y", "-o", str(log), "-e", f"trace={calls}"]
    command += [sys.executable, "-c", job]
    done = subprocess.run(
        command, cwd=Path(__file__).parents[2], capture_output=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert path.read_bytes() == EDITED
    steps = [line.split(maxsplit=1)[1] for line in log.read_text().splitlines()]
    changes = [step for step in steps if str(public) in step and "O_RDONLY" not in step]
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
    assert f'<{public}>, ".nbedit-' in created
    assert renamed.count(f"<{public}>") == 2
    assert f'"{path.name}"' in renamed
    assert f"<{public}>" in synced
    # jupyter_server takes `.~name` for a backup of its own, and may put it in the notebook's place.
    assert ".~" not in "".join(changes)


def test_content_of_another_storage_is_not_written(place: Place, notebook: Path) -> None:
    base = place.read()
    with pytest.raises(TypeError):
        place.write(Content(base.text, base.last_modified))
    assert_as_it_was(notebook)


def test_work_begins_beside_the_write_when_the_disk_is_waited_for(
    place: Place, notebook: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[str] = []
    flushed: list[list[str]] = []

    async def work(name: str) -> None:
        begun.append(name)

    async def edit() -> None:
        loop, fsync = asyncio.get_running_loop(), os.fsync
        base = await place.storage.read(NAME)

        def flush(descriptor: int) -> None:
            fsync(descriptor)
            asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop).result(5)
            flushed.append(list(begun))

        monkeypatch.setattr(os, "fsync", flush)
        with Beside(lambda: work("one"), 1), Beside(lambda: work("other"), 1):
            await place.storage.write(NAME, base, EDIT)

    asyncio.run(edit())
    # The file's, then the folder's.
    assert flushed == [["one"], ["one", "other"]]
    assert notebook.read_bytes() == EDITED
