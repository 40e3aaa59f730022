"""Edits on disks that cannot take them, each mounted for a moment where nobody else sees it.

Takes a folder, and prints for each disk what was said, whether the notebook is as it was, what lies
beside it, and what became of an edit after the disk was well again.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from jupyter_nbedit.errors import NbEditError
from jupyter_nbedit.models import EditRequest
from jupyter_nbedit.notebook.operations import Replace
from tests.faults.scenario import NAME, SMALL, Case, Place, Server

NOBODY = 65534
# More than is left on the small disk, and more than a file may have.
EDIT = (Replace(cell="c7", source="y" * 30_000),)


def ran(*command: str | Path) -> None:
    subprocess.run(list(map(str, command)), check=True, capture_output=True)


@contextmanager
def full(root: Path) -> Iterator[None]:
    """Leave some pages less than another copy takes."""
    filling = root.parent / "filling"
    with filling.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))
    os.truncate(filling, max(0, filling.stat().st_size - 16384))
    yield
    filling.unlink()


@contextmanager
def without_inodes(root: Path) -> Iterator[None]:
    """Use up all names that the disk has room for."""
    made: list[Path] = []
    with suppress(OSError):
        while True:
            made.append(root.parent / f"filling{len(made)}")
            made[-1].touch()
    yield
    for path in made:
        path.unlink(missing_ok=True)


@contextmanager
def read_only(root: Path) -> Iterator[None]:
    ran("mount", "--bind", root, root)
    ran("mount", "-o", "remount,ro,bind", root)
    yield
    ran("umount", root)


@contextmanager
def small_files(_root: Path) -> Iterator[None]:
    """Let no file become larger than the notebook is."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(SMALL), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def few_files(_root: Path) -> Iterator[None]:
    """Let this process open no more files."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    open_now = max(int(name) for name in os.listdir("/proc/self/fd"))  # noqa: PTH208
    resource.setrlimit(resource.RLIMIT_NOFILE, (open_now + 1, before[1]))
    taken: list[int] = []
    with suppress(OSError):
        while True:
            taken.append(os.open(os.devnull, os.O_RDONLY))
    yield
    for descriptor in taken:
        os.close(descriptor)
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@contextmanager
def somebody_else(root: Path) -> Iterator[None]:
    """Be a user who may read the notebook, and no more."""
    (root / NAME).chmod(0o644)
    os.setegid(NOBODY)
    os.seteuid(NOBODY)
    yield
    os.seteuid(0)
    os.setegid(0)
    (root / NAME).chmod(0o640)


@contextmanager
def unchangeable(root: Path) -> Iterator[None]:
    """Forbid even root to change what is in the folder."""
    ran("chattr", "+i", root / NAME)
    yield
    ran("chattr", "-i", root / NAME)


@contextmanager
def full_beside(root: Path) -> Iterator[None]:
    """Fill the disk that the ledger is on."""
    filling = root.parent.parent / "nbedit" / "filling"
    with filling.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))
    yield
    filling.unlink()


DISKS: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "full": ("size=128k", full),
    "without inodes": ("nr_inodes=16", without_inodes),
    "read-only": ("size=1m", read_only),
    "of small files": ("size=1m", small_files),
    "with few open files": ("size=1m", few_files),
    "of somebody else": ("size=1m", somebody_else),
    "unchangeable": ("size=1m", unchangeable),
    "beside a full ledger": ("size=1m", full_beside),
}


async def edited(server: Server) -> str:
    try:
        reply = await server.services.editor.edit(EditRequest(NAME, EDIT))
    except NbEditError as refusal:
        return refusal.reason
    return "; ".join(["edited", *reply.warnings])


async def tried(folder: Path, options: str, ill: Callable[[Path], Any]) -> dict[str, Any]:
    for name, size in (("top", options), ("nbedit", "size=512k,mode=0700")):
        (folder / name).mkdir(parents=True)
        ran("mount", "-t", "tmpfs", "-o", size, "tmpfs", folder / name)
    (folder / "top" / "root").mkdir()
    (folder / "root").symlink_to(folder / "top" / "root")
    place = Place(folder, Case(SMALL, EDIT))
    server = place.server()
    await place.put(server)
    # So that the ledger is open and all is imported.
    await server.services.editor.edit(EditRequest(NAME, (Replace(cell="c1", source="1"),)))
    await server.services.editor.edit(EditRequest(NAME, (Replace(cell="c1", source="2"),)))
    before = place.found()
    with ill((folder / "top" / "root").resolve()):
        said = await edited(server)
    found = {
        "said": said,
        "kept": place.found() == before and not place._wrongs_of_attributes(),
        "left": place.strays(),
        "then": await edited(server),
    }
    await server.close()
    ran("umount", folder / "top")
    ran("umount", folder / "nbedit")
    return found


def main() -> None:
    logging.disable()
    top = Path(sys.argv[1])
    top.chmod(0o755)
    found: dict[str, Any] = {}
    for number, (name, (options, ill)) in enumerate(DISKS.items()):
        found[name] = asyncio.run(tried(top / str(number), options, ill))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
