"""Services over a folder, with a contents manager and its notary, all of them real."""

import json
import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import nbformat.reader
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager

from jupyter_nbedit.notebook.operations import Operation
from tests.support.services import EditingServices, ServiceBuilder


@dataclass(frozen=True)
class ServedFolder:
    """A root, its contents manager with its notary, and the services over it, all of them real."""

    root: Path
    manager: AsyncLargeFileManager
    services: EditingServices

    def judge(self, text: bytes) -> tuple[bool, str]:
        """Return whether the notary trusts a notebook, and the values of the notebook."""
        # As the manager reads it, but for the check of the form, which takes longer than all else.
        notebook = nbformat.reader.reads(text.decode())
        said = json.dumps(notebook, sort_keys=True)
        return bool(self.manager.notary.check_signature(notebook)), said


@asynccontextmanager
async def serve_folder() -> AsyncIterator[ServedFolder]:
    """Build services over a folder in memory, if there is such a place: the order counts."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108 -- a folder of its own in it
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        services = ServiceBuilder(Path(folder))
        manager = services.build_manager()
        built = services.build_editing(services.build_storages(manager), notary=manager.notary)
        yield ServedFolder(services.root, manager, built)
        await services.close()


def operations(*fields: dict[str, Any]) -> list[Operation]:
    return msgspec.convert(list(fields), list[Operation])
