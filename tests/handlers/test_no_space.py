"""New files on a full disk: 507, and nothing is left.

A limit to the size of the process's files stands for a disk that is full: a write beyond it takes
what fits, and then fails.
"""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager

from tests.handlers.error_checks import get_error
from tests.support import samples
from tests.support.http import Answer, Local

ROOM = 100_000
LONG = "x\n" * ROOM
LONG_NOTEBOOK = samples.notebook(samples.code(LONG, "x")).decode()


@contextmanager
def limit_space(size: int = ROOM) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def list_files(root: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in root.iterdir() if path.is_file()}


async def call(local: Local, tool: str, **arguments: Any) -> Answer:
    return await local.send_json("POST", f"tools/{tool}", arguments)


@pytest.mark.parametrize(
    ("tool", "name", "arguments"),
    [
        ("claude_code/Write", "new.txt", {"content": LONG}),
        ("claude_code/Write", "new.md", {"content": "\N{SNOWMAN}" * ROOM}),
        ("claude_code/Edit", "new.txt", {"old_string": "", "new_string": LONG}),
        ("claude_code/Write", "new.ipynb", {"content": LONG_NOTEBOOK}),
    ],
)
async def test_a_new_file_without_disk_space_is_refused_and_leaves_nothing(
    local: Local, tool: str, name: str, arguments: dict[str, str]
) -> None:
    with limit_space():
        answer = await call(local, tool, file_path=str(local.root / name), **arguments)

    assert answer.status == 507, answer.body
    assert list_files(local.root) == {}


class CustomSaveManager(AsyncLargeFileManager):
    """Has a way of its own to write notebooks."""

    async def _save_file(self, *arguments: Any, **named: Any) -> None:
        await super()._save_file(*arguments, **named)  # type: ignore[no-untyped-call] # no types


@pytest.mark.parametrize("way", ["file", "notebook", "contents"])
async def test_a_new_notebook_without_disk_space_is_refused_and_leaves_nothing(
    local: Local, jp_serverapp: Any, way: str
) -> None:
    if way == "notebook":
        # The contents manager itself saves the notebook.
        jp_serverapp.contents_manager.register_pre_save_hook(lambda **_: None)
    if way == "contents":
        # A manager with an override gets the notebook as text.
        jp_serverapp.web_app.settings["contents_manager"] = CustomSaveManager(parent=jp_serverapp)
    body = {"cells": [{"source": LONG, "cell_type": "code"}]}

    with limit_space():
        answer = await local.send_json("PUT", "notebooks/new.ipynb", body)

    get_error(answer, 507, "no_space")
    assert list_files(local.root) == {}
    answer = await local.send_json("PUT", "notebooks/new.ipynb", body)
    assert answer.json["applied_via"] == way


async def test_a_backup_without_disk_space_leaves_the_notebook_and_no_copy(local: Local) -> None:
    notebook = local.root / "a.ipynb"
    notebook.write_text(LONG_NOTEBOOK)
    arguments = {"notebook_path": "a.ipynb", "cell_id": "x", "new_source": "short", "backup": True}

    with limit_space():
        answer = await call(local, "mycode/NotebookEdit", **arguments)

    assert answer.status == 507, answer.body
    assert list_files(local.root) == {"a.ipynb": LONG_NOTEBOOK.encode()}


async def test_an_existing_file_is_unchanged_without_disk_space(local: Local) -> None:
    text = local.root / "a.txt"
    text.write_text("short\n")
    assert (await call(local, "claude_code/Read", file_path=str(text))).status == 200

    with limit_space():
        answer = await call(local, "claude_code/Write", file_path=str(text), content=LONG)

    assert answer.status == 507, answer.body
    assert list_files(local.root) == {"a.txt": b"short\n"}
