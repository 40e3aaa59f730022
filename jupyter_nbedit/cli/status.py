"""The command ``status``."""

import argparse
import json

from jupyter_nbedit.cli import exit_codes
from jupyter_nbedit.cli.connection import print_text
from jupyter_nbedit.cli.options import Subparsers, add_server_options
from jupyter_nbedit.client import ServerState, find_server, inspect_servers
from jupyter_nbedit.client.discovery import inspect_server
from jupyter_nbedit.client.errors import ClientError
from jupyter_nbedit.notebook.shown_text import read_name


def add_parser(commands: Subparsers) -> None:
    """Add the parser of the command."""
    parser = commands.add_parser(
        "status",
        help="list the running servers, and which one serves a notebook",
        description="List the running Jupyter servers of this user: their addresses, their folders"
        " and whether they have jupyter_nbedit; and say which one serves a notebook or a folder.",
    )
    parser.add_argument("path", metavar="PATH", nargs="?", default=".", help="default: .")
    add_server_options(parser, with_offline=False)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the servers, and which one serves the path."""
    path = read_name(options.path)
    problem: ClientError | None = None
    url: str | None = None
    states = inspect_servers()
    try:
        server = find_server(path, url=options.url, token_file=options.token_file).server
    except ClientError as error:
        problem = error
    else:
        url = server.url
        if all(state.server.url != url for state in states):
            states.append(inspect_server(server))
    if options.json:
        content = {
            "path": path,
            "server": url,
            "problem": problem.message if problem else None,
            "reason": problem.reason if problem else None,
            "servers": [_describe(state) for state in states],
        }
        print_text(json.dumps(content, indent=2))
    else:
        for state in states:
            print_text(_render(state))
        print_text(problem.message if problem else f"{path!r} is served by {url}")
    return exit_codes.get_exit_code(problem) if problem else exit_codes.DONE


def _describe(state: ServerState) -> dict[str, str | None]:
    return {
        "url": state.server.url,
        "root": state.server.root,
        "version": state.version,
        "mode": state.mode,
        "problem": state.problem.reason if state.problem else None,
    }


def _render(state: ServerState) -> str:
    facts = [state.server.url, state.server.root or "folder unknown"]
    if state.problem is None:
        facts += [f"jupyter_nbedit {state.version}", f"mode {state.mode}"]
    else:
        facts.append(f"{state.problem.reason}: {state.problem.message}")
    return " | ".join(facts)
