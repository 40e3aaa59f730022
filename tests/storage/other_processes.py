"""Run jobs in other processes: as other users, on other disks, concurrently.

Reads jobs from its input, one to a line, and does each in a copy of itself, for starting Python and
importing a server takes longer than all that the tests do with it.
"""

import asyncio
import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager
from tornado.web import HTTPError

from jupyter_nbedit.errors import NbEditError
from jupyter_nbedit.notebook.splices import Splice
from jupyter_nbedit.storage.base import StaleContent
from jupyter_nbedit.storage.files.file_storage import FileStorage
from jupyter_nbedit.storage.locks import PathLocks
from tests.storage import mounted_filesystems

NAME = "a.ipynb"


def build_storage(root: str, locks: str | None = None) -> FileStorage:
    folder = Path(locks or Path(root).parent)
    manager = AsyncLargeFileManager(root_dir=root)
    return FileStorage(manager, PathLocks(folder, logging.getLogger()))


async def _insert_text(storage: FileStorage, text: bytes) -> None:
    base = await storage.read(NAME)
    await storage.write(NAME, base, [Splice(1, 1, text)])


def edit(root: str) -> None:
    """Edit the notebook in a folder."""
    asyncio.run(_insert_text(build_storage(root), b" "))


def check_permissions(root: str, user: int, paths: list[str]) -> dict[str, list[str | None]]:
    """Return why another user could not read, get, edit or save each notebook; None if allowed."""
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    storage = build_storage(root)
    manager = AsyncLargeFileManager(root_dir=root)

    async def find_error(call: Awaitable[Any]) -> str | None:
        try:
            await call
        except NbEditError as error:
            return error.reason
        except (HTTPError, OSError) as error:
            return type(error).__name__
        return None

    async def edit_path(path: str) -> None:
        await storage.write(path, await storage.read(path), [Splice(1, 1, b" ")])

    async def main() -> dict[str, list[str | None]]:
        model = {"type": "file", "format": "text", "content": "{}"}
        return {
            path: [
                await find_error(storage.read(path)),
                await find_error(manager.get(path, type="file")),
                await find_error(edit_path(path)),
                await find_error(manager.save(dict(model), path)),
            ]
            for path in paths
        }

    return asyncio.run(main())


def refuse_edit(root: str, user: int, path: str) -> str:
    """Return the message with which the edit of another user is refused."""
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    storage = build_storage(root)

    async def main() -> str:
        try:
            await storage.write(path, await storage.read(path), [Splice(1, 1, b" ")])
        except NbEditError as error:
            return f"{error.reason}: {error.message}"
        return "done"

    return asyncio.run(main())


def edit_mounted(root: str) -> list[Any]:
    """Edit a mounted notebook, and one in a mounted folder.

    Return for each the outcome, the files in its folder, and its text.
    """
    outside, folder = Path(root, "outside"), Path(root, "folder")
    for path in (outside / NAME, Path(root, NAME), folder / NAME):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b'{"cells": []}')
    mounts = [(outside / NAME, Path(root, NAME)), (outside, folder)]
    for source, target in mounts:
        subprocess.run(["mount", "--bind", str(source), str(target)], check=True)  # noqa: S607 -- wherever it is
    found: list[Any] = []
    try:
        for place in (Path(root), folder):
            try:
                asyncio.run(_insert_text(build_storage(str(place), root), b" "))
                outcome = "edited"
            except NbEditError as error:
                outcome = error.reason
            names = sorted(path.name for path in place.glob("*.ipynb"))
            hidden = [path.name for path in place.glob(".*")]
            found.append([outcome, names + hidden, (place / NAME).read_bytes().decode()])
    finally:
        for _, target in mounts:
            subprocess.run(["umount", str(target)], check=True)  # noqa: S607
    return found


def count(root: str, locks: str, times: int) -> int:
    """Add one to the number in a notebook, again and again; return how often others interfered."""
    storage = build_storage(root, locks)

    async def add() -> int:
        async with storage.lock(NAME):
            base = await storage.read(NAME)
            number = b"%d" % (int(base.text) + 1)
            try:
                await storage.write(NAME, base, [Splice(0, len(base.text), number)])
            except StaleContent:
                return 1
        return 0

    async def main() -> int:
        return sum([await add() for _ in range(times)])

    return asyncio.run(main())


def edit_on_file_system(kind: str, folder: str) -> dict[str, Any] | str:
    """Edit notebooks on a file system of some kind."""
    return mounted_filesystems.edit_on_file_system(kind, folder, build_storage)


def _run_job(number: int, what: Callable[..., Any], arguments: dict[str, Any]) -> None:
    try:
        outcome = what(**arguments)
    except NbEditError as error:
        outcome = error.reason
    except BaseException:  # noqa: BLE001 -- the test must see any error
        outcome = traceback.format_exc()
    print(json.dumps([number, outcome]), flush=True)
    os._exit(0)


def main() -> None:
    # What is imported late must be there before the right to read it may be gone.
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, NAME).write_text("0")
        count(folder, folder, 1)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    jobs = {
        job.__name__: job
        for job in (check_permissions, refuse_edit, edit_mounted, count, edit_on_file_system)
    }
    for line in sys.stdin:
        number, what, arguments = json.loads(line)
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _run_job(number, jobs[what], arguments)


if __name__ == "__main__":
    main()
