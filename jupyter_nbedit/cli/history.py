"""The commands ``history``, ``undo`` and ``redo``."""

import argparse

from jupyter_nbedit.cli.connection import connect
from jupyter_nbedit.cli.options import (
    Subparsers,
    add_change_options,
    add_server_options,
    get_change_fields,
)
from jupyter_nbedit.client import requests


def add_parser(commands: Subparsers) -> None:
    """Add the parsers of the commands."""
    history = commands.add_parser(
        "history",
        help="list the edits of a notebook, or show one",
        description="List the edits of a notebook, the newest first, or show one as a diff.",
    )
    history.add_argument("notebook", metavar="NB")
    history.add_argument("edit", metavar="EDIT", type=int, nargs="?", help="show this edit")
    history.add_argument("--limit", type=int, metavar="N", default=20, help="default: 20")
    history.add_argument("--before", type=int, metavar="EDIT", help="only older edits")
    add_server_options(history)
    history.set_defaults(run=run_history)
    commands_of_edits = (("undo", "undone", requests.undo), ("redo", "redone", requests.redo))
    for name, participle, build_request in commands_of_edits:
        parser = commands.add_parser(
            name,
            help=f"{name} an edit of a notebook, by default your newest",
            description=f"{name.capitalize()} an edit of a notebook, by default your newest that"
            f" can be {participle}; later edits of other cells stay.",
        )
        parser.add_argument("notebook", metavar="NB")
        parser.add_argument("edit", metavar="EDIT", type=int, nargs="?", help="its number")
        if name == "undo":
            parser.add_argument(
                "--cells",
                metavar="KEY",
                nargs="+",
                help="undo the changes with these keys, which `unseen` prints, across edits",
            )
            parser.add_argument(
                "--until",
                type=int,
                metavar="EDIT",
                help="with --cells: refuse if a later edit has changed the cells",
            )
        add_change_options(parser)
        parser.set_defaults(run=run_undo, build_request=build_request)


def run_history(options: argparse.Namespace) -> int:
    """Print the edits of a notebook, or one of them."""
    with connect(options, options.notebook) as connection:
        if options.edit is not None:
            return connection.answer(requests.read_edit(connection.path, options.edit))
        page = {"limit": options.limit, "before": options.before}
        return connection.answer(requests.list_edits(connection.path, **page))


def run_undo(options: argparse.Namespace) -> int:
    """Undo or redo an edit, or undo changes of cells."""
    names = ("cells", "until")
    chosen_cells = {name: value for name in names if (value := getattr(options, name, None))}
    body = {**get_change_fields(options), **chosen_cells}
    with connect(options, options.notebook, is_change=not options.dry_run) as connection:
        return connection.answer(options.build_request(connection.path, options.edit, **body))
