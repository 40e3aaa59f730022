"""The command ``proposal``."""

from __future__ import annotations

import argparse

from jupyter_nbedit.cli import exit_codes
from jupyter_nbedit.cli.connection import connect, print_reply
from jupyter_nbedit.cli.options import Subparsers, add_server_options
from jupyter_nbedit.client import requests

_EXIT_CODES = {
    "pending": exit_codes.PROPOSED,
    "rejected": exit_codes.REFUSED,
    "expired": exit_codes.REFUSED,
}


def add_parser(commands: Subparsers) -> None:
    """Add the parser of the command."""
    parser = commands.add_parser(
        "proposal",
        help="print a proposal, and what a person has decided",
        description="Print a proposal, and what a person has decided: exit code 0 if it was"
        " accepted, 5 if nobody has decided, and else 1.",
    )
    parser.add_argument("proposal", metavar="N", type=int, help="the number of the proposal")
    parser.add_argument(
        "--wait", type=float, metavar="SECONDS", default=0, help="wait so long for a decision"
    )
    parser.add_argument(
        "--path", metavar="NB", default=".", help="the notebook, if it is not below this folder"
    )
    add_server_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print a proposal."""
    with connect(options, options.path) as connection:
        # The text has no word for programs, so that the status is asked for first.
        proposal = connection.client.read_proposal(options.proposal, wait=options.wait)
        print_reply(connection.send(requests.read_proposal(options.proposal)))
    return _EXIT_CODES.get(str(proposal["status"]), exit_codes.DONE)
