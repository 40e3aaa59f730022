"""Edit a notebook in a loop while another program writes it as well.

    python -m tests.races.edit_loop ROOT LOCKS USER

Reads and edits as the service does until its input ends, and counts what came of it. An edit that
was acknowledged and is neither in the file nor in what it was made over by the other is lost.
"""

import asyncio
import json
import logging
import re
import sys
import threading
from collections import Counter
from pathlib import Path

from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager

from jupyter_nbedit.errors import NbEditError
from jupyter_nbedit.notebook.apply_batch import apply_operations
from jupyter_nbedit.notebook.operations import Replace
from jupyter_nbedit.services.loading import load_notebook
from jupyter_nbedit.storage.base import StaleContent
from jupyter_nbedit.storage.files.file_storage import FileStorage
from jupyter_nbedit.storage.locks import PathLocks
from tests.races.users import switch_user

NAME = "a.ipynb"
_MARK = re.compile(rb"theirs \d{9}")


def build_storage(root: Path, locks: Path) -> FileStorage:
    """Build the storage of a server."""
    manager = AsyncLargeFileManager(root_dir=str(root))
    return FileStorage(manager, PathLocks(locks, logging.getLogger()))


class EditLoop:
    """Edits one cell of a notebook again and again."""

    def __init__(self, storage: FileStorage, path: Path) -> None:
        self._storage = storage
        self._path = path
        self.counts: Counter[str] = Counter()
        self.lost: list[int] = []
        self._number = 0

    async def edit(self) -> None:
        """Make one edit, or count a conflict."""
        self._number += 1
        ours = f"ours {self._number:09d}"
        try:
            read = await load_notebook(self._storage, NAME)
            text = bytes(read.content.text)
            operation = Replace(cell="ours", source=ours)
            applied = apply_operations(read.document, [operation], fresh_id=lambda: "none")
            result = await self._storage.write(NAME, read.content, applied.splices)
        except StaleContent:
            self.counts["conflicts"] += 1
            return
        except NbEditError as error:
            self.counts[error.reason] += 1
            return
        self.counts["edits"] += 1
        self.counts[f"by {result.guard}"] += 1
        now = self._path.read_bytes()
        # An overwritten version has another mark; a partial write has none yet.
        if ours.encode() not in now and _MARK.findall(now) == _MARK.findall(text):
            self.lost.append(self._number)


async def run_loop(insider: EditLoop, ended: threading.Event) -> None:
    """Edit until the event is set."""
    while not ended.is_set():
        await insider.edit()


def main() -> None:
    root, locks, user = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    storage = build_storage(root, locks)
    switch_user(user)
    insider = EditLoop(storage, root / NAME)
    ended = threading.Event()

    def wait() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait, daemon=True).start()
    # What is imported late must be there before the race begins.
    asyncio.run(insider.edit())
    print("begun", flush=True)
    asyncio.run(run_loop(insider, ended))
    print(json.dumps({**insider.counts, "lost": insider.lost}), flush=True)


if __name__ == "__main__":
    main()
