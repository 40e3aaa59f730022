"""The command ``setup``: tell an MCP client to use the bridge or an endpoint."""

import argparse
import re
import sys
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from jupyter_nbedit.agents.setup.clients import (
    CLIENTS,
    TOKEN_VARIABLE,
    Bridge,
    ClientMachine,
    ClientSetup,
    CommandMissing,
    ConfigScope,
    Endpoint,
    build_setup,
    find_bridge,
    list_setups,
)
from jupyter_nbedit.cli import exit_codes
from jupyter_nbedit.cli.options import Subparsers, UsageError

# How the paths of pages begin after the base URL: people copy such addresses from the browser.
_PAGES = ("lab", "notebooks", "tree")
# Only capitals: tokens that Jupyter makes have small letters, so they are no names. A token that a
# user has chosen may look like a name.
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,99}")

_DESCRIPTION = """Print how to set up an MCP client, such as Claude Code, so that it edits notebooks
through jupyter_nbedit: the command to type, or what to put into which file. Without CLIENT: list
the clients. No token is ever written."""


def add_parser(commands: Subparsers) -> None:
    """Add the parser of the command."""
    parser = commands.add_parser(
        "setup", help="set up Claude Code, Codex and other MCP clients", description=_DESCRIPTION
    )
    parser.add_argument("client", nargs="?", choices=tuple(CLIENTS), metavar="CLIENT")
    parser.add_argument(
        "--write",
        action="store_true",
        help="make the change in the client's configuration, with a backup beside it",
    )
    parser.add_argument(
        "--replace",
        action="store_true",
        help="with --write: overwrite an entry nbedit with other values; in TOML, remove it first",
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
    machine = ClientMachine.from_system(Path.cwd())
    scope: ConfigScope | None = options.scope
    try:
        server = _choose_server(options)
        if options.client is None:
            _print_clients(server, machine)
            return exit_codes.DONE
        setup = build_setup(options.client, server, machine, scope)
    except ValueError as error:
        raise UsageError(str(error)) from None
    except CommandMissing as error:
        print(f"jupyter nbedit setup: {error}", file=sys.stderr)
        return exit_codes.REFUSED
    if not options.write:
        _print_setup(setup)
        return exit_codes.DONE
    return _write(setup, machine.project, replace=options.replace)


def _choose_server(options: argparse.Namespace) -> Bridge | Endpoint:
    """Return what the client is to use."""
    if options.write and options.client is None:
        raise UsageError("--write needs CLIENT")
    if options.replace and not options.write:
        raise UsageError("--replace needs --write")
    if options.url is None:
        if options.token_variable is not None:
            raise UsageError("--token-variable needs --url: without it, no client needs a token")
        return find_bridge()
    url = _build_endpoint_url(options.url)
    variable = options.token_variable or TOKEN_VARIABLE
    if not _VARIABLE.fullmatch(variable):
        message = "--token-variable: expected a name in capital letters, such as JUPYTER_TOKEN"
        raise UsageError(message)
    client = CLIENTS.get(options.client)
    if client is not None and not client.can_expand_headers:
        return Endpoint(url, variable, find_bridge().command)
    return Endpoint(url, variable)


def _build_endpoint_url(address: str) -> str:
    """Return the URL of the endpoint of a server. A token in the address is left out."""
    message = "--url: expected the address of a Jupyter server, such as http://host:8888/"
    try:
        parts = urlsplit(address)
        is_address = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address:
        raise UsageError(message)
    if parts.username is not None or parts.password is not None:
        raise UsageError("--url: the address has a user or a password in it; leave these out")
    segments = [segment for segment in parts.path.split("/") if segment]
    if segments[-2:] == ["nbedit", "mcp"]:
        segments = segments[:-2]
    else:
        # The segment after `user` is the name of a user of the Hub; the name may be `lab`.
        start = segments.index("user") + 2 if "user" in segments else 0
        pages = [place for place, name in enumerate(segments) if place >= start and name in _PAGES]
        segments = segments[: pages[0]] if pages else segments
    path = "/".join(["", *segments, "nbedit", "mcp"])
    return urlunsplit((parts.scheme, parts.netloc, path, "", ""))


def _print_clients(server: Bridge | Endpoint, machine: ClientMachine) -> None:
    for setup in list_setups(server, machine):
        print(f"{setup.client.id:12}{setup.client.title:13}{setup.file_label}")
    print("Next: jupyter nbedit setup CLIENT, with --write to make the change.", file=sys.stderr)


def _print_setup(setup: ClientSetup) -> None:
    """Print only the text on stdout, so that it can be piped, and advice on stderr."""
    command = f"jupyter nbedit setup {setup.client.id} --write"
    if setup.kind == "command":
        print(f"Type this, or use {command!r}:", file=sys.stderr)
    else:
        print(f"Merge this into {setup.file}, or use {command!r}:", file=sys.stderr)
    sys.stderr.flush()
    print(setup.text.rstrip("\n"), flush=True)
    if setup.link:
        print(f"Or open this link: {setup.link}", file=sys.stderr)
    _print_note(setup)


def _write(setup: ClientSetup, project: Path, *, replace: bool) -> int:
    """Write a setup into the file of its client; return the exit code."""
    # Only writing needs this module, which loads much.
    from jupyter_nbedit.agents.setup.config_file import WriteRefused, write_setup  # noqa: PLC0415

    try:
        outcome = write_setup(setup, project, replace=replace)
    except WriteRefused as error:
        print(f"jupyter nbedit setup: {error}", file=sys.stderr)
        if setup.kind == "command":
            print(f"Without --write, you can type:\n{setup.text}", file=sys.stderr)
        else:
            print(f"To do it by hand, merge into it:\n{setup.text}", end="", file=sys.stderr)
        return exit_codes.REFUSED
    if not outcome.has_changed:
        print(f"{outcome.file} has this already.")
        return exit_codes.DONE
    backup = "" if outcome.backup is None else f" The file as it was: {outcome.backup}"
    print(f"{outcome.file} is written. Start {setup.client.title} again.{backup}")
    _print_note(setup)
    return exit_codes.DONE


def _print_note(setup: ClientSetup) -> None:
    if setup.note:
        print(setup.note, file=sys.stderr)
