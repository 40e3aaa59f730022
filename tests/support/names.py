"""Names of notebooks below a folder that need not exist."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jupyter_nbedit.storage.api_paths import ManagerNames


@dataclass(frozen=True)
class FolderNames(ManagerNames):
    """The names of the notebooks of a server on a folder."""

    get_manager: Callable[[], Any] = lambda: None
    folder: str = "/root"

    def get_folder(self) -> str:
        return self.folder

    def get_root_name(self) -> str:
        return self.folder
