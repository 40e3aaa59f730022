"""The options that several commands share, and where their values come from."""

import argparse
import sys
from pathlib import Path
from typing import Any, TypeAlias

#: To what a command adds its parser; `argparse` has no public name for it.
Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001

#: How long a reply waits for the reports of open tabs.
TAB_MILLISECONDS = 1000
#: Means standard input where a file or a text is expected.
STDIN = "-"


class UsageError(Exception):
    """The command line is wrong in a way that `argparse` does not see."""


def add_server_options(parser: argparse.ArgumentParser, *, with_offline: bool = True) -> None:
    """Add the options that choose a server, and the form of the reply."""
    group = parser.add_argument_group("server")
    group.add_argument("--url", help="the address of the server; else it is found by the path")
    group.add_argument(
        "--token-file", metavar="FILE", help="a file with the token of the server at --url"
    )
    if with_offline:
        group.add_argument(
            "--offline",
            action="store_true",
            help="use the file itself; refused if a server with jupyter_nbedit serves it",
        )
    group.add_argument("--json", action="store_true", help="print the reply of the REST API")


def add_change_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of commands that change notebooks."""
    parser.add_argument("-m", "--message", metavar="WHY", help="the reason, for the edit history")
    parser.add_argument(
        "--client",
        metavar="NAME",
        default="jupyter nbedit",
        help="your name, for the edit history and for JupyterLab",
    )
    parser.add_argument("--dry-run", action="store_true", help="show the change, write nothing")
    add_server_options(parser)


def get_change_fields(
    options: argparse.Namespace, *, wait_tabs: int = TAB_MILLISECONDS
) -> dict[str, Any]:
    """Return the fields that requests of all commands that change notebooks have."""
    dry_run = options.dry_run or None
    return {"message": options.message, "dry_run": dry_run, "wait_tabs": wait_tabs}


def read_text(value: str) -> str:
    """Return a text of the command line as it is, or standard input if it is ``-``.

    One line break at the end of standard input is dropped: shells and editors add it.
    """
    return _read_stdin().removesuffix("\n").removesuffix("\r") if value == STDIN else value


def read_file(value: str) -> str:
    """Return the content of a file, or of standard input if the name is ``-``."""
    if value == STDIN:
        return _read_stdin()
    try:
        return _decode(Path(value).read_bytes(), repr(value))
    except OSError as error:
        raise UsageError(f"{value!r} cannot be read: {error.strerror}.") from None


def _read_stdin() -> str:
    return _decode(sys.stdin.buffer.read(), "Standard input")


def _decode(content: bytes, name: str) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"{name} is not UTF-8: byte {content[error.start]:#04x} at {error.start}."
        raise UsageError(message) from None


def check_single_stdin(*values: str | None) -> None:
    """Raise `UsageError` if several options are to be read from standard input."""
    if values.count(STDIN) > 1:
        raise UsageError("Only one option can be `-`, standard input.")
