"""The names of the notebooks of a contents manager."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from jupyter_nbedit.db.notebook_names import FILES, NotebookName, NotebookNames
from jupyter_nbedit.storage.api_paths import get_root_folder, resolve_in_root

# The traits that identify a root without a directory: of Jupyter, s3contents and similar managers.
_LOCATION_TRAITS = ("root_dir", "endpoint_url", "bucket", "prefix")


@dataclass(frozen=True)
class ManagerNames(NotebookNames):
    """The names of the notebooks of a server, by its contents manager."""

    #: Returns the manager, which extensions may replace at any time.
    get_manager: Callable[[], Any]

    def get_folder(self) -> str | None:
        """Return the root folder without links; None if notebooks are not in files."""
        return get_root_folder(self.get_manager())

    def get_root_name(self) -> str:
        """Return a name of the root that differs from those of other servers.

        It is the path of the root directory without links; for a manager without one, its class and
        the traits that locate its files.
        """
        folder, manager = self.get_folder(), self.get_manager()
        if folder is not None:
            return folder
        location = {name: str(getattr(manager, name, "")) for name in _LOCATION_TRAITS}
        kind = type(manager)
        return f"{kind.__module__}.{kind.__qualname__} {json.dumps(location)}"

    def find(self, path: str) -> NotebookName:
        """Return the name of the notebook at an API path; it need not exist."""
        path = path.strip("/")
        folder = self.get_folder()
        if folder is None:
            return NotebookName(self.get_root_name(), path)
        return NotebookName(FILES, PurePath(resolve_in_root(folder, path)).as_posix())
