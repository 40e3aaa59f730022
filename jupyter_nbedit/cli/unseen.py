"""The commands ``unseen``, ``keep`` and ``restore``."""

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
    restore.set_defaults(run=run_restore)


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


def run_restore(options: argparse.Namespace) -> int:
    """Restore an earlier state."""
    body = get_change_fields(options)
    with connect(options, options.notebook, is_change=not options.dry_run) as connection:
        return connection.answer(requests.restore(connection.path, options.edit, **body))
