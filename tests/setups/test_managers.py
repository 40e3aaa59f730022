"""The storage kinds of the managers of other packages."""

import asyncio
import logging
import tempfile
from pathlib import Path
from typing import Any

import pytest
from jupyter_server.services.contents.filemanager import AsyncFileContentsManager
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager

from jupyter_nbedit.storage.contents.manager_locks import install_locks
from jupyter_nbedit.storage.locks import PathLocks
from jupyter_nbedit.storage.resolver import StorageResolver
from tests.setups.needs import needs
from tests.storage.conftest import NAME
from tests.storage.managers import DECISIVE, InformativeManager, anything
from tests.support import samples

TEXT = samples.three_cells()
# What other packages still use is their business.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def derive(base: type) -> Any:
    """Return Jupytext's class for a class of contents managers."""
    needs("jupytext")
    from jupytext.async_contentsmanager import build_async_jupytext_contents_manager_class as build  # noqa: PLC0415 -- is not always there

    return build(base)


def get_kind(manager: Any, path: str = NAME) -> str:
    with tempfile.TemporaryDirectory() as folder:
        locks = PathLocks(Path(folder), logging.getLogger(__name__))
        return asyncio.run(StorageResolver({"contents_manager": manager}, locks).resolve(path)).kind


def test_jupytext_changes_nothing_for_unpaired_notebooks(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(TEXT)
    locks = PathLocks(tmp_path / "locks", logging.getLogger(__name__))
    for base in (AsyncLargeFileManager, AsyncFileContentsManager, InformativeManager):
        manager = derive(base)(root_dir=str(tmp_path))
        for _ in range(2):
            assert get_kind(manager) == "file"
            assert get_kind(manager, "new.ipynb") == "file"
            install_locks(manager, locks)
        manager.register_pre_save_hook(anything)
        assert get_kind(manager) == "notebook"
    (tmp_path / "torn.ipynb").write_bytes(TEXT[:50])
    assert get_kind(derive(AsyncLargeFileManager)(root_dir=str(tmp_path)), "torn.ipynb") == "file"


def test_a_pair_stays_a_pair_while_its_configuration_is_unreadable(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(TEXT)
    for configuration in ('formats = "ipynb,py:percent"\n', "formats = [\n"):
        (tmp_path / "jupytext.toml").write_text(configuration)
        # As after a restart, it has seen nothing before.
        assert get_kind(derive(AsyncLargeFileManager)(root_dir=str(tmp_path))) == "notebook"


@pytest.mark.parametrize("name", [*DECISIVE, "save "])
def test_a_manager_that_overrides_more_than_jupytext_uses_contents_storage(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / NAME).write_bytes(TEXT)
    if name == "save ":
        heir = type("Heir", (derive(AsyncLargeFileManager),), {"save": anything})
    else:
        base = type("Own", (AsyncLargeFileManager,), {name: getattr(AsyncLargeFileManager, name)})
        heir = derive(base)
    manager = heir(root_dir=str(tmp_path))
    # Jupytext's own methods are in front of these.
    hidden = name in {"get", "save", "rename_file"}
    assert get_kind(manager) == ("file" if hidden else "contents")


def test_jupytext_over_a_synchronous_manager_uses_contents_storage(tmp_path: Path) -> None:
    needs("jupytext")
    from jupytext.sync_contentsmanager import TextFileContentsManager  # noqa: PLC0415

    (tmp_path / NAME).write_bytes(TEXT)
    assert get_kind(TextFileContentsManager(root_dir=str(tmp_path))) == "contents"


def test_a_hook_of_a_drive_is_not_bypassed(tmp_path: Path) -> None:
    needs("jupyterfs")
    from jupyterfs.metamanager import MetaManager  # noqa: PLC0415

    manager = MetaManager()
    drive = {"url": f"file://{tmp_path}", "name": "here", "type": "fsspec", "auth": "none"}
    (found,) = manager.initResource(drive)
    manager._managers[found["drive"]].pre_save_hook = anything
    assert get_kind(manager, f"{found['drive']}:{NAME}") == "notebook"
