"""What a manager says when it fails, told without what nobody shall know."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager
from tornado.web import HTTPError

from jupyter_nbedit.errors import Forbidden, NbEditError, NotebookNotFound
from jupyter_nbedit.storage import Changed
from jupyter_nbedit.storage.failures import failures, refusal

STORE = "https://key:secret@bucket.example/home/ada/a.ipynb"


class ClientError(Exception):
    """What stores in a network raise is of kinds of their own."""


def raised(error: Exception, cause: Exception | None = None) -> NbEditError:
    with pytest.raises(NbEditError) as refused, failures(NotebookNotFound):
        raise error from cause
    assert "ada" not in str(refused.value)
    assert "secret" not in str(refused.value)
    return refused.value


@pytest.mark.parametrize(
    ("error", "cause", "reason"),
    [
        (ClientError(STORE), None, "io_error"),
        (OSError(STORE), None, "io_error"),
        (OSError(5, STORE), None, "io_error"),
        (OSError(28, STORE), None, "no_space"),
        (OSError(13, STORE), None, "forbidden"),
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
def test_every_failure_has_a_reason_and_says_nothing_of_the_store(
    error: Exception, cause: Exception | None, reason: str
) -> None:
    assert raised(error, cause).reason == reason


def test_what_is_ours_already_goes_through() -> None:
    for error in (Changed(), NotebookNotFound()):
        with pytest.raises(type(error)) as refused, failures(NotebookNotFound):
            raise error
        assert refused.value is error


def veto(root: Path, *said: Any) -> NbEditError:
    """Have a pre-save hook refuse a save, and a manager wrap that as Jupytext does."""
    manager = AsyncLargeFileManager(root_dir=str(root))

    def hook(**_: Any) -> None:
        raise HTTPError(400, *said)

    manager.register_pre_save_hook(hook)
    with pytest.raises(HTTPError) as wrapped:
        _saved_as_by_jupytext(manager)
    direct = wrapped.value.__context__
    assert isinstance(direct, HTTPError)
    plain = refusal(direct, NotebookNotFound)
    assert str(refusal(wrapped.value, NotebookNotFound)) == str(plain)
    return plain


def _saved_as_by_jupytext(manager: AsyncLargeFileManager) -> None:
    try:
        manager.run_pre_save_hooks({}, "a.ipynb")
    except HTTPError:
        raise HTTPError(500, f"Unexpected error while saving file: {STORE}")  # noqa: B904


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (("Clear the outputs first.",), "Clear the outputs first."),
        (("%d cells are too many", 7), "7 cells are too many."),
        (("See team/rules.md!",), "See team/rules.md!"),
        (("odd %d", "x"), "odd %d."),
    ],
)
def test_what_a_hook_says_is_told(tmp_path: Path, said: tuple[Any, ...], shown: str) -> None:
    refused = veto(tmp_path, *said)
    assert isinstance(refused, Forbidden)
    assert (
        refused.message == f"A pre-save hook of this server refuses what was to be saved: {shown}"
    )


@pytest.mark.parametrize(
    "said",
    [
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
    ],
)
def test_what_a_hook_says_is_not_told_if_it_may_name_a_place(
    tmp_path: Path, said: str | None
) -> None:
    refused = veto(tmp_path, said)
    assert refused.message == (
        "A pre-save hook of this server refuses what was to be saved; the server's log says why."
    )
