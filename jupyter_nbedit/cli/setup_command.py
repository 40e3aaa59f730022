"""The command ``setup``."""

import argparse
from typing import get_args

from jupyter_nbedit.agents.setup import TOKEN_VARIABLE, ClientId
from jupyter_nbedit.cli.options import Subparsers

_DESCRIPTION = """Print how to set up an MCP client, such as Claude Code, so that it edits notebooks
through jupyter_nbedit: the command to type, or what to put into which file. Without CLIENT: list
the clients. No token is ever written."""


def add_parser(commands: Subparsers) -> None:
    """Add the parser of the command."""
    parser = commands.add_parser(
        "setup", help="set up Claude Code, Codex and other MCP clients", description=_DESCRIPTION
    )
    parser.add_argument("client", nargs="?", choices=get_args(ClientId), metavar="CLIENT")
    parser.add_argument(
        "--write",
        action="store_true",
        help="make the change in the client's configuration, with a backup beside it",
    )
    parser.add_argument(
        "--replace",
        action="store_true",
        help="with --write: if there is another server named nbedit, change it",
    )
    scope = parser.add_mutually_exclusive_group()
    scope.add_argument(
        "--user",
        dest="scope",
        action="store_const",
        const="user",
        help="for all folders of this user (the default, if the client has this)",
    )
    scope.add_argument(
        "--project",
        dest="scope",
        action="store_const",
        const="project",
        help="only for the current folder",
    )
    parser.add_argument(
        "--url",
        help="the address of a Jupyter server on another machine: use its endpoint over HTTP",
    )
    parser.add_argument(
        "--token-variable",
        metavar="NAME",
        help="with --url: the environment variable that the client takes the token from"
        f" (default: {TOKEN_VARIABLE})",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print or write a setup."""
    # Other commands need none of it.
    from jupyter_nbedit.cli import setup  # noqa: PLC0415

    return setup.run(options)
