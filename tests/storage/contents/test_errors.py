"""Errors of a contents manager, reported without private details."""

from pathlib import Path
from typing import Any

import pytest
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager
from tornado.web import HTTPError

from jupyter_nbedit.errors import Forbidden, NbEditError
from tests.storage.conftest import NAME, Root, build_root, list_names

STORE = "https://key:secret@bucket.example/home/ada/a.ipynb"


class ClientError(Exception):
    """An error of a network store, which has its own types."""


class RaisingManager(AsyncLargeFileManager):
    """A manager whose store fails, and that raises the usual error."""

    error: Exception
    cause: Exception | None

    async def get(self, path: str, content: bool = True, *args: Any, **more: Any) -> Any:  # noqa: FBT001, FBT002 -- as its parent's
        if content:
            raise self.error from self.cause
        return await super().get(path, content, *args, **more)  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(
    ("error", "cause", "reason"),
    [
        (ClientError(STORE), None, "io_error"),
        (OSError(STORE), None, "io_error"),
        (OSError(5, STORE), None, "io_error"),
        (OSError(28, STORE), None, "no_space"),
        (OSError(13, STORE), None, "forbidden"),
        (OSError(36, STORE), None, "notebook_not_found"),
        (PermissionError(STORE), None, "forbidden"),
        (FileNotFoundError(STORE), None, "notebook_not_found"),
        (UnicodeEncodeError("utf-8", "\ud800", 0, 1, STORE), None, "io_error"),
        (HTTPError(404, STORE), None, "notebook_not_found"),
        (HTTPError(400, STORE), None, "forbidden"),
        (HTTPError(400, STORE), ClientError(STORE), "io_error"),
        (HTTPError(400, STORE), FileNotFoundError(STORE), "notebook_not_found"),
        (HTTPError(403, STORE), OSError(13, STORE), "forbidden"),
        (HTTPError(503, STORE), None, "busy"),
        (HTTPError(500, STORE), None, "io_error"),
        (HTTPError(500, STORE), PermissionError(STORE), "forbidden"),
        (HTTPError(500, STORE), OSError(28, STORE), "no_space"),
    ],
)
def test_every_failure_has_a_reason_and_no_text_of_the_store(
    tmp_path: Path, error: Exception, cause: Exception | None, reason: str
) -> None:
    kind = type("Failing", (RaisingManager,), {"error": error, "cause": cause})
    place = build_root(tmp_path, kind)
    (place.root / NAME).write_text("{}")
    with pytest.raises(NbEditError) as raised_error:
        place.read()
    assert raised_error.value.reason == reason
    assert "ada" not in str(raised_error.value)
    assert "secret" not in str(raised_error.value)


class WrappingManager(AsyncLargeFileManager):
    """A manager that wraps the errors of its hooks, as Jupytext does."""

    async def save(self, model: dict[str, Any], path: str = "") -> Any:
        try:
            return await super().save(model, path)  # type: ignore[no-untyped-call]
        except HTTPError:
            raise HTTPError(500, f"Unexpected error while saving file: {STORE}")  # noqa: B904


@pytest.fixture(params=[AsyncLargeFileManager, WrappingManager])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Root:
    return build_root(tmp_path, request.param)


def veto(place: Root, *arguments: Any) -> str:
    """Refuse an edit in a pre-save hook; return the reported message."""

    def hook(**_: Any) -> None:
        raise HTTPError(400, *arguments)

    place.manager.register_pre_save_hook(hook)
    with pytest.raises(Forbidden) as error:
        place.edit()
    return error.value.message


NOTEBOOK = '{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("Clear the outputs first.",), ": Clear the outputs first."),
        (("%d cells are too many", 7), ": 7 cells are too many."),
        (("See team/rules.md!",), ": See team/rules.md!"),
        (("odd %d", "x"), ": odd %d."),
        # A message that may name a path is not reported.
        *(
            ((arguments,), None)
            for arguments in (
                "in /home/ada/a.ipynb",
                "in '/home/ada'",
                "/home/ada",
                "~/a.ipynb",
                "in C:\\Users\\ada",
                "on \\\\server\\share",
                "at https://key:secret@example.org",
                "Traceback (most recent call last)",
                "x" * 301,
                "",
                None,
            )
        ),
    ],
)
def test_the_message_of_a_hook_is_reported_if_it_contains_no_path(
    place: Root, notebook: Path, arguments: tuple[Any, ...], expected: str | None
) -> None:
    notebook.write_text(NOTEBOOK)
    error_message = veto(place, *arguments)
    if expected is None:
        assert not arguments[0] or arguments[0] not in error_message
        assert ":" not in error_message
    else:
        assert error_message.endswith(expected)
    assert notebook.read_text() == NOTEBOOK
    assert list_names(place.root) == [NAME]
