"""The commands ``history``, ``undo``, ``redo``, ``unseen``, ``keep`` and ``restore``."""

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
            description=f"{name.capitalize()} an edit of a notebook: the given one, or else your"
            f" newest that can be {participle}. Later edits of other cells stay.",
        )
        parser.add_argument("notebook", metavar="NB")
        parser.add_argument("edit", metavar="EDIT", type=int, nargs="?", help="its number")
        if name == "undo":
            parser.add_argument(
                "--cells",
                metavar="KEY",
                nargs="+",
                help="undo the unseen changes with these keys, which `unseen` prints; they may be"
                " of several edits",
            )
            parser.add_argument(
                "--until",
                type=int,
                metavar="EDIT",
                help="with --cells: refuse if a later edit has changed the cells",
            )
        add_change_options(parser)
        parser.set_defaults(run=run_undo, build_request=build_request)
    unseen = commands.add_parser(
        "unseen",
        help="print what has changed since you kept changes last",
        description="Print the changes of a notebook since you kept changes last, each with the key"
        " that `keep` and `undo --cells` take. Without NB, list the notebooks that have some.",
    )
    unseen.add_argument("notebook", metavar="NB", nargs="?")
    add_server_options(unseen)
    unseen.set_defaults(run=run_unseen)
    keep = commands.add_parser(
        "keep",
        help="keep changes of a notebook, so that they are not shown as unseen any more",
        description="Keep changes of a notebook, all or those with some keys; the notebook stays as"
        " it is.",
    )
    keep.add_argument("notebook", metavar="NB")
    keep.add_argument("keys", metavar="KEY", nargs="*", help="a key that `unseen` prints")
    keep.add_argument("--until", type=int, metavar="EDIT", help="leave out edits after this one")
    add_server_options(keep)
    keep.set_defaults(run=run_keep)
    restore = commands.add_parser(
        "restore",
        help="return a notebook to what it was after an edit",
        description="Return a notebook to what it was after an edit. This is an edit itself, which"
        " can be undone.",
    )
    restore.add_argument("notebook", metavar="NB")
    restore.add_argument("edit", metavar="EDIT", type=int, help="its number")
    add_change_options(restore)
    restore.set_defaults(run=run_undo, build_request=requests.restore)


def run_history(options: argparse.Namespace) -> int:
    """Print the edits of a notebook, or one of them."""
    with connect(options, options.notebook) as connection:
        if options.edit is not None:
            return connection.answer(requests.read_edit(connection.path, options.edit))
        page = {"limit": options.limit, "before": options.before}
        return connection.answer(requests.list_edits(connection.path, **page))


def run_undo(options: argparse.Namespace) -> int:
    """Undo or redo an edit, undo changes of cells, or restore an earlier state."""
    names = ("cells", "until")
    chosen_cells = {name: value for name in names if (value := getattr(options, name, None))}
    body = {**get_change_fields(options), **chosen_cells}
    with connect(options, options.notebook, is_change=not options.dry_run) as connection:
        return connection.answer(options.build_request(connection.path, options.edit, **body))


def run_unseen(options: argparse.Namespace) -> int:
    """Print the unseen changes of a notebook, or the notebooks that have some."""
    with connect(options, options.notebook or ".") as connection:
        if options.notebook is None:
            return connection.answer(requests.list_unseen_notebooks())
        return connection.answer(requests.get_unseen(connection.path))


def run_keep(options: argparse.Namespace) -> int:
    """Keep changes."""
    with connect(options, options.notebook) as connection:
        keys = options.keys or None
        return connection.answer(requests.keep(connection.path, keys, until=options.until))
