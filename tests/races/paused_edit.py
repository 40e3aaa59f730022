"""An edit that stops at a chosen system call, so that another program can act there.

    LD_PRELOAD=shim.so python -m tests.races.paused_edit ROOT LOCKS USER

Reads numbers from its input. For each it edits the notebook once and stops itself, as SIGSTOP does,
before the call of that number which the edit makes to files of the folder. Then it tells how many
there were, and how the edit went.
"""

import asyncio
import json
import sys
from pathlib import Path

from jupyter_nbedit.errors import NbEditError
from jupyter_nbedit.notebook.apply_batch import apply_operations
from jupyter_nbedit.notebook.operations import Replace
from jupyter_nbedit.services.loading import load_notebook
from jupyter_nbedit.storage.base import StaleContent
from jupyter_nbedit.storage.files.file_storage import FileStorage
from tests.faults.shim import Mode, Shim
from tests.races.edit_loop import NAME, build_storage
from tests.races.users import switch_user

OURS = "ours at last"


async def edit(storage: FileStorage, root: Path, shim: Shim, number: int) -> tuple[int, str]:
    """Edit once; return the number of calls, and the outcome."""
    read = await load_notebook(storage, NAME)
    operation = Replace(cell="ours", source=OURS)
    applied = apply_operations(read.document, [operation], fresh_id=lambda: "none")
    shim.arm(Mode.STOP, number, inside=root)
    try:
        result = await storage.write(NAME, read.content, applied.splices)
        outcome = f"written by {result.guard}"
    except StaleContent:
        outcome = "changed"
    except NbEditError as error:
        outcome = error.reason
    return shim.disarm(), outcome


def main() -> None:
    root, locks, user = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    storage, shim = build_storage(root, locks), Shim()
    switch_user(user)
    for line in sys.stdin:
        print(json.dumps(asyncio.run(edit(storage, root, shim, int(line)))), flush=True)


if __name__ == "__main__":
    main()
