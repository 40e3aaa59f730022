"""The command ``proposal``."""

import argparse

from jupyter_nbedit.cli import exit_codes
from jupyter_nbedit.cli.connection import connect, show_path
from jupyter_nbedit.cli.options import TAB_MILLISECONDS, Subparsers, UsageError, add_server_options
from jupyter_nbedit.client import requests

_EXIT_CODES = {
    "pending": exit_codes.PROPOSED,
    "rejected": exit_codes.REFUSED,
    "expired": exit_codes.REFUSED,
}
_VERBS = ("accept", "reject", "reopen")


def add_parser(commands: Subparsers) -> None:
    """Add the parser of the command."""
    parser = commands.add_parser(
        "proposal",
        help="print a proposal, and what a person has decided; or decide",
        description="Print a proposal, and what a person has decided: exit code 0 if it was"
        " accepted, 5 if nobody has decided, and else 1. Or decide, if you are the person:"
        " accept it, reject it, or reopen what was rejected.",
    )
    parser.add_argument("verb", metavar="VERB", choices=_VERBS, nargs="?", help=", ".join(_VERBS))
    parser.add_argument("proposal", metavar="N", type=_read_number, help="its number")
    parser.add_argument("--wait", type=float, metavar="SECONDS", help="wait so long for a decision")
    # Sources are always merged by line; earlier releases did so only with this option.
    parser.add_argument("--merge", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--reason", metavar="TEXT", help="reject: why, for the agent")
    parser.add_argument(
        "--path", metavar="NB", default=".", help="the notebook, if it is not below this folder"
    )
    add_server_options(parser)
    parser.set_defaults(run=run)


def _read_number(value: str) -> int:
    try:
        return int(value)
    except ValueError:
        message = f"{value!r} is not the number of a proposal; options follow the number"
        raise argparse.ArgumentTypeError(message) from None


def run(options: argparse.Namespace) -> int:
    """Print a proposal, or decide."""
    for name, verb in (("wait", None), ("merge", "accept"), ("reason", "reject")):
        value = getattr(options, name)
        if value is not None and value is not False and options.verb != verb:
            raise UsageError(f"--{name} is not an option of `proposal {options.verb or 'N'}`.")
    if options.verb == "accept":
        return _accept(options)
    with connect(options, options.path) as connection:
        if options.verb == "reject":
            request = requests.reject_proposal(options.proposal, reason=options.reason)
            return connection.answer(request)
        if options.verb == "reopen":
            return connection.answer(requests.reopen_proposal(options.proposal))
        # The text does not state the status for programs, so the status is read first.
        proposal = connection.client.read_proposal(options.proposal, wait=options.wait or 0)
        connection.answer(requests.read_proposal(options.proposal))
        return _EXIT_CODES.get(str(proposal["status"]), exit_codes.DONE)


def _accept(options: argparse.Namespace) -> int:
    with connect(options, options.path) as connection:
        proposal = connection.client.read_proposal(options.proposal)
        path = show_path(connection, proposal["path"])
    # Connect again by the notebook's path, to check the other servers that serve the notebook.
    with connect(options, path, is_change=True) as connection:
        request = requests.accept_proposal(options.proposal, wait_tabs=TAB_MILLISECONDS)
        return connection.answer(request)
