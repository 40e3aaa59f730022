"""Contents managers that override methods of the stock manager."""

from typing import Any

from jupyter_server.services.contents.largefilemanager import (
    AsyncLargeFileManager,
)


def anything(*_: Any, **__: Any) -> None:
    """A replacement of a method, as extensions make it."""


class InformativeManager(AsyncLargeFileManager):
    """Differs in nothing that is written."""

    def info_string(self) -> str:
        return "Serving notebooks with care"

    async def copy(self, from_path: str, to_path: str | None = None) -> Any:
        return await super().copy(from_path, to_path)  # type: ignore[no-untyped-call]


DECISIVE = (
    *("get", "save", "open", "exists", "file_exists", "dir_exists", "is_hidden"),
    *("atomic_writing", "check_and_sign", "mark_trusted_cells"),
    *("rename_file", "delete_file", "restore_checkpoint"),
    *("run_pre_save_hooks", "run_post_save_hooks", "_get_os_path"),
    *("_read_file", "_save_file", "_read_notebook", "_save_notebook"),
    *("_notebook_model", "_file_model", "_base_model"),
)
