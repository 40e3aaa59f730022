"""The shim, and fast folders in memory."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.requirements import NIGHTLY, build_shim

MEMORY = Path("/dev/shm")  # noqa: S108 -- only to be quick; each test makes a folder of its own


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the library of the shim."""
    return build_shim(tmp_path_factory.mktemp("shim"))


@pytest.fixture
def fast_folder(tmp_path: Path) -> Iterator[Path]:
    """Return an empty folder in memory; at night on the disk, which is slower and realistic."""
    if NIGHTLY or not os.access(MEMORY, os.W_OK):
        yield tmp_path
        return
    folder = Path(tempfile.mkdtemp(prefix="nbedit-", dir=MEMORY))
    yield folder
    shutil.rmtree(folder)
