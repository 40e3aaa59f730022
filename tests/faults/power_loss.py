"""Cut the power of a disk during edits, again and again, and check what is on it.

The disk is an image with ext4, mounted where nobody else sees it. Shut down without flushing its
log, it forgets what had not been made durable, as a disk does whose power goes.

Takes a job as JSON, and prints what it found.
"""

import asyncio
import fcntl
import json
import logging
import os
import random
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager

from jupyter_nbedit.notebook.splices import Splice
from jupyter_nbedit.storage.locks import PathLocks
from jupyter_nbedit.storage.resolver import StorageResolver

NAME = "a.ipynb"
_SHUT_DOWN, _WITHOUT_LOG = 0x8004587D, 2
_FILLING = b" " * 20_000


def build_version(number: int) -> bytes:
    return b'{"n": %08d, "x": "%s"}' % (number, _FILLING)


class Disk:
    """An image with a file system, and where it is mounted."""

    def __init__(self, folder: Path) -> None:
        self._image = folder / "image"
        self._top = folder / "top"
        self.root = self._top / "root"
        self._top.mkdir()
        with self._image.open("wb") as file:
            file.truncate(16 << 20)
        run_command("mkfs.ext4", "-q", "-E", "lazy_itable_init=0", self._image)
        self.mount()
        self.root.mkdir()
        os.sync()

    def mount(self) -> None:
        run_command("mount", "-o", "loop", self._image, self._top)

    def unmount(self) -> None:
        run_command("umount", self._top)

    def lose_power(self) -> None:
        descriptor = os.open(self._top, os.O_RDONLY)
        try:
            fcntl.ioctl(descriptor, _SHUT_DOWN, struct.pack("I", _WITHOUT_LOG))
        finally:
            os.close(descriptor)


def run_command(*command: str | Path) -> None:
    subprocess.run(list(map(str, command)), check=True, capture_output=True)


class NumberWriter:
    """Edits a notebook until that fails; each version has the number after the former's."""

    def __init__(self, root: Path, locks: Path) -> None:
        manager = AsyncLargeFileManager(root_dir=str(root))
        self._storages = StorageResolver(
            {"contents_manager": manager}, PathLocks(locks, logging.getLogger())
        )
        self.acknowledged = 0

    async def edit(self) -> None:
        storage = await self._storages.resolve(NAME)
        base = await storage.read(NAME)
        number = self.acknowledged + 1
        result = await storage.write(NAME, base, [Splice(0, len(base.text), build_version(number))])
        if result.warnings:
            # The warning reports that a power failure may still undo it.
            raise OSError(result.warnings[0])
        self.acknowledged = number

    async def edit_until_failure(self, lost: threading.Event) -> None:
        while not lost.is_set():
            try:
                await self.edit()
            except Exception:  # noqa: BLE001 -- the disk is gone, whatever the error
                return


def run_cycles(folder: Path, count: int, seed: int) -> dict[str, Any]:
    """Cut the power `count` times; every other time right after an edit."""
    disk, chance = Disk(folder), random.Random(seed)  # noqa: S311 -- nothing secret
    found: dict[str, Any] = {"cycles": 0, "acknowledged": 0, "in_flight": 0, "problems": []}
    writer = NumberWriter(disk.root, folder / "locks")
    (disk.root / NAME).write_bytes(build_version(0))
    os.sync()
    for cycle in range(count):
        began = writer.acknowledged
        asyncio.run(writer.edit())
        if cycle % 2:
            lost = threading.Event()

            def lose(lost: threading.Event = lost) -> None:
                time.sleep(chance.uniform(0, 0.02))
                lost.set()
                disk.lose_power()

            thread = threading.Thread(target=lose)
            thread.start()
            asyncio.run(writer.edit_until_failure(lost))
            thread.join()
        else:
            disk.lose_power()
        disk.unmount()
        disk.mount()
        text = (disk.root / NAME).read_bytes()
        number = int(text[6:14]) if len(text) > 14 else -1
        if text != build_version(number) or not writer.acknowledged <= number:
            found["problems"].append(
                f"cycle {cycle}: {writer.acknowledged} was acknowledged, and there are "
                f"{len(text)} bytes of {number}"
            )
            (disk.root / NAME).write_bytes(build_version(writer.acknowledged))
            os.sync()
        found["in_flight"] += number > writer.acknowledged
        writer.acknowledged = max(number, writer.acknowledged)
        found["acknowledged"] += writer.acknowledged - began
        found["cycles"] += 1
    disk.unmount()
    return found


if __name__ == "__main__":
    logging.disable()
    job = json.loads(sys.argv[1])
    print(json.dumps(run_cycles(Path(job["folder"]), job["count"], job["seed"])))
