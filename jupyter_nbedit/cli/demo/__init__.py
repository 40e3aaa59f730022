"""The command ``demo``: a temporary server, sample notebooks, and an agent that edits them.

`script` has the steps of the agent, `play` makes them, `server` starts JupyterLab.
"""

import argparse
import signal
import sys

from jupyter_nbedit.cli import exit_codes
from jupyter_nbedit.cli.options import Subparsers

_WITHOUT_PAGE = """\
{}
The demo goes on without JupyterLab, as with `--once`: it edits the notebook over HTTP, and prints
and checks every answer."""
_HOW_TO_WATCH = """
{}
To watch the edits in JupyterLab, run `jupyter nbedit demo --no-browser`, and open the page
yourself."""


def add_parser(commands: Subparsers) -> None:
    """Add the parser of the command."""
    parser = commands.add_parser(
        "demo",
        help="watch an agent edit an open notebook for a minute, and take part",
        description="Open a notebook in a JupyterLab of its own, in a temporary folder, and play"
        " an agent that edits it for a minute. The notebook and the terminal say what to try. Your"
        " files and settings are not touched. If no browser can be opened, the demo says so and"
        " goes on as with --once.",
    )
    parser.add_argument(
        "--no-browser",
        dest="browser",
        action="store_false",
        help="print the address instead of opening it",
    )
    parser.add_argument(
        "--wait",
        type=float,
        metavar="SECONDS",
        help="how long to wait until a page has opened the notebook; then the demo goes on without"
        " JupyterLab; default: 30, or no limit with --no-browser",
    )
    pace = parser.add_mutually_exclusive_group()
    pace.add_argument(
        "--step",
        action="store_true",
        help="go on when you press Enter, instead of after some seconds",
    )
    pace.add_argument(
        "--once",
        action="store_true",
        help="no JupyterLab, no page: edit over HTTP, show and check every answer, and exit",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the demo until it is interrupted, or once."""
    # Only this command needs these modules.
    from jupyter_nbedit.cli.demo import play  # noqa: PLC0415
    from jupyter_nbedit.cli.demo.server import DemoError  # noqa: PLC0415

    for number in (signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
        # These signals end the demo as Ctrl-C does: it stops its server and removes its files.
        signal.signal(number, signal.default_int_handler)
    try:
        if options.once:
            play.check_script()
        else:
            try:
                play.play_in_browser(
                    open_browser=options.browser,
                    waits_for_enter=options.step,
                    page_seconds=options.wait,
                )
            except play.NoPageError as error:
                print(_WITHOUT_PAGE.format(error), flush=True)
                play.check_script()
                # Again: the answers have moved the first part off the screen.
                print(_HOW_TO_WATCH.format(error))
    except DemoError as error:
        print(f"jupyter nbedit demo: {error}", file=sys.stderr)
        return exit_codes.REFUSED
    except KeyboardInterrupt:
        print("\nThe demo is over; its files are removed.")
    return exit_codes.DONE
