"""Edits on unusual file systems, each mounted from an image for a moment.

Runs in a process of `tests.storage.other_processes`, whose mounts nobody else sees.
"""

import asyncio
import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager

from jupyter_nbedit.errors import NbEditError
from jupyter_nbedit.notebook.splices import Splice
from jupyter_nbedit.storage.files.file_storage import FileStorage

TEXT = b'{"cells": []}'
NAMES = ("a.ipynb", "A.ipynb", "b.ipynb", "caf\u00e9.ipynb", "cafe\u0301.ipynb")


class FileSystem(NamedTuple):
    """How large an image one kind needs, how to make it, and how to mount it."""

    megabytes: int
    make: str
    mount: str
    #: What keeps other programs from losing what they write; None if that may differ.
    guard: str | None = None
    #: The command that makes its folder ignore case, if one is needed.
    folding: str = ""


_LOOP = "mount -o loop {image} {top}"
KINDS = {
    "ext4 without regard to case": FileSystem(
        16, "mkfs.ext4 -q -O casefold {image}", _LOOP, "lease", "chattr +F {root}"
    ),
    "XFS without regard to case": FileSystem(
        320, "mkfs.xfs -q -n version=ci {image}", _LOOP, "lease"
    ),
    # As any file system in user space.
    "NTFS without regard to case": FileSystem(
        16, "mkntfs -q -F {image}", "lowntfs-3g -o ignore_case {image} {top}", "compare"
    ),
    "ext4 with a clock of seconds": FileSystem(16, "mkfs.ext4 -q -I 128 {image}", _LOOP, "lease"),
    "FAT": FileSystem(16, "mkfs.vfat {image}", "mount -t vfat -o loop,utf8 {image} {top}"),
    "exFAT": FileSystem(16, "mkfs.exfat {image}", "mount -t exfat -o loop {image} {top}"),
}


def edit_on_file_system(
    kind: str, folder: str, storage_in: Callable[[str, str], FileStorage]
) -> dict[str, Any] | str:
    """Edit notebooks on a file system; return the results, or why the kind is missing."""
    system = KINDS[kind]
    top, image = Path(folder, "top"), Path(folder, "image")
    top.mkdir()
    with image.open("wb") as file:
        file.truncate(system.megabytes << 20)
    root = top / "root"
    places = {"image": image, "top": top, "root": root}
    for command in (system.make, system.mount, "mkdir {root}", system.folding):
        failure = _run_command([part.format_map(places) for part in command.split()])
        if failure is not None:
            return failure
    try:
        return asyncio.run(_edit_notebooks(root, storage_in(str(root), folder)))
    finally:
        _run_command(["umount", str(top)])


def _run_command(command: Sequence[str]) -> str | None:
    if not command:
        return None
    if shutil.which(command[0]) is None:
        return f"{command[0]} is not installed"
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    if process.returncode == 0:
        return None
    return f"{command[0]} failed: {process.stderr.strip().splitlines()[:1]}"


async def _edit_notebooks(root: Path, storage: FileStorage) -> dict[str, Any]:
    manager = AsyncLargeFileManager(root_dir=str(root))
    facts: dict[str, Any] = {"newer": [], "texts": [], "ours": {}, "theirs": {}}
    path = root / "a.ipynb"
    path.write_bytes(TEXT)
    (root / "B.IPYNB").write_bytes(TEXT)
    (root / "caf\u00e9.ipynb").write_bytes(TEXT)
    for _ in range(3):
        before = path.stat().st_mtime_ns
        base = await storage.read("a.ipynb")
        facts["guard"] = (await storage.write("a.ipynb", base, [Splice(1, 1, b" ")])).guard
        facts["newer"].append(path.stat().st_mtime_ns > before)
        facts["texts"].append(path.read_bytes().decode())
    await storage.create("new.ipynb", TEXT)
    facts["created"] = (root / "new.ipynb").read_bytes().decode()
    for name in NAMES:
        facts["theirs"][name] = bool(await manager.file_exists(name))
        facts["ours"][name] = await _try_edit(storage, name)
    facts["left"] = sorted(os.listdir(root))  # noqa: PTH208 -- names, as they are
    return facts


async def _try_edit(storage: FileStorage, name: str) -> str:
    """Edit a notebook, and return the outcome."""
    try:
        await storage.write(name, await storage.read(name), [Splice(1, 1, b" ")])
    except NbEditError as error:
        return error.reason
    return "edited"
