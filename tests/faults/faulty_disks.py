"""Edits on faulty disks, each mounted privately for a moment.

Takes a folder, and prints for each disk the outcome, whether the notebook is unchanged, stray
files, and the outcome of an edit after the disk works again.
"""

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
from jupyter_nbedit.notebook.operations import Replace
from jupyter_nbedit.services.requests import WriteRequest
from tests.faults.scenario import NAME, SMALL, FaultCase, Scenario, ScenarioServer

NOBODY = 65534
# More than is left on the small disk, and more than a file may have.
EDIT = (Replace(cell="c7", source="y" * 30_000),)


def run_command(*command: str | Path) -> None:
    subprocess.run(list(map(str, command)), check=True, capture_output=True)


@contextmanager
def fill_disk(root: Path) -> Iterator[None]:
    """Leave some pages less than another copy takes."""
    filling = root.parent / "filling"
    with filling.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))
    os.truncate(filling, max(0, filling.stat().st_size - 16384))
    yield
    filling.unlink()


@contextmanager
def use_up_inodes(root: Path) -> Iterator[None]:
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
def mount_read_only(root: Path) -> Iterator[None]:
    run_command("mount", "--bind", root, root)
    run_command("mount", "-o", "remount,ro,bind", root)
    yield
    run_command("umount", root)


@contextmanager
def limit_file_size(_root: Path) -> Iterator[None]:
    """Limit the size of files to that of the notebook."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(SMALL), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def limit_open_files(_root: Path) -> Iterator[None]:
    """Prevent this process from opening more files."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    open_now = max(int(name) for name in os.listdir("/proc/self/fd"))  # noqa: PTH208
    resource.setrlimit(resource.RLIMIT_NOFILE, (open_now + 1, before[1]))
    descriptors: list[int] = []
    with suppress(OSError):
        while True:
            descriptors.append(os.open(os.devnull, os.O_RDONLY))
    yield
    for descriptor in descriptors:
        os.close(descriptor)
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@contextmanager
def switch_user(root: Path) -> Iterator[None]:
    """Become a user who may only read the notebook."""
    (root / NAME).chmod(0o644)
    os.setegid(NOBODY)
    os.seteuid(NOBODY)
    yield
    os.seteuid(0)
    os.setegid(0)
    (root / NAME).chmod(0o640)


@contextmanager
def make_immutable(root: Path) -> Iterator[None]:
    """Forbid changes in the folder even for root."""
    run_command("chattr", "+i", root / NAME)
    yield
    run_command("chattr", "-i", root / NAME)


@contextmanager
def fill_database_disk(root: Path) -> Iterator[None]:
    """Fill the disk of the database."""
    filling = root.parent.parent / "nbedit" / "filling"
    with filling.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))
    yield
    filling.unlink()


DISKS: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "full": ("size=128k", fill_disk),
    "without inodes": ("nr_inodes=16", use_up_inodes),
    "read-only": ("size=1m", mount_read_only),
    "of small files": ("size=1m", limit_file_size),
    "with few open files": ("size=1m", limit_open_files),
    "of somebody else": ("size=1m", switch_user),
    "unchangeable": ("size=1m", make_immutable),
    "full history disk": ("size=1m", fill_database_disk),
}


async def try_edit(server: ScenarioServer) -> str:
    try:
        reply = await server.services.editor.edit(WriteRequest(NAME), EDIT)
    except NbEditError as error:
        return error.reason
    return "; ".join(["edited", *reply.warnings])


async def try_disk(
    folder: Path, options: str, make_faulty: Callable[[Path], Any]
) -> dict[str, Any]:
    for name, size in (("top", options), ("nbedit", "size=512k,mode=0700")):
        (folder / name).mkdir(parents=True)
        run_command("mount", "-t", "tmpfs", "-o", size, "tmpfs", folder / name)
    (folder / "top" / "root").mkdir()
    (folder / "root").symlink_to(folder / "top" / "root")
    scenario = Scenario(folder, FaultCase(SMALL, EDIT))
    server = scenario.start_server()
    await scenario.reset(server)
    # The database must be open, and all modules imported.
    await server.services.editor.edit(WriteRequest(NAME), (Replace(cell="c1", source="1"),))
    await server.services.editor.edit(WriteRequest(NAME), (Replace(cell="c1", source="2"),))
    before = scenario.read_notebook()
    with make_faulty((folder / "top" / "root").resolve()):
        outcome = await try_edit(server)
    found = {
        "outcome": outcome,
        "is_unchanged": scenario.read_notebook() == before and not scenario._check_metadata(),
        "stray_files": scenario.list_stray_files(),
        "next_edit": await try_edit(server),
    }
    await server.close()
    run_command("umount", folder / "top")
    run_command("umount", folder / "nbedit")
    return found


def main() -> None:
    logging.disable()
    top = Path(sys.argv[1])
    top.chmod(0o755)
    found: dict[str, Any] = {}
    for number, (name, (options, make_faulty)) in enumerate(DISKS.items()):
        found[name] = asyncio.run(try_disk(top / str(number), options, make_faulty))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
