"""The command ``jupyter nbedit``.

Each module of commands has ``add_parser``, which adds its parsers; the default ``run`` of a parser
is the function that runs the command and returns the exit code. What a command needs is imported
when it runs. Which error has which exit code: `exit_codes`.
"""

import argparse
import io
import os
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from jupyter_nbedit._version import __version__
from jupyter_nbedit.cli import (
    bridge,
    completion,
    demo,
    editing,
    exit_codes,
    history,
    proposals,
    reading,
    setup,
    skill,
    status,
)
from jupyter_nbedit.cli.connection import report_error
from jupyter_nbedit.cli.options import UsageError
from jupyter_nbedit.client.errors import ClientError
from jupyter_nbedit.errors import NbEditError

_MODULES = (reading, editing, history, proposals, status, bridge, setup, skill, completion, demo)
_TOKEN = re.compile(r"(token=)[^&\s'\"]+", re.IGNORECASE)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    _set_encodings()
    options = build_parser().parse_args(arguments)
    try:
        exit_code: int = options.run(options)
        sys.stdout.flush()
    except (UsageError, NbEditError, ClientError) as error:
        return report_error(error, is_json=getattr(options, "json", False))
    except KeyboardInterrupt:
        return exit_codes.INTERRUPTED
    except BrokenPipeError:
        # Who reads the output has read enough.
        sys.stdout = None  # so that Python does not flush it at its end
        return exit_codes.DONE
    return exit_code


def _set_encodings() -> None:
    """Write UTF-8 into files and pipes, as on every system, and escape what cannot be written.

    Windows would write the encoding of its language there, in which most characters are missing.
    Who has set ``PYTHONIOENCODING`` gets that encoding.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            if stream.isatty() or "PYTHONIOENCODING" in os.environ:
                stream.reconfigure(errors="backslashreplace")
            else:
                stream.reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")


class _Parser(argparse.ArgumentParser):
    """A parser without abbreviations, whose messages never repeat a token."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        """Print the usage and a message, and exit."""
        super().error(_TOKEN.sub(r"\1...", message))


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = _Parser(
        prog="jupyter nbedit",
        description="Read and edit Jupyter notebooks cell by cell, also while they are open in"
        " JupyterLab.",
        epilog=exit_codes.DESCRIPTION,
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=_Parser)
    for module in _MODULES:
        module.add_parser(commands)
    return parser
