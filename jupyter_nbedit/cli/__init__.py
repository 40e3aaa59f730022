"""The command ``jupyter nbedit``."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence

from jupyter_nbedit._version import __version__
from jupyter_nbedit.cli.demo import play
from jupyter_nbedit.cli.demo.server import DemoError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    options = _build_parser().parse_args(arguments)
    for number in (signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
        # So that the demo stops its server and removes its files.
        signal.signal(number, signal.default_int_handler)
    try:
        if options.once:
            play.check_script()
        else:
            play.play_in_browser(open_browser=options.browser)
    except DemoError as error:
        print(f"jupyter nbedit demo: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nThe demo is over; its files are removed.")
    return 0


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="jupyter nbedit", description="Agents edit the cells of notebooks over HTTP."
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    demo = commands.add_parser(
        "demo",
        help="watch an agent edit an open notebook, on scratch copies of sample notebooks",
        description="Open JupyterLab on scratch copies of sample notebooks and play an agent that"
        " edits them while you look on. Your files and settings are not touched.",
    )
    demo.add_argument(
        "--no-browser",
        dest="browser",
        action="store_false",
        help="print the address instead of opening it",
    )
    demo.add_argument(
        "--once",
        action="store_true",
        help="no JupyterLab, no page: edit over HTTP, show and check every answer, and exit",
    )
    return parser
