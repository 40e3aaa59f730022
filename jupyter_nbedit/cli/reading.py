"""The commands ``read`` and ``search``."""

import argparse

from jupyter_nbedit.cli import exit_codes
from jupyter_nbedit.cli.connection import Connection, connect, print_reply, print_text, show_path
from jupyter_nbedit.cli.options import Subparsers, UsageError, add_server_options
from jupyter_nbedit.client import requests
from jupyter_nbedit.client.requests import Reply

_SCOPES = ("sources", "outputs", "tags")
# The line above the hits in a notebook, in the text form.
_PATH_MARK = "== "


def add_parser(commands: Subparsers) -> None:
    """Add the parsers of the commands."""
    read = commands.add_parser(
        "read",
        help="print a notebook: all sources if they fit, else one line for each cell",
        description="Print a notebook: all sources if they fit, else one line for each cell. Cells"
        " have names such as 3:9f2c1a, which `edit` takes.",
    )
    read.add_argument("notebook", metavar="NB")
    read.add_argument("cells", metavar="CELL", nargs="*", help="names, ids or indexes of cells")
    read.add_argument("--section", metavar="H", help="only the section with this heading")
    read.add_argument("--start", type=int, metavar="N", help="the first cell to print")
    views = read.add_mutually_exclusive_group()
    views.add_argument("--outline", action="store_true", help="one line for each cell")
    views.add_argument("--source", action="store_true", help="whole cells")
    read.add_argument("--outputs", choices=("none", "summary", "text"), help="default: summary")
    read.add_argument("--since", metavar="REV", help="only the cells that changed since")
    read.add_argument("--max-chars", type=int, metavar="N", help="default: 8000 for texts")
    add_server_options(read)
    read.set_defaults(run=run_read)

    search = commands.add_parser(
        "search",
        help="find a text in the notebooks of a folder",
        usage="%(prog)s [options] TEXT [FOLDER]\n       %(prog)s [options] --regex RE [FOLDER]",
        description="Find lines with a text in the notebooks of a folder and its subfolders.",
    )
    search.add_argument("words", metavar="TEXT FOLDER", nargs="*", help="FOLDER may be a notebook")
    search.add_argument("--regex", metavar="RE", help="a regular expression (RE2) instead of TEXT")
    search.add_argument("-i", "--ignore-case", action="store_true", help="ignore the case")
    search.add_argument(
        "--in", dest="scope", choices=(*_SCOPES, "all"), default="sources", help="default: sources"
    )
    search.add_argument("--limit", type=int, metavar="N", default=30, help="hits; default: 30")
    search.add_argument("--cursor", metavar="CURSOR", help="of the last reply, to go on")
    add_server_options(search)
    search.set_defaults(run=run_search)


def run_read(options: argparse.Namespace) -> int:
    """Print a notebook."""
    view = "outline" if options.outline else "source" if options.source else None
    with connect(options, options.notebook) as connection:
        return connection.answer(
            requests.read(
                connection.path,
                cell=options.cells,
                section=options.section,
                start=options.start,
                view=view,
                outputs=options.outputs,
                since=options.since,
                max_chars=options.max_chars,
            )
        )


def run_search(options: argparse.Namespace) -> int:
    """Print the lines that contain a text."""
    query, folder = _split_words(options)
    with connect(options, folder) as connection:
        reply = connection.send(
            requests.search(
                query=query,
                regex=options.regex,
                ignore_case=options.ignore_case or None,
                path=connection.path,
                scope=list(_SCOPES) if options.scope == "all" else [options.scope],
                limit=options.limit,
                cursor=options.cursor,
            )
        )
        if options.json:
            print_reply(reply)
        else:
            print_text(_map_paths(connection, reply))
    return exit_codes.DONE


def _split_words(options: argparse.Namespace) -> tuple[str | None, str]:
    """Return the text to search for, None for a regular expression, and the folder."""
    words = list(options.words)
    query = words.pop(0) if options.regex is None and words else None
    if query is None and options.regex is None:
        raise UsageError("Give the text to search for, or --regex.")
    if len(words) > 1:
        message = f"Expected one folder or notebook; found {len(words)}. Quote a text with spaces."
        raise UsageError(message)
    return query, words[0] if words else "."


def _map_paths(connection: Connection, reply: Reply) -> str:
    """Return hits with paths that can be used in a command."""
    lines = reply.text.removesuffix("\n").split("\n")
    return "\n".join(
        _PATH_MARK + show_path(connection, line.removeprefix(_PATH_MARK))
        if line.startswith(_PATH_MARK)
        else line
        for line in lines
    )
